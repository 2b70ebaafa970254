"""A kernel bound to two sets of samples: the matrix k(x_i, z_j), computed block by block and never stored.

Kernels make these with ``kernel.bind(X, Z)``; Gram matrices and expansions only ever ask them for blocks. Here is what
all pairs share, given matrices, and pairs that Python fills; ``mercer.kernels.native`` holds those that the core fills,
``mercer.kernels.composition`` those made of others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.levels import Levels
from mercer.memory import empty
from mercer.samples.base import Array

#: Rows of a matrix: a contiguous range, or positions in any order.
Rows = slice | NDArray[np.int64]
Step = tuple[_native.Op, float, float, Sequence[float]]

#: Temporary blocks, wherever one is needed, take about this many bytes, so that they stay in a processor's cache ...
BLOCK_BYTES = 4 * 2**20
#: ... or this many rows, if that is more.
BLOCK_ROWS = 24
#: A block of a product is at most so wide: it is read twice, and meets parts of V and of the result that stay near.
BLOCK_COLUMNS = 4096


def step(op: _native.Op, a: float = 0.0, b: float = 0.0, c: Sequence[float] = ()) -> Step:
    return op, float(a), float(b), [float(x) for x in c]


def chunks(rows: int, row_bytes: int) -> list[slice]:
    """Consecutive ranges of rows, each of about BLOCK_BYTES or of BLOCK_ROWS."""
    height = max(BLOCK_ROWS, BLOCK_BYTES // max(1, row_bytes))
    return [slice(i, min(i + height, rows)) for i in range(0, rows, height)]


def segments(starts: NDArray[np.int64], end: int) -> list[slice]:
    """The ranges that begin at ``starts``; each ends where the next begins, the last one at ``end``."""
    return [slice(a, b) for a, b in pairwise([*starts.tolist(), end])]


def part(rows: Rows, within: slice) -> Rows:
    """The rows at positions ``within`` of a selection of rows."""
    if isinstance(rows, slice):
        return slice(rows.start + within.start, rows.start + within.stop)
    return rows[within]


class SquareMatrix(Protocol):
    """The matrix of a set of samples with itself, of which parts can be bound anew: a Gram matrix."""

    @property
    def exact(self) -> SquareMatrix:
        """The same matrix in float64."""

    def __len__(self) -> int: ...
    def between(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Pairs:
        """The pairs of some of the samples with others."""

    def diag(self) -> Array:
        """k(x, x) for every sample."""


@dataclass(frozen=True)
class Reordered:
    """A matrix whose samples stand in another order, as the core asks for parts of it."""

    whole: SquareMatrix
    order: NDArray[np.int64]

    def between(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Pairs:
        return self.whole.between(self.order[rows], self.order[columns])


class Pairs(ABC):
    """The matrix of k(x_i, z_j). ``same`` says that it is symmetric: x and z are the same samples, and so is k."""

    #: Whether an entry costs so much that a matrix which fits into memory is better computed once and kept.
    dear = False
    #: Whether ``share`` takes over anything.
    shares = False
    #: Whether the entries are in memory already, so that nothing is gained by keeping them.
    stored = False
    #: Whether entries of a sample with itself are more exact than others, where it is known that they are such.
    exact_diagonal = False

    def __init__(self, shape: tuple[int, int], dtype: Any, same: bool) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.same = same

    @abstractmethod
    def fill(self, out: Array, rows: Rows, columns: slice) -> None:
        """Writes the block at these rows and columns into ``out``, whose rows are contiguous."""

    def fill_symmetric(self, out: Array) -> None:
        """Writes the whole matrix, exactly symmetric; only where ``same``."""
        self.fill(out, slice(0, self.shape[0]), slice(0, self.shape[1]))
        for rows in chunks(len(out), out.shape[1] * out.itemsize):  # a given matrix is symmetric up to rounding
            own = out[rows, rows]
            lower = np.tril_indices(len(own), -1)
            own[lower] = own.T[lower]
            out[rows.stop :, rows] = out[rows, rows.stop :].T

    def then(self, *steps: Step) -> Pairs:
        """The matrix with elementwise steps applied to every entry."""
        from mercer.kernels.composition import composed

        return composed(self).then(*steps)

    def multiplied(
        self, of_x: NDArray[np.float64], of_z: NDArray[np.float64], diagonal: NDArray[np.float64] | None
    ) -> Pairs:
        """The matrix with rows and columns multiplied by inverse norms; the diagonal, where given, is exact."""
        from mercer.kernels.composition import composed

        return composed(self).multiplied(of_x, of_z, diagonal)

    def less(self, of_x: NDArray[np.float64], of_z: NDArray[np.float64]) -> Pairs:
        """The matrix less a number of each row and one of each column."""
        from mercer.kernels.composition import composed

        return composed(self).less(of_x, of_z)

    def native(self, dtype: Any) -> Any:
        """The core's pairs of these, in this precision, as a part of others; here Python fills their blocks."""
        make = _native.function_pairs_f32 if dtype == np.float32 else _native.function_pairs_f64
        return make(self, *self.shape)

    def sizes(self) -> NDArray[np.float64] | None:
        """A number of each sample that tells how large its entries, and their errors, may be; None if there is none."""
        return None

    def accuracy(self, levels: Levels) -> list[_native.Bound] | None:
        """How large the entries between any two levels of samples are, and how wrong in float32, row by row.

        None where that is not known, or nothing gained.
        """
        return None

    def block(self, rows: Rows, columns: slice) -> Array:
        """The block at these rows and columns, in a new array."""
        height = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        out = empty((height, columns.stop - columns.start), self.dtype)
        self.fill(out, rows, columns)
        return out

    def dense(self) -> Array:
        """The whole matrix, in a new array."""
        out = empty(self.shape, self.dtype)
        if self.same:
            self.fill_symmetric(out)
        else:
            self.fill(out, slice(0, self.shape[0]), slice(0, self.shape[1]))
        return out

    def product(self, V: Array) -> Array:
        """The matrix times V, streamed: never more of it exists than a block."""
        out = np.zeros((self.shape[0], *V.shape[1:]), dtype=np.result_type(self.dtype, V.dtype))
        # Results wait to be added up, so those of many columns are kept as small as the blocks.
        narrow = max(BLOCK_ROWS, BLOCK_BYTES // (8 * max(1, V[:1].size)))
        width = max(1, min(self.shape[1], BLOCK_COLUMNS, narrow))
        parts = chunks(self.shape[0], width * self.dtype.itemsize)
        # Of a symmetric matrix the blocks right of the diagonal suffice: they are used once more, transposed.
        tiles = [
            (rows, slice(start, min(start + width, self.shape[1])))
            for rows in parts
            for start in range(rows.start if self.same else 0, self.shape[1], width)
        ]
        memory = empty((1, max((part.stop - part.start for part in parts), default=0) * width), self.dtype).ravel()
        for rows, columns in tiles:
            shape = rows.stop - rows.start, columns.stop - columns.start
            block = memory[: shape[0] * shape[1]].reshape(shape)
            self.fill(block, rows, columns)
            out[rows] += block @ V[columns]
            if self.same:
                rest = slice(max(rows.stop, columns.start), columns.stop)
                out[rest] += block[:, rest.start - columns.start :].T @ V[rows]
        return out

    def by_segment(self, V: Array, starts: NDArray[np.int64]) -> Array:
        """The products of segments of columns with their rows of V, of shape (rows, segments, columns of V).

        Segment s begins at ``starts[s]`` and ends where the next begins.
        """
        n = self.shape[1]
        if self.shape[0] == 1 and len({*starts.tolist(), n}) == len(starts) + 1:  # every call counts; none is empty
            block = self.block(slice(0, 1), slice(0, n))
            return block.dot(V)[None] if len(starts) == 1 else np.add.reduceat(block.T * V, starts)[None]
        out = np.empty((self.shape[0], len(starts), V.shape[1]))
        for rows in chunks(self.shape[0], self.shape[1] * self.dtype.itemsize):
            block = self.block(rows, slice(0, self.shape[1]))
            for s, segment in enumerate(segments(starts, self.shape[1])):
                np.matmul(block[:, segment], V[segment], out=out[rows, s])
        return out

    def share(self, other: Pairs) -> None:
        """Takes over what another, bound to the same columns, has prepared of them, if anything."""
        return

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        """The matrix ``whole``, which these are the pairs of, for the solvers of the core: its samples in this order.

        At most ``packed`` bytes of packed samples are kept. With ``single`` in float32, too, where that has a bounded
        error and gains time. Here the blocks are filled by Python, in float64.
        """
        every = np.arange(len(whole)) if order is None else order
        diagonal = np.ascontiguousarray(whole.exact.diag()[every], dtype=np.float64)
        return _native.function_matrices(Reordered(whole.exact, every), diagonal)

    def fits_single(self) -> bool:
        """Whether float32 can hold the values, and gains time; a user's function and a given matrix gain none."""
        return False


class StoredPairs(Pairs):
    """Entries taken from a matrix that exists already: row i, and column ``columns[j]``."""

    stored = True

    def __init__(self, matrix: Array, columns: NDArray[np.int64], same: bool) -> None:
        super().__init__((len(matrix), len(columns)), matrix.dtype, same)
        self.matrix, self.columns = matrix, columns
        self.whole = len(columns) == matrix.shape[1] and np.array_equal(columns, np.arange(len(columns)))

    def fill(self, out: Array, rows: Rows, columns: slice) -> None:
        out[...] = self.matrix[rows][:, columns if self.whole else self.columns[columns]]

    def block(self, rows: Rows, columns: slice) -> Array:
        if self.whole:
            return self.matrix[rows][:, columns].copy()
        return self.matrix[rows].take(self.columns[columns], axis=1)

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        """Read where it lies; in float32, too, if that is how it is given."""
        largest = 0.0 if single and self.dtype == np.float32 else np.inf
        return _native.stored_matrices(self.matrix if self.whole else self.matrix[:, self.columns], order, largest)

    def native(self, dtype: Any) -> Any:
        given = _native.given_pairs_f32 if dtype == np.float32 else _native.given_pairs_f64
        return given(self.matrix, np.ascontiguousarray(self.columns, dtype=np.int64))

    def accuracy(self, levels: Levels) -> list[_native.Bound] | None:
        """Entries in float32 are what they are; of others that precision would take more than it gives."""
        if self.dtype != np.float32:
            return None
        parts = chunks(len(self.matrix), self.matrix.shape[1] * self.matrix.itemsize)
        most = max((float(np.abs(self.matrix[rows]).max()) for rows in parts), default=0.0)
        return [_native.Bound(most, 0.0)] * levels.count**2

    def product(self, V: Array) -> Array:
        """Without a copy if all columns are wanted as they are; in parts, so that Ctrl-C is heard between them."""
        if not self.whole:
            return super().product(V)
        out = np.empty((self.shape[0], *V.shape[1:]), dtype=np.result_type(self.dtype, V.dtype))
        for rows in chunks(self.shape[0], self.matrix.shape[1] * self.dtype.itemsize // 16):
            out[rows] = self.matrix[rows] @ V
        return out


class FunctionPairs(Pairs):
    """Blocks computed by a Python function of two selections of samples, symmetric where ``same`` says so."""

    def __init__(
        self, shape: tuple[int, int], dtype: Any, same: bool, function: Callable[[Rows, slice], Array]
    ) -> None:
        super().__init__(shape, dtype, same)
        self.function = function

    def fill(self, out: Array, rows: Rows, columns: slice) -> None:
        out[...] = self.function(rows, columns)


class UserPairs(Pairs):
    """Blocks computed by a user's function of two blocks of samples, checked as they enter.

    Nothing is known of the function, so it is called for every entry, as it is: no half is mirrored.
    """

    def __init__(self, name: str, x: Any, z: Any, dtype: Any, function: Callable[[Any, Any], Any]) -> None:
        super().__init__((len(x), len(z)), dtype, same=False)
        self.name, self.x, self.z, self.function = name, x, z, function

    def fill(self, out: Array, rows: Rows, columns: slice) -> None:
        values = np.asarray(self.function(picked(self.x, rows), picked(self.z, columns)), dtype=np.float64)
        if values.shape != out.shape:
            raise ValueError(
                f"the function of {self.name} returned shape {values.shape} for {out.shape[0]} and {out.shape[1]} "
                "samples; it takes two blocks of samples and returns the matrix of all pairs; for a function of two "
                "single samples there is Custom(f, pairwise=True)"
            )
        out[...] = checked(values, self.name)


def checked(values: Array, name: str) -> Array:
    """What a user's function returned, if all of it is finite."""
    bad = values[~np.isfinite(values)]
    if len(bad):
        raise ValueError(
            f"the function of {name} returned NaN or infinity for {len(bad)} of {values.size} pairs of samples, "
            f"the first {bad[0]}; it must return finite numbers, so handle these samples in it or leave them out"
        )
    return values


def picked(content: Any, which: Rows) -> Any:
    """Some of the samples of an array or a sequence."""
    if isinstance(content, np.ndarray):
        return content[which]
    return list(content[which]) if isinstance(which, slice) else [content[i] for i in which]
