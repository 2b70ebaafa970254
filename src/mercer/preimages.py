"""Pre-images: points z of the input space whose images phi(z) are about a given point of the kernel's space.

Few points of that space are the image of anything, so a pre-image is the best there is in one of two senses: the
regression of the samples on their coordinates, for any kernel of vectors, or the nearest phi(z) of the Gaussian kernel.
"""

from __future__ import annotations

import numpy as np

from mercer.expansion import Expansion
from mercer.kernels import Gaussian, Kernel, Scaled
from mercer.problem import Vector, squared
from mercer.samples import Samples
from mercer.solvers.cholesky import Cholesky

#: Steps of a fixed point, and the move of it, relative to the data, that counts as none.
STEPS, MOVE = 200, 1e-7
#: Where weights of either sign leave less than this of their sum, there is no attraction to follow.
CANCELLED = 1e-9


def learned(kernel: Kernel, coordinates: Vector, samples: Samples, alpha: float) -> Expansion:
    """Kernel ridge regression of the samples on their coordinates: a function from coordinates to samples.

    Bakir, Weston, Schoelkopf, "Learning to find pre-images", NIPS 2004.

    >>> from mercer.kernels import Linear
    >>> from mercer.samples import as_samples
    >>> learned(Linear(), np.eye(2), as_samples([[2.0], [4.0]]), 1e-9)([[0.5, 0.5]]).round(6)
    array([[3.]])
    """
    targets = np.asarray(samples.dense(), dtype=np.float64)
    (solution,) = Cholesky().solve(kernel.gram(coordinates, budget=0), [squared(targets, alpha)])
    return Expansion(kernel, kernel.samples(coordinates), solution.coefficients, np.asarray(solution.bias))


def gaussian_of(kernel: Kernel) -> Gaussian | None:
    """The Gaussian of which a kernel is a positive multiple: the pre-images of the two are the same, as c phi(x) is.

    >>> gaussian_of(3 * Gaussian(2.0))
    Gaussian(sigma=2)
    """
    if isinstance(kernel, Scaled) and kernel.factor > 0:
        kernel = kernel.inner
    return kernel if isinstance(kernel, Gaussian) else None


def nearest(kernel: Gaussian, samples: Samples, weights: Vector, start: Vector) -> Vector:
    """For every row c of ``weights`` the z with phi(z) nearest to sum_i c_i phi(x_i), found from a row of ``start``.

    A fixed point of ``z = sum_i c_i k(z, x_i) x_i / sum_i c_i k(z, x_i)`` (Mika et al., "Kernel PCA and de-noising in
    feature spaces", NIPS 1999).

    >>> from mercer.samples import as_samples
    >>> x = as_samples([[0.0], [1.0], [5.0]])
    >>> nearest(Gaussian(1.0), x, np.array([[0.5, 0.5, 0.0]]), np.array([[0.1]])).round(4)
    array([[0.5]])
    """
    known, Z = samples.astype(np.float64), np.array(start, dtype=np.float64)
    X = known.dense()
    moving, size = np.arange(len(Z)), float(np.abs(X).max())
    for _ in range(STEPS):
        pull = weights[moving] * kernel(Z[moving], known)
        total = pull.sum(axis=1)
        held = np.abs(total) <= CANCELLED * np.abs(pull).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = np.where(held[:, None], Z[moving], (pull @ X) / total[:, None])
        move = np.abs(new - Z[moving]).max(axis=1)
        Z[moving] = new
        moving = moving[move > MOVE * size]
        if not len(moving):
            break
    return Z
