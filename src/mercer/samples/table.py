"""Tables with named columns, some of which may not be numbers: data frames of any library."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Array, Columns, Samples, positions


class Table(Samples):
    """Named columns of equal length, each a NumPy array. ``as_samples`` makes one when a column is not numeric.

    >>> from mercer.samples import as_samples
    >>> x = as_samples(np.array([["red", 1], ["blue", 2]], dtype=object))
    >>> x.kind, x.select(1).dense().ravel()
    ('a table with columns that are not numbers', array([1., 2.]))
    """

    kind = "a table with columns that are not numbers"

    def __init__(self, columns: tuple[Array, ...], names: tuple[str, ...] | None) -> None:
        self.columns = columns
        self.names = names
        self.seen: dict[Hashable, Samples] = {}  # columns as kernels have read them, so that objects are read once

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def width(self) -> int:
        return len(self.columns)

    def take(self, index: NDArray[np.int64]) -> Table:
        taken = Table(tuple(column[index] for column in self.columns), self.names)
        taken.seen = {key: samples.take(index) for key, samples in self.seen.items()}
        return taken

    def seen_by(self, kernel: Any, columns: Columns) -> Samples:
        key = kernel, columns if isinstance(columns, (str, int, np.integer)) else tuple(columns)
        if key not in self.seen:
            self.seen = {**self.seen, key: super().seen_by(kernel, columns)}
        return self.seen[key]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"seen": {}}

    def joined(self, other: Samples) -> Samples:
        if isinstance(other, Table) and (other.width, other.names) == (self.width, self.names):
            pairs = zip(self.columns, other.columns, strict=True)
            return Table(tuple(np.concatenate(pair) for pair in pairs), self.names)
        return super().joined(other)

    def select(self, columns: Columns) -> Samples:
        from mercer.samples.door import from_columns

        where = positions(columns, self.names, self.width)
        names = None if self.names is None else tuple(self.names[i] for i in where)
        return from_columns(tuple(self.columns[i] for i in where), names)

    def named(self, names: Sequence[str] | None = None) -> Table:
        if names is None and self.names is not None:
            return self
        return Table(self.columns, tuple(names or (f"x{i}" for i in range(self.width))))

    def dense(self) -> Array:
        odd = [
            repr(self.names[i]) if self.names else str(i)
            for i, column in enumerate(self.columns)
            if column.dtype.kind not in "fiub"
        ]
        raise ValueError(
            f"column {', '.join(odd)} does not hold numbers, and this kernel compares vectors; "
            "pick columns with .on(...), for example Gaussian(1).on('age') * Categorical().on('city')"
        )

    def content(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.columns, strict=True))

    def fingerprint(self) -> Hashable:
        def content(column: Array) -> Any:
            return tuple(map(_key, column)) if column.dtype.kind == "O" else (column.dtype.str, column.tobytes())

        return self.names, tuple(content(column) for column in self.columns)


#: What labels of one column are written as.
Codes = dict[Any, float]


def codes(table: Table) -> list[Codes]:
    """A number for every distinct label of each column; labels are the same if they are equal.

    >>> codes(Table((np.array(["red", "blue", "red"], dtype=object),), None))
    [{'red': 0.0, 'blue': 1.0}]
    """
    return [{label: float(i) for i, label in enumerate(dict.fromkeys(labels(column)))} for column in table.columns]


def written(table: Table, known: list[Codes]) -> NDArray[np.float64]:
    """The labels as numbers; labels without one as infinity, which equals no code.

    >>> written(Table((np.array(["blue", "green"]),), None), [{"red": 0.0, "blue": 1.0}])
    array([[ 1.],
           [inf]])
    """
    columns = zip(table.columns, known, strict=True)
    return np.array([[own.get(label, np.inf) for label in labels(column)] for column, own in columns]).T


def labels(column: Array) -> list[Any]:
    """The entries of a column, if they can be looked up."""
    entries = list(column)
    for i, entry in enumerate(entries):
        try:
            hash(entry)
        except TypeError:
            raise TypeError(
                f"labels are compared for equality, but sample {i} has a {type(entry).__name__}, which has no hash; "
                "give text, numbers or tuples"
            ) from None
    return entries


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
