"""Classification of DNA, proteins and text: what kernels of sequences reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.strings.data import Score, fasta, fitted, folds, nested, records, right, table
from mercer import SVC
from mercer.kernels import GappedKmer, Kernel, Segment, Spectrum, WeightedDegree, exp


def nfe2() -> Iterator[Score]:
    """Binding sites of a transcription factor: C = 1, AUC on the given test set and in 5-fold on the training set."""
    parts = {
        (part, sign): fasta("dna_nfe2_chipseq.zip", f"nfe2_{part}_{sign}.fa")[0]
        for part in ("train", "test")
        for sign in ("pos", "neg")
    }
    train, test = (parts[part, "pos"] + parts[part, "neg"] for part in ("train", "test"))
    y, y_test = (np.repeat([1, 0], [len(parts[part, "pos"]), len(parts[part, "neg"])]) for part in ("train", "test"))
    kernels = {
        GappedKmer(10, 6, "dna", reverse_complement=True).normalized(): (0.99, 0.985),
        Spectrum(6, alphabet="dna", reverse_complement=True).normalized(): (None, None),
    }
    for kernel, (target, target_cv) in kernels.items():
        K = kernel(train)
        machine = SVC(C=1, kernel="precomputed").fit(K, y)
        values = machine.decision_function(kernel(test, train))
        yield Score("nfe2", repr(kernel), "given test set, C=1", "AUC", roc_auc_score(y_test, values), target)
        areas = []
        for a, b in folds(y, 5, 0):
            held = fitted(K, y, a, 1.0).decision_function(np.ascontiguousarray(K[np.ix_(b, a)]))
            areas.append(roc_auc_score(y[b], held))
        yield Score("nfe2", repr(kernel), "5-fold on the training set, C=1", "AUC", float(np.mean(areas)), target_cv)


def splice() -> Iterator[Score]:
    """Splice junctions, three classes: nested 5-fold over degree and C."""
    rows = table("dna_splice.tsv.gz")
    y, X = np.array([row[0] for row in rows]), [row[2] for row in rows]
    matrices = {d: WeightedDegree(d, alphabet="dna").normalized()(X) for d in SPLICE_DEGREES}
    reached = nested(matrices, y, 5, (1.0, 10.0))
    protocol = f"nested 5-fold, inner 3-fold over d in {SPLICE_DEGREES} and C in 1, 10"
    yield Score("splice", "WeightedDegree(d).normalized()", protocol, "accuracy", reached, 0.965)


SPLICE_DEGREES = (5, 10, 20)


def promoters() -> Iterator[Score]:
    """Promoters of E. coli: leave one out, parameters fixed."""
    rows = table("dna_promoters.tsv.gz")
    y, X = np.array([row[0] for row in rows]), [row[1] for row in rows]
    kernel = PROMOTERS
    K, every = kernel(X), np.arange(len(y))
    reached = sum(right(K, y, np.delete(every, i), every[i : i + 1], 1.0) for i in every) / len(y)
    yield Score("promoters", repr(kernel), "leave one out, C=1", "accuracy", reached, 0.95)


PROMOTERS = WeightedDegree(5).normalized()


def multiloc() -> Iterator[Score]:
    """Where in the cell a protein is, 11 classes: 5-fold, C chosen inside; words of the whole and of the first 60."""
    X, headers = fasta("protein_multiloc.fasta.gz")
    y = np.array([header.split("|")[0] for header in headers])
    words = [Spectrum(k, alphabet="protein").normalized() for k in (1, 2, 3)]
    whole = words[0] + words[1] + words[2]
    head = words[0].on(Segment(0, 60)) + words[1].on(Segment(0, 60))
    protocol = f"nested 5-fold, inner 3-fold over C in {MULTILOC_C}"
    for kernel, target in ((exp(2 * whole).normalized(), 0.77), (exp(1.5 * (whole + head)).normalized(), 0.81)):
        reached = nested({0: kernel(X).astype(np.float32)}, y, 5, MULTILOC_C)
        yield Score("multiloc", repr(kernel), protocol, "accuracy", reached, target)


MULTILOC_C = (3.0, 10.0)


def polarity() -> Iterator[Score]:
    """Film reviews, good or bad: 10-fold, C chosen inside; sequences of words, and of letters."""
    reviews = records("text_polarity.jsonl.gz")
    y = np.array([review["label"] for review in reviews])
    texts = [review["text"] for review in reviews]
    cases: list[tuple[Kernel, Any, float | None]] = [
        (Spectrum(2, min_k=1, presence=True).normalized(), [text.split() for text in texts], 0.875),
        (Spectrum(5, presence=True).normalized(), texts, None),
    ]
    for kernel, X, target in cases:
        what = "words" if X is not texts else "letters"
        reached = nested({0: kernel(X)}, y, 10, (1.0, 10.0))
        protocol = f"{what}, nested 10-fold, inner 3-fold over C in 1, 10"
        yield Score("polarity", repr(kernel), protocol, "accuracy", reached, target)


CASES: dict[str, Callable[[], Iterator[Any]]] = {
    "nfe2": nfe2,
    "splice": splice,
    "promoters": promoters,
    "multiloc": multiloc,
    "polarity": polarity,
}
