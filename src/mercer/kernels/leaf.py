"""Kernels that are one formula of the native engine: a reduction over coordinates and a few elementwise steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._native import Reduction
from mercer.kernels.base import Kernel
from mercer.kernels.collapse import Collapsed, weights
from mercer.kernels.native import NativePairs
from mercer.kernels.pairs import Pairs, Step
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array, check_names

#: The smallest normal number: its inverse is finite.
TINY = float(np.finfo(np.float64).tiny)


class VectorKernel(Kernel):
    """A kernel of vectors. A subclass gives ``formula`` and, if the data need a change first, ``prepare``."""

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        """The vectors as the formula wants them."""
        return vectors(x)

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        """The reduction and the steps, for vectors of this width."""
        raise NotImplementedError(f"{type(self).__name__} must give its formula")

    def rate(self, width: int) -> float:
        """If k falls at least like exp(-rate D^2) with the distance D, that rate; else 0."""
        return 0.0

    def scale(self, width: int) -> Any:
        """Factors by which the columns are multiplied, or None."""
        return None

    def prepare_both(self, x: Samples, z: Samples) -> tuple[Vectors | SparseVectors, Vectors | SparseVectors]:
        """Both sides, the same object twice if ``x is z``; for kernels whose change depends on both."""
        a = self.prepare(x)
        return a, a if x is z else self.prepare(z)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        check_names(x, z)
        a, b = self.prepare_both(x, z)
        self.check_widths(a, b)
        reduction, steps = self.formula(a.width)
        return NativePairs(a, b, reduction, steps, self.rate(a.width), self.scale(a.width))

    def check_widths(self, a: Vectors | SparseVectors, b: Vectors | SparseVectors) -> None:
        if a.width != b.width:
            raise ValueError(
                f"{self} compares vectors of equal length, but X has {a.width} columns and Z has {b.width}"
            )

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        """``collapse`` in terms of prepared vectors, for a kernel that has a form without its samples."""
        return None

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        if type(self).collapsed is VectorKernel.collapsed:  # there is no such form
            return None
        known = self.prepare(z)
        f = self.collapsed(known, V, starts)
        if f is None:
            return None

        def at(x: Samples) -> Array:
            check_names(x, z)
            rows = self.prepare(x)
            self.check_widths(rows, known)
            return f(rows)

        return at


class InnerProduct(VectorKernel):
    """A kernel that is the inner product of the prepared vectors."""

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.dot, []

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return weights(z, V, starts)


class Unit(VectorKernel):
    """A kernel with k(x, x) = 1 for every x."""

    def diag_of(self, x: Samples) -> Array:
        self.prepare(x)
        return np.ones(len(x))


def vectors(x: Samples) -> Vectors | SparseVectors:
    """These samples as vectors, or a message saying what they are instead."""
    if isinstance(x, (Vectors, SparseVectors)):
        return x
    return Vectors(x.dense())


def distance_reduction(width: int) -> Reduction:
    """Up to 16 coordinates, differences cost no more than centred dot products and lose nothing."""
    return Reduction.squared_direct if width <= 16 else Reduction.squared_distance


def inverse_square(length: float) -> float:
    """1 / length^2, kept finite: kernels of |x - z|^2 / length^2 reach their limits before that matters."""
    return 1 / max(length * length, TINY)


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """The value as a float, if it is a positive (or non-negative) finite number whose inverse is finite."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = np.nan
    if not np.isfinite(result) or result < (0 if zero else TINY):
        kind = "non-negative" if zero else "positive"
        why = ", whose inverse overflows" if 0 < result < TINY else ""
        raise ValueError(f"{name} must be a {kind} finite number, not {value!r}{why}")
    return result


def integer(name: str, value: Any, least: int) -> int:
    """The value as an int, if it is a whole number of at least ``least``."""
    whole = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not whole or not np.isfinite(value) or value != int(value):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value!r}")
    return int(value)


def finite(name: str, value: Any) -> float:
    """The value as a float, if it is a finite number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = np.nan
    if not np.isfinite(result):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return result
