"""What a kernel is, and the algebra of kernels.

A kernel is an immutable value. It compares samples, k(X, Z); it knows whether it is positive semi-definite by
construction; and it can be added, multiplied, scaled, raised to a power, exponentiated, normalised, centred and
looked at through some columns or a map. Whatever depends on data is found by ``resolve(X)``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mercer._native import Op
from mercer.kernels.pairs import BLOCK_ROWS, Bordered, Combined, FunctionPairs, Pairs, step
from mercer.samples import Samples, as_samples
from mercer.samples.base import Array, Columns

if TYPE_CHECKING:
    from mercer.gram import Gram

Validity = Literal["psd", "cpd", "indefinite", "unknown"]


class UnresolvedKernelError(ValueError):
    """A kernel with a parameter that depends on data was called before ``resolve``."""


class FeaturesError(ValueError):
    """A kernel has no finite explicit feature map."""


def number(value: float) -> str:
    """The shortest text that reads back as this number; 1 rather than 1.0."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


class Kernel:
    """A similarity k(x, z) of two samples. Subclasses are frozen dataclasses: their fields are their parameters.

    A subclass gives its formula in ``bind`` and, where it has them, ``diag_of``, ``features_of``, ``validity``
    and ``resolve``.
    """

    # -- what a subclass may say ------------------------------------------------------------------------------

    @property
    def validity(self) -> Validity:
        """``"psd"`` (by construction), ``"cpd"`` (conditionally), ``"indefinite"`` or ``"unknown"``."""
        return "unknown"

    @property
    def pending(self) -> str:
        """The part of this kernel that ``resolve`` must still find, or an empty text."""
        return next((child.pending for child in self.children if child.pending), "")

    @property
    def children(self) -> tuple[Kernel, ...]:
        """The kernels this one is made of."""
        return ()

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        """This kernel made of other kernels."""
        return self

    def samples(self, X: Any) -> Samples:
        """The door for this kernel's data."""
        return self.children[0].samples(X) if self.children else as_samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        """The matrix k(x_i, z_j) as something that yields blocks; ``x is z`` asks for a symmetric one."""
        raise NotImplementedError(f"{type(self).__name__} must say how to bind to samples")

    def diag_of(self, x: Samples) -> NDArray[Any]:
        """k(x_i, x_i) for every sample."""
        index = np.arange(len(x))
        some = [x.take(index[i : i + BLOCK_ROWS]) for i in range(0, len(x), BLOCK_ROWS)]
        return np.concatenate([self.bind(part, part).dense().diagonal() for part in some])

    def features_of(self, x: Samples) -> Array:
        """The explicit map: rows with k(x, z) = <features(x), features(z)>."""
        raise FeaturesError(
            f"{self} has no finite explicit feature map; mercer.validity.mercer_expansion gives an approximate one"
        )

    def resolve_own(self, x: Samples) -> Kernel:
        """This kernel, whose children are resolved, with its own data-dependent parameters found from x."""
        return self

    # -- what users call --------------------------------------------------------------------------------------

    def resolve(self, X: Any) -> Kernel:
        """The kernel with every data-dependent parameter found from X; machines call this at fit."""
        x = self.samples(X)
        return self.rebuild(tuple(child.resolve(self.seen_by(child, x)) for child in self.children)).resolve_own(x)

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        """The samples as a child sees them."""
        return x

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """The matrix of k(x, z) for all x in X and z in Z (Z = X if not given, then exactly symmetric)."""
        return self.bind(*self.both(X, Z)).dense()

    def both(self, X: Any, Z: Any = None) -> tuple[Samples, Samples]:
        """The checked samples of two arguments; the second is the first itself where it is None."""
        self.check_resolved()
        x = self.samples(X)
        return (x, x) if Z is None else (x, self.samples(Z))

    def check_resolved(self) -> None:
        if self.pending:
            raise UnresolvedKernelError(
                f"{self} depends on data: {self.pending} is not known yet. Call k.resolve(X) first, "
                "or give the kernel to a machine, which does so at fit"
            )

    def diag(self, X: Any) -> Array:
        """k(x, x) for every x in X, without the matrix."""
        x, _ = self.both(X)
        return self.diag_of(x).astype(x.dtype, copy=False)

    def gram(self, X: Any, budget: int | None = None) -> Gram:
        """The matrix k(X) as an operator with a row cache of at most ``budget`` bytes; see ``mercer.gram``."""
        from mercer.gram import DEFAULT_BUDGET, Gram

        return Gram(self, self.both(X)[0], DEFAULT_BUDGET if budget is None else budget)

    def features(self, X: Any) -> Array:
        """The explicit feature map of X, where it is finite: k(X, Z) = features(X) @ features(Z).T."""
        x, _ = self.both(X)
        return self.features_of(x).astype(x.dtype, copy=False)

    # -- algebra ----------------------------------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> Kernel:
        right = _as_kernel(other)
        return NotImplemented if right is None else Sum((*_parts(self, Sum), *_parts(right, Sum)))

    def __radd__(self, other: float) -> Kernel:
        left = _as_kernel(other)
        return NotImplemented if left is None else Sum((left, *_parts(self, Sum)))

    def __sub__(self, other: Kernel | float) -> Kernel:
        right = _as_kernel(other)
        return NotImplemented if right is None else self + (-1.0) * right

    def __neg__(self) -> Kernel:
        return -1.0 * self

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product((*_parts(self, Product), *_parts(other, Product)))
        return self.__rmul__(other)

    def __rmul__(self, other: float) -> Kernel:
        if not _is_number(other):
            return NotImplemented
        return self.scaled(float(other))

    def scaled(self, factor: float) -> Kernel:
        """factor * k."""
        return Scaled(factor, self)

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    def normalized(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine of the angle in feature space; 0 where a sample has norm 0.

        >>> Polynomial(2).normalized()([[1.0], [2.0]]).round(3)
        array([[1. , 0.9],
               [0.9, 1. ]])
        """
        return Normalized(self)

    def centered(self) -> Kernel:
        """The kernel of features shifted to have mean zero over the samples that ``resolve`` is given.

        >>> X = [[0.0], [1.0], [5.0]]
        >>> float(abs(Linear().centered().resolve(X)(X).sum(axis=0)).max()) < 1e-12
        True
        """
        return Centered(self)

    def on(self, what: Columns | Any) -> Kernel:
        """The kernel of some columns (names or numbers), or of the values of a map.

        >>> Linear().on([0, 2])([[1.0, 5.0, 2.0]])
        array([[5.]])
        """
        return OnMap(self, what) if callable(what) else OnColumns(self, _hashable(what))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_arguments(self)})"


def _arguments(kernel: Any) -> str:
    """The fields that differ from their defaults, as a call would name them."""
    texts = []
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        if not field.repr or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        text = number(value) if _is_number(value) else repr(value)
        texts.append(f"{field.name}={text}")
    return ", ".join(texts)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _as_kernel(value: Any) -> Kernel | None:
    if isinstance(value, Kernel):
        return value
    return Constant(float(value)) if _is_number(value) else None


def _parts(kernel: Kernel, cls: type[Any]) -> tuple[Kernel, ...]:
    return kernel.children if isinstance(kernel, cls) else (kernel,)


def _hashable(columns: Any) -> Any:
    return columns if isinstance(columns, (str, int, np.integer)) else tuple(columns)


def enclosed(kernel: Kernel, binds_tighter: tuple[type[Any], ...]) -> str:
    """The text of an operand, in brackets where its operator binds less tightly."""
    return f"({kernel!r})" if isinstance(kernel, binds_tighter) else repr(kernel)


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

    def features_of(self, x: Samples) -> Array:
        if self.c < 0:
            return super().features_of(x)
        return np.full((len(x), 1), np.sqrt(self.c), dtype=x.dtype)

    def __repr__(self) -> str:
        return number(self.c)


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """k1(x, z) + k2(x, z) + ...: the feature vectors laid end to end.

    >>> Linear() + Polynomial(2)
    Linear() + Polynomial(degree=2)
    """

    parts: tuple[Kernel, ...]

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.parts

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Sum(children)

    @property
    def validity(self) -> Validity:
        kinds = {part.validity for part in self.parts}
        if kinds == {"psd"}:
            return "psd"
        return "cpd" if kinds <= {"psd", "cpd"} else "unknown"

    def samples(self, X: Any) -> Samples:
        return next(part for part in (*self.parts, self.parts[0]) if not isinstance(part, Constant)).samples(X)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        return Combined([part.bind(x, z) for part in self.parts], np.add)

    def diag_of(self, x: Samples) -> Array:
        return reduce(np.add, [part.diag_of(x) for part in self.parts])

    def features_of(self, x: Samples) -> Array:
        return np.hstack([part.features_of(x) for part in self.parts])

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
class Product(Kernel):
    """k1(x, z) k2(x, z) ...: the feature vectors' outer product.

    >>> Linear() * Gaussian(2)
    Linear() * Gaussian(sigma=2)
    """

    parts: tuple[Kernel, ...]

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.parts

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Product(children)

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


def _rowwise_kronecker(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ni,nj->nij", A, B).reshape(len(A), -1))


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """c k(x, z).

    >>> 2 * (3 * Linear())
    6 * Linear()
    """

    factor: float
    inner: Kernel

    def __post_init__(self) -> None:
        if not np.isfinite(self.factor):
            raise ValueError(f"a kernel can be multiplied by a finite number, not by {self.factor!r}")

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Scaled(self.factor, children[0])

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

    def features_of(self, x: Samples) -> Array:
        if self.factor < 0:
            return super().features_of(x)
        return np.asarray(np.sqrt(self.factor) * self.inner.features_of(x))

    def __repr__(self) -> str:
        return f"{number(self.factor)} * {enclosed(self.inner, (Sum, Product))}"


@dataclass(frozen=True, repr=False)
class Power(Kernel):
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
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Power(children[0], self.exponent)

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
        return f"{enclosed(self.inner, (Sum, Product, Scaled, Power))} ** {self.exponent}"


@dataclass(frozen=True, repr=False)
class Exp(Kernel):
    """exp(k(x, z)), made by ``mercer.kernels.exp(k)``; PSD if k is PSD or conditionally so (Schoenberg 1938)."""

    inner: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Exp(children[0])

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
class Normalized(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)), made by ``k.normalized()``."""

    inner: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Normalized(children[0])

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
        return Bordered(self.inner.bind(x, z), of_x, of_z, np.multiply, np.multiply, np.sign(of_x))

    def diag_of(self, x: Samples) -> Array:
        return np.sign(self.inverse_norms(x))

    def features_of(self, x: Samples) -> Array:
        return self.inner.features_of(x) * self.inverse_norms(x)[:, None]

    def __repr__(self) -> str:
        return f"{enclosed(self.inner, (Sum, Product, Scaled, Power))}.normalized()"


@dataclass(frozen=True, repr=False)
class Centered(Kernel):
    """<phi(x) - m, phi(z) - m> with m the mean of phi over reference samples, made by ``k.centered()``."""

    inner: Kernel
    reference: Samples | None = None

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return Centered(children[0], self.reference)

    @property
    def pending(self) -> str:
        return "the mean of .centered()" if self.reference is None else self.inner.pending

    def resolve_own(self, x: Samples) -> Kernel:
        return self if self.reference is not None else Centered(self.inner, x.copy())

    @property
    def validity(self) -> Validity:
        return "psd" if self.inner.validity in ("psd", "cpd") else "unknown"

    def means(self, x: Samples) -> NDArray[np.float64]:
        """The mean of k(x, .) over the reference samples, less half the mean of those means."""
        assert self.reference is not None
        of_reference = self.mean_rows(self.reference)
        of_x = of_reference if x is self.reference else self.mean_rows(x)
        return np.asarray(of_x - of_reference.mean() / 2)

    def mean_rows(self, x: Samples) -> NDArray[np.float64]:
        assert self.reference is not None
        n = len(self.reference)
        return np.asarray(self.inner.bind(x, self.reference).product(np.full(n, 1 / n)), dtype=np.float64)

    def bind(self, x: Samples, z: Samples) -> Pairs:
        of_x = self.means(x)
        return Bordered(self.inner.bind(x, z), of_x, of_x if x is z else self.means(z), np.add, np.subtract)

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(self.inner.diag_of(x) - 2 * self.means(x))

    def features_of(self, x: Samples) -> Array:
        assert self.reference is not None
        return np.asarray(self.inner.features_of(x) - self.inner.features_of(self.reference).mean(axis=0))

    def __repr__(self) -> str:
        return f"{enclosed(self.inner, (Sum, Product, Scaled, Power))}.centered()"


@dataclass(frozen=True, repr=False)
class OnColumns(Kernel):
    """The kernel of some columns, made by ``k.on("column")`` or ``k.on(["a", "b"])``."""

    inner: Kernel
    columns: Any

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return OnColumns(children[0], self.columns)

    @property
    def validity(self) -> Validity:
        return self.inner.validity

    def samples(self, X: Any) -> Samples:
        return as_samples(X)

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return child.samples(x.select(self.columns))

    def bind(self, x: Samples, z: Samples) -> Pairs:
        seen = self.seen_by(self.inner, x)
        return self.inner.bind(seen, seen if x is z else self.seen_by(self.inner, z))

    def diag_of(self, x: Samples) -> Array:
        return self.inner.diag_of(self.seen_by(self.inner, x))

    def features_of(self, x: Samples) -> Array:
        return self.inner.features_of(self.seen_by(self.inner, x))

    def __repr__(self) -> str:
        columns = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        return f"{enclosed(self.inner, (Sum, Product, Scaled, Power))}.on({columns!r})"


@dataclass(frozen=True, repr=False)
class OnMap(OnColumns):
    """The kernel of a map's values, made by ``k.on(map)``; the map takes and returns whole arrays."""

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return OnMap(children[0], self.columns)

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return child.samples(self.columns(x.dense()))
