"""MahalanobisLearner against the isotropic Gaussian, by 10 times 5-fold cross-validation on six data sets.

Both contenders see standardised data and tune (C, width) of an SVC inside each training fold by the same 3 inner folds
and the same grid, where width is relative to the mean squared distance. The learner learns on the training fold with
its defaults, the same on all sets; on an inner fold its contender uses the metric that was learnt without it.

The interval is of the mean difference of accuracies, in percent, at 95 %, by the corrected resampled t-test (Nadeau,
Bengio, "Inference for the generalization error", Machine Learning 52, 2003): the 50 differences share their data, so
that the variance of their mean is taken to be 1/50 + 1/4 of theirs, not 1/50. The verdict is by it. A plain paired t
over the means of the 10 repeats, which ignores this and is therefore shorter, stands beside it.

``python -m benchmarks metric --only sonar,pima`` runs some of the sets. Scores are saved fold by fold: a set that was
cut short goes on where it stopped, one that was finished starts anew.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import DATA, RESULTS, load, write
from benchmarks.nested import Voting
from mercer import MahalanobisLearner
from mercer.kernels import Gaussian

SETS = ("sonar", "ionosphere", "musk1", "pima", "vowel", "segment")
COSTS = (1.0, 10.0, 100.0, 1000.0)
#: gamma in units of 1 / (half the mean squared distance).
GAMMAS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
REPEATS, FOLDS = 10, 5


@dataclass(frozen=True)
class Comparison:
    """Accuracies of both in each fold, what the learner chose there, and the seconds of this process it all took."""

    name: str
    isotropic: list[float] = field(default_factory=list)
    learnt: list[float] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def folds(self) -> int:
        return len(self.chosen)

    @property
    def gains(self) -> Any:
        return 100 * (np.array(self.learnt) - np.array(self.isotropic))

    def __str__(self) -> str:
        if self.folds < FOLDS * 2:
            return f"{self.name:10s} {self.folds} folds"
        corrected = interval(self.gains, 1 / self.folds + 1 / (FOLDS - 1))
        repeats = self.folds // FOLDS
        paired = interval(self.gains[: repeats * FOLDS].reshape(repeats, FOLDS).mean(axis=1), 1 / repeats)
        verdict = "gain" if corrected[0] > 0 else "loss" if corrected[1] < 0 else "no difference"
        return (
            f"{self.name:10s} isotropic {100 * np.mean(self.isotropic):.2f}  learnt {100 * np.mean(self.learnt):.2f}  "
            f"difference {self.gains.mean():+.2f} corrected [{corrected[0]:+.2f}, {corrected[1]:+.2f}] "
            f"paired [{paired[0]:+.2f}, {paired[1]:+.2f}]  {verdict}  {dict(Counter(self.chosen))} "
            f"({self.folds} folds, {self.seconds:.0f} s)"
        )


def interval(differences: Any, share: float) -> tuple[float, float]:
    """95 % of the mean, its variance being ``share`` times that of the differences."""
    mean, deviation = float(np.mean(differences)), float(np.std(differences, ddof=1))
    half = float(student.ppf(0.975, len(differences) - 1)) * deviation * np.sqrt(share)
    return mean - half, mean + half


def read(name: str) -> Any:
    file = load(f"{name}.npz")
    if file is None:
        return None
    parts = [(file["X"], file["y"])] + ([(file["X_test"], file["y_test"])] if "X_test" in file else [])
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X.astype(np.float64), y


def right(Z: Any, y: Any, train: Any, test: Any, gammas: Any, costs: Any) -> Any:
    """How many of the test samples are classified rightly, for each width and C."""
    rows = np.concatenate([train, test])
    first, rest = np.arange(len(train)), np.arange(len(train), len(rows))
    unit = 1 / float(Z[train].var(axis=0).sum())
    found = []
    for gamma in gammas:
        machines = Voting(Gaussian(gamma=gamma * unit)(Z[rows].astype(np.float32)), y[rows])
        found.append(np.rint(len(rest) * machines.accuracies(first, rest, costs)))
    return np.array(found)


def score(folds: Any, Z: Any, y: Any, train: Any, test: Any) -> float:
    """The accuracy on the test part with the C and width that do best on the folds (kept, held and samples as the
    metric that was learnt without those held has them); of equals the widest kernel, then the smallest C."""
    inner = sum(right(z, y, kept, held, GAMMAS, COSTS) for kept, held, z in folds)
    width, cost = np.unravel_index(inner.argmax(), inner.shape)
    return float(right(Z, y, train, test, GAMMAS[width : width + 1], COSTS[cost : cost + 1])[0, 0]) / len(test)


def both(X: Any, y: Any, train: Any, test: Any) -> tuple[float, float, str]:
    """The accuracies of the isotropic and of the learnt metric, and what the latter is."""
    Z = StandardScaler().fit(X[train]).transform(X)
    learner = MahalanobisLearner().fit(Z[train], y[train])
    folds = [(train[fold.kept], train[fold.held], fold.factor) for fold in learner.folds_]
    plain = score([(kept, held, Z) for kept, held, _ in folds], Z, y, train, test)
    if learner.structure_ == "isotropic":  # the same kernel
        return plain, plain, learner.structure_
    ours = score([(kept, held, Z @ A) for kept, held, A in folds], Z @ learner.factor_, y, train, test)
    return plain, ours, learner.structure_


def run(chosen: argparse.Namespace) -> None:
    if DATA is None:
        print("SKIPPED: set MERCER_DATA to the folder of the data sets")
        return
    path = (chosen.out or RESULTS) / "metric.json"
    for name in SETS:
        if chosen.only and name not in chosen.only.split(","):
            continue
        data = read(name)
        print(f"SKIPPED: MERCER_DATA has no {name}.npz" if data is None else compared(name, *data, path), flush=True)


def compared(name: str, X: Any, y: Any, path: Path) -> Comparison:
    found = saved(path).get(name, Comparison(name))
    if found.folds == REPEATS * FOLDS:
        found = Comparison(name)
    splits = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0).split(X, y)
    for train, test in list(splits)[found.folds :]:
        start = time.process_time()
        plain, ours, structure = both(X, y, train, test)
        found = Comparison(
            name,
            [*found.isotropic, plain],
            [*found.learnt, ours],
            [*found.chosen, structure],
            found.seconds + time.process_time() - start,
        )
        write(path, list({**saved(path), name: found}.values()))
    return found


def saved(path: Path) -> dict[str, Comparison]:
    if not path.exists():
        return {}
    return {row["name"]: Comparison(**row) for row in json.loads(path.read_text())["rows"]}
