"""The same problems by a general interior-point method: the reference to check SMO by, for small data.

Clarabel (Goulart and Chen, "Clarabel: An interior-point solver for conic programs with quadratic objectives", 2024)
does the work; it comes with ``pip install mercer[qp]``. The whole matrix is held in memory in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.solvers.certificate import Solution, certify
from mercer.solvers.convexity import certified
from mercer.solvers.operator import Operator


@dataclass(frozen=True)
class QP:
    """Solves each problem as the quadratic program that it is.

    >>> from mercer.problem import hinge
    >>> y = np.array([1.0, -1.0])
    >>> QP().solve(Linear().gram(y[:, None]), [hinge(y, 10.0)])[0].coefficients.round(6)  # doctest: +SKIP
    array([ 0.5, -0.5])
    """

    tol: float = 1e-3

    def solve(
        self,
        K: Operator,
        problems: Sequence[Problem],
        start: Sequence[Vector | None] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> list[Solution]:
        """One solution per problem, as ``SMO`` does; an interior-point method has no use for a start."""
        own = K.ordered(order).exact
        entries = own.to_dense()
        return [self._solved(own, entries, problem) for problem in problems]

    def _solved(self, K: Operator, entries: Array, problem: Problem) -> Solution:
        (one,) = problem.columns()
        rows = np.arange(len(K)) if one.sample is None else one.sample
        part = entries[np.ix_(rows, rows)]
        a, steps = minimum(part, one)
        if not np.isfinite(a).all():
            lowest = float(np.linalg.eigvalsh(part)[0])
            raise ValueError(
                "solver='qp' found no solution: it is for convex problems, and the smallest eigenvalue of this matrix "
                f"is {lowest:.3g}. Below 0 the kernel is not positive semi-definite: mercer.kernels.repair makes it "
                "so, and solver='smo' takes it as it is"
            )
        f = part @ a
        return certified(certify(one, a, f, steps, self.tol), K, one, f)


def minimum(K: Array, problem: Problem) -> tuple[Vector, int]:
    """The coefficients and the number of iterations."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("solver='qp' needs the package clarabel: pip install mercer[qp]") from error
    n = len(problem)
    eye, zero = sp.eye_array(n), sp.csc_array((n, n))
    # Variables a and t, where t >= |a| pays for l1.
    quadratic = sp.block_diag([sp.csc_array(np.triu(K + np.diag(problem.ridge))), zero], format="csc")
    linear = np.concatenate([-problem.q, problem.l1])
    member = sp.csc_array((len(problem.groups()), n)).tolil()
    for g, (members, _) in enumerate(problem.groups()):
        member[g, members] = 1.0
    upper, lower = np.isfinite(problem.upper), np.isfinite(problem.lower)
    blocks = [
        [member.tocsc(), None],
        [eye.tocsr()[upper], None],
        [-eye.tocsr()[lower], None],
        [eye, -eye],
        [-eye, -eye],
    ]
    totals = [total for _, total in problem.groups()]
    right = np.concatenate([totals, problem.upper[upper], -problem.lower[lower], np.zeros(2 * n)])
    cones = [clarabel.ZeroConeT(len(totals)), clarabel.NonnegativeConeT(len(right) - len(totals))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kept = [row for row in blocks if row[0].shape[0]]
    found = clarabel.DefaultSolver(
        quadratic, linear, sp.block_array(kept, format="csc"), right, cones, settings
    ).solve()
    # A constraint is active where its multiplier exceeds its slack; there the coefficient is put onto its bound.
    a, active = np.asarray(found.x)[:n], np.asarray(found.s) < np.asarray(found.z)
    ends = np.cumsum([len(totals), upper.sum(), lower.sum(), n, n])
    at_upper, at_lower, falls, rises = (active[i:j] for i, j in pairwise(ends))
    a[falls & rises & (problem.l1 > 0)] = 0.0
    a[np.flatnonzero(upper)[at_upper]] = problem.upper[upper][at_upper]
    a[np.flatnonzero(lower)[at_lower]] = problem.lower[lower][at_lower]
    return balanced(np.clip(a, problem.lower, problem.upper), problem), int(found.iterations)


def balanced(a: Vector, problem: Problem) -> Vector:
    """Coefficients within their bounds with what their sums lack shared out among those between, as there is room."""
    for members, total in problem.groups():
        missing = total - a[members].sum()
        room = (problem.upper if missing > 0 else -problem.lower)[members] - np.sign(missing) * a[members]
        between = (a[members] > problem.lower[members]) & (a[members] < problem.upper[members])
        between &= (problem.l1[members] == 0) | (a[members] != 0)
        share = np.where(between, np.minimum(room, np.finfo(float).max / len(a)), 0.0)
        if 0 < abs(missing) <= share.sum():
            a[members] += missing * (share / share.sum())
    return a
