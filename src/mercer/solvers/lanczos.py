"""Eigenvalues of a symmetric operator from products with vectors: the largest by blocks, both ends by single vectors.

    A v_i = l_i v_i,   l_1 >= l_2 >= ... >= l_count,   v_i orthonormal

The basis Q spans V, AV, A^2 V, ... of a random block V and is kept orthogonal in full; Q'AQ gives the Ritz pairs. When
Q has grown too wide it is replaced by the Ritz vectors in front (Golub and Underwood 1977; Stewart, "A Krylov-Schur
algorithm for large eigenproblems", 2001). A block costs one pass over the matrix, whatever its width, and kernel
matrices are computed as they pass by; so blocks are wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal

from mercer.threads import blas_of_one_thread

Float = NDArray[np.float64]
Product = Callable[[Float], Float]

#: Q is cut back when it is wider than this many blocks.
BLOCKS = 8
#: Rows of a block that are factored at a time.
PART = 1000
#: The ends take at most this many products with a vector.
LANCZOS_STEPS = 60


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues, the largest first, orthonormal vectors, and how good they are: residual_i = |A v_i - l_i v_i|.

    Each eigenvalue is within its residual of one of A's.
    """

    values: Float
    vectors: Float
    residuals: Float
    #: Products with blocks.
    iterations: int
    converged: bool


@blas_of_one_thread
def ritz(basis: Float, images: Float, count: int) -> tuple[Float, Float, Float]:
    """The largest Ritz values of A on an orthonormal basis, given A @ basis; their vectors, and the images of those."""
    values, turn = eigh(basis.T @ images)
    values, turn = values[::-1][:count], turn[:, ::-1][:, :count]
    return values, basis @ turn, images @ turn


def triangle(block: Float) -> Float:
    """The factor R of block = QR. Rows are taken in parts that stay near, whose factors are factored in turn."""
    width = block.shape[1]
    part = max(PART, 2 * width)
    if len(block) <= part:
        return np.asarray(np.linalg.qr(block, mode="r"))
    whole = len(block) // part * part
    factors: Float = np.asarray(np.linalg.qr(block[:whole].reshape(-1, part, width), mode="r"))
    return triangle(np.vstack([factors.reshape(-1, width), block[whole:]]))


@blas_of_one_thread
def orthonormal(block: Float, against: Float, scale: float) -> Float:
    """An orthonormal basis of what a block adds to the span of orthonormal columns: none of what is small to scale."""
    block = block - against @ (against.T @ block)
    _, sizes, turn = np.linalg.svd(triangle(block))
    kept = sizes > 1e-12 * scale
    block = block @ (turn[kept].T / sizes[kept])
    block = block - against @ (against.T @ block)  # once is not enough: rounding lets earlier directions back in
    # The columns are nearly orthonormal by now, so that the factor of their products makes them so.
    return np.asarray(block @ np.linalg.inv(np.linalg.cholesky(block.T @ block)).T)


def other_directions(against: Float, count: int, seed: int) -> Float:
    """Random orthonormal vectors, orthogonal to those."""
    return orthonormal(np.random.default_rng(seed).standard_normal((len(against), count)), against, 1.0)


def largest(
    product: Product,
    start: Float,
    count: int,
    tol: float,
    max_iterations: int,
    floor: float = 0.0,
    progress: Callable[[int, Float, Float], bool] | None = None,
) -> Eigenpairs:
    """The ``count`` largest eigenpairs, from the span of ``start``, to residuals of at most tol times the largest.

    Below ``floor`` times the largest, where the rounding of the products may prevent more, a step that does not halve
    the residual is the last. ``progress`` is told the number of products, the values and the residuals so far; if it
    returns True, so is this step.

    >>> import numpy as np
    >>> A = np.diag([1.0, 2.0, 3.0, 4.0])
    >>> largest(lambda V: A @ V, np.ones((4, 1)), 2, tol=1e-9, max_iterations=9).values.round(6)
    array([4., 3.])
    """
    basis = images = np.empty((len(start), 0))
    block, width, scale, last = orthonormal(start, basis, 1.0), max(start.shape[1], count), 0.0, np.inf
    if not block.shape[1]:
        block = other_directions(basis, count, 0)
    for iteration in range(1, max_iterations + 1):
        new = product(block)
        basis, images = np.hstack([basis, block]), np.hstack([images, new])
        values, vectors, turned = ritz(basis, images, count)
        residuals = np.asarray(np.linalg.norm(turned - vectors * values, axis=0))
        size, worst = float(np.abs(values).max()), float(residuals.max())
        converged = len(values) == count and worst <= tol * size
        stop = progress is not None and progress(iteration, values, residuals)
        if converged or stop or last / 2 < worst <= floor * size:
            return Eigenpairs(values, vectors, residuals, iteration, converged)
        last = worst
        scale = max(scale, float(np.linalg.norm(new, axis=0).max()))
        block = orthonormal(new, basis, scale)
        whole = not block.shape[1] or basis.shape[1] == len(start)  # the basis holds all that A can reach
        if whole and len(values) == count:
            return Eigenpairs(values, vectors, residuals, iteration, True)
        if whole:  # too narrow a reach, as of a matrix of low rank: other directions
            block = other_directions(basis, count - len(values), iteration)
        elif basis.shape[1] + block.shape[1] > BLOCKS * width:
            _, basis, images = ritz(basis, images, 2 * width)
    return Eigenpairs(values, vectors, residuals, max_iterations, False)


@dataclass(frozen=True, eq=False)
class Ends:
    """The two ends of a spectrum, and the direction of the lower one: a unit vector."""

    smallest: float
    largest: float
    direction: Float

    @property
    def magnitude(self) -> float:
        """The largest absolute value of an eigenvalue."""
        return max(abs(self.smallest), abs(self.largest))


def spectrum_ends(product: Product, n: int, steps: int = LANCZOS_STEPS) -> Ends:
    """Both ends of the spectrum from products with vectors; they lie inside the spectrum, and are met if steps >= n.

    Q spans v, Kv, K^2 v, ... of a random v, kept orthogonal in full; Q'KQ is tridiagonal, with ``alpha`` on its
    diagonal and ``beta`` beside it (Golub and Van Loan, section 10.1).
    """
    steps = min(steps, n)
    Q = np.empty((steps, n))
    alpha, beta = np.zeros(steps), np.zeros(steps)
    q = np.random.default_rng(0).normal(size=n)
    for j in range(steps):
        Q[j] = q / np.linalg.norm(q)
        q = product(Q[j])
        alpha[j] = Q[j] @ q
        for _ in range(2):  # once is not enough: rounding lets earlier directions back in
            q = q - Q[: j + 1].T @ (Q[: j + 1] @ q)
        beta[j] = np.linalg.norm(q)
        scale = np.abs(alpha).max() + beta.max()
        if beta[j] <= n * np.finfo(np.float64).eps * scale:  # Q holds all of K that v can reach
            steps = j + 1
            break
    values, vectors = eigh_tridiagonal(alpha[:steps], beta[: steps - 1])
    direction = Q[:steps].T @ vectors[:, 0]
    return Ends(float(values[0]), float(values[-1]), direction / np.linalg.norm(direction))
