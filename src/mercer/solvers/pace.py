"""The pace of a descent: a preconditioner from a few of the rows, and which rows these are to be.

Gradient steps learn the directions of large eigenvalues long before the others. Those directions are almost all in the
span of some rows, where they can be slowed down exactly; then the step may suit the rest.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Pairs, StoredPairs, chunks
from mercer.problem import Vector
from mercer.samples import Samples
from mercer.solvers.spaces import Coefficients, Positions, product

#: There are so many landmarks as the root of the number of rows times this: then Nystrom costs as much as a few
#: products with K ...
PER_ROOT = 10
#: ... and of fewer rows than this there are none.
FEW = 2000
#: Landmarks are chosen in so many turns.
TURNS = 3
#: What is less than this share of k(x, x) is not worth a landmark.
EXPLAINED = 1e-3
#: The eigenvalues of what landmarks leave, as a share of k(x, x).
REST = 0.25
#: A ridge that float32 can hold the root of.
LEAST = float(np.finfo(np.float32).tiny)


def how_many(rows: int, budget: int) -> int:
    """The number of landmarks for so many rows, within so many bytes.

    >>> how_many(100, 10**9), how_many(10_000, 10**9), how_many(10_000, 10**6)
    (0, 1000, 176)
    """
    return 0 if rows < FEW else int(min(PER_ROOT * rows**0.5, (budget / 32) ** 0.5))


def landmarks(space: Coefficients, rows: Positions, count: int, random: Any) -> Positions:
    """Some of these rows, whose span holds most of all: at first any, then in proportion to what is left of k(x, x).

    So no group of rows is far from all landmarks, as it is where few belong to it and they are chosen blindly (Chen,
    Epperly, Tropp, Webber, "Randomly pivoted Cholesky", 2023; here in blocks).

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.append(np.zeros(1000), np.arange(1, 10))[:, None]  # most are alike
    >>> some = landmarks(Coefficients(Gaussian(0.1).gram(X)), np.arange(1009), 30, np.random.RandomState(0))
    >>> int((some >= 1000).sum())
    9
    """
    kernel, x = space.source.kernel, space.source.samples.take(rows)
    left = np.ones(len(rows))
    some: Positions = np.empty(0, dtype=np.int64)
    for turn in range(1, TURNS + 1):
        wanted = min(-(-count * turn // TURNS) - len(some), int(np.count_nonzero(left)))
        if wanted > 0:
            some = np.union1d(some, random.choice(len(rows), wanted, replace=False, p=left / left.sum()))
        if turn < TURNS:
            left = unexplained(kernel, x, some)
    return rows[some]


def unexplained(kernel: Kernel, x: Samples, some: Positions) -> Vector:
    """What is left of k(x, x) outside the span of some of the samples; 0 where that is next to nothing."""
    sub = x.take(some)
    lower = factor(kernel, sub).astype(kernel.bind(sub, sub).dtype)
    pairs, own = kernel.bind(x, sub), kernel.diag_of(x).astype(np.float64)
    left = own.copy()
    for rows in chunks(len(x), len(some) * pairs.dtype.itemsize):
        block = pairs.block(rows, slice(0, len(some))).T
        left[rows] -= np.square(solve_triangular(lower, block, lower=True, check_finite=False)).sum(axis=0)
    left[some] = 0.0
    return np.where(left > EXPLAINED * own, left, 0.0)


def factor(kernel: Kernel, some: Samples) -> Vector:
    """L of K_ss + ridge = L L'; the ridge keeps coefficients small."""
    pairs = kernel.bind(some, some)
    own = pairs.dense().astype(np.float64)
    ridge = max(1e-6, 10 * len(some) * float(np.finfo(pairs.dtype).eps)) * float(own.diagonal().max())
    ridge = max(ridge, LEAST)  # all samples may be zero
    try:
        return np.asarray(np.linalg.cholesky(own + ridge * np.eye(len(some))))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"a preconditioner needs a positive semi-definite kernel, but {kernel} is not on these samples; use "
            "precondition=0, or mercer.kernels.repair"
        ) from None


class Nystrom:
    """Makes all directions of the landmarks' span learn at the same pace, so that the step may suit the others.

    Gradients g become P g with P = mu (Pi T Pi + mu)^-1, T = sum_i w_i k(x_i, .) k(x_i, .)' and Pi the projection on
    the span of the landmarks s. In coefficients, only those of s change: by -C (K g)_s with
    C = L'^-1 (1 - mu (A + mu)^-1) L^-1, K_ss = L L' and A = L^-1 (K_s W K_s') L'^-1 (as EigenPro does for leading
    eigenvectors: Ma and Belkin, "Kernel machines that adapt to GPUs for effective large batch training", 2019; and
    Rudi, Carratino, Rosasco, "FALKON: an optimal large scale kernel method", NIPS 2017). So eigenvalues within the span
    end between alpha and mu, which is to be where those outside are. Rounding and the ridge of L leave P between 0 and
    1, so that the descent leads to the same f.
    """

    def __init__(self, space: Coefficients, weight: Vector, alpha: float, some: Positions) -> None:
        self.some, gram = some, space.source
        self.pairs = self._bound(space)
        self.lower = factor(gram.kernel, gram.samples.take(some))
        self.mu = max(alpha + REST * float(np.mean(gram.diag()[some])), LEAST)
        moments, root = np.zeros((len(some), len(some))), np.sqrt(weight)[:, None]
        for rows in chunks(len(gram), len(some) * 8):
            block = self.pairs.block(rows, slice(0, len(some))) * root[rows]  # in float64
            moments += block.T @ block  # NumPy sees the symmetry, and computes half of it
        half = solve_triangular(self.lower, moments, lower=True, check_finite=False)
        A = solve_triangular(self.lower, half.T, lower=True, check_finite=False)
        A[np.diag_indices_from(A)] += self.mu
        self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)

    def _bound(self, space: Coefficients) -> Pairs:
        gram = space.source
        pairs = gram.kernel.bind(gram.samples, gram.samples.take(self.some))
        if len(gram) * len(self.some) * gram.dtype.itemsize > space.left:
            return pairs
        return StoredPairs(pairs.dense(), np.arange(len(self.some)), same=False)  # they take part in every step

    def within(self, space: Coefficients) -> Nystrom:
        """The same for the products of another space, which may be of another precision."""
        if space.source.dtype == self.pairs.dtype:
            return self
        other = copy.copy(self)
        other.pairs = other._bound(space)
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
        return moved, Kg + product(self.pairs, change)
