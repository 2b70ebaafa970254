"""How long matrices of sequences take: against scikit-learn's counts and product, and as number and length grow."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.measure import Row, compare
from benchmarks.strings.data import fasta
from mercer.kernels import GappedKmer, Kernel, Mismatch, Spectrum

#: Seconds and bytes within which the matrices of 20,000 sequences are to be made, beside the matrix itself.
MINUTES, BUDGET = 10.0, 2 * 2**30


@dataclass(frozen=True)
class Growth:
    """The time and the memory of one matrix."""

    kernel: str
    sequences: int
    letters: int
    seconds: float
    peak_megabytes: float  # of the whole process, the matrix included

    def __str__(self) -> str:
        size = f"{self.sequences} x {self.letters}"
        return f"growth       {size:14s} {self.seconds:8.1f} s   peak {self.peak_megabytes:6.0f} MB   {self.kernel}"


def vectorizer() -> Iterator[Row]:
    X, _ = fasta("protein_multiloc.fasta.gz")
    kernel = Spectrum(4)

    def peer() -> Any:
        counts = CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False, dtype=np.float32)
        F = counts.fit_transform(X)
        return F @ F.T

    def ours() -> Any:
        return kernel(kernel.samples(X).astype(np.float32))

    yield compare(
        "Spectrum(4) MultiLoc",
        ours,
        "CountVectorizer, F @ F.T",
        peer,
        1 / 8,
        reference=lambda: peer().toarray(),
        rounds=3,
    )


def random(sequences: int, letters: int, alphabet: str) -> list[str]:
    rng = np.random.default_rng(0)
    return ["".join(row) for row in rng.choice(list(alphabet), (sequences, letters))]


def growth() -> Iterator[Growth]:
    proteins, dna = "ACDEFGHIKLMNPQRSTVWY", "ACGT"
    kernels: list[tuple[Kernel, str]] = [
        (Spectrum(4, alphabet="protein"), proteins),
        (Mismatch(5, 1, alphabet="protein"), proteins),
        (GappedKmer(10, 6, alphabet="dna"), dna),
    ]
    for kernel, alphabet in kernels:
        for sequences, letters in ((1250, 200), (5000, 200), (5000, 800), (20000, 200)):
            X = kernel.samples(random(sequences, letters, alphabet)).astype(np.float32)
            begun = time.perf_counter()
            kernel(X)
            seconds = time.perf_counter() - begun
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            yield Growth(repr(kernel), sequences, letters, seconds, peak)


CASES: dict[str, Callable[[], Iterator[Any]]] = {"vectorizer": vectorizer, "growth": growth}
