"""What every kind of samples can do, so that kernels, Gram matrices and expansions need not know the kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.kinds import compared
from mercer.samples.summary import html_table, some_of

Array = NDArray[Any]
Columns = str | int | Sequence[str] | Sequence[int]


class Samples(ABC):
    """An immutable sequence of samples of one kind.

    >>> from mercer.samples import as_samples
    >>> x = as_samples([[1.0, 2.0], [3.0, 4.0]])
    >>> len(x), x.width, x.take([1]).dense(), x == x.copy()
    (2, 2, array([[3., 4.]]), True)
    """

    #: What these samples are, for messages: "vectors", "a table", ...
    kind: str
    #: The names of the columns, where they have any.
    names: tuple[str, ...] | None = None
    #: Whether every sample is a row of numbers.
    numeric = False

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, index: NDArray[np.int64]) -> Samples:
        """The samples at these positions, in this order."""

    @abstractmethod
    def fingerprint(self) -> Hashable:
        """A value that two sets of samples share exactly when their contents are equal."""

    def complete(self) -> Samples:
        """These samples, if nothing is missing in them."""
        return self

    @property
    def width(self) -> int | None:
        """The number of columns, where there are any."""
        return None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which these samples are compared."""
        return np.dtype(np.float64)

    def astype(self, dtype: Any) -> Samples:
        """The same samples, compared in this precision."""
        return self

    @property
    def nbytes(self) -> int:
        """The memory of these samples, as far as it counts."""
        return 0

    def copy(self) -> Samples:
        """The same samples in memory of their own, which the user cannot change."""
        return self.take(np.arange(len(self)))

    def joined(self, other: Samples) -> Samples:
        """These samples and then those of another set of the same kind, in one; for data that come in parts."""
        raise TypeError(f"{self.kind} cannot be joined with {other.kind}; give all samples at once")

    def select(self, columns: Columns) -> Samples:
        """The same samples, seen through some of their columns."""
        raise TypeError(
            f"{self.kind} have no columns, so .on({columns!r}) cannot pick any; give an array or a data frame"
        )

    def arranged_as(self, other: Samples) -> Samples:
        """The same samples with their columns in the order of another set's, if both have the same names."""
        if self.names == other.names or sorted(self.names or ()) != sorted(other.names or ()):
            return self
        return self.select(list(other.names or ()))

    def named(self, names: Sequence[str] | None = None) -> Samples:
        """The same samples with these names of their columns or, where they have none, with x0, x1 and so on."""
        return self

    def seen_by(self, kernel: Any, columns: Columns) -> Samples:
        """Some of the columns, as a kernel reads them."""
        samples: Samples = kernel.samples(self.select(columns))
        return samples

    def dense(self) -> Array:
        """A two-dimensional array with one row per sample."""
        raise TypeError(f"expected vectors (one row of numbers per sample) but got {self.kind}; {compared(self.kind)}")

    def content(self) -> Any:
        """The samples as a user's function takes them: an array, or a list of objects."""
        return self.dense()

    # -- how they are shown; quickly, however many they are ---------------------------------------------------

    @property
    def heading(self) -> str:
        """How many samples of what."""
        return f"{len(self)} {self.kind}"

    def counts(self) -> dict[str, int]:
        """How much there is of what the samples are made of."""
        return {} if self.width is None else {"columns": self.width}

    def facts(self) -> dict[str, str]:
        """What else there is to say of all of them."""
        names = {} if self.names is None else {"names": some_of(self.names)}
        return names | {"numbers": self.dtype.name}

    def __repr__(self) -> str:
        counts = self.counts() | ({"bytes": self.nbytes} if self.nbytes else {})
        return f"<{', '.join([self.heading, *(f'{count} {name}' for name, count in counts.items())])}>"

    def _repr_html_(self) -> str:
        counts = self.counts() | ({"bytes": self.nbytes} if self.nbytes else {})
        return html_table(self.heading, {name: f"{count:,}" for name, count in counts.items()} | self.facts())

    # -- as values --------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return self is other or self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())


def check_names(x: Samples, z: Samples) -> None:
    """Refuses to compare columns of different names; columns without a name are compared by position."""
    if x.names is None or z.names is None or x.names == z.names:
        return
    of_x, of_z = set(x.names), set(z.names)
    only = [f"only X has {name!r}" for name in x.names if name not in of_z][:1]
    only += [f"only Z has {name!r}" for name in z.names if name not in of_x][:1]
    raise ValueError(
        "X and Z must have the same columns, by name and in the same order, but "
        f"{' and '.join(only) or 'the order differs'}; pick the same columns of both, or compare some by .on([...])"
    )


def squared_deviations(array: Array, centre: float) -> float:
    """The sum of (entry - centre)^2 in float64, by parts of the array that stay in the processor's caches.

    >>> squared_deviations(np.array([[1.0, 3.0]]), 2.0)
    2.0
    """
    entries = 2**15
    height = max(1, entries // max(1, array[:1].size))
    deviations = (np.subtract(array[i : i + height], centre, dtype=np.float64) for i in range(0, len(array), height))
    return sum(float(np.square(part, out=part).sum()) for part in deviations)


def positions(columns: Columns, names: tuple[str, ...] | None, width: int) -> list[int]:
    """The positions of columns given by name or by number."""
    wanted = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    found: list[int] = []
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise ValueError(
                    f"column {column!r} was asked for by name, but the data have no column names; "
                    "give a data frame, or the column's number"
                )
            if column not in names:
                raise ValueError(f"there is no column {column!r}; the columns are {', '.join(map(repr, names))}")
            found.append(names.index(column))
        else:
            if isinstance(column, (bool, np.bool_)) or not isinstance(column, (int, np.integer)):
                raise TypeError(f"columns are given by name or by number, not by {column!r}")
            if not -width <= column < width:
                raise ValueError(f"there is no column {column}; the data have {width} columns, 0 to {width - 1}")
            found.append(int(column) % width)
    if not found:
        raise ValueError("no column was asked for; name at least one")
    return found
