"""An exception at a point of time, in the thread that asked for it: a limit of time is heard wherever Ctrl-C is.

The interpreter raises it before the next line of Python, and the core, which asks now and then, within its loops.

Where it lands it may be lost: in a ``__del__`` or a callback of a weak reference the interpreter can only report an
exception, and code written in C may drop one. So the exception's class is the deadline's own, and a thread that watches
the clock raises it again whenever nobody holds a reference to it: then it is neither on its way, nor being handled, nor
the cause of what is. What the interpreter would report is silent and raised again at once, so that it comes as soon as
the callback has returned. To begin, to raise it and to end are one call of the core each, under the interpreter's lock:
the exception can come neither before ``with`` knows of the deadline, nor after it has left, nor amid these.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from mercer import _native
from mercer.errors import MercerError

if TYPE_CHECKING:
    from _thread import LockType

#: Seconds between two looks whether an exception was lost.
AGAIN = 0.02


class TimeIsUp(MercerError, KeyboardInterrupt):  # noqa: N818 - no error, as KeyboardInterrupt is none
    """Raised by a ``Deadline`` within a fit, which makes a machine of what there is by then."""


class Deadline(_native.Deadline):
    """Within it, ``TimeIsUp`` is raised after ``seconds``; never, if None. Of nested ones the outer counts.

    ``with`` gives the one that counts, whose ``owner`` handles the exception; ``end`` ends it before its time.

    >>> try:
    ...     with Deadline(0.01):
    ...         while True:
    ...             look()
    ... except TimeIsUp:
    ...     print("time is up")
    time is up
    """

    def __init__(self, seconds: float | None, owner: Any = None) -> None:
        super().__init__(None if seconds is None else type("TimeIsUp", (TimeIsUp,), {}), seconds)
        self.owner = owner

    @staticmethod
    def _watch(reference: weakref.ref[Deadline], seconds: float, over: LockType) -> None:
        """Runs in a thread of its own until all is over."""
        wait = min(seconds, threading.TIMEOUT_MAX)
        while not over.acquire(timeout=wait):
            deadline = reference()
            if deadline is None:
                return
            deadline.strike()
            del deadline  # at the exit of the interpreter, which does not wait for this thread, it holds nothing
            wait = AGAIN


def look() -> None:
    """What the core calls now and then: the interpreter raises what there is to raise before it does nothing."""
