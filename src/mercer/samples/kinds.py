"""Which kind of data an object is, and which kernels compare it: what a message says of data for another kernel."""

from __future__ import annotations

from typing import Any

from mercer.samples.summary import short

#: What to do with data of every kind.
COMPARED = {
    "vectors": "vectors are compared by kernels of vectors, such as Gaussian('median')",
    "sequences": "strings are compared by kernels of sequences, such as Spectrum(3), or as categories by Categorical()",
    "graphs": "graphs are compared by kernels of graphs, such as WeisfeilerLehman(2).normalized()",
    "trees": "trees are compared by kernels of trees, such as SubsetTree(0.4).normalized()",
    "sets": "sets are compared by SetKernel(Gaussian('median'))",
}
#: The same of objects of no kind that is known.
OTHERWISE = (
    "objects are compared by a kernel of their kind, such as Spectrum(3) for strings, WeisfeilerLehman(2) for graphs "
    "and SubsetTree(0.4) for trees, or by a function of two of them, Custom(function, pairwise=True)"
)


def compared(kind: str) -> str:
    """What to do with samples of a kind.

    >>> compared("sparse vectors")
    "vectors are compared by kernels of vectors, such as Gaussian('median')"
    """
    return next((text for name, text in COMPARED.items() if name in kind), OTHERWISE)


def is_networkx(item: Any) -> bool:
    return hasattr(item, "is_directed") and hasattr(item, "edges") and hasattr(item, "nodes")


def is_nltk(item: Any) -> bool:
    """Whether it is a tree of nltk, or a node with a label and children like one."""
    return callable(getattr(item, "label", None))


def taken_apart(item: Any) -> bool:
    """Whether it is an object that NumPy takes for a list of what it is made of, such as a graph for its nodes."""
    return is_networkx(item) or is_nltk(item)


def kind_of(item: Any) -> str | None:
    """The kind of samples that an object seems to be one of; None if it may be anything.

    >>> kind_of("GATTACA"), kind_of(([(0, 1)], ["C", "O"])), kind_of(("S", ("NP", "he"))), kind_of([1.0, 2.0])
    ('sequences', 'graphs', 'trees', None)
    """
    if isinstance(item, (str, bytes)):
        return "sequences"
    if is_networkx(item):
        return "graphs"
    if is_nltk(item):
        return "trees"
    if isinstance(item, tuple) and item:
        if isinstance(item[0], list):
            return "graphs"
        if isinstance(item[0], str) and any(isinstance(child, tuple) for child in item):
            return "trees"
    kind = getattr(getattr(item, "samples", None), "kind", None)  # one of some samples
    return kind if isinstance(kind, str) else None


def refuse_objects(X: Any, error: Exception) -> None:
    """Raises in place of another error, which says less, where X is no vectors but objects of a known kind."""
    kind = getattr(X, "kind", None)
    if isinstance(X, (list, tuple)) or len(getattr(X, "shape", ())) == 1:
        kind = kind_of(next(iter(X), None))
    if isinstance(kind, str) and kind in COMPARED:
        raise type(error)(
            f"expected vectors (one row of numbers per sample), which this machine's kernel compares, but got {kind}; "
            f"{COMPARED[kind]}: give one as kernel="
        ) from None


def described(item: Any) -> str:
    """An object as messages show it."""
    return short(item) if isinstance(item, (list, tuple, dict, set)) else str(item)[:60]
