"""LinearSVC against scikit-learn's (liblinear), with dual=True and dual=False, on a9a, sector and mnist.

Both stop by their own rules, so the objective reached counts as much as the time. The peer of a row is the fastest
setting whose objective is not worse than ours by more than 1e-4, or else the one with the best objective. ``error`` is
how much our objective exceeds the peer's, relatively: below 0 ours is the better one.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

from benchmarks.measure import Row, best_in_turn, load
from mercer import LinearSVC

#: Data sets with the number of rounds their size allows.
DATA = {"a9a": 5, "sector": 2, "mnist": 1}


def read(name: str) -> Any:
    file = load(f"{name}.npz")
    if file is None:
        return None
    if "X_data" in file:
        parts = file["X_data"].astype(float), file["X_indices"].astype("i4"), file["X_indptr"]
        return sp.csr_matrix(parts, shape=tuple(file["X_shape"])), file["y"]
    return file["X"] / 255.0, file["y"]


def objective(machine: Any, X: Any, y: Any) -> float:
    """The sum of the objectives of all classes against the rest, in float64."""
    total = 0.0
    positives = machine.classes_[1:] if len(machine.classes_) == 2 else machine.classes_
    for weights, intercept, label in zip(machine.coef_, machine.intercept_, positives, strict=True):
        slack = np.maximum(0, 1 - np.where(y == label, 1, -1) * (X @ weights + intercept))
        loss = slack if machine.loss == "hinge" else slack**2
        total += 0.5 * (weights @ weights + intercept**2) + machine.C * loss.sum()
    return float(total)


def fit(machine: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # liblinear does not converge on some of these; its objective says how far
        return machine.fit(X, y)


def rows() -> Iterator[Row]:
    for name, rounds in DATA.items():
        data = read(name)
        if data is None:
            continue
        X, y = data
        for loss in ("squared_hinge", "hinge"):
            machine = LinearSVC(loss=loss)
            tracemalloc.start()
            reached = objective(fit(machine, X, y), X, y)
            peak = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
            tried = {}
            for dual in (True, False) if loss == "squared_hinge" else (True,):
                peer = sklearn.svm.LinearSVC(loss=loss, dual=dual, random_state=0)
                start = time.perf_counter()
                fit(peer, X, y)
                seconds, value = time.perf_counter() - start, objective(peer, X, y)
                worse = value > reached * (1 + 1e-4)
                tried[dual] = (worse, value if worse else seconds, value)
                print(f"  {name} {loss} dual={dual}: {seconds:.2f} s, objective {value:.8g} (ours {reached:.8g})")
            dual = min(tried, key=lambda d: tried[d][:2])
            peer = sklearn.svm.LinearSVC(loss=loss, dual=dual, random_state=0)
            calls = [partial(fit, machine, X, y), partial(fit, peer, X, y)]
            ours_seconds, peer_seconds = best_in_turn(calls, rounds)
            yield Row(
                f"LinearSVC {loss} {name}",
                f"scikit-learn dual={dual}",
                ours_seconds,
                peer_seconds,
                ours_seconds / peer_seconds,
                1.0,
                (reached - tried[dual][2]) / tried[dual][2],
                peak,
            )
