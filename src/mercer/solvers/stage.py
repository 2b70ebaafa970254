"""The matrix as a descent uses it for a while: in one precision, held if it fits, with functions learned in batches.

A descent of many rows begins in float32 and may end in float64; what one stage holds is gone when the next begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import costs
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.solvers.operator import Operator, Positions, product


class DescentStage:
    """The matrix in the precision in which some of a descent is done: ``source``, held from its first product on.

    ``given`` is the same as it was given.
    """

    def __init__(self, given: Operator, source: Operator) -> None:
        self.given, self.source = given, source

    @remembered
    def matrix(self) -> Operator:
        return self.source.held()

    @property
    def left(self) -> int:
        """Bytes of the budget that are left."""
        kept = 0 if self.matrix is self.source else len(self.source) ** 2 * self.source.dtype.itemsize
        return self.given.budget - kept

    @property
    def precise(self) -> bool:
        return bool(self.source.dtype == np.float64)

    @property
    def diagonal(self) -> Vector:
        return self.source.diag().astype(np.float64)

    def product(self, v: Vector) -> Vector:
        """K v in the precision of the stage."""
        return product(self.matrix, v)

    def exact(self, v: Vector) -> Vector:
        """K v in float64."""
        return np.asarray((self.matrix if self.precise else self.given.exact) @ v)

    def learned(self, a: Vector) -> ByCoefficients | ByWeights:
        """The function of these coefficients, to be learned in batches."""
        Z = self.source.factor
        return ByCoefficients(self.matrix, a) if Z is None else ByWeights(Z, a)


def rough(K: Operator) -> Operator:
    """The operator in float32, where that gains time."""
    return K.single if len(K) >= costs.SINGLE_ROWS else K


class ByCoefficients:
    """Functions that are learned in batches, by their coefficients: the dual."""

    def __init__(self, K: Operator, a: Vector) -> None:
        self.K, self.a = K, a.copy()

    def move(self, rows: Positions, change: Vector) -> None:
        """Adds to the coefficients of these rows."""
        self.a[rows] += change

    def at(self, rows: Positions) -> Vector:
        """The values of f at these rows."""
        return np.asarray(self.K.block(rows, slice(None)) @ self.a)


class ByWeights:
    """The same by the weights theta = Z'a of a matrix that has a factor Z: the primal."""

    def __init__(self, Z: Any, a: Vector) -> None:
        self.Z, self.theta = Z, np.asarray(Z.T @ a)

    def move(self, rows: Positions, change: Vector) -> None:
        self.theta += self.Z[rows].T @ change

    def at(self, rows: Positions) -> Vector:
        return np.asarray(self.Z[rows] @ self.theta)
