"""The number of threads of the native core, as threadpoolctl sees and sets it.

The default is OMP_NUM_THREADS or the processors this process may use; ``threadpoolctl.threadpool_limits`` applies.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import LibController, ThreadpoolController, register

from mercer import _native


class MercerController(LibController):  # type: ignore[misc]
    """Lets threadpoolctl find the core among the loaded libraries."""

    user_api = "mercer"
    internal_api = "mercer"
    filename_prefixes = ("_native",)
    check_symbols = ("mercer_get_num_threads", "mercer_set_num_threads")

    def get_num_threads(self) -> int:
        return _native.thread_count()

    def set_num_threads(self, num_threads: int) -> None:
        _native.set_thread_count(max(1, int(num_threads)))

    def get_version(self) -> Any:
        return None


def limited(n_jobs: int | None) -> AbstractContextManager[None]:
    """Within it the core uses ``n_jobs`` threads: all processors if -1, as many as before if None.

    >>> with limited(1):
    ...     _native.thread_count()
    1
    """
    return UNLIMITED if n_jobs is None else _limited(max(1, effective_n_jobs(n_jobs)))


#: To predict a row takes microseconds, and to make a context manager, too.
UNLIMITED = nullcontext()


@contextmanager
def _limited(count: int) -> Iterator[None]:
    limit = _limits.add(count)
    try:
        yield
    finally:
        _limits.remove(limit)


class _Limits:
    """Numbers of threads set for a while, perhaps by several threads at once: the last that is still set counts."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.set: list[list[int]] = []
        self.before = 1

    def add(self, count: int) -> list[int]:
        limit = [count]
        with self.lock:
            if not self.set:
                self.before = _native.thread_count()
            self.set.append(limit)
            _native.set_thread_count(count)
        return limit

    def remove(self, limit: list[int]) -> None:
        with self.lock:
            self.set = [other for other in self.set if other is not limit]
            _native.set_thread_count(self.set[-1][0] if self.set else self.before)


_limits = _Limits()


class OfOneThread(ContextDecorator):
    """Within it every call of BLAS keeps to the thread that makes it.

    A BLAS with threads of its own lets them wait busily for its next call, at the cost of everybody else's. Any number
    of threads may be within: the first sets the numbers, the last sets them back.
    """

    def __init__(self) -> None:
        self.lock, self.within, self.before = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.within:
                self.before.enter_context(libraries().limit(limits=1, user_api="blas"))
            self.within += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.within -= 1
            if not self.within:
                self.before.close()


@cache
def libraries() -> Any:
    """The libraries with threads that are loaded; to find them takes milliseconds."""
    return ThreadpoolController()


#: For short calls of BLAS between long ones of the core.
blas_of_one_thread = OfOneThread()


register(MercerController)
