"""The solutions of a problem without each of its samples in turn, followed from the solution with all of them.

As the bound of one coefficient falls to zero, all the others move along straight lines until one of them meets an end
of its interval or leaves it. So a removal is a few such steps, each a small linear system by which the set of free
coefficients differs from that of the whole problem (Cauwenberghs and Poggio, "Incremental and decremental support
vector machine learning", 2001): one factorisation serves all samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.solvers.certificate import CoreProblem
from mercer.threads import blas_of_one_thread

Positions = NDArray[np.int64]

#: Where a coefficient is: at its lower bound, free below zero, at zero, free above zero, at its upper bound; or kept
#: where it is inside its interval, as the free ones determine its sample's value.
LOWER, NEGATIVE, ZERO, POSITIVE, UPPER, KEPT = range(6)
#: Rounds in which the set of free coefficients of an approximate solution is put right.
ROUNDS = 20
#: A path of more steps than this is given up.
STEPS = 500
#: Paths that are followed together, so that what they read stays in the caches.
TOGETHER = 96
#: A share of a bound, or of a slope, that is rounding.
ROUNDING = 1e-9
#: Further from its ends than this share of the largest coefficient, a free one is free beyond rounding.
INSIDE = 1e-7
#: What counts as no motion.
STILL = 1e-11
#: What float32 may take from a change of f, of the coefficients that change, in units of k(x, x).
SINGLE = 1e-7
#: Samples whose slope is further than this from mattering, in units of the margin, are looked at in the end only, if
#: there are more than so many.
NEAR, LEAST = 0.3, 1200


@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact solution of a problem without ridge and with one equality: a, b, f = K a, and the state of each a."""

    problem: Problem
    a: Vector
    b: float
    f: Vector
    state: Array

    @property
    def basis(self) -> Array:
        """Which coefficients are free and determine all others."""
        return np.asarray((self.state == NEGATIVE) | (self.state == POSITIVE))


@dataclass(frozen=True, eq=False)
class Removals:
    """What was found for every sample that was taken away: f + b at it, |w|^2, the violation, and the steps made.

    Where a path was given up the violation is infinite. A value that was not followed to its end, because it was wrong
    before, is ``early``.
    """

    value: Vector
    squared_norm: Vector
    violation: Vector
    early: Array
    steps: Array


def limits(state: Array, problem: Problem) -> tuple[Array, Array]:
    """Between which ends a free coefficient stays, and f + b at the sample of any other, as long as states stay."""
    q, l1, lower, upper = problem.q, problem.l1, problem.lower, problem.upper
    none = np.zeros(len(q))
    low = np.select(
        [state == POSITIVE, state == NEGATIVE, state == LOWER, (state == ZERO) & (upper > 0)],
        [none, lower, q + l1, q - l1],
        -np.inf,
    )
    high = np.select(
        [state == POSITIVE, state == NEGATIVE, state == UPPER, (state == ZERO) & (lower < 0)],
        [upper, none, q - l1, q + l1],
        np.inf,
    )
    return low, high


def some(problem: Problem, index: Array) -> Problem:
    """The same of some coefficients, the equality left aside."""
    names = ("q", "lower", "upper", "l1", "ridge")
    return replace(problem, **{name: getattr(problem, name)[index] for name in names}, group=None, sample=None)


def states(a: Vector, problem: Problem) -> Array:
    """Where coefficients that are known to some digits are."""
    lower, upper = problem.lower, problem.upper
    size = np.where(np.isfinite(upper - lower), upper - lower, np.abs(a).max(initial=0.0)) * ROUNDING
    return np.select(
        [(upper > 0) & (a >= upper - size), (lower < 0) & (a <= lower + size), np.abs(a) <= size, a > 0],
        [UPPER, LOWER, ZERO, POSITIVE],
        NEGATIVE,
    )


def independent(K: Array, free: Positions) -> tuple[Positions, Positions]:
    """Those of the free samples that are affinely independent, and the others."""
    first, others = free[0], free[1:]
    if not len(others):
        return free, others
    row = K[first, others]
    E = K[np.ix_(others, others)] - row - row[:, None] + K[first, first]
    scale = float(E.diagonal().max())
    if not scale > 0:
        return free[:1], others
    _, pivots, rank, _ = dpstrf(E, tol=1e-10 * scale, lower=1)
    return np.append(first, others[pivots[:rank] - 1]), others[pivots[rank:] - 1]


def optimum(K: Array, problem: Problem, a: Vector) -> Optimum | None:
    """The exact solution near an approximate one, or None if it is not found, or no coefficient of it is free."""
    state = states(a, problem)
    ends = (problem.lower, problem.upper)
    tied = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        free = np.flatnonzero((state == NEGATIVE) | (state == POSITIVE))
        if not len(free):
            return None
        free, tied = independent(K, free)
        at = np.select([state == LOWER, state == UPPER], ends, 0.0)
        at[tied] = a[tied]
        at[free] = 0.0
        target = problem.q - np.select([state == POSITIVE, state == NEGATIVE], [problem.l1, -problem.l1], 0.0)
        used = np.flatnonzero(at)
        right = np.append(
            target[free] - K[np.ix_(free, used)] @ at[used], float(np.sum(problem.total or 0.0)) - at.sum()
        )
        try:
            found = np.linalg.solve(bordered(K[np.ix_(free, free)]), right)
        except np.linalg.LinAlgError:
            return None
        a = at
        a[free], b = found[:-1], float(found[-1])
        used = np.flatnonzero(a)
        f = K[:, used] @ a[used]
        changed = corrected(state, a, f + b, problem, tied, target)
        if changed is None:
            return None
        if np.array_equal(changed, state):
            low, high = limits(state, problem)
            if not np.minimum(a - low, high - a)[free].max() > INSIDE * np.abs(a).max():
                return None
            state = state.copy()
            state[tied] = KEPT
            return Optimum(problem, a, b, f, state)
        state = changed
    return None


def corrected(
    state: Array, a: Vector, value: Vector, problem: Problem, tied: Positions, target: Vector
) -> Array | None:
    """The states that a solution of these states asks for; None if it is no solution at the samples that are tied."""
    low, high = limits(state, problem)
    free = (state == NEGATIVE) | (state == POSITIVE)
    unit = 1.0 + float(np.abs(problem.q).max(initial=0.0))
    if len(tied) and np.abs(value - target)[tied].max() > 1e-7 * unit:
        return None
    slack = np.where(free, ROUNDING * (1e-300 + np.abs(a).max(initial=0.0)), ROUNDING * unit)
    where = np.where(free, a, value)
    under, over = where < low - slack, where > high + slack
    changed = state.copy()
    for moved, of in ((under, False), (over, True)):
        changed[moved] = after(state[moved], of, a[moved])
    return changed


def after(state: Array, over: Array | bool, a: Vector) -> Array:
    """The states beyond those ends of their intervals."""
    over = np.broadcast_to(over, state.shape)
    choices: list[Array] = [
        np.where(over, UPPER, ZERO),
        np.where(over, ZERO, LOWER),
        np.full(state.shape, POSITIVE),
        np.full(state.shape, NEGATIVE),
        np.where(a > 0, POSITIVE, NEGATIVE),
    ]
    conditions = [state == POSITIVE, state == NEGATIVE, state == UPPER, state == LOWER, state == KEPT]
    return np.select(conditions, choices, np.where(over, NEGATIVE, POSITIVE))


def bordered(K: Array) -> Array:
    """K with a row and a column of ones and a zero in the corner."""
    A = np.ones((len(K) + 1, len(K) + 1))
    A[:-1, :-1] = K
    A[-1, -1] = 0.0
    return A


def solved(M: Array, right: Array) -> Array:
    """The solutions of small systems, not a number for one that is singular."""
    try:
        return np.asarray(np.linalg.solve(M, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        if len(M) == 1:
            return np.full(right.shape, np.nan)
        return np.concatenate([solved(M[r : r + 1], right[r : r + 1]) for r in range(len(M))])


class Tableau:
    """How everything moves with everything else, for the coefficients of an optimum that may come to matter.

    Row j of ``T`` says how all outputs move with input j. Of a free coefficient the input is f + b at its sample and
    the output the coefficient, of any other it is the other way round.
    """

    def __init__(self, K: Array, best: Optimum, members: Positions) -> None:
        basis = best.basis[members]
        self.members = np.concatenate([members[basis], members[~basis]])
        self.free = m = int(basis.sum())
        self.problem = some(best.problem, self.members)
        self.state, self.a = best.state[self.members], best.a[self.members]
        self.value = best.f[self.members] + best.b
        among = K[np.ix_(self.members, self.members)]
        inverse = np.linalg.inv(bordered(among[:m, :m]))
        rest = np.ones((m + 1, len(among) - m))
        rest[:m] = among[:m, m:]
        G = inverse @ rest
        self.T = among
        self.T[m:, m:] -= rest.T @ G
        self.T[:m, :m] = inverse[:m, :m]
        self.T[:m, m:] = G[:m]
        self.T[m:, :m] = -G[:m].T
        self.scale = np.ones(len(members))
        self.scale[m:] = np.abs(among.diagonal()[m:]).max(initial=1e-300) + 1.0
        self.low, self.high = limits(self.state, self.problem)
        kept = self.state == KEPT
        self.low[kept] = self.high[kept] = self.value[kept]


class Paths:
    """Some samples of a tableau, each on its way out."""

    def __init__(self, tableau: Tableau, left: Positions, sign: Vector | None) -> None:
        self.tableau, self.left, self.sign = tableau, left, sign
        R, m = len(left), tableau.free
        inside = np.arange(len(tableau.a)) < m
        self.at = np.tile(np.where(inside, tableau.a, tableau.value), (R, 1))
        self.low, self.high = np.tile(tableau.low, (R, 1)), np.tile(tableau.high, (R, 1))
        self.state = np.tile(tableau.state, (R, 1))
        self.of_basis = left < m
        self.changed = np.zeros((R, 8), dtype=np.int64)  # what is free here and not in the tableau, or the reverse
        self.changed[:, 0] = np.where(self.of_basis, left, 0)
        self.count = self.of_basis.astype(np.int64)
        self.gone = np.zeros(R)
        self.value = tableau.value[left].copy()
        self.steps = np.zeros(R, dtype=np.int64)
        self.early, self.lost = np.zeros(R, dtype=bool), np.zeros(R, dtype=bool)

    def follow(self) -> None:
        """All the way, or until ``sign`` times the value is negative."""
        going = np.arange(len(self.left))
        for _ in range(STEPS):
            if not len(going):
                return
            going = self._step(going)
        self.lost[going] = True

    def _rates(self, going: Positions) -> tuple[Array, Array, Array, Array]:
        """How fast everything moves while the coefficients that leave fall to zero; which of them is unknown."""
        T, left = self.tableau.T, self.left[going]
        count = self.count[going]
        width = max(1, int(count.max()))
        known = np.arange(width) < count[:, None]
        which = np.where(known, self.changed[going, :width], 0)
        fall = -self.tableau.a[left]
        of_basis = self.of_basis[going]
        M = T[which[:, None, :], which[:, :, None]] * (known[:, None, :] & known[:, :, None])
        M[:, np.arange(width), np.arange(width)] += ~known
        right = np.where(
            of_basis[:, None], (which == left[:, None]) * fall[:, None], -T[left[:, None], which] * fall[:, None]
        )
        x = solved(M, right * known) * known
        columns = np.concatenate([which, left[:, None]], axis=1)
        inputs = np.concatenate([x, np.where(of_basis, 0.0, fall)[:, None]], axis=1)
        pointer = np.arange(len(going) + 1) * (width + 1)
        rates = sp.csr_array((inputs.ravel(), columns.ravel(), pointer), shape=(len(going), len(T))) @ T
        row, column = np.nonzero(known)
        rates[row, which[row, column]] = x[row, column]
        return rates, left, fall, np.isfinite(x).all(axis=1)

    def _step(self, going: Positions) -> Positions:
        """To the next end of an interval; who is not there yet."""
        rates, left, fall, sound = self._rates(going)
        self.lost[going[~sound]] = True
        if not sound.all():
            rates[~sound] = 0.0
        rows = np.arange(len(going))
        of_value = rates[rows, left]
        rates[rows, left] = 0.0
        every = slice(None) if len(going) == len(self.left) else going  # a slice copies nothing
        rates[np.abs(rates) <= (STILL * np.abs(fall))[:, None] * self.tableau.scale] = 0.0
        room = np.where(rates > 0, self.high[every], self.low[every])
        room -= self.at[every]
        with np.errstate(divide="ignore", invalid="ignore"):
            room /= rates
        room[rates == 0] = np.inf
        first = room.argmin(axis=1)
        over = rates[rows, first] > 0
        step = np.minimum(np.maximum(room[rows, first], 0.0), 1 - self.gone[going])
        rates *= step[:, None]
        self.at[every] += rates
        self.value[going] += of_value * step
        self.gone[going] += step
        self.steps[going] += 1
        ended = (self.gone[going] >= 1) | ~sound
        if self.sign is not None:
            self.early[going] = (self.value[going] * self.sign[going] < -ROUNDING) & ~ended
            ended |= self.early[going]
        on = ~ended
        self._cross(going[on], first[on], over[on])
        return going[on]

    def _cross(self, r: Positions, j: Positions, over: Array) -> None:
        """Coefficient j of path r goes beyond an end: a free one stays there, another becomes free."""
        tableau = self.tableau
        problem = some(tableau.problem, j)
        before, a = self.state[r, j], tableau.a[j]
        now = after(before, over, a)
        free = (now == NEGATIVE) | (now == POSITIVE)
        end = np.select([before == LOWER, before == UPPER, before == KEPT], [problem.lower, problem.upper, a], 0.0)
        target = problem.q - np.where(before == POSITIVE, problem.l1, -problem.l1)
        self.at[r, j] = np.where(free, end, target)
        self.low[r, j], self.high[r, j] = limits(now, problem)
        self.state[r, j] = now
        listed = (self.changed[r] == j[:, None]) & (np.arange(self.changed.shape[1]) < self.count[r][:, None])
        back = listed.any(axis=1)
        out, place = r[back], listed[back].argmax(axis=1)
        self.changed[out, place] = self.changed[out, self.count[out] - 1]
        self.count[out] -= 1
        new = r[~back]
        if len(new) and self.count[new].max() >= self.changed.shape[1]:
            self.changed = np.concatenate([self.changed, np.zeros_like(self.changed)], axis=1)
        self.changed[new, self.count[new]] = j[~back]
        self.count[new] += 1

    def coefficients(self) -> Array:
        """Those of all members, after the way that was made."""
        problem, state = self.tableau.problem, self.state
        free = (state == NEGATIVE) | (state == POSITIVE)
        a = np.where(free, self.at, 0.0)
        for which, end in ((LOWER, problem.lower), (UPPER, problem.upper), (KEPT, self.tableau.a)):
            a = np.where(state == which, end, a)
        rows = np.arange(len(a))
        a[rows, self.left] = self.tableau.a[self.left] * (1 - self.gone)
        return a


def middle_bias(problem: Problem, a: Vector, f: Vector, size: float) -> float:
    """The best bias for these coefficients: those that are no further than ``size`` from an end, are at it."""
    ends = (problem.lower, problem.upper, np.zeros(len(a)))
    at = np.select([np.abs(a - end) <= size for end in ends], ends, a)
    core = CoreProblem(problem, at, f)
    core.native.certify()
    return float(core.native.bias[0])


def without_each(K: Array, best: Optimum, left: Positions, sign: Vector | None, tol: float) -> Removals:
    """The solutions without each of these samples, from K in memory; their violations are computed anew from K.

    Where ``sign`` is given, 1 or -1 for each of them, a path ends as soon as ``sign`` times its value is negative: by
    monotony it stays so. For the violations K is rounded to float32 where that loses next to nothing beside ``tol``.
    """
    with blas_of_one_thread:  # many short calls
        return followed(K, best, np.asarray(left, dtype=np.int64), sign, tol)


def followed(K: Array, best: Optimum, left: Positions, sign: Vector | None, tol: float) -> Removals:
    """The same, with the BLAS as it is."""
    n = len(best.a)
    unit = float(np.abs(best.problem.q).max(initial=0.0)) or 1.0
    low, high = limits(best.state, best.problem)
    value = best.f + best.b
    far = np.where(best.basis | (best.a != 0), 0.0, np.minimum(value - low, high - value))
    members = np.flatnonzero(far <= max(NEAR * unit, np.sort(far)[min(n, LEAST) - 1]))
    tableau = Tableau(K, best, members)
    place = np.zeros(n, dtype=np.int64)
    place[tableau.members] = np.arange(len(members))
    own = float(np.abs(K.diagonal()).max(initial=0.0))
    enough = SINGLE * own * float(np.abs(best.a).sum()) < tol
    rows = K[tableau.members].astype(np.float32 if enough else np.float64)
    order = np.argsort(-np.abs(best.a[left]), kind="stable")  # paths of like lengths together
    found = []
    for begin in range(0, len(left), TOGETHER):
        chunk = order[begin : begin + TOGETHER]
        paths = Paths(tableau, place[left[chunk]], None if sign is None else sign[chunk])
        paths.follow()
        found.append(judged(rows, best, tableau, paths, left[chunk]))
    parts = zip(*((r.value, r.squared_norm, r.violation, r.early, r.steps) for r in found), strict=True)
    back = np.argsort(order)
    return Removals(*(np.concatenate(part)[back] for part in parts))


def judged(rows: Array, best: Optimum, tableau: Tableau, paths: Paths, left: Positions) -> Removals:
    """What the paths have come to, and by how much the conditions of the optimum are violated, over all samples."""
    problem = best.problem
    a = paths.coefficients()
    change = a - tableau.a
    used = np.flatnonzero(change.any(axis=0))
    f = best.f + change[:, used].astype(rows.dtype) @ rows[used]
    full = np.tile(best.a, (len(left), 1))
    full[:, tableau.members] = a
    own = np.arange(len(left))
    slope = problem.q - f
    lower, upper = np.tile(problem.lower, (len(left), 1)), np.tile(problem.upper, (len(left), 1))
    lower[own, left] = np.minimum(full[own, left], 0.0)  # early ones are solutions for this much of its bound
    upper[own, left] = np.maximum(full[own, left], 0.0)
    size = float(np.abs(best.a).max(initial=0.0))
    beyond = np.maximum(np.maximum(lower - full, full - upper), 0.0).max(axis=1)
    rise = np.where(full < upper, slope - np.where(full >= 0, problem.l1, -problem.l1), -np.inf).max(axis=1)
    fall = np.where(full > lower, slope + np.where(full <= 0, problem.l1, -problem.l1), np.inf).min(axis=1)
    violation = np.maximum(rise - fall, 0.0)
    free = (paths.state == NEGATIVE) | (paths.state == POSITIVE)
    free &= np.minimum(paths.at - paths.low, paths.high - paths.at) > INSIDE * size
    free[own, paths.left] = False
    lost = paths.lost | (beyond > 1e-7 * size) | ~np.isfinite(f).all(axis=1)
    # without a free coefficient the bias may lie anywhere between two ends, of which the path knows one
    for r in np.flatnonzero(~(free.any(axis=1) | paths.early | lost)):
        one = replace(problem, lower=lower[r], upper=upper[r])
        paths.value[r] = f[r, left[r]] + middle_bias(one, full[r], f[r], INSIDE * size)
    squared = np.einsum("ij,ij->i", full, f)
    return Removals(paths.value, squared, np.where(lost, np.inf, violation), paths.early, paths.steps)
