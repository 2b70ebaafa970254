"""Graphs: undirected, with labels on nodes and edges, or without. All of them lie in a few flat arrays.

For n nodes and m edges in all: 12 n + 16 m bytes, 8 more per graph, and 8 per node attribute; see ``Graphs.nbytes``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _native
from mercer.samples.base import Array
from mercer.samples.structured import Sample, Structured, coded, items_of, memory, plain, ranges, recoded, together

Offsets = NDArray[np.int64]
Numbers = NDArray[np.int32]
#: The labels of nodes or edges that have none.
UNLABELLED: tuple[Any, ...] = (None,)
WAYS = (
    "a graph is given as a networkx graph, a square adjacency matrix (an array or a SciPy sparse one), a list of edges "
    "(pairs of positions, or an array of two columns), or a tuple (adjacency matrix or edges, labels of the nodes, "
    "labels of the edges), the labels optional"
)


class Graphs(Structured):
    """Made by ``as_graphs`` and ``mercer.files.read_tudataset``; ``graphs[i]`` is one of them, a slice some.

    Node v of all nodes has the arcs ``arcs[v] .. arcs[v + 1] - 1``; ``neighbours`` counts from the first node of the
    graph. Labels are positions in ``node_vocabulary`` and ``edge_vocabulary``.

    >>> graphs = as_graphs([([(0, 1), (1, 2)], ["C", "C", "O"]), ([(0, 1)], ["O", "H"])])
    >>> len(graphs), graphs.node_vocabulary, graphs[1:]
    (2, ('C', 'O', 'H'), <1 graphs, 2 nodes, 1 edges, 64 bytes>)
    """

    kind = "graphs"

    def __init__(
        self,
        starts: Offsets,
        arcs: Offsets,
        neighbours: Numbers,
        arc_labels: Numbers,
        node_labels: Numbers,
        edge_vocabulary: tuple[Any, ...] = UNLABELLED,
        node_vocabulary: tuple[Any, ...] = UNLABELLED,
        attributes: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__()
        self.starts, self.arcs, self.neighbours = starts, arcs, neighbours
        self.arc_labels, self.node_labels = arc_labels, node_labels
        self.edge_vocabulary, self.node_vocabulary = edge_vocabulary, node_vocabulary
        self.attributes = attributes

    @classmethod
    def of_edges(
        cls,
        starts: Offsets,
        edges: NDArray[np.int64],
        edge_labels: tuple[Numbers, tuple[Any, ...]] | None = None,
        node_labels: tuple[Numbers, tuple[Any, ...]] | None = None,
        attributes: NDArray[np.float64] | None = None,
    ) -> Graphs:
        """Graphs from pairs of nodes, numbered through; an edge may be given in one direction or in both."""
        nodes = int(starts[-1])
        numbers, names = edge_labels if edge_labels else (np.zeros(len(edges), dtype=np.int32), UNLABELLED)
        source = np.concatenate([edges[:, 0], edges[:, 1]])
        target = np.concatenate([edges[:, 1], edges[:, 0]])
        labels = np.concatenate([numbers, numbers])
        order = np.lexsort((target, source))
        source, target, labels = source[order], target[order], labels[order]
        fresh = np.ones(len(source), dtype=bool)
        fresh[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        source, target, labels = source[fresh], target[fresh], labels[fresh]
        arcs = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=nodes))]).astype(np.int64)
        first = np.repeat(starts[:-1], np.diff(starts))
        of_nodes = node_labels if node_labels else (np.zeros(nodes, dtype=np.int32), UNLABELLED)
        neighbours = (target - first[source]).astype(np.int32)
        return cls(starts, arcs, neighbours, labels.astype(np.int32), of_nodes[0], names, of_nodes[1], attributes)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        edges = len(self.neighbours) // 2
        return f"<{len(self)} graphs, {self.starts[-1]} nodes, {edges} edges, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return memory(self.starts, self.arcs, self.neighbours, self.arc_labels, self.node_labels, self.attributes)

    def gather(self, index: NDArray[np.int64]) -> Graphs:
        nodes, starts = ranges(self.starts, index)
        which, arcs = ranges(self.arcs, nodes)
        return Graphs(
            starts,
            arcs,
            self.neighbours[which],
            self.arc_labels[which],
            self.node_labels[nodes],
            self.edge_vocabulary,
            self.node_vocabulary,
            None if self.attributes is None else self.attributes[nodes],
        )

    @cached_property
    def native(self) -> _native.Graphs:
        return self.labelled_as(*self.vocabularies)

    @property
    def vocabularies(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self.edge_vocabulary, self.node_vocabulary

    def labelled_as(self, edge_vocabulary: tuple[Any, ...], node_vocabulary: tuple[Any, ...]) -> _native.Graphs:
        """These graphs for the core, with the numbers that the labels have in other vocabularies."""
        return _native.Graphs(
            self.starts,
            self.arcs,
            self.neighbours,
            recoded(self.arc_labels, self.edge_vocabulary, edge_vocabulary),
            recoded(self.node_labels, self.node_vocabulary, node_vocabulary),
            len(edge_vocabulary),
            len(node_vocabulary),
        )

    def fingerprint(self) -> Hashable:
        return (
            self.starts.tobytes(),
            self.arcs.tobytes(),
            self.neighbours.tobytes(),
            plain(self.arc_labels, self.edge_vocabulary),
            plain(self.node_labels, self.node_vocabulary),
            None if self.attributes is None else (self.attributes.shape, self.attributes.tobytes()),
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("native", None)
        return state


@dataclass
class _One:
    """A graph as it was read."""

    nodes: int
    edges: NDArray[np.int64]
    edge_labels: Sequence[Any] | None
    node_labels: Sequence[Any] | None
    attributes: Array | None = None


def as_graphs(X: Any) -> Graphs:
    """Graphs from a list, an array or a column of graphs, each given in any of these ways:

    - a networkx graph; nodes and edges may have a ``label``, nodes an ``attributes`` vector;
    - a square adjacency matrix, dense or SciPy sparse, where any number but 0 is an edge;
    - a list of edges, which are pairs of positions among the nodes, or an array of them with two columns; an array of
      two rows and two columns is an adjacency matrix;
    - a tuple ``(adjacency matrix, node labels)`` or ``(edges, node labels[, edge labels])``; the labels may be left out
      or None. Without labels there are as many nodes as the edges name.

    Only graphs of networkx bring attributes of nodes along; ``Graphs.of_edges`` takes them for all graphs at once.

    >>> ethanol = [(0, 1), (1, 2)], ["C", "C", "O"]
    >>> as_graphs([ethanol])
    <1 graphs, 3 nodes, 2 edges, 92 bytes>
    >>> as_graphs([[(0, 1), (1, 2)]])
    <1 graphs, 3 nodes, 2 edges, 92 bytes>
    """
    if isinstance(X, Graphs):
        return X
    items = items_of(X, "graphs")
    known = together(items, Graphs)
    if known is not None:
        assert isinstance(known, Graphs)
        return known
    return _assembled([_read(item, i) for i, item in enumerate(items)])


def is_graph(item: Any) -> bool:
    """Whether an object can be nothing but a graph: one of networkx, or one of ``Graphs``."""
    return _is_sample(item) or _is_networkx(item)


def _is_sample(item: Any) -> bool:
    return isinstance(item, Sample) and isinstance(item.samples, Graphs)


def _is_networkx(item: Any) -> bool:
    return hasattr(item, "is_directed") and hasattr(item, "edges") and hasattr(item, "nodes")


def _assembled(graphs: Sequence[_One]) -> Graphs:
    sizes = [graph.nodes for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts[:-1], strict=True)])
    node_labels = edge_labels = attributes = None
    if any(graph.node_labels is not None for graph in graphs):
        node_labels = coded(chain.from_iterable(graph.node_labels or [None] * graph.nodes for graph in graphs))
    if any(graph.edge_labels is not None for graph in graphs):
        edge_labels = coded(chain.from_iterable(graph.edge_labels or [None] * len(graph.edges) for graph in graphs))
    if all(graph.attributes is not None or not graph.nodes for graph in graphs):
        widths = {graph.attributes.shape[1] for graph in graphs if graph.attributes is not None and graph.nodes}
        if len(widths) > 1:
            raise ValueError(f"the nodes of all graphs need equally many attributes, but there are {sorted(widths)}")
        some = [graph.attributes for graph in graphs if graph.attributes is not None and graph.nodes]
        attributes = np.concatenate(some) if some else None
    return Graphs.of_edges(starts, edges, edge_labels, node_labels, attributes)


def _read(graph: Any, i: int) -> _One:
    if _is_sample(graph):
        return _unpacked(graph.alone())
    if _is_networkx(graph):
        return _networkx(graph, i)
    if not (isinstance(graph, (tuple, list, np.ndarray)) or sp.issparse(graph)):
        raise TypeError(f"graph {i} is a {type(graph).__name__}; {WAYS}")
    given = graph if isinstance(graph, tuple) else (graph,)
    if not 1 <= len(given) <= 3:
        raise ValueError(f"graph {i} is a tuple of {len(given)}; {WAYS}")
    what, labels, edge_labels = (*given, None, None)[:3]
    if not _is_matrix(what):
        return _edges(what, labels, edge_labels, i)
    if edge_labels is not None:
        raise ValueError(f"graph {i} has labels of edges beside an adjacency matrix; give a list of edges")
    return _adjacency(what, labels, i)


def _is_matrix(what: Any) -> bool:
    """Whether it is to be an adjacency matrix; what has two columns and is not square is a list of edges."""
    return sp.issparse(what) or (
        isinstance(what, np.ndarray) and what.ndim == 2 and (what.shape[1] != 2 or len(what) == 2)
    )


def _unpacked(one: Any) -> _One:
    n = len(one.node_labels)
    source = np.repeat(np.arange(n), np.diff(one.arcs))
    once = source <= one.neighbours
    edges = np.stack([source, one.neighbours.astype(np.int64)], axis=1)[once]
    edge_labels = [one.edge_vocabulary[k] for k in one.arc_labels[once]] if one.edge_vocabulary != UNLABELLED else None
    node_labels = [one.node_vocabulary[k] for k in one.node_labels] if one.node_vocabulary != UNLABELLED else None
    return _One(n, edges, edge_labels, node_labels, one.attributes)


def _networkx(graph: Any, i: int) -> _One:
    if graph.is_directed():
        raise ValueError(f"graph {i} is directed, and the kernels compare undirected graphs; use graph.to_undirected()")
    place = {node: k for k, node in enumerate(graph.nodes)}
    edges = [(place[u], place[v]) for u, v in graph.edges()]
    data = [values for _, _, values in graph.edges(data=True)]
    labels = [values.get("label") for _, values in graph.nodes(data=True)]
    edge_labels = [values.get("label") for values in data]
    attributes = [values.get("attributes") for _, values in graph.nodes(data=True)]
    return _One(
        len(place),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        edge_labels if any(label is not None for label in edge_labels) else None,
        labels if any(label is not None for label in labels) else None,
        _table(attributes, i) if attributes and all(a is not None for a in attributes) else None,
    )


def _table(attributes: list[Any], i: int) -> Array:
    try:
        return np.array(attributes, dtype=np.float64).reshape(len(attributes), -1)
    except (TypeError, ValueError):
        raise ValueError(f"the `attributes` of the nodes of graph {i} must be equally many numbers each") from None


def _adjacency(matrix: Any, labels: Any, i: int) -> _One:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the adjacency matrix of graph {i} must be square (or have two columns, to be a list of edges), but its "
            f"shape is {matrix.shape}"
        )
    dense = isinstance(matrix, np.ndarray)
    edges = _native.edges(np.asarray(matrix, dtype=np.float64)) if dense else _joined(matrix)
    if edges is None:
        raise ValueError(f"the adjacency matrix of graph {i} is not symmetric; the kernels compare undirected graphs")
    n = matrix.shape[0]
    return _One(n, edges, None, _labels(labels, n, "nodes", i))


def _joined(matrix: Any) -> NDArray[np.int64] | None:
    """What ``_native.edges`` returns, for a sparse matrix."""
    if (matrix != matrix.T).sum():
        return None
    source, target = matrix.nonzero()
    once = source <= target
    return np.stack([source[once], target[once]], axis=1).astype(np.int64)


def _edges(pairs: Any, labels: Any, edge_labels: Any, i: int) -> _One:
    try:
        values = np.array([(u, v) for u, v in pairs]).reshape(-1, 2)
        with np.errstate(invalid="ignore"):
            edges = np.rint(values).astype(np.int64)
    except (TypeError, ValueError):
        raise ValueError(f"the edges of graph {i} are no list of pairs of positions; {WAYS}") from None
    broken = np.flatnonzero(~(edges == values).all(axis=1))
    if len(broken):
        raise ValueError(
            f"graph {i} has the edge {tuple(values[broken[0]].tolist())}, but nodes are named by their positions, "
            "which are whole numbers"
        )
    n = int(edges.max(initial=-1)) + 1 if labels is None else len(labels)
    low, high = int(edges.min(initial=0)), int(edges.max(initial=-1))
    if low < 0 or high >= n:
        outside = low if low < 0 else high
        raise ValueError(f"graph {i} has an edge to node {outside}, but its nodes are 0 to {n - 1}")
    return _One(n, edges, _labels(edge_labels, len(edges), "edges", i), _labels(labels, n, "nodes", i))


def _labels(labels: Any, n: int, what: str, i: int) -> list[Any] | None:
    if labels is None:
        return None
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(values) != n:
        raise ValueError(f"graph {i} has {n} {what} but {len(values)} labels of {what}")
    return values
