"""Samples known only by their similarities to a fixed list of others: rows of a Gram matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.remembered import remembered
from mercer.samples.base import Array, Samples


class Similarities(Samples):
    """Row i holds the similarities of sample i to all reference samples; ``place[i]`` is its own place among them.

    The rows of a matrix that is not square are new samples: they have no place, which is written -1.

    >>> x = Similarities(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> x.symmetric, x.take(np.array([1])).place, Similarities(np.array([[2.0, 1.0]])).place
    (True, array([1]), array([-1]))
    """

    kind = "rows of a precomputed matrix"

    def __init__(self, matrix: Array, place: NDArray[np.int64] | None = None) -> None:
        self.matrix, self._given_place = matrix, place

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def astype(self, dtype: Any) -> Similarities:
        return self if self.dtype == dtype else Similarities(self.matrix.astype(dtype), self.place)

    @remembered
    def place(self) -> NDArray[np.int64]:
        n, references = self.matrix.shape
        if self._given_place is not None:
            return self._given_place
        return np.arange(n) if n == references else np.full(n, -1)

    @remembered
    def new(self) -> bool:
        """Whether a sample has no place."""
        return bool((self.place < 0).any())

    @remembered
    def reach(self) -> int:
        """The number of columns that the places lie in."""
        return int(self.place.max(initial=-1)) + 1

    @remembered
    def symmetric(self) -> bool:
        """Whether the similarities of samples that have a place, to each other, are symmetric up to rounding."""
        own = self.matrix[:, self.place]
        return np.allclose(own, own.T, rtol=1e-5, atol=1e-6 * np.abs(own).max(initial=0.0))

    def symmetric_part(self) -> Similarities:
        """Those of a square matrix K as (K + K') / 2, which has the same v'Kv for all v; others as they are."""
        if self.new or self.symmetric:
            return self
        return Similarities((self.matrix + self.matrix.T) / 2)

    def take(self, index: NDArray[np.int64]) -> Similarities:
        return Similarities(self.matrix[index], self.place[index])

    def dense(self) -> Array:
        return self.matrix

    def fingerprint(self) -> Hashable:
        return self.matrix.shape, self.dtype.str, self.matrix.tobytes(), self.place.tobytes()
