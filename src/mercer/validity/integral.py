"""Mercer's condition itself, the double integral of k(x, z) g(x) g(z) >= 0 for every g, checked by quadrature.

Samples can only show what a kernel does to them; on a box of a few dimensions the condition can be checked as stated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.leaf import integer
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.shown import Shown
from mercer.validity.spectrum import (
    DENSE_SAMPLES,
    Float,
    checked_kernel,
    checked_tolerance,
    dense_ends,
    evaluated,
    tolerance,
)

#: Nodes along each axis of a box of one, two or three dimensions, unless given.
NODES = (200, 40, 12)


@dataclass(frozen=True, eq=False)
class IntegralCondition(Shown):
    """What ``integral_condition`` found; ``print`` it.

    >>> from mercer.kernels import Linear
    >>> print(integral_condition(-1 * Linear(), (0, 1)))
    Mercer's condition FAILS for -1 * Linear() on 200 nodes: the integral lies between -0.333 and ...
    """

    kernel: Kernel
    #: The quadrature: points of the box, one per row, and their weights.
    nodes: Float = field(repr=False)
    weights: Float = field(repr=False)
    #: The smallest and largest values of the double integral over all g with integral of g^2 = 1.
    smallest: float
    largest: float
    #: The g of the smallest value, at the nodes.
    g: Float = field(repr=False)
    tolerance: float

    @property
    def satisfied(self) -> bool:
        """Whether the smallest value is not negative, up to ``tolerance`` times the largest in magnitude."""
        return self.smallest >= -self.tolerance * max(abs(self.smallest), abs(self.largest))

    def __str__(self) -> str:
        verdict = "holds" if self.satisfied else "FAILS"
        return (
            f"Mercer's condition {verdict} for {self.kernel} on {len(self.nodes)} nodes: "
            f"the integral lies between {self.smallest:.3g} and {self.largest:.3g}"
        )


def integral_condition(k: Kernel, box: Any, nodes: int | None = None, *, tol: float | None = None) -> IntegralCondition:
    """Whether the integral of k(x, z) g(x) g(z) over x and z in a box is >= 0 for every g.

    With Gauss-Legendre nodes and weights W, the least value over g with integral of g^2 = 1 is the smallest
    eigenvalue of W^(1/2) K W^(1/2), met by g = W^(-1/2) u. The box is (low, high), or one such pair for each of up to
    three dimensions; ``nodes`` counts those along one axis, at most 2000 in all. A condition that holds on the nodes
    may still fail between them; one that fails, clearly below the error of the quadrature, fails.

    >>> from mercer.kernels import Gaussian, Sigmoid
    >>> integral_condition(Gaussian(1), (-2, 2)).satisfied
    True
    >>> integral_condition(Sigmoid(1.0, c=-1.0), (-2, 2)).satisfied
    False
    """
    checked_kernel(k)
    points, weights = _product_rule(_checked_box(box), nodes)
    k = k.resolve(points)
    K = evaluated(k, k.samples(points))
    root = np.sqrt(weights)
    ends, _ = dense_ends((K + K.T) / 2 * root[:, None] * root)
    tol = tolerance(len(points), np.float64) if tol is None else checked_tolerance(tol)
    return IntegralCondition(k, points, weights, ends.smallest, ends.largest, ends.direction / root, tol)


def _checked_box(box: Any) -> Float:
    sides = np.atleast_2d(np.asarray(in_memory(box, "box"), dtype=np.float64))
    if sides.ndim != 2 or sides.shape[1] != 2 or not np.isfinite(sides).all() or (sides[:, 0] >= sides[:, 1]).any():
        raise ValueError(
            f"a box is (low, high) with low < high, or a list of such pairs, one per dimension; not {box!r}"
        )
    if len(sides) > len(NODES):
        raise ValueError(
            f"quadrature is for boxes of up to {len(NODES)} dimensions but got {len(sides)}; "
            "use check_kernel on samples of the box"
        )
    return sides


def _product_rule(sides: Float, nodes: int | None) -> tuple[Float, Float]:
    d = len(sides)
    count = integer("nodes", NODES[d - 1] if nodes is None else nodes, 1)
    if count**d > DENSE_SAMPLES:
        raise ValueError(
            f"{count} nodes per axis make {count**d} in {d} dimensions, more than {DENSE_SAMPLES}; give fewer"
        )
    t, w = np.polynomial.legendre.leggauss(count)
    axes = [low + (high - low) * (t + 1) / 2 for low, high in sides]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    weights: Array = np.ones(1)
    for low, high in sides:
        weights = np.outer(weights, w * (high - low) / 2).ravel()
    return points, weights
