"""What the labels say about a kernel: its alignment with them, and how probable that would be by chance.

A positive semi-definite kernel is good only for a target, and these numbers judge the pair without training anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.validity.spectrum import Float, unit

#: Numbers are taken for class labels if they are whole and have at most this many values.
MOST_CLASSES = 20
#: What is at most as probable as this is not taken for chance.
SIGNIFICANCE = 0.01
#: The random orders of the target from which the p-value of an alignment is found, in at most this many dimensions.
ORDERS, DIRECTIONS = 199, 20


@dataclass(frozen=True, eq=False)
class Target:
    """The ideal kernel TT' of a target, by its factor T, and what the target was taken for."""

    factor: Float
    kind: str

    @classmethod
    def of(cls, y: Any, n: int) -> Target:
        """T = +-1 for two classes, the indicators of the classes for more, y itself (its columns) for numbers."""
        values = np.asarray(in_memory(y, "y"))
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
        K, T = unit(K), unit(self.factor)
        size = float(np.linalg.norm(K) * np.linalg.norm(T.T @ T))
        return float((T * (K @ T)).sum()) / size if size > 0 else 0.0

    def centred_alignment(self, K: Float) -> float:
        """The alignment of HKH and HTT'H, H = I - 11'/n (Cortes, Mohri, Rostamizadeh 2012); 0 for a constant K."""
        K = unit(K)
        centred = centred_matrix(K)
        if np.linalg.norm(centred) <= len(K) * np.finfo(np.float64).eps * np.linalg.norm(K):
            return 0.0
        return Target(self.factor - self.factor.mean(axis=0), self.kind).alignment(centred)

    def chance(self, K: Float) -> float:
        """The p-value of the centred alignment, from random orders of the target: a test of dependence by HSIC.

        HSIC is <HKH, TT'>, and the norms are the same in every order (Gretton et al., "A kernel statistical test of
        independence", 2008). Of a target of many dimensions, the 20 in which it varies most are looked at.
        """
        U, sizes, _ = np.linalg.svd(unit(self.factor - self.factor.mean(axis=0)), full_matrices=False)
        T = (U * sizes)[:, sizes > 1e-10 * sizes[0]][:, :DIRECTIONS]
        centred = centred_matrix(unit(K))
        observed = float((T * (centred @ T)).sum())
        alike = observed - 1e-10 * float(np.linalg.norm(centred) * np.linalg.norm(T.T @ T))  # rounding apart
        random, count = np.random.default_rng(0), 0
        for part in np.array_split(np.arange(ORDERS), 10):  # products with wide matrices are the faster ones
            order = np.stack([random.permutation(len(T)) for _ in part], axis=1)
            V = T[order].reshape(len(T), -1)
            found = (V * (centred @ V)).sum(axis=0).reshape(len(part), -1).sum(axis=1)
            count += int((found >= alike).sum())
        return (1 + count) / (1 + ORDERS)

    def whitened(self) -> Float:
        """The target (its ranks, for numbers) in orthogonal dimensions of mean 0 and mean square 1."""
        T = rankdata(self.factor, axis=0) if self.kind == "regression" else self.factor
        T = T - T.mean(axis=0)
        values, vectors = np.linalg.eigh(T.T @ T / len(T))
        kept = values > 1e-10 * max(values[-1], 0.0)
        return np.asarray(T @ (vectors[:, kept] / np.sqrt(values[kept])))


def centred_matrix(K: Float) -> Float:
    """HKH with H = I - 11'/n"""
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def _classes(values: Array) -> Array | None:
    """The class labels, if these are such rather than numbers to predict."""
    labels = np.unique(values)
    if len(labels) == 1:
        raise ValueError(f"y is {labels[0]} for every sample, so nothing can be learnt from it")
    if values.dtype.kind not in "fiu" or len(labels) == 2:
        return labels
    few = len(labels) <= min(MOST_CLASSES, len(values) // 2)
    return labels if few and (labels == np.floor(labels)).all() else None
