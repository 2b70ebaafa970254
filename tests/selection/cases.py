"""Machines of every kind with samples, targets and a small grid: what the tools are compared on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVR,
    BasisRidge,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidge,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Spectrum, WeisfeilerLehman

rng = np.random.default_rng(0)
N = 90
X = rng.standard_normal((N, 3))
WAVE = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N)
TWO = np.where(WAVE > 0, "yes", "no")
THREE = np.digitize(WAVE, [-0.5, 0.7])
WORDS = ["".join(rng.choice(list("ab" if label == "yes" else "bc"), 8)) for label in TWO]
GRAPHS = [
    ([(i, (i + 1) % n) for i in range(n)], ["C" if label == "yes" else "O"] * (n - 1) + ["N"])
    for label, n in zip(TWO, rng.integers(3, 7, N), strict=True)
]
SURE = {"tol": 1e-6}


@dataclass
class Case:
    machine: Any
    grid: Any
    y: Any
    X: Any = None
    scoring: Any = None

    def __post_init__(self):
        self.X = X if self.X is None else self.X


def above(machine, X, y=None):
    """A scorer of machines without labels: the mean value. On which side the samples on the border lie is chance."""
    return float(np.mean(machine.decision_function(X)))


CASES = {
    "SVC": Case(SVC(**SURE), {"C": [0.1, 1, 10], "gamma": [0.1, 1]}, THREE),
    "SVC scale": Case(SVC(**SURE), {"C": [0.1, 10], "class_weight": [None, "balanced"]}, TWO),
    "SVC composed": Case(
        SVC(kernel=Gaussian("median") + 0.1 * Linear(), **SURE), {"kernel__0__sigma": [0.5, 2.0], "C": [1, 10]}, TWO
    ),
    "SVC kernels": Case(SVC(**SURE), {"kernel": [Gaussian("median"), Polynomial(2).centered(), Laplacian(1)]}, TWO),
    "SVC of words": Case(SVC(kernel=Spectrum(2).normalized(), **SURE), {"C": [0.1, 1]}, TWO, WORDS),
    "SVC of graphs": Case(SVC(kernel=WeisfeilerLehman(1), **SURE), {"C": [0.01, 0.1]}, TWO, GRAPHS),
    "SVC given": Case(SVC(kernel="precomputed", **SURE), {"C": [0.1, 1]}, TWO, np.exp(-np.abs(X[:, :1] - X[:, 0]))),
    "NuSVC": Case(NuSVC(**SURE), {"nu": [0.1, 0.3]}, TWO),
    "SVR": Case(SVR(**SURE), {"C": [0.1, 1], "epsilon": [0.05, 0.5]}, WAVE),
    "NuSVR": Case(NuSVR(**SURE), {"C": [0.1, 1], "nu": [0.3, 0.6]}, WAVE),
    "OneClassSVM": Case(OneClassSVM(**SURE), {"nu": [0.1, 0.5]}, None, scoring=above),
    "KernelRidge": Case(KernelRidge(kernel="rbf"), {"alpha": [0.01, 1], "gamma": [0.1, 1]}, WAVE),
    "KernelLogistic": Case(KernelLogistic(tol=1e-8), {"C": [0.1, 1], "gamma": [0.1, 1]}, THREE),
    "LinearSVC": Case(LinearSVC(tol=1e-8), {"C": [0.01, 1]}, TWO),
    "LinearSVR": Case(LinearSVR(tol=1e-8, loss="squared_epsilon_insensitive"), {"C": [0.01, 1]}, WAVE),
    "BasisRidge": Case(BasisRidge(), {"alpha": [0.1, 10]}, WAVE, X[:, :1]),
    "KernelNeighborsClassifier": Case(KernelNeighborsClassifier(), {"n_neighbors": [1, 5]}, THREE),
    "KernelPerceptron": Case(KernelPerceptron(max_iter=3), {"averaged": [False, True]}, THREE),
    "pipeline": Case(make_pipeline(StandardScaler(), SVC(**SURE)), {"svc__C": [0.1, 1, 10]}, THREE),
    "steps": Case(
        make_pipeline(StandardScaler(), SVC(**SURE)),
        [{"svc": [SVC(**SURE), KernelLogistic(tol=1e-8)], "svc__C": [0.1, 1]}, {"standardscaler": ["passthrough"]}],
        TWO,
    ),
}
