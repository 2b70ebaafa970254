"""Choosing parameters and kernels: scikit-learn's tools, in which the cells of a search share what they compute.

Each has scikit-learn's signature and answers; what is no machine of ours goes to scikit-learn's own code.
"""

from mercer.selection.bounds import LooBound, loo_bound
from mercer.selection.displays import LearningCurveDisplay, PathDisplay, ValidationSurfaceDisplay
from mercer.selection.leave_one_out import LeaveOneOut, leave_one_out
from mercer.selection.nested import nested_cross_validate
from mercer.selection.rules import one_standard_error
from mercer.selection.search import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
)
from mercer.selection.trial import Trial
from mercer.selection.trials import Trials
from mercer.selection.validation import (
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)

__all__ = [
    "GridSearchCV",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "LearningCurveDisplay",
    "LeaveOneOut",
    "LooBound",
    "PathDisplay",
    "RandomizedSearchCV",
    "Trial",
    "Trials",
    "ValidationSurfaceDisplay",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "learning_curve",
    "leave_one_out",
    "loo_bound",
    "nested_cross_validate",
    "one_standard_error",
    "permutation_test_score",
    "validation_curve",
]
