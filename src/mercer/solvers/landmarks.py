"""Landmarks: some samples in the place of all. Here they are chosen, and here is what they span of a matrix.

``choose_evenly``, ``choose_at_random``, ``choose_by_rest`` and ``choose_by_gain`` give positions; ``span`` turns
positions into the best matrix of their rank that agrees with K wherever one of them takes part (Williams and Seeger,
"Using the Nystroem method to speed up kernel machines", 2001).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.kernels.pairs import Pairs, chunks
from mercer.problem import Vector
from mercer.solvers.lapack import NotPositiveDefiniteError, factorize, interruptible
from mercer.solvers.operator import Factored, Operator, Positions

#: ``choose_by_rest`` takes a third of its landmarks at a time: each turn looks at what the earlier ones leave.
TURNS = 3
#: What is less than this share of k(x, x) is not worth a landmark.
EXPLAINED = 1e-3
#: ``choose_by_gain`` takes a sample to be spanned already if no more than this share of its square norm is left.
SPANNED = 1e-9
#: The least ridge: float32 can hold its root.
LEAST = float(np.finfo(np.float32).tiny)
#: A factor whose smallest pivot is below this share of the largest entry is of a matrix that is as good as singular.
SINGULAR = 1e-14


# -- ways of choosing ---------------------------------------------------------------------------------------------


def choose_evenly(samples: int, count: int) -> Positions:
    """Positions that are evenly spread from the first to the last sample: fewer than ``count`` if there are fewer.

    >>> choose_evenly(9, 3)
    array([0, 4, 8])
    """
    return np.unique(np.linspace(0, samples - 1, count).astype(np.int64))


def choose_at_random(samples: int, count: int, random: Any) -> Positions:
    """Any of the samples, ascending."""
    return np.asarray(np.sort(random.permutation(samples)[:count]))


def choose_by_rest(K: Operator, rows: Positions, count: int, random: Any) -> Positions:
    """Some of these rows, whose span holds most of all: at first any, then in proportion to what is left of k(x, x).

    So no group of rows is far from all landmarks, as it is where few belong to it and they are chosen blindly (Chen,
    Epperly, Tropp, Webber, "Randomly pivoted Cholesky", 2023; here in blocks).

    >>> from mercer.kernels import Gaussian
    >>> X = np.append(np.zeros(1000), np.arange(1, 10))[:, None]  # most are alike
    >>> some = choose_by_rest(Gaussian(0.1).gram(X), np.arange(1009), 30, np.random.RandomState(0))
    >>> int((some >= 1000).sum())
    9
    """
    left = np.ones(len(rows))
    some: Positions = np.empty(0, dtype=np.int64)
    for turn in range(1, TURNS + 1):
        wanted = min(-(-count * turn // TURNS) - len(some), int(np.count_nonzero(left)))
        if wanted > 0:
            some = np.union1d(some, random.choice(len(rows), wanted, replace=False, p=left / left.sum()))
        if turn < TURNS:
            left = _rest(K, rows, some)
    return rows[some]


def _rest(K: Operator, rows: Positions, some: Positions) -> Vector:
    """What is left of k(x, x) of these rows outside the span of some of them; 0 where that is next to nothing."""
    x = K.samples.take(rows)
    pairs, own = K.kernel.bind(x, x.take(some)), K.diag()[rows].astype(np.float64)
    lower = regular_root(K, rows[some]).astype(pairs.dtype)
    left = own.copy()
    for part in chunks(len(x), len(some) * pairs.dtype.itemsize):
        block = pairs.block(part, slice(0, len(some))).T
        left[part] -= np.square(solve_triangular(lower, block, lower=True, check_finite=False)).sum(axis=0)
    left[some] = 0.0
    return np.where(left > EXPLAINED * own, left, 0.0)


def choose_by_gain(g: Vector, models: Sequence[Vector], count: int) -> list[int]:
    """The rows by which an objective falls most, at most ``count`` of them, each the best after those before it.

    In output c its slopes are the column g_c and its curvature is Q = ``models[c]``, so that coefficient j alone gains
    g_cj^2 / Q_jj; afterwards g <- g - Q_j g_j / Q_jj and Q <- Q - Q_j Q_j' / Q_jj, in place.

    >>> choose_by_gain(np.array([[1.0], [3.0], [2.9]]), [np.array([[1.0, 0, 0], [0, 1, 0.9], [0, 0.9, 1]])], 2)
    [1, 0]
    """
    g, least = g.copy(), SPANNED * np.array([Q.diagonal() for Q in models])
    found: list[int] = []
    while len(found) < min(count, len(g)):
        own = np.array([Q.diagonal() for Q in models])
        gain = np.where(own > least, g.T**2 / np.maximum(own, 1e-300), 0.0).sum(axis=0)
        gain[found] = 0.0
        j = int(gain.argmax())
        if not gain[j] > 0:
            break
        found.append(j)
        for c, Q in enumerate(models):
            if own[c, j] > least[c, j]:
                column = Q[:, j] / np.sqrt(Q[j, j])
                g[:, c] -= column * (g[j, c] / column[j])
                Q -= np.outer(column, column)
    return found


# -- what they span -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Span:
    """Z Z' = K_nS K_SS^-1 K_Sn of landmarks S: with Z = K_nS T a new sample x has the features k(x, S) T.

    >>> from mercer.kernels import Linear
    >>> found = span(Linear().gram([[1.0], [2.0], [3.0]]), np.array([2]))
    >>> found.Z.ravel(), found.operator.diag(), found.residual(np.array([1.0, 4.0, 9.0])).round(12)
    (array([1., 2., 3.]), array([1., 4., 9.]), array([0., 0., 0.]))
    """

    positions: Positions
    Z: Vector
    T: Vector

    @property
    def operator(self) -> Factored:
        """The matrix that they span."""
        return Factored(self.Z)

    def residual(self, diagonal: Vector) -> Vector:
        """What they leave of the diagonal of K."""
        return np.asarray(diagonal - (self.Z * self.Z).sum(axis=1))


def span(K: Operator, positions: Positions) -> Span:
    """What landmarks at these positions span, in float64 of entries in the precision of K."""
    return span_of(np.asarray(K.block(positions, slice(None)), dtype=np.float64), positions)


def span_of(rows: Vector, positions: Positions) -> Span:
    """The same from the rows K_Sn of the landmarks.

    A K_SS that is singular to working precision is made regular by as little of a ridge as suffices.
    """
    inner = rows[:, positions]
    size = float(np.abs(inner.diagonal()).max(initial=0.0)) or 1.0
    ridges = (size * ridge for ridge in (0.0, *(10.0**e for e in range(-13, 1))))
    lower = root(inner, ridges, SINGULAR * size) if len(positions) else None
    if lower is None:  # no landmarks, or nothing like a kernel; no help, no harm
        return Span(positions, np.zeros((rows.shape[1], 1)), np.zeros((len(positions), 1)))
    T = solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False).T
    return Span(positions, interruptible(partial(np.matmul, rows.T, T), rows.shape[1]), np.asarray(T))


def root(inner: Vector, ridges: Iterable[float], least: float = 0.0) -> Vector | None:
    """L with L L' = K_SS + ridge, for the first of these ridges that leaves no pivot at or below ``least``, or None."""
    for ridge in ridges:
        lower = np.ascontiguousarray(inner + ridge * np.eye(len(inner)))
        try:
            factorize(lower)
        except NotPositiveDefiniteError:
            continue
        if float(lower.diagonal().min(initial=np.inf)) ** 2 > least:
            return np.tril(lower)
    return None


def regular_root(K: Operator, positions: Positions) -> Vector:
    """L of K_SS + ridge = L L', with a ridge that keeps the coefficients of landmarks small."""
    inner = np.asarray(K.block(positions, positions), dtype=np.float64)
    ridge = max(1e-6, 10 * len(inner) * float(np.finfo(K.dtype).eps)) * float(inner.diagonal().max())
    lower = root(inner, (max(ridge, LEAST),))  # all samples may be zero
    if lower is None:
        raise ValueError(
            f"a preconditioner needs a positive semi-definite kernel, but {K.kernel} is not on these samples; use "
            "precondition=0, or mercer.kernels.repair"
        )
    return lower


def columns(K: Operator, positions: Positions) -> Pairs:
    """K_nS, not computed yet."""
    return K.kernel.bind(K.samples, K.samples.take(positions))
