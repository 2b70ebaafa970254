"""Kernels of graphs: accuracy on TUDataset benchmarks, and the time of Gram matrices against GraKeL's.

Accuracy: 10-fold cross-validation, 10 times, C and h chosen inside the training folds; see ``benchmarks.nested``.
Time: two threads, inputs made anew for every call, because GraKeL keeps paths inside its graphs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import DATA
from benchmarks.nested import Score, nested
from mercer.files import read_tudataset
from mercer.kernels import Kernel, ShortestPath, WeisfeilerLehman
from mercer.samples import Graphs, as_graphs

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: data set, kernel family by parameter, its values, values of C, inner validation folds, target in per cent
ACCURACY = [
    ("MUTAG", WeisfeilerLehman, (0, 1, 2, 3, 4, 5), CS, 9, 84.0),
    ("ENZYMES", WeisfeilerLehman, (1, 2, 3, 4, 5), CS[1:], 3, 51.0),
    ("ENZYMES", ShortestPath, (), CS[1:], 3, 41.0),
    ("PROTEINS", WeisfeilerLehman, (0, 1, 2, 3), CS, 3, 74.5),
    ("NCI1", WeisfeilerLehman, (5, 8, 11), CS[1:4], 1, 84.0),
]
#: data set, kernel, how much of GraKeL's time at most
SPEED = [
    ("NCI1", WeisfeilerLehman(5), 0.05),
    ("NCI1", ShortestPath(), 0.05),
    ("PROTEINS", ShortestPath(), 0.05),
]


@dataclass(frozen=True)
class Time:
    """Seconds of a whole Gram matrix, from graphs as the user has them."""

    name: str
    ours_seconds: float
    peer_seconds: float
    ratio: float
    target: float
    error: float

    def __str__(self) -> str:
        verdict = "" if np.isnan(self.target) else "met" if self.ratio <= self.target else "MISSED"
        return (
            f"{self.name:42s} ours {self.ours_seconds:8.4f} s   GraKeL {self.peer_seconds:8.2f} s   "
            f"ratio {self.ratio:7.4f}   target {self.target:5.3f} {verdict:6s}  error {self.error:.1e}"
        )


def rows() -> Iterator[Score | Time]:
    if DATA is None:
        print("graphs: set MERCER_DATA to the folder of the data sets")
        return
    yield from speed()
    yield from growth()
    yield from accuracy()


def load(name: str) -> tuple[Graphs, Any]:
    return read_tudataset(Path(DATA or "") / f"graphs_{name}.zip")


def accuracy(names: tuple[str, ...] = ("MUTAG", "ENZYMES", "PROTEINS", "NCI1"), repeats: int = 10) -> Iterator[Score]:
    for name, family, parameters, Cs, inner, target in ACCURACY:
        if name not in names:
            continue
        graphs, y = load(name)
        kernels = [family(p) for p in parameters] if parameters else [family()]
        grams = [kernel.normalized()(graphs) for kernel in kernels]
        yield nested(f"{family.__name__} {name}", grams, y, Cs, target, repeats=repeats, inner=inner)


def adjacency(graphs: Graphs) -> list[Any]:
    """The graphs as GraKeL and we both take them: an adjacency matrix and labels of the nodes."""
    result = []
    for i in range(len(graphs)):
        one = graphs.take(np.array([i]))
        n = len(one.node_labels)
        A = np.zeros((n, n))
        A[np.repeat(np.arange(n), np.diff(one.arcs)), one.neighbours] = 1
        result.append((A, one.node_labels.tolist()))
    return result


def ours(kernel: Kernel, graphs: list[Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    K = kernel(as_graphs(graphs))
    return K, time.perf_counter() - start


def grakel(kernel: Kernel, graphs: list[Any]) -> tuple[Any, float]:
    """GraKeL's matrix of the same kernel; its shortest path by Dijkstra's method, its faster one on sparse graphs."""
    from grakel import ShortestPath as PeerPath
    from grakel import VertexHistogram as PeerHistogram
    from grakel import WeisfeilerLehman as PeerWeisfeilerLehman

    if kernel == ShortestPath():
        peer = PeerPath(normalize=False, with_labels=True, algorithm_type="dijkstra")
    else:
        peer = PeerWeisfeilerLehman(n_iter=5, base_graph_kernel=PeerHistogram, normalize=False)
    given = [(A.astype(int).tolist(), dict(enumerate(labels))) for A, labels in graphs]
    start = time.perf_counter()
    K = peer.fit_transform(given)
    return K, time.perf_counter() - start


def speed() -> Iterator[Time]:
    for name, kernel, target in SPEED:
        graphs = adjacency(load(name)[0])
        K, seconds = min((ours(kernel, [(A.copy(), list(b)) for A, b in graphs]) for _ in range(3)), key=lambda r: r[1])
        try:
            other, peer = grakel(kernel, graphs)
        except ImportError:
            print("graphs: GraKeL is not installed, so its times are missing")
            other, peer = K, np.nan
        yield Time(f"{kernel} {name}", seconds, peer, seconds / peer, target, float(np.abs(K - other).max()))


def growth() -> Iterator[Time]:
    """Twice the graphs, then graphs of twice the size: time per entry of the matrix, and per node, stay put."""
    rng = np.random.default_rng(0)
    for count, size in ((500, 30), (1000, 30), (2000, 30), (4000, 30), (500, 60), (500, 120), (500, 240)):
        graphs = []
        for _ in range(count):
            edges = [(v, int(rng.integers(max(0, v - 5), v))) for v in range(1, size)]
            graphs.append((edges, rng.integers(0, 10, size).tolist()))
        for kernel in (WeisfeilerLehman(5), ShortestPath()):
            _, seconds = min((ours(kernel, graphs) for _ in range(2)), key=lambda r: r[1])
            yield Time(f"{kernel} {count} trees of {size} nodes", seconds, np.nan, np.nan, np.nan, np.nan)
