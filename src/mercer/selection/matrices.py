"""The matrices that the cells of a search share, within one budget of memory.

A matrix is of all rows, those held out included: so every split, every C and every pair of classes reads the same one.
Kernels that are functions of one reduction of the same rows, as all widths are, share that, too.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram import DEFAULT_BUDGET, Gram
from mercer.gram.reduction import StoredReduction
from mercer.kernels import Kernel
from mercer.samples import Samples

#: Without a number from the user a search takes at most this part of the memory that is free, and these bytes.
PART, MOST = 0.25, 4 * 2**30


def budget_of(cache_size: float | None) -> int:
    """The bytes that a search may take; ``cache_size`` in megabytes."""
    if cache_size is not None:
        return int(cache_size * 2**20)
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return DEFAULT_BUDGET
    return int(max(DEFAULT_BUDGET, min(MOST, PART * free)))


@dataclass
class Layout:
    """How matrices of so many rows are kept within a budget: what one takes, and of what it is made."""

    rows: int
    budget: int
    #: The precision of the reduction that is stored for all widths; None if there is none.
    reduction: np.dtype[Any] | None
    #: Whether matrices are held whole.
    held: bool

    @classmethod
    def of(cls, rows: int, budget: int, kernels: int) -> Layout:
        """What fits: a reduction in float64 and matrices in float32, at best; else less, down to rows as they come.

        Matrices are held of entries in float64, which a reduction in float32 does not give. One must fit; how many
        threads there are changes nothing of it, as it could change the last bits of what comes out.
        """
        matrix = 4 * rows * (rows + 16)
        exact = np.dtype(np.float64)
        if kernels > 1 and exact.itemsize * rows**2 + matrix <= budget:
            return cls(rows, budget, exact, True)
        return cls(rows, budget, None, matrix <= budget)

    def threads(self, wanted: int) -> int:
        """How many threads may work on matrices of their own."""
        if not self.held:
            return 1  # which has all of the core's
        return max(1, min(wanted, (self.budget - self.bytes_of_reduction) // self.bytes_of_matrix))

    @property
    def bytes_of_reduction(self) -> int:
        return 0 if self.reduction is None else self.reduction.itemsize * self.rows**2

    @property
    def bytes_of_matrix(self) -> int:
        return 4 * self.rows * (self.rows + 16) if self.held else 0


@dataclass(eq=False)
class Shared:
    """The reductions and matrices of one set of rows, each made once, by whichever thread comes first."""

    layout: Layout
    at_once: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    reductions: list[StoredReduction | None] = field(default_factory=list)
    grams: OrderedDict[Kernel, tuple[threading.Lock, list[Gram]]] = field(default_factory=OrderedDict)

    def gram(self, kernel: Kernel, samples: Samples) -> Gram:
        """The matrix of a kernel that is resolved; only those used last are kept."""
        with self.lock:
            entry = self.grams.pop(kernel, None) or (threading.Lock(), [])
            self.grams[kernel] = entry
            while len(self.grams) > self.at_once:
                self.grams.popitem(last=False)
        mine, made = entry
        with mine:
            if not made:
                made.append(self._made(kernel, samples))
        return made[0]

    def _made(self, kernel: Kernel, samples: Samples) -> Gram:
        layout = self.layout
        rest = max(0, layout.budget - layout.bytes_of_reduction - layout.bytes_of_matrix * (self.at_once - 1))
        gram = self._reduced(kernel, samples, rest) or kernel.gram(
            samples, rest // (1 if layout.held else self.at_once)
        )
        if layout.held:
            gram.hold()
        return gram

    def _reduced(self, kernel: Kernel, samples: Samples, budget: int) -> Gram | None:
        """From what is stored, or is from now on; None if the kernel is no function of one reduction."""
        if self.layout.reduction is None:
            return None
        with self.lock:
            for stored in self.reductions:
                gram = of_stored(stored, kernel, budget)
                if gram is not None:
                    return gram
            if self.reductions:  # one is stored, and this kernel has another
                return None
            try:
                stored = kernel.gram(samples, budget).reduction(self.layout.reduction)
            except ValueError:
                self.reductions.append(None)
                return None
            self.reductions.append(stored)
            return of_stored(stored, kernel, budget)


def of_stored(stored: StoredReduction | None, kernel: Kernel, budget: int) -> Gram | None:
    if stored is None:
        return None
    try:
        gram = stored.gram(kernel)
    except ValueError:  # a function of something else
        return None
    gram.budget = budget
    return gram
