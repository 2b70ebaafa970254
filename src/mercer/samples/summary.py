"""What samples say of themselves where they are shown: counts and kinds, found without looking at every sample."""

from __future__ import annotations

import html
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

#: So many things of a kind are named, and no more.
NAMED = 8

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 40


def short(value: Any) -> str:
    """The repr of anything, cut where it is long or deep.

    >>> short("A" * 1000)
    "'AAAAAAAAAAAAAAAAA...AAAAAAAAAAAAAAAAAA'"
    """
    return _short.repr(value)


def some_of(things: Sequence[Any]) -> str:
    """How many there are, and the first of them.

    >>> some_of("ACGT"), some_of(range(100))
    ("4: 'A', 'C', 'G', 'T'", '100: 0, 1, 2, 3, 4, 5, 6, 7, ...')
    """
    named = [short(thing) for thing in things[:NAMED]] + ["..."] * (len(things) > NAMED)
    return f"{len(things):,}: {', '.join(named)}" if named else "none"


def html_table(heading: str, facts: Mapping[str, str]) -> str:
    """A small table with a row for each fact; all text is escaped.

    >>> html_table("2 <trees>", {"nodes": "5"})
    '<table><caption>2 &lt;trees&gt;</caption><tr><th>nodes</th><td>5</td></tr></table>'
    """
    rows = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(fact)}</td></tr>" for name, fact in facts.items())
    return f"<table><caption>{html.escape(heading)}</caption>{''.join(rows)}</table>"
