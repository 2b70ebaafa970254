"""Bracketed trees, one or more in a text file, each in one line or in several."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from mercer.samples.trees import Trees, parsed


def read_trees(source: str | Path | Iterable[str]) -> Trees:
    """The trees in a file, which may be gzipped, or in lines of text.

    Both ``(S (NP he) (VP runs))``, the style of the Penn treebank, and ``(S(NP(he))(VP(runs)))`` are read. An error
    names the line.

    >>> read_trees(["(S (NP he)", "   (VP runs))", "(S (NP she) (VP sleeps))"])
    <2 trees, 10 nodes, 184 bytes>
    """
    if not isinstance(source, (str, Path)):
        return parsed((line, f"line {i + 1}") for i, line in enumerate(source))
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(source)!r}; for trees in memory give a list of lines")
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return parsed((line, f"{path.name}, line {i + 1}") for i, line in enumerate(lines))
