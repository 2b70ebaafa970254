"""The problems of two classes that a fitted classifier decides, read the same way from every machine.

Margins and support vectors belong to a hyperplane between two classes; a machine of several classes has several.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.solvers.certificate import Witness
from mercer.solvers.convexity import first_refuted


@dataclass(frozen=True)
class Contest:
    """A hyperplane's two sides: f is positive for one class, negative for another or, if None, for the rest."""

    positive: Any
    negative: Any = None

    def signs(self, y: Array) -> Vector:
        """1 and -1 for the samples of the two sides, 0 for samples that take no part."""
        rest = y != self.positive if self.negative is None else y == self.negative
        return np.where(y == self.positive, 1.0, np.where(rest, -1.0, 0.0))

    def __str__(self) -> str:
        return f"{self.positive} against {'the rest' if self.negative is None else self.negative}"


def contests_of(model: Any) -> tuple[Contest, ...]:
    """One per output of the model's expansion, or row of its weights.

    >>> from mercer import SVC
    >>> [str(contest) for contest in contests_of(SVC().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]))]
    ['a against b', 'a against c', 'b against c']
    """
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} tells no classes apart, so it has no margins; give a classifier")
    classes = model.classes_.tolist()
    if len(classes) == 2:
        return (Contest(classes[1], classes[0]),)
    if getattr(getattr(model, "_fit", None), "by_pairs", False):
        return tuple(Contest(i, j) for i, j in combinations(classes, 2))
    return tuple(Contest(c) for c in classes)


def columns(a: Any) -> Vector:
    """One column per contest, also of one."""
    array = np.asarray(a, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def witness_against(model: Any) -> Witness | None:
    """What is known to show that the model's kernel is not positive semi-definite, so that |w| is no length.

    Its solver may have come across it; of a model without certificates, a'Ka of its own function may be it.

    >>> from mercer import SVC
    >>> witness_against(SVC().fit([[0.0], [1.0]], [0, 1])) is None
    True
    """
    if not hasattr(model, "expansion_"):
        return None
    if (found := getattr(model, "certificate_", None)) is not None:
        certificate = first_refuted(found if isinstance(found, tuple) else (found,))
        return None if certificate is None else certificate.witness
    if not np.isnan(model.expansion_.norm()).any():
        return None
    return Witness(float(np.min(model.expansion_.energy()[0])))
