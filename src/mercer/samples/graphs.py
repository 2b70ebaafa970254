"""Graphs: undirected, with labels and attributes of nodes and edges, or without. All lie in a few flat arrays.

For n nodes and m edges in all: 12 n + 16 m bytes, 8 more per graph, 8 per attribute of a node and 16 per attribute of
an edge; see ``Graphs.nbytes``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.remembered import remembered
from mercer.samples.base import Array, Samples
from mercer.samples.structured import Sample, Structured, appended, memory, merged, plain, ranges, recoded
from mercer.samples.summary import some_of

Offsets = NDArray[np.int64]
Numbers = NDArray[np.int32]
#: The labels of nodes or edges that have none.
UNLABELLED: tuple[Any, ...] = (None,)
#: To tell loops from other edges among more arcs than these takes a while.
MANY = 2**17


class Graphs(Structured):
    """Made by ``as_graphs`` and ``mercer.files.read_tudataset``; ``graphs[i]`` is one, a ``Graph``, and a slice some.

    Node v of all nodes has the arcs ``arcs[v] .. arcs[v + 1] - 1``, two for every edge (one for a loop);
    ``neighbours`` counts from the first node of the graph. Labels are positions in ``node_vocabulary`` and
    ``edge_vocabulary``. ``attributes`` has a row for every node, ``arc_attributes`` one for every arc.

    >>> from mercer.samples import as_graphs
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
        arc_attributes: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__()
        self.starts, self.arcs, self.neighbours = starts, arcs, neighbours
        self.arc_labels, self.node_labels = arc_labels, node_labels
        self.edge_vocabulary, self.node_vocabulary = edge_vocabulary, node_vocabulary
        self.attributes, self.arc_attributes = attributes, arc_attributes

    @classmethod
    def of_edges(
        cls,
        starts: Offsets,
        edges: NDArray[np.int64],
        edge_labels: tuple[Numbers, tuple[Any, ...]] | None = None,
        node_labels: tuple[Numbers, tuple[Any, ...]] | None = None,
        attributes: NDArray[np.float64] | None = None,
        edge_attributes: NDArray[np.float64] | None = None,
    ) -> Graphs:
        """Graphs from pairs of nodes, numbered through; an edge may be given again, in either direction.

        Its label and attributes are those that it is first given with.
        """
        nodes = int(starts[-1])
        low, high = np.minimum(edges[:, 0], edges[:, 1]), np.maximum(edges[:, 0], edges[:, 1])
        _, which = np.unique(low * nodes + high, return_index=True)
        low, high = low[which], high[which]
        apart = low < high
        # Arcs to lower nodes before those to higher ones, each of them sorted already.
        source, target = np.concatenate([high[apart], low]), np.concatenate([low[apart], high])
        order = np.argsort(source, kind="stable")
        source, target, which = source[order], target[order], np.concatenate([which[apart], which])[order]
        arcs = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=nodes))]).astype(np.int64)
        first = np.repeat(starts[:-1], np.diff(starts))
        of_edges = edge_labels if edge_labels else _no_labels(len(edges))
        of_nodes = node_labels if node_labels else _no_labels(nodes)
        return cls(
            starts,
            arcs,
            (target - first[source]).astype(np.int32),
            of_edges[0][which],
            of_nodes[0],
            of_edges[1],
            of_nodes[1],
            attributes,
            None if edge_attributes is None else edge_attributes[which],
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def counts(self) -> dict[str, int]:
        return {"nodes": int(self.starts[-1]), "edges": self.count_edges()}

    def facts(self) -> dict[str, str]:
        tables = ("attributes of nodes", self.attributes), ("attributes of edges", self.arc_attributes)
        return {
            "labels of nodes": labels_in_words(self.node_vocabulary),
            "labels of edges": labels_in_words(self.edge_vocabulary),
            **{name: "none" if table is None else str(table.shape[1]) for name, table in tables},
        }

    def count_edges(self) -> int:
        """The number of edges; of many, loops count half."""
        return len(self.edges) if len(self.neighbours) < MANY else (len(self.neighbours) + 1) // 2

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        numbers = self.starts, self.arcs, self.neighbours, self.arc_labels, self.node_labels
        return memory(*numbers, self.attributes, self.arc_attributes)

    @remembered
    def edges(self) -> NDArray[np.int64]:
        """The arcs u -> v with u <= v: every edge once."""
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        source = np.repeat(np.arange(len(first)) - first, np.diff(self.arcs))
        return np.flatnonzero(source <= self.neighbours)

    def sample(self, place: int) -> Graph:
        return Graph(self, place)

    def to_networkx(self) -> list[Any]:
        """Graphs of networkx, which ``as_graphs`` reads as these again."""
        return [self.sample(i).to_networkx() for i in range(len(self))]

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
            None if self.arc_attributes is None else self.arc_attributes[which],
        )

    def joined(self, other: Samples) -> Samples:
        if not isinstance(other, Graphs):
            return super().joined(other)
        check_alike(other.vocabularies, self.vocabularies)
        arc_labels, edge_vocabulary = merged(
            (self.arc_labels, self.edge_vocabulary), (other.arc_labels, other.edge_vocabulary)
        )
        node_labels, node_vocabulary = merged(
            (self.node_labels, self.node_vocabulary), (other.node_labels, other.node_vocabulary)
        )
        return Graphs(
            appended(self.starts, other.starts),
            appended(self.arcs, other.arcs),
            np.concatenate([self.neighbours, other.neighbours]),
            arc_labels,
            node_labels,
            edge_vocabulary,
            node_vocabulary,
            stacked([self.attributes, other.attributes], [self.starts[-1], other.starts[-1]], "nodes"),
            stacked([self.arc_attributes, other.arc_attributes], [self.arcs[-1], other.arcs[-1]], "edges"),
        )

    @remembered
    def native(self) -> _native.Graphs:
        return self.labelled_as(*self.vocabularies)

    @property
    def vocabularies(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self.edge_vocabulary, self.node_vocabulary

    def labelled_as(self, edge_vocabulary: tuple[Any, ...], node_vocabulary: tuple[Any, ...]) -> _native.Graphs:
        """These graphs for the core, with the numbers that the labels have in other vocabularies."""
        check_alike(self.vocabularies, (edge_vocabulary, node_vocabulary))
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
        tables = self.attributes, self.arc_attributes
        return (
            self.starts.tobytes(),
            self.arcs.tobytes(),
            self.neighbours.tobytes(),
            plain(self.arc_labels, self.edge_vocabulary),
            plain(self.node_labels, self.node_vocabulary),
            *(None if table is None else (table.shape, table.tobytes()) for table in tables),
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("native", None)
        state.pop("edges", None)
        return state


class Graph(Sample):
    """One of some graphs, to be looked at: its nodes are 0, 1, 2 ...

    >>> from mercer.samples import as_graphs
    >>> graph = as_graphs([([(0, 1), (1, 2)], ["C", "C", "O"])])[0]
    >>> graph
    <graph 0 of 1: 3 nodes, 2 edges>
    >>> list(graph.nodes), graph.edges, graph.node_labels, graph.edge_labels
    ([0, 1, 2], [(0, 1), (1, 2)], ['C', 'C', 'O'], None)
    """

    samples: Graphs

    @remembered
    def _alone(self) -> Graphs:
        one: Graphs = self.alone()
        return one

    @property
    def nodes(self) -> range:
        """The nodes' numbers."""
        first, end = self.samples.starts[self.place : self.place + 2].tolist()
        return range(end - first)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Every edge once, as a pair of nodes in order."""
        one = self._alone
        source = np.repeat(np.arange(len(one.node_labels)), np.diff(one.arcs))[one.edges]
        return list(zip(source.tolist(), one.neighbours[one.edges].tolist(), strict=True))

    @property
    def node_labels(self) -> list[Any] | None:
        """The label of every node, if nodes have labels."""
        one = self._alone
        return _named(one.node_labels, one.node_vocabulary)

    @property
    def edge_labels(self) -> list[Any] | None:
        """The label of every one of the edges, if edges have labels."""
        one = self._alone
        return _named(one.arc_labels[one.edges], one.edge_vocabulary)

    @property
    def attributes(self) -> NDArray[np.float64] | None:
        """One row for every node, if nodes have attributes."""
        return self._alone.attributes

    @property
    def edge_attributes(self) -> NDArray[np.float64] | None:
        """One row for every one of the edges, if edges have attributes."""
        one = self._alone
        return None if one.arc_attributes is None else one.arc_attributes[one.edges]

    def to_networkx(self) -> Any:
        """A graph of networkx with ``label`` and ``attributes``, which ``as_graphs`` reads as this one again."""
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx() needs networkx, which is not installed: pip install networkx") from None
        graph = networkx.Graph()
        nodes, edges = self.nodes, self.edges
        of_nodes = _dictionaries(len(nodes), self.node_labels, self.attributes)
        of_edges = _dictionaries(len(edges), self.edge_labels, self.edge_attributes)
        graph.add_nodes_from(zip(nodes, of_nodes, strict=True))
        graph.add_edges_from((*edge, values) for edge, values in zip(edges, of_edges, strict=True))
        return graph

    def __repr__(self) -> str:
        edges = self._alone.count_edges()
        return f"<graph {self.place} of {len(self.samples)}: {len(self.nodes)} nodes, {edges} edges>"


def _named(numbers: Numbers, vocabulary: tuple[Any, ...]) -> list[Any] | None:
    return None if vocabulary == UNLABELLED else [vocabulary[number] for number in numbers]


def _dictionaries(count: int, labels: list[Any] | None, attributes: Array | None) -> list[dict[str, Any]]:
    """What networkx keeps of every node or edge."""
    known: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, values in ("label", labels), ("attributes", None if attributes is None else attributes.tolist()):
        if values is not None:
            for one, value in zip(known, values, strict=True):
                one[name] = value
    return known


def _no_labels(count: int) -> tuple[Numbers, tuple[Any, ...]]:
    """The labels of ``count`` nodes or edges without any: all the same one."""
    return np.zeros(count, dtype=np.int32), UNLABELLED if count else ()


def labels_in_words(vocabulary: tuple[Any, ...]) -> str:
    return "none" if vocabulary in (UNLABELLED, ()) else some_of(vocabulary)


def check_alike(
    vocabularies: tuple[tuple[Any, ...], tuple[Any, ...]], others: tuple[tuple[Any, ...], tuple[Any, ...]]
) -> None:
    """Refuses to compare labelled graphs with unlabelled ones: nothing would be equal, or all."""
    for what, own, other in zip(("edges", "nodes"), vocabularies, others, strict=True):
        if own and other and (own == UNLABELLED) != (other == UNLABELLED):
            have, others_have = ("no labels", "some") if own == UNLABELLED else ("labels", "none")
            raise ValueError(
                f"the {what} of these graphs have {have}, and those of the graphs they are compared with have "
                f"{others_have}; label the {what} of all graphs, or of none"
            )


def stacked(tables: Sequence[Array | None], sizes: Sequence[int], what: str) -> Array | None:
    """The attributes of several graphs of ``sizes`` nodes or edges; None unless all that have any know them."""
    some = [table for table, size in zip(tables, sizes, strict=True) if size]
    known = [table for table in some if table is not None]
    if not known or len(known) < len(some):
        return None
    widths = {table.shape[1] for table in known}
    if len(widths) > 1:
        raise ValueError(f"the {what} of all graphs need equally many attributes, but there are {sorted(widths)}")
    return np.concatenate(known)
