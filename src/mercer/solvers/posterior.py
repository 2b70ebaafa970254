"""Kernel ridge regression as a Gaussian process: how sure a prediction is, from one Cholesky factor.

If f is a Gaussian process of covariance k and y_i = f(x_i) + noise of variance ridge_i, then the mean of f given y is
kernel ridge regression, and with G the inverse of K + diag(ridge) its variance is

    k(x, x) - k_x'G k_x            and, with a bias of which nothing is known before,
                                   + (1 - 1'G k_x)^2 / (1'G 1)

(Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, sections 2.2 and 2.7).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from mercer.problem import Vector
from mercer.samples import Samples
from mercer.solvers.cholesky import PANEL, InvertibleGram
from mercer.solvers.lapack import COLUMNS, NotPositiveDefiniteError, invert
from mercer.solvers.operator import Operator


class Posterior:
    """The process given its training samples: one n by n matrix in memory.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> posterior = Posterior(Linear().gram(np.array([[1.0]])), np.array([1.0]))
    >>> posterior.variance(Linear().samples(np.array([[2.0]])))
    array([2.])
    """

    def __init__(self, K: Operator, ridge: Vector, *, bias: bool = False) -> None:
        self.K = K.exact
        system = InvertibleGram(self.K)
        try:
            solve = system.inverse(ridge)
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"K + alpha is not positive definite ({error}), so it is no covariance: standard deviations and "
                "leave-one-out residuals need a positive semi-definite kernel and a larger alpha"
            ) from error
        self.factor, self.units = system.matrix, system.units(ridge)  # in its lower triangle; x is measured in these
        self.ones: Vector | None = solve(np.ones((len(ridge), 1))).ravel() if bias else None

    def variance(self, samples: Samples) -> Vector:
        """The variance of f at these samples, some of them at a time."""
        kernel, samples = self.K.kernel, samples.astype(np.float64)
        pairs = kernel.bind(samples, self.K.samples)
        out = np.array(kernel.diag(samples))
        at_once = 2 * COLUMNS  # there is one triangle to solve with, not two
        for start in range(0, len(out), at_once):
            rows = slice(start, min(start + at_once, len(out)))
            cross = pairs.block(rows, slice(0, len(self.K)))
            if self.ones is not None:
                out[rows] += (1 - cross @ self.ones) ** 2 / self.ones.sum()
            cross *= self.units
            whitened = blas.dtrsm(1.0, self.factor.T, cross.T, lower=0, trans_a=1, overwrite_b=1)
            out[rows] -= np.einsum("ij,ij->j", whitened, whitened)
        return np.asarray(np.maximum(out, 0.0))

    def precision(self) -> Vector:
        """The diagonal of G, or with a bias that of its block in the bordered inverse, as in ``diagonalised.py``."""
        inverse = self.factor.copy()
        invert(inverse)
        out = np.zeros(len(inverse))
        for start in range(0, len(out), PANEL):
            rows = np.tril(inverse[start : start + PANEL], start)
            out += np.einsum("ij,ij->j", rows, rows)
        out *= self.units**2
        return out if self.ones is None else np.asarray(out - self.ones**2 / self.ones.sum())
