"""Kernels whose values are given: a matrix that exists already, or a Python function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel, instance
from mercer.kernels.pairs import Pairs, StoredPairs, UserPairs, checked
from mercer.samples import Objects, Samples, Similarities, as_samples
from mercer.samples.base import Array, check_names


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
        if b.new:
            raise ValueError(f"a precomputed Gram matrix must be square, but its shape is {b.matrix.shape}")
        if a.columns is None and b.reach > a.matrix.shape[1]:
            raise ValueError(
                f"Precomputed needs the similarities of every sample to all {b.reach} training samples, "
                f"but got a matrix of shape {a.matrix.shape}"
            )
        if x is z and not a.symmetric:
            raise ValueError("a precomputed Gram matrix must be symmetric, but K and K.T differ")
        return StoredPairs(a.matrix, a.columns_of(b.place), x is z)

    def diag_of(self, x: Samples) -> Array:
        a = self.samples(x)
        assert isinstance(a, Similarities)
        if a.new or not a.symmetric:
            raise ValueError(
                "k(x, x) is known only for the samples of a symmetric matrix, but the rows of this one, of shape "
                f"{a.matrix.shape} and not symmetric, are new samples; to normalise them, divide the matrix by the "
                "square roots of k(x, x) and k(z, z) before giving it to Precomputed()"
            )
        return np.asarray(a.matrix[np.arange(len(a)), a.columns_of(a.place)])


@dataclass(frozen=True, repr=False)
class Custom(Kernel):
    """A Python function: of two blocks of samples, f(X, Z) -> matrix, or with ``pairwise=True`` of two samples.

    It is called as it is for every pair, also k(X): whether the function is symmetric, ``check_kernel`` tells.

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
        if not callable(instance(self.f)):
            raise TypeError(f"Custom takes a function but got a {type(self.f).__name__}")

    def samples(self, X: Any) -> Samples:
        """Arrays in a list are single objects for a function of two, whether or not their shapes are equal."""
        if self.pairwise and isinstance(X, (list, tuple)) and X and all(isinstance(item, np.ndarray) for item in X):
            return Objects(X)
        return super().samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        check_names(x, z)
        function = self.one_by_one if self.pairwise else self.f
        return UserPairs(repr(self), x.content(), z.content(), np.result_type(x.dtype, z.dtype), function)

    def one_by_one(self, some: Any, others: Any) -> Array:
        return np.array([float(self.f(s, t)) for s in some for t in others]).reshape(len(some), len(others))

    def diag_of(self, x: Samples) -> Array:
        if not self.pairwise:
            return super().diag_of(x)
        return checked(np.array([float(self.f(s, s)) for s in x.content()]), repr(self))

    def __repr__(self) -> str:
        return f"Custom({getattr(self.f, '__name__', repr(self.f))}{', pairwise=True' if self.pairwise else ''})"
