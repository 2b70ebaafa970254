"""What classifiers share that learn on-line: labels, passes over the data until one is without mistakes, and parts."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer.machines.base import tell, warn_caller
from mercer.machines.labels import checked_labels
from mercer.machines.refit import Refittable
from mercer.machines.targets import weights_at_least_zero
from mercer.samples.base import Array
from mercer.solvers.operator import Positions
from mercer.solvers.smo import SolverInterrupted


class OnlineClassifier(Refittable, ClassifierMixin, CallbackSupportMixin):  # type: ignore[misc]
    """A classifier that learns from one example at a time, and counts its mistakes in every pass."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        raise NotImplementedError

    def _continue(self, X: Any, y: Any, sample_weight: Any, first: bool) -> int:
        """One pass over more data; returns the mistakes."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from samples X with labels y, pass after pass, until one is without mistakes.

        ``sample_weight`` multiplies the step that a mistake on the sample makes; samples of weight 0 are left out.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        return self._fit(X, y, sample_weight)

    def _takes_parts(self) -> bool:
        """Whether samples may come in parts."""
        return True

    @available_if(lambda machine: machine._takes_parts())  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from more samples, in one pass; the first call needs the list of all ``classes`` that may come."""
        _check_partial_fit_first_call(self, classes)
        self._more_than_one(self.classes_)
        first = not hasattr(self, "n_iter_")
        mistakes = self._continue(X, y, sample_weight, first)
        if first:
            self._mistakes: list[int] = []
        self._mistakes.append(mistakes)
        self.n_iter_ = len(self._mistakes)
        tell(self, None, "pass", self._line(), {})
        return self

    @property
    def mistakes_(self) -> Positions:
        """The mistakes of every pass, those of all outputs together."""
        check_is_fitted(self)
        return np.array(self._mistakes, dtype=np.int64)

    def _codes(self, y: Any, samples: int, *, reset: bool) -> Positions:
        """The number of every label's class."""
        labels = checked_labels(y)
        check_consistent_length(labels, range(samples))
        if reset:
            self.classes_, codes = np.unique(labels, return_inverse=True)
            self._more_than_one(self.classes_)
            return codes.astype(np.int64)
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        if (self.classes_[codes] != labels).any():
            strange = np.setdiff1d(labels, self.classes_)
            raise ValueError(
                f"y holds {strange[:3].tolist()}, not among the classes {self.classes_.tolist()} named first"
            )
        return codes.astype(np.int64)

    def _more_than_one(self, classes: Array) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes of samples with a weight has to be greater than one; got {len(classes)} class"
            )

    def _weights(self, sample_weight: Any, codes: Positions) -> Array:
        weight = weights_at_least_zero(sample_weight, codes)
        return np.asarray(weight)

    def _epochs(self, rows: int, learn: Callable[[Positions], Positions], context: Any) -> None:
        """Pass after pass over so many rows, until one is without mistakes."""
        self._mistakes, self.n_iter_ = [], 0
        random = check_random_state(0 if self.random_state is None else self.random_state)
        try:
            for _ in range(self.max_iter):
                order = random.permutation(rows) if self.shuffle else np.arange(rows)
                self._mistakes.append(int(learn(order.astype(np.int64)).sum()))
                self.n_iter_ = len(self._mistakes)
                stop = tell(self, context, "pass", self._line(), {"mistakes": self._mistakes[-1]})
                if stop or not self._mistakes[-1]:
                    return
        except KeyboardInterrupt as interrupt:
            raise SolverInterrupted([]) from interrupt  # what was learned by then is kept
        warn_caller(
            f"{type(self).__name__} stopped after {self.max_iter} passes (max_iter) with {self._mistakes[-1]} mistakes "
            "in the last: the classes may not be separable, and then it never ends. More passes, another kernel, or a "
            "machine for classes that overlap (SVC, LinearSVC) may do better.",
            ConvergenceWarning,
        )

    def _line(self) -> str:
        return f"pass {len(self._mistakes)}: {self._mistakes[-1]} mistakes"

    def predict(self, X: Any) -> Array:
        """The class of every sample: by the sign, or the largest, of the values of ``decision_function``."""
        values = self.decision_function(X)
        return np.asarray(self.classes_.take(values > 0 if values.ndim == 1 else values.argmax(axis=1)))
