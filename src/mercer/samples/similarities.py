"""Samples known only by their similarities to a fixed list of others: rows of a Gram matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.remembered import remembered
from mercer.samples.base import Array, Samples

#: Rows and columns of the parts in which a matrix is looked at, so that no copy of it is made and Ctrl-C is heard.
TILE = 512


class Similarities(Samples):
    """Row i holds the similarities of sample i to all reference samples; ``place[i]`` is its own place among them.

    The rows of a matrix that is not square are new samples: they have no place, which is written -1. Where the matrix
    has not all columns, ``columns`` are the places of those it has.

    >>> x = Similarities(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> x.symmetric, x.take(np.array([1])).place, Similarities(np.array([[2.0, 1.0]])).place
    (True, array([1]), array([-1]))
    """

    kind = "rows of a precomputed matrix"

    def __init__(
        self, matrix: Array, place: NDArray[np.int64] | None = None, columns: NDArray[np.int64] | None = None
    ) -> None:
        self.matrix, self._given_place, self.columns = matrix, place, columns

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    @property
    def nbytes(self) -> int:
        return int(self.matrix.nbytes)

    def counts(self) -> dict[str, int]:
        return {"columns": int(self.matrix.shape[1])}

    @property
    def acquainted(self) -> bool:
        """Whether the similarities of the samples to each other are known."""
        return self.columns is None or len(self.columns) > 0

    def astype(self, dtype: Any) -> Similarities:
        return self if self.dtype == dtype else Similarities(self.matrix.astype(dtype), self.place, self.columns)

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
        n = len(self)
        parts = [slice(i, min(i + TILE, n)) for i in range(0, n, TILE)]
        tiles = [(rows, columns) for rows in parts for columns in parts if rows.start <= columns.start]
        excess = max((_asymmetry(self._tile(i, j), self._tile(j, i).T) for i, j in tiles), default=0.0)
        if excess in (0, np.inf):
            return excess == 0
        return excess <= 1e-6 * max(float(np.abs(self._tile(i, j)).max()) for i in parts for j in parts)

    def _tile(self, rows: slice, columns: slice) -> Array:
        """The similarities of some of the samples to others of them; a view if all stand in their order."""
        own = self._own
        return self.matrix[rows, columns if own is None else own[columns]]

    @remembered
    def _own(self) -> NDArray[np.int64] | None:
        """The columns of the samples themselves, if they have another order."""
        own = self.columns_of(self.place)
        return None if np.array_equal(own, np.arange(len(self))) else own

    def columns_of(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the matrix has the similarities to the samples of these places."""
        if self.columns is None:
            return place
        if not np.isin(place, self.columns).all():
            raise ValueError(
                f"of the {len(self)} samples of a given matrix that the machine rests on only the places are kept, not "
                "their similarities to each other; give the matrix it was fitted to, as in support_report(machine, K)"
            )
        order = np.argsort(self.columns)
        return np.asarray(order[np.searchsorted(self.columns, place, sorter=order)])

    def symmetric_part(self) -> Similarities:
        """Those of a square matrix K as (K + K') / 2, which has the same v'Kv for all v; others as they are."""
        if self.new or self.symmetric:
            return self
        return Similarities((self.matrix + self.matrix.T) / 2)

    def take(self, index: NDArray[np.int64]) -> Similarities:
        return Similarities(self.matrix[index], self.place[index], self.columns)

    def among(self, index: NDArray[np.int64], most: int) -> Similarities:
        """Some of the samples, known by their similarities to each other alone, or if these take more than ``most``
        bytes, by their places: that is all that new samples, which bring their similarities to them, ask for.
        """
        place = self.place[index]
        columns = place if len(index) ** 2 * self.matrix.itemsize <= most else place[:0]
        return Similarities(self.matrix[np.ix_(index, self.columns_of(columns))], place, columns)

    def dense(self) -> Array:
        return self.matrix

    def fingerprint(self) -> Hashable:
        columns = None if self.columns is None else self.columns.tobytes()
        return self.matrix.shape, self.dtype.str, self.matrix.tobytes(), self.place.tobytes(), columns


def _asymmetry(upper: Array, lower: Array) -> float:
    """By how much entries differ from those across the diagonal, beyond what rounding may do to them.

    >>> _asymmetry(np.array([1.0, 3.0]), np.array([1.0, 2.0])), _asymmetry(np.array([1.0]), np.array([1.0000001]))
    (0.99998, 0.0)
    """
    if np.array_equal(upper, lower):
        return 0.0
    with np.errstate(invalid="ignore"):
        beyond = np.abs(upper - lower) - 1e-5 * np.minimum(np.abs(upper), np.abs(lower))
    beyond[upper == lower] = 0.0  # infinite ones, too
    worst = float(beyond.max())
    return np.inf if np.isnan(worst) else max(worst, 0.0)
