"""The matrix of all samples in memory, and the matrices of some of them, which are cut out of it.

The splits of a validation train on overlapping samples, so that most entries would be computed once for each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples.base import Array
from mercer.solvers.operator import DerivedOperator, Operator, Positions


class WholeMatrix:
    """The entries of a Gram matrix, held in its own precision and, once they are asked for, in float64.

    >>> from mercer.kernels import Linear
    >>> whole = WholeMatrix(Linear().gram(np.array([[1.0], [2.0], [3.0]])))
    >>> whole.of(np.array([0, 2])).to_dense()
    array([[1., 3.],
           [3., 9.]])
    """

    def __init__(self, gram: Gram) -> None:
        gram.check_finite()
        self.gram = gram

    def __len__(self) -> int:
        return len(self.gram)

    @remembered
    def entries(self) -> Array:
        return self.gram.to_dense()

    @remembered
    def exact(self) -> Vector:
        """The entries in float64."""
        return self.entries if self.gram.dtype == np.float64 else self.gram.exact.to_dense()

    def of(self, rows: Positions, *, exact: bool = False) -> Submatrix:
        """The matrix of these samples, in float64 or in the precision of the whole."""
        return Submatrix(self, rows, exact=exact or self.gram.dtype == np.float64)


class Submatrix(DerivedOperator):
    """The matrix of some samples as solvers meet it; its entries are copied once they are asked for."""

    def __init__(self, whole: WholeMatrix, rows: Positions, *, exact: bool) -> None:
        self.whole, self.rows, self.double = whole, rows, exact
        self.budget = whole.gram.budget

    @remembered
    def inner(self) -> Operator:
        """The Gram matrix of these samples, which knows them and their kernel."""
        own = self.whole.gram.ordered(self.rows)
        return own.exact if self.double else own

    @remembered
    def entries(self) -> Array:
        return self.to_dense()

    @property
    def kernel(self) -> Kernel:
        return self.whole.gram.kernel

    @property
    def given(self) -> np.dtype[Any]:
        return self.whole.gram.given

    def check_finite(self) -> None:
        """The whole has been looked at."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64) if self.double else self.whole.gram.dtype

    def __len__(self) -> int:
        return len(self.rows)

    def diag(self) -> Array:
        matrix = self.whole.exact if self.double else self.whole.entries
        return matrix[self.rows, self.rows]

    def block(self, rows: Any, columns: Any) -> Array:
        if not (isinstance(rows, slice) or isinstance(columns, slice)):
            rows = np.asarray(rows)[:, None]
        return np.asarray(self.entries[rows, columns])

    def to_dense(self) -> Array:
        matrix = self.whole.exact if self.double else self.whole.entries
        return matrix[np.ix_(self.rows, self.rows)]

    def __matmul__(self, V: Any) -> Array:
        return np.asarray(self.entries @ V)

    def ordered(self, order: Positions | None) -> Submatrix:
        return self if order is None else Submatrix(self.whole, self.rows[order], exact=self.double)

    @property
    def exact(self) -> Submatrix:
        return self if self.double else Submatrix(self.whole, self.rows, exact=True)

    @property
    def single(self) -> Submatrix:
        return self

    def held(self) -> Submatrix:
        return self
