"""What a machine that was never made says at the rows of a split: all that predictions and scores are made of."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.solvers import Certificate


@dataclass(frozen=True, eq=False)
class HeldOutValues:
    """The values of the fitted function, or functions, at the test rows, and at the training rows if asked for.

    They have the shape that ``predict`` of a regression and ``decision_function`` of a classifier return. Of several
    targets there is a certificate each. ``classes`` are the labels that a classifier found among its training rows.
    """

    test: Vector
    train: Vector | None
    certificate: Certificate | tuple[Certificate, ...]
    classes: Array | None = None
