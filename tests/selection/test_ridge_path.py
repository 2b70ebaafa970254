"""All splits and penalties at once say what a machine of their own would, whatever the splits and the matrix."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    LeavePOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from mercer import KernelRidge, costs
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from mercer.selection import ridge_path
from mercer.selection.ridge_path import held_out_path
from mercer.selection.submatrix import WholeMatrix

N = 36
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3))
Y = np.stack([np.sin(2 * X[:, 0]), 5 + X[:, 1] ** 2], axis=1) + 0.1 * RNG.standard_normal((N, 2))
WEIGHT = RNG.uniform(0.2, 3.0, N)
WEIGHT[[3, 17, 30]] = 0.0
KERNEL = Gaussian(1.5)
ALPHAS = np.geomspace(1e-3, 1e2, 6)
#: Eigenvectors that cost nothing are taken wherever that is possible, and those beyond price never.
WAYS = {"decomposed": 0.0, "factored": np.inf, "chosen": costs.EIGENVECTORS}
SPLITTERS = {
    "k-fold": KFold(4),
    "shuffled": KFold(5, shuffle=True, random_state=1),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "groups": GroupKFold(4),
    "overlapping": ShuffleSplit(4, train_size=0.5, test_size=0.3, random_state=0),
    "in time": TimeSeriesSplit(4),
    "leave one out": LeaveOneOut(),
    "leave two out": LeavePOut(2),
    "with repetitions": [(RNG.integers(0, N, N), np.arange(0, N, 3)) for _ in range(3)],
    "of its own rows": [(np.arange(20), np.arange(10, 30)), (np.arange(N), np.arange(N))],
    "masks": [(np.arange(N) % 3 > 0, np.arange(N) % 3 == 0)],
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(costs, "EIGENVECTORS", WAYS[request.param])
    return request.param


def splits_of(name):
    splitter = SPLITTERS[name]
    if isinstance(splitter, list):
        return splitter
    groups = {"groups": np.arange(N) // 5} if name == "groups" else {}
    found = list(splitter.split(X, **groups))
    return found[::40] if name == "leave two out" else found


def refitted(samples, y, alpha, split, weight=None, bias=False, kernel=KERNEL):
    """What a machine of its own says at test and training rows, and its certificate."""
    train, test = split
    machine = KernelRidge(alpha, kernel=kernel, fit_intercept=bias)
    machine.fit(samples[train], y[train], None if weight is None else weight[train])
    return machine.predict(samples[test]), machine.predict(samples[train]), machine.certificate_


def close(found, expected, y, tol=1e-8):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tol * np.abs(y).max()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", SPLITTERS)
def test_values_are_those_of_refits(name, bias, weight, way):
    splits = splits_of(name)
    K = WholeMatrix(KERNEL.gram(X))
    path = held_out_path(K, Y, ALPHAS, splits, weight, bias=bias, train_values=True)
    assert [len(row) for row in path] == [len(ALPHAS)] * len(splits)
    for split, row in zip(splits, path, strict=True):
        for alpha, found in list(zip(ALPHAS, row, strict=True))[:: 1 if len(splits) < 10 else 3]:
            test, train, certificates = refitted(X, Y, alpha, split, weight, bias)
            close(found.test, test, Y)
            close(found.train, train, Y)
            for one, other in zip(found.certificate, certificates, strict=True):
                assert one.converged
                assert one.convex is True
                assert one.primal == pytest.approx(other.primal, rel=1e-9)
                assert one.dual <= one.primal + 1e-12 * abs(one.primal)


@pytest.mark.parametrize("weight", [None, WEIGHT + 0.1], ids=["plain", "weighted"])
def test_values_are_those_of_scikit_learn(weight, way):
    splits = splits_of("shuffled")
    path = held_out_path(WholeMatrix(KERNEL.gram(X)), Y, ALPHAS, splits, weight)
    for (train, test), row in zip(splits, path, strict=True):
        for alpha, found in zip(ALPHAS, row, strict=True):
            peer = Peer(alpha=alpha, kernel="rbf", gamma=KERNEL.gamma or 1 / (2 * KERNEL.sigma**2))
            peer.fit(X[train], Y[train], None if weight is None else weight[train])
            close(found.test, peer.predict(X[test]), Y)


@pytest.mark.parametrize("bias", [False, True])
def test_each_target_has_its_alpha(bias, way):
    alphas = [[0.1, 10.0], 0.1, [10.0, 0.5]]
    splits = splits_of("k-fold")
    path = held_out_path(WholeMatrix(KERNEL.gram(X)), Y, alphas, splits, bias=bias)
    for split, row in zip(splits, path, strict=True):
        for alpha, found in zip(alphas, row, strict=True):
            close(found.test, refitted(X, Y, np.array(alpha), split, bias=bias)[0], Y)


def test_one_target_has_one_certificate(way):
    split = np.arange(30), np.arange(30, N)
    ((found,),) = held_out_path(WholeMatrix(KERNEL.gram(X)), Y[:, 0], [0.5], [split])
    test, _, certificate = refitted(X, Y[:, 0], 0.5, split)
    close(found.test, test, Y)
    assert found.train is None
    assert found.certificate.primal == pytest.approx(certificate.primal, rel=1e-9)


def test_one_decomposition_serves_all_splits(monkeypatch):
    """Where it pays, no training block is ever factored."""
    monkeypatch.delattr(ridge_path, "InvertibleGram")
    made = []
    monkeypatch.setattr(ridge_path, "SharedSystem", counting(made, ridge_path.SharedSystem))
    held_out_path(WholeMatrix(KERNEL.gram(X)), Y, np.geomspace(0.01, 10, 20), splits_of("leave one out"), bias=True)
    assert len(made) == 1


def counting(made, kind):
    def make(*arguments):
        made.append(kind)
        return kind(*arguments)

    return make


def test_few_penalties_are_not_worth_eigenvectors(monkeypatch):
    monkeypatch.delattr(ridge_path, "SharedSystem")
    held_out_path(WholeMatrix(KERNEL.gram(X)), Y, [1.0], splits_of("k-fold"))


@pytest.mark.parametrize("error", [1e-6, 1e-2, 0.5])
@pytest.mark.parametrize("bias", [False, True])
def test_a_wrong_decomposition_is_found_out(bias, error, monkeypatch):
    """Small errors are refined away, and large ones lead back to the factor: the values are right."""
    monkeypatch.setattr(costs, "EIGENVECTORS", 0.0)

    class Wrong(ridge_path.SharedSystem):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.vectors = self.vectors + error * np.random.default_rng(1).standard_normal(self.vectors.shape) / N

    monkeypatch.setattr(ridge_path, "SharedSystem", Wrong)
    splits = splits_of("shuffled")
    path = held_out_path(WholeMatrix(KERNEL.gram(X)), Y, ALPHAS, splits, WEIGHT, bias=bias)
    for split, row in zip(splits, path, strict=True):
        for alpha, found in zip(ALPHAS, row, strict=True):
            close(found.test, refitted(X, Y, alpha, split, WEIGHT, bias)[0], Y)


def test_samples_in_float32_are_compared_in_float64(way):
    single = (X * 3).astype(np.float32)
    splits = splits_of("k-fold")
    path = held_out_path(WholeMatrix(KERNEL.gram(single)), Y, ALPHAS, splits, bias=True)
    for split, row in zip(splits, path, strict=True):
        for alpha, found in zip(ALPHAS, row, strict=True):
            close(found.test, refitted(single.astype(np.float64), Y, alpha, split, bias=True)[0], Y)


def given(kernel, samples):
    """A matrix whose entries are the same to the last bit in every fit."""
    return kernel.gram(samples).to_dense()


def quietly(call, *arguments, **keywords):
    """What a call returns, and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments, **keywords)
    return result, {warning.category for warning in caught}


HARD = {
    "nearly singular": given(Gaussian(20.0), X),
    "of low rank": given(Linear(), X),
    "repeated rows": given(Gaussian(1.0), np.concatenate([X[: N // 2], X[: N // 2]])),
    "of large entries": given(Polynomial(5, c=1.0), 10 * X),
    "indefinite": given(Sigmoid(gamma=1.0, c=-0.5), X),
    "zero": np.zeros((N, N)),
}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", HARD)
def test_what_is_too_near_to_singular_is_refitted(name, bias, way):
    """Refits then find the same, and say the same of it."""
    M = HARD[name]
    size = float(np.abs(M).max()) or 1.0
    alphas = [0.0, 1e-16 * size, 1e-13 * size, 1e-10 * size, 1e-7 * size, 1e-3 * size, size]
    splits = splits_of("k-fold")
    gram = Precomputed().gram(Precomputed().samples(M))
    path, told = quietly(held_out_path, WholeMatrix(gram), Y, alphas, splits, bias=bias)
    also = set()
    for (train, test), row in zip(splits, path, strict=True):
        for alpha, found in zip(alphas, row, strict=True):
            machine = KernelRidge(alpha, kernel="precomputed", fit_intercept=bias)
            _, kinds = quietly(machine.fit, M[np.ix_(train, train)], Y[train])
            also |= kinds & {LinAlgWarning, ConvergenceWarning}
            expected = machine.predict(M[np.ix_(test, train)])
            # Far from the data the values are of any size, and so is their rounding.
            close(found.test, expected, max(np.abs(Y).max(), np.abs(expected).max()))
            for one, other in zip(found.certificate, machine.certificate_, strict=True):
                assert (one.converged, one.convex) == (other.converged, other.convex)
    assert told == also


def test_weights_of_all_sizes(way):
    weight = np.geomspace(1e-9, 1e3, N)[RNG.permutation(N)]
    splits = splits_of("k-fold")
    path = held_out_path(WholeMatrix(KERNEL.gram(X)), Y, ALPHAS, splits, weight, bias=True)
    for split, row in zip(splits, path, strict=True):
        for alpha, found in zip(ALPHAS, row, strict=True):
            close(found.test, refitted(X, Y, alpha, split, weight, True)[0], Y)


def test_a_split_without_weight_is_refused():
    with pytest.raises(ValueError, match="trains on 3 samples, of which none has a positive weight"):
        held_out_path(WholeMatrix(KERNEL.gram(X)), Y, [1.0], [(np.array([3, 17, 30]), np.arange(2))], WEIGHT)
