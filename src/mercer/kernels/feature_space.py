"""Kernels of feature vectors brought to a common length or a common origin: ``k.normalized()`` and ``k.centered()``.

Both need only k itself: lengths are roots of k(x, x), and the mean enters by the means of rows of k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.kernels.algebra import OfOne, operand
from mercer.kernels.base import FeaturesError, Kernel, Validity
from mercer.kernels.collapse import Collapsed
from mercer.kernels.pairs import Pairs
from mercer.remembered import remembered
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array

#: What float32 can hold, the least with five digits.
LEAST, MOST = 1e5 * float(np.finfo(np.float32).smallest_subnormal), float(np.finfo(np.float32).max)


@dataclass(frozen=True, repr=False)
class Normalized(OfOne):
    """k(x, z) / sqrt(k(x, x) k(z, z)), made by ``k.normalized()``.

    >>> Linear().normalized()([[1.0, 0.0]], [[3.0, 4.0]])
    array([[0.6]])
    """

    inner: Kernel

    @property
    def validity(self) -> Validity:
        return "psd" if self.inner.validity == "psd" else "unknown"

    def inverse_norms(self, x: Samples) -> NDArray[np.float64]:
        squares = np.asarray(self.inner.diag_of(x), dtype=np.float64)
        if (squares < 0).any():
            worst = int(squares.argmin())
            raise ValueError(
                f"{self} needs k(x, x) >= 0 but it is {squares[worst]:g} at sample {worst}; "
                f"{self.inner} is not positive semi-definite"
            )
        if not np.isfinite(squares).all():
            worst = int(np.flatnonzero(~np.isfinite(squares))[0])
            raise ValueError(
                f"{self} needs finite norms but k(x, x) is {squares[worst]:g} at sample {worst}; scale the samples or "
                f"choose parameters of {self.inner} that give smaller values"
            )
        with np.errstate(divide="ignore"):
            return np.where(squares > 0, 1 / np.sqrt(squares), 0.0)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        if self.by_call and x is not z:  # values and norms must be those of one kernel
            return Normalized(self.inner.resolve(z.joined(x))).bind(x, z)
        of_x = self.inverse_norms(x)
        of_z = of_x if x is z else self.inverse_norms(z)
        diagonal = np.sign(of_x) if x is z else None
        pairs = self.inner.bind(x, z)
        if pairs.dtype == np.float32:
            self._refuse_beyond(of_x[of_x > 0], of_z[of_z > 0])
        return pairs.multiplied(of_x, of_z, diagonal)

    def _refuse_beyond(self, of_x: Array, of_z: Array) -> None:
        """Refuses values of the kernel that float32 cannot hold, though they would be small once they are divided."""
        if not (len(of_x) and len(of_z)):
            return
        for size in (1 / of_x.min() / of_z.min(), 1 / of_x.max() / of_z.max()):
            if not LEAST <= size <= MOST:
                raise ValueError(
                    f"{self} divides values of {self.inner} of about {size:.2g}, which is beyond float32: not "
                    "finite there, or 0; scale the samples, or give them in float64"
                )

    def diag_of(self, x: Samples) -> Array:
        return np.sign(self.inverse_norms(x))

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        f = self.inner.collapse(z, V * self.inverse_norms(z)[:, None], starts)
        return None if f is None else lambda x: f(x) * self.inverse_norms(x)[:, None, None]

    def features_of(self, x: Samples) -> Any:
        return scaled_rows(self.inner.features_of(x), self.inverse_norms(x))

    def names_of(self, x: Samples) -> list[str]:
        return self.inner.names_of(x)

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.normalized()"


def mean_rows(kernel: Kernel, x: Samples, reference: Samples) -> NDArray[np.float64]:
    """The mean of k(x, .) over the reference samples."""
    n = len(reference)
    return np.asarray(kernel.bind(x, reference).product(np.full(n, 1 / n)), dtype=np.float64)


def scaled_rows(features: Any, factors: NDArray[np.float64]) -> Any:
    """Feature vectors, each multiplied by its factor."""
    by: Any = sp.diags_array(factors).tocsr() if sp.issparse(features) else None
    return features * factors[:, None] if by is None else by @ features


@dataclass(frozen=True, repr=False)
class Centered(OfOne):
    """<phi(x) - m, phi(z) - m> with m the mean of phi over reference samples, made by ``k.centered()``.

    >>> X = [[0.0], [4.0]]
    >>> Linear().centered().resolve(X)(X)  # the mean is 2
    array([[ 4., -4.],
           [-4.,  4.]])
    """

    inner: Kernel
    reference: Samples | None = None

    @property
    def pending(self) -> str:
        return "the mean of .centered()" if self.reference is None else self.inner.pending

    def resolve_own(self, x: Samples) -> Kernel:
        return self if self.reference is not None else Centered(self.inner, x.copy())

    @property
    def validity(self) -> Validity:
        return "psd" if self.inner.validity in ("psd", "cpd") else "unknown"

    @remembered
    def reference_means(self) -> NDArray[np.float64]:
        """The mean of k(x, .) over the reference samples, for x each of them; found once, as it costs all pairs.

        In float64, as it serves the same samples in that precision, too.
        """
        assert self.reference is not None
        exact = self.reference.astype(np.float64)
        return mean_rows(self.inner, exact, exact)

    def means(self, x: Samples) -> NDArray[np.float64]:
        """The mean of k(x, .) over the reference samples, less half the mean of those means."""
        known = len(x) == len(self.reference_means) and x == self.reference
        assert self.reference is not None
        of_x = self.reference_means if known else mean_rows(self.inner, x, self.reference)
        return np.asarray(of_x - self.reference_means.mean() / 2)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        of_x = self.means(x)
        return self.inner.bind(x, z).less(of_x, of_x if x is z else self.means(z))

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(self.inner.diag_of(x) - 2 * self.means(x))

    def features_of(self, x: Samples) -> Array:
        assert self.reference is not None
        if isinstance(x, SparseVectors):
            x = Vectors(x.dense())
        if sp.issparse(self.inner.features_of(x.take(np.arange(1)))):
            raise FeaturesError(f"the features of {self.inner} are sparse, and those of {self} would not be")
        mean = np.asarray(self.inner.features_of(self.reference).mean(axis=0)).ravel()
        return np.asarray(self.inner.features_of(x) - mean)

    def names_of(self, x: Samples) -> list[str]:
        return self.inner.names_of(x)

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.centered()"
