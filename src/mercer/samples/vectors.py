"""Dense vectors: a finite two-dimensional float array, in whatever memory order the user has it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.memory import taken
from mercer.samples.base import Array, Columns, Samples, positions, squared_deviations
from mercer.samples.table import Table


class Vectors(Samples):
    """Rows of a dense array. Made by ``as_samples``, which has checked it.

    >>> x = Vectors(np.array([[3.0, 4.0], [0.0, 2.0]]))
    >>> x.norms(), x.select([1]).dense().ravel()
    (array([5., 2.]), array([4., 2.]))
    """

    kind = "vectors"
    numeric = True

    def __init__(self, array: Array, names: tuple[str, ...] | None = None) -> None:
        self.array = array
        self.names = names

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @property
    def width(self) -> int:
        return int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)

    def astype(self, dtype: Any) -> Vectors:
        return self if self.dtype == dtype else Vectors(taken(self.array, None, dtype), self.names)

    def take(self, index: NDArray[np.int64]) -> Vectors:
        return Vectors(taken(self.array, index, self.dtype), self.names)

    def joined(self, other: Samples) -> Samples:
        if isinstance(other, Vectors) and other.width == self.width:
            return Vectors(np.concatenate([self.array, other.array]), self.names)
        if isinstance(other, Table):
            return Table(tuple(self.array.T), self.names).joined(other)
        return super().joined(other)

    def select(self, columns: Columns) -> Vectors:
        where = positions(columns, self.names, self.width)
        names = None if self.names is None else tuple(self.names[i] for i in where)
        return Vectors(self.array[:, where], names)

    def named(self, names: Sequence[str] | None = None) -> Vectors:
        known = self.names or tuple(f"x{i}" for i in range(self.width))
        return Vectors(self.array, known if names is None else tuple(names))

    def dense(self) -> Array:
        return self.array

    def map(self, function: Any) -> Vectors:
        """Vectors of the function's values; the function keeps the shape and is applied to whole arrays."""
        return Vectors(function(self.array), self.names)

    def norms(self) -> NDArray[np.float64]:
        """The Euclidean length of every sample."""
        return np.asarray(np.sqrt(self.squares()))

    def peaks(self) -> NDArray[np.float64]:
        """The largest absolute value of an entry of every sample."""
        return np.asarray(np.maximum(self.array.max(axis=1), -self.array.min(axis=1)), dtype=np.float64)

    def squares(
        self, shift: NDArray[np.float64] | None = None, scale: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The sum of squares of every sample, in float64; of (x - shift) scale if these are given."""
        out = np.empty(len(self))
        _native.squares(self.rows(), out, shift, scale)
        return out

    def totals(self) -> NDArray[np.float64]:
        """The sum of the entries of every sample."""
        return np.asarray(self.array.sum(axis=1, dtype=np.float64))

    def divided(self, lengths: NDArray[np.float64]) -> Vectors:
        """Every sample divided by a number of its own; by nothing where that is 0."""
        by = np.where(lengths > 0, lengths, 1.0)[:, None]
        return Vectors((self.array / by).astype(self.dtype, copy=False), self.names)

    def centre(self) -> NDArray[np.float64]:
        """A point amid the samples, to count coordinates from: the mean of some 500 of them, evenly spread.

        Where most of them have the same value, it is that one: zeros are left out of products.
        """
        centre = self.array[:: max(1, len(self) // 500)].mean(axis=0, dtype=np.float64)
        some = self.array[:: max(1, len(self) // 60)]
        middle = np.partition(some, len(some) // 2, axis=0)[len(some) // 2]
        return np.asarray(np.where((some == middle).mean(axis=0) > 0.5, middle, centre))

    def variance(self) -> float:
        """The variance of all entries together."""
        entries = self.array.size
        return squared_deviations(self.array, float(self.array.sum(dtype=np.float64)) / entries) / entries

    def lowest(self) -> float:
        return float(self.array.min())

    def rows(self) -> _native.VectorsF32 | _native.VectorsF64:
        return _native.dense_rows(self.array)

    def fingerprint(self) -> Hashable:
        return self.array.shape, self.dtype.str, np.ascontiguousarray(self.array).tobytes()


class Features(Vectors):
    """Points of a feature space: values of an explicit map, or weights of them, which the map is not applied to.

    >>> from mercer.kernels import FeatureMap, Squares
    >>> w = Features(np.array([[1.0, 10.0]]))  # a point of the feature space itself
    >>> FeatureMap(Squares())([[2.0, 3.0]], w)
    array([[94.]])
    """

    kind = "points of a feature space"

    def astype(self, dtype: Any) -> Features:
        return self if self.dtype == dtype else Features(self.array.astype(dtype))

    def take(self, index: NDArray[np.int64]) -> Features:
        return Features(self.array[index])
