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
FACTOR = 2.0
#: At most so many: larger samples are of the highest.
MOST = 24


@dataclass(frozen=True)
class Levels:
    """The level of every sample, from 0 to ``count`` - 1; there are samples of each."""

    of: NDArray[np.uint8]
    count: int

    @classmethod
    def one(cls, samples: int) -> Levels:
        return cls(np.zeros(samples, dtype=np.uint8), 1)

    @classmethod
    def by(cls, *sizes: Array | None, samples: int) -> Levels:
        """By numbers such as |x|^2, each beside its median: by the largest of these where a sample has several."""
        known = [relative(of_all) for of_all in sizes if of_all is not None and samples > 0]
        if not known:
            return cls.one(samples)
        with np.errstate(divide="ignore"):
            height = np.ceil(np.log(np.max(known, axis=0)) / np.log(FACTOR)) - 1
        height = height.clip(0, MOST - 1).astype(np.intp)
        there = np.bincount(height) > 0
        return cls((np.cumsum(there) - 1).astype(np.uint8)[height], int(there.sum()))

    def largest(self, values: Numbers) -> Numbers:
        """The largest of the values of each level."""
        result = np.zeros(self.count)
        np.maximum.at(result, self.of, values)
        return result

    def ordered(self, order: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        """The level of the samples in this order."""
        return self.of if order is None else self.of[order]


def relative(sizes: Array) -> Numbers:
    """Sizes as multiples of their median; what is no number is infinite, and where most are 0 all are alike."""
    sizes = np.where(np.isfinite(sizes), sizes, np.inf)
    median = np.median(sizes)
    return np.asarray(sizes / median if 0 < median < np.inf else np.ones(len(sizes)))
