"""Compositions of kernels against their parts: fits, blocks and predictions; losing rows first.

Of two fits the one with more support vectors computes more rows of the matrix, so C of the composition is such that it
has as many as its parts with C = 1, on average; or with half of that, and so on, where there is no such C. Predictions
are compared per support vector. ``scikit-learn`` is its plain fit with the Gaussian kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sklearn.svm

from benchmarks.measure import Row, best_in_turn, compare, load, with_peak
from mercer import SVC
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial

N, WIDE = 12_000, 4_000  # of more than a hundred columns fewer, as the peer takes minutes
BLOCK = 5_000
AFFORDABLE = 5_000  # rows of a matrix that is handed to LIBSVM
SETS = ("letter", "casp_protein", "cpusmall", "spambase", "fashion_mnist")


def rows() -> Iterator[Row]:
    every = [row for name in SETS for row in of_set(name)]
    yield from sorted(every, key=lambda row: -row.ratio / row.target if np.isfinite(row.ratio) else np.inf)


def of_set(name: str) -> Iterator[Row]:
    file = load(f"{name}.npz")
    if file is None:
        yield Row(f"SKIPPED: {name}.npz is not in MERCER_DATA", "", *[np.nan] * 6)
        return
    X = np.asarray(file["X"], dtype=np.float64)
    X = X.reshape(len(X), -1)
    X = X[: N if X.shape[1] <= 100 else WIDE]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    y = np.asarray(file["y"]).ravel()[: len(X)]
    y = np.where(y > np.median(y), 1, -1)
    for dtype in (np.float32, np.float64):
        yield from fits(f"{name} {np.dtype(dtype).name}", X.astype(dtype), y)
        yield from blocks(f"{name} {np.dtype(dtype).name}", X.astype(dtype), y)


def fits(name: str, X: Any, y: Any) -> Iterator[Row]:
    d = X.shape[1]
    g, cubic = Gaussian(gamma=1 / d), Polynomial(3, gamma=1 / d)
    yield fit(f"{name}: G + 0.001 L", g + 0.001 * Linear(), [g], X, y, 1.4)
    yield fit(f"{name}: G * P2", g * Polynomial(2, gamma=1 / d), [g], X, y, 1.5)
    yield fit(f"{name}: P3.normalized()", cubic.normalized(), [cubic], X, y, 1.4)
    a, b = (Gaussian(gamma=2 / d).on(half.tolist()) for half in np.array_split(np.arange(d), 2))
    yield fit(f"{name}: G.on(A) + G.on(B)", a + b, [a, b], X, y, 1.2)
    ours = SVC(kernel=g + 0.001 * Linear())
    peer = sklearn.svm.SVC(gamma=1 / d)
    _, peak = with_peak(lambda: ours.fit(X, y))
    seconds = best_in_turn([lambda: ours.fit(X, y), lambda: peer.fit(X, y)], 2)
    yield Row(f"{name}: G + 0.001 L", "scikit-learn, G", *seconds, seconds[0] / seconds[1], 1.0, np.nan, peak)


def fit(name: str, kernel: Kernel, parts: list[Kernel], X: Any, y: Any, target: float) -> Row:
    C, off = 2.0, np.inf
    while off > 0.02 and C > 1 / 16:  # there are kernels that have more support vectors with any C than others with 1
        C *= 0.5
        plain = [SVC(kernel=k, C=C).fit(X, y) for k in parts]
        off, one = of_so_many(kernel, float(np.mean([len(m.support_) for m in plain])), X, y)
    machines = [one, *plain]
    _, peak = with_peak(lambda: one.fit(X, y))
    seconds = best_in_turn([lambda m=m: m.fit(X, y) for m in machines], 5)  # type: ignore[misc]
    ratio = seconds[0] / sum(seconds[1:])
    title = f"{name} ({difficulty(machines, X, y)})"
    return Row(title, "its parts", seconds[0], sum(seconds[1:]), ratio, target, np.nan, peak)


def difficulty(machines: list[SVC], X: Any, y: Any) -> str:
    """What each has to do: C, support vectors, steps, and LIBSVM's on the same matrix where that is affordable."""
    told = []
    for m in machines:
        steps = f"{m.certificate_.iterations}"
        if len(X) <= AFFORDABLE:
            K = m.kernel(np.asarray(X, dtype=np.float64))
            peer = sklearn.svm.SVC(kernel="precomputed", C=m.C, cache_size=2000).fit(K, y)
            steps += f", LIBSVM {int(peer.n_iter_.sum())}"
        told.append(f"C {m.C:.3g}: {len(m.support_)} support vectors, steps {steps}")
    return "; ".join(told)


def of_so_many(kernel: Kernel, wanted: float, X: Any, y: Any) -> tuple[float, SVC]:
    """A machine with this kernel and as many support vectors, within 2 %, or as near as ten fits come, by its C."""
    low, high, best = -10.0, 10.0, (np.inf, SVC(kernel=kernel))
    for power in (0.0, *[np.nan] * 9):
        power = 0.5 * (low + high) if np.isnan(power) else power
        machine = SVC(kernel=kernel, C=2.0**power).fit(X, y)
        off = len(machine.support_) / wanted - 1
        best = min(best, (abs(off), machine), key=lambda pair: pair[0])
        if abs(off) <= 0.02:
            break
        low, high = (power, high) if off > 0 else (low, power)
    return best


def blocks(name: str, X: Any, y: Any) -> Iterator[Row]:
    A, B = X[:BLOCK], X[-BLOCK:]
    d = X.shape[1]
    kernels = Gaussian(gamma=1 / d), Laplacian(1 / d)
    yield compare(
        f"{name}: (G + Laplacian)(A, B)",
        lambda: (kernels[0] + kernels[1])(A, B),
        "its parts",
        lambda: [k(A, B) for k in kernels],
        1.15,
        reference=lambda: kernels[0](A, B) + kernels[1](A, B),
        rounds=3,
    )
    machines = [SVC(kernel=k).fit(A, y[:BLOCK]) for k in (kernels[0] + kernels[1], *kernels)]
    support = [len(m.support_) for m in machines]
    seconds = best_in_turn([lambda m=m: m.decision_function(B) for m in machines], 3)  # type: ignore[misc]
    each = [s / n for s, n in zip(seconds, support, strict=True)]
    yield Row(
        f"{name}: predict, G + Laplacian", "its parts", seconds[0], sum(seconds[1:]), each[0] / sum(each[1:]), 1.15,
        np.nan, np.nan,
    )  # fmt: skip
