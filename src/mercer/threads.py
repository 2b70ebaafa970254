"""The number of threads of the native core, as threadpoolctl sees and sets it.

The default is OMP_NUM_THREADS or the processors this process may use; ``threadpoolctl.threadpool_limits`` applies.
"""

from __future__ import annotations

from typing import Any

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


register(MercerController)
