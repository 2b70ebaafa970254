"""The few long stages of a closed form, whose names are told as they begin: it has no passes to count."""

from __future__ import annotations

from collections.abc import Callable

#: What is told the name of a stage before it begins.
Begin = Callable[[str], None]


def silent(stage: str) -> None:
    """Tells nobody."""
