"""How long matrices of sequences take: against scikit-learn's counts and product, and as number and length grow."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.measure import Row, compare
from benchmarks.strings.data import fasta
from mercer.kernels import GappedKmer, Kernel, Mismatch, Spectrum

PROTEIN, DNA = "ACDEFGHIKLMNPQRSTVWY", "ACGT"
GROWING: dict[str, tuple[Kernel, str]] = {
    "spectrum": (Spectrum(4, alphabet="protein"), PROTEIN),
    "mismatch": (Mismatch(5, 1, alphabet="protein"), PROTEIN),
    "gapped": (GappedKmer(10, 6, alphabet="dna"), DNA),
}
#: Numbers and lengths of random sequences.
SIZES = ((625, 200), (1250, 200), (2500, 200), (1250, 100), (1250, 400))
MANY = (20000, 200)
#: Seconds of processor time, and megabytes beside the matrix itself, within which MANY are to be compared.
MOST_SECONDS, MOST_MEGABYTES = 1200.0, 1000.0


@dataclass(frozen=True)
class Growth:
    """The time and the memory of one float32 matrix, made by a process of its own."""

    kernel: str
    sequences: int
    letters: int
    seconds: float
    processor_seconds: float  # of all threads together; does not grow when others use the machine
    matrix_megabytes: float
    more_megabytes: float  # the peak of the process, less its size before, less the matrix

    def __str__(self) -> str:
        verdict = ""
        if (self.sequences, self.letters) == MANY:
            fits = self.processor_seconds <= MOST_SECONDS and self.more_megabytes <= MOST_MEGABYTES
            verdict = "   met" if fits else "   MISSED"
        return (
            f"{self.sequences:6d} x {self.letters:4d} {self.seconds:8.2f} s   processor {self.processor_seconds:8.2f} s"
            f"   matrix {self.matrix_megabytes:6.0f} MB   more {self.more_megabytes:6.0f} MB   {self.kernel}{verdict}"
        )


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
    drawn = np.frombuffer(alphabet.encode(), np.uint8)
    rng = np.random.default_rng(0)
    return [row.tobytes().decode() for row in rng.choice(drawn, (sequences, letters))]


def megabytes() -> float:
    """What the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measured(name: str, sequences: int, letters: int) -> Growth:
    kernel, alphabet = GROWING[name]
    X = kernel.samples(random(sequences, letters, alphabet)).astype(np.float32)
    kernel(X.take(np.arange(100)))  # what is loaded once is no part of it
    before = megabytes()
    begun, used = time.perf_counter(), time.process_time()
    K = kernel(X)
    seconds, processor = time.perf_counter() - begun, time.process_time() - used
    matrix = K.nbytes / 1e6
    return Growth(repr(kernel), sequences, letters, seconds, processor, matrix, peak_megabytes() - before - matrix)


def growth(name: str, sizes: tuple[tuple[int, int], ...]) -> Iterator[Growth]:
    for size in sizes:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            yield process.apply(measured, (name, *size))


def plot(file: Path, rows: list[dict[str, Any]]) -> None:
    """Seconds of processor time against the number and against the length of sequences."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    found = [row for row in rows if row["case"].startswith(("growth", "many"))]
    if {row["letters"] for row in found if row["sequences"] == 1250} <= {200}:
        return
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for i, (grows, fixed, at) in enumerate((("sequences", "letters", 200), ("letters", "sequences", 1250))):
        for kernel in dict.fromkeys(row["kernel"] for row in found):
            alike = [row for row in found if row["kernel"] == kernel and row[fixed] == at]
            points = sorted((row[grows], row["processor_seconds"]) for row in alike)
            panels[i].loglog([p[0] for p in points], [p[1] for p in points], "o-", label=kernel)
        panels[i].set(xlabel=grows, title=f"{at} {fixed}")
    panels[0].set_ylabel("seconds of processor time")
    panels[0].legend(fontsize="small")
    figure.savefig(file, dpi=120)
    plt.close(figure)


CASES: dict[str, Callable[[], Iterator[Any]]] = {
    "vectorizer": vectorizer,
    **{f"growth-{name}": partial(growth, name, SIZES) for name in GROWING},
    **{f"many-{name}": partial(growth, name, (MANY,)) for name in GROWING},
}
