"""Sets: every sample is several things of one kind, such as the patches of an image or the atoms of a molecule."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Samples
from mercer.samples.door import as_samples
from mercer.samples.graph_forms import as_graphs, is_graph
from mercer.samples.graphs import Graphs
from mercer.samples.structured import appended, items_of, ranges


class Sets(Samples):
    """The members of all sets one after the other; set i has the members ``starts[i] .. starts[i + 1] - 1``.

    >>> from mercer.kernels import Linear
    >>> x = as_sets([[[1.0]], [[3.0], [5.0]]], Linear())
    >>> len(x), x.members.dense().ravel(), len(x.take(np.array([1])).members)
    (2, array([1., 3., 5.]), 2)
    """

    kind = "sets"

    def __init__(self, members: Samples, starts: NDArray[np.int64]) -> None:
        self.members, self.starts = members, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.members.dtype

    def astype(self, dtype: Any) -> Sets:
        return Sets(self.members.astype(dtype), self.starts)

    @property
    def nbytes(self) -> int:
        return self.members.nbytes + self.starts.nbytes

    def counts(self) -> dict[str, int]:
        return {"members": len(self.members)}

    def facts(self) -> dict[str, str]:
        return {"members are": self.members.kind, **self.members.facts()}

    def content(self) -> list[Any]:
        """A list of sets, each as a kernel of the members takes it."""
        whole = self.members.content()
        return [whole[first:end] for first, end in pairwise(self.starts.tolist())]

    def take(self, index: NDArray[np.int64]) -> Sets:
        members, starts = ranges(self.starts, index)
        return Sets(self.members.take(members), starts)

    def joined(self, other: Samples) -> Samples:
        if not isinstance(other, Sets):
            return super().joined(other)
        return Sets(self.members.joined(other.members), appended(self.starts, other.starts))

    def fingerprint(self) -> Hashable:
        return self.members.fingerprint(), self.starts.tobytes()


def as_sets(X: Any, kernel: Any) -> Sets:
    """Sets from a list, an array or a column of sets, whose members a kernel can read.

    A set is a two-dimensional array with one row per member, or a list of members. Graphs (``Graphs``, or those of
    networkx) are the sets of their nodes' attributes.

    >>> from mercer.kernels import Linear
    >>> sets = as_sets([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], Linear())
    >>> sets.starts
    array([0, 1, 3])
    """
    return sets_of(sets_or_graphs(X, kernel))


def sets_or_graphs(X: Any, kernel: Any) -> Sets | Graphs:
    """Sets as in ``as_sets``, but graphs are left as they are: other kernels may compare them, too."""
    if isinstance(X, (Sets, Graphs)):
        return X
    if isinstance(X, np.ndarray) and X.ndim == 3:
        X = list(X)
    items = items_of(X, "sets")
    if is_graph(items[0]):
        return as_graphs(items)
    sizes = [_size(members, i) for i, members in enumerate(items)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _checked(kernel.samples(_joined(items)), starts)


def sets_of(x: Samples) -> Sets:
    """Sets themselves, and the sets of the attributes of the nodes of graphs."""
    if isinstance(x, Sets):
        return x
    if not isinstance(x, Graphs):
        raise TypeError(f"expected sets, or graphs whose nodes have attributes, but got {x.kind}")
    if x.attributes is None:
        raise ValueError(
            "the nodes of these graphs have no attributes to form sets of, or not all of them have; networkx graphs "
            "have them as `attributes`, and read_tudataset reads them"
        )
    return _checked(as_samples(x.attributes), x.starts)


def _size(members: Any, i: int) -> int:
    if isinstance(members, (str, bytes)) or not hasattr(members, "__len__"):
        raise TypeError(
            f"set {i} is a {type(members).__name__}; a set is a list of its members, or an array with one row for each"
        )
    return len(members)


def _joined(sets: Sequence[Any]) -> Any:
    if all(isinstance(members, np.ndarray) and members.ndim == 2 for members in sets):
        widths = {members.shape[1] for members in sets}
        if len(widths) > 1:
            raise ValueError(f"members of all sets need equally many columns, but there are {sorted(widths)}")
        return np.concatenate(sets)
    return [member for members in sets for member in members]


def _checked(members: Samples, starts: NDArray[np.int64]) -> Sets:
    empty = np.flatnonzero(np.diff(starts) == 0)
    if len(empty):
        raise ValueError(f"set {empty[0]} is empty; a set needs at least one member")
    return Sets(members, starts)
