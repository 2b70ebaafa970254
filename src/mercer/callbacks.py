"""Callbacks of scikit-learn's protocol that end a fit: the machine keeps what it has by then, certified.

A callback has four methods, of whose keywords it names those it wants:

- ``setup(estimator, context)``: the fit begins;
- ``on_fit_task_begin(estimator, context, *, X, y, metadata)``;
- ``on_fit_task_end(estimator, context, *, X, y, metadata, fitted_estimator)``: True asks the solver to stop;
- ``teardown(estimator, context)``: the fit has ended.

``context.task_name`` is "fit" for the whole, "solve", "pass" or "stage" for a report within it, whose numbers are in
``metadata``: ``docs/callbacks.md`` lists the keys for every machine. What is asked at a "stage" is not heard.

>>> from mercer import SVC
>>> class Gaps:
...     def __init__(self):
...         self.seen = []
...     def setup(self, estimator, context): ...
...     def on_fit_task_begin(self, estimator, context): ...
...     def on_fit_task_end(self, estimator, context, *, metadata=None):
...         if context.task_name == "solve":
...             self.seen.append(metadata["gap"])
...     def teardown(self, estimator, context): ...
>>> gaps = Gaps()
>>> machine = SVC().set_callbacks(gaps).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
>>> gaps.seen[0] > 0
True
"""

from __future__ import annotations

import time
from typing import Any

from mercer.errors import MercerError

#: Seconds after which a fit is interrupted that has not called back; solvers that call back end by themselves.
PATIENCE = 0.5


class TimeLimitError(MercerError, TimeoutError):
    """A limit of time ended a fit before anything was found; the machine is as it was before."""


class TimeLimit:
    """Ends the fit of any machine after ``seconds``, or within a second of that, as Ctrl-C would.

    The machine has what was found by then and warns (``ConvergenceWarning``) how far it is from the optimum;
    ``warm_start`` goes on from there. If nothing was found, it is as it was before, and ``TimeLimitError`` is
    raised: a factorisation, say, cannot be left half done.

    >>> from sklearn.datasets import load_digits
    >>> from mercer import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = SVC().set_callbacks(TimeLimit(60.0)).fit(X, y)
    >>> machine.fit_status_
    0
    """

    def __init__(self, seconds: float) -> None:
        if not seconds > 0:
            raise ValueError(f"a fit can be given a positive number of seconds, not {seconds!r}")
        self.seconds = seconds

    @property
    def latest(self) -> float:
        """The seconds after which a fit is interrupted if it has not ended."""
        return self.seconds + PATIENCE

    def setup(self, estimator: Any, context: Any) -> None:
        """Called when the fit begins."""
        self._end = time.monotonic() + self.seconds

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Called before every report of the solver."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Called at every report of the solver; True asks it to stop."""
        return time.monotonic() > self._end

    def teardown(self, estimator: Any, context: Any) -> None:
        """Called when the fit has ended."""
