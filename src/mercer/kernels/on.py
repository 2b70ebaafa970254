"""Kernels of a part or a picture of the samples: ``k.on("column")``, ``k.on(["a", "b"])`` and ``k.on(map)``.

So kernels of single columns are added and multiplied to kernels of whole tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.algebra import OfOne, operand
from mercer.kernels.base import Kernel, Validity
from mercer.kernels.collapse import Collapsed
from mercer.kernels.maps import map_names, map_text
from mercer.kernels.pairs import Pairs
from mercer.samples import Samples, as_samples
from mercer.samples.base import Array
from mercer.samples.door import opened


class Through(OfOne):
    """The kernel of something made of the samples; a subclass says what in ``seen_by``."""

    def samples(self, X: Any) -> Samples:
        return as_samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        seen = self.seen_by(self.inner, x)
        return self.inner.bind(seen, seen if x is z else self.seen_by(self.inner, z))

    def diag_of(self, x: Samples) -> Array:
        return self.inner.diag_of(self.seen_by(self.inner, x))

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        f = self.inner.collapse(self.seen_by(self.inner, z), V, starts)
        return None if f is None else lambda x: f(self.seen_by(self.inner, x))

    def features_of(self, x: Samples) -> Array:
        return self.inner.features_of(self.seen_by(self.inner, x))

    def names_of(self, x: Samples) -> list[str]:
        seen = self.named(x)
        names = self.inner.names_of(seen)
        return names if seen.width is not None else [f"{self.what}: {name}" for name in names]

    def named(self, x: Samples) -> Samples:
        """What the inner kernel sees, its columns named."""
        raise NotImplementedError(f"{type(self).__name__} must name what is seen through it")

    @property
    def what(self) -> str:
        """What objects are seen through."""
        raise NotImplementedError(f"{type(self).__name__} must say what it is")


@dataclass(frozen=True, repr=False)
class OnColumns(Through):
    """The kernel of some columns, made by ``k.on("column")`` or ``k.on(["a", "b"])``.

    >>> k = Gaussian(1).on(0) * Linear().on([1, 2])
    >>> k([[5.0, 1.0, 2.0]])
    array([[5.]])
    """

    inner: Kernel
    columns: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_columns(self.columns))

    def samples(self, X: Any) -> Samples:
        """Whatever is missing in other columns, nobody reads; the kernel of these refuses what it cannot read."""
        return opened(X)

    @property
    def validity(self) -> Validity:
        """That of the inner kernel; of few columns more may be known than in general."""
        if self.inner.validity == "psd":
            return "psd"
        return self.inner.alike_in(len(set(self.columns)) if isinstance(self.columns, tuple) else 1).validity

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return x.seen_by(child, self.columns)

    def named(self, x: Samples) -> Samples:
        return self.seen_by(self.inner, x.named())

    @property
    def what(self) -> str:
        return ", ".join(map(str, self.columns)) if isinstance(self.columns, tuple) else str(self.columns)

    def __repr__(self) -> str:
        columns = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        return f"{operand(self.inner)}.on({columns!r})"


def checked_columns(given: Any) -> str | int | tuple[str | int, ...]:
    """A name or number, or several of them, as plain text and integers."""
    if isinstance(given, (str, int, np.integer)):
        return checked_column(given)
    try:
        wanted = tuple(given)
    except TypeError:
        ranges = " (a slice: list(range(...)))" if isinstance(given, slice) else ""
        raise TypeError(
            f".on takes a column's name or number, a list of them{ranges}, or a function of the samples, not {given!r}"
        ) from None
    return tuple(checked_column(column) for column in wanted)


def checked_column(given: Any) -> str | int:
    if isinstance(given, str):
        return str(given)
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise TypeError(f"columns are given by name or by number, not by {given!r}")
    return int(given)


@dataclass(frozen=True, repr=False)
class OnMap(Through):
    """The kernel of a map's values, made by ``k.on(map)``; the map takes and returns whole arrays.

    >>> Linear().on(Squares())([[2.0]], [[3.0]])
    array([[36.]])
    """

    inner: Kernel
    map: Any

    @property
    def validity(self) -> Validity:
        """That of the inner kernel, but that it is indefinite need not show on what the map gives."""
        known = self.inner.validity
        return "unknown" if known == "indefinite" else known

    def samples(self, X: Any) -> Samples:
        door = getattr(self.map, "samples", as_samples)  # a map of objects may have a door of its own
        samples: Samples = door(X)
        return samples

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        door = getattr(self.map, "samples", None)
        return child.samples(self.map(x.content() if door is None else door(x)))

    def named(self, x: Samples) -> Samples:
        seen = self.seen_by(self.inner, x)
        return seen if seen.width is None else seen.named(map_names(self.map, x, seen.width))

    @property
    def what(self) -> str:
        return map_text(self.map)

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.on({self.map!r})"
