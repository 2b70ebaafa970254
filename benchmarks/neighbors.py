"""KernelNeighborsClassifier with a Gaussian against scikit-learn's KNeighborsClassifier, on letter and mnist.

The Gaussian's order is the Euclidean one, so the neighbours are the same. The peer of a row is the faster of
``algorithm="brute"`` and ``algorithm="auto"``, the latter only where it is not the former. Fit and prediction are timed
together. ``error`` is the largest difference, relative to the distance, between the Euclidean distances of our
neighbours and of the peer's, place by place: 0 up to rounding means the same neighbours, except that samples at equal
distances may change places. Where the predictions differ it must be by such ties, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.measure import Row, best_in_turn, load, with_peak
from mercer import KernelNeighborsClassifier
from mercer.kernels import Gaussian

NEIGHBORS = 5


def distances(X: Any, Z: Any, index: Any) -> Any:
    """The Euclidean distances of listed pairs, in float64."""
    out = np.empty(index.shape)
    for i, row in enumerate(X.astype(np.float64)):
        out[i] = np.sqrt(((row - Z[index[i]].astype(np.float64)) ** 2).sum(axis=1))
    return out


def row(name: str, Z: Any, y: Any, X: Any, target: float, rounds: int, trees: bool) -> Row:
    kernel = Gaussian(float(np.sqrt(Z.shape[1] * Z.var())))
    ours = KernelNeighborsClassifier(NEIGHBORS, kernel=kernel)
    peers = {a: KNeighborsClassifier(NEIGHBORS, algorithm=a) for a in (("brute", "auto") if trees else ("brute",))}
    predicted, peak = with_peak(lambda: ours.fit(Z, y).predict(X))
    brute = peers["brute"].fit(Z, y)
    found = distances(X, Z, ours.kneighbors(X, NEIGHBORS + 1, return_distance=False))
    expected = distances(X, Z, brute.kneighbors(X, NEIGHBORS + 1, return_distance=False))
    tied = np.isclose(expected[:, -2], expected[:, -1], rtol=1e-9)
    if not ((predicted == brute.predict(X)) | tied).all():
        raise AssertionError(f"{name}: predictions differ where no neighbours are tied")
    calls = [lambda m=m: m.fit(Z, y).predict(X) for m in (ours, *peers.values())]
    mine, *theirs = best_in_turn(calls, rounds)
    best = int(np.argmin(theirs))
    error = float((np.abs(found - expected) / np.maximum(expected, 1e-300)).max())
    peer = f"scikit-learn {list(peers)[best]}"
    return Row(name, peer, mine, theirs[best], mine / theirs[best], target, error, peak)


def rows() -> Iterator[Row]:
    for name, unit, dtype, target, rounds in (
        ("letter", 1, np.float64, 1 / 2, 5),
        ("mnist", 1, np.float64, 1 / 1.6, 2),
        ("mnist", 255, np.float32, 1 / 1.6, 2),
    ):
        file = load(f"{name}.npz")
        if file is None:
            continue
        Z, X = (np.asarray(file[key] / unit, dtype=dtype) for key in ("X", "X_test"))
        shape = f"{len(X):,} x {len(Z):,} d={Z.shape[1]} {np.dtype(dtype).name}"
        yield row(f"{name}{'/255' if unit > 1 else ''} {shape}", Z, file["y"], X, target, rounds, Z.shape[1] <= 15)
