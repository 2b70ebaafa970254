"""A matrix that is cut out of another is the one that its samples would have."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Polynomial, Subsequence
from mercer.problem import squared
from mercer.selection.submatrix import WholeMatrix
from mercer.solvers import Cholesky

X = np.random.default_rng(0).standard_normal((12, 3))
ROWS = np.array([7, 2, 2, 11])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_answers_as_the_matrix_of_its_samples(dtype):
    kernel = Gaussian(1.0)
    part, own = WholeMatrix(kernel.gram(X.astype(dtype))).of(ROWS), kernel.gram(X[ROWS].astype(dtype))
    tol = 1e-6 if dtype == np.float32 else 1e-12
    V = np.ones((4, 2))
    assert len(part) == 4
    assert part.dtype == own.dtype == part.to_dense().dtype
    assert (part.kernel, part.given, part.factor) == (own.kernel, own.given, None)
    np.testing.assert_allclose(part.to_dense(), own.to_dense(), atol=tol)
    np.testing.assert_allclose(part.diag(), own.diag(), atol=tol)
    np.testing.assert_allclose(part @ V, own @ V, atol=tol)
    np.testing.assert_allclose(part.exact.to_dense(), own.exact.to_dense(), atol=1e-12)
    assert part.exact.dtype == np.float64
    for rows, columns in [([0, 3], [1]), (slice(1, 3), slice(None)), ([2], slice(0, 2)), (slice(None), [0, 1])]:
        np.testing.assert_allclose(part.block(rows, columns), own.block(rows, columns), atol=tol)
    order = np.array([3, 0])
    np.testing.assert_allclose(part.ordered(order).to_dense(), own.ordered(order).to_dense(), atol=tol)
    assert part.ordered(None) is part.held() is part.single is part
    np.testing.assert_array_equal(part.samples.dense(), own.samples.dense())


def test_solvers_take_it():
    words = ["kernel", "colonel", "kennel", "funnel"]
    gram = Subsequence(2, 0.5).gram(words)
    problem = squared(np.array([1.0, 2.0]), 0.5)
    (found,) = Cholesky().solve(WholeMatrix(gram).of(np.array([0, 3])), [problem])
    (own,) = Cholesky().solve(Subsequence(2, 0.5).gram([words[0], words[3]]), [problem])
    np.testing.assert_allclose(found.coefficients, own.coefficients, rtol=1e-12)


def test_entries_are_computed_once():
    whole = WholeMatrix(Gaussian(1.0).gram(X))
    first = whole.entries
    assert whole.exact is first is whole.entries


def test_a_matrix_that_overflows_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        WholeMatrix(Polynomial(9, c=1.0).gram(1e200 * X))
