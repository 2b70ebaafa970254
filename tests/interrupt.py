"""Ctrl-C in the middle of a call, for the tests of what can be interrupted."""

import signal
import threading
import time

import pytest


def interrupted(call, after=0.5, begun=None):
    """Seconds of processor time from Ctrl-C, sent so long after the start, to the end of an endless call.

    Other processes do not count, all threads of this one do. ``begun`` is an event to wait for before.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a job run by nohup
    sent, ended = [], threading.Event()

    def send():
        if begun is not None and not (begun.wait(60) and not ended.wait(after)):
            return
        sent.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.process_time() - sent[0]
    finally:
        ended.set()
        timer.cancel()
        signal.signal(signal.SIGINT, before)
