"""Pairs whose blocks the native core computes: formulas over vectors, sparse features, and pairs of objects.

No Python is called for their blocks. Solvers and neighbours know ``NativePairs``, and then leave all work to the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.levels import Levels
from mercer.kernels.pairs import Pairs, Rows, SquareMatrix, Step
from mercer.samples import SparseVectors, Vectors
from mercer.samples.base import Array

#: Numbers of a formula beyond this, or below its inverse, are not for float32.
SINGLE_RANGE = 1e32


def within(most: float, steps: Sequence[Step], scale: NDArray[np.float64] | None = None) -> bool:
    """Whether the numbers of a formula that are not 0 lie between 1 / ``most`` and ``most``."""
    numbers = [abs(x) for _, a, b, c in steps for x in (a, b, *c) if x]
    fits = all(1 / most < x < most for x in numbers)
    return fits and (scale is None or bool(((scale > 1 / most) & (scale < most)).all()))


class BoundPairs(Pairs):
    """Pairs whose blocks the native core fills."""

    #: The core's object, where it can be made again.
    _bound: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bound": None}

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

    def native(self, dtype: Any) -> Any:
        return self.bound if dtype == self.dtype else super().native(dtype)

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        """Entries in float64, computed as they are asked for."""
        return _native.pairs_matrices(self.native(np.dtype(np.float64)), order)


class NativePairs(BoundPairs):
    """A formula of the native engine: a reduction over coordinates, then elementwise steps, fused."""

    shares = True

    def __init__(
        self,
        x: Vectors | SparseVectors,
        z: Vectors | SparseVectors,
        reduction: _native.Reduction,
        steps: Sequence[Step],
        rate: float = 0.0,
        scale: NDArray[np.float64] | None = None,
    ) -> None:
        dtype = np.result_type(x.dtype, z.dtype)
        if dtype == np.float32 and not within(SINGLE_RANGE, steps, scale):
            dtype = np.dtype(np.float64)  # data and parameters so large, or so small, that only their products fit
        super().__init__((len(x), len(z)), dtype, x is z)
        self.x, self.z, self.reduction, self.steps, self.rate, self.scale = x, z, reduction, tuple(steps), rate, scale

    def then(self, *steps: Step) -> NativePairs:
        return NativePairs(self.x, self.z, self.reduction, (*self.steps, *steps), self.rate, self.scale)

    @property
    def bound(self) -> Any:
        if self._bound is None:  # packing the data waits until the first block is wanted
            x = self.x.astype(self.dtype)
            z = x if self.same else self.z.astype(self.dtype)
            formula = _native.Formula(self.reduction, self.steps, self.rate)
            x_rows: Any = x.rows()
            z_rows: Any = x_rows if self.same else z.rows()  # of the same precision, which their types do not say
            self._bound = _native.bind(x_rows, z_rows, formula, self.shift(), self.scale)
        return self._bound

    def native(self, dtype: Any) -> Any:
        if dtype == self.dtype:
            return self.bound
        x = self.x.astype(dtype)
        return NativePairs(
            x, x if self.same else self.z.astype(dtype), self.reduction, self.steps, self.rate, self.scale
        ).bound

    def share(self, other: Pairs) -> None:
        """Takes over the packed columns of another, which must be bound to the same samples by the same kernel."""
        if self._bound is None and isinstance(other, NativePairs) and other.dtype == self.dtype:
            self._bound = other.bound.with_rows(self.x.astype(self.dtype).rows())

    def shift(self) -> NDArray[np.float64] | None:
        """The point that squared distances are taken around, so that less of them cancels."""
        return self.z.centre() if self.reduction == _native.Reduction.squared_distance and len(self.z) else None

    @property
    def properties(self) -> _native.ReductionProperties:
        """What is known of the reduction."""
        return _native.properties_of(self.reduction)

    def single_shift(self, shift: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """The same where blocks are computed in float32: samples in float64 lose less if they are moved first."""
        rounded = self.properties.movable and self.z.dtype == np.float64
        return self.z.centre() if shift is None and rounded and len(self.z) else shift

    def radii(self, shift: NDArray[np.float64] | None, levels: Levels) -> NDArray[np.float64]:
        """How far a sample of each level is from the point, at most."""
        radii: NDArray[np.float64] = np.sqrt(levels.largest(self.z.squares(shift, self.scale)))
        if isinstance(self.z, SparseVectors):  # which may not be moved, and whose squares are of before they are
            centre = 0.0 if shift is None else shift if self.scale is None else shift * self.scale
            radii += float(np.sqrt(np.square(centre).sum()))  # no BLAS, see machines.training.finite
        return radii

    def most(self) -> float:
        """How many times a Euclidean distance one of this reduction may be: |x|_1 <= sqrt(d) |x|_2."""
        return float(np.sqrt(self.z.width)) if self.reduction == _native.Reduction.l1 else 1.0

    def lost(self, shift: NDArray[np.float64] | None, levels: Levels) -> NDArray[np.float64]:
        """How far from a distance, at most, that of samples is which are rounded to float32 after such a move."""
        if not self.properties.movable or self.z.dtype == np.float32:
            return np.zeros((levels.count, levels.count))
        radii = self.radii(shift, levels)
        return float(np.finfo(np.float32).eps) * self.most() * 0.5 * (radii[:, None] + radii)

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        """In float32, too, where the error of that can be bounded."""
        shift, errors, lost = self.shift(), None, 0.0
        if single and self.fits_single():
            levels = (
                Levels.by(self.sizes(), samples=len(self.z)) if self.properties.product else Levels.one(len(self.z))
            )
            exact = np.zeros((levels.count, levels.count))
            errors = alone(self.accuracy_at(shift, exact, levels), levels, order)
            if np.isfinite(errors.largest):
                shift = self.single_shift(shift)
                moved = self.accuracy_at(shift, self.lost(shift, levels), levels)
                lost = max(0.0, alone(moved, levels, order).largest - errors.largest)
            else:
                errors = None
        formula = _native.Formula(self.reduction, self.steps, self.rate)
        return _native.formula_matrices(self.x.rows(), formula, shift, self.scale, errors, lost, packed, order)

    def fits_single(self) -> bool:
        """Whether squares of the data, and the numbers of the formula, are well within the range of float32."""
        return float(self.z.squares().max(initial=0.0)) < 1e30 and within(1e30, self.steps)

    def sizes(self) -> NDArray[np.float64] | None:
        if self.properties.product:
            return self.z.squares(None, self.scale)
        return self.z.squares(self.single_shift(self.shift()), self.scale) if self.properties.movable else None

    def accuracy(self, levels: Levels) -> list[_native.Bound] | None:
        if not self.fits_single():
            return None
        shift = self.single_shift(self.shift())
        return self.accuracy_at(shift, self.lost(shift, levels), levels)

    def accuracy_at(
        self, shift: NDArray[np.float64] | None, lost: NDArray[np.float64], levels: Levels
    ) -> list[_native.Bound]:
        """Bounds on the entries in float32 of samples moved there, if distances are off by ``lost``."""
        formula = _native.Formula(self.reduction, self.steps, self.rate)
        return _native.bounds_of(formula, self.largest(shift, levels).ravel(), lost.ravel())

    def largest(self, shift: NDArray[np.float64] | None, levels: Levels) -> NDArray[np.float64]:
        """Bounds on the size of the reduction of samples moved there, before the steps; infinity if none is known."""
        kind = self.properties
        if kind.product:
            norms = np.sqrt(levels.largest(self.z.squares(None, self.scale)))
            return np.multiply.outer(norms, norms)
        if kind.movable:
            radii = self.radii(shift, levels)
            return (self.most() * np.add.outer(radii, radii)) ** kind.power
        if self.reduction == _native.Reduction.equal:
            return np.full((levels.count, levels.count), float(self.z.width) if told_apart(self.z) else np.inf)
        totals = levels.largest(self.z.totals())  # of histograms
        return (np.add if kind.distance else np.maximum).outer(totals, totals)


def alone(bounds: list[_native.Bound], levels: Levels, order: NDArray[np.int64] | None) -> _native.EntryErrors:
    """The errors of a matrix that is all there is."""
    program = _native.Program([(_native.Action.part, 0, 0.0, [])], [])
    return _native.errors_of(program, [bounds], levels.ordered(order), levels.count)


def told_apart(z: Vectors | SparseVectors) -> bool:
    """Whether numbers that differ do so in float32."""
    values = z.array.data if isinstance(z, SparseVectors) else z.array
    return z.dtype == np.float32 or bool((values == values.astype(np.float32)).all())


class FeaturePairs(NativePairs):
    """Inner products of explicit sparse features, counted from objects. Scales, norms and sums join the features.

    So what is composed of such kernels is one matrix product of the native engine, which the solvers know.
    """

    x: SparseVectors
    z: SparseVectors

    def __init__(self, x: SparseVectors, z: SparseVectors) -> None:
        super().__init__(x, z, _native.Reduction.dot, [])

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

    def beside(self, others: Sequence[FeaturePairs]) -> FeaturePairs:
        """The sum with others of the same samples: their features side by side."""
        x = self.x.beside([other.x for other in others])
        return FeaturePairs(x, x if self.same else self.z.beside([other.z for other in others]))


class ObjectPairs(BoundPairs):
    """A native kernel that compares two objects at a time, in float64."""

    dear = True

    def __init__(self, bound: _native.ObjectPairsF64, shape: tuple[int, int], same: bool) -> None:
        super().__init__(shape, np.float64, same)
        self._objects = bound

    @property
    def bound(self) -> _native.ObjectPairsF64:
        return self._objects
