"""Classification of DNA, proteins and text: what kernels of sequences reach.

Kernels have no fitted parameters, so their matrices are computed once and folds are parts of them. C, and what else is
not fixed, is chosen by 3-fold cross-validation inside each training part (seed 1); outer folds have seed 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from benchmarks.strings.data import Score, accuracy, area, fasta, folds, nested, records, table
from mercer.kernels import GappedKmer, Kernel, Segment, Spectrum, WeightedDegree, exp

NFE2_C = (0.1, 1.0, 10.0)
#: l and k of gapped words: the literature's 10 and 6, and those around them.
GAPPED = ((10, 6), (11, 7), (9, 6), (8, 6), (8, 5))
#: The sequences are peaks of about 230 bases around a binding site.
MIDDLE = Segment(60, -60)
MULTILOC_C = (3.0, 10.0)
DEGREES, DEGREES_C = (5, 10, 20), (1.0, 10.0)
POLARITY_C = (1.0, 10.0)


def nfe2() -> Iterator[Score]:
    """Binding sites of a transcription factor: AUC on the given test set and in 5-fold on the training set."""
    parts = {
        (part, sign): fasta("dna_nfe2_chipseq.zip", f"nfe2_{part}_{sign}.fa")[0]
        for part in ("train", "test")
        for sign in ("pos", "neg")
    }
    X = [sequence for part in parts.values() for sequence in part]
    y = np.concatenate([np.full(len(part), sign == "pos") for (_, sign), part in parts.items()])
    train = np.arange(sum(len(part) for (name, _), part in parts.items() if name == "train"))
    test = np.arange(len(train), len(X))
    family = [GappedKmer(length, k, "dna", reverse_complement=True).normalized() for length, k in GAPPED]
    gapped = family[0]
    words = Spectrum(6, alphabet="dna", reverse_complement=True).normalized()
    middle = gapped.on(MIDDLE)  # where a peak's binding site is
    K = {kernel: kernel(X) for kernel in (*family, words, middle)}
    one = "k or exp(k).normalized()"
    sums = [(gapped,), (middle,), (gapped, middle), (gapped, words), (gapped, middle, words)]
    pools = [
        (repr(gapped), one, exponentials([K[gapped]], 1.0), None, None),
        (
            repr(gapped).replace("l=10, k=6", "l, k"),
            f"l and k in {GAPPED}, {one}",
            exponentials([K[kernel] for kernel in family], 1.0),
            0.99,
            0.985,
        ),
        (repr(words), one, exponentials([K[words]], 1.0), None, None),
        (
            f"means of {gapped}, the same on {MIDDLE}, and {words}",
            f"{len(sums)} sums, k or exp(2 * k).normalized()",
            exponentials([np.mean([K[kernel] for kernel in some], axis=0) for some in sums], 2.0),
            0.99,
            0.985,
        ),
    ]
    for name, what, matrices, target, target_cv in pools:
        what = f"{what}, C in {NFE2_C}"
        given = nested(matrices, y, [(train, test)], NFE2_C, area)
        yield Score("nfe2", name, f"given test set; {what}", "AUC", given, target)
        five = nested(matrices, y, folds(y[train], 5, 0), NFE2_C, area)
        yield Score("nfe2", name, f"5-fold on the training set; {what}", "AUC", five, target_cv)


def exponentials(matrices: list[Any], factor: float) -> dict[Any, Any]:
    """The matrices, of normalised kernels, and their exponentials: what to choose from."""
    return dict(enumerate(matrices + [np.exp(factor * (K - 1)) for K in matrices]))


def splice() -> Iterator[Score]:
    """Splice junctions, three classes: 5-fold."""
    rows = table("dna_splice.tsv.gz")
    y, X = np.array([row[0] for row in rows]), [row[2] for row in rows]
    yield by_degree("splice", "5-fold", X, y, folds(y, 5, 0), 0.965)


def promoters() -> Iterator[Score]:
    """Promoters of E. coli: leave one out. The choices are those of the splice junctions."""
    rows = table("dna_promoters.tsv.gz")
    y, X = np.array([row[0] for row in rows]), [row[1] for row in rows]
    yield by_degree("promoters", "leave one out", X, y, LeaveOneOut().split(X), 0.95)


def by_degree(name: str, protocol: str, X: Any, y: Any, splits: Any, target: float) -> Score:
    matrices = {d: WeightedDegree(d, alphabet="dna").normalized()(X) for d in DEGREES}
    reached = nested(matrices, y, splits, DEGREES_C, accuracy)
    protocol = f"{protocol}; d in {DEGREES}, C in {DEGREES_C}"
    return Score(name, "WeightedDegree(d).normalized()", protocol, "accuracy", reached, target)


def multiloc(head: bool, target: float) -> Iterator[Score]:
    """Where in the cell a protein is, 11 classes: 5-fold; words of the whole and, if asked, of the first 60 letters."""
    X, headers = fasta("protein_multiloc.fasta.gz")
    y = np.array([header.split("|")[0] for header in headers])
    parts: list[Kernel] = [Spectrum(k, alphabet="protein").normalized() for k in (1, 2, 3)]
    if head:
        parts += [part.on(Segment(0, 60)) for part in parts[:2]]
    values, sizes = [], []
    for train, test in folds(y, 5, 0):
        kernel = reduce(add, [spread(part, [X[i] for i in train]) for part in parts])
        K = kernel(kernel.samples(X).astype(np.float32))
        values.append(nested({0: K}, y, [(train, test)], MULTILOC_C, accuracy, inner=1))
        sizes.append(len(test))
    protocol = f"5-fold; m the median of 1 - k in the training part; C in {MULTILOC_C}, by one inner fold"
    name = " + ".join(f"exp({part} / m).normalized()" for part in parts)
    yield Score("multiloc", name, protocol, "accuracy", float(np.average(values, weights=sizes)), target)


def spread(k: Kernel, X: list[str]) -> Kernel:
    """The Gaussian in the space of a normalised kernel's features, as wide as their median distance.

    |phi(x) - phi(z)|^2 is 2 - 2 k(x, z), so this is exp(k / m), normalised, where m is the median of 1 - k. Letters and
    pairs of them stand in all proteins: without this their kernels are near 1 for all pairs.
    """
    some = X[:: max(1, len(X) // 1000)]
    apart = 1 - k(some)[np.triu_indices(len(some), 1)]
    return exp(float(1 / np.median(apart)) * k).normalized()


def polarity() -> Iterator[Score]:
    """Film reviews, good or bad: 10-fold; sequences of words, and of letters."""
    reviews = records("text_polarity.jsonl.gz")
    y = np.array([review["label"] for review in reviews])
    texts = [review["text"] for review in reviews]
    cases: list[tuple[str, Kernel, Any, float | None]] = [
        ("words", Spectrum(2, min_k=1, presence=True).normalized(), [text.split() for text in texts], 0.875),
        ("letters", Spectrum(5, presence=True).normalized(), texts, None),
    ]
    for what, kernel, X, target in cases:
        reached = nested({0: kernel(X)}, y, folds(y, 10, 0), POLARITY_C, accuracy)
        yield Score("polarity", repr(kernel), f"{what}, 10-fold; C in {POLARITY_C}", "accuracy", reached, target)


CASES: dict[str, Callable[[], Iterator[Any]]] = {
    "nfe2": nfe2,
    "splice": splice,
    "promoters": promoters,
    "multiloc-whole": partial(multiloc, False, 0.77),
    "multiloc-head": partial(multiloc, True, 0.81),
    "polarity": polarity,
}
