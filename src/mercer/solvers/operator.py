"""The matrix as solvers meet it: its length, precision, diagonal, blocks and products, and its factor if it has one.

A Gram matrix is such an operator as it is; ``Factored`` is one of explicit features, or of what landmarks span. Solvers
take either, and ask for no more than the protocol says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel, Linear
from mercer.kernels.leaf import vectors
from mercer.problem import Vector
from mercer.samples import Samples, as_samples
from mercer.samples.base import Array

Positions = NDArray[np.int64]


class Operator(Protocol):
    """K with K[i, j] = k(x_i, x_j), symmetric, met in parts and in products.

    Whether it is held in memory is for ``held`` to decide, and nobody else.

    >>> K: Operator = Linear().gram([[1.0], [2.0]])
    >>> len(K), K.dtype, K.diag(), K @ np.ones(2)
    (2, dtype('float64'), array([1., 4.]), array([3., 6.]))
    """

    #: How many bytes of it may be held.
    budget: int

    @property
    def factor(self) -> Any:
        """Z with K = Z Z', if it has one, else None."""

    @property
    def kernel(self) -> Kernel:
        """What the samples are compared by; its validity is what is known of the matrix beforehand."""

    @property
    def samples(self) -> Samples: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of entries and products."""

    @property
    def given(self) -> np.dtype[Any]:
        """The precision in which its samples were given: no entry is more exact."""

    def __len__(self) -> int: ...

    def diag(self) -> Array: ...

    def block(self, rows: Any, columns: Any) -> Array: ...

    def __matmul__(self, V: Any) -> Array: ...

    def to_dense(self) -> Array:
        """The whole matrix in memory."""

    def ordered(self, order: Positions | None) -> Operator:
        """The matrix of these samples in this order; itself if it is None."""

    @property
    def exact(self) -> Operator:
        """The same in float64."""

    @property
    def single(self) -> Operator:
        """The same in float32, or itself if that gains nothing."""

    def held(self) -> Operator:
        """The same, computed once and kept, if that fits the budget; else itself."""

    def check_finite(self) -> None:
        """Refuses samples on which it overflows."""


class Factored:
    """K = Z Z' by its factor Z, dense or CSR: explicit features of the samples, or what landmarks span of a matrix.

    >>> K = Factored(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> K @ np.array([1.0, 1.0]), K.diag()
    (array([2., 6.]), array([1., 5.]))
    """

    budget = 0

    def __init__(self, factor: Any, given: np.dtype[Any] | None = None) -> None:
        self.factor, self.given = factor, factor.dtype if given is None else given
        self.kernel: Kernel = Linear()

    @property
    def samples(self) -> Samples:
        """The rows of Z, of which K is the matrix of inner products."""
        return as_samples(self.factor)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.factor.dtype
        return dtype

    def __len__(self) -> int:
        return int(self.factor.shape[0])

    def weights(self, a: Vector) -> Vector:
        """Z'a: the weights of the function whose coefficients are a."""
        return np.asarray(self.factor.T @ a)

    def __matmul__(self, V: Any) -> Array:
        return np.asarray(self.factor @ self.weights(V))

    def diag(self) -> Array:
        return np.asarray(vectors(self.samples).squares(), dtype=np.float64)

    def block(self, rows: Any, columns: Any) -> Array:
        entries = self.factor[rows] @ self.factor[columns].T
        return np.asarray(entries.toarray() if hasattr(entries, "toarray") else entries)

    def to_dense(self) -> Array:
        return self.block(slice(None), slice(None))

    def ordered(self, order: Positions | None) -> Factored:
        return self if order is None else Factored(self.factor[order], self.given)

    @property
    def exact(self) -> Factored:
        return self if self.dtype == np.float64 else Factored(self.factor.astype(np.float64), self.given)

    @property
    def single(self) -> Self:
        return self

    def held(self) -> Self:
        return self

    def check_finite(self) -> None:
        if not np.isfinite(self.diag()).all():
            raise ValueError("the features are not finite; scale the data first")


class DerivedOperator:
    """Another operator, except for what a class that begins here does in its own way.

    >>> DerivedOperator(Linear().gram([[2.0]])).diag()
    array([4.])
    """

    def __init__(self, K: Operator) -> None:
        self.inner = K
        self.budget = K.budget

    @property
    def factor(self) -> Any:
        return None

    @property
    def kernel(self) -> Kernel:
        return self.inner.kernel

    @property
    def samples(self) -> Samples:
        return self.inner.samples

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.inner.dtype

    @property
    def given(self) -> np.dtype[Any]:
        return self.inner.given

    def __len__(self) -> int:
        return len(self.inner)

    def diag(self) -> Array:
        return self.inner.diag()

    def block(self, rows: Any, columns: Any) -> Array:
        return self.inner.block(rows, columns)

    def __matmul__(self, V: Any) -> Array:
        return np.asarray(self.inner @ V)

    def to_dense(self) -> Array:
        return self.inner.to_dense()

    def ordered(self, order: Positions | None) -> Operator:
        return self if order is None else self.over(self.inner.ordered(order))

    @property
    def exact(self) -> Operator:
        return self.over(self.inner.exact)

    @property
    def single(self) -> Operator:
        return self.over(self.inner.single)

    def held(self) -> Operator:
        return self.over(self.inner.held())

    def check_finite(self) -> None:
        self.inner.check_finite()

    def over(self, K: Operator) -> Operator:
        """What stands for ``inner`` in another precision or order: that itself, where a view of it gains nothing."""
        return self if K is self.inner else K


def product(K: Operator, V: Vector) -> Vector:
    """K V in the precision of K, as float64; V may have any size.

    >>> product(Linear().gram(np.eye(2, dtype=np.float32)), np.array([2.0**1000, 0.0])) == [2.0**1000, 0.0]
    array([ True,  True])
    """
    return in_precision(K.__matmul__, K.dtype, V)


def in_precision(multiply: Callable[[Array], Array], dtype: np.dtype[Any], V: Vector) -> Vector:
    """What a product in this precision makes of V, as float64."""
    if dtype == np.float64:
        return np.asarray(multiply(V))
    size = unit(V)
    return np.asarray(size * np.asarray(multiply((V / size).astype(dtype)), dtype=np.float64))


def unit(V: Vector) -> float:
    """A power of two about the size of the entries, by which to divide is exact; 1 if all are 0."""
    largest = float(np.abs(V).max(initial=0.0))
    return float(2.0 ** np.floor(np.log2(largest))) if 0 < largest < np.inf else 1.0


def rounding(dtype: Any, diagonal: Vector) -> float:
    """What rounding may add to e'Ke, for |e| = 1: K is at most its trace."""
    return 4 * float(np.finfo(dtype).eps) * float(np.abs(diagonal).sum())
