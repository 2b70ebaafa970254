"""Kernels of trees: how many fragments two trees have in common, smaller ones weighing more.

They grow fast with the size of the trees, so the literature always divides by the norms: use ``k.normalized()``, which
these kernels do not do by themselves. Values beyond the range of float64 raise an ``OverflowError``: lower ``decay``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.kernels.base import Kernel, Validity
from mercer.kernels.columns import short
from mercer.kernels.explicit import Described, ExplicitKernel, Words
from mercer.kernels.leaf import positive
from mercer.kernels.native import ObjectPairs
from mercer.kernels.pairs import Pairs
from mercer.samples import Samples, SparseVectors
from mercer.samples.base import Array
from mercer.samples.trees import Trees, as_trees


@dataclass(frozen=True, repr=False)
class Subtree(ExplicitKernel):
    """k(T, T') = sum over subtrees of how often T and T' have it; a subtree is a node with all its descendants

    Leaves alone do not count. Vishwanathan and Smola, "Fast kernels for string and tree matching" (NeurIPS 2002).

    >>> Subtree()(["(S (NP he) (VP runs))", "(S (NP he) (VP sleeps))"])
    array([[3., 1.],
           [1., 3.]])
    """

    def samples(self, X: Any) -> Samples:
        return as_trees(X)

    def learn(self, x: Trees) -> Described:
        subtrees = _native.Subtrees()
        numbers = subtrees.learn(x.native)
        return Described(_counts(x, numbers, len(subtrees)), (subtrees, x.vocabulary))

    def look_up(self, x: Trees, language: Any) -> SparseVectors:
        subtrees, vocabulary = language
        return _counts(x, subtrees.look_up(x.labelled_as(vocabulary)), len(subtrees))

    def texts(self, language: Any) -> list[str]:
        """Bracketed text, as trees are read from."""
        subtrees, vocabulary = language
        names: list[str] = []  # children have smaller numbers than their parents
        for word in Words(*subtrees.words()):
            children = [names[part] if part >= 0 else str(vocabulary[-1 - part]) for part in word[1:]]
            names.append(short(f"({' '.join([str(vocabulary[word[0]]), *children])})", str(len(names))))
        return names


def _counts(x: Trees, numbers: Array, width: int) -> SparseVectors:
    """How often every tree has the subtrees with these numbers, one per node."""
    of_tree = np.repeat(np.arange(len(x)), np.diff(x.starts))[numbers >= 0]
    ones = np.ones(len(of_tree))
    counts = sp.coo_array((ones, (of_tree, numbers[numbers >= 0])), shape=(len(x), max(1, width))).tocsr()
    counts.sum_duplicates()
    return SparseVectors(counts)


class FragmentKernel(Kernel):
    """A sum over pairs of nodes, computed by the core two trees at a time."""

    @property
    def validity(self) -> Validity:
        return "psd"

    def samples(self, X: Any) -> Samples:
        return as_trees(X)

    def native(self, x: _native.Trees, z: _native.Trees) -> _native.ObjectPairsF64:
        raise NotImplementedError(f"{type(self).__name__} must name its function of the core")

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a, b = as_trees(x), as_trees(z)
        left = b.native if x is z else a.labelled_as(b.vocabulary)
        return ObjectPairs(self.native(left, b.native), (len(x), len(z)), x is z)

    def diag_of(self, x: Samples) -> Array:
        native, out = as_trees(x).native, np.empty(len(x))
        self.native(native, native).diagonal(out)
        return out


@dataclass(frozen=True, repr=False)
class SubsetTree(FragmentKernel):
    """k(T, T') = sum over fragments with all or none of the children of a node, each decay^(nodes with children)

    With equal productions (the label of a node and those of its children), and 0 without,
    delta(n, m) = decay * product over the children of (1 + delta(child of n, child of m)), and k is the sum of delta
    over all pairs of nodes. Collins and Duffy, "New ranking algorithms for parsing and tagging" (ACL 2002).

    Memory: per thread, 8 bytes per pair of nodes of two trees with equal productions, at most 2 GiB; beyond, a
    ``MemoryError`` gives the sizes. (Two trees of 16,384 nodes that are all alike are the largest.)

    >>> SubsetTree(1.0)(["(S (NP he) (VP runs))", "(S (NP he) (VP sleeps))"])
    array([[6., 3.],
           [3., 6.]])
    """

    decay: float = 0.4

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", positive("decay", self.decay))

    def native(self, x: _native.Trees, z: _native.Trees) -> _native.ObjectPairsF64:
        return _native.subset_tree(x, z, self.decay)


@dataclass(frozen=True, repr=False)
class PartialTree(FragmentKernel):
    """k(T, T') = sum over fragments with any of the children of a node, in order, weighted by depth and gaps

    With equal labels, and 0 without, delta(n, m) = mu (decay^2 + sum over equally long sequences I and J of children of
    n and m of decay^(d(I) + d(J)) times the product of delta over their members), where d is the place of the last less
    that of the first plus 1; k is the sum of delta over all pairs of nodes. Programs that weigh children left out, not
    spans, need mu times decay^2 for the same kernel. Moschitti, "Efficient convolution kernels for dependency and
    constituent syntactic trees" (ECML 2006).

    Memory: as ``SubsetTree``, for pairs of nodes with equal labels.

    >>> PartialTree(1.0, 1.0)(["(S (NP he) (VP runs))"])
    array([[15.]])
    """

    decay: float = 0.4
    mu: float = 0.4

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", positive("decay", self.decay))
        object.__setattr__(self, "mu", positive("mu", self.mu))

    def native(self, x: _native.Trees, z: _native.Trees) -> _native.ObjectPairsF64:
        return _native.partial_tree(x, z, self.decay, self.mu)
