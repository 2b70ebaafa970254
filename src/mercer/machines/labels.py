"""What machines for classes share: labels, and their weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from mercer.machines.support import SupportMachine
from mercer.machines.targets import column, one_each, spread
from mercer.machines.training import Positions, Training
from mercer.problem import Vector
from mercer.samples.base import Array


class LabelledMachine(ClassifierMixin, SupportMachine):  # type: ignore[misc]
    """A machine whose targets are labels of classes, which may have weights."""

    #: Whether these weights have an effect.
    _weighs_classes: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _targets(self, y: Any, samples: int) -> Array:
        labels = one_each(checked_labels(y), samples)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
        if 2 * len(self.classes_) > samples:
            check_classification_targets(labels)  # which warns of numbers that may not be meant as labels
        self.class_weight_ = np.ones(len(self.classes_))
        if self.class_weight is not None:
            factors = class_factors if self._weighs_classes else given_factors
            self.class_weight_ = factors(self.class_weight, self.classes_, labels)
            if self._weighs_classes and not self.class_weight_.all():
                self._refuse_lost_classes(np.flatnonzero(self.class_weight_))
        return codes.astype(np.int64, copy=False)

    def _arranged(self, target: Array, weight: Vector) -> Positions:
        used = np.flatnonzero(weight > 0)
        left = np.unique(target[used]) if len(used) < len(weight) else range(len(self.classes_))
        if len(left) < len(self.classes_):
            self._refuse_lost_classes(left)
        return used

    def _support(self, training: Training, nonzero: Positions) -> Positions:
        classes = training.target[nonzero]
        self.n_support_ = np.bincount(classes, minlength=len(self.classes_)).astype(np.int32)
        self._first_support = np.cumsum(self.n_support_) - self.n_support_
        return nonzero[np.argsort(classes, kind="stable")]

    def _refuse_lost_classes(self, left: Any) -> None:
        raise lost_classes(self.classes_, left)


def checked_labels(y: Any) -> Array:
    """Labels of any kind as a finite one-dimensional array."""
    labels = column(y)
    if labels.dtype.kind not in "iubU":
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    return labels


def lost_classes(classes: Array, left: Any) -> ValueError:
    """In scikit-learn's words, if one class is left of all; ``left`` are positions."""
    if len(left) == 1:
        return ValueError("Invalid input - all samples with positive weights belong to the same class.")
    lost = np.delete(classes, left)
    return ValueError(f"Invalid input - no sample of class {', '.join(map(str, lost))} has a positive weight.")


def given_factors(class_weight: Any, classes: Array, labels: Array, sample_weight: Any = None) -> Vector:
    """The factors, one per class, that the parameter ``class_weight`` names, whatever they are."""
    weight = spread(sample_weight, len(labels))
    with np.errstate(divide="ignore"):  # a class without weight has no use for its factor
        factors: Vector = compute_class_weight(class_weight, classes=classes, y=labels, sample_weight=weight)
    return factors


def class_factors(class_weight: Any, classes: Array, labels: Array, sample_weight: Any = None) -> Vector:
    """The same as factors of C, of which none is negative.

    >>> class_factors({"b": 3}, np.array(["a", "b"]), np.array(["a", "b", "b"]))
    array([1., 3.])
    """
    factors = given_factors(class_weight, classes, labels, sample_weight)
    if not (factors >= 0).all():
        wrong = int(np.argmin(factors >= 0))
        raise ValueError(
            f"class_weight must be at least 0 for every class, not {factors[wrong]} for {classes.tolist()[wrong]!r}"
        )
    return factors
