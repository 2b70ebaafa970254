"""Expansions without their samples: sum_i a_i k(x_i, x) as a function whose cost does not grow with their number.

Three forms, and a model of what they cost. ``Kernel.collapse`` says which of them a kernel has:

- an explicit map phi: f(x) = w.phi(x) with w = sum_i a_i phi(x_i);
- the intersection kernel: f(x) = sum_j g_j(x_j), each g_j piecewise linear with the entries of the samples as knots,
  so exact (Maji, Berg, Malik, "Classification using intersection kernel support vector machines is efficient", 2008);
- the chi-square and Jensen-Shannon kernels: the same, g_j through a table (``table`` states its error).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from mercer import _native, costs
from mercer._native import Reduction
from mercer.kernels.native import NativePairs
from mercer.kernels.pairs import chunks, segments
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array

#: The sums over segments of samples, of shape (rows, segments, outputs), as a function of samples.
Collapsed = Callable[[Any], Array]
Starts = NDArray[np.int64]

#: No form may take more memory than this.
MOST_BYTES = 256 * 2**20
#: The nodes of a table are t, t (1 + STEP), t (1 + STEP)^2, ...
STEP = 1 / 256
#: What a table may lose of the largest value of f, at as many of the samples, for it to be used.
LOSS, PROBES = 1e-5, 64


def pays(samples: int, build: float, row: float, direct: float) -> bool:
    """Whether a form that costs ``build`` once and ``row`` for a row is cheaper than the samples' ``direct`` for a row.

    It is to have paid for itself after as many rows as there are samples; for fewer it so costs no more than those
    would have. Only the model counts, not the rows asked for, so that f(x) is the same alone and among others.

    >>> pays(5000, build=1e7, row=2e3, direct=5e4), pays(100, build=2e6, row=2e3, direct=1e3)
    (True, False)
    """
    return costs.FORM + build + samples * row < samples * direct


def direct_cost(reduction: Reduction, z: Vectors | SparseVectors, outputs: int) -> float:
    """What a row costs that is compared with every sample; sparse ones meet only the entries they share."""
    width = entries(z)
    met = width * width / max(z.width, 1) * 20 if width < z.width else width
    each = min(met, z.width) * costs.REDUCTION[reduction] * z.dtype.itemsize / 8
    return len(z) * (each + costs.PAIR_END + costs.PAIR_OUTPUT * outputs)


def entries(z: Vectors | SparseVectors) -> float:
    """The mean number of entries that are stored for a sample."""
    return z.array.size / max(len(z), 1)


# -- explicit maps ------------------------------------------------------------------------------------------------


def weights(z: Vectors | SparseVectors, V: Array, starts: Starts) -> Collapsed | None:
    """For k(x, z) = x.z: the weights w = sum_i a_i z_i of every segment and output."""
    columns = len(starts) * V.shape[1]
    build, row = entries(z) * len(z) * V.shape[1] * costs.MULTIPLY, entries(z) * columns * costs.MULTIPLY
    if z.width * columns * 8 > MOST_BYTES or not pays(len(z), build, row, direct_cost(Reduction.dot, z, V.shape[1])):
        return None
    return Weights(lambda x: x.array, 8 * int(entries(z)), z, V, starts)


def mapped(
    phi: Callable[[Any], Array], count: int, z: Vectors | SparseVectors, V: Array, starts: Starts
) -> Collapsed | None:
    """For a function of x.z with an explicit map of ``count`` features: its weights, where those are few."""
    columns = len(starts) * V.shape[1]
    build = count * len(z) * (costs.FEATURE + costs.MULTIPLY * V.shape[1])
    row = count * (costs.FEATURE + costs.MULTIPLY * columns)
    if count * columns * 8 > MOST_BYTES or not pays(len(z), build, row, direct_cost(Reduction.dot, z, V.shape[1])):
        return None
    return Weights(phi, 8 * count, z, V, starts)


class Weights:
    """x -> phi(x) @ w, with w from the samples; phi gives rows, dense or sparse, of about ``size`` bytes each."""

    def __init__(self, phi: Callable[[Any], Any], size: int, z: Any, V: Array, starts: Starts) -> None:
        self.phi, self.size, self.shape = phi, size, (len(starts), V.shape[1])
        parts = []
        for segment in segments(starts, len(z)):
            place = np.arange(segment.start, segment.stop)
            w: Any = 0.0
            for some in chunks(len(place), size):
                w = w + phi(z.take(place[some])).T @ V[place[some]]
            parts.append(w)
        width = max((len(w) for w in parts if np.ndim(w)), default=0)
        self.w = np.hstack([w if np.ndim(w) else np.zeros((width, V.shape[1])) for w in parts])

    def __call__(self, x: Samples) -> Array:
        out = np.empty((len(x), *self.shape))
        for some in chunks(len(x), self.size):
            part = x if some.stop - some.start == len(x) else x.take(np.arange(some.start, some.stop))
            out[some] = (self.phi(part) @ self.w).reshape(len(part), *self.shape)
        return out


# -- sums of functions of one coordinate --------------------------------------------------------------------------


class Additive:
    """x -> sum_j g_j(x_j), by the curves of the native core."""

    def __init__(self, curves: _native.AdditiveFunction, shape: tuple[int, int], inner: tuple[int, int]) -> None:
        self.curves, self.shape, self.inner = curves, shape, inner

    def __call__(self, x: Vectors | SparseVectors) -> Array:
        out = np.empty((len(x), *self.inner))
        self.curves.evaluate(x.rows(), out)
        return out.reshape(len(x), *self.shape)


def knots(z: Vectors | SparseVectors, V: Array, starts: Starts) -> Collapsed | None:
    """For the intersection kernel: pieces between the entries of the samples, exact."""
    outputs, stored = V.shape[1], entries(z) * len(z)
    build = stored * (costs.SORT + costs.SORT_OUTPUT * outputs)
    row = entries(z) * (costs.LOOK_UP + costs.LOOK_UP_VALUE * outputs * len(starts))
    shape = len(starts), outputs
    size = stored * (12 + 8 * outputs + 4 * outputs * len(starts))  # four knots or more share a value and a slope
    if size > MOST_BYTES or not pays(len(z), build, row, direct_cost(Reduction.intersection, z, outputs)):
        return None
    curves = _native.AdditiveFunction.intersection(z.rows(), V, starts)
    return Additive(curves, shape, shape) if curves.bytes <= MOST_BYTES else None


def table(reduction: Reduction, z: Vectors | SparseVectors, V: Array, starts: Starts) -> Collapsed | None:
    """For the chi-square and Jensen-Shannon kernels: pieces between nodes t_m = t_0 (1 + h)^m, h = 1/256.

    |table(x) - f(x)| <= h^2/8 sum_i |a_i| k(x_i, x), and h^2/8 < 2e-6. For, as functions of t, both kernels k(t, z) of
    one coordinate are concave, |k''| falls, and t^2 |k''| <= k/2: it is k 2tz/(t + z)^2 for chi-square, and
    tz/(t + z) / (2 log 2) <= k/(4 log 2) for Jensen-Shannon, which is never below chi-square (Topsoe, "Some
    inequalities for information divergence", 2000). A chord from t_m to t_m (1 + h) thus lies below k by
    (h t_m)^2/8 |k''(t_m)| <= h^2/16 k at most. It does so twice: for x, and for the samples, whose coefficients are
    shared out to the two nodes around each entry. As both kernels are homogeneous, k(ct, cz) = c k(t, z), the values
    at the nodes are then a convolution.

    A row with an entry below half the lowest or above twice the highest of the samples is compared with them directly;
    and all are, if the table loses more than 1e-5 of the largest |f| at 64 of the samples, as it may where large
    coefficients cancel. Table and loss are computed in float64, so samples of float32 have the same table as their
    equals of float64: it is closer to f than a sum of kernel values in float32 is.
    """
    values = z.array.data if isinstance(z, SparseVectors) else z.array
    lowest = float(np.min(values, where=values > 0, initial=np.inf))
    if not np.isfinite(lowest):
        return None
    low, high = lowest / 2, 2 * float(values.max())
    count = int(np.log(high / low) / np.log1p(STEP)) + 2
    outputs, columns = V.shape[1], V.shape[1] * len(starts)
    direct = direct_cost(reduction, z, outputs)
    build = z.width * columns * count * costs.NODE + entries(z) * len(z) * outputs * costs.BIN + PROBES * direct
    row = entries(z) * (costs.LOOK_UP + costs.LOOK_UP_VALUE * columns)
    if z.width * count * columns * 16 > MOST_BYTES or not pays(len(z), build, row, direct):
        return None
    grid = low * np.exp(np.arange(count) * np.log1p(STEP))
    nodes = _node_values(reduction, grid, _shared_out(grid, z, V, starts))
    curves = Additive(_native.AdditiveFunction.through(grid, nodes), (len(starts), outputs), (1, columns))

    def within(x: Vectors | SparseVectors) -> Array:
        out = curves(x)
        beyond = _beyond(x, low, high)
        if len(beyond):
            out[beyond] = NativePairs(x.take(beyond), z, reduction, ()).by_segment(V, starts)
        return out

    some = z.take(np.unique(np.linspace(0, len(z) - 1, PROBES).astype(np.int64))).astype(np.float64)
    known = NativePairs(some, z.astype(np.float64), reduction, ()).by_segment(V, starts)
    return within if np.abs(curves(some) - known).max() <= LOSS * np.abs(known).max() else None


def _shared_out(grid: Array, z: Vectors | SparseVectors, V: Array, starts: Starts) -> Array:
    """The coefficients at the nodes, of shape (columns of z, nodes, segments * outputs)."""
    out = np.empty((z.width, len(grid), len(starts), V.shape[1]))
    for s, segment in enumerate(segments(starts, len(z))):
        part: Any = z.array[segment]
        if isinstance(z, SparseVectors):
            row, column, value = np.repeat(np.arange(len(V))[segment], np.diff(part.indptr)), part.indices, part.data
        else:
            row, column = np.nonzero(part)
            value, row = part[row, column], row + segment.start
        value = value.astype(np.float64)
        node = np.clip(np.searchsorted(grid, value, side="right") - 1, 0, len(grid) - 2)
        share = (value - grid[node]) / (grid[node + 1] - grid[node])
        place = column.astype(np.int64) * len(grid) + node
        for o in range(V.shape[1]):
            sums = np.bincount(place, V[row, o] * (1 - share), z.width * len(grid))
            sums += np.bincount(place + 1, V[row, o] * share, z.width * len(grid))
            out[:, :, s, o] = sums.reshape(z.width, len(grid))
    return out.reshape(z.width, len(grid), -1)


def _node_values(reduction: Reduction, grid: Array, shares: Array) -> Array:
    """sum_n k(t_m, t_n) share_n at every node m: k(t_m, t_n) = sqrt(t_m t_n) u(m - n), so a convolution with u."""
    count, root = len(grid), np.sqrt(grid)[:, None]
    ratio = np.exp(np.arange(count) * np.log1p(STEP))
    u = NativePairs(Vectors(ratio[:, None]), Vectors(np.ones((1, 1))), reduction, ()).dense() / np.sqrt(ratio)[:, None]
    length = next_fast_len(3 * count - 2, real=True)
    both = rfft(np.concatenate([u[:0:-1], u]), length, axis=0)
    for some in chunks(len(shares), 16 * shares[0].nbytes):
        full = irfft(rfft(shares[some] * root, length, axis=1) * both, length, axis=1)
        shares[some] = full[:, count - 1 : 2 * count - 1] * root
    return shares


def _beyond(x: Vectors | SparseVectors, low: float, high: float) -> NDArray[np.int64]:
    """The rows with an entry, other than 0, outside these bounds."""
    values = x.array.data if isinstance(x, SparseVectors) else x.array
    if values.max(initial=0.0) <= high and np.min(values, where=values > 0, initial=np.inf) >= low:
        return np.empty(0, dtype=np.int64)
    outside = (values > high) | ((values > 0) & (values < low))
    if isinstance(x, SparseVectors):
        return np.unique(np.repeat(np.arange(len(x)), np.diff(x.array.indptr))[outside])
    return np.flatnonzero(outside.any(axis=1))
