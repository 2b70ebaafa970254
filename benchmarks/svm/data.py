"""The data sets: arrays as a user would have them, targets standardised, nothing tuned to anybody.

Every function returns None where MERCER_DATA does not hold its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_classification

from benchmarks.measure import load


@dataclass(frozen=True, eq=False)
class Data:
    """Rows and targets to fit, and rows to predict where a case asks for that."""

    X: Any
    y: Any
    queries: Any = None


def iris() -> Data:
    return Data(*load_iris(return_X_y=True))


def digits() -> Data:
    return Data(*load_digits(return_X_y=True))


def synthetic(n: int, d: int) -> Data:
    informative = min(d // 2, 20)
    X, y = make_classification(n, d, n_informative=informative, n_redundant=2, flip_y=0.05, random_state=0)
    return Data(X, y)


def checkerboard(n: int) -> Data:
    """Four by four fields, a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (n, 2))
    y = X.astype(np.int64).sum(axis=1) % 2
    return Data(X, np.where(rng.random(n) < 0.1, 1 - y, y))


def growing(n: int, d: int) -> Data:
    """16 Gaussian clusters in 16 directions of d, alternately labelled, a twentieth of the labels wrong; float32."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((16, d), dtype=np.float32) / np.float32(np.sqrt(d))
    centres = rng.choice(np.float32([-1, 1]), (16, 16))
    cluster = rng.integers(16, size=n)
    latent = centres[cluster] + rng.standard_normal((n, 16), dtype=np.float32)
    X = np.float32(0.3 / np.sqrt(d)) * rng.standard_normal((n, d), dtype=np.float32)
    X += latent @ directions
    return Data(X, np.where(rng.random(n) < 0.05, 1 - cluster % 2, cluster % 2))


def standardised(name: str, count: int | None = None, query_count: int | None = None) -> Data | None:
    """Columns of mean 0 and variance 1; of the queries as many as asked for, repeated if the test part is smaller."""
    file = load(f"{name}.npz")
    if file is None:
        return None
    X = file["X"].astype(np.float64)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1
    queries = None if query_count is None else (rows_of(file["X_test"], query_count) - mean) / deviation
    return Data(((X - mean) / deviation)[:count], file["y"][:count].astype(np.int64), queries)


def regression(name: str, count: int | None = None) -> Data | None:
    """Columns and target of mean 0 and variance 1; ``count`` rows, drawn at random, or all."""
    file = load(f"{name}.npz")
    if file is None:
        return None
    X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    some = np.random.default_rng(0).permutation(len(y))[:count]
    X, y = X[some], y[some]
    return Data((X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std())


def images(name: str, count: int, *, parity: bool, scaled: bool = False, query_count: int | None = None) -> Data | None:
    """Grey values in [0, 1] on a grid of 1/255, or of mean 0 and variance 1 per pixel; float32."""
    file = load(f"{name}.npz")
    if file is None:
        return None
    X = file["X"][:count].astype(np.float32) / np.float32(255)
    if scaled:
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation == 0] = 1
        X = (X - mean) / deviation
    y = file["y"][:count].astype(np.int64)
    queries = None if query_count is None else rows_of(file["X_test"], query_count).astype(np.float32) / np.float32(255)
    return Data(X, y % 2 if parity else y, queries)


def sparse(name: str, count: int | None = None, *, dense: bool = False, query_count: int | None = None) -> Data | None:
    file = load(f"{name}.npz")
    if file is None:
        return None
    X, queries = csr(file, "X"), None
    if query_count is not None:
        queries = csr(file, "X_test")[:query_count]
    X, y = X[:count], file["y"][:count].astype(np.int64)
    if dense:
        return Data(X.toarray(), y, None if queries is None else queries.toarray())
    return Data(X, y, queries)


def csr(file: Any, name: str) -> Any:
    parts = file[f"{name}_data"].astype(float), file[f"{name}_indices"].astype("i4"), file[f"{name}_indptr"]
    return sp.csr_matrix(parts, shape=tuple(file[f"{name}_shape"]))


def rows_of(X: Any, count: int) -> Any:
    return np.resize(X, (count, X.shape[1]))


def scale_gamma(X: Any) -> float:
    """gamma="scale" in float64, so that everyone solves the same problem to the last digit."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var(dtype=np.float64)
    return float(1 / (X.shape[1] * variance))
