"""Sequential minimal optimisation by decomposition, in the native core: see ``native/solvers``.

    minimise over a   1/2 a'(K + diag(ridge)) a - q'a + l1'|a|     within bounds, the sum of each group fixed

Platt (1999); Fan, Chen and Lin, "Working set selection using second order information" (JMLR 2005); Joachims (1999).
This file turns problems into those of the core, and its answers into solutions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.errors import MercerError
from mercer.gram import Gram
from mercer.problem import Problem, Vector
from mercer.solvers.certificate import UNKNOWN, Certificate, CoreProblem, Solution, Witness
from mercer.solvers.convexity import judged

Positions = NDArray[np.int64]

#: What an endless dual says of the samples: at its first step, and later, where the core stops at this distance.
SAME = "samples that the kernel does not tell apart have targets that contradict each other"
CLOSE = ", and no function separates the samples by more than 1e-5 of their spread; scale columns that differ in size"


class NotSeparableError(MercerError, ValueError):
    """A hard margin or hard tube was asked for, and no function of this kernel meets the constraints.

    >>> from mercer import SVC
    >>> SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    Traceback (most recent call last):
    ...
    mercer.solvers.smo.NotSeparableError: ...
    """


class SolverInterrupted(MercerError, KeyboardInterrupt):  # noqa: N818 - no error, as KeyboardInterrupt is none
    """Ctrl-C during a solve; ``solutions`` is what there is so far, as the solver returns it, certified.

    >>> try:  # as it is caught around a long fit
    ...     raise SolverInterrupted([])
    ... except KeyboardInterrupt as interrupted:
    ...     interrupted.solutions
    []
    """

    def __init__(self, solutions: list[Any]) -> None:
        super().__init__("the solver was interrupted")
        self.solutions = solutions


@dataclass(frozen=True)
class Progress:
    """How far a solve has come, and how it is done.

    ``active`` coefficients of ``size`` are in the working set, ``rows`` of K have been computed in a precision of
    ``bits``, and up to ``kept`` of them are kept in memory.

    >>> from mercer.problem import hinge
    >>> y, seen = np.array([1.0, -1.0]), []
    >>> solution = SMO(progress=seen.append).solve(Linear().gram(y[:, None]), [hinge(y, 10.0)])
    >>> seen[0].problem, seen[0].violation  # before the first step
    (0, 2.0)
    """

    problem: int
    iterations: int
    violation: float
    gap: float
    active: int
    size: int
    rows: int
    kept: int
    bits: int
    seconds: float


@dataclass(frozen=True)
class SMO:
    """Solves problems with bounds and equalities; ``max_iter`` steps each, -1 for no limit.

    The matrix keeps the rows that were computed, within its budget. With ``shrinking`` problems of many samples may be
    solved active set by active set (``docs/solver.md``). ``progress`` is called now and then; if it returns True, the
    solver stops where it is.

    >>> from mercer.problem import hinge
    >>> y = np.array([1.0, -1.0])
    >>> SMO().solve(Linear().gram(y[:, None]), [hinge(y, 10.0)])[0].coefficients
    array([ 0.5, -0.5])
    """

    tol: float = 1e-3
    max_iter: int = -1
    shrinking: bool = True
    progress: Callable[[Progress], bool | None] | None = None

    def solve(
        self,
        gram: Gram,
        problems: Sequence[Problem],
        start: Sequence[Vector | None] | None = None,
        order: Positions | None = None,
    ) -> list[Solution]:
        """One solution per problem, all on the same Gram matrix, or on its samples ``order``, which is sooner done if
        those of a problem lie together. Samples that stand in it twice are two of the same.
        """
        starts = [None] * len(problems) if start is None else start
        if len(starts) != len(problems):
            raise ValueError(f"expected a start, or None, for each of {len(problems)} problems but got {len(starts)}")
        order = checked_order(order)
        runs = [core_problem(problem, a) for problem, a in zip(problems, starts, strict=True)]
        begun = time.perf_counter()

        def report(p: Any) -> bool:
            seconds = time.perf_counter() - begun
            reached = p.problem, p.steps, p.violation, p.gap, p.working, p.count, p.computed, p.kept, p.bits
            return bool(self.progress and self.progress(Progress(*reached, seconds)))

        def concluded() -> list[Solution]:
            return [
                solution_of(run, self.tol, gram, problem, order) for run, problem in zip(runs, problems, strict=True)
            ]

        progress = None if self.progress is None else report
        try:
            native = [run.native for run in runs]
            tiny = max(map(len, problems), default=0) <= _native.TINY and len(gram) <= 4 * _native.TINY
            matrices, budget = gram.matrices(order, single=not tiny), gram.budget - gram.whole_bytes
            _native.solve(matrices, native, self.tol, self.max_iter, budget, self.shrinking, progress)
        except KeyboardInterrupt as interrupt:
            raise SolverInterrupted(concluded()) from interrupt
        finally:
            if not gram.lasting:
                gram.forget()
        solutions = concluded()
        for run, solution in zip(runs, solutions, strict=True):
            if run.native.status == _native.Status.unbounded:
                assert isinstance(solution.certificate, Certificate)
                raise contradicted(run.native.dual, run.native.steps, SAME, CLOSE, solution.certificate.witness)
        return solutions


def core_problem(problem: Problem, start: Vector | None) -> CoreProblem:
    """A problem ready for the core, which begins at zero, or where it is told, or as near as is feasible.

    A start (a, f) is one of a solution that is ``resumable``, or a multiple of it.
    """
    if problem.total is None:
        raise ValueError("SMO needs a problem with an equality constraint; this one has none")
    if problem.outputs > 1:
        raise ValueError(f"SMO solves problems of one output; this one has {problem.outputs}: give its columns()")
    (one,) = problem.columns()
    return CoreProblem(one, *start) if isinstance(start, tuple) else CoreProblem(one, start)


def checked_order(order: Any) -> Positions | None:
    """The positions of samples as the core reads them, which looks whether there are such samples."""
    if order is None:
        return None
    given = np.asarray(order)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"order must be a list of positions of samples, not an array of {given.dtype} of shape {given.shape}"
        )
    return np.ascontiguousarray(given, dtype=np.int64)


def contradicted(
    dual: float, steps: int, first: str, proof: str = "", witness: Witness | None = None
) -> NotSeparableError:
    """What is said of a dual objective without bound, and how far it got; ``first`` if the first step knew no end.

    A kernel that is none, as a ``witness`` tells, has such duals whatever the samples are.
    """
    if witness is not None:
        return NotSeparableError(
            f"the kernel is not positive semi-definite on these samples ({witness}), and along such a direction the "
            "dual objective grows without bound, so there is no hard margin or tube. Use a finite C, or make the "
            "kernel positive semi-definite by mercer.kernels.repair"
        )
    reached = f"it reached {dual:.3g} after {steps} steps{proof}"
    return NotSeparableError(
        "the hard constraints contradict each other: the dual objective grows without bound "
        f"({reached if steps else first}). Use a finite C, or a richer kernel"
    )


def solution_of(run: CoreProblem, tol: float, gram: Gram, problem: Problem, order: Positions | None) -> Solution:
    """What the core has found, which is certified even if it was interrupted."""
    native = run.native
    if not native.begun:  # interrupted before K a was known
        return Solution(run.a, np.zeros(len(native.bias)).squeeze(), UNKNOWN)
    solution = run.solution(native.steps, tol)
    assert isinstance(solution.certificate, Certificate)
    known = judged(solution.certificate, gram, problem, run.a, run.f, native.negative_pair, order)
    return replace(solution, certificate=known, resumable=native.plain)
