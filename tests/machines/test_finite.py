"""Samples so large that numbers overflow are refused with what to do, or certified as unknown, by every machine."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import is_regressor

from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    BasisRidge,
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, RationalQuadratic, exp
from tests.pairs import pairs

X = np.random.default_rng(0).standard_normal((30, 3))
y = (X[:, 0] > 0).astype(float)
WITH_KERNELS = [
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
]
MACHINES = [Perceptron(), LMS(), *(machine(kernel=Linear()) for machine in WITH_KERNELS)]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_what_overflows_is_refused(machine):
    with pytest.raises(ValueError, match=r"not finite on these samples.*scale the data first"):
        machine.fit(1e200 * X, y).predict(1e200 * X)


@pytest.mark.parametrize("machine", WITH_KERNELS)
def test_what_the_kernel_can_compare_is_not(machine):
    machine(kernel=Gaussian(1.0)).fit(1e200 * X, y)


EVERY = [*WITH_KERNELS, SVC, SVR, NuSVC, NuSVR, OneClassSVM, SVDD]
KERNELS = [
    *(Linear(), Polynomial(3), Linear() * Linear(), Linear() ** 3, Linear() + Gaussian(1.0), Laplacian(1.0) * Linear()),
    *(exp(Linear()), exp(-1 * Linear()), exp(Linear()).normalized(), Linear().normalized(), Linear().centered()),
    *(Polynomial(2, c=0).normalized() + Linear(), (Linear() + 1).normalized() * Gaussian(1.0)),
    *(RationalQuadratic(1.0, 1.0) + Linear() ** 2, 2 * Linear() - 1 * Gaussian(1.0)),
]
#: Powers of the largest number of a precision; the squares of those of more than 1/2 in modulus are beyond it.
SIZES = [-0.95, -0.65, -0.49, -0.3, 0.16, 0.33, 0.49, 0.52, 0.9]
VARIED = (SIZES, [np.float32, np.float64], [False, True])
PLAIN = [Perceptron, LMS, BasisRidge, LinearSVC, LinearSVR]
CASES = [
    *(pytest.param(machine(kernel=k), *rest) for machine, k, *rest in pairs(EVERY, KERNELS, *VARIED)),
    *(pytest.param(machine(), *rest) for machine, *rest in product(PLAIN, *VARIED)),
]


@pytest.mark.parametrize(("machine", "size", "dtype", "targets"), CASES)
@pytest.mark.slow("every machine on every scale, of which some converge as slowly as they may")
def test_what_may_overflow_is_refused_or_certified_as_unknown(machine, size, dtype, targets):
    """Nothing that is not finite is told, or said to have converged; in compositions a part alone may overflow."""
    scale = float(np.finfo(dtype).max) ** size
    large = (scale * X).astype(dtype)
    own = scale * X[:, 0] if targets and is_regressor(machine) else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = told(machine.fit(large, own), large)
        except ValueError as error:
            refused = str(error)
            assert any(word in refused for word in ("finite", "infinity", "beyond float", "margin is 0"))
            return
    proofs = getattr(machine, "certificate_", ())
    for proof in proofs if isinstance(proofs, tuple) else (proofs,):
        numbers = proof.primal, proof.dual, proof.gap, proof.violation
        assert not any(map(math.isnan, numbers))
        assert not proof.converged or all(map(math.isfinite, numbers))
        assert proof.gap > 0 or proof.primal == proof.dual
    assert [name for name, said in values if not np.isfinite(said).all()] == []


def told(machine, samples):
    """All numbers that a machine says of samples, and of those that it learned from."""
    found = []
    for name in ("predict", "decision_function", "predict_proba", "transform", "interval"):
        if hasattr(machine, name):
            said = getattr(machine, name)(samples)
            found += [(name, values) for values in (said if isinstance(said, tuple) else (said,))]
    return found + [
        (name, getattr(machine, name)()) for name in ("residuals", "loo_residuals") if hasattr(machine, name)
    ]


@pytest.mark.parametrize("scale", [1e-20, 1e-12, 1e-6, 1e6, 1e12, 1e18])
@pytest.mark.parametrize(
    "kernel", [Polynomial(2, c=0).normalized(), (Linear() * Linear()).normalized() + Gaussian(1.0)]
)
@pytest.mark.parametrize("machine", WITH_KERNELS)
def test_normalized_kernels_are_right_in_float32_or_refused(machine, kernel, scale):
    """Their values are at most 1, but not those that they divide: 0 and infinity in float32 were taken for them."""
    small = (scale * X).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = machine(kernel=kernel).fit(small.astype(np.float64), y)
        try:
            values = told(machine(kernel=kernel).fit(small, y), small)
        except ValueError as error:
            assert "beyond float32" in str(error)  # noqa: PT017
            assert scale not in (1e-6, 1e6)
            return
    for (name, found), (_, expected) in zip(values, told(exact, small.astype(np.float64)), strict=True):
        assert np.isfinite(found).all(), name
        if name == "predict" and is_regressor(exact):
            np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("machine", [KernelPCA, KernelSVD])
def test_coordinates_in_float32_are_those_in_float64_or_refused(machine):
    """The kernel's values may be beyond float32 where their roots, which the coordinates are, are not."""
    large = (1e25 * X).astype(np.float32)
    expected = machine(2, kernel=Linear()).fit(large.astype(np.float64)).transform(large.astype(np.float64))
    found = machine(2, kernel=Linear()).fit(large).transform(large)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match=r"coordinates of up to .* are beyond float32.*give them in float64"):
        machine(2, kernel=Polynomial(2)).fit(large).transform(large)
    with pytest.raises(ValueError, match=r"coordinates of up to .* are beyond float32"):
        machine(2, kernel=Polynomial(2)).fit_transform(large)
