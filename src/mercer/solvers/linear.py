"""Linear machines, solved for their weights: the native solvers behind LinearSVC and LinearSVR.

Rows are extended by a constant s, so that the intercept is a weight like the others. With labels or targets q and costs
C_i, the problem is to minimise over w and its last entry, the weight of the constant,

    1/2 |w|^2 + sum_i C_i loss(q_i, w'x_i)

for the hinge loss max(0, 1 - q f), the epsilon-insensitive loss max(0, |q - f| - epsilon), or one of them squared. Its
dual is a ``Problem`` without an equality, on K = X X' of the extended rows. native/solvers/linear.hpp says how it is
solved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native, costs
from mercer.problem import Problem, Vector
from mercer.solvers.certificate import Certificate, PrimalSolution, Solution
from mercer.solvers.operator import Operator
from mercer.solvers.smo import SolverInterrupted, contradicted


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Solutions in the primal together: one row of weights, one intercept and one certificate per output.

    >>> certificate = Certificate(0.0, 0.0, 0.0, 0.0, 3, True)
    >>> both = [PrimalSolution(np.ones(2), np.asarray(b), certificate) for b in (0.5, 1.5)]
    >>> LinearSolution.of(both).weights, LinearSolution.of(both).intercepts, LinearSolution.of(both).iterations
    (array([[1., 1.],
           [1., 1.]]), array([0.5, 1.5]), 3)
    """

    weights: Vector
    intercepts: Vector
    certificates: tuple[Certificate, ...]

    @classmethod
    def of(cls, solutions: Sequence[Solution]) -> LinearSolution:
        weights = np.vstack([solution.coefficients.T for solution in solutions])
        certificates: list[Certificate] = []
        for one in (solution.certificate for solution in solutions):
            certificates += one if isinstance(one, tuple) else (one,)
        return cls(weights, np.hstack([solution.bias for solution in solutions]), tuple(certificates))

    @property
    def iterations(self) -> int:
        return max(certificate.iterations for certificate in self.certificates)


@dataclass(frozen=True)
class LinearProgress:
    """How far a solve has come: what ``certificate`` would say now of one output, the number ``problem``.

    ``active`` coefficients are visited by the sweeps of coordinate descent, or are free in a Newton step.
    """

    problem: int
    iterations: int
    violation: float
    gap: float
    active: int
    seconds: float


@dataclass(frozen=True)
class LinearSolver:
    """Solves for the weights; ``tol`` bounds the KKT violation of the dual.

    ``primal`` says how: Newton's method on the primal, coordinate descent on the dual, or by the shape if None.
    ``intercept`` is the constant s; 0 means no intercept. ``progress`` is called now and then; if it returns True, the
    solver stops where it is. Ctrl-C raises SolverInterrupted with the solution so far.

    >>> import numpy as np
    >>> from mercer.problem import hinge
    >>> from mercer.solvers import Factored
    >>> y = np.array([-1.0, 1.0])
    >>> (solution,) = LinearSolver().solve(Factored(y[:, None]), [hinge(y, 1.0, bias=False)])
    >>> solution.coefficients.round(3), solution.certificate.converged
    (array([1.]), True)
    """

    tol: float = 1e-4
    max_iter: int = 1000
    primal: bool | None = None
    intercept: float = 1.0
    seed: int = 0
    progress: Callable[[LinearProgress], bool | None] | None = None

    def solve(
        self, K: Operator, problems: Sequence[Problem], start: Sequence[Vector | None] | None = None
    ) -> list[PrimalSolution]:
        """One solution per problem on the rows X of K's factor, each posed when it is wanted, perhaps twice.

        A start is not made use of.
        """
        X = K.factor
        if X is None:
            raise ValueError("LinearSolver needs features, as mercer.solvers.Factored(X) has them, not a matrix alone")
        rows, columns = X.shape
        primal = rows >= columns and columns < costs.LINEAR_COLUMNS if self.primal is None else self.primal
        arguments = (
            float(self.intercept),
            lambda k: arrays(problems[k]),
            len(problems),
            primal,
            float(self.tol),
            self.max_iter,
            self.seed,
            None if self.progress is None else self._reporter(time.perf_counter()),
        )
        if sp.issparse(X):
            csr: Any = X
            if not csr.has_canonical_format:
                csr = csr.copy()
                csr.sum_duplicates()
            indices, indptr = csr.indices.astype(np.int32, copy=False), csr.indptr.astype(np.int64, copy=False)
            weights, numbers, interrupt = _native.solve_linear_sparse(csr.data, indices, indptr, columns, *arguments)
        else:
            weights, numbers, interrupt = _native.solve_linear_dense(np.ascontiguousarray(X), *arguments)
        certificates = tuple(
            Certificate(primal, dual, abs(primal - dual), violation, iterations, converged, convex=True)
            for primal, dual, violation, iterations, converged, _ in numbers
        )
        bias = np.asarray(self.intercept * weights[:, -1])
        found = [
            PrimalSolution(w.copy(), b, certificate)
            for w, b, certificate in zip(weights[:, :-1], bias, certificates, strict=True)
        ]
        if interrupt is None:
            for _, dual, _, iterations, _, contradiction in numbers:
                if contradiction:
                    raise contradicted(dual, iterations, "a sample of zeros cannot have a target without an intercept")
            return found
        if isinstance(interrupt, KeyboardInterrupt):
            raise SolverInterrupted(found) from interrupt
        raise interrupt

    def _reporter(self, begun: float) -> Callable[[int, int, float, float, int], bool]:
        def report(problem: int, iterations: int, violation: float, gap: float, active: int) -> bool:
            seen = LinearProgress(problem, iterations, violation, gap, active, time.perf_counter() - begun)
            return bool(self.progress and self.progress(seen))

        return report


def arrays(problem: Problem) -> tuple[Vector, Vector, Vector, Vector, float]:
    """q, bounds and ridge, one number per coefficient, and the l1 of all of them.

    >>> from mercer.problem import hinge
    >>> arrays(hinge(np.array([1.0, -1.0]), 2.0, bias=False))
    (array([ 1., -1.]), array([ 0., -2.]), array([2., 0.]), array([0., 0.]), 0.0)
    """
    if problem.total is not None or problem.sample is not None or np.ndim(problem.l1):
        raise ValueError("a linear machine's problem has no equality, one coefficient per row and one l1 for all")
    (one,) = problem.columns()
    q, lower, upper, ridge = (
        np.ascontiguousarray(v, dtype=np.float64) for v in (one.q, one.lower, one.upper, one.ridge)
    )
    return q, lower, upper, ridge, float(problem.l1)


def judge_l1(X: Any, weights: Vector, intercept: float, constant: float, q: Vector, cost: Vector) -> Certificate:
    """The certificate of an l1 penalised machine with the squared hinge loss: |w|_1 + sum_i C_i max(0, 1 - q_i f_i)^2.

    Its dual is to maximise q'a - sum_i a_i^2 / (4 C_i) subject to |X'a| <= 1 in every column; the residuals give an a
    that is scaled to satisfy it. ``violation`` is the largest slope left in a weight. It is not marked as converged:
    nothing here knows by which rule the weights were found.
    """
    last = intercept / constant if constant else 0.0
    slack = np.maximum(1 - q * (X @ weights + intercept), 0)
    a = 2 * cost * slack
    primal = float(np.abs(weights).sum() + abs(last) + cost @ slack**2)
    correlation = np.append(np.asarray(X.T @ (a * q)).ravel(), constant * float(a @ q))
    w = np.append(weights, last)
    violation = np.where(w == 0, np.maximum(np.abs(correlation) - 1, 0), np.abs(correlation - np.sign(w)))
    with np.errstate(invalid="ignore", divide="ignore"):
        quadratic = float(np.sum(np.where(cost > 0, a**2 / (4 * cost), 0)))
    scale = 1 / max(1.0, float(np.abs(correlation).max()))
    dual = scale * float(a.sum()) - scale**2 * quadratic
    return Certificate(primal, dual, abs(primal - dual), float(violation.max()), 0, False, convex=True)
