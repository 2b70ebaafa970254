"""as_graphs: every way in which a graph may be given, read into the flat arrays of ``Graphs``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import is_
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _native
from mercer.caller import warn_caller
from mercer.errors import MercerWarning
from mercer.samples.base import Array
from mercer.samples.graphs import Graphs, Numbers, stacked
from mercer.samples.kinds import is_networkx
from mercer.samples.structured import Sample, coded, items_of, together

WAYS = (
    "a graph is given as a networkx graph, a square adjacency matrix (an array or a SciPy sparse one), a list of edges "
    "(pairs of positions, or an array of two columns), or a tuple (adjacency matrix or edges, labels of the nodes, "
    "labels of the edges, attributes of the nodes, attributes of the edges), all but the first optional"
)


@dataclass
class _One:
    """A graph as it was read."""

    nodes: int
    edges: NDArray[np.int64]
    edge_labels: Sequence[Any] | None
    node_labels: Sequence[Any] | None
    attributes: Array | None = None
    edge_attributes: Array | None = None
    #: What networkx knows of some nodes, and of some edges, by name, with an example of each.
    known: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """What labels and attributes are called in graphs of networkx; None where the user has not said it."""

    label: str | None = None
    edge_label: str | None = None
    attributes: str | None = None
    edge_attributes: str | None = None

    def of(self, what: str) -> tuple[str | None, str | None]:
        """Those of the nodes, or of the edges."""
        return (self.label, self.attributes) if what == "nodes" else (self.edge_label, self.edge_attributes)

    def read(self, what: str) -> tuple[str, str]:
        label, attributes = self.of(what)
        return label or "label", attributes or "attributes"


class UnreadAttributesWarning(MercerWarning, UserWarning):
    """Nodes or edges of networkx graphs have attributes that are not read, and nobody said that this is meant.

    >>> import warnings, networkx
    >>> path = networkx.path_graph(2)
    >>> networkx.set_node_attributes(path, "C", "element")
    >>> with warnings.catch_warnings(record=True) as met:
    ...     warnings.simplefilter("always")
    ...     _ = as_graphs([path])
    >>> print(str(met[0].message)[:59], met[0].category.__name__)
    the nodes of these graphs have `element`, which is not read UnreadAttributesWarning
    """


def as_graphs(
    X: Any,
    label: str | None = None,
    edge_label: str | None = None,
    attributes: str | None = None,
    edge_attributes: str | None = None,
) -> Graphs:
    """Graphs from a list, an array or a column of graphs, each given in any of these ways:

    - a networkx graph; nodes and edges may have a ``label`` and a vector of ``attributes``, or these under the names
      that are given: ``as_graphs(X, label="element", edge_label="bond")``. A warning tells of what is there but not
      read, unless a name was given, which says that the rest is left out on purpose;
    - a square adjacency matrix, dense or SciPy sparse, where any number but 0 is an edge; of several dense ones, X may
      be the stack, an array of three dimensions;
    - a list of edges, which are pairs of positions among the nodes, or an array of them with two columns; an array of
      two rows and two columns is an adjacency matrix;
    - a tuple ``(matrix or edges, labels of nodes, labels of edges, attributes of nodes, attributes of edges)`` of which
      all but the first may be left out or None. Attributes are numbers, one row for each node or edge. Beside an
      adjacency matrix, labels and attributes of edges are matrices, too: ``(A, None, None, None, A)`` has A's numbers
      as attributes. Without labels and attributes of nodes there are as many nodes as the edges name.

    Nodes are labelled in all graphs or in none, and so are edges.

    >>> ethanol = [(0, 1), (1, 2)], ["C", "C", "O"]
    >>> as_graphs([ethanol])
    <1 graphs, 3 nodes, 2 edges, 92 bytes>
    >>> as_graphs([[(0, 1), (1, 2)]])
    <1 graphs, 3 nodes, 2 edges, 92 bytes>
    """
    if isinstance(X, Graphs):
        return X
    stack = isinstance(X, np.ndarray) and X.ndim == 3
    items = list(X) if stack and len(X) else items_of(X, "graphs")
    known = together(items, Graphs)
    if known is not None:
        assert isinstance(known, Graphs)
        return known
    names = Names(label, edge_label, attributes, edge_attributes)
    try:
        graphs = [_read(item, i, names) for i, item in enumerate(items)]
    except (TypeError, ValueError):
        if not any(map(is_graph, items)) and _is_one(X, names):
            raise TypeError("expected a list of graphs but got one graph; write [graph]") from None
        raise
    for what in ("nodes", "edges"):
        _check_names(what, names, [graph.known[what] for graph in graphs if what in graph.known])
    return _assembled(graphs)


def _check_names(what: str, names: Names, known: Sequence[dict[str, Any]]) -> None:
    """Refuses a name that no graph of networkx knows, and tells of what the nodes or edges have but is not read."""
    examples = {name: value for graph in reversed(known) for name, value in graph.items()}
    have = ", ".join(f"`{name}`" for name in sorted(map(str, examples)))
    for name in names.of(what):
        if name is not None and known and name not in examples:
            raise ValueError(f"none of the {what} of these graphs has `{name}`; they have {have or 'no attributes'}")
    unread = {name: value for name, value in examples.items() if name not in names.read(what)}
    if not unread or any(names.of(what)):
        return
    name = min(unread, key=str)
    is_label = isinstance(unread[name], Hashable) and not isinstance(unread[name], (float, tuple))
    option = ("" if what == "nodes" else "edge_") + ("label" if is_label else "attributes")
    listed = ", ".join(f"`{name}`" for name in sorted(map(str, unread)))
    warn_caller(
        f"the {what} of these graphs have {listed}, which {'is' if len(unread) == 1 else 'are'} not read: only `label` "
        f"and `attributes` are. Name what is to be read, by as_graphs(X, {option}={name!r}) or by "
        f"kernel.on(GraphLabels({option}={name!r})); a name that is given says that the rest is left out on purpose",
        UnreadAttributesWarning,
    )


def is_graph(item: Any) -> bool:
    """Whether an object can be nothing but a graph: one of networkx, or one of ``Graphs``."""
    return _is_sample(item) or is_networkx(item)


def _is_sample(item: Any) -> bool:
    return isinstance(item, Sample) and isinstance(item.samples, Graphs)


def _is_one(X: Any, names: Names) -> bool:
    """Whether it can be read as a single graph."""
    try:
        _read(X, 0, names)
    except (TypeError, ValueError):
        return False
    return True


def _assembled(graphs: Sequence[_One]) -> Graphs:
    nodes, arcs = [graph.nodes for graph in graphs], [len(graph.edges) for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(nodes)]).astype(np.int64)
    return Graphs.of_edges(
        starts,
        np.concatenate([graph.edges for graph in graphs]) + np.repeat(starts[:-1], arcs)[:, None],
        _coded_labels([graph.edge_labels for graph in graphs], arcs, "edges"),
        _coded_labels([graph.node_labels for graph in graphs], nodes, "nodes"),
        stacked([graph.attributes for graph in graphs], nodes, "nodes"),
        stacked([graph.edge_attributes for graph in graphs], arcs, "edges"),
    )


def _coded_labels(
    labels: Sequence[Sequence[Any] | None], sizes: Sequence[int], what: str
) -> tuple[Numbers, tuple[Any, ...]] | None:
    """The labels of the nodes or edges of all graphs; those that have no nodes, or edges, have no say."""
    labels = [_without_none(own, what, i) for i, own in enumerate(labels)]
    given = [i for i, own in enumerate(labels) if own is not None and sizes[i]]
    lacking = [i for i, own in enumerate(labels) if own is None and sizes[i]]
    if given and lacking:
        raise ValueError(
            f"the {what} of graph {given[0]} have labels, but those of graph {lacking[0]} have none; label the {what} "
            "of all graphs, or of none"
        )
    return coded(chain.from_iterable(own for own in labels if own)) if given else None


def _without_none(labels: Sequence[Any] | None, what: str, i: int) -> Sequence[Any] | None:
    """Labels of which none is None, which is what the unlabelled have."""
    lacking = 0 if labels is None else sum(map(is_, labels, repeat(None)))
    if labels is None or not lacking:
        return labels
    if lacking < len(labels):
        raise ValueError(
            f"{lacking} of the {len(labels)} {what} of graph {i} have the label None, which stands for no label, but "
            "others have one; label all of them, or none"
        )
    return None


def _read(graph: Any, i: int, names: Names) -> _One:
    if _is_sample(graph):
        return _unpacked(graph)
    if is_networkx(graph):
        return _networkx(graph, i, names)
    if not (isinstance(graph, (tuple, list, np.ndarray)) or sp.issparse(graph)):
        raise TypeError(f"graph {i} is a {type(graph).__name__}; {WAYS}")
    given = graph if isinstance(graph, tuple) else (graph,)
    if not 1 <= len(given) <= 5:
        raise ValueError(f"graph {i} is a tuple of {len(given)}; {WAYS}")
    what, labels, edge_labels, attributes, edge_attributes = (*given, None, None, None, None)[:5]
    read = _adjacency if _is_matrix(what) else _edges
    return read(what, labels, edge_labels, attributes, edge_attributes, i)


def _is_matrix(what: Any) -> bool:
    """Whether it is to be an adjacency matrix; what has two columns and is not square is a list of edges."""
    if isinstance(what, np.ndarray):
        return what.ndim == 2 and (what.shape[1] != 2 or len(what) == 2)
    return bool(sp.issparse(what))


def _unpacked(graph: Any) -> _One:
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    labels, edge_labels = graph.node_labels, graph.edge_labels
    return _One(len(graph.nodes), edges, edge_labels, labels, graph.attributes, graph.edge_attributes)


def _networkx(graph: Any, i: int, names: Names) -> _One:
    if graph.is_directed():
        raise ValueError(f"graph {i} is directed, and the kernels compare undirected graphs; use graph.to_undirected()")
    place = {node: k for k, node in enumerate(graph.nodes)}
    edges = [(place[u], place[v]) for u, v in graph.edges()]
    of_nodes = [values for _, values in graph.nodes(data=True)]
    of_edges = [values for _, _, values in graph.edges(data=True)]
    (label, attributes), (edge_label, edge_attributes) = names.read("nodes"), names.read("edges")
    known = {"nodes": _all_of(of_nodes)} if of_nodes else {}
    return _One(
        len(place),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        _known(edge_label, of_edges, "edges", i),
        _known(label, of_nodes, "nodes", i),
        _table(_known(attributes, of_nodes, "nodes", i), len(place), "nodes", i),
        _table(_known(edge_attributes, of_edges, "edges", i), len(edges), "edges", i),
        known | ({"edges": _all_of(of_edges)} if of_edges else {}),
    )


def _all_of(data: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Every name that some of the nodes or edges know something by, and what the first of them does."""
    names: set[str] = set().union(*data)
    return {name: next(one[name] for one in data if name in one) for name in names}


def _known(name: str, data: list[Any], what: str, i: int) -> list[Any] | None:
    """What the nodes or edges of a networkx graph say under a name; None if none of them does."""
    values = [one.get(name) for one in data]
    lacking = sum(value is None for value in values)
    if 0 < lacking < len(values):
        raise ValueError(
            f"{lacking} of the {len(values)} {what} of graph {i} have no `{name}`, but others have; give it to all of "
            "them, or to none"
        )
    return values if len(values) > lacking else None


def _table(rows: Any, n: int, what: str, i: int) -> Array | None:
    """Attributes as an array of one row for each node or edge."""
    if rows is None:
        return None
    try:
        table = np.array(rows.tolist() if isinstance(rows, np.ndarray) else list(rows), dtype=np.float64)
    except OverflowError:
        raise ValueError(
            f"the `attributes` of the {what} of graph {i} have an integer beyond the range of float64; rescale it first"
        ) from None
    except (TypeError, ValueError):
        raise ValueError(f"the `attributes` of the {what} of graph {i} must be equally many numbers each") from None
    if len(table) != n or table.ndim > 2:
        raise ValueError(f"graph {i} has {n} {what} but attributes of shape {table.shape}; give one row for each")
    return table.reshape(n, -1) if n else np.zeros((0, 1))


def _adjacency(matrix: Any, labels: Any, edge_labels: Any, attributes: Any, edge_attributes: Any, i: int) -> _One:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the adjacency matrix of graph {i} must be square (or have two columns, to be a list of edges), but its "
            f"shape is {matrix.shape}"
        )
    dense = isinstance(matrix, np.ndarray)
    edges = _native.edges(np.asarray(matrix, dtype=np.float64)) if dense else _joined(matrix)
    if edges is None:
        nan = (matrix != matrix).sum() > 0
        what = "has NaN among its entries" if nan else "is not symmetric; the kernels compare undirected graphs"
        raise ValueError(f"the adjacency matrix of graph {i} {what}")
    n = matrix.shape[0]
    own = _entries(edge_labels, edges, n, "labels", i)
    return _One(
        n,
        edges,
        None if own is None else own.tolist(),
        _labels(labels, n, "nodes", i),
        _table(attributes, n, "nodes", i),
        _table(_entries(edge_attributes, edges, n, "attributes", i), len(edges), "edges", i),
    )


def _joined(matrix: Any) -> NDArray[np.int64] | None:
    """What ``_native.edges`` returns, for a sparse matrix."""
    if (matrix != matrix.T).sum():
        return None
    source, target = matrix.nonzero()
    once = source <= target
    return np.stack([source[once], target[once]], axis=1).astype(np.int64)


def _entries(matrix: Any, edges: NDArray[np.int64], n: int, what: str, i: int) -> Array | None:
    """What a symmetric matrix beside the adjacency matrix has at the edges."""
    if matrix is None:
        return None
    sparse = sp.issparse(matrix)
    values: Any = matrix.tocsr() if sparse else np.asarray(matrix)
    if values.shape[:2] != (n, n):
        raise ValueError(
            f"graph {i} is an adjacency matrix of {n} nodes, so the {what} of its edges are given as a matrix of {n} "
            f"rows and columns, not of shape {values.shape}; or give a list of edges instead"
        )
    there, back = (np.asarray(values[edges[:, u], edges[:, 1 - u]]) for u in (0, 1))
    if not np.array_equal(there, back):
        raise ValueError(f"the matrix of {what} of edges of graph {i} is not symmetric; edges have no direction")
    return there.ravel() if sparse else there


def _edges(pairs: Any, labels: Any, edge_labels: Any, attributes: Any, edge_attributes: Any, i: int) -> _One:
    try:
        values = np.array([(u, v) for u, v in pairs])
        if values.ndim != 2 and len(values):
            raise ValueError
        values = values.reshape(-1, 2)
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
    of_nodes = labels if labels is not None else attributes
    n = int(edges.max(initial=-1)) + 1 if of_nodes is None else len(of_nodes)
    low, high = int(edges.min(initial=0)), int(edges.max(initial=-1))
    if low < 0 or high >= n:
        outside = low if low < 0 else high
        raise ValueError(f"graph {i} has an edge to node {outside}, but its nodes are 0 to {n - 1}")
    return _One(
        n,
        edges,
        _labels(edge_labels, len(edges), "edges", i),
        _labels(labels, n, "nodes", i),
        _table(attributes, n, "nodes", i),
        _table(edge_attributes, len(edges), "edges", i),
    )


def _labels(labels: Any, n: int, what: str, i: int) -> list[Any] | None:
    if labels is None:
        return None
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(values) != n:
        raise ValueError(f"graph {i} has {n} {what} but {len(values)} labels of {what}")
    return values
