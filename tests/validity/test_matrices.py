"""is_psd and is_pd: three definitions of one thing, compared with known spectra and with each other."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.validity import is_pd, is_psd

METHODS = ["eigenvalues", "factorization", "quadratic_form"]


def with_spectrum(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    return (Q * values) @ Q.T


SPECTRA = {
    "definite": ([1.0, 2.0, 5.0, 0.5], True, True),
    "singular": ([1.0, 2.0, 0.0, 0.0, 3.0], True, False),
    "indefinite": ([1.0, 2.0, -0.5, 3.0], False, False),
    "slightly indefinite": ([*np.linspace(1, 2, 30), -1e-6], False, False),
    "slightly definite": ([*np.linspace(1, 2, 30), 1e-6], True, True),
    "negative": ([-1.0, -2.0], False, False),
    "zero": ([0.0, 0.0, 0.0], True, False),
    "number": ([3.0], True, True),
    "negative number": ([-3.0], False, False),
    "one among many": ([*np.linspace(0.1, 1, 150), -0.05], False, False),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("name", SPECTRA)
def test_known_spectra_at_any_scale(name, scale, method):
    values, psd, pd = SPECTRA[name]
    A = scale * with_spectrum(np.array(values))
    assert is_psd(A, method) is psd
    assert is_pd(A, method) is pd


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [5e-324, 1e-320, 1e-310, 1e-300, 1e300])
def test_no_number_is_too_small_or_too_large(method, unit):
    """Whole numbers of units, of which the smallest is the smallest number there is."""
    definite = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
    singular = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    indefinite = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    known = [(definite, True, True), (np.eye(3), True, True), (singular, True, False), (indefinite, False, False)]
    for A, psd, pd in [*known, (np.diag([1.0, -1.0]), False, False)]:
        assert is_psd(unit * A, method) is psd
        assert is_pd(unit * A, method) is pd


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(10))
def test_the_definitions_agree_on_random_matrices(seed, method):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=12) + rng.choice([0.0, 1.0, 3.0])
    A = with_spectrum(values, seed)
    assert is_psd(A, method) is bool(values.min() >= 0)
    assert is_pd(A, method) is bool(values.min() > 0)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_symmetric_is_judged_by_its_symmetric_part(method):
    rotation = np.array([[1.0, 5.0], [-5.0, 1.0]])  # z'Az = |z|^2
    assert is_pd(rotation, method)
    triangular = np.array([[1.0, 4.0], [0.0, 1.0]])  # positive eigenvalues, yet z'Az < 0 for z = (1, -1)
    assert (np.linalg.eigvals(triangular) > 0).all()
    assert not is_psd(triangular, method)


@pytest.mark.parametrize("method", METHODS)
def test_the_tolerance_is_relative_to_the_largest_eigenvalue(method):
    A = with_spectrum(np.array([100.0, 1.0, -1e-3]))
    assert not is_psd(A, method, tol=0.9e-5)
    assert is_psd(A, method, tol=1.1e-5)
    B = with_spectrum(np.array([100.0, 1.0, 1e-3]))
    assert is_pd(B, method, tol=0.9e-5)
    assert not is_pd(B, method, tol=1.1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_gram_matrix_rounded_to_float32_is_still_psd(method):
    X = np.random.default_rng(0).normal(size=(200, 3))
    A = (X @ X.T).astype(np.float32)
    assert np.linalg.eigvalsh(A.astype(np.float64))[0] < -1e-8
    assert is_psd(A, method)
    assert not is_pd(A, method)
    assert not is_psd(A.astype(np.float64), method)


@pytest.mark.parametrize("method", METHODS)
def test_integers_are_numbers(method):
    assert is_psd([[2, 1], [1, 2]], method)
    assert not is_psd([[1, 2], [2, 1]], method)


@pytest.mark.parametrize("test", [is_psd, is_pd])
@pytest.mark.parametrize(
    ("A", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"square matrix but got shape \(2, 3\)"),
        (np.ones(4), ValueError, r"square matrix but got shape \(4,\)"),
        (np.ones((0, 0)), ValueError, "empty"),
        ([[1.0, np.nan], [0.0, 1.0]], ValueError, "nan at row 0, column 1"),
        ([[1.0, 0.0], [np.inf, 1.0]], ValueError, "inf at row 1, column 0"),
        (np.eye(2) * 1j, TypeError, "complex128"),
        ([["a"]], TypeError, "real numbers"),
        (sp.eye_array(3), TypeError, "toarray"),
    ],
)
def test_bad_matrices_are_refused_by_name(test, A, error, message):
    with pytest.raises(error, match=message):
        test(A)


@pytest.mark.parametrize("test", [is_psd, is_pd])
def test_bad_options_are_refused_by_name(test):
    with pytest.raises(ValueError, match="'factorization', 'quadratic_form', not 'cholesky'"):
        test(np.eye(2), method="cholesky")
    for tol in (-1e-9, 1.0, np.nan):
        with pytest.raises(ValueError, match="tol"):
            test(np.eye(2), tol=tol)
