"""Kernels of trees on the TREC questions: 5,452 to train, 500 to test, six classes, two kinds of dependency trees.

C and the decay are chosen by 5-fold cross-validation on the training questions (seed 0); the test questions are seen
once. GRCT trees have the relations inside and words at the leaves, LCT trees have the words inside (Croce, Moschitti
and Basili 2011). The baseline is the linear kernel of counts of words and pairs of neighbouring words.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold

from benchmarks.graphs import Time
from benchmarks.measure import DATA
from benchmarks.nested import Score, Voting
from mercer.kernels import Cosine, PartialTree, SubsetTree, Subtree
from mercer.samples import as_trees

CS = (1.0, 3.0, 10.0, 30.0)
DECAYS = (0.2, 0.4, 0.6)


def rows() -> Iterator[Score | Time]:
    if DATA is None:
        print("trees: set MERCER_DATA to the folder of the data sets")
        return
    yield from accuracy()
    yield from growth()


def load() -> tuple[list[str], list[str], list[str], Any, int]:
    """Questions, GRCT trees, LCT trees and classes, training first; and how many are for training."""
    parts = []
    for part in ("train", "test"):
        with gzip.open(Path(DATA or "") / f"trees_trec_{part}.tsv.gz", "rt", encoding="utf-8") as lines:
            parts.append([line.rstrip("\n").split("\t") for line in lines])
    y, questions, grct, lct = (list(column) for column in zip(*(parts[0] + parts[1]), strict=True))
    return questions, grct, lct, np.array(y), len(parts[0])


def chosen(name: str, grams: Iterable[tuple[str, Any]], y: Any, train: int, target: float) -> Score:
    """The accuracy on the test questions of the matrix and C that do best on the training questions."""
    best = (-1.0, "", None, 0.0)
    for label, K in grams:
        machine, scores = Voting(K, y), np.zeros(len(CS))
        for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(y[:train], y[:train]):
            scores += machine.accuracies(fit, held, CS) / 5
        c = int(scores.argmax())
        if scores[c] > best[0]:
            best = (float(scores[c]), label, machine, CS[c])
    score, label, machine, C = best
    assert machine is not None
    accuracy = machine.accuracies(np.arange(train), np.arange(train, len(y)), [C])[0]
    return Score(name, 100 * float(accuracy), 0.0, target, f"{label} C={C:g}, {100 * score:.1f} % in training folds")


def accuracy() -> Iterator[Score]:
    questions, grct, lct, y, train = load()
    counts = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+").fit(questions[:train]).transform(questions)
    words = Cosine()(counts.astype(np.float32))
    yield chosen("words and pairs of words", [("", words)], y, train, np.nan)
    trees = {"GRCT": as_trees(grct), "LCT": as_trees(lct)}
    pairs: list[tuple[str, Any, Any]] = []
    for kind in (Subtree, SubsetTree, PartialTree):
        decays = [()] if kind is Subtree else [(d,) if kind is SubsetTree else (d, 0.4) for d in DECAYS]
        kernels = [kind(*d) for d in decays]
        grams = {
            name: [(str(k), k.normalized()(samples).astype(np.float32)) for k in kernels]
            for name, samples in trees.items()
        }
        for name, some in grams.items():
            yield chosen(f"{kind.__name__} {name}", some, y, train, np.nan)
        pairs += [(label, K, L) for (label, K), (_, L) in zip(*grams.values(), strict=True)]
    both = ((label, K + L) for label, K, L in pairs)
    yield chosen("trees, GRCT + LCT", both, y, train, 91.0)
    joined = ((f"{label} + {w:g} words", K + L + w * words) for label, K, L in pairs for w in (0.5, 1.0, 2.0))
    yield chosen("trees, GRCT + LCT + words", joined, y, train, 92.5)


def growth() -> Iterator[Time]:
    """Twice the trees, then trees of more words: seconds of a whole Gram matrix."""
    _, grct, _, _, _ = load()
    by_size = sorted(grct, key=lambda tree: tree.count("("))
    parts = {f"{n} trees": grct[:n] for n in (500, 1000, 2000)}
    parts |= {f"500 trees, {q}": by_size[i : i + 500] for q, i in (("small", 500), ("middling", 2700), ("large", 4900))}
    for kernel in (Subtree(), SubsetTree(0.4), PartialTree(0.4, 0.4)):
        for name, texts in parts.items():
            trees = as_trees(texts)
            start = time.perf_counter()
            kernel(trees)
            seconds = time.perf_counter() - start
            yield Time(f"{kernel} {name}", seconds, np.nan, np.nan, np.nan, np.nan)
