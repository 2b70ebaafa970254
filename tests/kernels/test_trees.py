"""Conventions of kernels of trees that differ between the literature's formulas and its programs."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

from mercer.kernels import PartialTree
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
