"""Kernels of graphs: counts of labels, of paths, of small subgraphs, of common walks.

All take labelled and unlabelled graphs; in an unlabelled one all labels are equal. The literature divides by the norms,
``k.normalized()``, so that large graphs do not dominate; these kernels do not do it by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer import _native
from mercer.kernels.base import Kernel, Validity, instance
from mercer.kernels.columns import end_to_end, short
from mercer.kernels.explicit import Described, ExplicitKernel, Words, sparse_rows
from mercer.kernels.leaf import integer, positive
from mercer.kernels.maps import Map
from mercer.kernels.native import ObjectPairs
from mercer.kernels.pairs import Pairs
from mercer.samples import Samples, SparseVectors
from mercer.samples.base import Array
from mercer.samples.graph_forms import as_graphs
from mercer.samples.graphs import UNLABELLED, Graphs


@dataclass(frozen=True)
class EdgeAttributes(Map):
    """The attributes of the edges of every graph, as a set: ``SetKernel(Gaussian(1)).on(EdgeAttributes())``.

    >>> short, long = ([(0, 1), (1, 2)], None, None, None, [1.0, 1.5]), ([(0, 1)], None, None, None, [4.0])
    >>> EdgeAttributes()([short, long])
    [array([[1. ],
           [1.5]]), array([[4.]])]
    """

    def samples(self, X: Any) -> Samples:
        return as_graphs(X)

    def __call__(self, X: Any) -> Any:
        graphs = as_graphs(X)
        if graphs.arc_attributes is None:
            raise ValueError(
                "the edges of these graphs have no attributes to form sets of, or not all of them have; networkx "
                "graphs have them as `attributes`, lists of edges in a tuple, and read_tudataset reads them"
            )
        ends = np.searchsorted(graphs.edges, graphs.arcs[graphs.starts[1:-1]])
        return np.split(graphs.arc_attributes[graphs.edges], ends)


@dataclass(frozen=True)
class GraphLabels(Map):
    """Graphs of networkx whose labels and attributes have other names; see ``as_graphs``, which has the same four.

    >>> import networkx
    >>> water = networkx.path_graph(3)
    >>> networkx.set_node_attributes(water, {0: "H", 1: "O", 2: "H"}, "element")
    >>> VertexHistogram().on(GraphLabels("element"))([water])
    array([[5.]])
    """

    label: str | None = None
    edge_label: str | None = None
    attributes: str | None = None
    edge_attributes: str | None = None

    def samples(self, X: Any) -> Samples:
        return as_graphs(X, self.label, self.edge_label, self.attributes, self.edge_attributes)

    def __call__(self, X: Any) -> Any:
        return self.samples(X)

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"GraphLabels({', '.join(given)})"


def written(labels: tuple[Any, ...], what: str) -> list[str]:
    """Labels as texts; where there are none, what they would be labels of.

    >>> written(("C", 6), "node"), written((None,), "node")
    (['C', '6'], ['node'])
    """
    return [what] if labels == UNLABELLED else [str(label) for label in labels]


class GraphKernel(ExplicitKernel):
    """A kernel of graphs with explicit features; a subclass gives the core's recipe for them."""

    def samples(self, X: Any) -> Samples:
        return as_graphs(X)

    def recipe(self) -> _native.GraphRecipe:
        raise NotImplementedError(f"{type(self).__name__} must give its recipe")

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        """What each column counts, where the labels of nodes and edges are written so; takes its words, if it has any.

        ``words`` is what the core has learnt: sequences of numbers, one for every column.
        """
        raise NotImplementedError(f"{type(self).__name__} must name its columns")

    def texts(self, language: Any) -> list[str]:
        features, (edges, nodes) = language
        words = (Words(*arrays) for arrays in features.words())
        return self.columns(words, written(nodes, "node"), written(edges, "edge"))

    def learn(self, x: Graphs) -> Described:
        features = _native.GraphFeatures(self.recipe())
        return Described(sparse_rows(features.learn(x.native), len(x)), (features, x.vocabularies))

    def look_up(self, x: Graphs, language: Any) -> SparseVectors:
        features, vocabularies = language
        return sparse_rows(features.look_up(x.labelled_as(*vocabularies)), len(x))


@dataclass(frozen=True, repr=False)
class VertexHistogram(GraphKernel):
    """k(G, G') = sum over labels of the numbers of nodes that have it: n_label(G) n_label(G')

    Sugiyama and Borgwardt, "Halting in random walk kernels" (NeurIPS 2015).

    >>> water = [(0, 1), (1, 2)], ["H", "O", "H"]
    >>> VertexHistogram()([water])
    array([[5.]])
    """

    def recipe(self) -> _native.GraphRecipe:
        return _native.vertex_histogram()

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        return nodes


@dataclass(frozen=True, repr=False)
class EdgeHistogram(GraphKernel):
    """k(G, G') = sum over labels of the numbers of edges that have it: m_label(G) m_label(G')

    Sugiyama and Borgwardt, "Halting in random walk kernels" (NeurIPS 2015).

    >>> butadiene = [(0, 1), (1, 2), (2, 3)], None, ["double", "single", "double"]
    >>> EdgeHistogram()([butadiene])
    array([[5.]])
    """

    def recipe(self) -> _native.GraphRecipe:
        return _native.edge_histogram()

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        return edges


@dataclass(frozen=True, repr=False)
class ShortestPath(GraphKernel):
    """k(G, G') = sum over ordered pairs of nodes of each of [equal labels at the start, at the end, equal distance > 0]

    Distances count edges; nodes that no path joins form no pair. Borgwardt and Kriegel, "Shortest-path kernels on
    graphs" (ICDM 2005).

    >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]
    >>> ShortestPath()([(path, None), (triangle, None)])
    array([[20., 24.],
           [24., 36.]])
    """

    def recipe(self) -> _native.GraphRecipe:
        return _native.shortest_path()

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        return [f"{nodes[start]} -{distance}- {nodes[end]}" for start, end, distance in next(words)]


@dataclass(frozen=True, repr=False)
class Graphlet(GraphKernel):
    """k(G, G') = sum over graphlets of how often G and G' have it, as connected induced subgraph of k nodes, 2 to 5

    Two subgraphs are the same graphlet if they are isomorphic, labels included. Shervashidze et al., "Efficient
    graphlet kernels for large graph comparison" (AISTATS 2009); found by Wernicke's enumeration (2006).

    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> Graphlet(3).features([(square, None)]).toarray()
    array([[4.]])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", integer("k", self.k, 2))
        if self.k > 5:
            raise ValueError(f"graphlets have 2 to 5 nodes, not {self.k}: there are too many larger ones to count")

    def recipe(self) -> _native.GraphRecipe:
        return _native.graphlet(self.k)

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        """The labels of the nodes, and the pairs of them that have an edge, with its label if there are several."""
        pairs = list(combinations(range(self.k), 2))
        names = []
        for word in next(words):
            joined = [
                f"{i}-{j}{f' {edges[label - 1]}' if len(edges) > 1 else ''}"
                for (i, j), label in zip(pairs, word[self.k :], strict=True)
                if label
            ]
            names.append(f"{', '.join(nodes[label] for label in word[: self.k])} ({', '.join(joined)})")
        return names


@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(GraphKernel):
    """k(G, G') = base(G_0, G'_0) + ... + base(G_h, G'_h), where G_0 = G and G_i is G_(i-1) with new labels

    The new label of a node stands for its label and those of its neighbours, with the labels of the edges between if
    edges have labels. With the default base this counts the trees that h steps around a node unfold to. Shervashidze et
    al., "Weisfeiler-Lehman graph kernels" (JMLR 2011).

    >>> ethanol, ether = ([(0, 1), (1, 2)], ["C", "C", "O"]), ([(0, 1), (1, 2)], ["C", "O", "C"])
    >>> WeisfeilerLehman(1)([ethanol, ether])
    array([[ 8.,  5.],
           [ 5., 10.]])
    """

    h: int
    base: Kernel = VertexHistogram()

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", integer("h", self.h, 0))
        if not isinstance(instance(self.base), GraphKernel):
            raise TypeError(
                f"the base of WeisfeilerLehman is a kernel of graphs with explicit features, such as "
                f"VertexHistogram() or ShortestPath(), not {self.base!r}"
            )

    def recipe(self) -> _native.GraphRecipe:
        assert isinstance(self.base, GraphKernel)
        return _native.weisfeiler_lehman(self.h, self.base.recipe())

    def columns(self, words: Iterator[Words], nodes: list[str], edges: list[str]) -> list[str]:
        """Those of the base for every round: the new label of a node is the tree that its neighbourhood unfolds to.

        ``C(C, O(H))`` is a C with a neighbour C and a neighbour O, which has a neighbour H.
        """
        assert isinstance(self.base, GraphKernel)
        names = [self.base.columns(words, nodes, edges)]
        roots = nodes
        for number in range(1, self.h + 1):
            relabelled = list(next(words))
            nodes = [
                short(f"{roots[word[0]]}({', '.join(around(word[1:], nodes, edges))})", f"{number}.{i}")
                for i, word in enumerate(relabelled)
            ]
            roots = [roots[word[0]] for word in relabelled]
            names.append(self.base.columns(words, nodes, edges))
        return end_to_end(names)


def around(word: list[int], nodes: list[str], edges: list[str]) -> list[str]:
    """The neighbours of a node, each behind the label of the edge if there are several: ``double:O``."""
    if len(edges) > 1:
        return sorted(f"{edges[edge]}:{nodes[node]}" for node, edge in zip(word[::2], word[1::2], strict=True))
    return sorted(nodes[node] for node in word)


@dataclass(frozen=True, repr=False)
class RandomWalk(Kernel):
    """k(G, G') = sum over lengths l = 0, 1, ... of decay^l times the pairs of walks of length l with equal labels

    It is 1'(I - decay W)^-1 1 with W the adjacency matrix of the product graph, and infinite unless decay is below
    1 over the largest eigenvalue of W, which is at most the product of the largest degrees. Gaertner, Flach and
    Wrobel, "On graph kernels" (COLT 2003); Vishwanathan et al., "Graph kernels" (JMLR 2010).

    >>> edge = [(0, 1)], None
    >>> RandomWalk(0.1)([edge]).round(4)
    array([[4.4444]])
    """

    decay: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", positive("decay", self.decay))

    @property
    def validity(self) -> Validity:
        return "psd"

    def samples(self, X: Any) -> Samples:
        return as_graphs(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a, b = as_graphs(x), as_graphs(z)
        left = b.native if x is z else a.labelled_as(*b.vocabularies)
        return ObjectPairs(_native.random_walk(left, b.native, self.decay), (len(x), len(z)), x is z)

    def diag_of(self, x: Samples) -> Array:
        native, out = as_graphs(x).native, np.empty(len(x))
        _native.random_walk(native, native, self.decay).diagonal(out)
        return out
