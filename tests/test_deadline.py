"""A deadline is heard in Python, in the core and while LAPACK works, in the thread that set it and in no other."""

import threading
import time

import numpy as np
import pytest

from mercer.deadline import Deadline, TimeIsUp, look
from mercer.kernels import Matern
from mercer.solvers.lapack import interruptible


def in_python():
    while True:
        look()


def in_the_core():
    rows = np.random.default_rng(0).standard_normal((30_000, 50))
    Matern(0.7).gram(rows) @ np.ones(len(rows))  # for a minute or more, and next to no memory


def in_lapack():
    never = threading.Event()
    interruptible(lambda: never.wait(60))


CALLS = [in_python, in_the_core, in_lapack]


@pytest.mark.parametrize("call", CALLS)
def test_it_is_heard(call):
    with pytest.raises(TimeIsUp), Deadline(0.2):
        call()


@pytest.mark.parametrize("call", CALLS)
def test_it_is_heard_in_another_thread(call):
    heard = []

    def work():
        try:
            with Deadline(0.2):
                call()
        except TimeIsUp:
            heard.append(threading.get_ident())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [thread.ident]


def test_what_ends_in_time_is_not_interrupted():
    with Deadline(60) as deadline, Deadline(None):
        pass
    deadline.timer.join(10)
    assert not deadline.timer.is_alive()


def test_nothing_is_raised_after_the_end():
    """However close the end and the time are."""
    for _ in range(100):
        before = time.monotonic()
        try:
            with Deadline(1e-3):
                while time.monotonic() < before + 1e-3:
                    pass
        except TimeIsUp:
            pass
        for _ in range(100):
            look()


def within_another():
    with Deadline(1e-9):
        time.sleep(0.05)
    look()
    in_python()


def test_of_nested_ones_the_outer_counts():
    with pytest.raises(TimeIsUp), Deadline(0.2):
        within_another()
    with pytest.raises(TimeIsUp), Deadline(0.01):  # and the next one is heard as well
        in_python()
