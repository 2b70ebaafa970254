"""Samples so large that numbers overflow are refused with what to do, or certified as unknown, by every machine."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import is_regressor

from mercer import (
    LMS,
    SVC,
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
from mercer.kernels import Gaussian, Linear, Polynomial

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


LINEAR = [SVC, SVR, NuSVC, NuSVR, OneClassSVM]
EVERY = [*MACHINES, *(machine(kernel="linear") for machine in LINEAR), BasisRidge(), LinearSVC(), LinearSVR()]


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e50, 1e100, 1e150, 1e160])
@pytest.mark.parametrize(
    ("machine", "targets"),
    [
        pytest.param(machine, targets, id=f"{type(machine).__name__}-{'large targets' if targets else 'plain'}")
        for machine in EVERY
        for targets in ([False, True] if is_regressor(machine) else [False])
    ],
)
@pytest.mark.slow("every machine on every scale, of which some converge as slowly as they may")
def test_what_may_overflow_is_refused_or_certified_as_unknown(machine, scale, targets):
    large = scale * X
    own = scale * X[:, 0] if targets else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = told(machine.fit(large, own), large)
        except ValueError as error:
            refused = str(error)
            assert any(word in refused for word in ("finite", "infinity", "beyond float64", "margin is 0"))
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
