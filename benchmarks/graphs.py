"""Kernels of graphs: accuracy on TUDataset benchmarks, and the time of Gram matrices against GraKeL's.

``python -m benchmarks graphs --only NCI1`` runs some cases; their rows are merged into the results.

Accuracy: 10-fold cross-validation, 10 times, C and the kernel of a list chosen inside the training folds; see
``benchmarks.nested``. Time: two threads, inputs made anew for every call, because GraKeL keeps paths inside its graphs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import growth
from benchmarks.measure import DATA, run_cases
from benchmarks.nested import Score, nested
from mercer.files import read_tudataset
from mercer.kernels import Kernel, ShortestPath, WeisfeilerLehman, exp
from mercer.samples import Graphs, as_graphs

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)


def lehman(*rounds: int) -> list[Kernel]:
    return [WeisfeilerLehman(h).normalized() for h in rounds]


def gaussians(k: Kernel) -> list[Kernel]:
    """exp(-c |phi(x) - phi(z)|^2 / 2) of the features of a kernel with k(x, x) = 1, for several c."""
    return [exp(c * k).normalized() for c in (2.0, 8.0, 32.0, 64.0)]


PATHS = ShortestPath().normalized()
#: name and data set: kernels and values of C to choose from, inner validation folds, target in per cent
ACCURACY = {
    ("WeisfeilerLehman", "MUTAG"): (lehman(0, 1, 2, 3, 4, 5), CS, 9, 84.0),
    ("WeisfeilerLehman", "ENZYMES"): (lehman(1, 2, 3, 4, 5), CS[1:], 3, 51.0),
    ("ShortestPath", "ENZYMES"): ([PATHS], CS[1:], 3, 41.0),
    ("ShortestPath plain or Gaussian", "ENZYMES"): ([PATHS, *gaussians(PATHS)], CS[1:], 3, 41.0),
    ("WeisfeilerLehman", "PROTEINS"): (lehman(0, 1, 2, 3), CS, 3, 74.5),
    ("WeisfeilerLehman", "NCI1"): (lehman(5, 8, 11), CS[1:4], 1, 84.0),
}
#: kernel, data set, how much of GraKeL's time at most
SPEED = [
    (WeisfeilerLehman(5), "NCI1", 0.05),
    (ShortestPath(), "NCI1", 0.05),
    (ShortestPath(), "PROTEINS", 0.05),
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


def run(chosen: argparse.Namespace) -> None:
    if DATA is None:
        print("graphs: set MERCER_DATA to the folder of the data sets")
        return
    cases = {f"speed {kernel} {name}": partial(speed, kernel, name, most) for kernel, name, most in SPEED}
    cases["growth"] = grown
    cases |= {f"accuracy {family} {name}": partial(accuracy, family, name) for family, name in ACCURACY}
    run_cases("graphs", cases, chosen.only)


def load(name: str) -> tuple[Graphs, Any]:
    return read_tudataset(Path(DATA or "") / f"graphs_{name}.zip")


def accuracy(family: str, name: str, repeats: int = 10) -> Iterator[Score]:
    kernels, Cs, inner, target = ACCURACY[family, name]
    graphs, y = load(name)
    grams = [kernel(graphs) for kernel in kernels]
    yield nested(f"{family} {name}", grams, y, Cs, target, repeats=repeats, inner=inner)


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
    """GraKeL's matrix of the same kernel; which method finds shortest paths is left to it."""
    from grakel import ShortestPath as PeerPath
    from grakel import VertexHistogram as PeerHistogram
    from grakel import WeisfeilerLehman as PeerWeisfeilerLehman

    if kernel == ShortestPath():
        peer = PeerPath(normalize=False, with_labels=True)
    else:
        peer = PeerWeisfeilerLehman(n_iter=5, base_graph_kernel=PeerHistogram, normalize=False)
    given = [(A.copy(), dict(enumerate(labels))) for A, labels in graphs]
    start = time.perf_counter()
    K = peer.fit_transform(given)
    return K, time.perf_counter() - start


def speed(kernel: Kernel, name: str, most: float, rounds: int = 3) -> Iterator[Time]:
    graphs = adjacency(load(name)[0])
    best, peer_best, K, other = np.inf, np.inf, None, None
    for _ in range(rounds):
        K, seconds = ours(kernel, [(A.copy(), list(b)) for A, b in graphs])
        best = min(best, seconds)
        try:
            other, seconds = grakel(kernel, graphs)
        except ImportError:
            print("graphs: GraKeL is not installed, so its times are missing")
            other, seconds = K, np.nan
        peer_best = min(peer_best, seconds)
    error = float(np.abs(np.asarray(K) - np.asarray(other)).max())
    yield Time(f"{kernel} {name}", best, peer_best, best / peer_best, most, error)


def grown() -> Iterator[growth.Growth]:
    """Random trees with ten labels, where a node is joined to one of the five before it."""
    rng = np.random.default_rng(0)

    def some(count: int, size: int) -> list[Any]:
        return [
            ([(v, int(rng.integers(max(0, v - 5), v))) for v in range(1, size)], rng.integers(0, 10, size).tolist())
            for _ in range(count)
        ]

    objects = {
        "number of graphs": {count: some(count, 30) for count in (500, 1000, 2000, 4000)},
        "nodes of each of 500 graphs": {size: some(500, size) for size in (30, 60, 120, 240)},
    }
    yield from growth.measured("graphs", [WeisfeilerLehman(5), ShortestPath()], as_graphs, objects)
