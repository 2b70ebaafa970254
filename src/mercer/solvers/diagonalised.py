"""One eigendecomposition solves kernel ridge regression for every penalty, and leaves out every sample in turn.

With weights W, K + alpha / W is W^-1/2 (W^1/2 K W^1/2 + alpha) W^-1/2, so the eigenvectors of W^1/2 K W^1/2, which do
not know alpha, give the inverse G of K + alpha / W for all alphas. Without sample i, the prediction misses y_i by

    y_i - f_-i(x_i) = a_i / G_ii,    a = G y

since K + alpha / W without row and column i is the system of the others (Rifkin and Lippert, "Notes on regularized
least squares", 2007). A bias borders the system by a row and a column of ones; the same identity holds with the block
G - G 1 1'G / (1'G 1) of the bordered inverse in the place of G, and a = that block times y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.solvers import convexity
from mercer.solvers.certificate import Witness
from mercer.solvers.cholesky import PANEL, InvertibleGram, rounding
from mercer.solvers.lapack import NotPositiveDefiniteError, by_columns, eigh
from mercer.solvers.operator import DerivedOperator, Operator
from mercer.solvers.progress import OnStage, silent


class DiagonalisedGram(DerivedOperator):
    """K by W^1/2 K W^1/2 = U diag(values) U', in float64, with values ascending and U = ``vectors``.

    Eigenvalues of a PSD kernel that cannot be told from zero are zero.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> K = DiagonalisedGram(Linear().gram(np.diag([1.0, 2.0])), np.ones(2))
    >>> K.values.round(12)
    array([1., 4.])
    >>> next(K.leave_one_out(np.array([[1.0], [2.0]]), np.array([1.0]))).residuals[0].ravel().round(12)
    array([1., 2.])
    """

    def __init__(self, given: Operator, weight: Vector | None = None, begin: OnStage = silent) -> None:
        super().__init__(given)
        exact = given.exact
        exact.check_finite()
        begin(f"matrix of {len(given)} samples in float64")
        K = exact.to_dense()
        self.root = np.ones(len(K)) if weight is None else np.sqrt(weight)
        if (self.root != 1).any():
            K *= self.root[:, None]
            K *= self.root
        begin(f"eigenvectors of {len(given)} rows")
        values, self.vectors = eigh(K)
        if given.kernel.validity == "psd":
            cut = len(K) * float(np.finfo(np.float64).eps) * float(np.abs(values).max())
            values = np.where(values > cut, values, 0.0)
        self.values: Vector = values

    def leave_one_out(self, y: Vector, alphas: Vector, *, bias: bool = False) -> Iterator[LeftOut]:
        """Leave-one-out residuals of all alphas, some alphas at a time, for targets y of shape (samples, targets).

        Where K + alpha / W is not positive definite, they are infinite.
        """
        n, targets = y.shape
        at_once = max(1, n // targets)  # so that no temporary is larger than the eigenvectors
        projected = by_columns(self.vectors.T.__matmul__, self.root[:, None] * y)
        ones = self.vectors.T @ self.root
        for start in range(0, len(alphas), at_once):
            some = alphas[start : start + at_once]
            shifted = self.values[:, None] + some
            definite = shifted[0] > 0
            shifted = np.where(definite, shifted, 1.0)
            inverse = shifted[0] / shifted  # the factor cancels in the residuals, and so nothing overflows
            precision = self._diagonal(inverse)
            filtered = (inverse[:, :, None] * projected[:, None, :]).reshape(n, -1)
            a = self.root[:, None, None] * by_columns(self.vectors.__matmul__, filtered).reshape(n, -1, targets)
            if bias:
                column = self.root[:, None] * by_columns(self.vectors.__matmul__, inverse * ones[:, None])  # G 1
                total = ones**2 @ inverse  # 1'G 1
                precision -= column**2 / total
                a -= column[:, :, None] * (a.sum(axis=0) / total[:, None])
            residuals = np.where(definite[:, None, None], np.moveaxis(a / precision[:, :, None], 1, 0), np.inf)
            yield LeftOut(some, residuals)

    def _diagonal(self, inverse: Vector) -> Vector:
        """The diagonal of G for every column of inverse eigenvalues."""
        out = np.empty_like(inverse)
        for start in range(0, len(out), PANEL):
            rows = slice(start, start + PANEL)
            out[rows] = (self.vectors[rows] ** 2) @ inverse
        out *= (self.root**2)[:, None]
        return out

    # -- what Cholesky asks for ------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def inverse(self, ridge: Vector) -> Callable[[Vector], Vector]:
        """A function that solves (K + diag(ridge)) x = b; ridge is alpha / W."""
        alpha = float(np.mean(ridge * self.root**2))
        shifted = self.values + alpha
        if not shifted[0] > 0:
            raise NotPositiveDefiniteError(f"the smallest eigenvalue of K + ridge is about {shifted[0]:.3g}")

        def solve(b: Vector) -> Vector:
            coordinates = self.vectors.T @ (self.root[:, None] * b)
            return np.asarray(self.root[:, None] * (self.vectors @ (coordinates / shifted[:, None])))

        return solve

    def __matmul__(self, a: Any) -> Array:
        return np.asarray(self.inner.exact @ a)

    @property
    def witness(self) -> Witness | None:
        """The smallest eigenvalue, if it is below zero by more than rounding."""
        lowest, largest = float(self.values[0]), float(np.abs(self.values).max())
        matrix = "K" if (self.root == 1).all() else "the matrix of root(w_i w_j) K_ij, of the weights w,"
        noise = len(self.values) * convexity.rounding(self.inner) * largest
        return convexity.along(lowest, noise, f"{matrix} has the eigenvalue {{}}")

    def rounding(self, a: Vector) -> float:
        return rounding(self.inner.diag(), a)

    def least_squares(self, ridge: Vector, q: Vector, total: float | None) -> tuple[Vector, Witness | None]:
        return InvertibleGram(self.inner.exact).least_squares(ridge, q, total)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """For each alpha the leave-one-out residuals y_i - f_-i(x_i), of shape (alphas, samples, targets)."""

    alphas: Vector
    residuals: Vector
