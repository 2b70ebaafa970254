"""Targets and weights of samples: one for each sample, or scikit-learn's words where they are not."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight

from mercer.machines.base import warn_caller
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.samples.door import in_memory


class Classifier(ClassifierMixin):  # type: ignore[misc]
    """A machine that tells classes apart."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples for which ``predict`` gives the class y, by their weights."""
        return float(super().score(X, in_memory(y, "y"), in_memory(sample_weight, "sample_weight")))


class Regressor(RegressorMixin):  # type: ignore[misc]
    """A machine that finds numbers."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of ``predict``: 1 less its squared error over that of the mean of y; 1 is best, a constant has 0."""
        return float(super().score(X, in_memory(y, "y"), in_memory(sample_weight, "sample_weight")))


def column(y: Any) -> Array:
    """Targets as a one-dimensional array; where they are one, scikit-learn's check, 0.1 ms long, has nothing to say."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "fiubU"
    return y if plain else np.asarray(column_or_1d(in_memory(y, "y"), warn=True))


def one_each(target: Array, samples: int) -> Array:
    """The targets, if there is one for each sample."""
    if len(target) != samples:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{samples}, {len(target)}]")
    return target


def spread(sample_weight: Any, n: int) -> Any:
    """A number as the weight of each of n samples; anything else as it is.

    >>> spread(2, 3)
    array([2., 2., 2.])
    """
    number = isinstance(sample_weight, Real) or (isinstance(sample_weight, np.ndarray) and not sample_weight.ndim)
    return np.full(n, float(sample_weight)) if number else sample_weight


def priced(C: float, weight: Vector) -> Vector:
    """C times the weights, which is infinite only where one of them is.

    >>> priced(2.0, np.array([3.0, np.inf]))
    array([ 6., inf])
    """
    with np.errstate(over="ignore"):
        cost: Vector = C * weight
    if np.isinf(cost[np.isfinite(weight)]).any() and np.isfinite(C):
        raise ValueError(f"C={C:g} times a weight of {weight[np.isfinite(weight)].max():g} is beyond float64")
    return cost


def positive_weights(sample_weight: Any, n: int) -> Vector:
    """One weight per sample. Those that are not positive drop their sample, negative ones with a warning."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(spread(in_memory(sample_weight, "sample_weight"), n), dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weight.shape} vs {n} samples; each sample needs one weight"
        )
    if not np.isfinite(weight).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    if not (weight > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if (weight < 0).any():
        warn_caller(
            f"{int((weight < 0).sum())} samples have a negative weight and are left out, as if it were zero",
            UserWarning,
        )
    return weight


def weights_at_least_zero(sample_weight: Any, samples: Any) -> Vector:
    """One weight per sample, by scikit-learn's check; a negative one is refused.

    >>> weights_at_least_zero(None, np.zeros(2))
    array([1., 1.])
    """
    weight = in_memory(sample_weight, "sample_weight")
    return np.asarray(_check_sample_weight(weight, samples, dtype=np.float64, ensure_non_negative=True))
