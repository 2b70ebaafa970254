"""A deadline is heard in Python, in the core and while LAPACK works, in the thread that set it and in no other.

It is heard as well if its exception lands where it can only be reported, or is dropped; and once only if it is handled.
"""

import gc
import sys
import threading
import time
import weakref

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
    gone = threading.Event()

    class Watched(Deadline):
        @staticmethod
        def _watch(*known):
            Deadline._watch(*known)
            gone.set()

    with Watched(60), Deadline(None):
        pass
    assert gone.wait(10)


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


def test_the_one_that_counts_is_given_and_can_be_ended():
    with Deadline(0.01, owner="outer") as outer:
        with Deadline(0.01, owner="inner") as inner:
            assert inner is outer
        outer.end()
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            look()
    assert outer.owner == "outer"


class Thing:
    """An object that weak references can be made of."""


class Slow:
    """An object whose end takes a while."""

    def __del__(self):
        busy()


class Failing:
    """An object whose end fails."""

    def __del__(self):
        raise ValueError("at the end")


def busy(*of):
    until = time.perf_counter() + 5e-4
    while time.perf_counter() < until:
        pass


def in_callbacks_of_weak_references():
    while True:
        thing = Thing()
        reference = weakref.ref(thing, busy)
        del thing
        assert reference() is None


def in_ends():
    while True:
        Slow()


def in_ends_within_one_call():
    while True:
        things = [Slow() for _ in range(20)]
        things.clear()


def in_callbacks_of_the_collector():
    gc.callbacks.append(busy)
    try:
        while True:
            gc.collect(0)
    finally:
        gc.callbacks.remove(busy)


def in_a_hook():
    """Almost all of the time it is reported that an end has failed."""
    while True:
        Failing()


IN_CALLBACKS = [in_callbacks_of_weak_references, in_ends, in_ends_within_one_call, in_callbacks_of_the_collector]


@pytest.fixture
def reported(monkeypatch):
    """The types of what could only be reported, which takes a while."""
    types = []

    def hook(unraisable):
        types.append(unraisable.exc_type)
        busy()

    monkeypatch.setattr(sys, "unraisablehook", hook)
    yield types
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("call", [*IN_CALLBACKS, in_a_hook])
def test_it_is_heard_where_it_can_only_be_reported(call, reported):
    for _ in range(30):
        with pytest.raises(TimeIsUp), Deadline(0.01):
            call()
        for _ in range(100):
            look()
    assert set(reported) <= ({ValueError} if call is in_a_hook else set())


def test_another_hook_may_come_meanwhile(reported, monkeypatch):
    """It is left where it is, and goes on to hear of everything else."""
    ours = sys.unraisablehook

    def work():
        try:
            in_python()
        except TimeIsUp:
            before = sys.unraisablehook
            assert before is not ours
            monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: before(unraisable))
            installed.append(sys.unraisablehook)
        in_ends()

    installed = []
    for _ in range(3):
        with pytest.raises(TimeIsUp), Deadline(0.01):
            work()
        assert sys.unraisablehook is installed[-1]
        assert not reported
    Failing()
    assert reported == [ValueError]
    monkeypatch.setattr(sys, "unraisablehook", ours)


def test_it_is_heard_where_it_can_only_be_reported_in_many_threads(reported):
    heard = []

    def work(call):
        for _ in range(5):
            try:
                with Deadline(0.01):
                    call()
            except TimeIsUp:
                heard.append(call)

    calls = [in_callbacks_of_weak_references, in_ends, in_ends_within_one_call, in_a_hook]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(calls.index, heard)) == [i for i in range(len(calls)) for _ in range(5)]
    assert set(reported) <= {ValueError}


def test_it_is_heard_after_it_was_dropped():
    dropped = []

    def work():
        for _ in range(5):
            try:
                in_python()
            except TimeIsUp:
                dropped.append(1)
        in_python()

    with pytest.raises(TimeIsUp), Deadline(0.01):
        work()
    assert len(dropped) == 5


def test_its_handling_is_not_interrupted():
    handled = []

    def work():
        try:
            in_python()
        except TimeIsUp as error:
            until = time.monotonic() + 0.3
            while time.monotonic() < until:
                look()
            handled.append(1)
            raise RuntimeError("what was made of it") from error

    try:
        with Deadline(0.01):
            try:
                work()
            except RuntimeError:
                until = time.monotonic() + 0.3
                while time.monotonic() < until:
                    look()
                handled.append(2)
    except TimeIsUp:  # when the work was done, and before the end
        handled.append(3)
    assert handled in ([1, 2], [1, 2, 3])
