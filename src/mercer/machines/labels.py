"""What machines for classes share: labels, and their weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from mercer.machines.fit import view
from mercer.machines.support import SupportMachine
from mercer.machines.support_fit import LabelledFit, SupportFit
from mercer.machines.targets import Classifier, column, one_each, spread
from mercer.machines.training import Combined, Positions, Targets, Training
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.solvers import Solution


class LabelledMachine(Classifier, SupportMachine):
    """A machine whose targets are labels of classes, which may have weights."""

    #: Whether these weights have an effect.
    _weighs_classes: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    _keeps: ClassVar[type[SupportFit]] = LabelledFit
    classes_, class_weight_ = view(), view()

    def _targets(self, y: Any, samples: int) -> Targets:
        labels = one_each(checked_labels(y), samples)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        if 2 * len(classes) > samples:
            check_classification_targets(labels)  # which warns of numbers that may not be meant as labels
        class_weight = np.ones(len(classes))
        if self.class_weight is not None:
            factors = class_factors if self._weighs_classes else given_factors
            class_weight = factors(self.class_weight, classes, labels)
            if self._weighs_classes and not class_weight.all():
                self._refuse_lost_classes(classes, np.flatnonzero(class_weight))
        return Targets(codes.astype(np.int64, copy=False), classes, class_weight)

    def _arranged(self, targets: Targets, weight: Vector) -> Positions:
        assert targets.classes is not None
        used = np.flatnonzero(weight > 0)
        left = np.unique(targets.value[used]) if len(used) < len(weight) else range(len(targets.classes))
        if len(left) < len(targets.classes):
            self._refuse_lost_classes(targets.classes, left)
        return used

    def _combined(self, training: Training, problems: list[Any], solutions: list[Solution]) -> Combined:
        combined = self._functions(training, problems, solutions)
        combined.facts.update(classes=training.classes, class_weight=training.class_weight)
        return combined

    def _functions(self, training: Training, problems: list[Any], solutions: list[Solution]) -> Combined:
        """All solutions as one function with an output for each."""
        raise NotImplementedError

    def _support(self, training: Training, nonzero: Positions) -> tuple[Positions, Array]:
        of = training.target[nonzero]
        counts = np.bincount(of, minlength=len(training.classes)).astype(np.int32)
        return nonzero[np.argsort(of, kind="stable")], counts

    def _refuse_lost_classes(self, classes: Array, left: Any) -> None:
        raise lost_classes(classes, left)


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
