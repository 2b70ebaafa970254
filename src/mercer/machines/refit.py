"""Machines that one thread may fit again while others use them: they get what was fitted before, or what is fitted now.

A fit works on a copy of the machine, whose state the machine takes over at once when it is done. So data that are
refused leave it as it was, too. Whatever reads more than one attribute reads them all from the state it began with.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils.validation import check_is_fitted

from mercer.callbacks import TimeLimit, TimeLimitError
from mercer.caller import warn_caller
from mercer.deadline import Deadline, TimeIsUp
from mercer.heartbeat import Heartbeat
from mercer.solvers import SolverInterrupted

#: What changes a machine, ...
FITS = ("fit", "fit_transform", "fit_predict", "partial_fit")
#: ... and what reads it.
READS = (
    *("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples", "kneighbors"),
    *("transform", "inverse_transform", "get_feature_names_out", "densify", "sparsify"),
    *("interval", "residuals", "loo_residuals", "smoother", "path"),
)


class Refittable:
    """A machine that other threads may use while one fits it again.

    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(kernel=Linear()).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> try:
    ...     machine.fit([[1.0, 0.0], [2.0, 0.0]], [1.0, float("nan")])
    ... except ValueError:
    ...     machine.n_features_in_, machine.predict([[3.0]]).shape
    (1, (1,))
    """

    #: What takes less memory than a fit for which there was not enough.
    _takes_less = "Fewer samples, or samples in float32, take less"

    def __init_subclass__(cls, **keywords: Any) -> None:
        for name in FITS:
            if name in vars(cls):
                setattr(cls, name, _at_once(vars(cls)[name]))
        for name in READS:
            found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
            if found is not None and not hasattr(found, "steady"):
                setattr(cls, name, _steady(found))
        for name, found in list(vars(cls).items()):
            if type(found) is property and name.endswith("_"):
                setattr(cls, name, property(_steady(found.fget)))
        super().__init_subclass__(**keywords)


def _twin(machine: Any, state: dict[str, Any]) -> Any:
    """A machine of the same class with this state, which it does not copy."""
    twin = object.__new__(type(machine))
    twin.__dict__ = state
    return twin


def _at_once(fit: Any) -> Any:
    if isinstance(fit, _AvailableIfDescriptor):  # a method that some machines have
        return _AvailableIfDescriptor(_at_once(fit.fn), fit.check, fit.attribute_name)

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **keywords: Any) -> Any:
        working = _twin(self, dict(self.__dict__))
        limit = min((one.latest for one in _limits(self)), default=None)
        try:
            with Deadline(limit), _heartbeat(working):
                result = fit(working, *args, **keywords)
        except SolverInterrupted as interrupt:  # which leaves what there is by then
            if not isinstance(interrupt.__cause__, TimeIsUp):
                self.__dict__ = working.__dict__
                raise
            _warn_of_limit(working, limit)
            result = working
        except TimeIsUp:
            raise _nothing(self, limit) from None
        except MemoryError as error:
            raise MemoryError(
                f"{type(self).__name__}: {str(error) or 'there is no memory left'}. {self._takes_less}"
            ) from error
        self.__dict__ = working.__dict__
        return self if result is working else result

    return fitted


def _heartbeat(machine: Any) -> AbstractContextManager[Any]:
    return Heartbeat(type(machine).__name__) if getattr(machine, "verbose", False) else nullcontext()


def _limits(machine: Any) -> list[TimeLimit]:
    return [one for one in getattr(machine, "_skl_callbacks", ()) if isinstance(one, TimeLimit)]


def _warn_of_limit(machine: Any, limit: float | None) -> None:
    """Says how far a machine is that was ended amid a step, which has warned of nothing by then."""
    try:
        check_is_fitted(machine)
    except NotFittedError:
        raise _nothing(machine, limit) from None
    found = getattr(machine, "certificate_", ())
    for certificate in found if isinstance(found, tuple) else (found,):
        if not certificate.converged:
            warn_caller(
                f"{type(machine).__name__} was ended by its limit of time amid a step: {certificate}. More time, or "
                "fewer samples, may do better.",
                ConvergenceWarning,
            )
            return


def _nothing(machine: Any, limit: float | None) -> TimeLimitError:
    return TimeLimitError(
        f"the limit of time ended the fit of {type(machine).__name__} after {limit:.3g} s, before it had found "
        "anything to keep: the machine is as it was. Give it more time, or fewer samples"
    )


def _steady(read: Any) -> Any:
    if isinstance(read, _AvailableIfDescriptor):  # a method that some machines have
        return _AvailableIfDescriptor(_steady(read.fn), read.check, read.attribute_name)

    @functools.wraps(read)
    def steadily(self: Any, *args: Any, **keywords: Any) -> Any:
        return read(_twin(self, self.__dict__), *args, **keywords)

    steadily.steady = True  # type: ignore[attr-defined]
    return steadily
