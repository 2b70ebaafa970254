"""Memory of large arrays: lent by the native core, which lends again what comes back, as fresh memory is slow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native


def empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """An uninitialised array that starts on a cache line, so that tiles of it do not straddle two."""
    memory = _native.memory(shape[0] * shape[1] * np.dtype(dtype).itemsize)
    return np.asarray(memory.view(dtype).reshape(shape))


def keep_at_most(nbytes: int) -> None:
    """Gives back to the system what the core keeps to lend it again, as far as that is more than so many bytes."""
    _native.keep_at_most(nbytes)
