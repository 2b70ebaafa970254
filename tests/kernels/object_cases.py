"""Kernels of objects for the contract: their references, and lists of objects, of which some occur repeatedly."""

import numpy as np

from mercer.kernels import (
    EdgeAttributes,
    EdgeHistogram,
    Gaussian,
    Graphlet,
    PartialTree,
    RandomWalk,
    SetKernel,
    ShortestPath,
    SubsetTree,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
)

from . import naive
from . import naive_graphs as graphs
from . import naive_trees as trees

_rng = np.random.default_rng(13)


def _drawn(pool):
    """150 and 71 of them: the second list has some objects that the first has not."""
    return (
        [pool[i] for i in _rng.integers(0, len(pool) - 5, 150)],
        [pool[i] for i in _rng.integers(5, len(pool), 71)],
    )


def _attributed(graph):
    """With an edge more, for all sets of edges to have a member, and two attributes of every edge."""
    edges, labels, edge_labels = [*graph[0], (len(graph[1]), 0)], [*graph[1], "0"], [*graph[2], "0"]
    return edges, labels, edge_labels, None, _rng.standard_normal((len(edges), 2))


OBJECTS = {
    "graphs": _drawn([graphs.random_graph(_rng, 7, 0.4, 3, 2) for _ in range(30)]),
    "sets": _drawn([_rng.standard_normal((_rng.integers(1, 12), 3)) for _ in range(30)]),
    "trees": _drawn([("S", *trees.random_tree(_rng, 3, 3)) for _ in range(30)]),
    "graphs with attributes": _drawn([_attributed(graphs.random_graph(_rng, 7, 0.4, 3, 2)) for _ in range(30)]),
}

_path = graphs.of_features(graphs.shortest_path)
_subset = graphs.pairwise(lambda a, b: trees.subset_tree(a, b, 0.5))
_partial = graphs.pairwise(lambda a, b: trees.partial_tree(a, b, 0.6, 0.7))
_wl = graphs.of_features(lambda g: graphs.weisfeiler_lehman(g[:3], 1, graphs.vertex_histogram))
_edge_means = graphs.pairwise(lambda a, b: naive.gaussian(a[4], b[4], 1.0).mean())


def cosine(k):
    def normalized(A, B):
        def root(C):
            return np.sqrt([k([c], [c])[0, 0] for c in C])

        return k(A, B) / np.outer(root(A), root(B))

    return normalized


#: name, kernel, reference, data
OBJECT_CASES = [
    ("vertex histogram", VertexHistogram(), graphs.of_features(graphs.vertex_histogram), "graphs"),
    ("edge histogram", EdgeHistogram(), graphs.of_features(graphs.edge_histogram), "graphs"),
    ("shortest path", ShortestPath(), _path, "graphs"),
    *(
        (f"graphlets of {k}", Graphlet(k), graphs.of_features(lambda g, k=k: graphs.graphlet(g, k)), "graphs")
        for k in (2, 3, 4, 5)
    ),
    ("weisfeiler-lehman", WeisfeilerLehman(1), _wl, "graphs"),
    (
        "weisfeiler-lehman paths",
        WeisfeilerLehman(2, ShortestPath()),
        graphs.of_features(lambda g: graphs.weisfeiler_lehman(g, 2, graphs.shortest_path)),
        "graphs",
    ),
    ("random walk", RandomWalk(0.02), graphs.pairwise(lambda a, b: graphs.random_walk(a, b, 0.02)), "graphs"),
    ("weisfeiler-lehman cosine", WeisfeilerLehman(1).normalized(), cosine(_wl), "graphs"),
    (
        "graphs composed",
        0.5 * WeisfeilerLehman(1).normalized() + ShortestPath() ** 2,
        lambda A, B: 0.5 * cosine(_wl)(A, B) + _path(A, B) ** 2,
        "graphs",
    ),
    *(
        (
            f"sets by {how}",
            SetKernel(Gaussian(1), how),
            graphs.pairwise(lambda a, b, how=how: getattr(naive.gaussian(a, b, 1.0), how)()),
            "sets",
        )
        for how in ("sum", "mean", "max")
    ),
    (
        "attributes of edges",
        SetKernel(Gaussian(1), "sum").on(EdgeAttributes()),
        graphs.pairwise(lambda a, b: naive.gaussian(a[4], b[4], 1.0).sum()),
        "graphs with attributes",
    ),
    (
        "attributes and labels",
        0.5 * WeisfeilerLehman(1).normalized() * SetKernel(Gaussian(1)).on(EdgeAttributes()),
        lambda A, B: 0.5 * cosine(_wl)(A, B) * _edge_means(A, B),
        "graphs with attributes",
    ),
    ("subtree", Subtree(), graphs.of_features(trees.subtrees), "trees"),
    ("subset tree", SubsetTree(0.5), _subset, "trees"),
    ("partial tree", PartialTree(0.6, 0.7), _partial, "trees"),
    (
        "trees composed",
        SubsetTree(0.5).normalized() + 2 * PartialTree(0.6, 0.7).normalized(),
        lambda A, B: cosine(_subset)(A, B) + 2 * cosine(_partial)(A, B),
        "trees",
    ),
]
