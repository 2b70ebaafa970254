"""Solvers: each takes a Gram operator and a Problem and returns a Solution with its certificate."""

from typing import Protocol

from mercer.gram import Gram
from mercer.problem import Problem
from mercer.solvers.basis import ImportVectors
from mercer.solvers.certificate import Certificate, Solution, Witness, certify
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.newton import Newton
from mercer.solvers.qp import QP
from mercer.solvers.smo import SMO, NotSeparableError, Progress, SolverInterrupted


class Solver(Protocol):
    """Anything that solves a Problem on a Gram operator; it refuses early what it cannot solve.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.problem import squared
    >>> gram, problem = Linear().gram([[1.0], [2.0]]), squared(np.array([1.0, 2.0]), 1.0)
    >>> solver: Solver = Cholesky()
    >>> solver.solve(gram, problem).coefficients.round(6)
    array([0.166667, 0.333333])
    """

    def solve(self, gram: Gram, problem: Problem) -> Solution: ...


__all__ = [
    "QP",
    "SMO",
    "Certificate",
    "Cholesky",
    "ImportVectors",
    "Newton",
    "NotSeparableError",
    "Progress",
    "Solution",
    "Solver",
    "SolverInterrupted",
    "Witness",
    "certify",
]
