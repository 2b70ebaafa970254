"""Cholesky solves what it claims, to float64 accuracy, or says why not."""

import signal
import threading
import time

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning, lapack

from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.problem import hinge, squared
from mercer.solvers import Cholesky
from mercer.solvers.lapack import (
    COLUMNS,
    NotPositiveDefiniteError,
    by_columns,
    eigh,
    factorize,
    interruptible,
    invert,
    reciprocal_condition,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, np.array([0.1, 10.0])])
def test_matches_the_linear_system(dtype, bias, alpha):
    x = X.astype(dtype)
    weight = rng.uniform(0.5, 2, len(X))
    (solution,) = Cholesky(tol=1e-10).solve(Gaussian(2.0).gram(x), [squared(Y, alpha, weight, bias=bias)])
    K = Gaussian(2.0)(x.astype(np.float64))
    for j in range(2):
        A = np.zeros((len(X) + 1, len(X) + 1))
        A[:-1, :-1] = K + np.diag(np.broadcast_to(alpha, 2)[j] / weight)
        A[-1, -1] = 1.0
        if bias:
            A[-1, :-1] = A[:-1, -1] = 1.0
            A[-1, -1] = 0.0
        expected = np.linalg.solve(A, np.append(Y[:, j], 0.0))
        np.testing.assert_allclose(solution.coefficients[:, j], expected[:-1], rtol=1e-6, atol=1e-7)
        if bias:
            assert solution.bias[j] == pytest.approx(expected[-1], abs=1e-7)
    assert all(c.converged and c.violation < 1e-8 and c.gap < 1e-8 * c.primal for c in solution.certificate)


def test_float32_that_refinement_cannot_save_is_factored_in_float64():
    (solution,) = Cholesky().solve(Gaussian(20.0).gram(X.astype(np.float32)), [squared(Y[:, 0], 1e-7)])
    assert solution.certificate.converged


def test_singular_system_warns_with_the_condition_number_and_takes_least_squares():
    x = np.vstack([X, X])
    y = np.concatenate([X[:, 0], X[:, 0]])
    with pytest.warns(LinAlgWarning, match="condition number .* alpha"):
        (solution,) = Cholesky().solve(Linear().gram(x), [squared(y, 0.0)])
    np.testing.assert_allclose(x @ (x.T @ solution.coefficients), y, atol=1e-8)
    expected = np.linalg.pinv(x @ x.T, rcond=1e-12) @ y
    np.testing.assert_allclose(solution.coefficients, expected, atol=1e-8)


def test_singular_system_with_bias():
    x = np.vstack([X, X])
    y = np.concatenate([X[:, 0], X[:, 0]]) + 3
    with pytest.warns(LinAlgWarning, match="condition number"):
        (solution,) = Cholesky().solve(Linear().gram(x), [squared(y, 0.0, bias=True)])
    np.testing.assert_allclose(x @ (x.T @ solution.coefficients) + solution.bias, y, atol=1e-7)


def test_indefinite_matrix_is_solved_and_certified_as_such():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1: regular but not positive definite
    (solution,) = Cholesky().solve(Precomputed().gram(K), [squared(np.array([1.0, 0.0]), 0.0)])
    np.testing.assert_allclose(K @ solution.coefficients, [1.0, 0.0], atol=1e-12)
    assert solution.certificate.convex is False
    assert not solution.certificate.converged
    assert np.isclose(solution.certificate.witness.curvature, -1)


def test_refuses_bounds_early():
    with pytest.raises(ValueError, match="without bounds"):
        Cholesky().solve(Linear().gram(X), [hinge(np.sign(X[:, 0]), 1.0)])


def test_refuses_a_problem_of_another_size():
    with pytest.raises(ValueError, match="300 rows"):
        Cholesky().solve(Linear().gram(X), [squared(np.ones(3), 1.0)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factorize_keeps_the_upper_triangle(dtype):
    A = (Gaussian(1.0)(X) + np.eye(len(X))).astype(dtype)
    before = A.copy()
    factorize(A)
    np.testing.assert_array_equal(np.triu(A, 1), np.triu(before, 1))
    np.testing.assert_allclose(np.tril(A) @ np.tril(A).T, before, atol=1e-5 if dtype == np.float32 else 1e-12)


def test_factorize_reports_the_pivot():
    with pytest.raises(NotPositiveDefiniteError, match="pivot 1"):
        factorize(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_invert_keeps_the_upper_triangle():
    A = Gaussian(1.0)(X) + np.eye(len(X))
    before = A.copy()
    invert(A)
    np.testing.assert_array_equal(np.triu(A, 1), np.triu(before, 1))
    np.testing.assert_allclose(np.tril(A) @ np.tril(before), np.eye(len(X)), atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="entry 1 of the diagonal is zero"):
        invert(np.array([[1.0, 0.0], [1.0, 0.0]]))


@pytest.mark.alone("two threads take turns many times a second")
def test_an_eigendecomposition_does_not_hold_the_interpreter():
    A = rng.standard_normal((500, 500))
    moments, done = [], threading.Event()

    def watch():
        while not done.wait(1e-3):
            moments.append(time.perf_counter())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    eigh(A + A.T)
    end = time.perf_counter()
    done.set()
    watcher.join()
    assert sum(start < moment < end for moment in moments) >= 5


@pytest.mark.alone("measures seconds")
def test_long_calls_hear_ctrl_c():
    release = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a job run by nohup
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(lambda: release.wait(30))
    finally:
        signal.signal(signal.SIGINT, before)
        release.set()
    assert time.perf_counter() - start < 10


def test_columns_are_treated_some_at_a_time():
    B, seen = rng.standard_normal((5, 2 * COLUMNS + 3)), []
    A = rng.standard_normal((5, 5))

    def call(some):
        seen.append(some.shape[1])
        return A @ some

    np.testing.assert_allclose(by_columns(call, B), A @ B, rtol=1e-13, atol=1e-13)
    assert seen == [COLUMNS, COLUMNS, 3]


def test_many_targets_are_as_good_as_one_at_a_time():
    targets = np.sin(X[:, :1] + np.arange(2 * COLUMNS + 3))
    gram = Gaussian(2.0).gram(X)
    (together,) = Cholesky(tol=1e-10).solve(gram, [squared(targets, 0.1, bias=True)])
    for j in (0, COLUMNS, 2 * COLUMNS + 2):
        (alone,) = Cholesky(tol=1e-10).solve(gram, [squared(targets[:, j], 0.1, bias=True)])
        np.testing.assert_allclose(together.coefficients[:, j], alone.coefficients, atol=1e-9)


@pytest.mark.parametrize("rows", [3, 600])  # in this thread, and in another
def test_the_condition_is_that_of_lapack(rows):
    G = rng.standard_normal((rows, rows))
    A = G @ G.T + 1e-3 * np.eye(rows)
    norm = np.abs(A).sum(axis=0).max()
    factor = A.copy()
    factorize(factor)
    found = reciprocal_condition(factor, norm)
    assert found == pytest.approx(lapack.dpocon(np.linalg.cholesky(A).T, norm, uplo="U")[0], rel=1e-6)
    assert found == pytest.approx(1 / np.linalg.cond(A, 1), rel=0.9)
    with pytest.raises(ValueError, match="C-ordered float64"):
        reciprocal_condition(factor.astype(np.float32), norm)


def test_long_calls_see_what_is_set_around_them():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        interruptible(lambda: np.ones(1) / 0)


def test_errors_of_long_calls_come_through():
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
