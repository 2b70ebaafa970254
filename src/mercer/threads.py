"""The number of threads of the native core, as threadpoolctl sees and sets it.

The default is OMP_NUM_THREADS or the processors this process may use; ``threadpoolctl.threadpool_limits`` applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import LibController, register

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
    before = _native.thread_count()
    _native.set_thread_count(max(1, effective_n_jobs(n_jobs)))
    try:
        yield
    finally:
        _native.set_thread_count(before)


register(MercerController)
