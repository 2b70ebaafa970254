"""Symmetries of all support vector machines: orders, weights, constants and signs; coefficients certified anew."""

import numpy as np
import pytest

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from mercer.solvers import certify
from tests.machines.support import MACHINES, small, values


@pytest.mark.parametrize("cls", MACHINES)
def test_the_order_of_samples_does_not_matter(cls):
    machine, X, y, function = small(cls)
    order = np.random.default_rng(1).permutation(len(y))
    before = values(machine.fit(X, y), function, X)
    after = values(machine.fit(X[order], y[order]), function, X)
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_weight_two_is_a_sample_twice_and_weight_zero_none(cls):
    machine, X, y, function = small(cls)
    times = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = values(machine.fit(X, y, sample_weight=times), function, X)
    repeated = values(machine.fit(np.repeat(X, times, axis=0), np.repeat(y, times)), function, X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, SVR, NuSVR])
def test_weights_multiply_C(cls):
    machine, X, y, function = small(cls)
    scaled = values(machine.set_params(C=5.0).fit(X, y, sample_weight=np.full(len(y), 0.4)), function, X)
    plain = values(machine.set_params(C=2.0).fit(X, y), function, X)
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_a_constant_added_to_the_kernel_changes_nothing(cls):
    machine, X, y, function = small(cls)
    before = values(machine.fit(X, y), function, X)
    after = values(machine.set_params(kernel=Gaussian(2.0) + 3.0).fit(X, y), function, X)
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_flipped_targets_flip_the_function(cls):
    machine, X, y, function = small(cls)
    before = values(machine.fit(X, y), function, X)
    after = values(machine.fit(X, 1 - y if cls in (SVC, NuSVC) else -y), function, X)
    np.testing.assert_allclose(after, -before, atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_coefficients_are_certified_by_another_route(cls):
    machine, X, y, _ = small(cls)
    machine.set_params(tol=1e-6).fit(X, y)
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    problem = {
        SVC: lambda: hinge(sign, 1.0),
        NuSVC: lambda: nu_hinge(sign, 0.2),
        SVR: lambda: epsilon_insensitive(y, 1.0, 0.1),
        NuSVR: lambda: nu_epsilon(y, 1.0, 0.2),
        OneClassSVM: lambda: one_class(np.ones(len(y)), 0.2),
    }[cls]()
    if cls is NuSVC:
        a = np.clip(a * (0.2 * len(y) / np.abs(a).sum()), -1, 1)
    if cls is NuSVR:
        a = np.concatenate([np.maximum(a, 0), np.minimum(a, 0)])
    f = problem.of_samples(Gaussian(2.0)(X) @ problem.by_sample(a, len(y)))
    certificate = certify(problem, a, f, 0, 1e-5).certificate
    assert certificate.dual == pytest.approx(machine.certificate_.dual, rel=1e-6)
    assert certificate.primal == pytest.approx(machine.certificate_.primal, rel=1e-5)
