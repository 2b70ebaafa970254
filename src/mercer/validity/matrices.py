"""Is a matrix positive (semi-)definite? By eigenvalues, by factorisation, or by searching for a counter-example.

The three definitions are equivalent on paper; here each is a computation of its own, all with one tolerance, so that
one can be checked against another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from mercer.samples.door import in_memory
from mercer.solvers.lanczos import spectrum_ends
from mercer.validity.spectrum import Float, checked_tolerance, tolerance, unit

Method = Literal["eigenvalues", "factorization", "quadratic_form"]


def is_psd(A: Any, method: Method = "eigenvalues", tol: float | None = None) -> bool:
    """Whether z'Az >= 0 for every z, up to ``tol`` times the largest |eigenvalue|; tol = 10 n eps unless given.

    A matrix that is not symmetric is judged by (A + A')/2, which has the same z'Az.

    - ``"eigenvalues"``: all eigenvalues are >= 0.
    - ``"factorization"``: A = PP'; as a singular A has no Cholesky factor, A + tol |eigenvalue| I must have one.
    - ``"quadratic_form"``: no z with z'Az < 0 was found among unit vectors, their sums and differences in pairs,
      and the Krylov space of a random vector. This can only refute: True means "not refuted".

    >>> is_psd([[1.0, 2.0], [2.0, 1.0]])
    False
    >>> [is_psd([[1.0, 1.0], [1.0, 1.0]], method) for method in ("eigenvalues", "factorization", "quadratic_form")]
    [True, True, True]
    """
    S, tol = _checked(A, tol)
    return _lookup(method)(S, -tol, False)


def is_pd(A: Any, method: Method = "eigenvalues", tol: float | None = None) -> bool:
    """Whether z'Az > 0 for every z but 0, by more than ``tol`` times the largest |eigenvalue|; methods as ``is_psd``.

    ``"factorization"`` asks for the Cholesky factor of A - tol |eigenvalue| I.

    >>> is_pd([[2.0, 1.0], [1.0, 2.0]]), is_pd([[1.0, 1.0], [1.0, 1.0]])
    (True, False)
    """
    S, tol = _checked(A, tol)
    return _lookup(method)(S, tol, True)


def _by_eigenvalues(S: Float, floor: float, strict: bool) -> bool:
    values = np.linalg.eigvalsh(S)
    return _above(values[0], floor * np.abs(values).max(), strict)


def _by_factorization(S: Float, floor: float, strict: bool) -> bool:
    magnitude = spectrum_ends(lambda v: S @ v, len(S)).magnitude
    if magnitude == 0:
        return not strict
    try:
        cholesky(S - floor * magnitude * np.eye(len(S)), lower=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _by_quadratic_form(S: Float, floor: float, strict: bool) -> bool:
    ends = spectrum_ends(lambda v: S @ v, len(S))
    diagonal = np.diag(S)
    lowest = min(ends.direction @ S @ ends.direction, diagonal.min())
    if len(S) > 1:  # (e_i +- e_j)'S(e_i +- e_j) / 2, the better sign of each pair
        pairs = (diagonal[:, None] + diagonal) / 2 - np.abs(S)
        lowest = min(lowest, pairs[~np.eye(len(S), dtype=bool)].min())
    return _above(lowest, floor * max(ends.magnitude, abs(lowest)), strict)


def _above(value: float, floor: float, strict: bool) -> bool:
    return bool(value > floor if strict else value >= floor)


_METHODS: dict[str, Callable[[Float, float, bool], bool]] = {
    "eigenvalues": _by_eigenvalues,
    "factorization": _by_factorization,
    "quadratic_form": _by_quadratic_form,
}


def _lookup(method: str) -> Callable[[Float, float, bool], bool]:
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, not {method!r}")
    return _METHODS[method]


def _checked(A: Any, tol: float | None) -> tuple[Float, float]:
    """The symmetric part of A, scaled to entries of at most 1, and the tolerance."""
    given = np.asarray(in_memory(A, "A"))
    if given.dtype.kind not in "fiub":
        raise TypeError(
            f"expected a matrix of real numbers but got {type(A).__name__} of dtype {given.dtype}; "
            "give an array (for a sparse matrix A.toarray(), for a Gram matrix K.to_dense())"
        )
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"expected a square matrix but got shape {given.shape}; for a kernel give k(X)")
    if given.size == 0:
        raise ValueError("expected at least one row and one column but got an empty matrix of shape (0, 0)")
    if not np.isfinite(given).all():
        i, j = np.argwhere(~np.isfinite(given))[0]
        raise ValueError(
            f"expected finite numbers but found {given[i, j]} at row {i}, column {j}; fill or drop it first"
        )
    if tol is None:
        tol = tolerance(len(given), given.dtype if given.dtype == np.float32 else np.float64)
    full = unit(given.astype(np.float64))  # at first, as sums could overflow, and halves of the smallest vanish
    return unit(full / 2 + full.T / 2), checked_tolerance(tol)
