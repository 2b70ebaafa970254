"""Ctrl-C in the middle of a call, for the tests of what can be interrupted."""

import signal
import threading
import time

import pytest


def interrupted(call, after=0.5):
    """Seconds of processor time from Ctrl-C, sent so long after the start, to the end of an endless call.

    Other processes do not count, all threads of this one do.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a job run by nohup
    sent = []

    def send():
        sent.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.process_time() - sent[0]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
