"""The ends of a symmetric matrix's spectrum: exactly from the matrix, or by Lanczos from products with vectors.

Every question of validity comes down to the smallest eigenvalue measured against the largest, so the tolerance and
the search for a negative direction live here, once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from mercer.gram import Gram
from mercer.kernels.base import Kernel, instance
from mercer.kernels.pairs import chunks
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.solvers.lanczos import LANCZOS_STEPS, Ends, spectrum_ends

Float = NDArray[np.float64]

#: Up to this many samples a matrix is stored and decomposed: 32 megabytes and a few seconds.
DENSE_SAMPLES = 2000


def tolerance(n: int, dtype: Any) -> float:
    """What rounding can do to an eigenvalue of an n by n matrix, relative to the largest: 10 n eps."""
    return 10 * n * float(np.finfo(dtype).eps)


def checked_tolerance(tol: float) -> float:
    """A tolerance given by the user."""
    if not 0 <= tol < 1:
        raise ValueError(f"tol is relative to the largest eigenvalue and lies between 0 and 1, but got {tol!r}")
    return float(tol)


def unit(A: Float) -> Float:
    """The matrix divided by its largest entry, so that products neither overflow nor vanish."""
    largest = float(np.abs(A).max(initial=0.0))
    return A / largest if largest > 0 else A


def dense_ends(S: Float) -> tuple[Ends, Float]:
    """The ends of the spectrum of a stored symmetric matrix, and all its eigenvalues."""
    values: Float = np.asarray(np.linalg.eigvalsh(S), dtype=np.float64)
    _, lowest = eigh(S, subset_by_index=[0, 0])  # twice without all the vectors is a third of once with them
    return Ends(float(values[0]), float(values[-1]), lowest[:, 0]), values


def gram_ends(gram: Gram, steps: int = LANCZOS_STEPS) -> Ends:
    """The ends of a Gram matrix's spectrum by Lanczos; rows are computed once as far as its cache holds them."""
    return spectrum_ends(lambda v: cached_product(gram, v), len(gram), steps)


def cached_product(gram: Gram, v: Array) -> Array:
    """K v by rows from the cache, which many products with one matrix want; ``gram @ v`` keeps nothing."""
    out = np.empty(v.shape)
    for rows in chunks(len(gram), len(gram) * gram.dtype.itemsize):
        out[rows] = gram.rows(rows) @ v
    return out


def checked_kernel(k: Any) -> Kernel:
    """k, if it is a kernel."""
    instance(k)
    if isinstance(k, Kernel):
        return k
    if callable(k):
        raise TypeError(
            f"expected a kernel but got a function, {getattr(k, '__name__', type(k).__name__)}; give "
            "mercer.kernels.Custom(f), or Custom(f, pairwise=True) for a function of two single samples"
        )
    raise TypeError(f"expected a kernel such as mercer.kernels.Gaussian(1) but got a {type(k).__name__}")


def evaluated(k: Kernel, x: Samples) -> Float:
    """The matrix of k in which k(x, z) and k(z, x) are computed apart: k(X) may compute one half of it only."""
    K = k.bind(x, x.take(np.arange(len(x)))).dense().astype(np.float64, copy=False)
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"{k} gives {K[i, j]} for samples {i} and {j}; scale the data, or use another kernel")
    return K
