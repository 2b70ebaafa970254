"""Newton's method for kernel logistic regression: its steps, its curvature, and indefinite or degenerate matrices."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.likelihood import Curvature, Likelihood, probabilities
from mercer.solvers import ImportVectors, Newton
from mercer.solvers.newton import Iterate

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))


def problem(classes):
    codes = rng.integers(0, classes, len(X))
    codes[:classes] = np.arange(classes)
    return Likelihood.of(codes, classes, rng.uniform(0.5, 2.0, len(X)))


@pytest.mark.parametrize("classes", [2, 4])
def test_curvature_is_the_derivative_of_the_induced_coefficients(classes):
    likelihood = problem(classes)
    G, V = rng.standard_normal((2, len(X), likelihood.outputs))
    h = 1e-4

    def induced(G):  # with the bias the best for these values
        return likelihood.induced(G + likelihood.best_bias(G, np.zeros(likelihood.outputs)))

    curvature = Curvature(likelihood, probabilities(G + likelihood.best_bias(G, np.zeros(likelihood.outputs))))
    numerical = (induced(G - h * V) - induced(G + h * V)) / (2 * h)
    np.testing.assert_allclose(curvature.spread(curvature.gather(V)), numerical, atol=1e-7)
    U = rng.standard_normal(V.shape)
    assert np.sum(U * curvature.gather(V)) == pytest.approx(np.sum(curvature.spread(U) * V))
    L = rng.standard_normal((len(X), 3))
    between = curvature.between(L)
    x = rng.standard_normal((3, likelihood.outputs))
    image = curvature.gather(L @ x)
    assert x.T.ravel() @ between @ x.T.ravel() == pytest.approx(np.sum(image**2))


@pytest.mark.parametrize("classes", [2, 4])
def test_best_bias_makes_the_induced_coefficients_sum_to_zero(classes):
    likelihood = problem(classes)
    for size in (0.0, 1.0, 30.0, 1e4):
        G = size * rng.standard_normal((len(X), likelihood.outputs))
        bias = likelihood.best_bias(G, np.zeros(likelihood.outputs))
        assert abs(likelihood.induced(G + bias).sum(axis=0)).max() < 1e-9 * likelihood.cost.sum()


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gap_is_a_norm_at_any_coefficients(classes):
    likelihood = problem(classes)
    K = Gaussian(1.0)(X)
    for _ in range(5):
        iterate = Iterate(Newton(), Gaussian(1.0).gram(X), likelihood)
        iterate.begin(Gaussian(1.0).gram(X).held(), rng.standard_normal(likelihood.target.shape))
        r = iterate.A - likelihood.induced(iterate.KA + iterate.bias)
        assert iterate.certificate.gap == pytest.approx(0.5 * np.sum(r * (K @ r)), rel=1e-9)
        assert iterate.certificate.violation == pytest.approx(np.ptp(K @ r, axis=0).max())


@pytest.mark.parametrize("classes", [2, 4])
def test_a_small_problem_takes_one_product_per_equation(classes):
    iterate = Iterate(Newton(tol=1e-9), Gaussian(1.0).gram(X), problem(classes))
    iterate.begin(Gaussian(1.0).gram(X).held(), None)
    iterate.walk()
    assert iterate.certificate.converged
    assert iterate.products <= 4 * iterate.steps + 1  # the equation at most two, step and residual one


def test_an_indefinite_kernel_ends_somewhere_and_says_so():
    solution = Newton().solve(Sigmoid(2.0, -1.0).gram(X), [problem(2)])[0]
    assert np.isfinite(solution.coefficients).all()
    assert solution.certificate.converged == (solution.certificate.violation <= 1e-4)


def test_a_kernel_that_is_zero_leaves_the_shares():
    likelihood = problem(3)
    for solver in (Newton(), ImportVectors(5)):
        solution = solver.solve((0.0 * Linear()).gram(X), [likelihood])[0]
        shares = likelihood.cost @ likelihood.target / likelihood.cost.sum()
        np.testing.assert_allclose(probabilities(solution.bias[None])[0], shares)
        assert solution.certificate.converged


def test_overflow_is_refused():
    with pytest.raises((ValueError, OverflowError), match=r"not finite|overflow"):
        Newton().solve(Linear().gram(np.full((40, 3), 1e200)), [problem(2)])
