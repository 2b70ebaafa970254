"""Explicit feature maps: functions of whole arrays, usable in ``FeatureMap(phi)`` and ``k.on(map)``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.columns import check_number, column_names, monomial, numbered, raised
from mercer.kernels.leaf import integer
from mercer.kernels.pairs import chunks
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.samples.door import in_memory

#: An explicit map of more columns than this is refused rather than tried.
MOST_FEATURES = 10_000_000


@dataclass(frozen=True)
class Map:
    """A feature map: called with an array of one sample per row, it returns one of the same number of rows.

    >>> k = FeatureMap(Squares())  # every map makes a kernel
    >>> bool((k([[1.0, 2.0]], [[3.0, 4.0]]) == Squares()([[1.0, 2.0]]) @ Squares()([[3.0, 4.0]]).T).all())
    True
    """

    def __call__(self, X: Any) -> Array:
        array = np.asarray(in_memory(X))
        return self.features(array if array.dtype.kind == "f" else array.astype(np.float64))

    def features(self, X: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must give its features")

    def names(self, columns: Sequence[str]) -> list[str] | None:
        """The names of the features of columns with these names; None if they have only numbers."""
        return None

    @property
    def pending(self) -> str:
        """The part of this map that ``resolve`` must still find, or an empty text."""
        return ""

    def resolve(self, X: Array) -> Map:
        """The map with whatever depends on data found from X."""
        return self


@dataclass(frozen=True)
class Lift(Map):
    """x -> (x, x^2): the line lifted to a parabola.

    >>> Lift()([[3.0]])
    array([[3., 9.]])
    """

    def features(self, X: Array) -> Array:
        return np.hstack([X, X**2])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [*columns, *(raised(name, 2) for name in columns)]


@dataclass(frozen=True)
class Polar(Map):
    """(x1, x2) -> (r, theta): polar coordinates of the plane.

    >>> Polar()([[0.0, 2.0]]).round(4)
    array([[2.    , 1.5708]])
    """

    def features(self, X: Array) -> Array:
        if X.shape[1] != 2:
            raise ValueError(f"Polar takes points of the plane (2 columns) but got {X.shape[1]} columns")
        return np.stack([np.hypot(X[:, 0], X[:, 1]), np.arctan2(X[:, 1], X[:, 0])], axis=1)

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"{name}({', '.join(columns)})" for name in ("r", "theta")]


@dataclass(frozen=True)
class Squares(Map):
    """x -> (x1^2, ..., xd^2).

    >>> Squares()([[2.0, 3.0]])
    array([[4., 9.]])
    """

    def features(self, X: Array) -> Array:
        return np.asarray(X**2)

    def names(self, columns: Sequence[str]) -> list[str]:
        return [raised(name, 2) for name in columns]


@dataclass(frozen=True)
class Quadratic(Map):
    """x -> (1, x1, ..., xd, x1^2, ..., xd^2).

    >>> Quadratic()([[2.0, 3.0]])
    array([[1., 2., 3., 4., 9.]])
    """

    def features(self, X: Array) -> Array:
        return np.hstack([np.ones((len(X), 1), X.dtype), X, X**2])

    def names(self, columns: Sequence[str]) -> list[str]:
        return ["1", *columns, *(raised(name, 2) for name in columns)]


@dataclass(frozen=True)
class Monomials(Map):
    """All monomials up to a degree, weighted so that the inner product is (1 + x.z)^degree.

    With ``redundant=True``, every ordered product x_i x_j ... separately and unweighted: 1 + d + d^2 + ... entries,
    whose inner product is 1 + x.z + (x.z)^2 + ...

    >>> Monomials(2)([[1.0, 2.0]]).shape, Monomials(3, redundant=True)([[1.0, 2.0]]).shape
    ((1, 6), (1, 15))
    """

    degree: int
    redundant: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", integer("the degree of Monomials", self.degree, 0))

    def features(self, X: Array) -> Array:
        if not self.redundant:
            return monomials(X, self.degree, 1.0, 1.0)
        columns = X.shape[1]
        count = power = 1
        for _ in range(self.degree):
            power *= columns
            count += power
            refuse_enormous(self.degree, columns, count)
        blocks = [np.ones((len(X), 1), X.dtype)]
        for _ in range(self.degree):
            blocks.append(np.einsum("ni,nj->nij", blocks[-1], X).reshape(len(X), -1))
        return np.hstack(blocks)

    def names(self, columns: Sequence[str]) -> list[str]:
        if not self.redundant:
            return monomial_names(columns, range(self.degree + 1))
        blocks = [[""]]
        for _ in range(self.degree):
            blocks.append([f"{product} {name}".strip() for product in blocks[-1] for name in columns])
        return ["1", *chain.from_iterable(blocks[1:])]


@dataclass(frozen=True)
class L1Normalized(Map):
    """h -> h / sum h: histograms of equal mass; a histogram of no mass stays as it is.

    >>> L1Normalized()([[1.0, 3.0]])
    array([[0.25, 0.75]])
    """

    def features(self, X: Array) -> Array:
        mass = np.abs(X).sum(axis=1, keepdims=True)
        return np.asarray(X / np.where(mass > 0, mass, 1))

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"share of {name}" for name in columns]


def map_text(phi: Any) -> str:
    """A map, or a user's function, as a kernel's repr has it."""
    return repr(phi) if isinstance(phi, Map) else getattr(phi, "__name__", repr(phi))


def map_names(phi: Any, x: Samples, width: int) -> list[str]:
    """The names of the features that a map, or a user's function, gives samples: ``width`` of them.

    >>> from mercer.samples import as_samples
    >>> map_names(Squares(), as_samples([[1.0, 2.0]]), 2), map_names(np.tanh, as_samples([[1.0]]), 1)
    (['x0^2', 'x1^2'], ['tanh0'])
    """
    names = phi.names(column_names(x)) if isinstance(phi, Map) and x.width is not None else None
    return numbered(getattr(phi, "__name__", type(phi).__name__), width) if names is None else names


def monomial_names(columns: Sequence[str], degrees: Iterable[int]) -> list[str]:
    """The names of all monomials of these degrees, in the order of ``products``."""
    degrees = list(degrees)
    check_number(sum(comb(len(columns) + degree - 1, degree) for degree in degrees))
    choices = chain.from_iterable(combinations_with_replacement(range(len(columns)), degree) for degree in degrees)
    return [monomial(columns, choice) for choice in choices]


def refuse_enormous(degree: int, columns: int, count: int) -> None:
    if count > MOST_FEATURES:
        raise ValueError(
            f"the explicit map of degree {degree} in {columns} columns has more than {MOST_FEATURES} features; "
            "use the kernel itself"
        )


def choices_of(d: int, degree: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every choice of ``degree`` of d coordinates, one per row, and in how many orders each can be written."""
    count = comb(d + degree - 1, degree)
    refuse_enormous(degree, d, count)
    choices = np.array(list(combinations_with_replacement(range(d), degree)), dtype=np.int64).reshape(count, degree)
    orders = np.full(count, float(factorial(degree)))  # of the factors: degree! / (product of repetitions!)
    run = np.zeros(count)
    for i in range(degree):
        column = choices[:, i]
        run = np.where(column == choices[:, i - 1], run + 1, 1) if i else np.ones(count)
        orders /= run
    return choices, orders


def products(X: Array, degree: int) -> tuple[Array, NDArray[np.float64]]:
    """The products of ``degree`` coordinates, a column for each choice, and in how many orders each can be written."""
    choices, orders = choices_of(X.shape[1], degree)
    out = np.ones((len(X), len(choices)), dtype=X.dtype)
    for rows in chunks(len(X), len(choices) * X.itemsize):  # Ctrl-C is heard between them
        for column in choices.T:
            out[rows] *= X[rows][:, column]
    return out, orders


def homogeneous(X: Array, degree: int, weight: float = 1.0) -> Array:
    """The monomials of exactly this degree, weighted so that the inner product is weight^2 (x.z)^degree."""
    out, orders = products(X, degree)
    factors = (weight * np.sqrt(orders)).astype(X.dtype)
    for rows in chunks(len(X), out.shape[1] * X.itemsize):
        out[rows] *= factors
    return out


def monomials(X: Array, degree: int, c: float, gamma: float) -> Array:
    """The monomials up to this degree, weighted so that the inner product is (gamma x.z + c)^degree."""
    lowest = degree if c == 0 else 0
    refuse_enormous(degree, X.shape[1], comb(X.shape[1] + degree - (c == 0), degree))
    weights = {j: float(np.sqrt(comb(degree, j) * c ** (degree - j) * gamma**j)) for j in range(lowest, degree + 1)}
    return np.hstack([homogeneous(X, j, weight) for j, weight in weights.items()])
