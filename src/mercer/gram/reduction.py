"""A given reduction: one stored matrix of squared distances, or of another reduction, for kernels of many widths.

A search over widths, degrees or scales computes the reduction of the samples once; every kernel of it is then a few
elementwise steps, applied as rows are read. What is certified in float64 is computed from the samples all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.base import Kernel
from mercer.kernels.composition import Plan, composed, shared
from mercer.kernels.levels import Levels
from mercer.kernels.native import BoundPairs, NativePairs
from mercer.kernels.pairs import Pairs, SquareMatrix, chunks

if TYPE_CHECKING:
    from mercer.gram import Gram

Reduction = _native.Reduction


class StoredReduction:
    """The stored reduction of some samples with themselves, in float32; made by ``Gram.reduction()``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> distances = Gaussian(1.0).gram([[0.0], [1.0], [3.0]]).reduction()
    >>> distances.matrix
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]], dtype=float32)
    >>> distances.gram(Gaussian(2.0) + 0.1 * Linear())
    Gram(Gaussian(sigma=2) + 0.1 * Linear(), 3 samples, float64)
    """

    def __init__(self, gram: Gram, dtype: Any = np.float32) -> None:
        self.samples, self.budget = gram.samples, gram.budget
        own = reduced(gram.kernel, gram.pairs)[1]
        x = own.x.astype(np.float64)
        self.pairs = NativePairs(x, x, own.reduction, (), 0.0, own.scale)
        self.matrix = np.empty(own.shape, dtype=dtype)
        for rows in chunks(len(x), 8 * len(x)):
            self.matrix[rows] = self.pairs.block(rows, slice(0, len(x)))

    def gram(self, kernel: Kernel) -> Gram:
        """The Gram matrix of a kernel of the same reduction, such as one of another width."""
        from mercer.gram import Gram

        result = Gram(kernel, self.samples, self.budget)
        plan, wanted = reduced(kernel, result.pairs)
        if kind(wanted) != kind(self.pairs) or wanted.x.astype(np.float64) != self.pairs.x:
            raise ValueError(
                f"{kernel} is no function of what is stored, {self.pairs.reduction.name} of these samples; store "
                "another by the reduction() of its own Gram matrix"
            )
        result.pairs, result.reduced_from = ReducedPairs(result.pairs, plan, self), self
        return result


def reduced(kernel: Kernel, pairs: Pairs) -> tuple[Plan, NativePairs]:
    """A kernel's matrix as a program over one reduction alone, and that reduction."""
    plan = shared(composed(pairs), products_too=True, alone=True)
    if len(plan.parts) != 1 or not isinstance(plan.parts[0], NativePairs):
        raise ValueError(
            f"{kernel} is not a function of one reduction of the samples, such as their squared distances, so there is "
            "none to store; use its Gram matrix"
        )
    return plan, plan.parts[0]


def kind(part: NativePairs) -> Any:
    """What two reductions of equal samples must have in common to be the same."""
    euclidean = part.properties.movable and part.properties.power == 2
    return "euclidean" if euclidean else part.reduction, None if part.scale is None else part.scale.tobytes()


class ReducedPairs(BoundPairs):
    """The pairs of a kernel whose reduction is stored: solvers read that in float32, and all else is computed."""

    def __init__(self, pairs: Pairs, plan: Plan, stored: StoredReduction) -> None:
        super().__init__(pairs.shape, pairs.dtype, pairs.same)
        self.pairs, self.plan, self.stored_reduction = pairs, plan, stored

    @property
    def bound(self) -> Any:
        return self.pairs.native(self.dtype)

    def fits_single(self) -> bool:
        return self.pairs.fits_single()

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        if self.stored_reduction.matrix.dtype == np.float64:
            program = self.plan.program.ordered(order).native
            stored = _native.stored_matrices(self.stored_reduction.matrix, order)
            return _native.compose_matrices([stored], program, self.shape[0] if order is None else len(order), None)
        exact = self.pairs.matrices(whole, order, packed, single=False)
        if not (single and self.fits_single()):
            return exact
        program = self.plan.program.ordered(order).native
        own = self.stored_reduction.pairs
        # What is stored was computed in float64 and rounded once, so it is as accurate as differences are.
        reduction = Reduction.squared_direct if kind(own)[0] == "euclidean" else own.reduction
        levels = Levels.by(own.sizes(), samples=self.shape[0])
        sizes = own.largest(own.shift(), levels).ravel()
        bounds = _native.bounds_of(_native.Formula(reduction, [], 0.0), sizes, np.zeros(len(sizes)))
        errors = _native.errors_of(program, [bounds], levels.ordered(order), levels.count)
        if not np.isfinite(errors.largest):
            return exact
        stored = _native.stored_matrices(self.stored_reduction.matrix, order, 0.0)
        size = self.shape[0] if order is None else len(order)
        return _native.compose_matrices([stored], program, size, errors, exact)
