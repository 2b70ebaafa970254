"""Which kernels call themselves psd, conditionally so or indefinite, and what the algebra makes of it."""

import numpy as np
import pytest

from mercer.kernels import (
    L1,
    L2,
    Categorical,
    Chi2,
    Chi2Distance,
    Constant,
    Cosine,
    Custom,
    Exponential,
    FeatureMap,
    Gaussian,
    Hellinger,
    HellingerDistance,
    Intersection,
    JensenShannon,
    Laplacian,
    Lift,
    Linear,
    Linf,
    Mahalanobis,
    Matern,
    NegativeDistance,
    Polynomial,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Squares,
    exp,
    repair,
)

X = np.random.default_rng(4).standard_normal((12, 3))

INDEFINITE = Sigmoid(1.0)
UNKNOWN = Exponential(L1(), power=2)
CPD = NegativeDistance(L2())
PSD = Gaussian(1)

VALIDITY = [
    (Linear(), "psd"),
    (Polynomial(3), "psd"),
    (Polynomial(3, c=0), "psd"),
    (Polynomial(3, c=-1), "indefinite"),
    (Polynomial(3, gamma=-1), "indefinite"),
    (PowerSeries((1, 0, 2)), "psd"),
    (PowerSeries((1, -1)), "indefinite"),
    (Gaussian(1), "psd"),
    (Gaussian("median"), "psd"),
    (Laplacian(1), "psd"),
    (Matern(0.3), "psd"),
    (RationalQuadratic(1.0), "psd"),
    (Cosine(), "psd"),
    (Sigmoid(1.0), "indefinite"),
    (Categorical(), "psd"),
    (Intersection(), "psd"),
    (Chi2(), "psd"),
    (Hellinger(), "psd"),
    (JensenShannon(), "psd"),
    (FeatureMap(Lift()), "psd"),
    (Precomputed(), "unknown"),
    (Custom(np.dot), "unknown"),
    *((Exponential(D, power=p), "psd") for D in (L2(), Chi2Distance(), HellingerDistance()) for p in (0.5, 1, 2)),
    (Exponential(Mahalanobis(np.eye(2)), power=2), "psd"),
    (Exponential(L2(), power=2.1), "indefinite"),
    (Exponential(L1(), power=1), "psd"),
    (Exponential(L1(), power=0.5), "psd"),
    (Exponential(L1(), power=2), "unknown"),
    (Exponential(Linf(), power=1), "unknown"),
    (Exponential(Linf(), power=2), "unknown"),
    (Exponential(np.subtract.outer), "unknown"),
    (NegativeDistance(L2()), "cpd"),
    (NegativeDistance(L1(), power=1), "cpd"),
    (NegativeDistance(L1(), power=2), "unknown"),
    (Constant(1.0), "psd"),
    (Constant(-1.0), "cpd"),
    # sums
    (PSD + Linear(), "psd"),
    (PSD + 1, "psd"),
    (PSD - 1, "cpd"),
    (PSD + CPD, "cpd"),
    (CPD + CPD, "cpd"),
    (PSD + UNKNOWN, "unknown"),
    (PSD + INDEFINITE, "unknown"),
    (PSD - Linear(), "unknown"),
    # products
    (PSD * Linear(), "psd"),
    (PSD * CPD, "unknown"),
    (PSD * UNKNOWN, "unknown"),
    (INDEFINITE * INDEFINITE, "unknown"),
    # scales
    (2 * PSD, "psd"),
    (0 * PSD, "psd"),
    (0 * INDEFINITE, "psd"),
    (2 * CPD, "cpd"),
    (2 * INDEFINITE, "indefinite"),
    (2 * UNKNOWN, "unknown"),
    (-1 * PSD, "indefinite"),
    (-1 * UNKNOWN, "unknown"),
    (-1 * CPD, "unknown"),  # minus a negative constant is PSD
    (-1 * INDEFINITE, "unknown"),
    # powers
    (PSD**3, "psd"),
    (PSD**0, "psd"),
    (CPD**1, "cpd"),
    (CPD**2, "unknown"),
    (INDEFINITE**2, "unknown"),
    # limits
    (exp(PSD), "psd"),
    (exp(CPD), "psd"),
    (exp(2 * CPD), "psd"),
    (exp(PSD - 3), "psd"),
    (exp(UNKNOWN), "unknown"),
    (exp(INDEFINITE), "unknown"),
    # the rest
    (PSD.normalized(), "psd"),
    (UNKNOWN.normalized(), "unknown"),
    (PSD.centered(), "psd"),
    (CPD.centered(), "psd"),
    (UNKNOWN.centered(), "unknown"),
    (PSD.on([0]), "psd"),
    (INDEFINITE.on([0]), "indefinite"),
    (PSD.on(Squares()), "psd"),
    (repair(INDEFINITE), "psd"),
    (repair(INDEFINITE, "flip"), "psd"),
    (repair(INDEFINITE, "shift"), "unknown"),  # on other samples than those of resolve
    (repair(CPD, "shift"), "unknown"),
    (repair(PSD, "shift"), "psd"),
]


@pytest.mark.parametrize(("k", "validity"), VALIDITY, ids=lambda v: repr(v)[:60])
def test_validity(k, validity):
    assert k.validity == validity


@pytest.mark.parametrize(
    "k", [Polynomial(2, c=0, gamma=-1), Polynomial(4, c=0, gamma=-2), Polynomial(2, c=-1, gamma=0)]
)
def test_an_even_power_of_a_negative_multiple_is_not_called_indefinite(k):
    """(-x.z)^2 = (x.z)^2 is positive semi-definite, whatever the sign of gamma."""
    assert np.linalg.eigvalsh(k(X))[0] > -1e-10
    assert k.validity != "indefinite"


@pytest.mark.parametrize("k", [k for k, validity in VALIDITY if validity == "cpd"], ids=repr)
def test_conditionally_positive(k):
    H = np.abs(X)
    P = np.eye(len(H)) - 1 / len(H)
    assert np.linalg.eigvalsh(P @ k(H) @ P)[0] > -1e-10
