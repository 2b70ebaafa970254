"""An exception at a point of time, in the thread that asked for it: a limit of time is heard wherever Ctrl-C is.

The interpreter raises it before the next line of Python, and the core, which asks now and then, within its loops.
"""

from __future__ import annotations

import ctypes
import threading

from mercer.errors import MercerError


class TimeIsUp(MercerError, KeyboardInterrupt):  # noqa: N818 - no error, as KeyboardInterrupt is none
    """Raised by a ``Deadline`` within a fit, which makes a machine of what there is by then."""


class Deadline:
    """Within it, ``TimeIsUp`` is raised after ``seconds``; never, if None. Of nested ones the outer counts.

    >>> try:
    ...     with Deadline(0.01):
    ...         while True:
    ...             look()
    ... except TimeIsUp:
    ...     print("time is up")
    time is up
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.lock, self.over, self.struck = threading.Lock(), False, False

    def __enter__(self) -> Deadline:
        outer = getattr(_here, "deadline", None)
        self.mine = self.seconds is not None and (outer is None or outer.over or outer.struck)
        if self.mine:
            assert self.seconds is not None
            self.thread = threading.get_ident()
            self.timer = threading.Timer(min(self.seconds, threading.TIMEOUT_MAX), self._strike)
            self.timer.daemon = True
            self.timer.start()
            _here.deadline = self
        return self

    def __exit__(self, *error: object) -> None:
        if not self.mine:
            return
        try:
            with self.lock:
                self.over = True
            self.timer.cancel()
            if self.struck:
                _raise(self.thread, ctypes.py_object())  # if it is still to come, it comes no more
        except TimeIsUp:  # it came when all was done
            pass

    def _strike(self) -> None:
        with self.lock:
            if not self.over:
                self.struck = True
                _raise(self.thread, ctypes.py_object(TimeIsUp))


def look() -> None:
    """What the core calls now and then: the interpreter raises what there is to raise before it does nothing."""


def _raise(thread: int, exception: ctypes.py_object[type[BaseException]]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


#: The deadline of this thread; it counts until it is over or has struck.
_here = threading.local()
