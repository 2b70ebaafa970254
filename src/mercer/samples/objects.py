"""Samples that are not vectors: any Python objects, compared by a function that knows them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Array, Samples
from mercer.samples.kinds import compared, kind_of
from mercer.samples.nested import is_deep, portable


class Objects(Samples):
    """A sequence of arbitrary objects.

    >>> from mercer.samples import as_samples
    >>> x = as_samples(["one", "three"])
    >>> x.kind, x.content()
    ('objects of type str', ['one', 'three'])
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = tuple(items)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return f"objects of type {type(self.items[0]).__name__}"

    def __len__(self) -> int:
        return len(self.items)

    def take(self, index: NDArray[np.int64]) -> Objects:
        return Objects([self.items[i] for i in index])

    def joined(self, other: Samples) -> Samples:
        return Objects([*self.items, *other.items]) if isinstance(other, Objects) else super().joined(other)

    def dense(self) -> Array:
        what = compared(kind_of(self.items[0]) or self.kind)
        raise TypeError(f"expected vectors (one row of numbers per sample) but got {self.kind}; {what}")

    def facts(self) -> dict[str, str]:
        return {}

    def content(self) -> list[Any]:
        return list(self.items)

    def fingerprint(self) -> Hashable:
        return tuple(map(key_of, self.items))

    def __getstate__(self) -> dict[str, Any]:
        return {"items": portable(self.items)}


def key_of(item: Any) -> Hashable:
    """The object itself where it has a hash, which Python finds by recursion, and else its identity."""
    if isinstance(item, tuple) and is_deep(item):
        return id(item)
    try:
        hash(item)
    except TypeError:
        return id(item)
    return item  # type: ignore[no-any-return]
