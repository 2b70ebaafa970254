"""Kernels of trees as their definitions say: a tree is (label, child, child, ...), a leaf is a label."""

from collections import Counter
from itertools import combinations
from math import prod


def label(tree):
    return tree[0] if isinstance(tree, tuple) else tree


def children(tree):
    return tree[1:] if isinstance(tree, tuple) else ()


def nodes(tree):
    return [tree, *(node for child in children(tree) for node in nodes(child))]


def subtrees(tree):
    return Counter(node for node in nodes(tree) if children(node))


def production(node):
    return label(node), tuple(label(child) for child in children(node))


def subset_tree(tree, other, decay):
    def delta(n, m):
        if not children(n) or not children(m) or production(n) != production(m):
            return 0.0
        return decay * prod(1 + delta(c, d) for c, d in zip(children(n), children(m), strict=True))

    return sum(delta(n, m) for n in nodes(tree) for m in nodes(other))


def partial_tree(tree, other, decay, mu):
    def sequences(node):
        places = range(len(children(node)))
        return [some for size in range(1, len(places) + 1) for some in combinations(places, size)]

    def delta(n, m):
        if label(n) != label(m):
            return 0.0
        total = decay**2
        for some in sequences(n):
            for others in sequences(m):
                if len(some) == len(others):
                    spans = some[-1] - some[0] + 1 + others[-1] - others[0] + 1
                    parts = (delta(children(n)[i], children(m)[j]) for i, j in zip(some, others, strict=True))
                    total += decay**spans * prod(parts)
        return mu * total

    return sum(delta(n, m) for n in nodes(tree) for m in nodes(other))


def random_tree(rng, depth, labels):
    name = str(rng.integers(0, labels))
    if depth == 0 or rng.random() < 0.2:
        return name
    return (name, *(random_tree(rng, depth - 1, labels) for _ in range(rng.integers(1, 4))))
