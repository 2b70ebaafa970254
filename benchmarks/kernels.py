"""Blocks of kernels against NumPy's matrix product and scikit-learn's kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel

from benchmarks.measure import Row, compare, load
from mercer.kernels import Chi2, Exponential, Gaussian, Intersection, Laplacian, Linf, Polynomial, Sigmoid

N = 10_000


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X, Z = (rng.random((N, 784)).astype(dtype) for _ in range(2))
        label = np.dtype(dtype).name
        block = 1.0 if dtype == np.float32 else 1.15

        def product(X=X, Z=Z):
            return X @ Z.T

        for kernel in (Gaussian(gamma=1 / 784), Polynomial(3, gamma=1 / 784), Sigmoid(gamma=1 / 784, c=0.1)):
            name = type(kernel).__name__
            yield compare(
                f"{name}(X, Z) {label} d=784",
                lambda k=kernel, X=X, Z=Z: k(X, Z),
                "X @ Z.T",
                product,
                block,
                reference=_none,
            )
            yield compare(
                f"{name}(X) {label} d=784",
                lambda k=kernel, X=X: k(X),
                "X @ Z.T",
                product,
                0.65 * block,
                reference=_none,
            )
        x, z = np.ascontiguousarray(X[:, :16]), np.ascontiguousarray(Z[:, :16])
        yield compare(
            f"Gaussian(X, Z) {label} d=16",
            lambda x=x, z=z: Gaussian(1.0)(x, z),
            "exp(X @ Z.T)",
            lambda x=x, z=z: np.exp(x @ z.T),
            1 / 3,
            reference=_none,
        )
    for dtype, times in ((np.float32, 15), (np.float64, 8)):
        H, G = (rng.random((2000, 64)).astype(dtype) for _ in range(2))
        label = np.dtype(dtype).name
        for kernel, name, peer, same in (
            (Laplacian(0.1), "laplacian_kernel", lambda H=H, G=G: laplacian_kernel(H, G, gamma=0.1), True),
            (Chi2(), "chi2_kernel", lambda H=H, G=G: chi2_kernel(H, G), False),
            (Intersection(), "chi2_kernel", lambda H=H, G=G: chi2_kernel(H, G), False),
            (Exponential(Linf(), power=1), "laplacian_kernel", lambda H=H, G=G: laplacian_kernel(H, G), False),
        ):
            yield compare(
                f"{type(getattr(kernel, 'distance', kernel)).__name__} {label} 2000 x 2000, d=64",
                lambda k=kernel, H=H, G=G: k(H, G),
                name,
                peer,
                1 / times,
                reference=None if same else _none,
            )
    for file, count in (("a9a.npz", N), ("sector.npz", None)):
        data = load(file)
        if data is None:
            yield Row(f"SKIPPED: {file} is not in MERCER_DATA", "", np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
            continue
        shape = tuple(data["X_shape"])
        X = sp.csr_matrix((data["X_data"].astype(float), data["X_indices"].astype("i4"), data["X_indptr"]), shape=shape)
        X = X[:count]
        Z = X.copy()
        yield compare(
            f"Gaussian(X, Z) CSR {file[:-4]}",
            lambda X=X, Z=Z: Gaussian(gamma=0.05)(X, Z),
            "rbf_kernel",
            lambda X=X, Z=Z: rbf_kernel(X, Z, gamma=0.05),
            1 / 3,
            rounds=3,
        )


def _none() -> None:
    return None
