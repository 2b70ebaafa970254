"""Kernels of objects with explicit sparse features: counts of parts, k(x, z) = sum over parts of count(x) count(z).

Parts are numbered as they are met in one set of samples. Other samples are then described by the same numbers, and
parts that they alone have do not match. So the engine for sparse vectors does all the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.kernels.algebra import OfOne, operand
from mercer.kernels.base import Kernel, Validity
from mercer.kernels.collapse import Collapsed, weights
from mercer.kernels.columns import NOTHING
from mercer.kernels.native import FeaturePairs
from mercer.kernels.pairs import Pairs
from mercer.remembered import remembered
from mercer.samples import Samples, SparseVectors
from mercer.samples.base import Array
from mercer.samples.structured import Structured


@dataclass(frozen=True, eq=False)
class Described:
    """The features of samples, and the language in which others can be described by the same columns."""

    vectors: SparseVectors
    language: Any

    def take(self, index: NDArray[np.int64]) -> Described:
        return Described(self.vectors.take(index), self.language)


class Numbering(Kernel):
    """A kernel whose features are parts that samples happen to have, and can be numbered by those that some have."""

    @abstractmethod
    def features_among(self, x: Samples, reference: Samples) -> Any:
        """The features of x in the columns of those that the reference has."""

    @abstractmethod
    def names_among(self, reference: Samples) -> list[str]:
        """The names of these columns."""


class ExplicitKernel(Numbering):
    """A subclass says how features are learnt, and how other samples are described in the same columns."""

    @property
    def validity(self) -> Validity:
        return "psd"

    @abstractmethod
    def learn(self, x: Any) -> Described:
        """The features of these samples, which number the columns."""

    @abstractmethod
    def look_up(self, x: Any, language: Any) -> SparseVectors:
        """The features of other samples in the columns that are known."""

    def objects(self, X: Any) -> Structured:
        """Samples of this kernel's kind; those that another kernel of a sum has read may be of another."""
        objects = self.samples(X)
        assert isinstance(objects, Structured)
        return objects

    def described(self, x: Samples) -> Described:
        objects = self.objects(x)
        known: Described = objects.described(self, lambda: self.learn(objects))
        return known

    def within(self, x: Samples, known: Described) -> SparseVectors:
        """The features of samples in the columns that are known."""
        objects = self.objects(x)
        own = objects.descriptions.get(self)
        if own is not None and own.language is known.language:  # parts of the same samples, or these themselves
            vectors: SparseVectors = own.vectors
            return vectors
        return self.look_up(objects, known.language)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        known = self.described(z)
        return FeaturePairs(self.within(x, known), known.vectors)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        known = self.described(z)
        f = weights(known.vectors, V, starts)
        return None if f is None else lambda x: f(self.within(x, known))

    def diag_of(self, x: Samples) -> Array:
        return self.described(x).vectors.squares()

    def features_of(self, x: Samples) -> Any:
        """One column per part that these samples have; ``in_columns_of`` describes others by the same."""
        return self.described(x).vectors.array

    def names_of(self, x: Samples) -> list[str]:
        return self.texts(self.described(x).language) or [NOTHING]

    def names_among(self, reference: Samples) -> list[str]:
        return self.names_of(reference)

    @abstractmethod
    def texts(self, language: Any) -> list[str]:
        """What each column counts, in words."""

    def features_among(self, x: Samples, reference: Samples) -> Any:
        return self.within(x, self.described(reference)).array

    def in_columns_of(self, X: Any) -> Kernel:
        x = self.objects(X)
        self.described(x)
        return InColumns(self, x.copy())


@dataclass(frozen=True, repr=False)
class InColumns(OfOne):
    """A kernel whose features have the columns of those of reference samples, made by ``k.in_columns_of(X)``."""

    inner: Numbering
    reference: Samples

    @property
    def validity(self) -> Validity:
        return self.inner.validity

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return self.inner.bind(x, z)

    def diag_of(self, x: Samples) -> Array:
        return self.inner.diag_of(x)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return self.inner.collapse(z, V, starts)

    def features_of(self, x: Samples) -> Any:
        return self.inner.features_among(x, self.reference)

    @remembered
    def names(self) -> list[str]:
        return self.inner.names_among(self.reference) or [NOTHING]

    def names_of(self, x: Samples) -> list[str]:
        return self.names

    def in_columns_of(self, X: Any) -> Kernel:
        return self  # they have columns already

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "names"}

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.in_columns_of()"


class Words:
    """Sequences of numbers, as the core gives them.

    >>> import numpy as np
    >>> list(Words(np.array([4, 5, 6]), np.array([0, 2, 3])))
    [[4, 5], [6]]
    """

    def __init__(self, letters: Array, starts: Array) -> None:
        self.letters, self.starts = letters.tolist(), starts.tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return (self.letters[a:b] for a, b in pairwise(self.starts))


def sparse_rows(parts: tuple[Any, Any, Any, int], n: int) -> SparseVectors:
    """Rows as the core returns them."""
    values, columns, starts, width = parts
    return SparseVectors(sp.csr_array((values, columns, starts), shape=(n, max(1, width))))
