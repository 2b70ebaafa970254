"""Kernels of histograms and of categories: entries are counts, masses or labels rather than coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mercer._native import Op, Reduction
from mercer.kernels.base import Validity
from mercer.kernels.collapse import Collapsed, knots, table
from mercer.kernels.columns import column_names
from mercer.kernels.leaf import InnerProduct, Unit, VectorKernel, integer, vectors
from mercer.kernels.native import NativePairs
from mercer.kernels.pairs import Pairs, Step, step
from mercer.samples import Objects, Samples, SparseVectors, Table, Vectors, as_samples
from mercer.samples.base import Array, check_names
from mercer.samples.door import opened
from mercer.samples.table import codes, marked, written


def histograms(x: Samples, kernel: Any) -> Vectors | SparseVectors:
    """These samples as vectors without negative entries."""
    v = vectors(x)
    lowest = v.lowest()
    if lowest < 0:
        raise ValueError(
            f"Negative values in data: {kernel} compares histograms, whose entries must be >= 0, but the smallest "
            f"entry is {lowest:g}; shift or clip the data, or use a kernel of vectors"
        )
    return v


class HistogramKernel(VectorKernel):
    """A sum over bins, positive semi-definite on histograms with entries >= 0."""

    @property
    def validity(self) -> Validity:
        return "psd"

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return histograms(x, self)

    def diag_of(self, x: Samples) -> Array:
        """For all of these, a bin compared with itself gives its mass."""
        return self.prepare(x).totals()


@dataclass(frozen=True, repr=False)
class Intersection(HistogramKernel):
    """Histogram intersection: k(h, h') = sum min(h_i, h'_i)

    For integer histograms with entries up to ``levels``, the features are the unary codes of the entries.

    >>> Intersection()([[3.0, 1.0]], [[5.0, 0.0]])
    array([[3.]])
    >>> Intersection(levels=3).features([[2, 1]])
    array([[1., 1., 0., 1., 0., 0.]])
    """

    levels: int | None = None

    def __post_init__(self) -> None:
        if self.levels is not None:
            object.__setattr__(self, "levels", integer("levels", self.levels, 1))

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.intersection, []

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return knots(z, V, starts)

    def features_of(self, x: Samples) -> Array:
        if self.levels is None:
            raise ValueError(
                "the explicit map of Intersection() needs the largest entry: give Intersection(levels=...), "
                "and integer histograms"
            )
        X = self.prepare(x).dense()
        if (np.floor(X) != X).any() or (self.levels < X).any():
            raise ValueError(
                f"the unary code of {self} is for whole numbers from 0 to {self.levels}, but the data hold "
                f"{'fractions' if (np.floor(X) != X).any() else f'{X.max():g}'}"
            )
        return (X[:, :, None] > np.arange(self.levels)).reshape(len(X), -1).astype(X.dtype)

    def names_of(self, x: Samples) -> list[str]:
        if self.levels is None:
            return super().names_of(x)
        return [f"{name} > {level}" for name in column_names(x) for level in range(self.levels)]


@dataclass(frozen=True, repr=False)
class Chi2(HistogramKernel):
    """The additive chi-square kernel: k(h, h') = sum 2 h_i h'_i / (h_i + h'_i), 0/0 = 0

    >>> Chi2()([[1.0, 0.0]], [[1.0, 0.0]])
    array([[1.]])
    """

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.chi2, []

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return table(Reduction.chi2, z, V, starts)


@dataclass(frozen=True, repr=False)
class Hellinger(InnerProduct, HistogramKernel):
    """Bhattacharyya's coefficient: k(h, h') = sum sqrt(h_i h'_i)

    >>> Hellinger()([[4.0, 1.0]], [[9.0, 0.0]])
    array([[6.]])
    """

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return histograms(x, self).map(np.sqrt)

    def diag_of(self, x: Samples) -> Array:
        return histograms(x, self).totals()

    def features_of(self, x: Samples) -> Array:
        return self.prepare(x).dense()

    def names_of(self, x: Samples) -> list[str]:
        return [f"sqrt({name})" for name in column_names(x)]


@dataclass(frozen=True, repr=False)
class JensenShannon(HistogramKernel):
    """k(h, h') = 1/2 sum (h_i log2((h_i + h'_i) / h_i) + h'_i log2((h_i + h'_i) / h'_i)), 0 log 0 = 0

    >>> JensenShannon()([[1.0, 1.0]], [[1.0, 0.0]])
    array([[1.]])
    """

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.jensen_shannon, []

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return table(Reduction.jensen_shannon, z, V, starts)


class Matching(VectorKernel):
    """Compares entries for equality only, so they need not be numbers."""

    @property
    def gaps(self) -> bool:
        """Whether values may be missing, which are then equal to each other and to nothing else."""
        return False

    def samples(self, X: Any) -> Samples:
        return opened(X) if self.gaps else as_samples(X)

    def readable(self, x: Samples) -> Samples:
        """The samples, objects as a column of labels."""
        x = _as_table(x) if isinstance(x, Objects) else x
        return x if self.gaps else x.complete()

    def bind(self, x: Samples, z: Samples) -> Pairs:
        read = self.readable(x)
        a, b = coded(read, read if x is z else self.readable(z))
        self.check_widths(a, b)
        for side in (a, b)[: 1 if a is b else 2]:
            if isinstance(side, Vectors) and side.dtype == np.float64 and _merged(side.array):
                raise ValueError(
                    f"{self} compares labels, and whole numbers beyond 2**53 are not told apart as float64; "
                    "give such labels as text"
                )
        reduction, steps = self.formula(a.width)
        return NativePairs(a, b, reduction, steps)


def coded(x: Samples, z: Samples) -> tuple[Vectors | SparseVectors, Vectors | SparseVectors]:
    """Both as numbers that are the same where the labels are. Those of z depend on z alone, so that they can be kept.

    >>> from mercer.samples import as_samples
    >>> coded(as_samples(["a", "b"]), as_samples(["b", "c"]))[0].dense().ravel()
    array([inf,  0.])
    """
    check_names(x, z)
    if isinstance(z, (Table, Objects)):
        table = _as_table(z)
        known = codes(table)
        b: Vectors | SparseVectors = Vectors(written(table, known))
    elif isinstance(x, (Table, Objects)):
        b = vectors(z)
        known = [dict(zip(column, column, strict=True)) for column in b.dense().T.tolist()]
    else:
        b = vectors(z)
        return b if x is z else vectors(x), b
    if x is z:
        return b, b
    other = _as_table(x)
    if other.width != len(known):
        raise ValueError(f"X has {other.width} columns and Z has {len(known)}; they must have the same")
    return Vectors(written(other, known)), b


def _merged(numbers: Array) -> bool:
    """Whether some are so large that whole numbers beside each other are one; infinity stands for none."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) > 2.0**53)).any())


def _as_table(x: Samples) -> Table:
    if isinstance(x, Table):
        return x
    if isinstance(x, Objects):
        column = np.empty(len(x), dtype=object)
        column[:] = x.items
        return Table((marked(column),), None)
    X = vectors(x).dense()
    return Table(tuple(X[:, i] for i in range(X.shape[1])), None)


@dataclass(frozen=True, repr=False)
class Categorical(Matching, Unit):
    """The share of columns in which two samples agree: k(x, z) = mean of [x_i = z_i]

    The entries may be numbers or labels; usually picked from a table with ``Categorical().on("column")``. With
    ``missing="level"`` a missing value (None, NaN, NaT, NA) is a label like others, the same for all; else an error.

    >>> Categorical()([["red", "small"], ["red", "large"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> Categorical(missing="level")([["red"], [None], [None]])
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """

    missing: Literal["error", "level"] = "error"

    def __post_init__(self) -> None:
        if self.missing not in ("error", "level"):
            raise ValueError(
                f'missing values are an "error" for Categorical, or a "level" of their own, not {self.missing!r}'
            )

    @property
    def gaps(self) -> bool:
        return self.missing == "level"

    @property
    def validity(self) -> Validity:
        return "psd"

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.equal, [step(Op.affine, 1 / width)]

    def diag_of(self, x: Samples) -> Array:
        return np.ones(len(x))


@dataclass(frozen=True, repr=False)
class Delta(Matching, Unit):
    """1 if two samples are equal in every column, else 0: adding a multiple of it lifts all eigenvalues.

    >>> Delta()([[1.0, 2.0], [1.0, 3.0]])
    array([[1., 0.],
           [0., 1.]])
    """

    @property
    def validity(self) -> Validity:
        return "psd"

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.equal, [step(Op.affine, 1.0, -width), step(Op.is_zero)]

    def diag_of(self, x: Samples) -> Array:
        return np.ones(len(x))
