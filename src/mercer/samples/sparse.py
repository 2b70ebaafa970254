"""Sparse vectors: compressed rows with sorted, distinct columns and no stored zeros."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _native
from mercer.samples.base import Array, Columns, Samples, positions, squared_deviations
from mercer.samples.vectors import Vectors

#: Entries that are counted together.
PART = 2**18


class SparseVectors(Samples):
    """Rows of a SciPy CSR array or matrix. Made by ``as_samples``, which has checked it.

    >>> from mercer.samples import as_samples
    >>> x = as_samples(sp.csr_array([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]]))
    >>> x.width, x.dtype.name, x.array.nnz
    (3, 'float64', 2)
    """

    kind = "sparse vectors"
    numeric = True

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @property
    def width(self) -> int:
        return int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        return int(self.array.data.nbytes + self.array.indices.nbytes + self.array.indptr.nbytes)

    def astype(self, dtype: Any) -> SparseVectors:
        return self if self.dtype == dtype else SparseVectors(self.array.astype(dtype))

    def counts(self) -> dict[str, int]:
        return {**super().counts(), "entries": int(self.array.nnz)}

    def take(self, index: NDArray[np.int64]) -> SparseVectors:
        return SparseVectors(self.array[index])

    def joined(self, other: Samples) -> Samples:
        if isinstance(other, SparseVectors) and other.width == self.width:
            return SparseVectors(sp.vstack([self.array, other.array], format="csr"))
        return super().joined(other)

    def select(self, columns: Columns) -> SparseVectors:
        chosen = self.array[:, positions(columns, None, self.width)].tocsr()
        chosen.sort_indices()
        return SparseVectors(chosen)

    def named(self, names: Sequence[str] | None = None) -> Samples:
        """One of them, with names: names ask for no more."""
        return Vectors(self.take(np.arange(1)).dense()).named(names)

    def dense(self) -> Array:
        return np.asarray(self.array.toarray())

    def map(self, function: Any) -> SparseVectors:
        """Vectors of the function's values; the function must send zero to zero."""
        result = self.array.copy()
        result.data = function(result.data)
        return SparseVectors(result)

    def norms(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self.squares()))

    def peaks(self) -> NDArray[np.float64]:
        return np.asarray(abs(self.array).max(axis=1).toarray(), dtype=np.float64).ravel()

    def squares(
        self, shift: NDArray[np.float64] | None = None, scale: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """As of dense vectors, but without the shift, which would leave no zeros."""
        out = np.empty(len(self))
        _native.squares(self.rows(), out, None, scale)
        return out

    def totals(self) -> NDArray[np.float64]:
        return np.asarray(self.array.sum(axis=1, dtype=np.float64)).ravel()

    def divided(self, lengths: NDArray[np.float64]) -> SparseVectors:
        result = self.array.copy()
        by = np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(result.indptr))
        result.data = (result.data / by).astype(self.dtype, copy=False)
        return SparseVectors(result)

    def multiplied(self, factors: NDArray[np.float64]) -> SparseVectors:
        """The rows multiplied by these numbers."""
        a = self.array
        data = (a.data * np.repeat(factors, np.diff(a.indptr))).astype(self.dtype, copy=False)
        return SparseVectors(type(a)((data, a.indices, a.indptr), shape=a.shape))

    def beside(self, others: Sequence[SparseVectors]) -> SparseVectors:
        """Vectors that begin with these coordinates and go on with those of others."""
        blocks: Any = [self.array, *(other.array for other in others)]
        return SparseVectors(sp.hstack(blocks, format="csr"))

    def centre(self) -> NDArray[np.float64]:
        sums, stored = np.zeros(self.width), np.zeros(self.width, dtype=np.int64)
        step = max(PART, self.width)
        for first in range(0, self.array.data.size, step):  # as NumPy and SciPy copy what they count or add up
            indices = self.array.indices[first : first + step]
            sums += np.bincount(indices, self.array.data[first : first + step], self.width)
            stored += np.bincount(indices, minlength=self.width)
        return np.where(2 * stored < len(self), 0.0, sums / len(self))

    def variance(self) -> float:
        entries = len(self) * self.width
        mean = float(self.array.data.sum(dtype=np.float64)) / entries
        stored = squared_deviations(self.array.data, mean)
        return float((stored + (entries - self.array.data.size) * mean**2) / entries)

    def lowest(self) -> float:
        return float(min(self.array.data.min(initial=0.0), 0.0))

    def rows(self) -> _native.VectorsF32 | _native.VectorsF64:
        a = self.array
        indices, indptr = a.indices.astype(np.int32, copy=False), a.indptr.astype(np.int64, copy=False)
        rows: _native.VectorsF32 | _native.VectorsF64 = _native.sparse_rows(a.data, indices, indptr, self.width)
        return rows

    def fingerprint(self) -> Hashable:
        a = self.array
        return a.shape, self.dtype.str, a.data.tobytes(), a.indices.tobytes(), a.indptr.tobytes()
