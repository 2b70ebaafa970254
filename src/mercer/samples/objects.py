"""Samples that are not vectors: any Python objects, compared by a function that knows them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Samples


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

    def content(self) -> list[Any]:
        return list(self.items)

    def fingerprint(self) -> Hashable:
        try:
            hash(self.items)
        except TypeError:
            return tuple(id(item) for item in self.items)
        return self.items
