"""Kernel ridge regression against SciPy's factorisations of a Gram matrix that is there already.

One fit is compared with one Cholesky factorisation; 100 penalties, each with every sample left out in turn, with one
eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from benchmarks.measure import Row, best_in_turn, compare
from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian


def rows() -> Iterator[Row]:
    yield from fits()
    yield path()


def fits() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n = 10_000
    X = rng.standard_normal((n, 20))
    y = np.sin(X).sum(axis=1)
    kernel = Gaussian(5.0)
    for dtype in (np.float64, np.float32):
        x, targets = X.astype(dtype), y.astype(dtype)
        K = np.asfortranarray(kernel(x))
        K[np.arange(n), np.arange(n)] += 1
        ready = K.copy(order="F")

        def peer(K=K, ready=ready, targets=targets):
            factor = cho_factor(ready, lower=True, overwrite_a=True, check_finite=False)
            solution = cho_solve(factor, targets)
            ready[...] = K  # for the next round; a plain copy of the matrix, which a user would not pay
            return solution

        def copy(K=K, ready=ready):
            ready[...] = K

        row = compare(
            f"KernelRidge.fit n=10,000 d=20 {np.dtype(dtype).name}",
            lambda x=x: KernelRidge(alpha=1.0, kernel=kernel).fit(x, y).dual_coef_,
            "SciPy Cholesky, K ready",
            peer,
            1.3,
            rounds=3,
        )
        (paid,) = best_in_turn([copy], 3)
        seconds = row.peer_seconds - paid
        yield Row(
            row.name,
            row.peer,
            row.ours_seconds,
            seconds,
            row.ours_seconds / seconds,
            1.3,
            row.error,
            row.peak_megabytes,
        )


def path() -> Row:
    rng = np.random.default_rng(0)
    n = 5_000
    X = rng.standard_normal((n, 20))
    y = np.sin(X).sum(axis=1) + rng.standard_normal(n)
    kernel = Gaussian(5.0)
    K = kernel(X)
    alphas = np.geomspace(1e-4, 1e4, 100)
    shown = slice(0, 100, 33)

    def inverses():
        errors = []
        for alpha in alphas[shown]:
            G = np.linalg.inv(K + alpha * np.eye(n))
            errors.append(np.mean((G @ y / G.diagonal()) ** 2))
        return errors

    return compare(
        "KernelRidgeCV.fit n=5,000 100 alphas, exact LOO",
        lambda: KernelRidgeCV(alphas, kernel=kernel).fit(X, y).errors_[shown],
        "SciPy eigh, evd, K ready",
        lambda: eigh(K, driver="evd", check_finite=False),
        1.5,
        reference=inverses,
        rounds=3,
    )
