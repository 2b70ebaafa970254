"""What classifiers share that learn on-line: labels, passes over the data until one is without mistakes, and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length

from mercer.gram import Gram
from mercer.machines.base import tell, warn_caller
from mercer.machines.fit import Fit, Fitted, InputFeatures, fit_of, view
from mercer.machines.labels import checked_labels
from mercer.machines.targets import Classifier
from mercer.samples.base import Array
from mercer.solvers.operator import Positions
from mercer.solvers.perceptron import Classification
from mercer.solvers.smo import SolverInterrupted


@dataclass(frozen=True, eq=False)
class PosedPasses:
    """What is to be learned; ``learn`` makes one pass over rows in an order, and returns the mistakes of each output.

    ``learner`` changes as it learns. ``samples`` are what the examples are labels of.
    """

    features: InputFeatures
    classes: Array
    samples: Any
    examples: Classification
    learner: Any
    learn: Callable[[Positions], Positions]
    gram: Gram | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineFit(Fit):
    """Functions that were learned from mistakes."""

    classes: Array
    #: The mistakes of every pass, those of all outputs together.
    mistakes: Positions
    radius: float

    @property
    def n_iter(self) -> int:
        return len(self.mistakes)


class OnlineClassifier(Fitted, Classifier, CallbackSupportMixin):  # type: ignore[misc]
    """A classifier that learns from one example at a time, and counts its mistakes in every pass."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    mistakes_, n_iter_, classes_, radius_ = view(), view(), view(), view()

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> PosedPasses:
        """What is to be learned, and what learns it."""
        raise NotImplementedError

    def _keep(self, posed: PosedPasses, mistakes: list[int]) -> OnlineFit:
        """What has been learned."""
        raise NotImplementedError

    def _continued(self, last: Any, classes: Array, X: Any, y: Any, sample_weight: Any) -> OnlineFit:
        """What has been learned after one pass over more data, by whom the last parts have taught, if any have."""
        raise NotImplementedError

    def _warn(self, posed: PosedPasses, fit: Any) -> None:
        """Whatever is to be said of the kernel."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from samples X with labels y, pass after pass, until one is without mistakes.

        ``sample_weight`` multiplies the step that a mistake on the sample makes; samples of weight 0 are left out.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        context = self._init_callback_context(max_subtasks=self.max_iter)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        posed = self._pose(X, y, sample_weight)
        mistakes: list[int] = []
        try:
            self._epochs(posed, mistakes, context)
        except KeyboardInterrupt as interrupt:
            self._fit = self._keep(posed, mistakes)  # what was learned by then
            raise SolverInterrupted([]) from interrupt
        fit = self._keep(posed, mistakes)
        self._warn(posed, fit)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _takes_parts(self) -> bool:
        """Whether samples may come in parts."""
        return True

    @available_if(lambda machine: machine._takes_parts())  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from more samples, in one pass; the first call needs the list of all ``classes`` that may come."""
        last = self._fit
        known = SimpleNamespace(classes_=None if last is None else last.classes)
        _check_partial_fit_first_call(known, classes)
        more_than_one(known.classes_)
        fit = self._continued(last, known.classes_, X, y, sample_weight)
        tell(self, None, "pass", line(fit.mistakes), {})
        self._fit = fit
        return self

    def _epochs(self, posed: PosedPasses, mistakes: list[int], context: Any) -> None:
        """Pass after pass, until one is without mistakes."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        rows = len(posed.examples.label)
        for _ in range(self.max_iter):
            order = random.permutation(rows) if self.shuffle else np.arange(rows)
            mistakes.append(int(posed.learn(order.astype(np.int64)).sum()))
            stop = tell(self, context, "pass", line(mistakes), {"mistakes": mistakes[-1]})
            if stop or not mistakes[-1]:
                return
        warn_caller(
            f"{type(self).__name__} stopped after {self.max_iter} passes (max_iter) with {mistakes[-1]} mistakes "
            "in the last: the classes may not be separable, and then it never ends. More passes, another kernel, or a "
            "machine for classes that overlap (SVC, LinearSVC) may do better.",
            ConvergenceWarning,
        )

    def decision_function(self, X: Any) -> Array:
        """The value f(x) of every sample: positive for the second of two classes; of more, one column per class."""
        return self._decided(fit_of(self), X)

    def _decided(self, fit: Any, X: Any) -> Array:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The class of every sample: by the sign, or the largest, of the values of ``decision_function``."""
        fit = fit_of(self)
        values = self._decided(fit, X)
        return np.asarray(fit.classes.take(values > 0 if values.ndim == 1 else values.argmax(axis=1)))


def codes_of(labels: Any, samples: int, classes: Array | None = None) -> tuple[Array, Positions]:
    """The classes, which may be given, and the number of every label's class."""
    labels = checked_labels(labels)
    check_consistent_length(labels, range(samples))
    if classes is None:
        classes, codes = np.unique(labels, return_inverse=True)
        more_than_one(classes)
        return classes, codes.astype(np.int64)
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if (classes[codes] != labels).any():
        strange = np.setdiff1d(labels, classes)
        raise ValueError(f"y holds {strange[:3].tolist()}, not among the classes {classes.tolist()} named first")
    return classes, codes.astype(np.int64)


def more_than_one(classes: Array) -> None:
    """Refuses a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"The number of classes of samples with a weight has to be greater than one; got {len(classes)} class"
        )


def line(mistakes: Sequence[int] | Array) -> str:
    """How the last pass went, for people."""
    return f"pass {len(mistakes)}: {mistakes[-1]} mistakes"
