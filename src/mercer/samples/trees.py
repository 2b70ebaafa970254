"""Trees: ordered, with labelled nodes, such as the parse trees of sentences. All of them lie in a few flat arrays.

16 bytes per node and 8 per tree; see ``Trees.nbytes``.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.remembered import remembered
from mercer.samples.base import Samples
from mercer.samples.kinds import compared, is_nltk, kind_of
from mercer.samples.structured import (
    Sample,
    Structured,
    appended,
    coded,
    items_of,
    memory,
    merged,
    plain,
    ranges,
    recoded,
    together,
)
from mercer.samples.summary import short, some_of

Offsets = NDArray[np.int64]
Numbers = NDArray[np.int32]
TOKEN = re.compile(r"[()]|[^\s()]+")
#: The most characters of a tree's text that are shown.
SHOWN = 400
WAYS = "a tree is given as bracketed text such as '(S (NP he) (VP runs))', as nested tuples, or as a tree of nltk"


class Trees(Structured):
    """Made by ``as_trees`` and ``mercer.files.read_trees``; ``trees[i]`` is one of them, a slice some.

    Nodes are in postorder. Node v of all nodes has the children ``child_starts[v] .. child_starts[v + 1] - 1``;
    ``children`` counts from the first node of the tree. Labels are positions in ``vocabulary``.

    >>> trees = as_trees(["(S (NP he) (VP runs))", "(S (NP she))"])
    >>> len(trees), trees.vocabulary, trees[1:]
    (2, ('he', 'NP', 'runs', 'VP', 'S', 'she'), <1 trees, 3 nodes, 68 bytes>)
    """

    kind = "trees"

    def __init__(
        self, starts: Offsets, child_starts: Offsets, children: Numbers, labels: Numbers, vocabulary: tuple[Any, ...]
    ) -> None:
        super().__init__()
        self.starts, self.child_starts, self.children = starts, child_starts, children
        self.labels, self.vocabulary = labels, vocabulary

    def __len__(self) -> int:
        return len(self.starts) - 1

    def counts(self) -> dict[str, int]:
        return {"nodes": int(self.starts[-1])}

    def facts(self) -> dict[str, str]:
        return {"labels": some_of(self.vocabulary)}

    def sample(self, place: int) -> Tree:
        return Tree(self, place)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return memory(self.starts, self.child_starts, self.children, self.labels)

    def gather(self, index: NDArray[np.int64]) -> Trees:
        nodes, starts = ranges(self.starts, index)
        which, child_starts = ranges(self.child_starts, nodes)
        return Trees(starts, child_starts, self.children[which], self.labels[nodes], self.vocabulary)

    def joined(self, other: Samples) -> Samples:
        if not isinstance(other, Trees):
            return super().joined(other)
        labels, vocabulary = merged((self.labels, self.vocabulary), (other.labels, other.vocabulary))
        return Trees(
            appended(self.starts, other.starts),
            appended(self.child_starts, other.child_starts),
            np.concatenate([self.children, other.children]),
            labels,
            vocabulary,
        )

    @remembered
    def native(self) -> _native.Trees:
        return self.labelled_as(self.vocabulary)

    def labelled_as(self, vocabulary: tuple[Any, ...]) -> _native.Trees:
        """These trees for the core, with the numbers that the labels have in another vocabulary."""
        labels = recoded(self.labels, self.vocabulary, vocabulary)
        return _native.Trees(self.starts, self.child_starts, self.children, labels)

    def fingerprint(self) -> Hashable:
        shape = self.starts.tobytes(), self.child_starts.tobytes(), self.children.tobytes()
        return shape, plain(self.labels, self.vocabulary)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("native", None)
        return state


class Tree(Sample):
    """One of some trees, which shows as bracketed text.

    >>> as_trees([("S", ("NP", "he"), ("VP", "runs")), ("S",)]).content()
    [(S (NP he) (VP runs)), (S)]
    """

    samples: Trees

    def __str__(self) -> str:
        return "".join(self._tokens())

    def __repr__(self) -> str:
        some = "".join(islice(self._tokens(), SHOWN + 1))  # of at least one character each, most of them
        return some if len(some) <= SHOWN else f"{some[:SHOWN]} ..."

    def _tokens(self) -> Iterator[str]:
        """The parts of the text, from the root down, without recursion, as trees may be deep."""
        one = self.alone()
        root = len(one.labels) - 1
        coming: list[int | str] = [root]
        while coming:
            token = coming.pop()
            if isinstance(token, str):
                yield token
                continue
            label = str(one.vocabulary[one.labels[token]])
            children = one.children[one.child_starts[token] : one.child_starts[token + 1]].tolist()
            if not children and token != root:
                yield label
                continue
            yield f"({label}"
            coming.append(")")
            for child in reversed(children):
                coming += [child, " "]


def as_trees(X: Any) -> Trees:
    """Trees from a list, an array or a column of trees, each given in any of these ways:

    - bracketed text, ``"(S (NP he) (VP runs))"`` or ``"(S(NP(he))(VP(runs)))"``, which are the same tree;
    - nested tuples, ``("S", ("NP", "he"), ("VP", "runs"))``;
    - a tree of nltk.

    >>> as_trees(["(S (NP he) (VP runs))"])
    <1 trees, 5 nodes, 100 bytes>
    """
    if isinstance(X, Trees):
        return X
    items = items_of(X, "trees")
    known = together(items, Trees)
    if known is not None:
        assert isinstance(known, Trees)
        return known
    forest = _Forest()
    try:
        for i, item in enumerate(items):
            forest.add(item, i)
    except (TypeError, ValueError):
        if kind_of(X) == "trees":
            raise TypeError("expected a list of trees but got one tree; write [tree]") from None
        raise
    return forest.trees()


def parsed(texts: Iterable[tuple[str, str]]) -> Trees:
    """Trees from (text, where it stands) pairs; every text may hold several trees, or a part of one."""
    forest = _Forest()
    for text, where in texts:
        if not isinstance(text, str):
            raise TypeError(f"{where}: expected text but got a {type(text).__name__}: {str(text)[:60]}")
        forest.read(text, where)
    forest.finish()
    return forest.trees()


class _Forest:
    """Trees being read: nodes in postorder, and the nodes that are still open."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.labels: list[Any] = []
        self.widths: list[int] = []
        self.children: list[int] = []
        self.open: list[tuple[Any, list[int], str]] = []  # label, children, and where the bracket stands
        self.size = 0
        self.fresh = False  # whether a bracket was just opened, so that a label comes next

    def node(self, label: Any, children: list[int]) -> int:
        self.labels.append(label)
        self.widths.append(len(children))
        self.children += children
        self.size += 1
        return self.size - 1

    def end(self) -> None:
        self.sizes.append(self.size)
        self.size = 0

    def add(self, item: Any, i: int) -> None:
        """One whole tree."""
        before = len(self.sizes)
        if isinstance(item, str):
            self.read(item, f"tree {i}")
            self.finish()
            if len(self.sizes) != before + 1:
                raise ValueError(f"tree {i} is {len(self.sizes) - before} trees: {item[:80]!r}; expected one")
        elif isinstance(item, (tuple, list)) or is_nltk(item):
            if not is_nltk(item) and item and all(isinstance(part, float) for part in item):
                raise TypeError(f"tree {i} is a {type(item).__name__} of floats; {compared('vectors')}, and {WAYS}")
            self.walk(item, i)
            self.end()
        else:
            if not (isinstance(item, Sample) and isinstance(item.samples, Trees)):
                raise TypeError(f"tree {i} is a {type(item).__name__}; {WAYS}")
            one = item.alone()
            assert isinstance(one, Trees)
            for v in range(len(one.labels)):
                self.node(
                    one.vocabulary[one.labels[v]], one.children[one.child_starts[v] : one.child_starts[v + 1]].tolist()
                )
            self.end()

    def walk(self, tree: Any, i: int) -> None:
        """A tree of nested tuples or of nltk, without recursion, as trees may be deep."""
        stack: list[tuple[Any, Any, Sequence[Any], list[int]]] = [(tree, *_parts(tree, i), [])]
        above = {id(tree)}
        while stack:
            node, label, parts, done = stack[-1]
            if len(done) < len(parts):
                child = parts[len(done)]
                own, below = _parts(child, i)
                if not below:
                    done.append(self.node(own, []))
                    continue
                if id(child) in above:
                    raise ValueError(f"tree {i} has no end: the node {short(own)} is among its own descendants")
                above.add(id(child))
                stack.append((child, own, below, []))
                continue
            stack.pop()
            above.discard(id(node))
            number = self.node(label, done)
            if stack:
                stack[-1][3].append(number)

    def read(self, text: str, where: str) -> None:
        """Text with brackets; a tree may begin in one text and end in another."""
        for token in TOKEN.findall(text):
            if token == "(":
                self.open.append(("", [], where))  # the root of some treebanks has no label
                self.fresh = True
            elif token == ")":
                self.close(where)
            elif self.fresh:
                self.open[-1] = token, [], self.open[-1][2]
                self.fresh = False
            elif self.open:
                self.open[-1][1].append(self.node(token, []))
            else:
                raise ValueError(f"{where}: {token[:80]!r} stands outside all brackets; {WAYS}")

    def close(self, where: str) -> None:
        if not self.open:
            raise ValueError(f"{where}: a bracket is closed that was never opened")
        if self.fresh:
            raise ValueError(f"{where}: a pair of brackets is empty; a label is expected behind '('")
        label, children, _ = self.open.pop()
        if not self.open and label == "" and len(children) == 1:  # a root without a label, as some treebanks have
            return self.end()
        number = self.node(label, children)
        if self.open:
            self.open[-1][1].append(number)
        else:
            self.end()

    def finish(self) -> None:
        if self.open:
            label, _, where = self.open[0]
            more = f", nor are {len(self.open) - 1} after it" if len(self.open) > 1 else ""
            raise ValueError(f"{where}: the bracket of '({str(label)[:80]}' is not closed{more}")

    def trees(self) -> Trees:
        if not self.sizes:
            raise ValueError("found 0 sample(s) while a minimum of 1 is required; there are no trees")
        labels, vocabulary = coded(self.labels)
        return Trees(
            np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64),
            np.concatenate([[0], np.cumsum(self.widths)]).astype(np.int64),
            np.array(self.children, dtype=np.int32),
            labels,
            vocabulary,
        )


def _parts(tree: Any, i: int) -> tuple[Any, Sequence[Any]]:
    """The label and the children of a node."""
    if type(tree) is tuple and tree:
        return tree[0], tree[1:]
    if isinstance(tree, str):
        return tree, ()
    if is_nltk(tree):
        return tree.label(), list(tree)
    if not isinstance(tree, (tuple, list)):
        return tree, ()
    if not tree:
        raise ValueError(f"tree {i} has an empty tuple; a label is expected first, as in ('NP', 'he')")
    return tree[0], tree[1:]
