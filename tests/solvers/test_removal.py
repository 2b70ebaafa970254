"""Solutions without a sample, followed from the solution with it, are those that the solver finds anew."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.problem import epsilon_insensitive, hinge
from mercer.solvers import SMO
from mercer.solvers.removal import independent, middle_bias, optimum, without_each

random = np.random.default_rng(0)
X = random.standard_normal((60, 3))
SIGN = np.where(X[:, 0] + 0.7 * random.standard_normal(60) > 0, 1.0, -1.0)
PROBLEMS = {
    "hinge": hinge(SIGN, 3.0),
    "weights": hinge(SIGN, random.uniform(0.1, 5.0, 60)),
    "tube": epsilon_insensitive(X[:, 1] ** 2, 2.0, 0.1),
    "no tube": epsilon_insensitive(X[:, 1] ** 2, 2.0, 0.0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_are_those_solved_anew(name):
    kernel, (problem,) = Gaussian(1.0), PROBLEMS[name].columns()
    gram = kernel.gram(X)
    (near,) = SMO().solve(gram, [problem])
    K = gram.to_dense()
    best = optimum(K, problem, near.coefficients.copy())
    (exact,) = SMO(tol=1e-9).solve(gram, [problem])
    np.testing.assert_allclose(best.a, exact.coefficients, atol=1e-7)
    np.testing.assert_allclose(best.f, K @ best.a, atol=1e-12)
    left = np.flatnonzero(best.a)
    found = without_each(K, best, left, None, 1e-9)
    assert found.violation.max() < 1e-9
    assert not found.early.any()
    assert found.steps.max() > 1
    for i, value, squared in zip(left, found.value, found.squared_norm, strict=True):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[i] = upper[i] = 0.0
        (anew,) = SMO(tol=1e-9).solve(gram, [replace(problem, lower=lower, upper=upper)])
        assert value == pytest.approx(anew.f[i] + anew.bias, abs=1e-6)
        assert squared == pytest.approx(anew.squared_norm, abs=1e-6)


def test_a_path_ends_where_the_value_is_wrong():
    (problem,) = PROBLEMS["hinge"].columns()
    gram = Gaussian(1.0).gram(X)
    (near,) = SMO().solve(gram, [problem])
    K = gram.to_dense()
    best = optimum(K, problem, near.coefficients.copy())
    left = np.flatnonzero(best.a)
    ends, stopped = without_each(K, best, left, None, 1e-9), without_each(K, best, left, SIGN[left], 1e-9)
    np.testing.assert_array_equal(ends.value * SIGN[left] < 0, stopped.value * SIGN[left] < 0)
    assert stopped.early.any()
    assert (stopped.steps <= ends.steps).all()


def test_samples_that_determine_the_others():
    Z = np.array([[0.0], [1.0], [2.0], [1.0]])
    basis, rest = independent(Linear()(Z), np.arange(4))
    assert (len(basis), len(rest)) == (2, 2)
    basis, rest = independent(np.ones((3, 3)), np.arange(3))
    assert (len(basis), len(rest)) == (1, 2)


def test_without_a_free_coefficient_there_is_no_optimum_to_follow_and_the_bias_is_in_the_middle():
    (problem,) = hinge(np.array([1.0, -1.0]), 0.1).columns()
    K = Linear()(np.array([[1.0], [-1.0]]))
    a = np.array([0.1, -0.1])
    assert optimum(K, problem, a.copy()) is None
    assert middle_bias(problem, a * (1 - 1e-12), K @ a, 1e-8) == pytest.approx(0.0, abs=1e-12)
