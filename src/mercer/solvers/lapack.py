"""The long LAPACK calls, made so that Ctrl-C is heard while they run.

SciPy's wrappers hold the interpreter until LAPACK returns, which may take minutes. Here the same routine of the same
library runs in a thread without holding it, while the calling thread waits and can be interrupted; an abandoned call
ends by itself and touches only memory that nobody else sees any more.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cython_lapack

from mercer import costs
from mercer.errors import MercerError
from mercer.samples.base import Array

T = TypeVar("T")
#: Columns that are solved for at a time; of 12,000 rows they take less than a second.
COLUMNS = 64


class NotPositiveDefiniteError(MercerError, np.linalg.LinAlgError):
    """A Cholesky factorisation met a pivot that is not positive, or a matrix too close to singular."""


def interruptible(call: Callable[[], T], rows: int = costs.SHORT_ROWS) -> T:
    """The value of a call that does not hold the interpreter; KeyboardInterrupt is raised at once, not after it.

    It is about a matrix of this many rows: of few, the call is simply made.
    """
    if rows < costs.SHORT_ROWS:
        return call()
    result: list[T] = []
    errors: list[BaseException] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            result.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    # Thread.start would wait without end for a thread that a limit of time hits instead, as CPython 3.11 may while the
    # new one does not yet have an identity of its own.
    _thread.start_new_thread(copy_context().run, (run,))
    while not done.acquire(timeout=0.1):
        pass
    if errors:
        raise errors[0]
    return result[0]


def by_columns(call: Callable[[Array], Array], B: Array) -> Array:
    """What a call makes of B that treats every column by itself: some at a time, so that Ctrl-C is heard between them.

    >>> by_columns(lambda b: 2 * b, np.eye(2))
    array([[2., 0.],
           [0., 2.]])
    """
    if B.shape[1] <= COLUMNS:
        return call(B)
    return np.hstack([call(B[:, start : start + COLUMNS]) for start in range(0, B.shape[1], COLUMNS)])


@cache
def _routine(name: str, pointers: int) -> Any:
    """A LAPACK routine that SciPy exports for compiled code, as a function of pointers; it releases the interpreter."""
    capsule: Any = dict(cython_lapack.__pyx_capi__)[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointer = get_pointer(capsule, get_name(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers)(pointer)


def factorize(A: Array) -> None:
    """Overwrites the lower triangle of a C-ordered symmetric matrix with its Cholesky factor; the rest stays."""
    if not A.flags.c_contiguous or A.dtype not in (np.float32, np.float64):
        raise ValueError(f"expected a C-ordered float32 or float64 matrix but got {A.dtype} with strides {A.strides}")
    routine = _routine("dpotrf" if A.dtype == np.float64 else "spotrf", 5)
    size, info = ctypes.c_int(len(A)), ctypes.c_int(0)
    # In LAPACK's column order our lower triangle is the upper one.
    uplo = ctypes.c_char(b"U")
    arguments = [ctypes.addressof(uplo), ctypes.addressof(size), A.ctypes.data, ctypes.addressof(size)]

    def call() -> tuple[Any, ...]:
        routine(*arguments, ctypes.addressof(info))
        return uplo, size, info, A  # everything the routine points to lives until it returns

    interruptible(call, len(A))
    if info.value:
        raise NotPositiveDefiniteError(f"pivot {info.value - 1} of {len(A)} is not positive")


def invert(L: Array) -> None:
    """Overwrites the lower triangle of a C-ordered float64 matrix with that triangle's inverse; the rest stays."""
    if not L.flags.c_contiguous or L.dtype != np.float64:
        raise ValueError(f"expected a C-ordered float64 matrix but got {L.dtype} with strides {L.strides}")
    routine = _routine("dtrtri", 6)
    size, info = ctypes.c_int(len(L)), ctypes.c_int(0)
    uplo, diag = ctypes.c_char(b"U"), ctypes.c_char(b"N")
    arguments = [ctypes.addressof(x) for x in (uplo, diag, size)] + [L.ctypes.data, ctypes.addressof(size)]

    def call() -> tuple[Any, ...]:
        routine(*arguments, ctypes.addressof(info))
        return uplo, diag, size, info, L

    interruptible(call, len(L))
    if info.value:
        raise np.linalg.LinAlgError(f"entry {info.value - 1} of the diagonal is zero, so the triangle has no inverse")


def inverse_by(L: Array) -> None:
    """Overwrites a C-ordered float64 matrix, a Cholesky factor L in its lower triangle, with the inverse of L L'.

    >>> A = np.array([[4.0, 2.0], [2.0, 2.0]])
    >>> factorize(A)
    >>> inverse_by(A)
    >>> A
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    if not L.flags.c_contiguous or L.dtype != np.float64:
        raise ValueError(f"expected a C-ordered float64 matrix but got {L.dtype} with strides {L.strides}")
    routine = _routine("dpotri", 5)
    size, info, uplo = ctypes.c_int(len(L)), ctypes.c_int(0), ctypes.c_char(b"U")
    arguments = [ctypes.addressof(uplo), ctypes.addressof(size), L.ctypes.data, ctypes.addressof(size)]

    def call() -> tuple[Any, ...]:
        routine(*arguments, ctypes.addressof(info))
        return uplo, size, info, L

    interruptible(call, len(L))
    if info.value:
        raise np.linalg.LinAlgError(f"entry {info.value - 1} of the factor's diagonal is zero, so there is no inverse")
    L[...] = np.tril(L) + np.tril(L, -1).T


def reciprocal_condition(L: Array, norm: float) -> float:
    """About 1 / (norm |A^-1|) of A = L L', L in the lower triangle of a C-ordered float64 matrix and norm that of A.

    >>> A = np.diag([4.0, 1.0])
    >>> factorize(A)
    >>> reciprocal_condition(A, 4.0)
    0.25
    """
    if not L.flags.c_contiguous or L.dtype != np.float64:
        raise ValueError(f"expected a C-ordered float64 matrix but got {L.dtype} with strides {L.strides}")
    routine = _routine("dpocon", 9)
    size, info, uplo = ctypes.c_int(len(L)), ctypes.c_int(0), ctypes.c_char(b"U")
    given, found = ctypes.c_double(norm), ctypes.c_double(0.0)
    work, integers = np.empty(3 * len(L)), np.empty(len(L), dtype=np.intc)
    at = ctypes.addressof
    arguments = [
        at(uplo), at(size), L.ctypes.data, at(size), at(given), at(found), work.ctypes.data, integers.ctypes.data,
        at(info),
    ]  # fmt: skip

    def call() -> tuple[Any, ...]:
        routine(*arguments)
        return uplo, size, info, given, found, work, integers, L

    interruptible(call, len(L))
    return float(found.value)


def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix; NumPy's wrapper does not hold the interpreter."""
    values, vectors = interruptible(lambda: np.linalg.eigh(A), len(A))
    return values, vectors


def largest_eigh(A: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues, ascending, and their eigenvectors; of few, in half the time of all or less.

    A is a C-ordered symmetric float64 matrix, and is overwritten.
    """
    if not A.flags.c_contiguous or A.dtype != np.float64:
        raise ValueError(f"expected a C-ordered float64 matrix but got {A.dtype} with strides {A.strides}")
    n = len(A)
    diagonal = A.diagonal().copy()
    values, vectors = np.empty(n), np.empty((count, n))  # in LAPACK's column order: n by count
    work, integers, support = np.empty(70 * n), np.empty(10 * n, dtype=np.intc), np.empty(2 * n, dtype=np.intc)
    letters = [ctypes.c_char(letter) for letter in (b"V", b"I", b"L")]
    size, first, last, found, info = (ctypes.c_int(i) for i in (n, n - count + 1, n, 0, 0))
    room, more, unused = ctypes.c_int(len(work)), ctypes.c_int(len(integers)), ctypes.c_double(0.0)
    call = _routine("dsyevr", 21)
    at = ctypes.addressof
    arguments = [
        *map(at, letters), at(size), A.ctypes.data, at(size), at(unused), at(unused), at(first), at(last), at(unused),
        at(found), values.ctypes.data, vectors.ctypes.data, at(size), support.ctypes.data, work.ctypes.data, at(room),
        integers.ctypes.data, at(more), at(info),
    ]  # fmt: skip

    def run() -> tuple[Any, ...]:
        call(*arguments)
        return A, values, vectors, work, integers, support, letters, size, first, last, found, info, room, more, unused

    interruptible(run, n)
    if info.value or found.value != count:
        # It loses count of many that are equal, as those of a unit matrix; it has overwritten one triangle only.
        A = np.tril(A, -1)
        A += A.T
        np.fill_diagonal(A, diagonal)
        values, vectors = eigh(A)
        return values[n - count :], vectors[:, n - count :]
    return values[:count], vectors.T
