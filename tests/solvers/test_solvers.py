"""What holds for every solver: the same calls, and solutions that carry f = K a and a certificate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer.kernels import Gaussian, Precomputed
from mercer.likelihood import Likelihood
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class, squared, squared_hinge
from mercer.solvers import QP, SMO, Cholesky, Factored, ImportVectors, Newton, SolverInterrupted
from mercer.solvers.diagonalised import DiagonalisedGram
from mercer.solvers.least_squares import Design, Lasso, Penalised, Ridge
from mercer.solvers.linear import LinearSolver
from mercer.solvers.lms import GradientDescent, LeastSquares

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 4))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
SIGN = np.where(X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.2, 1.0, -1.0)
CODES = np.digitize(X[:, 0], [-0.5, 0.5])
KERNEL = Gaussian(2.0)
GRAM = KERNEL.gram(X)
WEIGHT = rng.uniform(0.5, 2.0, len(X))
SQUARES = [LeastSquares(Y, WEIGHT, alpha=0.1), LeastSquares(Y[:, :1], np.ones(len(X)), alpha=1.0)]
#: Targets that features reach, so that steps of a fixed size come to an end.
PLAIN = LeastSquares(X @ np.array([[1.0], [2.0], [-1.0], [0.5]]), WEIGHT)
CLASSES = [Likelihood.of(CODES, 3, np.ones(len(X))), Likelihood.of((SIGN > 0).astype(int), 2, WEIGHT)]


@dataclass(frozen=True)
class Case:
    """A solver, a matrix it takes, and problems; ``features`` is Z where its solutions are weights."""

    solver: Any
    matrix: Any
    problems: list[Any]
    features: Any = None

    def values(self, problem, coefficients):
        """f of the coefficients, computed plainly."""
        if self.features is not None:
            return self.features @ coefficients
        K = self.matrix.exact.to_dense()
        sample = getattr(problem, "sample", None)
        if sample is None:
            return K @ coefficients
        return (K @ np.bincount(sample, coefficients, len(K)))[sample]


HARD = [
    hinge(SIGN, 5.0),
    epsilon_insensitive(Y[:, 0], 2.0, 0.1),
    one_class(np.ones(len(X)), 0.3),
    nu_hinge(SIGN, 0.3),
    nu_epsilon(Y[:, 0], 1.0, 0.4),
    hinge(SIGN[10:50], 1.0, np.arange(10, 50)),
]
CASES = {
    "SMO": Case(SMO(tol=1e-5), GRAM, HARD),
    "SMO in float32": Case(SMO(tol=1e-5), KERNEL.gram(X.astype(np.float32)), HARD),
    "SMO of a squared loss": Case(SMO(tol=1e-5), GRAM, [squared_hinge(SIGN, 5.0), squared_hinge(SIGN, 0.1)]),
    "QP": Case(QP(), GRAM, HARD),
    "Cholesky": Case(Cholesky(), GRAM, [squared(Y, 0.1, WEIGHT, bias=True), squared(Y[:, 0], 1.0)]),
    "Cholesky in float32": Case(Cholesky(), KERNEL.gram(X.astype(np.float32)), [squared(Y, 0.1)]),
    "Cholesky of features": Case(Cholesky(), Factored(X), [squared(Y, 0.1)]),
    "Cholesky of eigenvectors": Case(Cholesky(), DiagonalisedGram(GRAM), [squared(Y, 0.1), squared(Y[:, 1], 1.0)]),
    "Newton": Case(Newton(), GRAM, CLASSES),
    "Newton in float32": Case(Newton(), KERNEL.gram(X.astype(np.float32)), CLASSES),
    "Newton of features": Case(Newton(), Factored(X), CLASSES),
    "Newton of a given matrix": Case(Newton(), Precomputed().gram(KERNEL(X)), CLASSES),
    "ImportVectors": Case(ImportVectors(10), GRAM, CLASSES),
    "ImportVectors of features": Case(ImportVectors(3), Factored(X), CLASSES),
    "GradientDescent": Case(GradientDescent(), GRAM, SQUARES),
    "GradientDescent with landmarks": Case(GradientDescent(landmarks=np.arange(0, 120, 5)), GRAM, SQUARES),
    "GradientDescent in batches": Case(GradientDescent(batch=16, tol=0.05), GRAM, SQUARES),
    "GradientDescent of features": Case(GradientDescent(), Factored(X), SQUARES),
    "GradientDescent of features in batches": Case(GradientDescent(batch=16), Factored(X), [PLAIN]),
    "linear": Case(LinearSolver(), Factored(X), [hinge(SIGN, 1.0, bias=False)] * 2, X),
    "ridge": Case(Ridge(), Design.of(X, WEIGHT, bias=True), [Penalised(Y, 0.1), Penalised(Y, [1.0, 2.0])], X),
    "lasso": Case(Lasso(), Design.of(X, WEIGHT, bias=False), [Penalised(Y, 0.1), Penalised(Y, [1.0, 0.0])], X),
}


def certificates(solution):
    return solution.certificate if isinstance(solution.certificate, tuple) else (solution.certificate,)


def free(problem, solution):
    """The coefficients between their bounds, and those on both sides of 0: what the bias is found from."""
    (one,), a = problem.columns(), solution.coefficients
    return (a > one.lower) & (a < one.upper) & ((one.l1 == 0) | (a != 0))


def needs(case):
    if isinstance(case.solver, QP):
        pytest.importorskip("clarabel")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_problem_has_a_solution_that_carries_its_values(case):
    needs(case)
    solutions = case.solver.solve(case.matrix, case.problems)
    assert len(solutions) == len(case.problems)
    for problem, solution in zip(case.problems, solutions, strict=True):
        assert all(certificate.converged for certificate in certificates(solution))
        outputs = problem.outputs if isinstance(problem, Likelihood) else len(certificates(solution))
        assert np.size(solution.bias) in (outputs, 2)  # two groups have two
        if solution.f is None:  # only where the core does not hand it over
            assert isinstance(case.solver, LinearSolver)
            continue
        assert solution.f.dtype == np.float64
        expected = case.values(problem, solution.coefficients)
        assert solution.f.shape == expected.shape
        near = 1e-10 * np.abs(expected).max()
        if isinstance(case.solver, SMO):  # see below
            inside = np.abs(solution.f - expected) <= near
            assert inside[free(problem, solution)].all()
            near *= 1e5
        np.testing.assert_allclose(solution.f, expected, rtol=0, atol=near)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_start_changes_the_way_and_not_the_end(case):
    needs(case)
    cold = case.solver.solve(case.matrix, case.problems)
    warm = case.solver.solve(case.matrix, case.problems, [solution.coefficients for solution in cold])
    none = case.solver.solve(case.matrix, case.problems, [None] * len(cold))
    for first, again, same in zip(cold, warm, none, strict=True):
        np.testing.assert_array_equal(first.coefficients, same.coefficients)
        for one, other in zip(certificates(first), certificates(again), strict=True):
            assert other.converged
            assert other.iterations <= one.iterations
            size = 1 + abs(one.primal)
            assert abs(other.primal - one.primal) <= one.gap + other.gap + 1e-9 * size


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_problems_have_no_solutions(case):
    assert case.solver.solve(case.matrix, []) == []


def test_values_are_those_of_held_out_samples_too():
    """Bounds of zero leave samples out, and f says what the function is there."""
    problem = hinge(SIGN, np.where(np.arange(len(X)) < 80, 5.0, 0.0))
    (solution,) = SMO(tol=1e-6).solve(GRAM, [problem])
    assert not solution.coefficients[80:].any()
    np.testing.assert_allclose(solution.f, KERNEL(X) @ solution.coefficients, rtol=1e-10, atol=1e-12)


def test_values_of_many_samples_are_certified_in_float64():
    """SMO works in float32, and in the end computes anew in float64 what could change the violation."""
    many = np.random.default_rng(1).standard_normal((3000, 8))
    sign = np.where(many[:, 0] + 0.5 * many[:, 1] ** 2 > 0.3, 1.0, -1.0)
    gram = Gaussian(2.0).gram(many)
    (solution,) = SMO().solve(gram, [hinge(sign, 10.0)])
    expected = gram @ solution.coefficients
    between = free(hinge(sign, 10.0), solution)
    assert between.any()
    np.testing.assert_allclose(solution.f[between], expected[between], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solution.f, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["Newton", "ImportVectors", "GradientDescent"])
def test_an_interrupt_carries_what_is_certified_so_far(name, monkeypatch):
    case = CASES[name]
    module = "stage" if name == "GradientDescent" else "newton"
    counted, product = [], __import__(f"mercer.solvers.{module}", fromlist=["product"]).product

    def interrupted(K, V):
        counted.append(1)
        if len(counted) == 12:
            raise KeyboardInterrupt
        return product(K, V)

    monkeypatch.setattr(f"mercer.solvers.{module}.product", interrupted)
    with pytest.raises(SolverInterrupted) as caught:
        case.solver.solve(case.matrix, case.problems[:1])
    (solution,) = caught.value.solutions
    assert solution.coefficients.shape[0] == len(case.matrix)
    if solution.f is not None:
        np.testing.assert_allclose(solution.f, case.values(None, solution.coefficients), rtol=1e-9, atol=1e-9)
