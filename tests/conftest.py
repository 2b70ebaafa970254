"""What all tests share: names for the documentation's examples, and settings of the native core and of BLAS."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

# The threads of BLAS spin while they wait for each other. Where other processes use the cores, as another worker of the
# tests does, small matrix products then take ten times as long. NumPy reads this when it is imported.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from mercer import _native, kernels  # noqa: E402

#: Every instruction set that some build of the native core may hold.
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


#: Marks that keep a test out of quicker commands, each with the reason as its argument.
TIERS = ("slow", "alone", "stress")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses names that hold a place in memory: processes that share the tests must know them by the same names.

    Refuses marks of tiers that do not say why.
    """
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"tests need names that stay, as tests.names.named gives: {unstable[0]}")
    for item in items:
        for mark in item.iter_markers():
            if mark.name in TIERS and (len(mark.args) != 1 or not isinstance(mark.args[0], str) or mark.kwargs):
                raise pytest.UsageError(f"write the reason, as in @pytest.mark.{mark.name}('why'): {item.nodeid}")


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update({name: getattr(kernels, name) for name in kernels.__all__})


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test once per instruction set; those that this processor lacks are skipped."""
    if request.param not in _native.instruction_sets():
        pytest.skip(f"this processor (or this build) has no {request.param}")
    before = _native.instruction_set()
    _native.select_instruction_set(request.param)
    yield request.param
    _native.select_instruction_set(before)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """A function that sets the number of threads; the number is restored after the test."""
    before = _native.thread_count()
    yield _native.set_thread_count
    _native.set_thread_count(before)
