"""The number of threads of the native core, as threadpoolctl sees and sets it.

The default is OMP_NUM_THREADS or the processors this process may use; ``threadpoolctl.threadpool_limits`` applies.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator, ExitStack, contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import LibController, ThreadpoolController, register

from mercer import _native

Item = TypeVar("Item")
Result = TypeVar("Result")


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


@contextmanager
def limited(n_jobs: int | None) -> Iterator[None]:
    """Within it the core uses so many threads: all processors if -1, as many as before if None.

    >>> with limited(1):
    ...     _native.thread_count()
    1
    """
    if n_jobs is None:
        yield
        return
    limit = _limits.add(max(1, effective_n_jobs(n_jobs)))
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
    """Within it every call of BLAS, and of the core if it says so, keeps to the thread that makes it.

    A BLAS with threads of its own lets them wait busily for its next call, at the cost of everybody else's. Any number
    of threads may be within: the first sets the numbers, the last sets them back.
    """

    def __init__(self, *, core: bool) -> None:
        self.core, self.lock, self.within, self.before = core, threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.within:
                with ExitStack() as entered:
                    if self.core:
                        entered.enter_context(limited(1))
                    entered.enter_context(libraries().limit(limits=1, user_api="blas"))
                    self.before = entered.pop_all()
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


#: For work that is shared out otherwise.
calls_of_one_thread = OfOneThread(core=True)
#: For short calls of BLAS between long ones of the core.
blas_of_one_thread = OfOneThread(core=False)


def in_order(task: Callable[[Item], Result], items: Iterable[Item], use: Callable[[Item, Result], None]) -> None:
    """Calls ``task`` for every item in as many threads as the core has, and ``use``, in this one, in the items' order.

    So what is made of the results does not depend on the number of threads. Few results wait to be used.

    >>> in_order(lambda x: x * x, range(3), print)
    0 0
    1 1
    2 4
    """
    threads = _native.thread_count()
    ahead: deque[tuple[Item, Future[Result]]] = deque()

    def take() -> None:
        item, future = ahead.popleft()
        use(item, future.result())

    with calls_of_one_thread, ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                ahead.append((item, pool.submit(copy_context().run, task, item)))
                if len(ahead) > 2 * threads:
                    take()
            while ahead:
                take()
        finally:
            for _, future in ahead:
                future.cancel()


register(MercerController)
