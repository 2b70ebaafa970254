"""Bracketed trees, one or more in a text file, each in one line or in several."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mercer.files.source import Source, read_lines
from mercer.files.text import FormatError
from mercer.samples.trees import WAYS, Trees, parsed


def read_trees(source: Source | Iterable[str], member: str | None = None) -> Trees:
    """The trees in a file, which may be gzipped, given by its path or opened, or in lines of text.

    Both ``(S (NP he) (VP runs))``, the style of the Penn treebank, and ``(S(NP(he))(VP(runs)))`` are read. Of a .zip
    archive, ``member`` is the file in it, and need not be given if there is one only. An error names the file and the
    line.

    >>> read_trees(["(S (NP he)", "   (VP runs))", "(S (NP she) (VP sleeps))"])
    <2 trees, 10 nodes, 184 bytes>
    """
    if isinstance(source, (str, os.PathLike)):
        if not Path(source).exists():
            raise FileNotFoundError(f"there is no file {str(source)!r}; for trees in memory give a list of lines")
    elif not hasattr(source, "read"):
        return parsed((line, f"line {i + 1}") for i, line in enumerate(source))
    name, lines = read_lines(source, member)  # type: ignore[arg-type]
    if not any(line.strip() for line in lines):
        raise FormatError(f"{name}: expected trees but the file is empty; {WAYS}")
    try:
        return parsed((line, f"{name}, line {i + 1}") for i, line in enumerate(lines))
    except ValueError as error:
        raise FormatError(str(error)) from None
