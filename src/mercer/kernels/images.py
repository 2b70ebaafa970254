"""Kernels of images and of sets: sums of another kernel over the cells of a grid, or over pairs of members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._native import Op
from mercer.kernels.base import Kernel, Validity, instance
from mercer.kernels.composition import added
from mercer.kernels.histograms import Intersection
from mercer.kernels.leaf import integer, vectors
from mercer.kernels.pairs import BLOCK_BYTES, FunctionPairs, Pairs, Rows, step
from mercer.samples import Samples, Vectors
from mercer.samples.base import Array, check_names
from mercer.samples.sets import Sets, sets_of, sets_or_graphs

INTERSECTION = Intersection()


class OfBase(Kernel):
    """A kernel made of one other, its field ``base``."""

    base: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.base,)

    def __post_init__(self) -> None:
        if not isinstance(instance(self.base), Kernel):
            raise TypeError(f"the base of {type(self).__name__} is a kernel, not {self.base!r}")


@dataclass(frozen=True, repr=False)
class SpatialPyramid(OfBase):
    """k(x, z) = sum over levels l of w_l times the sum over the cells of level l of base(cell of x, cell of z)

    Level l = 0 .. L divides the image into 2^l by 2^l cells, and w_0 = 2^-L, w_l = 2^(l - L - 1). A sample is the
    histograms of the cells of the finest level, an array of shape (2^L, 2^L, bins) laid out as one row; cells of
    coarser levels are their sums. Lazebnik, Schmid and Ponce, "Beyond bags of features" (CVPR 2006).

    >>> import numpy as np
    >>> left, right = np.zeros((2, 2, 2, 1))
    >>> left[:, 0], right[:, 1] = 1, 1
    >>> SpatialPyramid(1)(np.stack([left.ravel(), right.ravel()]))
    array([[2., 1.],
           [1., 2.]])
    """

    levels: int
    base: Kernel = INTERSECTION

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", integer("levels", self.levels, 0))

    @property
    def validity(self) -> Validity:
        return "psd" if self.base.validity == "psd" else "unknown"

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return SpatialPyramid(self.levels, children[0])

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        """All cells of all levels, one below the other: what a width of the base is found from."""
        return Vectors(np.concatenate([cell for _, cells in self.pyramid(x) for cell in cells]))

    def pyramid(self, x: Samples) -> list[tuple[float, list[Array]]]:
        """The weight of every level and the histograms of its cells."""
        X, side = vectors(x).dense(), 2**self.levels
        if X.shape[1] % side**2:
            raise ValueError(
                f"{self} takes histograms of {side} by {side} cells, so the number of columns must be a multiple of "
                f"{side**2}, but it is {X.shape[1]}"
            )
        finest = X.reshape(len(X), side, side, -1)
        result = []
        for level in range(self.levels + 1):
            cells = 2**level
            size = side // cells
            summed = finest.reshape(len(X), cells, size, cells, size, -1).sum(axis=(2, 4))
            weight = 2.0 ** (max(level, 1) - self.levels - 1)
            result.append((weight, [summed[:, i, j] for i in range(cells) for j in range(cells)]))
        return result

    def bind(self, x: Samples, z: Samples) -> Pairs:
        check_names(x, z)
        terms = []
        left = self.pyramid(x)
        right = left if x is z else self.pyramid(z)
        for (weight, cells), (_, others) in zip(left, right, strict=True):
            for cell, other in zip(cells, others, strict=True):
                a = Vectors(np.ascontiguousarray(cell))
                b = a if x is z else Vectors(np.ascontiguousarray(other))
                terms.append(self.base.bind(a, b).then(step(Op.affine, weight)))
        return added(terms)

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(
            sum(
                weight * self.base.diag_of(Vectors(np.ascontiguousarray(cell))).astype(np.float64)
                for weight, cells in self.pyramid(x)
                for cell in cells
            )
        )

    def features_of(self, x: Samples) -> Array:
        return np.hstack(
            [
                np.sqrt(weight) * self.base.features_of(Vectors(np.ascontiguousarray(cell)))
                for weight, cells in self.pyramid(x)
                for cell in cells
            ]
        )

    def names_of(self, x: Samples) -> list[str]:
        names = []
        for level, (_, cells) in enumerate(self.pyramid(x.take(np.arange(1)))):
            for i, cell in enumerate(cells):
                bins = Vectors(np.ascontiguousarray(cell), tuple(f"bin {b}" for b in range(cell.shape[1])))
                where = f"level {level} cell {divmod(i, 2**level)}"
                names += [f"{where}: {name}" for name in self.base.names_of(bins)]
        return names


def _largest(values: Array, starts: NDArray[np.int64]) -> Array:
    """The maximum over all rows and every segment of columns."""
    return np.asarray(np.maximum.reduceat(values, starts, axis=1).max(axis=0))


def _total(values: Array, starts: NDArray[np.int64]) -> Array:
    """The sum over all rows and every segment of columns, in both orders, so that k(x, z) and k(z, x) round alike."""
    whole = np.zeros(1, dtype=np.int64)
    by_row = np.ascontiguousarray(np.add.reduceat(values, starts, axis=1).T)
    by_column = np.add.reduceat(np.ascontiguousarray(values.T), whole, axis=1)[:, 0]
    return np.asarray((np.add.reduceat(by_row, whole, axis=1)[:, 0] + np.add.reduceat(by_column, starts)) / 2)


#: How the values of all pairs of members become one.
POOLING = {"sum": _total, "mean": _total, "max": _largest}


@dataclass(frozen=True, repr=False)
class SetKernel(OfBase):
    """k(x, z) = sum, mean or max of base over all pairs of a member of x and a member of z

    The mean is the inner product of mean embeddings (Gaertner et al., "Multi-instance kernels", ICML 2002; Smola et
    al., 2007). The maximum is not positive semi-definite in general. A sample is an array with one row per member, or
    a list of members; graphs of networkx, and ``Graphs``, are the sets of their nodes' attributes.

    >>> from mercer.kernels import Linear
    >>> SetKernel(Linear())([[[1.0], [3.0]], [[5.0]]])
    array([[ 4., 10.],
           [10., 25.]])
    """

    base: Kernel
    how: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.how not in POOLING:
            raise ValueError(f"how must be one of {', '.join(map(repr, POOLING))}, not {self.how!r}")

    @property
    def validity(self) -> Validity:
        if self.how == "max":
            return "indefinite"
        return "psd" if self.base.validity == "psd" else "unknown"

    def rebuild(self, children: tuple[Kernel, ...]) -> Kernel:
        return SetKernel(children[0], self.how)

    def samples(self, X: Any) -> Samples:
        """Sets; graphs stay graphs, so that this kernel can be added to and multiplied with kernels of graphs."""
        x = sets_or_graphs(X, self.base)
        self.base.samples(_sets(x).members)  # refuses members that the base cannot read
        return x

    def seen_by(self, child: Kernel, x: Samples) -> Samples:
        return _sets(x).members

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a, b = _sets(x), _sets(z)
        inner = self.base.bind(a.members, a.members if x is z else b.members)
        return FunctionPairs((len(a), len(b)), inner.dtype, x is z, self.reduced(inner, a.starts, b.starts))

    def reduced(self, inner: Pairs, of_x: NDArray[np.int64], of_z: NDArray[np.int64]) -> Callable[[Rows, slice], Array]:
        """Blocks of the matrix from blocks of the members' matrix: one set of x, some sets of z at a time."""

        def block(rows: Rows, columns: slice) -> Array:
            some = range(rows.start, rows.stop) if isinstance(rows, slice) else rows
            out = np.empty((len(some), columns.stop - columns.start))
            for r, i in enumerate(some):
                members = slice(int(of_x[i]), int(of_x[i + 1]))
                size = members.stop - members.start
                j = columns.start
                while j < columns.stop:
                    room = of_z[j] + max(1, BLOCK_BYTES // (8 * size))
                    end = min(columns.stop, max(j + 1, int(np.searchsorted(of_z, room, side="right")) - 1))
                    starts = of_z[j : end + 1] - of_z[j]
                    values = inner.block(members, slice(int(of_z[j]), int(of_z[end]))).astype(np.float64, copy=False)
                    share = size * np.diff(starts) if self.how == "mean" else 1.0
                    out[r, j - columns.start : end - columns.start] = POOLING[self.how](values, starts[:-1]) / share
                    j = end
            return out

        return block

    def features_of(self, x: Samples) -> Any:
        if self.how == "max":
            return super().features_of(x)
        sets = _sets(x)
        sizes = np.diff(sets.starts)
        shares = np.repeat(1 / sizes if self.how == "mean" else np.ones(len(sizes)), sizes)
        pool: Any = sp.csr_array((shares, np.arange(len(shares)), sets.starts), shape=(len(sizes), len(shares)))
        return pool @ self.base.features_of(sets.members)

    def names_of(self, x: Samples) -> list[str]:
        if self.how == "max":
            return super().names_of(x)
        return [f"{self.how} of {name}" for name in self.base.names_of(_sets(x).members)]


def _sets(x: Samples) -> Sets:
    return sets_of(x)
