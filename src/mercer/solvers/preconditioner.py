"""A preconditioner of gradient steps from a few of the rows, in whose span all directions learn at the same pace.

Gradient steps learn the directions of large eigenvalues long before the others. Those directions are almost all in the
span of some rows, where they can be slowed down exactly; then the step may suit the rest.
"""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer import costs
from mercer.kernels.pairs import Pairs, StoredPairs, chunks
from mercer.problem import Vector
from mercer.solvers.landmarks import LEAST, columns, regular_root
from mercer.solvers.operator import Operator, Positions, in_precision

#: The eigenvalues of what landmarks leave, as a share of k(x, x).
REST = 0.25


def landmarks_for(rows: int, budget: int) -> int:
    """The number of landmarks that pay for a matrix of that many rows, and fit a budget of bytes.

    >>> landmarks_for(100, 10**9), landmarks_for(10_000, 10**9), landmarks_for(10_000, 10**6)
    (0, 1000, 176)
    """
    if rows < costs.PRECONDITIONED_ROWS:
        return 0
    return int(min(costs.LANDMARKS_PER_ROOT * rows**0.5, (budget / 32) ** 0.5))


class NystromPreconditioner:
    """Makes all directions of the landmarks' span learn at the same pace, so that the step may suit the others.

    Gradients g become P g with P = mu (Pi T Pi + mu)^-1, T = sum_i w_i k(x_i, .) k(x_i, .)' and Pi the projection on
    the span of the landmarks s. In coefficients, only those of s change: by -C (K g)_s with
    C = L'^-1 (1 - mu (A + mu)^-1) L^-1, K_ss = L L' and A = L^-1 (K_s W K_s') L'^-1 (as EigenPro does for leading
    eigenvectors: Ma and Belkin, "Kernel machines that adapt to GPUs for effective large batch training", 2019; and
    Rudi, Carratino, Rosasco, "FALKON: an optimal large scale kernel method", NIPS 2017). So eigenvalues within the span
    end between alpha and mu, which is to be where those outside are. Rounding and the ridge of L leave P between 0 and
    1, so that the descent leads to the same f.
    """

    def __init__(self, K: Operator, left: int, weight: Vector, alpha: float, some: Positions) -> None:
        """``left`` are the bytes in which K_nS may be kept."""
        self.some = some
        self.pairs = self._bound(K, left)
        self.lower = regular_root(K, some)
        self.mu = max(alpha + REST * float(np.mean(K.diag()[some])), LEAST)
        moments, root = np.zeros((len(some), len(some))), np.sqrt(weight)[:, None]
        for rows in chunks(len(K), len(some) * 8):
            block = self.pairs.block(rows, slice(0, len(some))) * root[rows]  # in float64
            moments += block.T @ block  # NumPy sees the symmetry, and computes half of it
        half = solve_triangular(self.lower, moments, lower=True, check_finite=False)
        A = solve_triangular(self.lower, half.T, lower=True, check_finite=False)
        A[np.diag_indices_from(A)] += self.mu
        self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)

    def _bound(self, K: Operator, left: int) -> Pairs:
        pairs = columns(K, self.some)
        if len(K) * len(self.some) * K.dtype.itemsize > left:
            return pairs
        return StoredPairs(pairs.dense(), np.arange(len(self.some)), same=False)  # they take part in every step

    def within(self, K: Operator, left: int) -> NystromPreconditioner:
        """The same for the products of an operator that may be of another precision."""
        if K.dtype == self.pairs.dtype:
            return self
        other = copy.copy(self)
        other.pairs = other._bound(K, left)
        return other

    def correction(self, values: Vector) -> Vector:
        """What is added to the coefficients of the landmarks, from K g there."""
        inner = solve_triangular(self.lower, values, lower=True, check_finite=False)
        inner -= self.mu * cho_solve(self.factor, inner, check_finite=False)
        return np.asarray(-solve_triangular(self.lower, inner, lower=True, trans=1, check_finite=False))

    def applied(self, g: Vector, Kg: Vector) -> tuple[Vector, Vector]:
        """P g and K P g, from g and K g."""
        change = self.correction(Kg[self.some])
        moved = g.copy()
        moved[self.some] += change
        return moved, Kg + in_precision(self.pairs.product, self.pairs.dtype, change)
