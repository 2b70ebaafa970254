"""The largest eigenpairs of a Gram matrix, K v = l v, or of a centred one, HKH v = l v with H = I - 11'/n.

Few samples: LAPACK, on the stored matrix. Many: block Lanczos (``mercer.solvers.lanczos``), which costs passes over the
matrix, and a pass costs n^2/2 entries and 2 n^2 multiplications per vector of the block. So, in this order,

- the block starts at what some of the samples give: the eigenvectors U of K_SS extend to K_nS U (Williams and Seeger,
  "Using the Nystroem method to speed up kernel machines", 2001). That costs 2 |S|/n of a pass, and saves about two;
- it is so wide that the multiplications cost about as much as the entries, since each further vector makes it converge
  in fewer passes;
- passes are made in float32 as far as its rounding allows, which halves their cost; the matrix is kept between them if
  it fits the budget of its ``Gram`` and its entries are not cheap;
- a pass in float64, of the wanted vectors alone, then gives residuals that certify the result. The eigenvalues that
  come with it are as exact as the squares of what the vectors lack. If the residuals are not small enough, more passes
  in float64 follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import costs
from mercer.samples.base import Array
from mercer.solvers.lanczos import Eigenpairs, Float, largest
from mercer.solvers.landmarks import choose_at_random, columns
from mercer.solvers.lapack import eigh, largest_eigh
from mercer.solvers.operator import DerivedOperator, Operator, in_precision
from mercer.solvers.progress import OnStage, silent
from mercer.threads import blas_of_one_thread

#: The residuals to which the eigenvectors of the landmarks are found, and the most steps towards them.
ROUGH, ROUGH_STEPS = 1e-2, 10
#: The residuals in float32 are to be this part of those asked for in float64, as rounding adds to them.
MARGIN = 0.9
#: Products in float32 may not give residuals below this.
SINGLE_FLOOR = 1e-4

Map = Callable[[Float], Float]


def unchanged(V: Float) -> Float:
    return V


def centred(V: Float) -> Float:
    """HV: every column less its mean.

    >>> centred(np.array([[1.0], [3.0]])).ravel()
    array([-1.,  1.])
    """
    return np.asarray(V - V.mean(axis=0))


class Centred(DerivedOperator):
    """HKH in float64; the ``means`` of the columns of K come along with the first product.

    >>> from mercer.kernels import Linear
    >>> K = Centred(Linear().gram([[0.0], [2.0]]))
    >>> K @ np.array([1.0, -1.0]), K.diag(), K.to_dense()
    (array([ 2., -2.]), array([1., 1.]), array([[ 1., -1.],
           [-1.,  1.]]))
    """

    def __init__(self, K: Operator) -> None:
        super().__init__(K)
        self._means: Float = np.empty(0)

    @property
    def means(self) -> Float:
        if not len(self._means):
            self._means = self.multiplied(np.full((len(self), 1), 1 / len(self)))[:, 0]
        return self._means

    def multiplied(self, V: Float) -> Float:
        return in_precision(self.inner.__matmul__, self.inner.dtype, V)

    def __matmul__(self, V: Any) -> Array:
        V = centred(np.asarray(V, dtype=np.float64))
        if len(self._means) or V.ndim == 1:
            return centred(self.multiplied(V))
        # The column of means comes along with the first block, which costs hardly more for it.
        out = self.multiplied(np.hstack([V, np.full((len(V), 1), 1 / len(V))]))
        self._means = out[:, -1].copy()
        return centred(out[:, :-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Means are taken off in float64, whatever the precision of K."""
        return np.dtype(np.float64)

    def over(self, K: Operator) -> Operator:
        return self if K is self.inner else Centred(K)

    def diag(self) -> Array:
        return np.asarray(super().diag() - 2 * self.means + self.means.mean())

    def block(self, rows: Any, columns: Any) -> Array:
        own = super().block(rows, columns)
        return np.asarray(own - self.means[rows][:, None] - self.means[columns] + self.means.mean())

    def to_dense(self) -> Array:
        K = np.asarray(super().to_dense(), dtype=np.float64)
        self._means = K.mean(axis=0)
        K -= self._means
        K -= (self._means - self._means.mean())[:, None]
        return K


def multiplied(K: Operator) -> Operator:
    """The operator in float64 as a search for eigenpairs multiplies it.

    Held if that fits its budget; but where products in float32 do most of the work, it is used for a pass or two.
    """
    exact = K.exact
    exact.check_finite()
    return exact.held() if exact.single is exact else exact


@dataclass(frozen=True)
class EigenProgress:
    """How far a search for eigenpairs has come: passes over the matrix, in how many bits, and the worst residual.

    The residual is relative to the largest eigenvalue.
    """

    products: int
    bits: int
    residual: float


def is_small(size: int, count: int) -> bool:
    """Whether LAPACK is to decompose a matrix of this size, of which ``count`` eigenvectors are wanted."""
    return size <= costs.EIGEN_DENSE_SAMPLES or count * costs.EIGEN_DENSE_SHARE > size


def eigenpairs(
    K: Operator,
    count: int,
    tol: float,
    max_iterations: int,
    rng: Any,
    progress: Callable[[EigenProgress], bool] | None = None,
    project: Map = unchanged,
) -> Eigenpairs:
    """The ``count`` largest eigenpairs of a ``multiplied`` operator, or a centred one, by block Lanczos.

    To residuals of at most tol times the largest. ``project`` leaves of vectors what the operator can make of any.

    At most ``max_iterations`` passes are made in each precision. After each ``progress`` is told; if it returns True,
    the search ends with the next pass in float64, as residuals must be known.

    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).standard_normal((600, 3))
    >>> found = eigenpairs(multiplied(Linear().gram(X)), 3, 1e-9, 20, np.random.default_rng(0))
    >>> np.allclose(found.values, np.linalg.svd(X)[1] ** 2), found.converged
    (True, True)
    """
    stopped = False

    def watch(step: EigenProgress) -> bool:
        nonlocal stopped
        stopped = progress is not None and progress(step)
        return stopped

    single, steps = K.single, 0
    start = first_block(single, count, rng, project)
    if single is not K:
        long = (single.samples.width or 0) >= costs.KEPT_WIDTH
        rough = single.held() if long else single
        report = reported(watch, 32)
        found = largest(by(rough), start, count, MARGIN * tol, max_iterations, SINGLE_FLOOR, report)
        start, steps = project(found.vectors), found.iterations
    found = largest(by(K), start, count, tol, 1 if stopped else max_iterations, 0.0, reported(watch, 64))
    return dataclasses.replace(found, iterations=steps + found.iterations)


def by(K: Operator) -> Map:
    """V -> K V in float64."""
    return lambda V: in_precision(K.__matmul__, K.dtype, V)


def reported(progress: Callable[[EigenProgress], bool], bits: int) -> Callable[[int, Float, Float], bool]:
    """What block Lanczos tells, as an ``EigenProgress``."""

    def report(products: int, values: Float, residuals: Float) -> bool:
        worst = float(residuals.max() / np.abs(values).max()) if values.any() else 0.0
        return progress(EigenProgress(products, bits, worst))

    return report


def first_block(K: Operator, count: int, rng: Any, project: Map = unchanged) -> Float:
    """Where block Lanczos starts: at what some samples give, or at random if there are too few."""
    n = len(K)
    width = min(n, max(count + costs.BLOCK_GUARDS, costs.BLOCK_WIDTH))
    least = costs.LANDMARKS_PER_VECTOR * width
    some = min(max(costs.EIGEN_LANDMARKS, least), n // costs.EIGEN_LANDMARK_SHARE)
    if some < least:
        return project(np.asarray(rng.standard_normal((n, width))))
    return extended(K, choose_at_random(n, some, rng), width, rng, project)


def extended(K: Operator, some: Any, width: int, rng: Any, project: Map) -> Float:
    """About the first eigenvectors of all samples, from those of the landmarks at these positions."""
    x = K.samples.take(some)
    inner = project(project(np.asarray(K.kernel.bind(x, x).dense(), dtype=np.float64)).T)
    start = project(rng.standard_normal((len(some), width + costs.BLOCK_GUARDS)))
    with blas_of_one_thread:
        U = largest(lambda V: np.asarray(inner @ V), start, width, ROUGH, ROUGH_STEPS).vectors
    pairs = columns(K, some)
    return project(np.asarray(pairs.product(U.astype(pairs.dtype, copy=False)), dtype=np.float64))


def dense_eigenpairs(K: Operator, count: int, begin: OnStage = silent) -> Eigenpairs:
    """The ``count`` largest eigenpairs by LAPACK, from the matrix in memory."""
    begin(f"matrix of {len(K)} samples")
    A = np.asarray(K.to_dense(), dtype=np.float64)
    begin(f"{count} eigenvectors of {len(A)} rows")
    many = count * costs.EIGEN_DENSE_SHARE > len(A)
    values, V = eigh(A) if many else largest_eigh(A, count)
    values, V = values[::-1][:count], np.ascontiguousarray(V[:, ::-1][:, :count])
    return Eigenpairs(values, V, np.linalg.norm(by(K)(V) - V * values, axis=0), 1, True)
