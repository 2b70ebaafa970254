"""The data sets of sequences, and cross-validation on a matrix that is computed once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.measure import DATA
from mercer import SVC
from mercer.files import read_fasta


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


def right(K: Any, y: Any, train: Any, test: Any, C: float) -> int:
    """How many test samples a machine fitted to the training samples gets right."""
    block = np.ascontiguousarray(K[np.ix_(test, train)])
    return int((fitted(K, y, train, C).predict(block) == y[test]).sum())


def chosen(matrices: dict[Any, Any], y: Any, train: Any, grid: tuple[float, ...]) -> tuple[Any, float]:
    """The kernel and the C that are best in 3-fold cross-validation inside the training samples."""
    if len(matrices) * len(grid) == 1:
        return next(iter(matrices)), grid[0]
    scores = {
        (name, C): sum(right(K, y, train[a], train[b], C) for a, b in folds(y[train], 3, 1))
        for name, K in matrices.items()
        for C in grid
    }
    return max(scores, key=lambda key: scores[key])


def nested(matrices: dict[Any, Any], y: Any, count: int, grid: tuple[float, ...]) -> float:
    """The share of samples that are right when left out; kernel and C are chosen inside the rest."""
    correct = 0
    for train, test in folds(y, count, 0):
        name, C = chosen(matrices, y, train, grid)
        correct += right(matrices[name], y, train, test, C)
    return correct / len(y)
