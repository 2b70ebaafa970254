"""Samples so large that the kernel is beyond all numbers are refused, with what to do, by every machine."""

import numpy as np
import pytest

from mercer import (
    LMS,
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    Perceptron,
)
from mercer.kernels import Gaussian, Linear

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
