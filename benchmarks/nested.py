"""Accuracy by repeated cross-validation on Gram matrices, with parameters chosen inside the training folds only.

Every support vector machine is the hinge problem of one pair of classes on the whole matrix, where the samples that it
must not see have bounds of zero; so no part of a matrix is ever copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.kernels import Precomputed
from mercer.problem import hinge
from mercer.solvers import SMO


@dataclass(frozen=True)
class Score:
    """An accuracy in per cent, its standard deviation over repeats, and the accuracy we are to reach."""

    name: str
    accuracy: float
    deviation: float
    target: float
    protocol: str

    def __str__(self) -> str:
        verdict = "" if np.isnan(self.target) else "met" if self.accuracy >= self.target else "MISSED"
        return (
            f"{self.name:42s} {self.accuracy:6.2f} % +- {self.deviation:4.2f}   "
            f"target {self.target:5.1f} {verdict:6s}  {self.protocol}"
        )


class Voting:
    """Support vector machines of all pairs of classes on one Gram matrix; ``C`` by C, all at once."""

    def __init__(self, K: Any, y: Any) -> None:
        self.K = np.ascontiguousarray(K, dtype=np.float32)
        self.gram = Precomputed().gram(self.K)
        self.classes, self.y = np.unique(y, return_inverse=True)

    def predictions(self, train: Any, test: Any, Cs: Sequence[float]) -> Any:
        """The class of every test sample, one row per C."""
        allowed = np.zeros(len(self.y))
        allowed[train] = 1.0
        pairs = list(combinations(range(len(self.classes)), 2))
        problems = [
            hinge(np.where(self.y == a, 1.0, -1.0), C * allowed * ((self.y == a) | (self.y == b)))
            for C in Cs
            for a, b in pairs
        ]
        solutions = SMO(budget=2**30).solve(self.gram, problems)
        values = self.K[test] @ np.stack([s.coefficients for s in solutions], axis=1).astype(np.float32)
        values += np.array([float(s.bias) for s in solutions])
        votes = np.zeros((len(Cs), len(test), len(self.classes)))
        for i, f in enumerate(values.T.reshape(len(Cs), len(pairs), len(test))):
            for (a, b), margin in zip(pairs, f, strict=True):
                votes[i, :, a] += (margin > 0) + 1e-3 * np.tanh(margin)  # votes first, margins decide ties
                votes[i, :, b] += (margin <= 0) - 1e-3 * np.tanh(margin)
        return votes.argmax(axis=2)

    def accuracies(self, train: Any, test: Any, Cs: Sequence[float]) -> Any:
        return (self.predictions(train, test, Cs) == self.y[test]).mean(axis=1)


def nested(
    name: str, grams: Sequence[Any], y: Any, Cs: Sequence[float], target: float, *, repeats: int, inner: int
) -> Score:
    """10-fold cross-validation, repeated. For every test fold, the Gram matrix and C that do best on ``inner`` of the
    other folds, each left out of training in turn, are chosen; then all nine others are trained on."""
    machines = [Voting(K, y) for K in grams]
    means = []
    for seed in range(repeats):
        folds = [test for _, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y)]
        right = 0
        for i, test in enumerate(folds):
            others = [folds[(i + j) % 10] for j in range(1, 10)]
            scores = np.zeros((len(grams), len(Cs)))
            for v in range(inner):
                rest = np.concatenate([fold for j, fold in enumerate(others) if j != v])
                for g, machine in enumerate(machines):
                    scores[g] += machine.accuracies(rest, others[v], Cs)
            g, c = np.unravel_index(scores.argmax(), scores.shape)
            right += machines[g].accuracies(np.concatenate(others), test, [Cs[c]])[0] * len(test)
        means.append(100 * right / len(y))
    protocol = f"10 folds x {repeats}, seeds 0 to {repeats - 1}, {inner} inner validation folds"
    return Score(name, float(np.mean(means)), float(np.std(means)), target, protocol)
