"""Kernel PCA of all of letter's 20,000 rows against scikit-learn's faster truncated solver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.decomposition import KernelPCA as Peer
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import Row, best_in_turn, load
from mercer import KernelPCA

COMPONENTS = 10


def rows() -> Iterator[Row]:
    data = load("letter.npz")
    if data is None:
        yield Row("SKIPPED: letter.npz is not in MERCER_DATA", "", np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
        return
    X = StandardScaler().fit_transform(np.vstack([data["X"], data["X_test"]]).astype(np.float64))
    found = {}

    def fit(name, machine):
        def run():
            found[name] = machine.fit(X).eigenvalues_

        return run

    ours = fit("ours", KernelPCA(COMPONENTS, kernel="rbf"))
    peers = {
        name: fit(name, Peer(COMPONENTS, kernel="rbf", eigen_solver=name, random_state=0, copy_X=False))
        for name in ("arpack", "randomized")
    }
    seconds = best_in_turn([ours, *peers.values()], 2)
    mine, fastest = seconds[0], min(seconds[1:])
    name = list(peers)[seconds[1:].index(fastest)]
    error = float(np.abs(found["ours"] / found["arpack"] - 1).max())  # ARPACK's are exact to rounding
    yield Row(f"KernelPCA({COMPONENTS}) letter, n={len(X)}", f"scikit-learn {name}", mine, fastest, mine / fastest,
              1 / 4, error, np.nan)  # fmt: skip
