"""Operators are what their entries say, whatever they are made of."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.solvers.cholesky import InvertibleGram
from mercer.solvers.diagonalised import DiagonalisedGram
from mercer.solvers.eigen import Centred, centred
from mercer.solvers.operator import DerivedOperator, Factored, product

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
SINGLE = X.astype(np.float32)
K = Gaussian(2.0)(X)
H = np.eye(30) - 1 / 30
CASES = {
    "Gram": (Gaussian(2.0).gram(X), K),
    "Gram in float32": (Gaussian(2.0).gram(SINGLE), K),
    "a given matrix": (Precomputed().gram(K), K),
    "a view": (DerivedOperator(Gaussian(2.0).gram(X)), K),
    "features": (Factored(X), X @ X.T),
    "features in float32": (Factored(SINGLE), X @ X.T),
    "sparse features": (Factored(sp.csr_array(np.where(X > 0, X, 0))), np.where(X > 0, X, 0) @ np.where(X > 0, X, 0).T),
    "centred": (Centred(Gaussian(2.0).gram(X)), H @ K @ H),
    "factored in place": (InvertibleGram(Gaussian(2.0).gram(X)), K),
    "factored in place in float32": (InvertibleGram(Gaussian(2.0).gram(SINGLE)), K),
    "by eigenvectors": (DiagonalisedGram(Gaussian(2.0).gram(X)), K),
}


@pytest.mark.parametrize(("operator", "entries"), CASES.values(), ids=CASES)
def test_an_operator_is_its_entries(operator, entries):
    near = dict(rtol=1e-12, atol=1e-12) if operator.dtype == np.float64 else dict(rtol=1e-5, atol=1e-5)
    some, V = np.array([3, 1, 17]), rng.standard_normal((30, 2))
    assert len(operator) == 30
    assert operator.dtype in (np.float32, np.float64)
    np.testing.assert_allclose(operator.diag(), entries.diagonal(), **near)
    np.testing.assert_allclose(operator.block(some, slice(None)), entries[some], **near)
    np.testing.assert_allclose(operator.block(some, some[:2]), entries[np.ix_(some, some[:2])], **near)
    np.testing.assert_allclose(operator @ V, entries @ V, **near)
    np.testing.assert_allclose(operator @ V[:, 0], entries @ V[:, 0], **near)
    np.testing.assert_allclose(operator.to_dense(), entries, **near)
    np.testing.assert_allclose(product(operator, 1e200 * V), 1e200 * (entries @ V), rtol=1e-4, atol=1e196)


@pytest.mark.parametrize(("operator", "entries"), CASES.values(), ids=CASES)
def test_other_precisions_and_orders_are_the_same_matrix(operator, entries):
    a, order = rng.standard_normal(30), np.array([4, 2, 29, 0])
    assert operator.exact.dtype == np.float64
    near = dict(rtol=1e-12, atol=1e-12) if operator.dtype == np.float64 else dict(rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(operator.exact @ a, entries @ a, **near)
    np.testing.assert_allclose(operator.single @ a.astype(operator.single.dtype), entries @ a, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(operator.held() @ a, entries @ a, **near)
    assert operator.ordered(None) is operator
    if not isinstance(operator, Centred):  # of fewer samples the means are others
        np.testing.assert_allclose(operator.ordered(order).to_dense(), entries[np.ix_(order, order)], **near)


def test_the_means_come_with_the_first_product_and_without_one():
    first, none = Centred(Gaussian(2.0).gram(X)), Centred(Gaussian(2.0).gram(X))
    first @ rng.standard_normal((30, 3))
    np.testing.assert_allclose(first.means, K.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(none.means, K.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(centred(K), H @ K, atol=1e-13)


def test_a_factor_is_what_it_says():
    Z = Factored(X).factor
    np.testing.assert_array_equal(Z, X)
    assert Linear().gram(X).factor is None
    a = rng.standard_normal(30)
    np.testing.assert_allclose(Factored(X).weights(a), X.T @ a)


def test_features_that_overflow_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        Factored(np.full((2, 2), 1e200)).check_finite()
