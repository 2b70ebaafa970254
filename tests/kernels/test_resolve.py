"""Kernels that depend on data: they say so until ``resolve`` has seen some, and never change afterwards."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from mercer.kernels import Gaussian, Laplacian, Linear, Sigmoid, Squares, UnresolvedKernelError, exp, repair

X = np.random.default_rng(4).standard_normal((12, 3))

UNRESOLVED = [
    Gaussian("median"),
    Gaussian(gamma="scale"),
    Gaussian(gamma="auto"),
    Laplacian("auto"),
    Sigmoid("auto"),
    Linear().centered(),
    Linear() + 2 * Gaussian("median"),
    Linear() * Gaussian(gamma="scale").on([0, 1]),
    exp(Gaussian("median")),
    Gaussian("median").normalized(),
    Gaussian("median").centered(),
    Gaussian("median") ** 2,
    Gaussian("median").on(Squares()),
    repair(Sigmoid("auto")),
]


@pytest.mark.parametrize("k", UNRESOLVED, ids=repr)
def test_an_unresolved_kernel_says_so(k):
    for use in (k, k.diag, k.gram, k.features, lambda A: k(A, A)):
        with pytest.raises(UnresolvedKernelError, match="resolve") as info:
            use(X)
        assert repr(k) in str(info.value)
    resolved = k.resolve(X)
    assert resolved(X).shape == (12, 12)
    assert resolved.resolve(X + 1) == resolved
    with pytest.raises(UnresolvedKernelError):
        k(X)  # the original has not changed


def test_median():
    assert Gaussian("median").resolve(X).sigma == pytest.approx(np.median(pdist(X)), rel=1e-12)
    duplicated = np.repeat(X, 2, axis=0)
    assert Gaussian("median").resolve(duplicated).sigma == pytest.approx(np.median(pdist(X)), rel=1e-12)
    with pytest.raises(ValueError, match="two different samples"):
        Gaussian("median").resolve(np.ones((4, 2)))


def test_scale_and_auto():
    S = np.where(X > 0.5, X, 0.0)
    assert Gaussian(gamma="scale").resolve(X).gamma == pytest.approx(1 / (3 * X.var()), rel=1e-12)
    assert Gaussian(gamma="scale").resolve(sp.csr_array(S)).gamma == pytest.approx(1 / (3 * S.var()), rel=1e-12)
    assert Gaussian(gamma="scale").resolve(np.ones((3, 2))).gamma == 1.0
    assert Gaussian(gamma="auto").resolve(X).gamma == pytest.approx(1 / 3)
    assert Laplacian("auto").resolve(X).gamma == pytest.approx(1 / 3)


def test_parts_are_resolved_from_what_they_see():
    k = Gaussian("median").on([0]) + Gaussian("median").on(Squares())
    assert k.resolve(X) == Gaussian("median").resolve(X[:, :1]).on([0]) + Gaussian("median").resolve(X**2).on(Squares())


def test_a_resolved_kernel_does_not_change_when_the_data_do():
    A = X.copy()
    k = Linear().centered().resolve(A)
    before, name = k(X), hash(k)
    A += 100
    assert (k(X) == before).all()
    assert hash(k) == name
