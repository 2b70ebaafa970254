"""Kernels of graphs as their definitions say, in plain Python: a graph is (edges, node labels, edge labels)."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np


def neighbours(graph):
    """For every node, its neighbours and the label of the edge to each."""
    edges, labels, edge_labels = graph
    around = [{} for _ in labels]
    for (u, v), label in zip(edges, edge_labels, strict=True):
        around[u][v] = around[v][u] = label
    return around


def vertex_histogram(graph):
    return Counter(graph[1])


def edge_histogram(graph):
    return Counter(graph[2])


def shortest_path(graph):
    labels, n = graph[1], len(graph[1])
    D = np.full((n, n), np.inf)
    for u, others in enumerate(neighbours(graph)):
        for v in others:
            D[u, v] = 1
    for k in range(n):  # Floyd and Warshall
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1])
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v and np.isfinite(D[u, v])]
    return Counter((labels[u], labels[v], D[u, v]) for u, v in pairs)


def graphlet(graph, k):
    around, labels = neighbours(graph), graph[1]
    found = Counter()
    for nodes in combinations(range(len(labels)), k):
        reached = {nodes[0]}
        for _ in nodes:
            reached |= {v for v in nodes if any(v in around[u] for u in reached)}
        if len(reached) == k:
            words = (
                (
                    tuple(labels[v] for v in order),
                    tuple(str(around[u].get(v, "")) for u, v in combinations(order, 2)),
                )
                for order in permutations(nodes)
            )
            found[min(words)] += 1
    return found


def weisfeiler_lehman(graph, h, base):
    edges, labels, edge_labels = graph
    around = neighbours(graph)
    total = Counter({(0, part): count for part, count in base(graph).items()})
    for i in range(1, h + 1):
        labels = [
            (labels[v], tuple(sorted((labels[u], label) for u, label in around[v].items()))) for v in range(len(labels))
        ]
        total.update({(i, part): count for part, count in base((edges, labels, edge_labels)).items()})
    return total


def random_walk(graph, other, decay):
    pairs = [(u, v) for u, a in enumerate(graph[1]) for v, b in enumerate(other[1]) if a == b]
    left, right = neighbours(graph), neighbours(other)
    W = np.array(
        [[float(s in left[u] and t in right[v] and left[u][s] == right[v][t]) for s, t in pairs] for u, v in pairs]
    ).reshape(len(pairs), len(pairs))
    return float(np.linalg.solve(np.eye(len(pairs)) - decay * W, np.ones(len(pairs))).sum())


def pairwise(f):
    """The matrix of a function of two objects, each pair of distinct objects computed once."""
    known = {}

    def matrix(A, B):
        for a in A:
            for b in B:
                if (id(a), id(b)) not in known:
                    known[id(a), id(b)] = known[id(b), id(a)] = f(a, b)
        return np.array([[known[id(a), id(b)] for b in B] for a in A])

    return matrix


def of_features(features):
    """The kernel of counted parts."""
    known = {}

    def count(graph):
        if id(graph) not in known:
            known[id(graph)] = features(graph)
        return known[id(graph)]

    return pairwise(lambda a, b: float(sum(c * count(b)[part] for part, c in count(a).items())))


def random_graph(rng, most, edge_chance, labels, edge_labels):
    n = int(rng.integers(1, most + 1))
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < edge_chance]
    return (
        edges,
        [str(label) for label in rng.integers(0, labels, n)],
        [str(label) for label in rng.integers(0, edge_labels, len(edges))],
    )
