"""Probabilities of KernelLogistic against Platt's for an SVC, and against two more peers, by log-loss on held-out data.

Each contestant's parameters are chosen by the same 5-fold cross-validation on the training part, over the same grid of
C and gamma, by log-loss. The contestants are

- KernelLogistic with a Gaussian;
- scikit-learn's SVC with Platt's probabilities, made in each of the three ways there are: SVC(probability=True), which
  is LIBSVM's own; and CalibratedClassifierCV(SVC, method="sigmoid"), which either is the mean of five SVCs, each with a
  sigmoid fitted to the fold it was not trained on, or (ensemble=False) one SVC with one sigmoid for all folds;
- LogisticRegression on scikit-learn's Nystroem map of 300 samples, with the same C and gamma;
- GaussianProcessClassifier with a Gaussian, which finds its own width, where there are at most 500 samples.

Where a set has no split of its own, half of it is held out (seed 0). Columns are standardised by the training part. Up
to MOST samples are trained on. A row's peer is the SVC whose way did best on that test part, in favour of the SVC;
``seconds`` are those of the processor for the whole choice and fit. ``python -m benchmarks logistic --only sonar`` runs
some sets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.measure import load, run_cases
from mercer import KernelLogistic

SETS = ("sonar", "ionosphere", "pima", "vowel", "segment", "spambase", "optdigits", "phoneme")
MOST = 1500
C = (0.1, 1.0, 10.0, 100.0)
#: Times 1 / columns.
GAMMA = (0.05, 0.2, 1.0)
#: The ways to give an SVC probabilities, and where its parameters are found.
SVCS = (
    ("libsvm", "", SVC(probability=True, random_state=0)),
    ("mean", "estimator__", CalibratedClassifierCV(SVC(), method="sigmoid")),
    ("one", "estimator__", CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False)),
)


@dataclass(frozen=True)
class LogisticRow:
    """The log-losses on held-out data, and seconds of choice and fit; NaN where a contestant did not take part."""

    name: str
    ours_loss: float
    peer: str
    peer_loss: float
    platt_losses: dict[str, float]
    nystroem_loss: float
    process_loss: float
    ours_accuracy: float
    peer_accuracy: float
    ours_seconds: float
    peer_seconds: float

    def __str__(self) -> str:
        verdict = "better" if self.ours_loss < self.peer_loss else "WORSE"
        return (
            f"{self.name:12s} log-loss: ours {self.ours_loss:.4f}   SVC + Platt {self.peer_loss:.4f} ({verdict}; "
            f"{', '.join(f'{way} {loss:.4f}' for way, loss in self.platt_losses.items())})   "
            f"Nystroem {self.nystroem_loss:.4f}   process {self.process_loss:.4f}   "
            f"accuracy {self.ours_accuracy:.3f} / {self.peer_accuracy:.3f}   "
            f"seconds {self.ours_seconds:.1f} / {self.peer_seconds:.1f}"
        )


def split(file: Any) -> tuple[Any, ...]:
    """Training and test part, standardised."""
    X, y = file["X"].astype(np.float64), file["y"]
    if "X_test" in file:
        Z, t = file["X_test"].astype(np.float64), file["y_test"]
    else:
        X, Z, y, t = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    if len(X) > MOST:
        X, _, y, _ = train_test_split(X, y, train_size=MOST, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(Z), t


def judged(machine: Any, grid: dict[str, Any], data: tuple[Any, ...]) -> tuple[float, float, float]:
    """Log-loss and accuracy on the test part, and the seconds of choosing parameters and fitting."""
    X, y, Z, t = data
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers at the ends of the grid, the process at the ends of its bounds
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        fitted = GridSearchCV(machine, grid, cv=folds, scoring="neg_log_loss").fit(X, y) if grid else machine.fit(X, y)
    seconds = time.process_time() - start
    P = fitted.predict_proba(Z)
    return log_loss(t, P, labels=fitted.classes_), float((fitted.classes_[P.argmax(axis=1)] == t).mean()), seconds


def run(chosen: argparse.Namespace) -> None:
    run_cases("logistic", {name: partial(compared, name) for name in SETS}, chosen.only)


def compared(name: str) -> Iterator[LogisticRow]:
    file = load(f"{name}.npz")
    if file is None:
        print(f"logistic: {name}.npz is not in MERCER_DATA")
        return
    data = split(file)
    gamma = [g / data[0].shape[1] for g in GAMMA]
    ours = judged(KernelLogistic(), {"C": C, "gamma": gamma}, data)
    platt = {way: judged(machine, {f"{inside}C": C, f"{inside}gamma": gamma}, data) for way, inside, machine in SVCS}
    way = min(platt, key=lambda way: platt[way][0])
    peer = platt[way]
    explicit = make_pipeline(
        Nystroem(n_components=min(300, 4 * len(data[0]) // 5), random_state=0), LogisticRegression(max_iter=1000)
    )
    nystroem = judged(explicit, {"logisticregression__C": C, "nystroem__gamma": gamma}, data)
    process = (np.nan,)
    if len(data[0]) <= 500:
        width = ConstantKernel(1.0) * RBF(np.sqrt(data[0].shape[1]))
        process = judged(GaussianProcessClassifier(width, random_state=0), {}, data)
    losses = {way: result[0] for way, result in platt.items()}
    others = nystroem[0], process[0], ours[1], peer[1], ours[2], peer[2]
    yield LogisticRow(name, ours[0], way, peer[0], losses, *others)
