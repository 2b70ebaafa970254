"""MahalanobisLearner against the isotropic Gaussian, by 10 times 5-fold cross-validation on six data sets.

Both contenders see standardised data and tune (C, width) of an SVC inside each training fold by the same 3 inner folds
and the same grid, where width is relative to the mean squared distance; the learner learns on the training fold with
its defaults, the same on all sets. The interval is of the mean difference of accuracies, in percent, at 95 %: by the
corrected resampled t-test (Nadeau, Bengio 2003: variance times 1/50 + 1/4), and by a plain paired t over the means of
the 10 repeats, which ignores that repeats share their data and is therefore shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import load
from mercer import SVC, MahalanobisLearner
from mercer.kernels import Gaussian

SETS = ("sonar", "ionosphere", "musk1", "pima", "vowel", "segment")
COSTS = (1.0, 10.0, 100.0)
#: gamma in units of 1 / (half the mean squared distance).
GAMMAS = (0.125, 0.25, 0.5, 1.0, 2.0)
REPEATS, FOLDS, INNER = 10, 5, 3


@dataclass(frozen=True)
class Comparison:
    """Accuracies of both, the mean of their differences with its two intervals, and what the learner chose."""

    name: str
    isotropic: float
    learnt: float
    difference: float
    corrected: tuple[float, float]
    paired: tuple[float, float]
    chosen: dict[str, int]
    repeats: int

    def __str__(self) -> str:
        intervals = " ".join(
            f"{kind} [{low:+.2f}, {high:+.2f}]"
            for kind, (low, high) in (("corrected", self.corrected), ("paired", self.paired))
        )
        return (
            f"{self.name:10s} isotropic {100 * self.isotropic:.2f}  learnt {100 * self.learnt:.2f}  "
            f"difference {self.difference:+.2f} {intervals}  {self.chosen} ({self.repeats} repeats)"
        )


def read(name: str) -> Any:
    file = load(f"{name}.npz")
    if file is None:
        return None
    parts = [(file["X"], file["y"])] + ([(file["X_test"], file["y_test"])] if "X_test" in file else [])
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X.astype(np.float64), y


def tuned(Z: Any, y: Any, Z_test: Any, y_test: Any, folds: Any) -> float:
    """The accuracy on the test part, with the best C and width of the inner folds; the first of equals."""
    gamma = 1 / float(Z.var(axis=0).sum())
    best = (-1.0, 0.0, 0.0)
    for width in GAMMAS:
        K = Gaussian(gamma=width * gamma)(Z)
        for cost in COSTS:
            right = 0
            for kept, held in folds:
                machine = SVC(C=cost, kernel="precomputed").fit(K[np.ix_(kept, kept)], y[kept])
                right += int((machine.predict(K[np.ix_(held, kept)]) == y[held]).sum())
            best = max(best, (float(right), -cost, -width), key=lambda found: found[0])
    machine = SVC(C=-best[1], kernel=Gaussian(gamma=-best[2] * gamma)).fit(Z, y)
    return float(machine.score(Z_test, y_test))


def interval(differences: Any, share: float) -> tuple[float, float]:
    """95 % of the mean, its variance being ``share`` times that of the differences."""
    mean, deviation = float(np.mean(differences)), float(np.std(differences, ddof=1))
    half = float(student.ppf(0.975, len(differences) - 1)) * deviation * np.sqrt(share)
    return round(mean - half, 3), round(mean + half, 3)


def compared(name: str, X: Any, y: Any, repeats: int) -> Comparison:
    scores, chosen = [], Counter()
    splits = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, y)
    for number, (train, test) in enumerate(splits):
        scaler = StandardScaler().fit(X[train])
        Z, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
        folds = list(StratifiedKFold(INNER, shuffle=True, random_state=number).split(Z, y[train]))
        learner = MahalanobisLearner().fit(Z, y[train])
        chosen[learner.structure_] += 1
        plain = tuned(Z, y[train], Z_test, y[test], folds)
        if learner.structure_ == "isotropic":  # the same kernel
            scores.append((plain, plain))
            continue
        scores.append((plain, tuned(learner.transform(Z), y[train], learner.transform(Z_test), y[test], folds)))
    plain, ours = np.array(scores).T
    gains = 100 * (ours - plain)
    return Comparison(
        name,
        float(plain.mean()),
        float(ours.mean()),
        float(gains.mean()),
        interval(gains, 1 / len(gains) + 1 / (FOLDS - 1)),
        interval(gains.reshape(repeats, FOLDS).mean(axis=1), 1 / repeats),
        dict(chosen),
        repeats,
    )


def rows(sets: Any = SETS, repeats: int = REPEATS) -> Iterator[Comparison]:
    for name in sets:
        data = read(name)
        if data is not None:
            yield compared(name, *data, repeats)
