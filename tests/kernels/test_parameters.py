"""Parameters that are refused, with words that say what was given and what is expected."""

import numpy as np
import pytest

from mercer.kernels import (
    L2,
    Exponential,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Mahalanobis,
    Matern,
    Monomials,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
    named_kernel,
    repair,
)

X = np.random.default_rng(4).standard_normal((12, 3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(), ["sigma", "gamma", "exactly one"]),
        (lambda: Gaussian(1, gamma=1), ["sigma", "gamma", "exactly one"]),
        (lambda: Gaussian(0), ["sigma", "positive", "0"]),
        (lambda: Gaussian(-1), ["sigma", "positive", "-1"]),
        (lambda: Gaussian(np.nan), ["sigma", "positive", "nan"]),
        (lambda: Gaussian(np.inf), ["sigma", "positive", "inf"]),
        (lambda: Gaussian(1e-310), ["sigma", "1e-310", "inverse overflows"]),
        (lambda: Gaussian([1, -2]), ["every sigma", "positive", "-2"]),
        (lambda: Gaussian("mean"), ["median", "mean"]),
        (lambda: Gaussian(gamma=-1), ["gamma", "non-negative", "-1"]),
        (lambda: Gaussian(gamma="scael"), ["scale", "auto", "scael"]),
        (lambda: Polynomial(1.5), ["degree", "integer", "1.5"]),
        (lambda: Polynomial(-1), ["degree", "at least 0", "-1"]),
        (lambda: Polynomial(True), ["degree", "integer"]),
        (lambda: Polynomial(np.inf), ["degree", "integer", "inf"]),
        (lambda: Polynomial(np.nan), ["degree", "integer", "nan"]),
        (lambda: Polynomial("2"), ["degree", "integer"]),
        (lambda: Polynomial(2, c=np.nan), ["c must be", "finite"]),
        (lambda: Polynomial(2, gamma=np.inf), ["gamma", "finite"]),
        (lambda: PowerSeries(()), ["at least one"]),
        (lambda: PowerSeries((1, np.nan)), ["finite"]),
        (lambda: Laplacian(-1), ["gamma", "non-negative"]),
        (lambda: Matern(0), ["nu", "positive"]),
        (lambda: Matern(1.5, length=0), ["length", "positive"]),
        (lambda: RationalQuadratic(0), ["alpha", "positive"]),
        (lambda: RationalQuadratic(1.0, 1e-200), ["alpha length^2", "length=1e-200", "positive"]),
        (lambda: RationalQuadratic(1.0, 1e200), ["alpha length^2", "length=1e+200", "finite"]),
        (lambda: named_kernel("chi2", columns=2, gamma=0), ["gamma", "chi2", "positive", "0"]),
        (lambda: named_kernel("chi2", columns=2, gamma="scale"), ["gamma", "chi2", "positive", "scale"]),
        (lambda: Monomials(2.5), ["degree of Monomials", "integer", "2.5"]),
        (lambda: Monomials(-1), ["degree of Monomials", "at least 0", "-1"]),
        (lambda: Exponential(L2(), beta=0), ["beta", "positive"]),
        (lambda: Exponential(L2(), power=0), ["power", "positive"]),
        (lambda: Mahalanobis(), ["S", "factor", "exactly one"]),
        (lambda: Mahalanobis(np.eye(2), factor=np.eye(2)), ["exactly one"]),
        (lambda: Mahalanobis(np.ones((2, 3))), ["square", "(2, 3)"]),
        (lambda: Mahalanobis(np.array([[1.0, 0.5], [0.0, 1.0]])), ["symmetric"]),
        (lambda: Mahalanobis(np.diag([1.0, -1.0])), ["positive definite", "-1"]),
        (lambda: Mahalanobis(factor=np.zeros((2, 2))), ["invertible"]),
        (lambda: Mahalanobis(factor=np.ones((3, 2))), ["columns", "independent"]),
        (lambda: Mahalanobis(factor=np.ones((2, 3))), ["at most as many columns", "(2, 3)"]),
        (lambda: Exponential(Mahalanobis(np.eye(2)))(X), ["2 by 2", "3 columns"]),
        (lambda: Intersection(levels=0), ["levels", "at least 1"]),
        (lambda: Linear() ** -1, ["integer power", "-1"]),
        (lambda: Linear() ** 0.5, ["integer power", "0.5"]),
        (lambda: repair(Linear(), "clipp"), ["clip", "flip", "shift", "clipp"]),
        (lambda: np.nan * Linear(), ["nan"]),
        (lambda: Linear() + np.inf, ["inf"]),
    ],
)
def test_refused_values(make, words):
    with pytest.raises(ValueError) as info:  # noqa: PT011 - the words are checked below
        make()
    for word in words:
        assert word in str(info.value)
