"""How functions of a kernel's space are kept while they are learned step by step: by coefficients, or by weights.

Where k has an explicit map phi, f = sum_i a_i k(x_i, .) is theta'phi with theta = sum_i a_i phi(x_i): the same function
in the dual and in the primal. A descent needs no more of either than the steps below.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.kernels.leaf import vectors
from mercer.kernels.pairs import Pairs
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import as_samples
from mercer.solvers.certificate import Certificate
from mercer.solvers.convexity import by_construction, of_columns, refuted

Positions = NDArray[np.int64]
#: Products with fewer rows are so short that float32 gains nothing.
SINGLE_ROWS = 2000


class Space(Protocol):
    """How functions of the kernel's space are kept while they are learned in batches, and multiplied with K."""

    def __len__(self) -> int: ...
    def single(self) -> Space:
        """The same with products in float32; itself, if they gain nothing."""

    def product(self, v: Vector) -> Vector:
        """K v."""

    def exact(self, v: Vector) -> Vector:
        """K v in float64."""

    @property
    def precise(self) -> bool:
        """Whether ``product`` is in float64, too."""

    def diag(self) -> Vector:
        """k(x, x) of every row."""

    def rounding(self) -> float:
        """What rounding may add to e'Ke, for |e| = 1."""

    def certified(self, certificate: Certificate, a: Vector, f: Vector) -> Certificate:
        """The certificate of coefficients a with f = K a, and what is known of convexity."""

    def begin(self, outputs: int) -> None:
        """Sets f to zero."""

    def move(self, rows: Positions, change: Vector) -> None:
        """Adds to the coefficients of these rows."""

    def at(self, rows: Positions) -> Vector:
        """The values of f at these rows."""


class Coefficients:
    """Functions by their coefficients, one per row of a Gram matrix: the dual. The matrix is kept if it fits.

    ``given`` is exact to float64; products are those of ``source``, the same or its float32.
    """

    def __init__(self, given: Gram, source: Gram | None = None) -> None:
        self.given = given
        self.source = given if source is None else source

    def single(self) -> Coefficients:
        """The same with products in float32; itself, if they gain nothing."""
        if len(self) < SINGLE_ROWS or self.given.single is self.source:
            return self
        return Coefficients(self.given, self.given.single)

    @remembered
    def gram(self) -> Gram:
        """The source, kept if it fits."""
        return self.source.held()

    @property
    def left(self) -> int:
        """Bytes of the budget that are left."""
        kept = 0 if self.gram is self.source else len(self) ** 2 * self.source.dtype.itemsize
        return self.given.budget - kept

    def __len__(self) -> int:
        return len(self.given)

    def product(self, v: Vector) -> Vector:
        return product(self.gram.pairs, v)

    @property
    def precise(self) -> bool:
        return bool(self.source.dtype == np.float64)

    def exact(self, v: Vector) -> Vector:
        return np.asarray((self.gram if self.precise else self.given.exact) @ v)

    def diag(self) -> Vector:
        return self.source.diag().astype(np.float64)

    def rounding(self) -> float:
        return rounding(self.source.dtype, self.diag())

    def certified(self, certificate: Certificate, a: Vector, f: Vector) -> Certificate:
        if by_construction(self.given.kernel, balanced=False):
            return replace(certificate, convex=True)
        return refuted(certificate, of_columns(self.given, a[:, None], f[:, None]))

    def begin(self, outputs: int) -> None:
        self.a = np.zeros((len(self), outputs))

    def move(self, rows: Positions, change: Vector) -> None:
        self.a[rows] += change

    def at(self, rows: Positions) -> Vector:
        return np.asarray(self.gram.pairs.block(rows, slice(0, len(self))) @ self.a)


def product(pairs: Pairs, v: Vector) -> Vector:
    """The matrix times v, in the precision of the matrix; v may have any size."""
    if pairs.dtype == np.float64:
        return np.asarray(pairs.product(v))
    size = float(np.abs(v).max(initial=0.0)) or 1.0
    return size * np.asarray(pairs.product((v / size).astype(pairs.dtype)), dtype=np.float64)


class Features:
    """Functions by their weights theta, one per column of an explicit map of the rows, dense or CSR: the primal."""

    def __init__(self, phi: Any) -> None:
        self.phi = phi.astype(np.float64, copy=False)

    def __len__(self) -> int:
        return int(self.phi.shape[0])

    def single(self) -> Features:
        return self

    def weights(self, v: Vector) -> Vector:
        """theta of the function with these coefficients."""
        return np.asarray(self.phi.T @ v)

    def product(self, v: Vector) -> Vector:
        return np.asarray(self.phi @ self.weights(v))

    @property
    def precise(self) -> bool:
        return True

    def exact(self, v: Vector) -> Vector:
        return self.product(v)

    def diag(self) -> Vector:
        return np.asarray(vectors(as_samples(self.phi)).squares(), dtype=np.float64)

    def rounding(self) -> float:
        return rounding(self.phi.dtype, self.diag())

    def certified(self, certificate: Certificate, a: Vector, f: Vector) -> Certificate:
        return replace(certificate, convex=True)

    def begin(self, outputs: int) -> None:
        self.theta = np.zeros((self.phi.shape[1], outputs))

    def move(self, rows: Positions, change: Vector) -> None:
        self.theta += self.phi[rows].T @ change

    def at(self, rows: Positions) -> Vector:
        return np.asarray(self.phi[rows] @ self.theta)


def rounding(dtype: Any, diagonal: Vector) -> float:
    """The rounding of e'Ke, for |e| = 1: K is at most its trace."""
    return 4 * float(np.finfo(dtype).eps) * float(np.abs(diagonal).sum())
