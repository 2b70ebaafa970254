"""Kernels of trees on the TREC questions: 5,452 to train, 500 to test, six classes, two kinds of dependency trees.

``python -m benchmarks trees --only words`` runs some cases; their rows are merged into the results.

GRCT trees have the relations inside and words at the leaves, LCT trees have the words inside (Croce, Moschitti and
Basili 2011). The machines are one class against the rest, both sides weighing the same, as in the example that KeLP
ships for these trees. The decay of every kernel is chosen on 2,000 of the training questions, C on all of them, both by
3-fold cross-validation (seed 0); the test questions are seen once per row. The baseline is the linear kernel of counts
of words and pairs of neighbouring words, normalised. The last sum grows in the same folds: of several kernels of
sequences, such as how a question opens or the lemmas at the leaves of its tree, the one that helps most is added until
none helps. What each did there is told; only the last sum sees the test questions.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold

from benchmarks import growth
from benchmarks.measure import DATA, run_cases
from benchmarks.nested import Balanced, Machines, Score, Voting
from mercer.kernels import Cosine, Kernel, PartialTree, Spectrum, SubsetTree, Subtree
from mercer.samples import as_trees

CS = (1.0, 3.0, 10.0)
#: Kernels to choose from. What the literature's programs call mu = 0.4 is 0.4 / decay^2 here: see docs/trees.md.
FAMILIES: dict[str, list[Kernel]] = {
    "SubsetTree": [SubsetTree(decay) for decay in (0.1, 0.2, 0.4, 0.6)],
    "PartialTree": [PartialTree(decay, round(0.4 / decay**2, 3)) for decay in (0.2, 0.4, 0.6)],
}
SINGLE = [("SubsetTree", "GRCT"), ("PartialTree", "LCT")]
SUMS = [tuple(SINGLE)]
SUBSAMPLE = 2000
LEMMA = re.compile(r"LEX##(.+?)::\w\)")
#: Kernels of sequences, and how to read the sequence from a question and its GRCT tree.
SEQUENCES: dict[str, tuple[Kernel, Callable[[str, str], list[str]]]] = {
    "opening": (Spectrum(3, min_k=1, presence=True), lambda question, tree: question.split()[:4]),
    "two words": (Spectrum(2, min_k=1, presence=True), lambda question, tree: question.lower().split()[:2]),
    "lemmas": (Spectrum(2, min_k=1, presence=True), lambda question, tree: LEMMA.findall(tree)),
    "vocabulary": (Spectrum(1, presence=True), lambda question, tree: question.lower().split()),
    "letters": (Spectrum(5, min_k=3, presence=True), lambda question, tree: list(question.lower())),
}


def run(chosen: argparse.Namespace) -> None:
    if DATA is None:
        print("trees: set MERCER_DATA to the folder of the data sets")
        return
    cases: dict[str, Any] = {
        "words": partial(best, "words and pairs of words", lambda: [("", words())], np.nan),
        "words, voting": partial(best, "words and pairs of words, voting", lambda: [("", words())], np.nan, Voting),
    }
    for family, kind in SINGLE:
        alone = partial(summed, [((family, kind),)], 0.0)
        cases[f"{family} {kind}"] = partial(best, f"{family} {kind}", alone, np.nan)
    cases["sums"] = partial(best, "sum of kernels of trees", partial(summed, SUMS, 0.0), 91.0)
    cases["sums and words"] = partial(best, "sum of kernels of trees and words", partial(summed, SUMS, 1.0), 92.5)
    cases["sums and sequences"] = enriched
    cases["growth"] = grown
    run_cases("trees", cases, chosen.only)


@cache
def load() -> tuple[list[str], list[str], list[str], Any, int]:
    """Questions, GRCT trees, LCT trees and classes, training first; and how many are for training."""
    parts = []
    for part in ("train", "test"):
        with gzip.open(Path(DATA or "") / f"trees_trec_{part}.tsv.gz", "rt", encoding="utf-8") as lines:
            parts.append([line.rstrip("\n").split("\t") for line in lines])
    y, questions, grct, lct = (list(column) for column in zip(*(parts[0] + parts[1]), strict=True))
    return questions, grct, lct, np.array(y), len(parts[0])


def accuracy_in_folds(machine: Machines, rows: Any) -> Any:
    """The mean accuracy of 3-fold cross-validation on these rows, for each C."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(rows, machine.y[rows])
    return np.mean([machine.accuracies(rows[fit], rows[held], CS) for fit, held in folds], axis=0)


def best(name: str, candidates: Any, target: float, kind: type[Machines] = Balanced) -> Iterator[Score]:
    """The accuracy on the test questions of the matrix and C that do best on the training questions."""
    *_, y, train = load()
    found: tuple[float, str, Any, float] = (-1.0, "", None, 0.0)
    for label, K in candidates():
        machine = kind(K, y)
        scores = accuracy_in_folds(machine, np.arange(train))
        c = int(scores.argmax())
        if scores[c] > found[0]:
            found = float(scores[c]), label, machine, CS[c]
    score, label, machine, C = found
    accuracy = machine.accuracies(np.arange(train), np.arange(train, len(y)), [C])[0]
    yield Score(name, 100 * float(accuracy), 0.0, target, f"{label} C={C:g}, {100 * score:.1f} % in training folds")


@cache
def words() -> Any:
    questions, *_, train = load()
    counts = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+").fit(questions[:train]).transform(questions)
    return Cosine()(counts.astype(np.float32))


@cache
def samples(kind: str) -> Any:
    _, grct, lct, _, _ = load()
    return as_trees({"GRCT": grct, "LCT": lct}[kind])


@cache
def tuned(family: str, kind: str) -> Kernel:
    """The kernel of the family with the decay that does best on some training questions."""
    *_, y, train = load()
    some = np.random.default_rng(0).choice(train, SUBSAMPLE, replace=False)
    scores = [
        accuracy_in_folds(Balanced(kernel.normalized()(samples(kind).take(some)), y[some]), np.arange(SUBSAMPLE)).max()
        for kernel in FAMILIES[family]
    ]
    return FAMILIES[family][int(np.argmax(scores))]


@cache
def gram(family: str, kind: str) -> Any:
    return tuned(family, kind).normalized()(samples(kind)).astype(np.float32)


def summed(sums: Iterable[tuple[tuple[str, str], ...]], weight: float) -> Iterator[tuple[str, Any]]:
    """Sums of normalised kernels of trees, and of that of words with this weight."""
    for parts in sums:
        label = " + ".join(f"{tuned(*part)} {part[1]}" for part in parts)
        K = np.sum([gram(*part) for part in parts], axis=0)
        yield (f"{label} + words", K + weight * words()) if weight else (label, K)


@cache
def sequences(name: str) -> Any:
    kernel, read = SEQUENCES[name]
    questions, grct, *_ = load()
    read_all = [read(question, tree) for question, tree in zip(questions, grct, strict=True)]
    return kernel.normalized()(read_all).astype(np.float32)


def enriched() -> Iterator[Score]:
    """The sum of kernels of trees and words, to which kernels of sequences are added as long as one helps."""
    *_, y, train = load()
    (label, total), names, reached = next(summed(SUMS, 1.0)), dict.fromkeys(SEQUENCES), 0.0
    while names:
        scores = {
            name: 100 * accuracy_in_folds(Balanced(total + sequences(name), y), np.arange(train)).max()
            for name in names
        }
        for name, score in scores.items():
            yield Score(f"{label} + {name}", float(score), 0.0, np.nan, "in training folds")
        name = max(scores, key=lambda name: scores[name])
        if scores[name] <= reached:
            break
        label, total, reached = f"{label} + {name}", total + sequences(name), scores[name]
        del names[name]
    yield from best("sum of kernels of trees, words and sequences", lambda: [(label, total)], 92.5)


def grown() -> Iterator[growth.Growth]:
    """Questions in the order of the file, and questions of about the same number of nodes."""
    _, grct, *_ = load()
    sizes = np.array([tree.count("(") for tree in grct])
    order = np.argsort(sizes, kind="stable")
    alike = {start: [grct[i] for i in order[start : start + 500]] for start in (500, 2700, 4600, 5400)}
    objects = {
        "number of trees": {n: grct[:n] for n in (500, 1000, 2000, 4000)},
        "mean nodes of each of 500 trees": {
            int(np.mean([tree.count("(") for tree in some])): some for some in alike.values()
        },
    }
    kernels = [Subtree(), SubsetTree(0.4), PartialTree(0.4, 0.4)]
    yield from growth.measured("trees", kernels, as_trees, objects)
