"""What the labels say about a kernel: its alignment with them, and how many columns have nothing to do with them.

A positive semi-definite kernel is good only for a target, and these numbers judge the pair without training anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata

from mercer.samples.base import Array
from mercer.validity.spectrum import Float

#: Numbers are taken for class labels if they are whole and have at most this many values.
MOST_CLASSES = 20
#: A column has nothing to do with the target if its test gives a larger probability than this.
SIGNIFICANCE = 0.01
MOST_BINS = 8


@dataclass(frozen=True, eq=False)
class Target:
    """The ideal kernel TT' of a target, by its factor T, and what the target was taken for."""

    factor: Float
    kind: str

    @classmethod
    def of(cls, y: Any, n: int) -> Target:
        """T = +-1 for two classes, the indicators of the classes for more, y itself (its columns) for numbers."""
        values = np.asarray(y)
        if values.ndim not in (1, 2) or len(values) != n or values.size == 0:
            raise ValueError(f"y must have one entry per sample, {n} of them, but its shape is {values.shape}")
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            raise ValueError(
                f"y has {(~np.isfinite(values)).sum()} entries that are NaN or infinite; drop those samples"
            )
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim == 1 and (classes := _classes(values)) is not None:
            if len(classes) == 2:
                return cls(np.where(values == classes[1], 1.0, -1.0)[:, None], "2 classes")
            return cls((values[:, None] == classes).astype(np.float64), f"{len(classes)} classes")
        T = values.reshape(n, -1).astype(np.float64)
        if not np.ptp(T, axis=0).any():
            raise ValueError(f"y is {values[0]} for every sample, so nothing can be learnt from it")
        return cls(T, "regression")

    def take(self, index: NDArray[np.int64]) -> Target:
        return Target(self.factor[index], self.kind)

    def alignment(self, K: Float) -> float:
        """<K, TT'> / (|K| |TT'|), in the Frobenius inner product; 0 where a norm is 0 (Cristianini et al. 2001)."""
        T = self.factor
        size = float(np.linalg.norm(K) * np.linalg.norm(T.T @ T))
        return float((T * (K @ T)).sum()) / size if size > 0 else 0.0

    def centred_alignment(self, K: Float) -> float:
        """The alignment of HKH and HTT'H, H = I - 11'/n (Cortes, Mohri, Rostamizadeh 2012); 0 for a constant K."""
        centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        if np.linalg.norm(centred) <= len(K) * np.finfo(np.float64).eps * np.linalg.norm(K):
            return 0.0
        return Target(self.factor - self.factor.mean(axis=0), self.kind).alignment(centred)

    def irrelevant(self, X: Array) -> int:
        """How many columns of X show no association with the target, each looked at alone.

        A column is cut into bins of about equal size. With W the target (its ranks, for numbers) whitened to WW'/n = I
        over its q dimensions, sum_b n_b |mean_b W|^2 is about chi-square with (bins - 1) q degrees of freedom if the
        column says nothing: Pearson's test for classes, Kruskal and Wallis' for numbers.
        """
        W = self._whitened()
        n, q = W.shape
        if q == 0:
            return int(X.shape[1])
        bins = max(2, min(MOST_BINS, n // (5 * (q + 1))))
        cuts = np.quantile(X, np.arange(1, bins) / bins, axis=0)
        count = 0
        for column, edges in zip(X.T, cuts.T, strict=True):
            _, place, sizes = np.unique(np.searchsorted(edges, column), return_inverse=True, return_counts=True)
            sums = (place == np.arange(len(sizes))[:, None]) @ W
            statistic = float((sums**2 / sizes[:, None]).sum())
            freedom = (len(sizes) - 1) * q
            count += freedom == 0 or float(chi2.sf(statistic, freedom)) > SIGNIFICANCE
        return count

    def _whitened(self) -> Float:
        T = rankdata(self.factor, axis=0) if self.kind == "regression" else self.factor
        T = T - T.mean(axis=0)
        values, vectors = np.linalg.eigh(T.T @ T / len(T))
        kept = values > 1e-10 * max(values[-1], 0.0)
        return np.asarray(T @ (vectors[:, kept] / np.sqrt(values[kept])))


def _classes(values: Array) -> Array | None:
    """The class labels, if these are such rather than numbers to predict."""
    labels = np.unique(values)
    if len(labels) == 1:
        raise ValueError(f"y is {labels[0]} for every sample, so nothing can be learnt from it")
    if values.dtype.kind not in "fiu" or len(labels) == 2:
        return labels
    few = len(labels) <= min(MOST_CLASSES, len(values) // 2)
    return labels if few and (labels == np.floor(labels)).all() else None
