"""SMO against the naive reference, on every kind of problem."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from mercer.solvers import SMO

from ..naive import smo

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:120], scale(y)[:120]
sign = np.where(y > 0, 1.0, -1.0)
weight = np.random.default_rng(0).uniform(0.3, 2.0, 120)
some = np.random.default_rng(1).permutation(120)[:70]

PROBLEMS = {
    "hinge": hinge(sign, 1.0),
    "weighted hinge": hinge(sign, 5 * weight),
    "hinge of some samples": hinge(sign[some], 2.0, some),
    "epsilon": epsilon_insensitive(y, weight, 0.1),
    "one class": one_class(weight, 0.3),
    "nu hinge": nu_hinge(sign, 0.5, weight),
    "nu epsilon": nu_epsilon(y, weight, 0.4),
}


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Polynomial(2, gamma=0.1), Linear() + 1], ids=repr)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_finds_the_optimum_of_the_naive_solver(problem, kernel):
    (found,) = SMO(tol=1e-6).solve(kernel.gram(X), [problem])
    naive = smo(kernel(X), problem, tol=1e-6)
    assert found.certificate.converged
    assert naive.certificate.converged
    assert found.certificate.dual == pytest.approx(naive.certificate.dual, rel=1e-7)
    np.testing.assert_allclose(found.bias, naive.bias, atol=1e-5 * max(1, np.abs(naive.bias).max()))
