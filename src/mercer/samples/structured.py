"""Samples with an inside, such as graphs and trees: kept flat, as offsets and numbers, and read from objects once.

What a kernel has found out about all of them stays with them, and subsets take their part of it along.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.samples.base import Array, Samples
from mercer.samples.door import as_numpy, as_samples, in_memory
from mercer.samples.kinds import COMPARED, compared, is_networkx, is_nltk, kind_of
from mercer.samples.objects import Objects
from mercer.samples.table import Table

#: Number of kernels whose descriptions are kept: the latest.
KEPT = 4


class Description(Protocol):
    """What a kernel has found out about every sample."""

    def take(self, index: NDArray[np.int64]) -> Any: ...


class Structured(Samples):
    """Samples that can be told apart, taken and described."""

    def __init__(self) -> None:
        self.descriptions: dict[Hashable, Any] = {}

    def facts(self) -> dict[str, str]:
        return {}

    @abstractmethod
    def gather(self, index: NDArray[np.int64]) -> Self:
        """The samples at these positions, not described yet."""

    def take(self, index: NDArray[np.int64]) -> Self:
        taken = self.gather(np.asarray(index, dtype=np.int64))
        taken.descriptions = {kernel: known.take(index) for kernel, known in self.descriptions.items()}
        return taken

    def described(self, kernel: Hashable, describe: Callable[[], Any]) -> Any:
        """What ``describe`` returns, which is called once per kernel."""
        if kernel not in self.descriptions:
            known = dict(list(self.descriptions.items())[1 - KEPT :])
            self.descriptions = {**known, kernel: describe()}  # a new one, as threads may share the samples
        return self.descriptions[kernel]

    def __getitem__(self, which: Any) -> Any:
        """One sample for a number, some for a slice or an array: lists of scikit-learn are indexed like this."""
        if isinstance(which, (int, np.integer)):
            if not -len(self) <= which < len(self):
                raise IndexError(f"there is no sample {which}; there are {len(self)}")
            return self.sample(int(which) % len(self))
        return self.take(np.arange(len(self))[which])

    def __iter__(self) -> Iterator[Sample]:
        return map(self.sample, range(len(self)))

    def sample(self, place: int) -> Sample:
        """The one at this place."""
        return Sample(self, place)

    def content(self) -> list[Any]:
        return list(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"descriptions": {}}


class Sample:
    """One of some structured samples, by its place among them; a list of these is put together without reading."""

    def __init__(self, samples: Structured, place: int) -> None:
        self.samples, self.place = samples, place

    def alone(self) -> Any:
        """Samples that are nothing but this one."""
        return self.samples.gather(np.array([self.place]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.alone() == other.alone()

    def __hash__(self) -> int:
        return hash(self.alone())

    def __repr__(self) -> str:
        return f"<sample {self.place} of {len(self.samples)} {self.samples.kind}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"samples": self.alone(), "place": 0}


def items_of(X: Any, what: str) -> Sequence[Any]:
    """The objects in what a user gave: a list, an array or a column of objects."""
    X = as_numpy(in_memory(X))
    if hasattr(X, "columns") and not isinstance(X, Samples):
        X = as_samples(X)
    if isinstance(X, Objects):
        return X.items
    if isinstance(X, Table):
        if X.width != 1:
            raise ValueError(
                f'{what} are expected in one column, but the table has {X.width}; pick one with .on("column")'
            )
        X = X.complete().columns[0]
    if isinstance(X, Samples):
        raise TypeError(f"expected {what} but got {X.kind}; {compared(X.kind)}")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    one = what.removesuffix("s")
    if isinstance(X, Sample) or is_networkx(X) or is_nltk(X):
        given = (kind_of(X) or what).removesuffix("s")
        raise TypeError(f"expected a list of {what} but got one {given}; write [{given}]")
    if sp.issparse(X):
        raise TypeError(not_rows(what, f"a sparse array of shape {X.shape}"))
    if isinstance(X, (str, bytes, dict)) or not isinstance(X, Iterable) or not hasattr(X, "__len__"):
        raise TypeError(f"expected a list of {what} but got a {type(X).__name__}; of a single {one}, write [{one}]")
    if isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind not in "OUS"):
        raise TypeError(not_rows(what, f"an array of {X.dtype} of shape {X.shape}"))
    items = list(X)
    if not items:
        raise ValueError(f"found 0 sample(s) while a minimum of 1 is required; there are no {what}")
    return items


def not_rows(what: str, given: str) -> str:
    """That a matrix is no list of samples of another kind: it may be one of them, or vectors."""
    one = what.removesuffix("s")
    return f"expected {what} but got {given}; if it is one {one}, write [{one}], and {COMPARED['vectors']}"


def together(items: Sequence[Any], kind: type[Structured]) -> Structured | None:
    """Items that are samples of one and the same ``kind``, put together; None where they are not."""
    first = items[0]
    if not (isinstance(first, Sample) and isinstance(first.samples, kind)):
        return None
    if any(not isinstance(item, Sample) or item.samples is not first.samples for item in items):
        return None
    return first.samples.take(np.array([item.place for item in items]))


def ranges(starts: NDArray[np.int64], index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions of all parts of the samples at ``index``, and the offsets of these samples among them."""
    lengths = starts[index + 1] - starts[index]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    return np.repeat(starts[index], lengths) + within, ends


def appended(starts: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The offsets of some samples and then of others."""
    return np.concatenate([starts, starts[-1] + more[1:]])


def coded(labels: Iterable[Hashable]) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Numbers of labels in the order in which they first occur, and the labels by number."""
    given = list(labels)
    try:
        known = {label: i for i, label in enumerate(dict.fromkeys(given))}
    except TypeError as error:
        raise TypeError(f"labels must be hashable, such as texts, numbers or tuples: {error}") from None
    return np.fromiter(map(known.__getitem__, given), dtype=np.int32, count=len(given)), tuple(known)


def recoded(numbers: NDArray[np.int32], labels: tuple[Any, ...], target: tuple[Any, ...]) -> NDArray[np.int32]:
    """The same labels by their number in ``target``; -1 for those it lacks."""
    if labels == target:
        return numbers
    known = {label: i for i, label in enumerate(target)}
    return np.array([known.get(label, -1) for label in labels] + [-1], dtype=np.int32)[numbers]


def merged(
    ours: tuple[NDArray[np.int32], tuple[Any, ...]], theirs: tuple[NDArray[np.int32], tuple[Any, ...]]
) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Numbers of labels and then those of others, in one numbering."""
    vocabulary = tuple(dict.fromkeys((*ours[1], *theirs[1])))
    return np.concatenate([ours[0], recoded(*theirs, vocabulary)]), vocabulary


def plain(numbers: NDArray[np.int32], labels: tuple[Any, ...]) -> tuple[bytes, tuple[Any, ...]]:
    """Labels in a form that does not depend on how they are numbered."""
    if not len(numbers):
        return b"", ()
    used, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[place].astype(np.int32).tobytes(), tuple(labels[i] for i in used[order])


def memory(*arrays: Array | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
