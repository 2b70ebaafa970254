"""Ctrl-C is heard within one pair of long samples."""

import numpy as np
import pytest

from mercer.kernels import LocalAlignment, PartialTree, RandomWalk, Spectrum, Subsequence, WeightedDegree
from tests.interrupt import interrupted


def letters(count):
    return "".join(np.random.default_rng(0).choice(list("ACGT"), count))


def wide_tree(children):
    return f"(S {' '.join(f'(n{i} x{i})' for i in range(children))})"


def path_graph(nodes):
    return [(i, i + 1) for i in range(nodes - 1)], ["C"] * nodes


@pytest.mark.parametrize(
    ("kernel", "sample"),
    [
        (LocalAlignment(), letters(30_000)),
        (Subsequence(5, 0.5), letters(30_000)),
        (WeightedDegree(3, shift=40_000), letters(100_000)),
        (PartialTree(), wide_tree(50_000)),
        (RandomWalk(0.24999), path_graph(1_000)),
    ],
    ids=["local alignment", "subsequence", "weighted degree", "partial tree", "random walk"],
)
@pytest.mark.stress("sends Ctrl-C into a long comparison")
def test_interrupt_is_heard_within_a_pair(kernel, sample):
    samples = kernel.samples([sample])
    assert interrupted(lambda: kernel(samples), after=0.3) < 1


@pytest.mark.stress("sends Ctrl-C into a long count")
def test_interrupt_is_heard_while_words_are_counted():
    kernel = Spectrum(10)
    samples = kernel.samples([letters(10_000_000)])
    assert interrupted(lambda: kernel(samples), after=0.1) < 1
