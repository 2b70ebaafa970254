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

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.solvers.lanczos import Eigenpairs, Float, largest
from mercer.solvers.lapack import eigh, largest_eigh
from mercer.solvers.stages import Begin, silent
from mercer.threads import blas_of_one_thread

#: Up to this many samples the matrix is stored and decomposed as a whole ...
DENSE_SAMPLES = 500
#: ... and where more than one in so many of its eigenvectors are wanted. LAPACK then finds all; fewer, by themselves.
DENSE_SHARE = 5
#: A block is at least so wide, and has at least so many vectors beyond those that are wanted.
WIDTH, GUARDS = 32, 6
#: The block starts from so many samples, or so many for each of its vectors if that is more; ...
LANDMARKS, PER_VECTOR = 2000, 4
#: ... but from at most one in so many of all samples: if that is too few, it starts at random.
LANDMARK_SHARE = 4
#: The residuals that suffice for these samples, and the most steps towards them.
ROUGH, ROUGH_STEPS = 1e-2, 10
#: The residuals in float32 are to be this part of those asked for in float64, as rounding adds to them.
MARGIN = 0.9
#: Rows of fewer columns are compared again in every pass in less time than it takes to touch new memory for a matrix.
KEPT_WIDTH = 64
#: Products in float32 may not give residuals below this.
SINGLE_FLOOR = 1e-4


class Operator:
    """V -> K V in float64, of a Gram matrix that is computed as it passes by, or kept where that fits its budget."""

    name = "K"
    #: Whether only directions whose sum is 0 are seen.
    balanced = False

    def __init__(self, gram: Gram) -> None:
        self.given = gram
        self.source = gram.exact
        self.source.check_finite()
        # What float32 can do is done by ``single``, and this one is used for a pass or two.
        self.gram = self.source if self.source.pairs.fits_single() else self.source.held()

    def single(self) -> Operator:
        """The same in float32, or itself if that gains nothing."""
        if self.source.single is self.source:
            return self
        operator = copy.copy(self)
        operator.source = self.source.single
        long = (operator.source.samples.width or 0) >= KEPT_WIDTH
        operator.gram = operator.source.held() if long else operator.source
        return operator

    def about_zero(self, V: Float) -> Float:
        """The vectors as the operator sees them."""
        return V

    def __call__(self, V: Float) -> Float:
        return np.asarray(self.gram @ V.astype(self.gram.dtype, copy=False), dtype=np.float64)

    def trace(self) -> float:
        """The sum of all eigenvalues; to be asked for after a product."""
        return float(self.gram.diag().sum(dtype=np.float64))

    def dense(self) -> Float:
        """The matrix itself, in memory."""
        return np.asarray(self.gram.to_dense(), dtype=np.float64)

    def extended(self, S: Any, width: int, rng: Any) -> Float:
        """About the first eigenvectors of all samples, from those of the samples at positions S."""
        kernel, samples = self.source.kernel, self.source.samples
        some = samples.take(S)
        inner = type(self)(Gram(kernel, some, 0))
        C, start = inner.dense(), inner.about_zero(rng.standard_normal((len(S), width + GUARDS)))
        with blas_of_one_thread:
            U = largest(lambda V: np.asarray(C @ V), start, width, ROUGH, ROUGH_STEPS).vectors
        whole = kernel.bind(samples, some).product(U.astype(self.source.dtype, copy=False))
        return self.about_zero(np.asarray(whole, dtype=np.float64))


class Centred(Operator):
    """V -> HKH V; its ``means``, K 1/n, are known after the first product."""

    name = "HKH"
    balanced = True

    def __init__(self, gram: Gram) -> None:
        super().__init__(gram)
        self.means: Float = np.empty(0)

    def about_zero(self, V: Float) -> Float:
        return np.asarray(V - V.mean(axis=0))

    def __call__(self, V: Float) -> Float:
        V = self.about_zero(V)
        if len(self.means):
            return self.about_zero(super().__call__(V))
        # The column of means comes along with the first block, which costs hardly more for it.
        out = super().__call__(np.hstack([V, np.full((len(V), 1), 1 / len(V))]))
        self.means = out[:, -1].copy()
        return self.about_zero(out[:, :-1])

    def trace(self) -> float:
        return super().trace() - float(self.means.sum())

    def dense(self) -> Float:
        K = super().dense()
        self.means = K.mean(axis=0)
        K -= self.means
        K -= (self.means - self.means.mean())[:, None]
        return K


@dataclass(frozen=True)
class Pass:
    """How far a search for eigenpairs has come: passes over the matrix, in how many bits, and the worst residual.

    The residual is relative to the largest eigenvalue.
    """

    products: int
    bits: int
    residual: float


def is_small(size: int, count: int) -> bool:
    """Whether LAPACK is to decompose a matrix of this size, of which so many eigenvectors are wanted."""
    return size <= DENSE_SAMPLES or count * DENSE_SHARE > size


def eigenpairs(
    operator: Operator,
    count: int,
    tol: float,
    max_iterations: int,
    rng: Any,
    progress: Callable[[Pass], bool] | None = None,
) -> Eigenpairs:
    """The ``count`` largest eigenpairs, to residuals of at most tol times the largest, by block Lanczos.

    At most ``max_iterations`` passes are made in each precision. After each ``progress`` is told; if it returns True,
    the search ends with the next pass in float64, as residuals must be known.

    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).standard_normal((600, 3))
    >>> found = eigenpairs(Operator(Linear().gram(X)), 3, 1e-9, 20, np.random.default_rng(0))
    >>> np.allclose(found.values, np.linalg.svd(X)[1] ** 2), found.converged
    (True, True)
    """
    stopped = False

    def watch(step: Pass) -> bool:
        nonlocal stopped
        stopped = progress is not None and progress(step)
        return stopped

    single, steps = operator.single(), 0
    start = first_block(single, count, rng)
    if single is not operator:
        found = largest(single, start, count, MARGIN * tol, max_iterations, SINGLE_FLOOR, reported(watch, 32))
        start, steps = operator.about_zero(found.vectors), found.iterations
    found = largest(operator, start, count, tol, 1 if stopped else max_iterations, 0.0, reported(watch, 64))
    return dataclasses.replace(found, iterations=steps + found.iterations)


def reported(progress: Callable[[Pass], bool], bits: int) -> Callable[[int, Float, Float], bool]:
    """What block Lanczos tells, as a ``Pass``."""

    def report(products: int, values: Float, residuals: Float) -> bool:
        worst = float(residuals.max() / np.abs(values).max()) if values.any() else 0.0
        return progress(Pass(products, bits, worst))

    return report


def first_block(operator: Operator, count: int, rng: Any) -> Float:
    """Where block Lanczos starts: at what some samples give, or at random if there are too few."""
    n = len(operator.gram)
    width = min(n, max(count + GUARDS, WIDTH))
    some = min(max(LANDMARKS, PER_VECTOR * width), n // LANDMARK_SHARE)
    if some < PER_VECTOR * width:
        return operator.about_zero(np.asarray(rng.standard_normal((n, width))))
    return operator.extended(np.sort(rng.permutation(n)[:some]), width, rng)


def dense_eigenpairs(operator: Operator, count: int, begin: Begin = silent) -> Eigenpairs:
    """The ``count`` largest eigenpairs by LAPACK, from the matrix in memory."""
    begin(f"matrix of {len(operator.gram)} samples")
    A = operator.dense()
    begin(f"{count} eigenvectors of {len(A)} rows")
    values, V = eigh(A) if count * DENSE_SHARE > len(A) else largest_eigh(A, count)
    values, V = values[::-1][:count], np.ascontiguousarray(V[:, ::-1][:, :count])
    return Eigenpairs(values, V, np.linalg.norm(operator(V) - V * values, axis=0), 1, True)
