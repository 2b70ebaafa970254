"""Mercer's theorem made visible: a kernel as a sum of eigenvalues times eigenfunctions, estimated from samples.

From the same decomposition K = U diag(l) U' come approximate and exact explicit feature maps, for kernels that have
none of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.leaf import integer
from mercer.kernels.pairs import chunks
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.shown import Shown
from mercer.validity.spectrum import (
    DENSE_SAMPLES,
    Float,
    cached_product,
    checked_kernel,
    evaluated,
    gram_ends,
    tolerance,
)

#: The exact map stores and decomposes the whole matrix: 800 megabytes for this many samples.
MOST_EXACT = 10_000


@dataclass(frozen=True, eq=False)
class MercerExpansion(Shown):
    """k(x, z) = sum_j alpha_j phi_j(x) phi_j(z), cut off after some terms; made by ``mercer_expansion``.

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> [f"{mercer_expansion(Gaussian(1), X, m).error():.0e}" for m in (1, 3, 5)]  # a smooth kernel needs few terms
    ['3e-01', '3e-03', '1e-05']
    """

    kernel: Kernel
    samples: Samples = field(repr=False)
    #: alpha_1 >= alpha_2 >= ... > 0.
    eigenvalues: Float
    #: phi_j at the samples, divided by sqrt(n): orthonormal columns.
    vectors: Float = field(repr=False)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def __str__(self) -> str:
        last = f" ... {self.eigenvalues[-1]:.4g}" if len(self) > 1 else ""
        return (
            f"k(x, z) = sum of {len(self)} alpha_j phi_j(x) phi_j(z) from {len(self.samples)} {self.samples.kind}, "
            f"alpha {self.eigenvalues[0]:.4g}{last}, k = {self.kernel}"
        )

    def eigenfunctions(self, Z: Any) -> Array:
        """phi_j(z) = sqrt(n) / l_j  k(z, X) u_j: one row per sample of Z, one column per eigenfunction."""
        n = len(self.samples)
        return _compared(self.kernel, Z, self.samples, self.vectors / (np.sqrt(n) * self.eigenvalues))

    def features(self, Z: Any) -> Array:
        """sqrt(alpha_j) phi_j(z), an explicit map with k(x, z) about <features(x), features(z)>."""
        return np.asarray(self.eigenfunctions(Z) * np.sqrt(self.eigenvalues))

    def reconstruct(self, X: Any = None, Z: Any = None) -> Array:
        """sum_j alpha_j phi_j(x) phi_j(z) for all x in X and z in Z: the samples themselves unless given."""
        left = self._own() if X is None else self.features(X)
        right = left if Z is None else self.features(Z)
        return np.asarray(left @ right.T)

    def error(self) -> float:
        """|K - sum_j alpha_j phi_j phi_j'| / |K| on the samples, in the Frobenius norm, computed block by block."""
        gram, own = Gram(self.kernel, self.samples), self._own()
        missing = total = 0.0
        size = len(gram) * self.eigenvalues[0]  # in units of which squares neither overflow nor vanish
        for rows in chunks(len(gram), len(gram) * gram.dtype.itemsize):
            block = gram.rows(rows) / size
            missing += float(((block - own[rows] @ (own / size).T) ** 2).sum())
            total += float((block**2).sum())
        return float(np.sqrt(missing / total)) if total > 0 else 0.0

    def _own(self) -> Float:
        return self.vectors * np.sqrt(len(self.samples) * self.eigenvalues)


def mercer_expansion(k: Kernel, X: Any, m: int) -> MercerExpansion:
    """The first m eigenvalues alpha_j = l_j / n and Nystrom eigenfunctions phi_j of k, from samples X.

    With K u_j = l_j u_j on n samples, phi_j(z) = sqrt(n)/l_j k(z, X) u_j, orthonormal in the mean over X, and
    K is about sum_j alpha_j phi_j phi_j'. Only eigenvalues above 10 n eps times the largest are kept, so there may be
    fewer than m; negative ones never are, and their share shows in ``error()``. Up to 2000 samples the matrix is
    decomposed; for more, products with it are all that is used.

    >>> from mercer.kernels import Gaussian, Linear
    >>> X = [[0.0], [1.0], [3.0]]
    >>> expansion = mercer_expansion(Linear(), X, m=3)
    >>> len(expansion), expansion.eigenvalues.round(4)
    (1, array([3.3333]))
    >>> mercer_expansion(Gaussian(1), X, m=3).reconstruct().round(4)
    array([[1.    , 0.6065, 0.0111],
           [0.6065, 1.    , 0.1353],
           [0.0111, 0.1353, 1.    ]])
    """
    k, x = _resolved(k, X)
    n = len(x)
    m = integer("m, the number of eigenfunctions,", m, 1)
    if m > n:
        raise ValueError(f"{n} samples give at most {n} eigenfunctions, but m = {m}; ask for fewer")
    values, vectors, magnitude = _largest(k, x, m)
    kept = values > tolerance(n, np.float64) * magnitude
    if not kept.any():
        raise ValueError(f"{k} has no positive eigenvalue on these samples (the largest is {values.max():g})")
    return MercerExpansion(k, x, values[kept] / n, vectors[:, kept])


@dataclass(frozen=True, eq=False)
class EmpiricalMap(Shown):
    """phi(z) = k(z, X) U diag(l)^(-1/2), a function of samples made by ``empirical_map``.

    >>> from mercer.kernels import Linear
    >>> phi = empirical_map(Linear(), [[3.0, 4.0], [6.0, 8.0]])  # samples on a line: one dimension is enough
    >>> abs(phi([[3.0, 4.0], [4.0, -3.0]])).round(6)
    array([[5.],
           [0.]])
    """

    kernel: Kernel
    samples: Samples = field(repr=False)
    #: phi at the samples: R = U diag(l)^(1/2), with RR' = K.
    R: Float = field(repr=False)
    factor: Float = field(repr=False)

    def __str__(self) -> str:
        n, columns = self.R.shape
        return f"phi(z) = k(z, X) U diag(l)^(-1/2): {columns} features, X of {n} {self.samples.kind}, k = {self.kernel}"

    def __call__(self, Z: Any) -> Array:
        """phi of new samples, one row each."""
        return _compared(self.kernel, Z, self.samples, self.factor)


def empirical_map(k: Kernel, X: Any) -> EmpiricalMap:
    """The empirical feature map: R = U diag(l)^(1/2) with K = U diag(l) U', so that RR' = K on the samples X.

    A new sample z is mapped to k(z, X) U diag(l)^(-1/2), the projection of phi(z) on the span of the samples. R has as
    many columns as K has rank. It decomposes K, so X may have at most 10,000 samples; k must be PSD on them.

    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> X = [[0.0], [1.0], [3.0]]
    >>> phi = empirical_map(Polynomial(2), X)
    >>> np.allclose(phi.R @ phi.R.T, Polynomial(2)(X)), np.allclose(phi(X), phi.R)
    (True, True)
    """
    k, x = _resolved(k, X)
    n = len(x)
    if n > MOST_EXACT:
        raise ValueError(
            f"the empirical map of {n} samples decomposes a matrix of {n} by {n}, more than {MOST_EXACT}; "
            "use mercer_expansion(k, X, m).features, or fewer samples"
        )
    values, vectors = np.linalg.eigh(_symmetric(k, x))
    size = tolerance(n, np.float64) * float(np.abs(values).max())
    if values[0] < -size:
        raise ValueError(
            f"{k} is not positive semi-definite on these samples (an eigenvalue is {values[0]:g}, the largest "
            f"{values[-1]:g}), so no R has RR' = K; use mercer.kernels.repair(k)"
        )
    kept = values > size
    root = np.sqrt(values[kept][::-1])
    U = vectors[:, kept][:, ::-1]
    return EmpiricalMap(k, x, U * root, U / root)


def _resolved(k: Any, X: Any) -> tuple[Kernel, Samples]:
    x = checked_kernel(k).samples(X)
    return k.resolve(x), x.astype(np.float64)


def _symmetric(k: Kernel, x: Samples) -> Float:
    K = evaluated(k, x)
    return (K + K.T) / 2


def _largest(k: Kernel, x: Samples, m: int) -> tuple[Float, Float, float]:
    """The m largest eigenvalues of k(x), the largest first, their vectors, and the largest |eigenvalue|."""
    n = len(x)
    if n <= DENSE_SAMPLES:
        values, vectors = np.linalg.eigh(_symmetric(k, x))
        return values[::-1][:m], vectors[:, ::-1][:, :m], float(np.abs(values).max())
    gram = Gram(k, x)
    K = LinearOperator((n, n), matvec=lambda v: cached_product(gram, v), dtype=np.float64)
    try:
        values, vectors = eigsh(K, k=min(m, n - 1), which="LA", v0=np.random.default_rng(0).normal(size=n))
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"only {len(error.eigenvalues)} of {m} eigenfunctions of {k} converged on {n} samples; "
            "ask for a smaller m, or give fewer samples"
        ) from error
    return values[::-1], vectors[:, ::-1], gram_ends(gram, steps=20).magnitude


def _compared(k: Kernel, Z: Any, x: Samples, factor: Float) -> Array:
    """k(Z, X) times a factor, without k(Z, X) as a whole."""
    return k.bind(*k.both(Z, x)).product(factor)
