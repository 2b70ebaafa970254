"""Memory of large arrays: lent by the native core, which lends again what comes back, as fresh memory is slow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native

#: Bytes from which memory is worth lending.
LENT = 2**21


def empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """An uninitialised array that starts on a cache line, so that tiles of it do not straddle two.

    >>> empty((10**6, 10**7), np.float64)
    Traceback (most recent call last):
    ...
    MemoryError: an array of 1000000 x 10000000 numbers in float64 takes 80000.0 GB: there is no memory for 8000... MB \
more
    """
    nbytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    try:
        memory = _native.memory(nbytes)
    except MemoryError as error:
        raise MemoryError(
            f"an array of {shape[0]} x {shape[1]} numbers in {np.dtype(dtype)} takes {nbytes / 1e9:.1f} GB: {error}"
        ) from None
    return np.asarray(memory.view(dtype).reshape(shape))


def taken(array: NDArray[Any], index: NDArray[np.int64] | None, dtype: Any) -> NDArray[Any]:
    """The rows of an array at these positions, or all of them, in this precision.

    A large one is lent: freed memory of that size may stay with the process, where nothing else makes use of it.

    >>> taken(np.array([[1.0], [2.0]]), np.array([1]), np.float32)
    array([[2.]], dtype=float32)
    """
    rows, width = len(array) if index is None else len(index), array[:1].nbytes
    if rows * width < LENT:
        return (array if index is None else array[index]).astype(dtype, copy=False)
    out = empty((rows, array.shape[1]), dtype)
    height = max(1, LENT // width)
    for i in range(0, rows, height):
        part = slice(i, i + height)
        out[part] = array[part if index is None else index[part]]
    return out


def keep_at_most(nbytes: int) -> None:
    """Gives back to the system what the core keeps for its next use, except for at most ``nbytes`` bytes."""
    _native.keep_at_most(nbytes)
