"""The nearest samples in the space of a kernel: |phi(a) - phi(b)|^2 = k(a, a) - 2 k(a, b) + k(b, b).

Of a query the first term is a constant, so samples are ranked by k(b, b) - 2 k(a, b) while blocks of the matrix pass by
(``native/neighbors/nearest.hpp``); no more of it ever exists. Where the kernel falls with a Euclidean distance, as the
Gaussian does, the order is that of the squared distances, which lose nothing where the kernel is almost 0 or 1. The
same holds for other distances of vectors.

Dense vectors are ranked in float32 at first. There a squared distance is wrong by at most

    E = c u (|a|^2 + |b|^2),   u = 2^-24,   c = 2.1 (columns + 8),

whatever the order of summation (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapter 3; a and b are
counted from a point amid the samples; half of c is the sum, the rest that (|a| + |b|)^2 <= 2 |a|^2 + 2 |b|^2). A few
more than k samples of the smallest lower bounds are kept, and ranked anew by differences in float64. If the k-th is
then nearer than the bound of every sample that was not kept, no other can be among the nearest: proven. Queries without
that proof are ranked in float64. Whole numbers from an interval of 256, as pixels are, are ranked by integer products,
which are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.base import Kernel
from mercer.kernels.leaf import distance_reduction
from mercer.kernels.native import BoundPairs, NativePairs
from mercer.kernels.pairs import Pairs, Step, chunks
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Samples, Vectors
from mercer.samples.base import Array

Positions = NDArray[np.int64]
Op, Reduction = _native.Op, _native.Reduction
#: Squared distances of whole numbers are exact in float32 below this.
EXACT = float(2**24)
#: The most columns of which the engine's integer products do not overflow.
WIDEST = 2**13
#: A rate at which the engine repairs nothing: the errors are bounded here.
UNREPAIRED = 1e-30
#: Beyond this square norm, in units of the samples' own, float32 is not used.
FAR = 1e15


class Search(Protocol):
    """Finds the nearest of some samples."""

    def rank(self, x: Samples, k: int) -> tuple[Positions, Vector]:
        """Of every query the positions of the nearest k samples, and the values they are ranked by, ascending."""

    def squared(self, x: Samples, values: Vector) -> Vector:
        """The squared distances in feature space that these values mean."""


def search(kernel: Kernel, samples: Samples) -> Search:
    """The search among these samples.

    >>> nearest = search(Gaussian(1.0), Gaussian(1.0).samples([[0.0], [5.0], [1.0]]))
    >>> index, values = nearest.rank(Gaussian(1.0).samples([[0.9]]), 2)
    >>> index, nearest.squared(Gaussian(1.0).samples([[0.9]]), values).round(4)
    (array([[2, 0]]), array([[0.01 , 0.666]]))
    """
    pairs = kernel.bind(samples, samples)
    if not (isinstance(pairs, NativePairs) and pairs.properties.distance and falls(pairs.steps)):
        return ByKernel(kernel, samples)
    euclidean = pairs.properties.movable and pairs.properties.power == 2 and isinstance(pairs.z, Vectors)
    return ByVectors(kernel, samples) if euclidean else ByDistance(kernel, samples)


@dataclass(frozen=True, eq=False)
class ByKernel:
    """Any kernel: ranks by k(b, b) - 2 k(a, b), in float64."""

    kernel: Kernel
    samples: Samples

    @remembered
    def diagonal(self) -> Vector:
        gram = self.kernel.gram(self.samples, budget=0).exact
        gram.check_finite()
        return np.ascontiguousarray(gram.diag())

    @remembered
    def prepared(self) -> Pairs:
        exact = self.samples.astype(np.float64)
        return self.kernel.bind(exact, exact)

    def rank(self, x: Samples, k: int) -> tuple[Positions, Vector]:
        pairs = self.kernel.bind(x.astype(np.float64), self.samples.astype(np.float64))
        pairs.share(self.prepared)
        return ranked(pairs, -2.0, self.diagonal, k)

    def squared(self, x: Samples, values: Vector) -> Vector:
        own = np.asarray(self.kernel.diag_of(x.astype(np.float64)), dtype=np.float64)
        return np.maximum(values + own[:, None], 0.0)


@dataclass(frozen=True, eq=False)
class ByDistance:
    """Kernels that fall with a distance of their vectors: ranks by the distance (of Euclid's, the square)."""

    kernel: Kernel
    samples: Samples

    def rank(self, x: Samples, k: int) -> tuple[Positions, Vector]:
        pairs = bound(self.kernel, x.astype(np.float64), self.samples.astype(np.float64))
        plain = NativePairs(pairs.x, pairs.z, pairs.reduction, (), 0.0, pairs.scale)
        return ranked(plain, 1.0, np.zeros(len(self.samples)), k)

    def squared(self, x: Samples, values: Vector) -> Vector:
        pairs = bound(self.kernel, x, self.samples)
        formula = _native.Formula(pairs.reduction, pairs.steps, 0.0)
        similarities = np.concatenate([np.zeros(1), values.ravel()])
        _native.apply(formula, similarities)
        return np.asarray(np.maximum(2 * (similarities[0] - similarities[1:]), 0.0).reshape(values.shape))


class ByVectors(ByDistance):
    """The same for dense vectors: by integers or in float32 at first, where that is proven to suffice."""

    def rank(self, x: Samples, k: int) -> tuple[Positions, Vector]:
        pairs = bound(self.kernel, x, self.samples)
        queries, n = pairs.x.dense(), len(self.samples)
        kept = k + max(8, k // 2)
        index = np.empty((len(queries), k), dtype=np.int64)
        values = np.empty((len(queries), k))
        proven = self.columns.by_integers(queries, index, values)
        if kept <= n // 4 and not proven.any():
            proven = self.columns.by_bounds(queries, kept, index, values)
        rest = np.flatnonzero(~proven)
        if len(rest):
            index[rest], values[rest] = self.columns.by_differences(queries[rest], k)
        return index, values

    @remembered
    def columns(self) -> SearchedVectors:
        pairs = bound(self.kernel, self.samples, self.samples)
        return SearchedVectors(pairs.z.dense(), pairs.scale)


@dataclass(frozen=True, eq=False)
class SearchedVectors:
    """The vectors to search, in the forms in which queries are compared with them."""

    array: Array
    scale: Vector | None

    # -- whole numbers ----------------------------------------------------------------------------------------

    @remembered
    def integers(self) -> Any:
        """The columns as whole numbers from an interval of 256, bound for integer products; None if they are not."""
        low, high = float(self.array.min()), float(self.array.max())
        if self.scale is not None or self.array.shape[1] > WIDEST or high - low > 255 or abs(low) > 2**22:
            return None
        if not all(whole(self.array[rows]) for rows in self.parts()):
            return None
        rows = _native.dense_rows(in_single(self.array))
        origin = 0.0 if low >= 0 and high <= 255 else low
        formula = _native.Formula(Reduction.squared_distance, [], UNREPAIRED)
        return _native.bind(rows, rows, formula, None, None, (origin, 1.0))

    def by_integers(self, queries: Array, index: Positions, values: Vector) -> NDArray[np.bool_]:
        """Fills in the nearest by integer products; tells where they are proven to be the nearest."""
        pairs = self.integers
        if pairs is not None and whole(queries):
            pairs = pairs.with_rows(_native.dense_rows(in_single(queries)))  # None if they are not from the interval
        else:
            pairs = None
        if pairs is None:
            return np.zeros(len(queries), dtype=bool)
        found = np.empty(values.shape, dtype=np.float32)
        pairs.nearest(1.0, np.zeros(len(self.array), dtype=np.float32), index, found)
        values[...] = found
        return np.asarray(found[:, -1] < EXACT)

    # -- float32 with bounds ----------------------------------------------------------------------------------

    @remembered
    def centre(self) -> Vector:
        return Vectors(self.array).centre()

    @remembered
    def unit(self) -> float:
        """A power of two about the size of the vectors, so that nothing under- or overflows."""
        largest = max(float(np.abs(self._moved(self.array[rows])).max()) for rows in self.parts())
        exponent = min(int(np.ceil(np.log2(largest))), 1000) if 0 < largest < np.inf else 0
        return 2.0**exponent

    @property
    def share(self) -> float:
        """c u: the error of a squared distance as a share of the sum of the square norms."""
        return 2.1 * (int(self.array.shape[1]) + 8) * 2.0**-24

    def _moved(self, rows: Array) -> Vector:
        moved = rows - self.centre
        return np.asarray(moved if self.scale is None else moved * self.scale)

    def single(self, array: Array) -> Array:
        """Vectors counted from the centre, in units of ``unit``, in float32."""
        out = np.empty(array.shape, dtype=np.float32)
        for rows in chunks(len(array), array.shape[1] * 8):
            with np.errstate(over="ignore"):
                out[rows] = self._moved(array[rows]) / self.unit
        return out

    @remembered
    def bounded(self) -> tuple[Any, Array]:
        """The columns bound in float32, and the part of the error bound that is theirs, as an offset of the ranks."""
        single = self.single(self.array)
        rows = _native.dense_rows(single)
        formula = _native.Formula(distance_reduction(single.shape[1]), [], UNREPAIRED)
        return _native.bind(rows, rows, formula, None, None), (-self.share * squares(single)).astype(np.float32)

    def by_bounds(self, queries: Array, kept: int, index: Positions, values: Vector) -> NDArray[np.bool_]:
        """Fills in the nearest among the ``kept`` of smallest bounds; tells where no other can be nearer."""
        single = self.single(queries)
        square = squares(single)
        if self.share > 1e-2 or not 1e-140 < self.unit < 1e140 or not (square < FAR).all():
            return np.zeros(len(queries), dtype=bool)
        pairs, offset = self.bounded
        candidates = np.empty((len(queries), kept), dtype=np.int64)
        lower = np.empty(candidates.shape, dtype=np.float32)
        pairs.with_rows(_native.dense_rows(single)).nearest(1.0, offset, candidates, lower)
        k = index.shape[1]
        nearest, exact = self.by_exact(queries, candidates)
        index[...], values[...] = nearest[:, :k], exact[:, :k]
        bound = (lower[:, -1] - self.share * square - 1e-35) * self.unit**2
        return np.asarray(values[:, -1] * (1 + 1e-12) < bound)

    # -- float64 ----------------------------------------------------------------------------------------------

    def by_differences(self, queries: Array, k: int) -> tuple[Positions, Vector]:
        """The nearest by differences of coordinates in float64."""
        x, z = Vectors(queries.astype(np.float64)), Vectors(self.array.astype(np.float64))
        pairs = NativePairs(x, z, Reduction.squared_direct, (), 0.0, self.scale)
        return self.by_exact(queries, ranked(pairs, 1.0, np.zeros(len(z)), k)[0])

    def by_exact(self, queries: Array, candidates: Positions) -> tuple[Positions, Vector]:
        """The candidates in the order of their squared distances, by differences in float64; and these."""
        dtype = np.result_type(queries.dtype, self.array.dtype)
        x, z = _native.dense_rows(queries.astype(dtype, copy=False)), _native.dense_rows(self.typed(dtype))
        exact = np.empty(candidates.shape)
        _native.squared_distances(x, z, self.scale, candidates, exact)
        order = np.lexsort((candidates, exact), axis=-1)
        return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(exact, order, axis=1)

    def typed(self, dtype: Any) -> Array:
        return self.array.astype(dtype, copy=False)

    def parts(self) -> list[slice]:
        return chunks(len(self.array), self.array.shape[1] * 8)


def bound(kernel: Kernel, x: Samples, z: Samples) -> NativePairs:
    pairs = kernel.bind(x, z)
    assert isinstance(pairs, NativePairs)
    return pairs


def ranked(pairs: Pairs, scale: float, offset: Vector, k: int) -> tuple[Positions, Vector]:
    """The k columns of every row with the smallest scale * k(x, z) + offset; of equal ones the first."""
    index = np.empty((pairs.shape[0], k), dtype=np.int64)
    values = np.empty(index.shape)
    if isinstance(pairs, BoundPairs) and pairs.dtype == np.float64:
        pairs.bound.nearest(scale, offset, index, values)
        return index, values
    for rows in chunks(pairs.shape[0], pairs.shape[1] * 8):
        block = np.ascontiguousarray(pairs.block(rows, slice(0, pairs.shape[1])), dtype=np.float64)
        _native.nearest(block, scale, offset, index[rows], values[rows])
    return index, values


def falls(steps: tuple[Step, ...]) -> bool:
    """Whether these steps, one after the other, make a falling function of a number that is not negative.

    >>> from mercer.kernels.pairs import step
    >>> falls((step(Op.exp, -0.5),)), falls((step(Op.exp, 0.5),)), falls((step(Op.exp, -1), step(Op.affine, -2, 3)))
    (True, False, False)
    """
    rising, positive = True, True  # the number itself
    for op, a, b, _ in steps:
        if op == Op.affine and a != 0:
            rising, positive = rising == (a > 0), positive and a > 0 and b >= 0
        elif op == Op.exp and a != 0:
            rising, positive = rising == (a > 0), True
        elif op == Op.tanh or (op == Op.power and a > 0 and positive) or (op == Op.integer and a >= 1 and positive):
            pass
        elif (op == Op.decay and a > 0 and b > 0 and positive) or (op in (Op.matern32, Op.matern52) and positive):
            rising, positive = not rising, True
        else:
            return False
    return not rising


def squares(array: Array) -> Vector:
    return Vectors(array).squares()


def whole(array: Array) -> bool:
    """Whether all numbers are whole."""
    return bool((array == np.floor(array)).all())


def in_single(array: Array) -> Array:
    return np.ascontiguousarray(array, dtype=np.float32)
