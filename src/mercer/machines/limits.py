"""Limits of a fit: time, memory, and seconds of silence, which end or accompany it from outside, whatever it is at."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._available_if import _AvailableIfDescriptor

from mercer.callbacks import TimeLimit, TimeLimitError
from mercer.caller import warn_caller
from mercer.deadline import Deadline, TimeIsUp
from mercer.heartbeat import Heartbeat
from mercer.solvers import SolverInterrupted

#: The methods that fit a machine, and those of them that return it.
FITS = ("fit", "partial_fit", "fit_transform")
RETURN_IT = ("fit", "partial_fit")


def within_limits(fit: Any) -> Any:
    """A method that fits a machine, ended by its limit of time, with words for a lack of memory."""
    if isinstance(fit, _AvailableIfDescriptor):  # a method that some machines have
        return _AvailableIfDescriptor(within_limits(fit.fn), fit.check, fit.attribute_name)

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **keywords: Any) -> Any:
        before, limit = self._fit, _limit(self)
        deadline = Deadline(None if limit is None else limit.latest, owner=self)
        try:
            with _heartbeat(self), deadline as deadline:  # one method that calls another shares its deadline
                return fit(self, *args, **keywords)
        except SolverInterrupted as interrupt:
            if deadline.owner is not self or not _by_time(interrupt):
                raise
            deadline.end()
            if self._fit is before:
                raise _nothing(self, limit) from None
            _warn_of_limit(self)
            return self
        except TimeIsUp:
            if deadline.owner is not self:
                raise
            deadline.end()
            if self._fit is before or fit.__name__ not in RETURN_IT:
                raise _nothing(self, limit) from None
            return self  # it came when all was done
        except MemoryError as error:
            raise MemoryError(
                f"{type(self).__name__}: {str(error) or 'there is no memory left'}. {self._takes_less}"
            ) from error

    return fitted


def _heartbeat(machine: Any) -> AbstractContextManager[Any]:
    return Heartbeat(type(machine).__name__) if getattr(machine, "verbose", False) else nullcontext()


def _limit(machine: Any) -> TimeLimit | None:
    """The shortest of its limits."""
    found = [one for one in getattr(machine, "_skl_callbacks", ()) if isinstance(one, TimeLimit)]
    return min(found, key=lambda one: one.latest, default=None)


def _by_time(interrupt: SolverInterrupted) -> bool:
    """Whether a limit of time is what interrupted a solver, or one that works for it."""
    cause: BaseException | None = interrupt
    while isinstance(cause, SolverInterrupted):
        cause = cause.__cause__
    return isinstance(cause, TimeIsUp)


def _warn_of_limit(machine: Any) -> None:
    """Says how far a machine is that was ended amid a step, which has warned of nothing by then."""
    found = getattr(machine._fit, "certificate", ())
    for certificate in found if isinstance(found, tuple) else (found,):
        if not certificate.converged:
            warn_caller(
                f"{type(machine).__name__} was ended by its limit of time amid a step: {certificate}. More time, or "
                "fewer samples, may do better.",
                ConvergenceWarning,
            )
            return


def _nothing(machine: Any, limit: TimeLimit | None) -> TimeLimitError:
    assert limit is not None  # whose machine owns a deadline has a limit
    return TimeLimitError(
        f"the limit of {limit.seconds:.3g} s ended the fit of {type(machine).__name__} before it had found anything to "
        "keep: the machine is as it was. Give it more time, or fewer samples"
    )
