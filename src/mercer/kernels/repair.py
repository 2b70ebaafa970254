"""Indefinite kernels made positive semi-definite by changing their spectrum on reference samples.

Chen, Garcia, Gupta, Rahimi, Cazzanti, "Similarity-based classification" (2009). With K = U diag(l) U' on the
reference samples, new samples enter through k(x, X) alone, so training and prediction use one and the same kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mercer._native import Reduction
from mercer.kernels.algebra import OfOne
from mercer.kernels.base import Kernel, Validity, instance
from mercer.kernels.histograms import Delta
from mercer.kernels.native import NativePairs
from mercer.kernels.pairs import Pairs
from mercer.remembered import remembered
from mercer.samples import Samples, Vectors
from mercer.samples.base import Array

How = Literal["clip", "flip", "shift"]


def repair(k: Kernel, how: How = "clip") -> Kernel:
    """A positive semi-definite kernel near k, found from data by ``resolve`` (machines do that at fit).

    ``"clip"`` drops the negative eigenvalues, ``"flip"`` takes their absolute values, ``"shift"`` adds the
    smallest constant to k(x, x) that makes all of them non-negative. It costs one eigendecomposition. The first two
    are positive semi-definite on all samples, the shift on those it was found from.

    >>> X = [[0.0], [1.0], [3.0]]
    >>> k = repair(Sigmoid(gamma=1.0, c=-1.0), "clip").resolve(X)
    >>> k.validity
    'psd'
    """
    if not isinstance(instance(k), Kernel):
        raise TypeError(f"repair takes a kernel but got a {type(k).__name__}")
    if how not in ("clip", "flip", "shift"):
        raise ValueError(f'repair knows "clip", "flip" and "shift", not {how!r}')
    return Repaired(k, how)


@dataclass(frozen=True, repr=False)
class Repaired(OfOne):
    """k made positive semi-definite; see ``repair``. Resolved, it holds the reference samples and their spectrum.

    >>> k = repair(Sigmoid(gamma=1.0, c=-1.0), "flip")
    >>> k.pending
    'the spectrum of repair(..., "flip")'
    >>> k.resolve([[0.0], [1.0], [3.0]]).pending
    ''
    """

    inner: Kernel
    how: How
    reference: Samples | None = None

    @property
    def pending(self) -> str:
        return f'the spectrum of repair(..., "{self.how}")' if self.reference is None else self.inner.pending

    @property
    def validity(self) -> Validity:
        """That of what ``resolve`` will give."""
        return Shifted(self.inner, 0.0).validity if self.how == "shift" else "psd"

    def resolve_own(self, x: Samples) -> Kernel:
        if self.reference is not None:
            return self
        if self.how == "shift":
            lowest = float(np.linalg.eigvalsh(self.exactly(x))[0])
            return Shifted(self.inner, max(0.0, -lowest))
        return Repaired(self.inner, self.how, x.copy())

    def exactly(self, x: Samples) -> NDArray[np.float64]:
        """The matrix in float64, so that small eigenvalues are the kernel's and not those of rounding."""
        exact = x.astype(np.float64)
        return np.asarray(self.inner.bind(exact, exact).dense(), dtype=np.float64)

    @remembered
    def factor(self) -> NDArray[np.float64]:
        """The matrix that turns k(x, X) into features: U sqrt(new eigenvalues) / |eigenvalues|."""
        assert self.reference is not None
        values, vectors = np.linalg.eigh(self.exactly(self.reference))
        size = np.abs(values)
        kept = size > len(values) * np.finfo(np.float64).eps * size.max(initial=0.0)
        if self.how == "clip":
            kept &= values > 0
        return np.asarray(vectors[:, kept] / np.sqrt(size[kept]))

    def features_of(self, x: Samples) -> Array:
        assert self.reference is not None
        return np.asarray(self.inner.bind(x, self.reference).product(self.factor))

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a = Vectors(self.features_of(x))
        return NativePairs(a, a if x is z else Vectors(self.features_of(z)), Reduction.dot, [])

    def diag_of(self, x: Samples) -> Array:
        return Vectors(self.features_of(x)).squares()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "factor"}

    def __repr__(self) -> str:
        return f'repair({self.inner!r}, "{self.how}")'


@dataclass(frozen=True, repr=False)
class Shifted(OfOne):
    """k(x, z) + shift [x = z]: all eigenvalues of k on the samples that ``repair`` saw, raised above zero."""

    inner: Kernel
    shift: float

    @property
    def validity(self) -> Validity:
        """Positive semi-definite on the samples it was found from, and not known to be so on others."""
        return "psd" if self.inner.validity == "psd" else "unknown"

    def whole(self) -> Kernel:
        return self.inner + self.shift * Delta()

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return self.whole().bind(x, z)

    def diag_of(self, x: Samples) -> Array:
        return self.whole().diag_of(x)

    def __repr__(self) -> str:
        return f'repair({self.inner!r}, "shift")'
