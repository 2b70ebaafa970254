"""Solvers: each takes a matrix as an operator, problems and starts, and returns solutions with their certificates."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from mercer.problem import Vector
from mercer.solvers.certificate import Certificate, Solution, Witness, certify
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.import_vectors import ImportVectors
from mercer.solvers.newton import Newton
from mercer.solvers.operator import Factored, Operator
from mercer.solvers.qp import QP
from mercer.solvers.smo import SMO, NotSeparableError, Progress, SolverInterrupted

Matrix = TypeVar("Matrix", contravariant=True)
ProblemType = TypeVar("ProblemType", contravariant=True)


class Solver(Protocol[Matrix, ProblemType]):
    """Whatever turns a matrix and problems into solutions; it refuses early what it cannot solve.

    A matrix is any ``Operator``, or a ``Gram`` where the core computes its entries. ``start`` are coefficients to begin
    with, for solvers that have a use for them.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.problem import Problem, squared
    >>> gram, problem = Linear().gram([[1.0], [2.0]]), squared(np.array([1.0, 2.0]), 1.0)
    >>> solver: Solver[Operator, Problem] = Cholesky()
    >>> solver.solve(gram, [problem])[0].coefficients.round(6)
    array([0.166667, 0.333333])
    """

    def solve(
        self, K: Matrix, problems: Sequence[ProblemType], start: Sequence[Vector | None] | None = None, /
    ) -> Sequence[Solution]: ...


__all__ = [
    "QP",
    "SMO",
    "Certificate",
    "Cholesky",
    "Factored",
    "ImportVectors",
    "Newton",
    "NotSeparableError",
    "Operator",
    "Progress",
    "Solution",
    "Solver",
    "SolverInterrupted",
    "Witness",
    "certify",
]
