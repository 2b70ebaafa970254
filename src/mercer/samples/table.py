"""Tables with named columns, some of which may not be numbers: data frames of any library."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.remembered import remembered
from mercer.samples.base import Array, Columns, Samples, positions
from mercer.samples.nested import portable
from mercer.samples.objects import key_of

#: The most columns that are shown.
SHOWN = 30

#: Objects of these types stand for themselves; others may stand for a value that is missing.
ORDINARY = {str, bytes, int, bool, tuple, np.str_, np.int64, np.bool_}
#: The missing values of pandas, which need not be installed.
GAPS = ("NAType", "NaTType")


class Table(Samples):
    """Named columns of equal length, each a NumPy array. ``as_samples`` makes one when a column is not numeric.

    Values may be missing (NaN, NaT, among objects None) and numbers infinite: ``complete`` refuses that, and what reads
    a column asks for it.

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

    @property
    def heading(self) -> str:
        return f"a table of {len(self)} rows"

    def facts(self) -> dict[str, str]:
        names = self.names or tuple(map(str, range(self.width)))
        return {
            name: "objects" if column.dtype.kind == "O" else str(column.dtype)
            for name, column in zip(names[:SHOWN], self.columns[:SHOWN], strict=True)
        }

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision if all columns are numbers of that, as it is of vectors."""
        single = all(column.dtype == np.float32 for column in self.columns)
        return np.dtype(np.float32 if single else np.float64)

    def astype(self, dtype: Any) -> Table:
        """The numbers in this precision; those beside objects are not made less precise than they are."""
        numbers = [column.dtype for column in self.columns if column.dtype.kind == "f"]
        beside = len(numbers) < len(self.columns)
        if all(own == dtype for own in numbers) or (beside and dtype != np.float64):
            return self
        return Table(tuple(c.astype(dtype) if c.dtype.kind == "f" else c for c in self.columns), self.names)

    def complete(self) -> Table:
        """This table, if no value is missing and of columns of numbers alone all are finite."""
        if self._fault:
            raise ValueError(self._fault)
        return self

    @remembered
    def _fault(self) -> str:
        gaps = np.stack([missing(column) for column in self.columns], axis=1)
        if gaps.any():
            i, j = np.argwhere(gaps)[0]
            name = self._name(j)
            return (
                f"{contains(np.nan)} The first of {gaps.sum()} such entries is at row {i}, column {name}: column "
                f"{name} has {gaps[:, j].sum()} missing values; fill or drop them first (scikit-learn's SimpleImputer "
                "fills them), read other columns alone by .on([...]), or compare labels by Categorical(missing='level')"
            )
        if any(column.dtype.kind not in "fiub" for column in self.columns):
            return ""
        bad = ~np.isfinite(np.stack(self.columns, axis=1))
        if not bad.any():
            return ""
        i, j = np.argwhere(bad)[0]
        return (
            f"{contains(self.columns[j][i])} The first of {bad.sum()} such entries is at row {i}, column "
            f"{self._name(j)}; impute or drop them first"
        )

    def _name(self, j: int) -> str:
        return repr(self.names[j]) if self.names else str(j)

    def take(self, index: NDArray[np.int64]) -> Table:
        taken = Table(tuple(column[index] for column in self.columns), self.names)
        if self.__dict__.get("_fault") == "":
            taken._fault = ""
        taken.seen = {key: samples.take(index) for key, samples in self.seen.items()}
        return taken

    def seen_by(self, kernel: Any, columns: Columns) -> Samples:
        key = kernel, columns if isinstance(columns, (str, int, np.integer)) else tuple(columns)
        if key not in self.seen:
            self.seen = {**self.seen, key: super().seen_by(kernel, columns)}
        return self.seen[key]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"columns": tuple(map(portable, self.columns)), "seen": {}}

    def joined(self, other: Samples) -> Samples:
        from mercer.samples.door import from_columns

        if isinstance(other, Table) and (other.width, other.names) == (self.width, self.names):
            pairs = zip(self.columns, other.columns, strict=True)
            return from_columns(tuple(marked(np.concatenate(pair)) for pair in pairs), self.names)
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
        self.complete()
        odd = [i for i in range(self.width) if isinstance(self.select(i), Table)]
        others = ", ".join(self._name(i) for i in odd[1:4]) + (f" and {len(odd) - 4} more" if len(odd) > 4 else "")
        numbers = next((self._name(i) for i in range(self.width) if i not in odd), "'age'")
        raise ValueError(
            f"column {self._name(odd[0])} does not hold numbers but {described(self.columns[odd[0]])}"
            f"{f' (nor does {others})' if others else ''}, and this kernel compares vectors; pick columns with "
            f".on(...), for example Gaussian(1).on({numbers}) * Categorical().on({self._name(odd[0])})"
        )

    def content(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.complete().columns, strict=True))

    def fingerprint(self) -> Hashable:
        def content(column: Array) -> Any:
            return tuple(map(key_of, column)) if column.dtype.kind == "O" else (column.dtype.str, column.tobytes())

        return self.names, tuple(content(column) for column in self.columns)


def described(column: Array) -> str:
    """What a column holds that is no column of numbers.

    >>> described(np.array(["red", "blue"], dtype=object)), described(np.array(["2020-01-01"], dtype="M8[D]"))
    ('text', 'dates')
    """
    kinds = {"U": "text", "S": "bytes", "M": "dates", "m": "durations", "c": "complex numbers"}
    if column.dtype.kind in kinds:
        return kinds[column.dtype.kind]
    types = {type(value).__name__ for value in column}
    return "text" if types == {"str"} else f"objects of type {', '.join(sorted(types))}"


def missing(column: Array) -> NDArray[np.bool_]:
    """Which values of a column of a table are missing.

    >>> missing(np.array([1.0, np.nan])), missing(np.array(["red", None], dtype=object))
    (array([False,  True]), array([False,  True]))
    """
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([value is None for value in column], dtype=bool)


def marked(column: Array) -> Array:
    """Objects with None for all that stands for a missing value: NaN, NaT and the NA of pandas.

    >>> marked(np.array(["red", float("nan")], dtype=object))
    array(['red', None], dtype=object)
    """
    if column.dtype.kind != "O" or set(map(type, column)) <= ORDINARY:
        return column
    column = column.copy()
    column[[_stands_for_none(value) for value in column]] = None
    return column


def _stands_for_none(value: Any) -> bool:
    if isinstance(value, (float, np.floating, Decimal, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return type(value).__name__ in GAPS


def contains(value: Any) -> str:
    """What scikit-learn says of an entry that is not finite.

    >>> contains(np.float32(np.inf))
    "Input X contains infinity or a value too large for dtype('float32')."
    """
    what = "NaN" if np.isnan(value) else f"infinity or a value too large for {value.dtype!r}"
    return f"Input X contains {what}."


#: What labels of one column are written as.
Codes = dict[Any, float]


def codes(table: Table) -> list[Codes]:
    """A number for every distinct label of each column; labels are the same if they are equal, or both missing.

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
    """The entries of a column, if they can be looked up; those that are missing as None."""
    entries = list(column)
    for gap in np.flatnonzero(missing(column)).tolist():
        entries[gap] = None
    for i, entry in enumerate(entries):
        try:
            hash(entry)
        except TypeError:
            raise TypeError(
                f"labels are compared for equality, but sample {i} has a {type(entry).__name__}, which has no hash; "
                "give text, numbers or tuples"
            ) from None
    return entries
