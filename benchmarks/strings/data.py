"""The data sets of sequences, and cross-validation on a matrix that is computed once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.measure import DATA
from mercer import SVC
from mercer.files import read_fasta

Grid = tuple[float, ...]


@dataclass(frozen=True)
class Score:
    """What was reached, by which protocol, and what is to be reached."""

    name: str
    kernel: str
    protocol: str
    measure: str
    reached: float
    target: float | None

    def __str__(self) -> str:
        verdict = "" if self.target is None else "met" if self.reached >= self.target else "MISSED"
        target = "" if self.target is None else f"target {self.target:.3f} {verdict:6s}"
        return f"{self.name:12s} {self.measure:9s} {self.reached:.4f}   {target:20s} {self.kernel}   [{self.protocol}]"


def path(file: str) -> Path:
    assert DATA is not None
    return Path(DATA) / file


def fasta(file: str, member: str | None = None) -> tuple[list[str], list[str]]:
    return read_fasta(path(file), member)


def table(file: str) -> list[list[str]]:
    with gzip.open(path(file), "rt", encoding="utf-8") as lines:
        return [[cell.strip() for cell in line.split("\t")] for line in lines]


def records(file: str) -> list[dict[str, Any]]:
    with gzip.open(path(file), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def folds(y: Any, count: int, seed: int) -> Iterator[tuple[Any, Any]]:
    yield from StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)


def fitted(K: Any, y: Any, train: Any, C: float) -> SVC:
    return SVC(C=C, kernel="precomputed").fit(np.ascontiguousarray(K[np.ix_(train, train)]), y[train])


def accuracy(machine: SVC, block: Any, y: Any) -> float:
    return float((machine.predict(block) == y).mean())


def area(machine: SVC, block: Any, y: Any) -> float:
    """Under the ROC curve."""
    return float(roc_auc_score(y, machine.decision_function(block)))


Measure = Callable[[SVC, Any, Any], float]


def scored(K: Any, y: Any, train: Any, test: Any, C: float, measure: Measure) -> float:
    """How a machine that is fitted to the training samples does on the test samples."""
    return measure(fitted(K, y, train, C), np.ascontiguousarray(K[np.ix_(test, train)]), y[test])


def chosen(matrices: dict[Any, Any], y: Any, train: Any, grid: Grid, measure: Measure, inner: int) -> tuple[Any, float]:
    """The kernel and the C that are best where each of the first ``inner`` of three folds of the training samples is
    left out in turn."""
    parts = list(folds(y[train], 3, 1))[:inner]
    scores = {
        (name, C): sum(scored(K, y, train[a], train[b], C, measure) for a, b in parts)
        for name, K in matrices.items()
        for C in grid
    }
    return max(scores, key=lambda key: scores[key])


def nested(
    matrices: dict[Any, Any],
    y: Any,
    splits: Iterable[tuple[Any, Any]],
    grid: Grid,
    measure: Measure,
    inner: int = 3,
) -> float:
    """The mean over splits, weighed by their sizes; kernel and C are chosen inside the training part of each."""
    values, sizes = [], []
    for train, test in splits:
        name, C = chosen(matrices, y, train, grid, measure, inner)
        values.append(scored(matrices[name], y, train, test, C, measure))
        sizes.append(len(test))
    return float(np.average(values, weights=sizes))
