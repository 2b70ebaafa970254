"""The Gram matrix as an operator bound to data: rows, blocks, diagonal and products, never n by n unless asked.

It knows a kernel and samples and nothing else; above all it never knows a label, so one Gram matrix and the rows that
it keeps serve every problem on the same data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.kernels.pairs import Pairs
from mercer.remembered import remembered
from mercer.samples import Samples, Similarities
from mercer.samples.base import Array
from mercer.samples.door import in_memory

if TYPE_CHECKING:
    from mercer.gram.reduction import StoredReduction

#: The bytes that a matrix may take, packed samples and rows that are kept, unless another number is given.
DEFAULT_BUDGET = 256 * 2**20
#: Samples stay packed if they take at most this part of the budget.
PACKED = 0.5
#: A matrix of dear entries, as those of alignments are, is computed once and kept whole if it takes at most this part.
WHOLE = 0.75


@dataclass(frozen=True)
class Live:
    """The matrix of the core, its samples in this order, and whether it was asked for in float32, too."""

    matrices: _native.Matrices
    order: NDArray[np.int64] | None
    single: bool

    def serves(self, order: NDArray[np.int64] | None, single: bool) -> bool:
        if single and not self.single:
            return False
        if self.order is None or order is None:
            return self.order is order
        return self.order is order or np.array_equal(self.order, order)

    def places(self, samples: int) -> NDArray[np.int64] | None:
        """Where each of so many samples stands, if each stands somewhere, once."""
        if self.order is None or len(self.order) != samples:
            return None
        places = np.argsort(self.order)
        return places if np.array_equal(self.order[places], np.arange(samples)) else None


class Gram:
    """K with K[i, j] = k(x_i, x_j). Made by ``k.gram(X, budget)``; threads may share it.

    Rows that were computed, for a solver or for ``rows``, are kept within ``budget`` bytes as long as the matrix lives:
    whoever comes second computes only what is missing, and ``computed`` says how many rows that were so far. A matrix
    that is not ``lasting`` is made for one solve: it keeps the rows only that are cheaper kept than computed again.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> K = Linear().gram(np.eye(3), budget=10**6)
    >>> K.shape, K.rows([1]), K @ np.ones(3)
    ((3, 3), array([[0., 1., 0.]]), array([1., 1., 1.]))
    """

    #: Whoever asks an operator for Z with K = Z Z' learns that a Gram matrix has none.
    factor: None = None
    #: The stored reduction that solvers read, if it was made of one.
    reduced_from: StoredReduction | None = None

    def __init__(self, kernel: Kernel, samples: Samples, budget: int = DEFAULT_BUDGET, *, lasting: bool = True) -> None:
        if budget < 0:
            raise ValueError(f"the memory budget is a number of bytes >= 0, not {budget}")
        kernel.check_resolved()
        self.kernel = kernel
        self.samples = kernel.samples(samples)
        self.budget, self.lasting = int(budget), lasting
        self.pairs: Pairs = kernel.bind(self.samples, self.samples)
        if self.pairs.shape[0] != self.pairs.shape[1]:
            raise ValueError(f"a Gram matrix is square, but {kernel} gave shape {self.pairs.shape}")
        #: The precision of the data, which ``exact`` does not raise: entries that were given are rounded to it.
        self.given: np.dtype[Any] = self.dtype
        self._live: Live | None = None
        self._earlier = 0  # rows computed for matrices that are no longer live

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pairs.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.pairs.dtype
        return dtype

    @property
    def computed(self) -> int:
        """How many rows have been computed so far for ``rows`` and for solvers, working sets aside.

        >>> K = Linear().gram([[1.0], [2.0], [3.0]])
        >>> K.rows([0, 1]), K.rows([1, 2]), K.computed
        (array(...), array(...), 3)
        """
        return self._earlier + (0 if self._live is None else self._live.matrices.computed)

    def rows(self, index: Any) -> Array:
        """The rows at these positions; those that are kept are not computed again."""
        which = self._positions(index)
        if not self.pairs.stored and len(which):
            live = self._live
            place = None if live is None else live.places(len(self))
            matrices = self.matrices(None) if live is None or place is None else live.matrices
            out = np.empty((len(which), len(self)), dtype=self.dtype)
            if matrices.rows(which if place is None else place[which], self._for_rows, out):
                return out if place is None else out[:, place]
        return self.pairs.block(which, slice(0, len(self)))

    def block(self, rows: Any, columns: Any) -> Array:
        """The entries at these rows and columns."""
        left = self._positions(rows)
        if isinstance(columns, slice) and columns.step in (None, 1):
            start, stop, _ = columns.indices(len(self))
            return self.pairs.block(left, slice(start, max(start, stop)))
        right = self._positions(columns)
        if len(right) and (np.diff(right) == 1).all():
            return self.pairs.block(left, slice(int(right[0]), int(right[-1]) + 1))
        out = self.between(left, right).dense()
        if self.pairs.exact_diagonal:  # which pairs of two choices of samples do not know
            row, column = np.nonzero(left[:, None] == right)
            out[row, column] = self._diagonal[left[row]]
        return out

    def between(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Pairs:
        """The pairs of the samples at these positions with others of them."""
        same = np.array_equal(rows, columns)
        if same and np.array_equal(rows, np.arange(len(self))):
            return self.pairs
        x = self.samples.take(rows)
        return self.kernel.bind(x, x if same else self.samples.take(columns))

    def matrices(self, order: NDArray[np.int64] | None, *, single: bool = True) -> _native.Matrices:
        """The matrix of the core, which solvers work on, its samples in this order; it lives as long as this one.

        With ``single`` in float32, too, where the error of that can be bounded. All entries are computed now where they
        are dear. In another order it begins anew, as its rows are others.
        """
        live = self._live
        if live is None or not live.serves(order, single):
            self.forget()
            live = self._live = Live(self._bound(order, single), order, single)
            live.matrices.lasting = self.lasting
        return live.matrices

    def hold(self) -> Gram:
        """Computes all entries now and keeps them in float32, rounded once, for many problems to be solved on them.

        That takes 4 n² bytes, whatever the budget. Solutions are certified in float64 as ever.

        >>> K = Linear().gram([[1.0], [2.0]]).hold()
        >>> K.held_rows
        array([[1., 2.],
               [2., 4.]], dtype=float32)
        """
        if self.held_rows is None:
            self.forget()
            # A new one: somebody else may be at work on what there was.
            matrices = self._bound(None, False)
            matrices.lasting = self.lasting
            matrices.hold()
            self._live = Live(matrices, None, True)
        return self

    @property
    def held_rows(self) -> Array | None:
        """What ``hold`` has computed, if it has; read-only."""
        rows = None if self._live is None else self._live.matrices.held_rows()
        return None if rows is None else rows[:, : len(self)]

    def forget(self) -> None:
        """Gives back the rows that are kept and the memory of the core; they are made again when they are wanted."""
        self._earlier, self._live = self.computed, None

    def _bound(self, order: NDArray[np.int64] | None, single: bool) -> _native.Matrices:
        if self.whole_bytes:
            return _native.stored_matrices(self.exact.to_dense(), order)
        # What asks Python for blocks must not keep this object alive, which keeps it alive.
        other = object.__new__(Gram)
        other.__dict__.update(self.__dict__, _live=None)
        return self.pairs.matrices(other, order, int(PACKED * self.budget), single=single)

    @property
    def whole_bytes(self) -> int:
        """The bytes of all entries, if they are dear and fit the budget; else 0: rows are computed as asked for."""
        size = 8 * len(self) ** 2
        return size if self.pairs.dear and size <= WHOLE * self.budget else 0

    @property
    def _for_rows(self) -> int:
        """The bytes of the budget that are left for rows."""
        return self.budget - self.whole_bytes

    @remembered
    def _diagonal(self) -> Array:
        with np.errstate(over="ignore"):
            return self.kernel.diag_of(self.samples).astype(self.dtype, copy=False)

    def diag(self) -> Array:
        """k(x_i, x_i) for every sample."""
        return self._diagonal.copy()

    def check_finite(self) -> None:
        """Refuses samples so large that k(x, x), which bounds the other entries of a PSD kernel, overflows."""
        if not np.isfinite(self._diagonal).all():
            raise ValueError(f"{self.kernel} is not finite on these samples in {self.dtype}; scale the data first")

    def __matmul__(self, V: Any) -> Array:
        """K @ V for a vector or matrix V, streamed in blocks of a few megabytes."""
        V = np.asarray(in_memory(V, "V"))
        if V.shape[:1] != (len(self),) or V.ndim > 2:
            raise ValueError(
                f"K is {len(self)} by {len(self)}, so V must be a vector of {len(self)} numbers or a matrix of "
                f"{len(self)} rows, but its shape is {V.shape}"
            )
        if V.dtype.kind not in "fiub":
            raise TypeError(f"K is real, so V must hold real numbers, but its dtype is {V.dtype}")
        return self.pairs.product(V)

    def to_dense(self) -> Array:
        """The whole matrix in memory, as k(X) gives it: n * n * itemsize bytes."""
        return self.pairs.dense()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The whole matrix, as ``to_dense`` gives it: what ``np.asarray(K)`` is, computed anew each time.

        >>> np.asarray(Linear().gram([[1.0], [2.0]]))
        array([[1., 2.],
               [2., 4.]])
        """
        if copy is False:
            raise ValueError("a Gram matrix is computed when it is asked for, so np.asarray(K, copy=False) has none")
        return self.to_dense().astype(self.dtype if dtype is None else dtype, copy=False)

    def ordered(self, order: NDArray[np.int64] | None) -> Gram:
        """The matrix of these samples, copied in this order, or this one if it is None.

        >>> Linear().gram([[1.0], [2.0], [3.0]]).ordered(np.array([2, 0])).to_dense()
        array([[9., 3.],
               [3., 1.]])
        """
        return self if order is None else Gram(self.kernel, self.samples.take(order), self.budget)

    def reduction(self, dtype: Any = np.float32) -> StoredReduction:
        """The squared distances, or whatever the kernel is a function of, stored once for kernels of all widths."""
        from mercer.gram.reduction import StoredReduction

        return StoredReduction(self, dtype)

    def held(self) -> Gram:
        """The same matrix computed once and kept, if that fits the budget; else this one, which computes as asked."""
        if len(self) ** 2 * self.dtype.itemsize > self.budget or self.pairs.stored:
            return self
        known = Similarities(self.to_dense())
        if self.pairs.same:
            known.symmetric = True  # and need not be looked at
        return Gram(Precomputed(), known, 0)

    # What is this matrix itself must not be remembered by it: it would then outlive its last user.

    @property
    def exact(self) -> Gram:
        """The same matrix computed in float64."""
        return self if self.dtype == np.float64 else self._exact

    @remembered
    def _exact(self) -> Gram:
        exact = Gram(self.kernel, self.samples.astype(np.float64), self.budget, lasting=self.lasting)
        exact.given = self.given
        return exact

    @property
    def single(self) -> Gram:
        """The same matrix computed in float32, or this one if that gains nothing or is beyond its range."""
        if self.dtype == np.float32 or not self.pairs.fits_single():
            return self
        if not np.abs(self.diag()).max(initial=0.0) < np.finfo(np.float32).max:  # it bounds what is off it
            return self
        return self._single

    @remembered
    def _single(self) -> Gram:
        return Gram(self.kernel, self.samples.astype(np.float32), self.budget, lasting=self.lasting)

    def _positions(self, index: Any) -> NDArray[np.int64]:
        if isinstance(index, slice):
            return np.arange(len(self))[index]
        which = np.atleast_1d(np.asarray(in_memory(index, "index")))
        if which.dtype == bool and which.shape == (len(self),):
            return np.flatnonzero(which)
        if which.ndim != 1 or (which.size and which.dtype.kind not in "iu"):
            raise TypeError(
                f"rows are chosen by a slice, by integers or by a mask of {len(self)} booleans, not {index!r}"
            )
        which = which.astype(np.int64)
        if which.size and (which.min() < -len(self) or which.max() >= len(self)):
            raise IndexError(f"positions must lie in 0 .. {len(self) - 1}, but got {which.min()} .. {which.max()}")
        return np.where(which < 0, which + len(self), which)

    def __getstate__(self) -> dict[str, Any]:
        """What the matrix is made of, for pickle and copies: its rows are computed again when they are wanted."""
        names = ("kernel", "samples", "budget", "lasting", "given", "reduced_from")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Gram.__init__(self, state["kernel"], state["samples"], state["budget"], lasting=state["lasting"])
        self.given, self.reduced_from = state["given"], state["reduced_from"]
        if self.reduced_from is not None:
            self.pairs = self.reduced_from.gram(self.kernel).pairs

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, {len(self)} samples, {self.dtype})"
