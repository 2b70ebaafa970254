"""A stored reduction, and the Gram matrices of kernels of several widths that are made of it."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Chi2, Custom, Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.problem import hinge
from mercer.solvers import SMO

rng = np.random.default_rng(0)
X = rng.standard_normal((700, 20))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(700) > 0, 1.0, -1.0)
KERNELS = [
    Gaussian(1.0),
    Gaussian(gamma=0.3),
    2 * Gaussian(5.0) + 0.1 * Linear(),
    Matern(1.5, length=2.0),
    RationalQuadratic(alpha=2.0, length=3.0) * Gaussian(4.0),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_of_all_widths_are_read_from_one_matrix(kernel, dtype):
    x = X.astype(dtype)
    stored = Gaussian(3.0).gram(x).reduction()
    assert stored.matrix.dtype == np.float32
    gram = stored.gram(kernel)
    matrices = gram.pairs.matrices(gram, None, 2**30, single=True)
    expected = kernel.gram(x.astype(np.float64)).to_dense()
    off = np.abs(matrices.dense_single() - expected).max()
    assert off <= matrices.errors.largest
    np.testing.assert_allclose(matrices.dense(), expected, rtol=1e-9, atol=1e-11)
    order = rng.permutation(len(X))[:100]
    some = gram.pairs.matrices(gram, order, 2**30, single=True)
    np.testing.assert_array_equal(some.dense_single(), matrices.dense_single()[np.ix_(order, order)])


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_solutions_are_certified_as_those_of_the_samples(kernel):
    gram = Gaussian(3.0).gram(X).reduction().gram(kernel)
    (found,) = SMO().solve(gram, [hinge(Y, 1.0)])
    (expected,) = SMO().solve(kernel.gram(X), [hinge(Y, 1.0)])
    assert found.certificate.converged
    assert found.certificate.dual == pytest.approx(expected.certificate.dual, rel=1e-4)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_copies_give_the_same_solutions_to_the_last_bit(copied):
    stored = Gaussian(3.0).gram(X).reduction()
    gram = stored.gram(KERNELS[2])
    problem = hinge(Y, 1.0)
    (expected,) = SMO().solve(gram, [problem])
    for other in (copied(gram), copied(stored).gram(KERNELS[2])):
        (found,) = SMO().solve(other, [problem])
        assert (found.coefficients == expected.coefficients).all()
        assert (found.f == expected.f).all()


def test_inner_products_are_stored_for_all_degrees():
    stored = Linear().gram(X).reduction()
    np.testing.assert_allclose(stored.matrix, X @ X.T, rtol=1e-5, atol=1e-5)
    gram = stored.gram(Polynomial(2, gamma=0.1))
    np.testing.assert_allclose(gram.to_dense(), (0.1 * X @ X.T + 1) ** 2, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(1.0) + Laplacian(1.0), Custom(lambda A, B: A @ B.T)], ids=repr)
def test_what_is_no_function_of_one_reduction_is_refused(kernel):
    with pytest.raises(ValueError, match="not a function of one reduction"):
        kernel.gram(X).reduction()


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Chi2(), Gaussian((2.0,) * 20), Gaussian(1.0).on([0])], ids=repr)
def test_kernels_of_another_reduction_are_refused(kernel):
    with pytest.raises(ValueError, match="no function of what is stored"):
        Gaussian(1.0).gram(np.abs(X)).reduction().gram(kernel)


def test_sparse_samples():
    x = sp.csr_array(np.where(rng.random(X.shape) < 0.3, X, 0.0))
    gram = Gaussian(1.0).gram(x).reduction().gram(Gaussian(2.0))
    matrices = gram.matrices(None)
    assert np.abs(matrices.dense_single() - Gaussian(2.0)(x)).max() <= matrices.errors.largest
    with pytest.raises(ValueError, match="no function of what is stored"):
        Gaussian(1.0).gram(x).reduction().gram(Laplacian(1.0))
