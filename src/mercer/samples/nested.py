"""Tuples, lists and trees of nltk within each other, however deep, in a form that pickle can write.

Pickle goes down by recursion, and Python allows some hundred levels of it; a parse tree may have more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.samples.kinds import is_nltk

#: Levels that pickle writes without help, even of trees of nltk.
LEVELS = 100


class Nested:
    """Pickled, it is what it was made of.

    >>> import pickle
    >>> deep = "leaf"
    >>> for _ in range(10_000):
    ...     deep = ("N", deep)
    >>> again = pickle.loads(pickle.dumps(Nested(deep)))
    >>> again[0], again[1][0], type(again)
    ('N', 'N', <class 'tuple'>)
    """

    def __init__(self, item: Any) -> None:
        self.item = item

    def __reduce__(self) -> Any:
        parts = _taken_apart(self.item)
        return (_put_together, (parts,)) if parts is not None else (_itself, (self.item,))


def portable(items: Any) -> Any:
    """The same list, tuple or array of objects, or itself, with what is too deep for pickle as ``Nested``."""
    if isinstance(items, (list, tuple)):
        if not any(map(is_deep, items)):
            return items
        return type(items)([Nested(item) if is_deep(item) else item for item in items])
    if isinstance(items, np.ndarray) and items.dtype == object and any(map(is_deep, items.flat)):
        packed = np.empty(items.size, dtype=object)
        packed[:] = portable(list(items.flat))
        return packed.reshape(items.shape)
    return items


def _children(thing: Any) -> Iterable[Any] | None:
    """What a thing is made of; None of what is in one piece."""
    if type(thing) is tuple or type(thing) is list:
        children: Iterable[Any] = thing
        return children
    if isinstance(thing, list) and is_nltk(thing):
        tree: Any = thing
        return [tree.label(), *tree]
    return None


def is_deep(item: Any) -> bool:
    """Whether it has more levels than pickle can go down."""
    level = [item]
    for _ in range(LEVELS):
        below = (child for thing in level for child in _children(thing) or () if isinstance(child, (tuple, list)))
        level = list({id(child): child for child in below}.values())  # each once, as it may stand in many places
        if not level:
            return False
    return True


def _taken_apart(item: Any) -> list[tuple[Any, Any]] | None:
    """Everything in it once, children first: its type and the places of its children, or None and the thing itself.

    None if it contains itself.
    """
    parts: list[tuple[Any, Any]] = []
    place: dict[int, int] = {}
    above: set[int] = set()
    coming = [(item, False)]
    while coming:
        thing, complete = coming.pop()
        children = _children(thing)
        if id(thing) in place:
            continue
        if children is None:
            place[id(thing)] = len(parts)
            parts.append((None, thing))
        elif complete:
            above.discard(id(thing))
            place[id(thing)] = len(parts)
            parts.append((type(thing), [place[id(child)] for child in children]))
        elif id(thing) in above:
            return None
        else:
            above.add(id(thing))
            coming.append((thing, True))
            coming += [(child, False) for child in children]
    return parts


def _put_together(parts: list[tuple[Any, Any]]) -> Any:
    made: list[Any] = []
    for make, what in parts:
        if make is None:
            made.append(what)
            continue
        children = [made[i] for i in what]
        made.append(make(children) if make in (tuple, list) else make(children[0], children[1:]))
    return made[-1]


def _itself(item: Any) -> Any:
    return item
