"""Pairs whose blocks the native core computes: formulas over vectors, sparse features, and pairs of objects.

No Python is called for their blocks. Solvers and neighbours know ``NativePairs``, and then leave all work to the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.pairs import Pairs, Rows, Step, Whole
from mercer.samples import SparseVectors, Vectors
from mercer.samples.base import Array

#: Entries of a kernel matrix in float32 are this close to the truth, relative to the largest, for plain reductions.
SINGLE = 1e-6

#: Reductions that depend on differences of samples only.
MOVABLE = (_native.Pair.squared_distance, _native.Pair.squared_direct, _native.Pair.l1, _native.Pair.linf)

#: Numbers of a formula beyond this, or below its inverse, are not for float32.
SINGLE_RANGE = 1e32


def within(most: float, steps: Sequence[Step], scale: NDArray[np.float64] | None = None) -> bool:
    """Whether the numbers of a formula that are not 0 lie between 1 / ``most`` and ``most``."""
    numbers = [abs(x) for _, a, b, c in steps for x in (a, b, *c) if x]
    fits = all(1 / most < x < most for x in numbers)
    return fits and (scale is None or bool(((scale > 1 / most) & (scale < most)).all()))


class BoundPairs(Pairs):
    """Pairs whose blocks the native core fills."""

    @property
    def bound(self) -> Any:
        """The core's object; made when the first block is wanted."""
        raise NotImplementedError(f"{type(self).__name__} must bind itself to the native core")

    def fill(self, out: Array, rows: Rows, columns: slice) -> None:
        if isinstance(rows, slice):
            self.bound.fill(None, rows.start, columns.start, out)
        else:
            self.bound.fill(np.ascontiguousarray(rows, dtype=np.int64), 0, columns.start, out)

    def fill_symmetric(self, out: Array) -> None:
        self.bound.fill_symmetric(out)


class NativePairs(BoundPairs):
    """A formula of the native engine: a reduction over coordinates, then elementwise steps, fused."""

    shares = True

    def __init__(
        self,
        x: Vectors | SparseVectors,
        z: Vectors | SparseVectors,
        pair: _native.Pair,
        steps: Sequence[Step],
        rate: float = 0.0,
        scale: NDArray[np.float64] | None = None,
    ) -> None:
        dtype = np.result_type(x.dtype, z.dtype)
        if dtype == np.float32 and not within(SINGLE_RANGE, steps, scale):
            dtype = np.dtype(np.float64)  # data and parameters so large, or so small, that only their products fit
        super().__init__((len(x), len(z)), dtype, x is z)
        self.x, self.z, self.pair, self.steps, self.rate, self.scale = x, z, pair, tuple(steps), rate, scale
        self._bound: Any = None

    def then(self, *steps: Step) -> NativePairs:
        return NativePairs(self.x, self.z, self.pair, (*self.steps, *steps), self.rate, self.scale)

    @property
    def bound(self) -> Any:
        if self._bound is None:  # packing the data waits until the first block is wanted
            x = self.x.astype(self.dtype)
            z = x if self.same else self.z.astype(self.dtype)
            formula = _native.Formula(self.pair, self.steps, self.rate)
            x_rows: Any = x.rows()
            z_rows: Any = x_rows if self.same else z.rows()  # of the same precision, which their types do not say
            self._bound = _native.bind(x_rows, z_rows, formula, self.shift(), self.scale)
        return self._bound

    def share(self, other: Pairs) -> None:
        """Takes over the packed columns of another, which must be bound to the same samples by the same kernel."""
        if self._bound is None and isinstance(other, NativePairs) and other.dtype == self.dtype:
            self._bound = other.bound.with_rows(self.x.astype(self.dtype).rows())

    def product(self, V: Array) -> Array:
        """The matrix times V, block by block in the core; of a symmetric one every block is used twice."""
        dtype = np.result_type(self.dtype, V.dtype)
        weights = np.ascontiguousarray(V if V.ndim > 1 else V[:, None], dtype=dtype)
        out = np.empty((self.shape[0], weights.shape[1]))
        if self.same:
            self.bound.symmetric_product(weights, out)
        else:
            self.bound.product(weights, np.zeros(1, np.int64), out[:, None])
        return out.reshape(self.shape[0], *V.shape[1:]).astype(dtype, copy=False)

    def by_segment(self, V: Array, starts: NDArray[np.int64]) -> Array:
        out = np.empty((self.shape[0], len(starts), V.shape[1]))
        self.bound.product(np.ascontiguousarray(V, dtype=np.float64), starts, out)
        return out

    def shift(self) -> NDArray[np.float64] | None:
        """The point that squared distances are taken around, so that less of them cancels."""
        return self.z.centre() if self.pair == _native.Pair.squared_distance and len(self.z) else None

    def single_shift(self, shift: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """The same where blocks are computed in float32: samples in float64 lose less if they are moved first."""
        rounded = self.pair in MOVABLE and self.z.dtype == np.float64
        return self.z.centre() if shift is None and rounded and len(self.z) else shift

    def lost(self, shift: NDArray[np.float64] | None) -> float:
        """How far from a distance, at most, that of samples is which are rounded to float32 after such a move."""
        if self.pair not in MOVABLE or self.z.dtype == np.float32:
            return 0.0
        radius = float(np.sqrt(self.z.squares(shift, self.scale).max(initial=0.0)))
        most = np.sqrt(self.z.width) if self.pair == _native.Pair.l1 else 1.0  # |x|_1 <= sqrt(d) |x|_2
        if isinstance(self.z, SparseVectors):  # which may not be moved, and whose squares are of before they are
            centre = 0.0 if shift is None else shift if self.scale is None else shift * self.scale
            radius += float(np.sqrt(np.square(centre).sum()))  # no BLAS, see machines.training.finite
        return float(np.finfo(np.float32).eps) * most * radius

    def matrices(self, whole: Whole, order: NDArray[np.int64] | None, packed: int, *, single: bool) -> _native.Matrices:
        """In float32, too, where the error of that can be bounded."""
        shift, error, lost = self.shift(), np.inf, 0.0
        if single and self.fits_single() and np.isfinite(error := single_error(self, 0.0)):
            shift = self.single_shift(shift)
            lost = single_error(self, self.lost(shift)) - error
        formula = _native.Formula(self.pair, self.steps, self.rate)
        return _native.formula_matrices(self.x.rows(), formula, shift, self.scale, error, lost, packed, order)

    def fits_single(self) -> bool:
        """Whether squares of the data, and the numbers of the formula, are well within the range of float32."""
        return float(self.z.squares().max(initial=0.0)) < 1e30 and within(1e30, self.steps)

    def largest(self) -> float:
        """A bound on the size of the reduction, before the steps; infinity where none is at hand."""
        if self.pair == _native.Pair.dot and self.scale is None:
            return float(self.z.squares().max(initial=0.0))
        if self.pair == _native.Pair.intersection:
            return float(self.z.totals().max(initial=0.0))
        return np.inf


def single_error(pairs: NativePairs, lost: float) -> float:
    """A bound on the error of an entry in float32 if distances are off by ``lost``; infinity where none is known."""
    Op, Pair = _native.Op, _native.Pair
    size = float(pairs.largest())
    # The reduction: sums of terms of one sign are accurate relatively, dot products relative to the norms.
    relative = pairs.pair not in (Pair.dot, Pair.squared_distance)
    error = SINGLE * size
    for number, (op, a, b, _) in enumerate(pairs.steps):
        if op == Op.affine:
            error, size = abs(a) * error, abs(a) * size + abs(b)
        elif op == Op.integer:
            with np.errstate(over="ignore"):  # beyond float64 nothing is known
                error, size = (float(x) for x in (a * np.power(size, a - 1) * error if a else 0.0, np.power(size, a)))
        elif op == Op.exp and a < 0 and (relative or pairs.rate > 0) and not (number and lost):
            # D e^-D is below 1/2; squared distances are repaired where they cancel. What is lost before counts with the
            # steepest slope of exp(-a D), or of exp(-a D^2).
            squared = pairs.pair in (Pair.squared_distance, Pair.squared_direct)
            steepest = np.sqrt(2 * abs(a) / np.e) if squared else abs(a)
            error, size = 2 * SINGLE + float(steepest) * lost, 1.0
        elif op == Op.tanh:
            error, size = error + SINGLE, 1.0
        else:
            return np.inf
    return error if np.isfinite(error) else np.inf


class FeaturePairs(NativePairs):
    """Inner products of explicit sparse features, counted from objects. Scales, norms and sums join the features.

    So what is composed of such kernels is one matrix product of the native engine, which the solvers know.
    """

    x: SparseVectors
    z: SparseVectors

    def __init__(self, x: SparseVectors, z: SparseVectors) -> None:
        super().__init__(x, z, _native.Pair.dot, [])

    def then(self, *steps: Step) -> NativePairs:
        (op, a, b, _), *more = steps
        if op == _native.Op.affine and a >= 0 and b == 0:
            root = np.full(self.shape[0], np.sqrt(a)), np.full(self.shape[1], np.sqrt(a))
            scaled = self.multiplied(*root, None)
            return scaled.then(*more) if more else scaled
        return super().then(*steps)

    def multiplied(
        self, of_x: NDArray[np.float64], of_z: NDArray[np.float64], diagonal: NDArray[np.float64] | None
    ) -> FeaturePairs:
        x = self.x.multiplied(of_x)
        return FeaturePairs(x, x if self.same else self.z.multiplied(of_z))

    def plus(self, others: Sequence[Pairs]) -> Pairs:
        alike = [other for other in others if isinstance(other, FeaturePairs) and other.same == self.same]
        if len(alike) < len(others):
            return super().plus(others)
        x = self.x.beside([other.x for other in alike])
        return FeaturePairs(x, x if self.same else self.z.beside([other.z for other in alike]))


class ObjectPairs(BoundPairs):
    """A native kernel that compares two objects at a time, in float64."""

    dear = True

    def __init__(self, bound: _native.ObjectPairsF64, shape: tuple[int, int], same: bool) -> None:
        super().__init__(shape, np.float64, same)
        self._bound = bound

    @property
    def bound(self) -> _native.ObjectPairsF64:
        return self._bound
