"""Symmetries of all support vector machines: orders, weights, constants and signs; coefficients certified anew."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from mercer.solvers import certify
from tests.machines.support import MACHINES, large, small, values

sizes = pytest.mark.parametrize("data", [small, large])


def assert_same(one, other, sign=1):
    """Two fits, each with its values at the same samples, solve the same problem.

    Each violates the KKT conditions by tol at most, and free support vectors tie its values to the targets.
    """
    (first, f), (second, g) = one, other
    np.testing.assert_allclose(g, sign * f, atol=max(1e-6, 10 * first.tol))
    assert second.certificate_.dual == pytest.approx(first.certificate_.dual, rel=1e-5)
    assert second.certificate_.primal == pytest.approx(first.certificate_.primal, rel=1e-5)


def solved(machine, X, y, function, at, weight=None):
    """A machine like this one fitted to the samples, and its values at others."""
    machine = clone(machine).fit(X, y, sample_weight=weight)
    return machine, values(machine, function, at)


@pytest.mark.parametrize("cls", MACHINES)
def test_large_data_are_solved_by_working_sets_in_float32(cls, capsys):
    machine, X, y, _ = large(cls)
    machine.set_params(verbose=True).fit(X, y)
    said = capsys.readouterr().out
    assert re.search(r"; \d+ of \d+ coefficients active; \d+ rows of K computed in float32", said)
    assert machine.certificate_.converged


@sizes
@pytest.mark.parametrize("cls", MACHINES)
def test_the_order_of_samples_does_not_matter(cls, data):
    machine, X, y, function = data(cls)
    order = np.random.default_rng(1).permutation(len(y))
    assert_same(solved(machine, X, y, function, X), solved(machine, X[order], y[order], function, X))


@sizes
@pytest.mark.parametrize("cls", MACHINES)
def test_weight_two_is_a_sample_twice_and_weight_zero_none(cls, data):
    machine, X, y, function = data(cls)
    times = np.random.default_rng(2).integers(0, 3, len(y))
    repeated = solved(machine, np.repeat(X, times, axis=0), np.repeat(y, times), function, X)
    assert_same(repeated, solved(machine, X, y, function, X, weight=times))


@sizes
@pytest.mark.parametrize("cls", [SVC, SVR, NuSVR])
def test_weights_multiply_C(cls, data):
    machine, X, y, function = data(cls)
    scaled = solved(machine.set_params(C=5.0), X, y, function, X, weight=np.full(len(y), 0.4))
    assert_same(scaled, solved(machine.set_params(C=2.0), X, y, function, X))


@sizes
@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_a_constant_added_to_the_kernel_changes_nothing(cls, data):
    machine, X, y, function = data(cls)
    before = solved(machine, X, y, function, X)
    assert_same(before, solved(machine.set_params(kernel=Gaussian(2.0) + 3.0), X, y, function, X))


@sizes
@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_flipped_targets_flip_the_function(cls, data):
    machine, X, y, function = data(cls)
    flipped = solved(machine, X, 1 - y if cls in (SVC, NuSVC) else -y, function, X)
    assert_same(solved(machine, X, y, function, X), flipped, sign=-1)


@sizes
@pytest.mark.parametrize("cls", MACHINES)
def test_coefficients_are_certified_by_another_route(cls, data):
    machine, X, y, _ = data(cls)
    machine.set_params(tol=max(machine.tol, 1e-6)).fit(X, y)
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    problem = {
        SVC: lambda: hinge(sign, 1.0),
        NuSVC: lambda: nu_hinge(sign, machine.nu),
        SVR: lambda: epsilon_insensitive(y, 1.0, 0.1),
        NuSVR: lambda: nu_epsilon(y, 1.0, machine.nu),
        OneClassSVM: lambda: one_class(np.ones(len(y)), machine.nu),
    }[cls]()
    if cls is NuSVC:
        a = np.clip(a * (machine.nu * len(y) / np.abs(a).sum()), -1, 1)
    if cls is NuSVR:
        a = np.concatenate([np.maximum(a, 0), np.minimum(a, 0)])
    f = problem.of_samples(Gaussian(2.0)(X) @ problem.by_sample(a, len(y)))
    certificate = certify(problem, a, f, 0, 1e-5).certificate
    assert certificate.dual == pytest.approx(machine.certificate_.dual, rel=1e-6)
    assert certificate.primal == pytest.approx(machine.certificate_.primal, rel=1e-5)
