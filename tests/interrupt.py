"""Ctrl-C in the middle of a call, for the tests of what can be interrupted."""

import signal
import threading
import time

import pytest


def interrupted(call, after=0.5):
    """Seconds from Ctrl-C, so many after the start, to the end of a call that must not finish by itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a job run by nohup
    sent = []

    def send():
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
