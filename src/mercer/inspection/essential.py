"""Which support vectors are essential: a smallest part of them, in the sense of inclusion, that gives the solution.

The coefficients of a solution need not be unique: any others with the same w = sum a_i phi(x_i) and the same sum, signs
and bounds do as well. Support vectors with a_i at the bound must stay there. Among the free ones, Caratheodory's
argument drops one after the other along null directions v of their features, sum v_i phi(x_i) = 0 and sum v_i = 0,
until those left are affinely independent: at most d + 1 of them in d dimensions. With a hard margin there are no
others, so d + 1 examples determine the machine. With a soft one, those at the bound come on top, however many they
are, and data that a hyperplane separates may have some, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.problem import Problem, Vector
from mercer.solvers import SMO
from mercer.solvers.lapack import eigh

#: Free support vectors up to this number are looked at: their matrix takes at most 32 MB.
MOST_FREE = 2000
#: Coefficients below this part of the largest are zero up to rounding.
ROUNDING = 1e-10
#: The violation at which the machine is fitted again.
TOL = 1e-7
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Essential:
    """Some of the support vectors, coefficients that make them do for all, and how well they do."""

    #: Which of the support vectors are essential, and the coefficients of all, zero for the others.
    kept: Flags
    coefficients: Vector
    #: |w - w'| / |w| with w' of these coefficients, and with w' of a machine fitted to the essential ones alone.
    reduction_error: float
    refit_error: float


def essential(gram: Gram, a: Vector, limit: Vector, bound: Flags, target: Vector, pinned: bool) -> Essential | None:
    """The essential ones among support vectors with coefficients a; None if too many of them are free.

    ``limit`` bounds |a|, and ``bound`` says who is there. ``target`` is q of the problem that a solves: y for a
    classifier, else the values that f has at the free ones, and then the others are ``pinned`` to where they are.

    >>> from mercer.kernels import Linear
    >>> gram = Linear().gram([[1.0], [1.0], [-1.0]])  # the first two are the same
    >>> a = np.array([0.25, 0.25, -0.5])
    >>> free = np.zeros(3, dtype=bool)
    >>> np.sort(essential(gram, a, np.full(3, np.inf), free, np.sign(a), False).coefficients.round(6) + 0.0)
    array([-0.5,  0. ,  0.5])
    """
    free = np.flatnonzero(~bound & (a != 0))
    if len(free) > MOST_FREE:
        return None
    reduced = a.copy()
    if len(free) > 1:
        reduced[free] = reduce(null_directions(gram.exact.block(free, free)), a[free], limit[free])
    kept = np.flatnonzero(reduced)
    again = np.zeros(len(a))
    again[kept] = refit(gram, kept, reduced[kept], limit[kept], bound[kept], target[kept], pinned)
    size = length(gram, a)
    errors = [length(gram, other - a) / size if size > 0 else 0.0 for other in (reduced, again)]
    return Essential(reduced != 0, reduced, *errors)


def length(gram: Gram, a: Vector) -> float:
    """|sum a_i phi(x_i)|"""
    return float(np.sqrt(np.maximum(a @ (gram.exact @ a), 0.0)))


def null_directions(K: Vector) -> Vector:
    """Columns v with sum v_i phi(x_i) = 0 and sum v_i = 0: where K, and 11' of its size, vanish."""
    n = len(K)
    values, vectors = eigh(K + np.abs(np.diag(K)).max())
    return np.asarray(vectors[:, values <= n * 1e-14 * max(values[-1], 0.0)])


def reduce(directions: Vector, a: Vector, limit: Vector) -> Vector:
    """The coefficients moved along all directions: each time one of them reaches zero or its limit and stays there."""
    a, V = a.copy(), directions.copy()
    sign, settled = np.sign(a), np.zeros(len(a), dtype=bool)
    while V.shape[1]:
        v = V[:, 0] / np.abs(V[:, 0]).max()
        ways = [moved(a, way * v, sign, limit) for way in (1.0, -1.0)]
        j, a = ways[0] if ways[0][1][ways[0][0]] == 0 else ways[1]  # rather to zero than to a limit
        # The other directions are turned so that they leave coefficient j where it is.
        others = V[:, 1:] - np.outer(v / v[j], V[j, 1:])
        V = np.linalg.qr(others)[0] if others.shape[1] else others
        settled[j] = True
        V[settled] = 0.0
    # Where two reach zero together, rounding leaves something of the one that was not said to.
    a[np.abs(a) <= ROUNDING * np.abs(a).max(initial=0.0)] = 0.0
    return a


def moved(a: Vector, v: Vector, sign: Vector, limit: Vector) -> tuple[int, Vector]:
    """The coefficients moved along v until the first of them, whose position is returned, is at zero or its limit."""
    falling = v * sign < -1e-9
    rising = (v * sign > 1e-9) & np.isfinite(limit)
    steps = np.full(len(a), np.inf)
    steps[falling] = -a[falling] / v[falling]
    steps[rising] = (sign * limit - a)[rising] / v[rising]
    j = int(np.argmin(steps))
    if not np.isfinite(steps[j]):  # nobody is in the way: the other way leads to zero
        return moved(a, -v, sign, limit)
    a = a + steps[j] * v
    a[j] = 0.0 if falling[j] else sign[j] * limit[j]
    return j, a


def refit(
    gram: Gram, kept: NDArray[np.int64], a: Vector, limit: Vector, bound: Flags, target: Vector, pinned: bool
) -> Vector:
    """The solution of the same problem on the essential ones alone, from scratch."""
    end = np.sign(a) * np.where(bound, np.abs(a), limit)
    lower, upper = np.minimum(end, 0.0), np.maximum(end, 0.0)
    if pinned:
        lower, upper = np.where(bound, a, lower), np.where(bound, a, upper)
    problem = Problem(target, lower, upper, total=float(a.sum()))
    some = gram.exact.kernel.gram(gram.exact.samples.take(kept), budget=0)
    (solution,) = SMO(tol=TOL).solve(some, [problem])
    return solution.coefficients
