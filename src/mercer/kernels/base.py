"""What a kernel is: an immutable value that compares samples, k(X, Z).

It knows whether it is positive semi-definite by construction, and can be added, multiplied and so on, which makes
the kernels of ``mercer.kernels.algebra``, ``feature_space`` and ``on``. Whatever depends on data is found by
``resolve(X)``.
"""

from __future__ import annotations

import dataclasses
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mercer.errors import MercerError, MercerWarning
from mercer.kernels.collapse import Collapsed
from mercer.kernels.columns import distinct, numbered
from mercer.kernels.pairs import BLOCK_ROWS, Pairs
from mercer.samples import Samples, as_samples
from mercer.samples.base import Array, Columns
from mercer.shown import short

if TYPE_CHECKING:
    from mercer.gram import Gram

Validity = Literal["psd", "cpd", "indefinite", "unknown"]

#: Of an expression too long for a message, this many characters of either end are shown.
END = 200


#: What each validity says, for people.
KNOWN: dict[Validity, str] = {
    "psd": "positive semi-definite by construction",
    "cpd": "conditionally positive semi-definite",
    "indefinite": "not positive semi-definite in general",
    "unknown": "not known to be positive semi-definite",
}


class UnresolvedKernelError(MercerError, ValueError):
    """A kernel with a parameter that depends on data was called before ``resolve``.

    >>> Gaussian("median")([[0.0], [1.0]])
    Traceback (most recent call last):
    ...
    mercer.kernels.base.UnresolvedKernelError: Gaussian(sigma='median') depends on data: ...
    >>> Gaussian("median").resolve([[0.0], [1.0]])
    Gaussian(sigma=1)
    """


class IndefiniteKernelWarning(MercerWarning, RuntimeWarning):
    """A machine met a direction along which its kernel is negative, as no positive semi-definite kernel is.

    The machine is fitted all the same, but nothing is proven of it. ``mercer.kernels.repair`` is the remedy.

    >>> import warnings
    >>> from mercer import SVC
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     machine = SVC(kernel=-1 * Linear()).fit([[0.0], [1.0]], [0, 1])
    >>> said[0].category is IndefiniteKernelWarning, machine.certificate_.convex
    (True, False)
    """


class ZeroKernelWarning(MercerWarning, RuntimeWarning):
    """A kernel is zero between some samples and all others, so that a machine cannot learn anything of them.

    >>> import warnings
    >>> from mercer import SVC
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     machine = SVC(kernel=Spectrum(3, alphabet="dna")).fit(["GATTACA", "TTACA", "MKVL", "MVLKRE"], [0, 1, 0, 1])
    >>> print(caught[0].message)
    Spectrum(k=3, alphabet='dna') is zero for 2 of 4 samples (the first is number 2), so that ...
    """


class FeaturesError(MercerError, ValueError):
    """A kernel has no finite explicit feature map.

    >>> Gaussian(1).features([[0.0]])
    Traceback (most recent call last):
    ...
    mercer.kernels.base.FeaturesError: Gaussian(sigma=1) has no finite explicit feature map; ...
    """


def number(value: float) -> str:
    """The shortest text that reads back as this number; 1 rather than 1.0."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


class Kernel:
    """A similarity k(x, z) of two samples. Subclasses are frozen dataclasses: their fields are their parameters.

    A subclass gives its formula in ``bind`` and, where it has them, ``diag_of``, ``features_of``, ``names_of``,
    ``collapse``, ``validity`` and ``resolve``.

    >>> k = 2 * Gaussian(1) + Linear()
    >>> k([[0.0], [1.0]], [[1.0]]).round(3)
    array([[1.213],
           [3.   ]])
    >>> k == 2 * Gaussian(1) + Linear(), k.validity
    (True, 'psd')
    """

    # -- what a subclass may say ------------------------------------------------------------------------------

    @property
    def validity(self) -> Validity:
        """``"psd"`` (by construction), ``"cpd"`` (conditionally), ``"indefinite"`` (in general) or ``"unknown"``."""
        return "unknown"

    @property
    def pending(self) -> str:
        """The part of this kernel that ``resolve`` must still find, or an empty text."""
        return next((child.pending for child in self.children if child.pending), "")

    @property
    def by_call(self) -> bool:
        """Whether something that was not given is found from the samples of every call, such as their letters."""
        return any(child.by_call for child in self.children)

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

    def names_of(self, x: Samples) -> list[str]:
        """A name for every column of ``features_of(x)``."""
        return numbered(type(self).__name__, self.features_of(x.take(np.arange(1))).shape[1])

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        """The sums over segments of z of k(z_i, .) times rows of V, as a function that no longer needs z.

        None where there is none, or where comparing with z is cheaper; see ``mercer.kernels.collapse``.
        """
        return None

    def alike_in(self, columns: int) -> Kernel:
        """A kernel that is PSD where this is on samples of ``columns`` columns, and of which more may be known."""
        if type(self).seen_by is not Kernel.seen_by:
            return self  # what the children see has columns of its own
        return self.rebuild(tuple(child.alike_in(columns) for child in self.children))

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

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """The matrix of k(x, z) for all x in X and z in Z (Z = X if not given).

        k(X) is exactly symmetric, except where a user's function is not. Two one-dimensional arrays of numbers are two
        samples, and their value is a number: so scikit-learn calls the functions that its ``Nystroem`` is given.

        >>> Linear()(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        np.float64(11.0)
        """
        if is_row(X) and is_row(Z):
            return self(X[None], Z[None])[0, 0]
        return self.bind(*self.both(X, Z)).dense()

    def both(self, X: Any, Z: Any = None) -> tuple[Samples, Samples]:
        """The checked samples of two arguments; the second is the first itself where it is None."""
        self.check_resolved()
        x = self.samples(X)
        return (x, x) if Z is None else (x, self.samples(Z).arranged_as(x))

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

    def gram(self, X: Any, budget: int | None = None, *, lasting: bool = True) -> Gram:
        """The matrix k(X) as an operator that takes at most ``budget`` bytes; see ``mercer.gram``."""
        from mercer.gram import DEFAULT_BUDGET, Gram

        return Gram(self, self.both(X)[0], DEFAULT_BUDGET if budget is None else budget, lasting=lasting)

    def features(self, X: Any) -> Any:
        """The explicit feature map of X, where it is finite: k(X) = features(X) @ features(X).T.

        A CSR array where X is sparse and the map keeps zeros, or where features are words and the like; else dense.
        Columns mean the same in every call, and so k(X, Z) = features(X) @ features(Z).T, with one exception: kernels
        of graphs and trees have a column for each part that X has. See ``in_columns_of``; ``feature_names`` says what
        the columns are.
        """
        x, _ = self.both(X)
        return self.features_of(x).astype(x.dtype, copy=False)

    def feature_names(self, X: Any) -> NDArray[np.object_]:
        """The names of the columns of ``features(X)``: of columns and their products, words, neighbourhoods, subtrees.

        No two of them are the same. Parts of a sum that have a name in common are told apart by their number, as their
        parameters are: ``0__x0``.

        >>> (Linear() + Polynomial(2, c=0)).feature_names([[1.0, 2.0]]).tolist()
        ['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
        >>> WeisfeilerLehman(1).feature_names([([(0, 1), (1, 2)], ["C", "C", "O"])]).tolist()
        ['C', 'O', 'C(C)', 'C(C, O)', 'O(C)']
        """
        x, _ = self.both(X)
        return distinct(self.names_of(x))

    def in_columns_of(self, X: Any) -> Kernel:
        """The same kernel, whose features of any samples have the columns that those of X have.

        So with ``known = k.in_columns_of(X)``, ``known.features(Z) @ known.features(X).T`` is k(Z, X). This is for
        features that are parts which samples happen to have. Kernels of graphs and ``Subtree`` number them anew in
        every call without it, and kernels of words, without an alphabet, do not number them at all. Parts that X lacks
        have no column, but count in the norms of ``normalized``. X is kept.

        >>> k = WeisfeilerLehman(1)
        >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]
        >>> k.in_columns_of([path]).features([triangle]).toarray()
        array([[3., 0., 3.]])
        """
        x = self.samples(X)
        return self.rebuild(tuple(child.in_columns_of(self.seen_by(child, x)) for child in self.children))

    # -- algebra ----------------------------------------------------------------------------------------------
    # The composed kernels are kernels, so their modules need this one first; they are imported when they are used.

    def __add__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import added

        return added(self, other) if is_term(other) else NotImplemented

    def __radd__(self, other: float) -> Kernel:
        from mercer.kernels.algebra import added

        return added(other, self) if is_term(other) else NotImplemented

    def __sub__(self, other: Kernel | float) -> Kernel:
        return self + (-1.0) * other if is_term(other) else NotImplemented

    def __rsub__(self, other: float) -> Kernel:
        return other + (-1.0) * self if is_term(other) else NotImplemented

    def __neg__(self) -> Kernel:
        return -1.0 * self

    def __mul__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import multiplied

        return multiplied(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: float) -> Kernel:
        return self.scaled(float(instance(other))) if is_number(instance(other)) else NotImplemented

    def scaled(self, factor: float) -> Kernel:
        """factor * k."""
        from mercer.kernels.algebra import Scaled

        return Scaled(factor, self)

    def __pow__(self, exponent: int) -> Kernel:
        from mercer.kernels.algebra import Power

        return Power(self, exponent)

    def normalized(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine of the angle in feature space; 0 where a sample has norm 0.

        >>> Polynomial(2).normalized()([[1.0], [2.0]]).round(3)
        array([[1. , 0.9],
               [0.9, 1. ]])
        """
        from mercer.kernels.feature_space import Normalized

        return Normalized(self)

    def centered(self) -> Kernel:
        """The kernel of features shifted to have mean zero over the samples that ``resolve`` is given.

        >>> X = [[0.0], [1.0], [5.0]]
        >>> float(abs(Linear().centered().resolve(X)(X).sum(axis=0)).max()) < 1e-12
        True
        """
        from mercer.kernels.feature_space import Centered

        return Centered(self)

    def on(self, what: Columns | Any) -> Kernel:
        """The kernel of some columns (names or numbers), or of the values of a map.

        >>> Linear().on([0, 2])([[1.0, 5.0, 2.0]])
        array([[5.]])
        """
        from mercer.kernels.on import OnColumns, OnMap

        return OnMap(self, instance(what, "map")) if callable(what) else OnColumns(self, what)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_arguments(self)})"

    def __str__(self) -> str:
        """The expression, for messages: large arrays by their size, and of a very long one its two ends."""
        text = short(self)
        return text if len(text) <= 2 * END else f"{text[:END]} ... {text[-END:]}"

    def _repr_html_(self) -> str:
        """The expression; a hand that rests on it is told what is known of it before any data."""
        return f'<code title="{KNOWN[self.validity]}">{escape(str(self))}</code>'


def _arguments(kernel: Any) -> str:
    """The fields that differ from their defaults, as a call would name them."""
    texts = []
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        if not field.repr or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        text = number(value) if is_number(value) else repr(value)
        texts.append(f"{field.name}={text}")
    return ", ".join(texts)


def is_row(X: Any) -> bool:
    """Whether it is one sample by itself, an array of numbers."""
    return isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "fiub"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_term(value: Any) -> bool:
    """Whether it can be added to a kernel: a kernel, or a number, which becomes a constant one."""
    return isinstance(instance(value), Kernel) or is_number(value)


def instance(value: Any, what: str = "kernel") -> Any:
    """The value, unless it is one of our classes where one of its instances is meant.

    >>> instance(Gaussian)
    Traceback (most recent call last):
    ...
    TypeError: expected a kernel but got the class Gaussian; give one of its kind, Gaussian(...)
    """
    if isinstance(value, type) and any(base.__module__.startswith("mercer.") for base in value.__mro__):
        inside = "..." if getattr(value, "__dataclass_fields__", ()) else ""
        name = value.__name__
        raise TypeError(f"expected a {what} but got the class {name}; give one of its kind, {name}({inside})")
    return value
