"""The common bases of exceptions and warnings."""

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import mercer
from mercer import MercerError, MercerWarning
from mercer.deadline import TimeIsUp
from mercer.solvers import SolverInterrupted

CONCEPTS = Path(__file__).parents[1] / "docs/concepts.md"


def exceptions() -> Iterator[type[BaseException]]:
    """All classes of the package that can be raised, the two bases excluded."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(mercer.__path__, "mercer.")]
    for module in [mercer, *modules]:
        for _, item in inspect.getmembers(module, inspect.isclass):
            own = item.__module__ == module.__name__ and item not in (MercerError, MercerWarning)
            if own and issubclass(item, BaseException):
                yield item


OURS = sorted(exceptions(), key=lambda item: item.__name__)


def test_they_are_found():
    assert {"FormatError", "NotSeparableError", "SolverInterrupted", "ZeroKernelWarning"} <= {c.__name__ for c in OURS}


@pytest.mark.parametrize("item", OURS, ids=lambda item: item.__name__)
def test_each_is_of_mercer_and_of_python(item):
    assert issubclass(item, MercerError)
    assert issubclass(item, MercerWarning) == issubclass(item, Warning)
    others = [base for base in item.__bases__ if not issubclass(base, MercerError)]
    assert others
    assert not {Exception, BaseException, Warning} & set(others), "of a kind that a caller would expect"


@pytest.mark.parametrize("item", OURS, ids=lambda item: item.__name__)
def test_each_survives_a_pickle(item):
    """As it does on its way from another process."""
    raised = item([1]) if item is SolverInterrupted else item("what is wrong")
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is item
    assert (again.args, vars(again)) == (raised.args, vars(raised))


def test_interrupts_pass_through_handlers_of_errors():
    assert [item for item in OURS if not issubclass(item, Exception)] == [SolverInterrupted, TimeIsUp]


@pytest.mark.skipif(not CONCEPTS.exists(), reason="the sources are not there")
def test_all_are_documented():
    text = CONCEPTS.read_text()
    assert [item.__name__ for item in OURS if f".{item.__name__}` |" not in text] == []
