"""Normalized and centred kernels: exact diagonals, means that vanish and are found once."""

import numpy as np
import pandas as pd
import pytest

from mercer.kernels import Centered, Custom, Gaussian, Linear, Polynomial

X = np.random.default_rng(4).standard_normal((12, 3))


def test_normalized():
    k = Polynomial(2, c=0).normalized()
    A = np.vstack([X, np.zeros(3)])
    K = k(A)
    assert (np.diag(K) == [1.0] * 12 + [0.0]).all()
    assert (K[-1] == 0).all()
    assert (k.diag(A) == np.diag(K)).all()
    with pytest.raises(ValueError, match="needs k") as info:
        (-1 * Linear()).normalized()(X)
    assert "not positive semi-definite" in str(info.value)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"k\(x, x\) is inf at sample 1; scale"):
        Linear().normalized()([[1.0], [1e200]])


def test_centered_rows_sum_to_zero():
    k = Gaussian(1).centered().resolve(X)
    assert np.abs(k(X).sum(axis=0)).max() < 1e-12
    assert isinstance(k, Centered)
    A = X + 0.5
    np.testing.assert_allclose(k.diag(A), np.diag(k(A)), rtol=1e-12)
    np.testing.assert_allclose(k(A, X), k(X, A).T, rtol=1e-12, atol=1e-15)


def test_the_means_of_centered_are_found_once():
    evaluated = []

    def f(A, B):
        evaluated.append(len(A) * len(B))
        return A @ B.T

    k = Custom(f).centered().resolve(X)
    expected = Linear().centered().resolve(X)
    np.testing.assert_allclose(k(X), expected(X), atol=1e-12)
    evaluated.clear()
    np.testing.assert_allclose(k(X[:1] + 1, X.copy()), expected(X[:1] + 1, X), atol=1e-12)
    assert sum(evaluated) == 2 * len(X)  # k(x, X), and the mean of k(x, .)


def test_centered_tables_may_hold_anything():
    def f(a, b):
        return float(a[0] @ b[0])

    def table(values):
        return pd.DataFrame({"x": list(values), "n": range(len(values))})

    k = Custom(f, pairwise=True).on(["x", "n"]).centered().resolve(table(X))
    expected = Linear().centered().resolve(X)
    np.testing.assert_allclose(k(table(X)), expected(X), atol=1e-12)
    np.testing.assert_allclose(k(table(X + 1), table(X)), expected(X + 1, X), atol=1e-12)


def test_means_of_samples_in_float32_are_those_of_the_same_in_float64():
    """What solvers certify in float64 is then the centred matrix of these samples, not one of rounded means."""
    single = (1e3 * (X + 10)).astype(np.float32)
    exact = single.astype(np.float64)
    k = Linear().centered().resolve(single)
    centred = exact - exact.mean(axis=0)
    np.testing.assert_allclose(k(exact), centred @ centred.T, rtol=1e-9, atol=1e-12 * float((exact**2).sum()))
