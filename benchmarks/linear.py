"""LinearSVC and LinearSVR against scikit-learn's (liblinear), at equal objective.

Both stop by their own rules, so the objective reached counts as much as the time: the peer of a row is the fastest of
liblinear's settings (dual or primal, 1,000 iterations or as many as it takes) whose objective is worse than ours by at
most 1e-5, relatively; where there is none, the one with the best objective. ``error`` is how much our objective
exceeds the peer's: below 0 ours is the better one. ``python -m benchmarks linear --only sector`` runs some cases.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

from benchmarks.measure import Row, best_in_turn, load, run_cases, with_peak
from mercer import LinearSVC, LinearSVR

#: Data sets with the number of rounds their size allows.
CLASSES = {"a9a": 5, "sector": 2, "mnist": 1}
NUMBERS = {"cpusmall": 5, "california_housing": 5, "casp_protein": 3}
NUMBER_LOSSES = ("squared_epsilon_insensitive", "epsilon_insensitive")
#: How much worse an objective may be to count as equal.
EQUAL = 1e-5
#: Iterations of liblinear: its default, and enough.
ITERATIONS = (1000, 100_000)


def read(name: str) -> Any:
    file = load(f"{name}.npz")
    if file is None:
        return None
    if "X_data" in file:
        parts = file["X_data"].astype(float), file["X_indices"].astype("i4"), file["X_indptr"]
        return sp.csr_matrix(parts, shape=tuple(file["X_shape"])), file["y"]
    if name in CLASSES:
        return file["X"] / 255.0, file["y"]
    X, y = file["X"].astype(float), file["y"].astype(float)
    known = np.isfinite(X).all(axis=1)
    X, y = X[known], y[known]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def losses(machine: Any, X: Any, y: Any) -> Iterator[tuple[Any, float, Any]]:
    """Weights, intercept and losses before they are squared, of every output."""
    if isinstance(machine, sklearn.svm.LinearSVR):
        excess = np.abs(y - X @ machine.coef_ - machine.intercept_) - machine.epsilon
        yield machine.coef_, float(machine.intercept_[0]), np.maximum(0, excess)
        return
    positives = machine.classes_[1:] if len(machine.classes_) == 2 else machine.classes_
    for weights, intercept, label in zip(machine.coef_, machine.intercept_, positives, strict=True):
        yield weights, intercept, np.maximum(0, 1 - np.where(y == label, 1, -1) * (X @ weights + intercept))


def objective(machine: Any, X: Any, y: Any) -> float:
    """The sum of the objectives of all outputs, in float64."""
    power = 2 if machine.loss.startswith("squared") else 1
    return float(sum(0.5 * (w @ w + b**2) + machine.C * np.sum(slack**power) for w, b, slack in losses(machine, X, y)))


def fit(machine: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # liblinear does not converge on some of these; its objective says how far
        return machine.fit(X, y)


def best_peer(kind: Any, parameters: dict[str, Any], X: Any, y: Any, ours: float, seconds: float) -> tuple[Any, float]:
    """The fastest setting of equal objective, or the best one, and its objective. None is run 20 times as long as us
    and half a minute."""
    ways = (True, False) if parameters["loss"].startswith("squared") else (True,)
    tried = []
    for limit, dual in product(ITERATIONS, ways):
        if limit > ITERATIONS[0] and any(not worse for worse, *_ in tried):
            break
        peer = kind(**parameters, dual=dual, max_iter=limit, random_state=0)
        start = time.perf_counter()
        value = objective(fit(peer, X, y), X, y)
        taken = time.perf_counter() - start
        worse = value > ours * (1 + EQUAL)
        print(f"    dual={dual}, at most {limit} iterations: {taken:.2f} s, objective {value:.8g} (ours {ours:.8g})")
        tried.append((worse, value if worse else taken, value, peer))
        if taken > 20 * seconds + 30:
            break
    _, _, value, peer = min(tried, key=lambda t: t[:2])
    return peer, value


def run(chosen: argparse.Namespace) -> None:
    cases = {
        f"{loss} {name}": partial(compared, name, loss, rounds)
        for name, rounds in (CLASSES | NUMBERS).items()
        for loss in (("squared_hinge", "hinge") if name in CLASSES else NUMBER_LOSSES)
    }
    run_cases("linear", cases, chosen.only)


def compared(name: str, loss: str, rounds: int) -> Iterator[Row]:
    data = read(name)
    if data is None:
        print(f"linear: {name}.npz is not in MERCER_DATA")
        return
    X, y = data
    ours, peers = (LinearSVC, sklearn.svm.LinearSVC) if name in CLASSES else (LinearSVR, sklearn.svm.LinearSVR)
    parameters = {"loss": loss} if name in CLASSES else {"loss": loss, "epsilon": 0.1}
    machine = ours(**parameters)
    print(f"  {ours.__name__} {loss} {name}")
    start = time.perf_counter()
    reached = objective(fit(machine, X, y), X, y)
    seconds = time.perf_counter() - start
    peak = with_peak(partial(fit, machine, X, y))[1]
    peer, value = best_peer(peers, parameters, X, y, reached, seconds)
    calls = [partial(fit, machine, X, y), partial(fit, peer, X, y)]
    ours_seconds, peer_seconds = best_in_turn(calls, rounds)
    yield Row(
        f"{ours.__name__} {loss} {name}",
        f"scikit-learn dual={peer.dual}",
        ours_seconds,
        peer_seconds,
        ours_seconds / peer_seconds,
        1.0,
        (reached - value) / value,
        peak,
    )
