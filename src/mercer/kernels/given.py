"""Kernels whose values are given: a matrix that exists already, or a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel
from mercer.kernels.pairs import FunctionPairs, Pairs, Rows, StoredPairs
from mercer.samples import Objects, Samples, Similarities, Table, as_samples
from mercer.samples.base import Array


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """A matrix of similarities instead of samples: rows are samples, columns the samples they are compared with.

    >>> import numpy as np
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Precomputed()(K) is not K and (Precomputed()(K) == K).all()
    np.True_
    """

    def samples(self, X: Any) -> Samples:
        return X if isinstance(X, Similarities) else Similarities(as_samples(X).dense())

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a, b = self.samples(x), self.samples(z)
        assert isinstance(a, Similarities)
        assert isinstance(b, Similarities)
        if (b.place < 0).any():
            raise ValueError(f"a precomputed Gram matrix must be square, but its shape is {b.matrix.shape}")
        if len(b.place) and b.place.max() >= a.matrix.shape[1]:
            raise ValueError(
                f"Precomputed needs the similarities of every sample to all {int(b.place.max()) + 1} training samples, "
                f"but got a matrix of shape {a.matrix.shape}"
            )
        own = a.matrix[:, a.place] if x is z else None
        if own is not None and not np.allclose(own, own.T, rtol=1e-5, atol=1e-6 * np.abs(own).max()):
            raise ValueError("a precomputed Gram matrix must be symmetric, but K and K.T differ")
        return StoredPairs(a.matrix, b.place, x is z)

    def diag_of(self, x: Samples) -> Array:
        a = self.samples(x)
        assert isinstance(a, Similarities)
        if (a.place < 0).any() or a.matrix.shape[1] <= a.place.max():
            raise ValueError(f"the diagonal needs a square matrix but got shape {a.matrix.shape}")
        return np.asarray(a.matrix[np.arange(len(a)), a.place])


@dataclass(frozen=True, repr=False)
class Custom(Kernel):
    """A Python function: of two blocks of samples, f(X, Z) -> matrix, or with ``pairwise=True`` of two samples.

    >>> import numpy as np
    >>> Custom(lambda X, Z: X @ Z.T)([[1.0, 2.0]])
    array([[5.]])
    >>> Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    """

    f: Any
    pairwise: bool = False

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"Custom takes a function but got a {type(self.f).__name__}")

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a, b = _content(x), _content(z)

        def whole(rows: Rows, columns: slice) -> Array:
            some, others = _pick(a, rows), _pick(b, columns)
            K = np.asarray(self.f(some, others), dtype=np.float64)
            if K.shape != (len(some), len(others)):
                raise ValueError(
                    f"the function of {self} returned shape {K.shape} for {len(some)} and {len(others)} samples; it "
                    "takes two blocks and returns their matrix; for a function of two single samples give pairwise=True"
                )
            return _checked(K, self)

        def one_by_one(rows: Rows, columns: slice) -> Array:
            some, others = _pick(a, rows), _pick(b, columns)
            K = np.array([float(self.f(s, t)) for s in some for t in others])
            return _checked(K.reshape(len(some), len(others)), self)

        dtype = np.result_type(x.dtype, z.dtype)
        return FunctionPairs((len(x), len(z)), dtype, x is z, one_by_one if self.pairwise else whole)

    def diag_of(self, x: Samples) -> Array:
        if not self.pairwise:
            return super().diag_of(x)
        return np.array([float(self.f(s, s)) for s in _content(x)])

    def __repr__(self) -> str:
        return f"Custom({getattr(self.f, '__name__', repr(self.f))}{', pairwise=True' if self.pairwise else ''})"


def _content(x: Samples) -> Sequence[Any] | Array:
    if isinstance(x, Table):
        return list(zip(*x.columns, strict=True))
    return x.items if isinstance(x, Objects) else x.dense()


def _pick(content: Any, which: slice | NDArray[np.int64]) -> Any:
    if isinstance(content, np.ndarray):
        return content[which]
    return list(content[which]) if isinstance(which, slice) else [content[i] for i in which]


def _checked(K: Array, kernel: Kernel) -> Array:
    if not np.isfinite(K).all():
        raise ValueError(f"the function of {kernel} returned NaN or infinity")
    return K
