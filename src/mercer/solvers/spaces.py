"""How functions of a kernel's space are kept while they are learned step by step: by coefficients, or by weights.

Where k has an explicit map phi, f = sum_i a_i k(x_i, .) is theta'phi with theta = sum_i a_i phi(x_i): the same function
in the dual and in the primal. A descent needs no more of either than the steps below.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.kernels.leaf import vectors
from mercer.problem import Vector
from mercer.samples import as_samples

Positions = NDArray[np.int64]


class Space(Protocol):
    """How functions of the kernel's space are kept while they are learned in batches, and multiplied with K."""

    def __len__(self) -> int: ...
    def product(self, v: Vector) -> Vector:
        """K v."""

    def exact(self, v: Vector) -> Vector:
        """K v in float64."""

    def diag(self) -> Vector:
        """k(x, x) of every row."""

    def rounding(self) -> float:
        """What rounding may add to e'Ke, for |e| = 1."""

    def begin(self, outputs: int) -> None:
        """Sets f to zero."""

    def move(self, rows: Positions, change: Vector) -> None:
        """Adds to the coefficients of these rows."""

    def at(self, rows: Positions) -> Vector:
        """The values of f at these rows."""


class Coefficients:
    """Functions by their coefficients, one per row of a Gram matrix: the dual. The matrix is kept if it fits."""

    def __init__(self, gram: Gram) -> None:
        self.given = gram
        self.gram = gram.held()
        #: Bytes of the budget that are left.
        self.left = gram.budget - (0 if self.gram is gram else len(gram) ** 2 * gram.dtype.itemsize)

    def __len__(self) -> int:
        return len(self.gram)

    def product(self, v: Vector) -> Vector:
        return np.asarray(self.gram @ v)

    def exact(self, v: Vector) -> Vector:
        return np.asarray((self.gram if self.gram.dtype == np.float64 else self.given.exact) @ v)

    def diag(self) -> Vector:
        return self.gram.diag().astype(np.float64)

    def rounding(self) -> float:
        return rounding(self.gram.dtype, self.diag())

    def begin(self, outputs: int) -> None:
        self.a = np.zeros((len(self), outputs))

    def move(self, rows: Positions, change: Vector) -> None:
        self.a[rows] += change

    def at(self, rows: Positions) -> Vector:
        return np.asarray(self.gram.pairs.block(rows, slice(0, len(self))) @ self.a)


class Features:
    """Functions by their weights theta, one per column of an explicit map of the rows, dense or CSR: the primal."""

    def __init__(self, phi: Any) -> None:
        self.phi = phi.astype(np.float64, copy=False)

    def __len__(self) -> int:
        return int(self.phi.shape[0])

    def weights(self, v: Vector) -> Vector:
        """theta of the function with these coefficients."""
        return np.asarray(self.phi.T @ v)

    def product(self, v: Vector) -> Vector:
        return np.asarray(self.phi @ self.weights(v))

    def exact(self, v: Vector) -> Vector:
        return self.product(v)

    def diag(self) -> Vector:
        return np.asarray(vectors(as_samples(self.phi)).squares(), dtype=np.float64)

    def rounding(self) -> float:
        return rounding(self.phi.dtype, self.diag())

    def begin(self, outputs: int) -> None:
        self.theta = np.zeros((self.phi.shape[1], outputs))

    def move(self, rows: Positions, change: Vector) -> None:
        self.theta += self.phi[rows].T @ change

    def at(self, rows: Positions) -> Vector:
        return np.asarray(self.phi[rows] @ self.theta)


def rounding(dtype: Any, diagonal: Vector) -> float:
    """The rounding of e'Ke, for |e| = 1: K is at most its trace."""
    return 4 * float(np.finfo(dtype).eps) * float(np.abs(diagonal).sum())
