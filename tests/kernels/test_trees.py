"""Conventions of kernels of trees that differ between the literature's formulas and its programs; and large trees."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

from mercer.kernels import PartialTree, SubsetTree
from tests.kernels.naive_trees import children, label, nodes, random_tree


def by_gaps(tree, other, decay, mu):
    """As PartialTree, but a sequence of children is weighted by the children it leaves out, not by its span."""

    def sequences(node):
        places = range(len(children(node)))
        return [some for size in range(1, len(places) + 1) for some in combinations(places, size)]

    def left_out(some):
        return some[-1] - some[0] + 1 - len(some)

    def delta(n, m):
        if label(n) != label(m):
            return 0.0
        total = decay**2
        for some in sequences(n):
            for others in sequences(m):
                if len(some) == len(others):
                    parts = (delta(children(n)[i], children(m)[j]) for i, j in zip(some, others, strict=True))
                    total += decay ** (left_out(some) + left_out(others)) * prod(parts)
        return mu * total

    return sum(delta(n, m) for n in nodes(tree) for m in nodes(other))


@pytest.mark.parametrize(("decay", "mu"), [(0.4, 0.4), (0.7, 0.2)])
def test_weights_by_gaps_are_weights_by_spans_with_a_larger_mu(decay, mu):
    rng = np.random.default_rng(0)
    trees = [("S", random_tree(rng, 3, 2), random_tree(rng, 2, 2)) for _ in range(6)]
    expected = [[by_gaps(a, b, decay, mu) for b in trees] for a in trees]
    np.testing.assert_allclose(decay**2 * PartialTree(decay, mu / decay**2)(trees), expected, rtol=1e-12)


def chain(labels):
    return "".join(f"({label} " for label in labels) + "x" + ")" * len(labels)


@pytest.mark.slow("trees whose nodes are too many for all of their pairs")
def test_only_pairs_of_nodes_that_match_need_memory():
    """All pairs of nodes would need 320 GB."""
    deep, decay = chain([f"L{i}" for i in range(200_000)]), 0.4
    deltas = [decay]
    for _ in range(199_999):
        deltas.append(decay * (1 + deltas[-1]))
    np.testing.assert_allclose(SubsetTree(decay)([deep]), [[sum(deltas)]], rtol=1e-9)


@pytest.mark.parametrize("kernel", [SubsetTree(), PartialTree()], ids=repr)
@pytest.mark.slow("trees of very many nodes")
def test_too_many_pairs_of_nodes_are_refused(kernel):
    deep = chain("A" * 20_000)
    with pytest.raises(MemoryError, match=r"trees of 20001 and 20001 nodes have \d+ pairs .* at most 2048 MiB"):
        kernel([deep, "(A x)"])
    assert kernel([deep], ["(A x)"]) > 0


@pytest.mark.parametrize(
    ("kernel", "parameters"), [(SubsetTree(1.0), "decay"), (PartialTree(1.0, 1.0), "decay or mu")], ids=repr
)
def test_values_beyond_float64_are_not_silent(kernel, parameters):
    big = "(S " + " ".join(["(A (B c) (B d))"] * 600) + ")"
    for k in kernel, kernel.normalized():
        with pytest.raises(OverflowError, match=rf"trees of 3001 and 3001 nodes .* use a smaller {parameters}$"):
            k([big, "(S a)"])
        with pytest.raises(OverflowError, match="beyond the range of float64"):
            k.diag([big])
