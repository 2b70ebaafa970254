"""Least mean squares against the exact solve: seconds until the error on held-out data is that of kernel ridge.

Both are given the same kernel and penalty, and nothing else: ours stops by its default tolerance, without looking at
the test part. ``error`` is by how much its root mean squared error there exceeds that of the exact solution,
relatively: at most 0.01 counts as the same.
A last row is the stream of a kernel perceptron, against scikit-learn's SGD on a random map of as many features as the
budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from benchmarks.measure import Row, compare, load
from mercer import KernelLMS, KernelPerceptron, KernelRidge
from mercer.kernels import Gaussian

#: Data, width and penalty: those that cross-validation of kernel ridge prefers.
CASES = [("cpusmall", 3.0, 0.1), ("elevators", 6.0, 0.1)]


def split(file: str) -> tuple[np.ndarray, ...] | None:
    """Four fifths to learn from and the rest, columns and targets of unit variance."""
    data = load(f"{file}.npz")
    if data is None:
        return None
    X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [len(X) * 4 // 5])
    X = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


def rows() -> Iterator[Row]:
    for file, sigma, alpha in CASES:
        parts = split(file)
        if parts is None:
            print(f"{file}: skipped, as MERCER_DATA does not hold {file}.npz")
            continue
        yield regression(file, Gaussian(sigma), alpha, *parts)
    yield streaming()


def regression(
    name: str, kernel: Gaussian, alpha: float, X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray
) -> Row:
    fast = KernelLMS(kernel, alpha=alpha)
    exact = KernelRidge(kernel=kernel, alpha=alpha)
    row = compare(
        f"KernelLMS.fit {name} n={len(X):,} alpha={alpha:g}",
        lambda: fast.fit(X, y).predict(Z),
        "KernelRidge, exact",
        lambda: exact.fit(X, y).predict(Z),
        1.0,
        rounds=3,
    )
    ours, theirs = (float(np.sqrt(np.mean((machine.predict(Z) - z) ** 2))) for machine in (fast, exact))
    state = "converged" if fast.certificate_.converged else "NOT converged"
    print(f"error on the test part: {ours:.5f} after {fast.n_iter_} passes, {state}; exact {theirs:.5f}")
    return replace(row, error=ours / theirs - 1)


def streaming() -> Row:
    """100,000 examples in parts of 1,000."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 10))
    y = ((X**2).sum(axis=1) > 9.34).astype(int)
    parts = np.split(np.arange(len(X)), 100)

    def ours() -> float:
        machine = KernelPerceptron(Gaussian(3.0), budget=500)
        for part in parts[:-1]:
            machine.partial_fit(X[part], y[part], classes=[0, 1])
        return float(machine.score(X[parts[-1]], y[parts[-1]]))

    def peer() -> float:
        phi = RBFSampler(gamma=1 / 18, n_components=500, random_state=0).fit(X[:1])
        machine = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, average=True, random_state=0)
        for part in parts[:-1]:
            machine.partial_fit(phi.transform(X[part]), y[part], classes=[0, 1])
        return float(machine.score(phi.transform(X[parts[-1]]), y[parts[-1]]))

    print(f"accuracy on the last part: {ours():.3f} of KernelPerceptron, {peer():.3f} of SGD on random features")
    return compare("KernelPerceptron stream, budget 500", ours, "SGD, 500 random features", peer, 1.0, rounds=3)
