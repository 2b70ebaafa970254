"""The TUDataset format: graphs as text files in a folder or a zip archive (Morris et al. 2020)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mercer.files.archive import SIGNATURES, Archive
from mercer.files.source import content_of
from mercer.files.text import FormatError, lines_of, shown
from mercer.samples.graphs import Graphs

#: Whole numbers up to this one are exact in float64.
LARGEST = 2**53
#: The most numbers in a line: a line with more holds no attributes, but comes from a damaged file.
WIDEST = 10_000
#: Numbers that are read at a time.
PART = 2**18


def read_tudataset(source: str | os.PathLike[str] | IO[bytes]) -> tuple[Graphs, NDArray[Any]]:
    """The graphs of a TUDataset folder or zip archive, and their classes or, where there are none, targets.

    The files may lie one folder down, as they do where an archive was unpacked. An archive may be an open file. Nodes
    and edges keep their labels and attributes. An edge may be listed once or in both directions; a second listing
    changes nothing.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name, text in ("A", "1, 2"), ("graph_indicator", "1\\n1\\n2"), ("graph_labels", "1\\n-1"):
    ...         _ = Path(folder, f"DS_{name}.txt").write_text(text)
    ...     graphs, y = read_tudataset(folder)
    >>> graphs, y
    (<2 graphs, 3 nodes, 1 edges, 84 bytes>, array([ 1, -1]))
    """
    files = _Files(source)
    indicator = files.integers("graph_indicator", columns=1)[:, 0]
    _check_indicator(indicator, files.name("graph_indicator"))
    count, nodes = int(indicator[-1]), len(indicator)
    starts = np.searchsorted(indicator, np.arange(1, count + 2)).astype(np.int64)
    edges = files.integers("A", columns=2) - 1
    _check_edges(edges, indicator, files.name("A"))
    attributes = files.numbers("node_attributes", nodes) if files.has("node_attributes") else None
    edge_attributes = files.numbers("edge_attributes", len(edges)) if files.has("edge_attributes") else None
    y: NDArray[Any]
    if files.has("graph_labels"):
        y = files.integers("graph_labels", rows=count)
    elif files.has("graph_attributes"):
        y = files.numbers("graph_attributes", count)
    else:
        raise FormatError(f"{files.place} has neither a file *_graph_labels.txt nor *_graph_attributes.txt")
    edge_labels = files.labels("edge_labels", len(edges))
    node_labels = files.labels("node_labels", nodes)
    graphs = Graphs.of_edges(starts, edges, edge_labels, node_labels, attributes, edge_attributes)
    return graphs, y[:, 0] if y.shape[1] == 1 else y


class _Files:
    """The text files of a data set, by the part of their name behind the data set's own."""

    def __init__(self, source: str | os.PathLike[str] | IO[bytes]) -> None:
        self.place, paths, self.read = _opened(source)
        found = [path for path in paths if path.name.endswith("_A.txt") and not path.name.startswith(".")]
        top = [path for path in found if len(path.parts) == 1]
        found = top or found
        if len(found) != 1:
            held = ", ".join(map(str, found[:10])) or "none"
            raise FormatError(f"{self.place} must hold one data set, with one file *_A.txt, but holds {held}")
        self.stem = found[0].name.removesuffix("A.txt")
        self.paths = {path.name: path for path in paths if path.parent == found[0].parent}

    def name(self, part: str) -> str:
        return f"{self.stem}{part}.txt"

    def has(self, part: str) -> bool:
        return self.name(part) in self.paths

    def numbers(self, part: str, rows: int | None = None, columns: int | None = None) -> NDArray[np.float64]:
        """The numbers of a file, one row per line."""
        name = self.name(part)
        if not self.has(part):
            raise FormatError(f"{self.place} has no file {name}")
        lines = lines_of(name, self.read(self.paths[name]))
        while lines and not lines[-1].strip():
            lines.pop()
        if rows is not None and len(lines) != rows:
            raise FormatError(f"{name} has {len(lines)} lines, but {rows} are expected")
        if not lines:
            return np.zeros((0, columns or 1))
        width = columns or lines[0].count(",") + 1
        if width > WIDEST:
            raise FormatError(f"{name}, line 1: {width} numbers stand in one line, and at most {WIDEST} are read")
        table = np.empty((len(lines), width))
        height = max(1, PART // width)
        for first in range(0, len(lines), height):
            some = lines[first : first + height]
            try:
                values = np.array(",".join(some).split(","), dtype=np.float64)
            except ValueError:
                values = np.zeros(0)
            if len(values) != width * len(some) or any(line.count(",") != width - 1 for line in some):
                _refuse(name, lines, first, width)
            table[first : first + height] = values.reshape(len(some), width)
        bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
        if len(bad):
            raise FormatError(f"{name}, line {bad[0] + 1}: expected finite numbers but got {shown(lines[bad[0]])}")
        return table

    def integers(self, part: str, rows: int | None = None, columns: int | None = None) -> NDArray[np.int64]:
        values = self.numbers(part, rows, columns)
        bad = np.flatnonzero(((values != np.rint(values)) | (np.abs(values) > LARGEST)).any(axis=1))
        if len(bad):
            raise FormatError(f"{self.name(part)}, line {bad[0] + 1}: expected whole numbers but got {values[bad[0]]}")
        return values.astype(np.int64)

    def labels(self, part: str, rows: int) -> tuple[NDArray[np.int32], tuple[Any, ...]] | None:
        """Numbers of labels and the labels; of several in a line, the label is the tuple."""
        if not self.has(part):
            return None
        values = self.integers(part, rows)
        names, numbers = np.unique(values, axis=0, return_inverse=True)
        single = values.shape[1] == 1
        return numbers.ravel().astype(np.int32), tuple(int(n[0]) if single else tuple(n.tolist()) for n in names)


def _opened(source: Any) -> tuple[str, list[PurePosixPath], Callable[[PurePosixPath], bytes]]:
    """The name of a folder or an archive, the files in it, a folder down too, and what reads one of them."""
    if not hasattr(source, "read"):
        folder = Path(source)
        if not folder.exists():
            raise FileNotFoundError(f"there is no folder and no archive {str(source)!r}")
        if folder.is_dir():
            files = [file for depth in ("*.txt", "*/*.txt") for file in sorted(folder.glob(depth)) if file.is_file()]
            paths = [PurePosixPath(file.relative_to(folder).as_posix()) for file in files]
            return str(folder), paths, lambda path: (folder / path).read_bytes()
    name, content = content_of(source)
    if not isinstance(content, bytes) or not content.startswith(SIGNATURES):
        raise FormatError(f"{name} is neither a folder nor a zip archive")
    archive = Archive(name, content)
    members = {PurePosixPath(member): member for member in archive.members if member.endswith(".txt")}
    return name, list(members), lambda path: archive.read(members[path])


def _refuse(name: str, lines: list[str], first: int, width: int) -> None:
    """Names the first of the lines, from this one on, that has other things than ``width`` numbers."""
    for i, line in enumerate(lines[first:], start=first):
        try:
            values = [float(text) for text in line.split(",")]
        except ValueError:
            raise FormatError(f"{name}, line {i + 1}: expected numbers between commas but got {shown(line)}") from None
        if len(values) != width:
            raise FormatError(
                f"{name}, line {i + 1}: expected {width} number{'s' * (width > 1)} but got {len(values)}: {shown(line)}"
            )


def _check_indicator(indicator: NDArray[np.int64], name: str) -> None:
    if not len(indicator):
        raise FormatError(f"{name} is empty; it names the graph of every node")
    steps = np.diff(indicator, prepend=0)
    bad = np.flatnonzero((steps < 0) | (steps > 1))
    if len(bad):
        before = indicator[bad[0] - 1] if bad[0] else 0
        raise FormatError(
            f"{name}, line {bad[0] + 1}: graph {indicator[bad[0]]} follows graph {before}; nodes must be sorted by "
            "graph, and graphs are numbered 1, 2, 3 ..."
        )


def _check_edges(edges: NDArray[np.int64], indicator: NDArray[np.int64], name: str) -> None:
    outside = np.flatnonzero(((edges < 0) | (edges >= len(indicator))).any(axis=1))
    if len(outside):
        raise FormatError(
            f"{name}, line {outside[0] + 1}: the edge {tuple((edges[outside[0]] + 1).tolist())} leaves the nodes "
            f"1 to {len(indicator)}"
        )
    apart = np.flatnonzero(indicator[edges[:, 0]] != indicator[edges[:, 1]])
    if len(apart):
        raise FormatError(
            f"{name}, line {apart[0] + 1}: the edge {tuple((edges[apart[0]] + 1).tolist())} joins two graphs, "
            f"{indicator[edges[apart[0], 0]]} and {indicator[edges[apart[0], 1]]}"
        )
