"""Measures the models of costs, ``mercer.costs`` and ``native/costs.hpp``: run it to know whether they still hold.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.costs

Times are those of the processor, of one thread, the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer import KernelLMS, KernelLogistic, KernelPCA, costs
from mercer.kernels import Chi2, Gaussian, Intersection, JensenShannon, Kernel, Laplacian, Linear
from mercer.problem import squared_hinge
from mercer.solvers import Factored
from mercer.solvers.linear import LinearSolver

rng = np.random.default_rng(0)


def seconds(call: Callable[[], Any]) -> float:
    """The time of one call."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return float(best)


def with_costs(call: Callable[[], Any], **values: float) -> float:
    """The time of a call while some costs are taken to be others."""
    before = {name: getattr(costs, name) for name in values}
    try:
        for name, value in values.items():
            setattr(costs, name, value)
        return seconds(call)
    finally:
        for name, value in before.items():
            setattr(costs, name, value)


def pairs() -> None:
    """REDUCTION: nanoseconds for a coordinate of a pair."""
    X = rng.uniform(size=(1500, 200))
    kernels: dict[str, Kernel] = {
        "dot": Linear(),
        "intersection": Intersection(),
        "chi2": Chi2(),
        "jensen_shannon": JensenShannon(),
    }
    for name, kernel in kernels.items():
        other = X + 0.1
        print(f"REDUCTION {name}: {1e9 * seconds(lambda k=kernel, z=other: k(X, z)) / (1500**2 * 200):.3f} ns")  # type: ignore[misc]


def entries() -> None:
    """The core's kProduct, kNoProduct, kInteger, kPerValue and kEntry: nanoseconds for an entry in float32."""
    n, widths = 2000, (20, 100, 200, 400, 800)
    samples: dict[str, tuple[Callable[[float], Kernel], Callable[[int], Any]]] = {
        "kProduct": (lambda rate: Gaussian(gamma=rate), lambda d: rng.standard_normal((n, d), dtype=np.float32)),
        "kNoProduct": (Laplacian, lambda d: rng.standard_normal((n, d), dtype=np.float32)),
        "kInteger": (lambda rate: Gaussian(gamma=1e-4 * rate), lambda d: rng.integers(0, 256, (n, d)).astype("f")),
        "kPerValue": (
            lambda rate: Gaussian(gamma=rate),
            lambda d: sp.random_array((n, d), density=0.05, format="csr", dtype=np.float32, rng=rng),
        ),
    }
    for name, (kernel, data) in samples.items():
        times = []
        for d in widths:
            k, out = kernel(1 / d), np.empty((n, n), dtype=np.float32)
            pairs = k.bind(k.samples(data(d)), k.samples(data(d)))
            pairs.block(slice(0, 10), slice(0, n))  # which packs the columns
            times.append(1e9 * seconds(lambda p=pairs, out=out: p.fill(out, slice(0, n), slice(0, n))) / n**2)  # type: ignore[misc]
        each, rest = np.polyfit(widths, times, 1)
        print(f"{name}: {each:.4f} ns for a coordinate, {rest:.2f} for the rest; {np.round(times, 2)} of {widths}")


def products() -> None:
    """SINGLE_ROWS, SHORT_ROWS."""
    for n in (1000, 2000, 4000):
        double = Gaussian(4.0).gram(rng.standard_normal((n, 20)))
        single, v = double.single, np.ones(n)
        times = seconds(lambda K=double, v=v: K @ v), seconds(lambda K=single, v=v: K @ v.astype("f"))  # type: ignore[misc]
        print(f"SINGLE_ROWS: a product of {n} rows {1e3 * times[0]:.2f} ms in float64, {1e3 * times[1]:.2f} in float32")
    A = rng.standard_normal((500, 500))
    print(f"SHORT_ROWS: eigenvectors of 500 rows {1e3 * seconds(lambda: scipy.linalg.eigh(A + A.T)):.0f} ms")


def newton() -> None:
    """NEWTON_ALL, NEWTON_LANDMARKS."""
    for n in (1500, 3000, 6000):
        X = rng.standard_normal((n, 20))
        y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1).astype(int)
        fit = KernelLogistic(kernel=Gaussian(4.0), cache_size=1000).fit
        times = [
            f"{with_costs(lambda f=fit, X=X, y=y: f(X, y), NEWTON_ALL=0, NEWTON_LANDMARKS=m):.2f} s with {m}"  # type: ignore[misc]
            for m in (200, 400, 800, 1600)
        ]
        print(f"NEWTON_LANDMARKS: {n} rows {', '.join(times)}")


def steps() -> None:
    """PRECONDITIONED_ROWS, LANDMARKS_PER_ROOT."""
    for n in (1000, 2000, 4000):
        X = rng.standard_normal((n, 10))
        y = np.sin(2 * X[:, :3]).sum(axis=1)
        times = []
        for landmarks in (0, int(5 * n**0.5), int(10 * n**0.5), int(20 * n**0.5)):
            machine = KernelLMS(Gaussian(2.0), alpha=0.1, precondition=landmarks)
            times.append(f"{seconds(lambda m=machine, X=X, y=y: m.fit(X, y)):.3f} s with {landmarks}")  # type: ignore[misc]
        print(f"LANDMARKS_PER_ROOT: {n} rows {', '.join(times)}")


def eigenpairs() -> None:
    """EIGEN_DENSE_SAMPLES, BLOCK_WIDTH."""
    for n in (300, 500, 1000):
        X = rng.standard_normal((n, 10))
        fit = KernelPCA(5, kernel=Gaussian(4.0)).fit
        dense = with_costs(lambda f=fit, X=X: f(X), EIGEN_DENSE_SAMPLES=10**6)  # type: ignore[misc]
        blocks = with_costs(lambda f=fit, X=X: f(X), EIGEN_DENSE_SAMPLES=10)  # type: ignore[misc]
        print(f"EIGEN_DENSE_SAMPLES: {n} rows {1e3 * dense:.0f} ms as a whole, {1e3 * blocks:.0f} by blocks")
    X = rng.standard_normal((4000, 10))
    fit = KernelPCA(5, kernel=Gaussian(4.0)).fit
    times = [f"{1e3 * with_costs(lambda: fit(X), BLOCK_WIDTH=w):.0f} ms of {w}" for w in (12, 16, 32, 64)]
    print(f"BLOCK_WIDTH: 4000 rows {', '.join(times)}")


def linear() -> None:
    """LINEAR_COLUMNS."""
    for d in (500, 1000, 2000):
        X = rng.standard_normal((3000, d)) / d**0.5
        y = np.sign(X[:, 0] + 0.1 * rng.standard_normal(3000))
        problem = squared_hinge(y, 1.0, bias=False)
        primal, dual = (
            seconds(lambda p=p, X=X, q=problem: LinearSolver(primal=p).solve(Factored(X), [q]))  # type: ignore[misc]
            for p in (True, False)
        )
        print(f"LINEAR_COLUMNS: 3000 x {d} {1e3 * primal:.0f} ms in the primal, {1e3 * dual:.0f} in the dual")


if __name__ == "__main__":
    for measure in (entries, pairs, products, eigenpairs, linear, steps, newton):
        measure()
