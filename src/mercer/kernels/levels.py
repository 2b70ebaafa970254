"""Levels of samples by their size: what a matrix in float32 may be off by is bounded between any two of them.

The entries of one large sample are wrong by far more than all others, whose bound must not be that of the worst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Array

Numbers = NDArray[np.float64]

#: A level ends at so many times the size at which the one below it does, the lowest at as many times the median.
FACTOR = 4.0
#: At most so many: larger samples are of the highest.
MOST = 16


@dataclass(frozen=True)
class Levels:
    """The level of every sample, from 0 to ``count`` - 1; there are samples of each."""

    of: NDArray[np.uint8]
    count: int

    @classmethod
    def one(cls, samples: int) -> Levels:
        return cls(np.zeros(samples, dtype=np.uint8), 1)

    @classmethod
    def by(cls, sizes: Array) -> Levels:
        """By numbers such as k(x, x)."""
        positive = np.abs(np.asarray(sizes, dtype=np.float64))
        known = positive[np.isfinite(positive) & (positive > 0)]
        if len(known) == 0 or len(known) < len(positive) // 2:
            return cls.one(len(positive))
        with np.errstate(all="ignore"):
            height = np.ceil(np.log(positive / np.median(known)) / np.log(FACTOR)) - 1
        height = np.nan_to_num(height, nan=MOST - 1, posinf=MOST - 1, neginf=0).clip(0, MOST - 1)
        there, level = np.unique(height, return_inverse=True)
        return cls(level.astype(np.uint8), len(there))

    def largest(self, values: Numbers) -> Numbers:
        """The largest of the values of each level."""
        result = np.zeros(self.count)
        np.maximum.at(result, self.of, values)
        return result

    def ordered(self, order: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        """The level of the samples in this order."""
        return self.of if order is None else self.of[order]
