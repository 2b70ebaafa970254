"""The algebra of kernels: what is made of kernels by ``+``, ``*``, ``**`` and ``exp``.

Each class here is one operation. It says what the operation does to values, diagonal, features and validity. The
methods of ``Kernel`` make two more kinds: ``mercer.kernels.feature_space`` and ``mercer.kernels.on``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._native import Op
from mercer.kernels import composition
from mercer.kernels.base import Kernel, Validity, instance, number
from mercer.kernels.collapse import Collapsed
from mercer.kernels.columns import crossed, end_to_end
from mercer.kernels.pairs import Pairs, segments, step
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.samples.door import opened


def added(left: Kernel | float, right: Kernel | float) -> Kernel:
    """left + right, of kernels and numbers."""
    terms = [term if isinstance(term, Kernel) else Constant(float(term)) for term in (left, right)]
    return Sum(tuple(part for term in terms for part in (term.children if isinstance(term, Sum) else (term,))))


def multiplied(left: Kernel, right: Kernel) -> Kernel:
    """left * right, of kernels."""
    return Product(tuple(part for k in (left, right) for part in (k.children if isinstance(k, Product) else (k,))))


def enclosed(kernel: Kernel, binds_tighter: tuple[type[Any], ...]) -> str:
    """The text of an operand, in brackets where its operator binds less tightly."""
    return f"({kernel!r})" if isinstance(kernel, binds_tighter) else repr(kernel)


def operand(kernel: Kernel) -> str:
    """The text of what a power is taken of or a method called on."""
    return enclosed(kernel, (Sum, Product, Scaled, Power))


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """k(x, z) = c for all samples; ``k + 1`` makes one.

    >>> (Linear() + 1)([[2.0]])
    array([[5.]])
    """

    c: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.c):
            raise ValueError(f"a constant added to a kernel must be a finite number, not {self.c!r}")

    @property
    def validity(self) -> Validity:
        return "psd" if self.c >= 0 else "cpd"

    def scaled(self, factor: float) -> Kernel:
        return Constant(self.c * factor)

    def samples(self, X: Any) -> Samples:
        return opened(X)  # it reads nothing of them

    def bind(self, x: Samples, z: Samples) -> Pairs:
        dtype = np.result_type(x.dtype, z.dtype)
        return composition.constant(self.c, (len(x), len(z)), dtype, x is z)

    def diag_of(self, x: Samples) -> Array:
        return np.full(len(x), self.c)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        sums = self.c * np.stack([V[part].sum(axis=0) for part in segments(starts, len(V))])
        return lambda x: np.tile(sums, (len(x), 1, 1))

    def features_of(self, x: Samples) -> Array:
        if self.c < 0:
            return super().features_of(x)
        return np.full((len(x), 1), np.sqrt(self.c), dtype=x.dtype)

    def names_of(self, x: Samples) -> list[str]:
        return ["1"] if self.c >= 0 else super().names_of(x)

    def __repr__(self) -> str:
        return f"Constant({number(self.c)})"


class OfSeveral(Kernel):
    """A kernel made of others, its only field ``parts``."""

    parts: tuple[Kernel, ...]

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.parts

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, parts=children)  # type: ignore[type-var]


@dataclass(frozen=True, repr=False)
class Sum(OfSeveral):
    """k1(x, z) + k2(x, z) + ...: the feature vectors laid end to end.

    >>> Linear() + Polynomial(2)
    Linear() + Polynomial(degree=2)
    """

    parts: tuple[Kernel, ...]

    @property
    def validity(self) -> Validity:
        kinds = {part.validity for part in self.parts}
        if kinds == {"psd"}:
            return "psd"
        return "cpd" if kinds <= {"psd", "cpd"} else "unknown"

    def samples(self, X: Any) -> Samples:
        return next(part for part in (*self.parts, self.parts[0]) if not isinstance(part, Constant)).samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return composition.added([part.bind(x, z) for part in self.parts])

    def diag_of(self, x: Samples) -> Array:
        return reduce(np.add, [part.diag_of(x) for part in self.parts])

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        parts: list[Collapsed] = []
        for part in self.parts:
            f = part.collapse(z, V, starts)
            if f is None:
                return None
            parts.append(f)
        return lambda x: reduce(np.add, [f(x) for f in parts])

    def features_of(self, x: Samples) -> Any:
        return beside([part.features_of(x) for part in self.parts])

    def names_of(self, x: Samples) -> list[str]:
        return end_to_end([part.names_of(x) for part in self.parts])

    def __repr__(self) -> str:
        first, *others = self.parts
        # A number, unless the next is one, too: Python would add them.
        two = isinstance(next(iter(others), first), Constant)
        text = number(first.c) if isinstance(first, Constant) and not two else repr(first)
        for part in others:
            if isinstance(part, Scaled) and part.factor < 0:
                opposite = part.inner if part.factor == -1 else Scaled(-part.factor, part.inner)
                text += f" - {enclosed(opposite, (Sum,))}"
            elif isinstance(part, Constant):
                text += f" - {number(-part.c)}" if part.c < 0 else f" + {number(part.c)}"
            else:
                text += f" + {part!r}"
        return text


@dataclass(frozen=True, repr=False)
class Product(OfSeveral):
    """k1(x, z) k2(x, z) ...: the feature vectors' outer product.

    >>> Linear() * Gaussian(2)
    Linear() * Gaussian(sigma=2)
    """

    parts: tuple[Kernel, ...]

    @property
    def validity(self) -> Validity:
        return "psd" if all(part.validity == "psd" for part in self.parts) else "unknown"

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return composition.multiplied([part.bind(x, z) for part in self.parts])

    def diag_of(self, x: Samples) -> Array:
        return reduce(np.multiply, [part.diag_of(x) for part in self.parts])

    def features_of(self, x: Samples) -> Array:
        return reduce(_rowwise_kronecker, [part.features_of(x) for part in self.parts])

    def names_of(self, x: Samples) -> list[str]:
        return reduce(crossed, [part.names_of(x) for part in self.parts])

    def __repr__(self) -> str:
        first, *others = self.parts
        return " * ".join([enclosed(first, (Sum,)), *(enclosed(part, (Sum, Scaled)) for part in others)])


def _rowwise_kronecker(A: Any, B: Any) -> Any:
    if sp.issparse(A) or sp.issparse(B):
        A, B = sp.csr_array(A), sp.csr_array(B)
        # Every entry of a row of A meets all entries of the row of B: A's are repeated, and numbered within their row.
        of_a, of_b = np.diff(A.indptr), np.diff(B.indptr)
        times = np.repeat(of_b, of_a)  # of every entry of A
        left = np.repeat(np.arange(A.nnz), times)
        nth = np.arange(len(left)) - np.repeat(np.cumsum(times) - times, times)
        right = np.repeat(np.repeat(B.indptr[:-1], of_a), times) + nth
        columns = A.indices[left].astype(np.int64) * B.shape[1] + B.indices[right]
        starts = np.concatenate([[0], np.cumsum(of_a * of_b)])
        return sp.csr_array(
            (A.data[left] * B.data[right], columns, starts), shape=(A.shape[0], A.shape[1] * B.shape[1])
        )
    return np.asarray(np.einsum("ni,nj->nij", A, B).reshape(len(A), -1))


def beside(features: list[Any]) -> Any:
    """Features laid end to end, sparse if any of them is."""
    if any(sp.issparse(F) for F in features):
        return sp.csr_array(sp.hstack(features))
    return np.hstack(features)


class OfOne(Kernel):
    """A kernel made of one other, its field ``inner``."""

    inner: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, inner=children[0])  # type: ignore[type-var]


@dataclass(frozen=True, repr=False)
class Scaled(OfOne):
    """c k(x, z).

    >>> 2 * (3 * Linear())
    6 * Linear()
    """

    factor: float
    inner: Kernel

    def __post_init__(self) -> None:
        if not np.isfinite(self.factor):
            raise ValueError(f"a kernel can be multiplied by a finite number, not by {self.factor!r}")

    def scaled(self, factor: float) -> Kernel:
        return Scaled(self.factor * factor, self.inner)

    @property
    def validity(self) -> Validity:
        inner = self.inner.validity
        if self.factor == 0:
            return "psd"
        if self.factor > 0:
            return inner
        return "indefinite" if inner == "psd" else "unknown"

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return self.inner.bind(x, z).then(step(Op.affine, self.factor))

    def diag_of(self, x: Samples) -> Array:
        return self.factor * self.inner.diag_of(x)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return self.inner.collapse(z, self.factor * V, starts)

    def features_of(self, x: Samples) -> Any:
        if self.factor < 0:
            return super().features_of(x)
        return self.inner.features_of(x) * np.sqrt(self.factor)

    def names_of(self, x: Samples) -> list[str]:
        return self.inner.names_of(x) if self.factor >= 0 else super().names_of(x)

    def __repr__(self) -> str:
        return f"{number(self.factor)} * {enclosed(self.inner, (Sum, Product))}"


@dataclass(frozen=True, repr=False)
class Power(OfOne):
    """k(x, z)**n for an integer n >= 0.

    >>> Linear() ** 2
    Linear() ** 2
    """

    inner: Kernel
    exponent: int

    def __post_init__(self) -> None:
        if not isinstance(self.exponent, (int, np.integer)) or isinstance(self.exponent, bool) or self.exponent < 0:
            raise ValueError(
                f"a kernel can be raised to an integer power >= 0 (no other is PSD in general), not {self.exponent!r}"
            )

    @property
    def validity(self) -> Validity:
        if self.exponent == 0 or self.inner.validity == "psd":
            return "psd"
        return self.inner.validity if self.exponent == 1 else "unknown"

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return self.inner.bind(x, z).then(step(Op.integer, self.exponent))

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(self.inner.diag_of(x) ** int(self.exponent))

    def features_of(self, x: Samples) -> Array:
        if self.exponent == 0:
            return np.ones((len(x), 1), dtype=x.dtype)
        return reduce(_rowwise_kronecker, [self.inner.features_of(x)] * self.exponent)

    def names_of(self, x: Samples) -> list[str]:
        return reduce(crossed, [self.inner.names_of(x)] * self.exponent) if self.exponent else ["1"]

    def __repr__(self) -> str:
        return f"{operand(self.inner)} ** {self.exponent}"


@dataclass(frozen=True, repr=False)
class Exp(OfOne):
    """exp(k(x, z)), made by ``mercer.kernels.exp(k)``; PSD if k is PSD or conditionally so (Schoenberg 1938).

    >>> exp(NegativeDistance(L2()))([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    >>> exp(-1 * Linear()).validity
    'unknown'
    """

    inner: Kernel

    @property
    def validity(self) -> Validity:
        return "psd" if self.inner.validity in ("psd", "cpd") else "unknown"

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return self.inner.bind(x, z).then(step(Op.exp, 1.0))

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(np.exp(self.inner.diag_of(x)))

    def __repr__(self) -> str:
        return f"exp({self.inner!r})"


def exp(k: Kernel) -> Kernel:
    """exp(k(x, z)): a limit of sums of products of k, hence PSD if k is.

    >>> exp(0.5 * Linear())
    exp(0.5 * Linear())
    >>> exp(Linear()).validity
    'psd'
    """
    if not isinstance(instance(k), Kernel):
        raise TypeError(f"mercer.kernels.exp takes a kernel but got a {type(k).__name__}; for numbers use numpy.exp")
    return Exp(k)
