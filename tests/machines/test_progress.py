"""Every machine whose fit may be long says how far it has come: to the user, and to scikit-learn's callbacks.

Machines of neighbours only keep the samples at fit; what they say while they predict is in ``test_neighbors``.
"""

import warnings

import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    BasisRidge,
    KernelLMS,
    KernelLogistic,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    LinearSVC,
    LinearSVR,
    MahalanobisLearner,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from tests.machines.watcher import Watcher

X, y = make_classification(60, 4, random_state=0)
WHOLE = [
    (KernelRidge(), ["matrix of 60 samples in float64", "factor of 60 rows in float64", "refinement 1: residual "]),
    (KernelRidgeCV(), ["matrix of 60 samples in float64", "eigenvectors of 60 rows", "leave-one-out errors of 100 "]),
    (BasisRidge(), ["basis functions of 60 rows", "singular values of 60 x 35"]),
    (BasisRidge(penalty="l1"), ["basis functions of 60 rows", "target 1: at most 1000 sweeps of coordinate descent"]),
    (KernelPCA(3), ["matrix of 60 samples", "3 eigenvectors of 60 rows"]),
    (KernelPCA(3, fit_inverse_transform=True), ["matrix of 60 samples", "3 eig", "inverse of 60 samples"]),
    (KernelSVD(3), ["matrix of 60 samples", "3 eigenvectors of 60 rows"]),
    (MahalanobisLearner(steps=1), [f"part {i} of 3: isotropic, diagonal, full from 40 samples" for i in (1, 2, 3)]),
]
whole = pytest.mark.parametrize(("machine", "stages"), WHOLE, ids=[str(machine) for machine, _ in WHOLE])
#: These have passes or steps to count, told in their own words.
COUNTED = [
    SVC(),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
    LinearSVC(),
    LinearSVR(),
    KernelLogistic(),
    LMS(max_iter=2),
    KernelLMS(max_iter=2),
    Perceptron(max_iter=2),
    KernelPerceptron(max_iter=2),
    KernelPCA(1, eigen_solver="arpack"),
]
LATER = {"KernelFeatures", "KernelNeighborsClassifier", "KernelNeighborsRegressor"}


def fitted(machine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y is -1 for known outliers")
        return machine.fit(X, y)


def test_all_machines_are_here():
    machines = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "get_params")}
    assert machines == {type(machine).__name__ for machine in [*COUNTED, *(m for m, _ in WHOLE)]} | LATER


@whole
def test_stages_are_told_in_their_order(machine, stages, capsys):
    watcher = Watcher()
    fitted(clone(machine).set_params(verbose=True).set_callbacks(watcher))
    told = [step["stage"] for step in watcher.seen]
    assert capsys.readouterr().out.splitlines() == [f"{type(machine).__name__} {stage}" for stage in told]
    assert len(told) >= len(stages)
    assert all(stage.startswith(start) for stage, start in zip(told, stages, strict=False)), told
    assert len(watcher.ended) == 1


def test_stages_of_a_rectangular_matrix(capsys):
    KernelSVD(2, verbose=True).fit(X, Z=X[:20])
    assert capsys.readouterr().out.splitlines() == [
        "KernelSVD matrix of 60 and 20 samples",
        "KernelSVD singular vectors of 60 x 20",
    ]


@pytest.mark.parametrize("machine", COUNTED, ids=lambda machine: type(machine).__name__)
def test_other_machines_count(machine, capfd):
    fitted(clone(machine).set_params(verbose=True))
    assert type(machine).__name__ in capfd.readouterr().out


@whole
def test_silence_is_the_default(machine, stages, capsys):
    fitted(clone(machine))
    assert not capsys.readouterr().out
    assert machine.get_params()["verbose"] is False
