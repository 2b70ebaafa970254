"""The algebra of kernels: what is made of kernels by ``+``, ``*``, ``**``, ``exp`` and the methods of ``Kernel``.

Each class here is one operation. It says what the operation does to values, diagonal, features and validity.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._native import Op
from mercer.kernels.base import FeaturesError, Kernel, Validity, number
from mercer.kernels.collapse import Collapsed, segments
from mercer.kernels.pairs import Bordered, Combined, FunctionPairs, Pairs, step
from mercer.samples import Samples, SparseVectors, Vectors, as_samples
from mercer.samples.base import Array


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

    def bind(self, x: Samples, z: Samples) -> Pairs:
        dtype = np.result_type(x.dtype, z.dtype)
        return FunctionPairs((len(x), len(z)), dtype, x is z, lambda rows, columns: np.asarray(self.c))

    def diag_of(self, x: Samples) -> Array:
        return np.full(len(x), self.c)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        sums = self.c * np.stack([V[part].sum(axis=0) for part in segments(starts, len(V))])
        return lambda x: np.tile(sums, (len(x), 1, 1))

    def features_of(self, x: Samples) -> Array:
        if self.c < 0:
            return super().features_of(x)
        return np.full((len(x), 1), np.sqrt(self.c), dtype=x.dtype)

    def __repr__(self) -> str:
        return number(self.c)


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
        first, *others = (part.bind(x, z) for part in self.parts)
        return first.plus(others)

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

    def __repr__(self) -> str:
        text = repr(self.parts[0])
        for part in self.parts[1:]:
            if isinstance(part, Scaled) and part.factor < 0:
                opposite = part.inner if part.factor == -1 else Scaled(-part.factor, part.inner)
                text += f" - {enclosed(opposite, (Sum,))}"
            elif isinstance(part, Constant) and part.c < 0:
                text += f" - {number(-part.c)}"
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
        return Combined([part.bind(x, z) for part in self.parts], np.multiply)

    def diag_of(self, x: Samples) -> Array:
        return reduce(np.multiply, [part.diag_of(x) for part in self.parts])

    def features_of(self, x: Samples) -> Array:
        return reduce(_rowwise_kronecker, [part.features_of(x) for part in self.parts])

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


def scaled_rows(features: Any, factors: NDArray[np.float64]) -> Any:
    """Feature vectors, each multiplied by its factor."""
    by: Any = sp.diags_array(factors).tocsr() if sp.issparse(features) else None
    return features * factors[:, None] if by is None else by @ features


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

    def __repr__(self) -> str:
        return f"{operand(self.inner)} ** {self.exponent}"


@dataclass(frozen=True, repr=False)
class Exp(OfOne):
    """exp(k(x, z)), made by ``mercer.kernels.exp(k)``; PSD if k is PSD or conditionally so (Schoenberg 1938)."""

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
    if not isinstance(k, Kernel):
        raise TypeError(f"mercer.kernels.exp takes a kernel but got a {type(k).__name__}; for numbers use numpy.exp")
    return Exp(k)


@dataclass(frozen=True, repr=False)
class Normalized(OfOne):
    """k(x, z) / sqrt(k(x, x) k(z, z)), made by ``k.normalized()``."""

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
        with np.errstate(divide="ignore"):
            return np.where(squares > 0, 1 / np.sqrt(squares), 0.0)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        of_x = self.inverse_norms(x)
        of_z = of_x if x is z else self.inverse_norms(z)
        diagonal = np.sign(of_x) if x is z else None
        return self.inner.bind(x, z).multiplied(of_x, of_z, diagonal)

    def diag_of(self, x: Samples) -> Array:
        return np.sign(self.inverse_norms(x))

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        f = self.inner.collapse(z, V * self.inverse_norms(z)[:, None], starts)
        return None if f is None else lambda x: f(x) * self.inverse_norms(x)[:, None, None]

    def features_of(self, x: Samples) -> Any:
        return scaled_rows(self.inner.features_of(x), self.inverse_norms(x))

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.normalized()"


@dataclass(frozen=True, repr=False)
class Centered(OfOne):
    """<phi(x) - m, phi(z) - m> with m the mean of phi over reference samples, made by ``k.centered()``."""

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

    @cached_property
    def reference_means(self) -> NDArray[np.float64]:
        """The mean of k(x, .) over the reference samples, for x each of them; found once, as it costs all pairs."""
        assert self.reference is not None
        return self.mean_rows(self.reference)

    def mean_rows(self, x: Samples) -> NDArray[np.float64]:
        assert self.reference is not None
        n = len(self.reference)
        return np.asarray(self.inner.bind(x, self.reference).product(np.full(n, 1 / n)), dtype=np.float64)

    def means(self, x: Samples) -> NDArray[np.float64]:
        """The mean of k(x, .) over the reference samples, less half the mean of those means."""
        known = len(x) == len(self.reference_means) and x == self.reference
        of_x = self.reference_means if known else self.mean_rows(x)
        return np.asarray(of_x - self.reference_means.mean() / 2)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        of_x = self.means(x)
        return Bordered(self.inner.bind(x, z), of_x, of_x if x is z else self.means(z), np.add, np.subtract)

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

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.centered()"


class Through(OfOne):
    """The kernel of something made of the samples; a subclass says what in ``seen_by``."""

    @property
    def validity(self) -> Validity:
        return self.inner.validity

    def samples(self, X: Any) -> Samples:
        return as_samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        seen = self.seen_by(self.inner, x)
        return self.inner.bind(seen, seen if x is z else self.seen_by(self.inner, z))

    def diag_of(self, x: Samples) -> Array:
        return self.inner.diag_of(self.seen_by(self.inner, x))

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        f = self.inner.collapse(self.seen_by(self.inner, z), V, starts)
        return None if f is None else lambda x: f(self.seen_by(self.inner, x))

    def features_of(self, x: Samples) -> Array:
        return self.inner.features_of(self.seen_by(self.inner, x))


@dataclass(frozen=True, repr=False)
class OnColumns(Through):
    """The kernel of some columns, made by ``k.on("column")`` or ``k.on(["a", "b"])``."""

    inner: Kernel
    columns: Any

    def __post_init__(self) -> None:
        if not isinstance(self.columns, (str, int, np.integer)):
            object.__setattr__(self, "columns", tuple(self.columns))

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return x.seen_by(child, self.columns)

    def __repr__(self) -> str:
        columns = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        return f"{operand(self.inner)}.on({columns!r})"


@dataclass(frozen=True, repr=False)
class OnMap(Through):
    """The kernel of a map's values, made by ``k.on(map)``; the map takes and returns whole arrays."""

    inner: Kernel
    map: Any

    def samples(self, X: Any) -> Samples:
        door = getattr(self.map, "samples", as_samples)  # a map of objects may have a door of its own
        samples: Samples = door(X)
        return samples

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return child.samples(self.map(x.content()))

    def __repr__(self) -> str:
        return f"{operand(self.inner)}.on({self.map!r})"
