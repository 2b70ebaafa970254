"""A word now and then of a fit that is verbose and silent: somebody who waits sees that it goes on, and where it is."""

from __future__ import annotations

import sys
import threading
import time

#: Nobody waits longer than this, in seconds, for a word.
LONGEST = 1.5


class Heartbeat:
    """Within it, ``said`` notes what a machine tells; whenever that was long ago, it is told again, with the time.

    >>> with Heartbeat("KernelRidge", longest=0.05) as heartbeat:
    ...     said("matrix of 60 samples")
    ...     time.sleep(0.2)  # doctest: +ELLIPSIS
    KernelRidge has worked for 0 s...
    """

    def __init__(self, name: str, longest: float | None = None) -> None:
        self.name, self.longest = name, LONGEST if longest is None else longest
        self.begun = self.last = time.monotonic()
        self.text = ""
        self.over, self.writing = threading.Event(), threading.Lock()

    def __enter__(self) -> Heartbeat:
        self.outer = getattr(_here, "heartbeat", None)
        _here.heartbeat = self
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        with self.writing:  # and nothing after that
            self.over.set()
        _here.heartbeat = self.outer

    def _beat(self) -> None:
        while not self.over.wait(max(0.0, self.last + self.longest - time.monotonic())):
            now = time.monotonic()
            if now >= self.last + self.longest:
                self.last = now
                since = f"; last: {self.text}" if self.text else ""
                with self.writing:
                    if not self.over.is_set():
                        sys.stdout.write(f"{self.name} has worked for {now - self.begun:.0f} s{since}\n")


def said(text: str) -> None:
    """Notes what was told in this thread."""
    heartbeat = getattr(_here, "heartbeat", None)
    if heartbeat is not None:
        heartbeat.last, heartbeat.text = time.monotonic(), text


#: The heartbeat of the fit in this thread.
_here = threading.local()
