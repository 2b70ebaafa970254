"""Accuracy by repeated cross-validation on Gram matrices, with parameters chosen inside the training folds only.

Every support vector machine is a hinge problem on some samples of the whole matrix, which is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.kernels import Precomputed
from mercer.problem import Problem, hinge
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


class Machines:
    """Support vector machines for several classes on one Gram matrix, all values of C at once."""

    def __init__(self, K: Any, y: Any) -> None:
        self.K = np.ascontiguousarray(K, dtype=np.float32)
        self.gram = Precomputed().gram(self.K)
        self.classes, self.y = np.unique(y, return_inverse=True)

    def problems(self, train: Any, C: float) -> list[Problem]:
        raise NotImplementedError

    def decide(self, values: Any) -> Any:
        """The class of every sample from the values of all machines, one row per sample."""
        raise NotImplementedError

    def accuracies(self, train: Any, test: Any, Cs: Sequence[float]) -> Any:
        """The share of the test samples that is classified correctly, for each C."""
        problems = [problem for C in Cs for problem in self.problems(train, C)]
        coefficients = np.zeros((len(self.y), len(problems)), dtype=np.float32)
        biases = np.zeros(len(problems))
        for j, (problem, s) in enumerate(zip(problems, SMO(budget=2**30).solve(self.gram, problems), strict=True)):
            coefficients[problem.sample, j], biases[j] = s.coefficients, float(s.bias)
        values = np.split(self.K[test] @ coefficients + biases, len(Cs), axis=1)
        return np.array([(self.decide(v) == self.y[test]).mean() for v in values])


class Voting(Machines):
    """One machine for each pair of classes, which votes for one of them; the size of the values decides ties."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes)), 2))

    def problems(self, train: Any, C: float) -> list[Problem]:
        labels = self.y[train]
        members = [np.flatnonzero((labels == a) | (labels == b)) for a, b in self.pairs]
        return [
            hinge(np.where(labels[some] == a, 1.0, -1.0), C, sample=train[some])
            for (a, _), some in zip(self.pairs, members, strict=True)
        ]

    def decide(self, values: Any) -> Any:
        votes = np.zeros((len(values), len(self.classes)))
        for (a, b), f in zip(self.pairs, values.T, strict=True):
            votes[:, a] += (f > 0) + 1e-3 * np.tanh(f)
            votes[:, b] += (f <= 0) - 1e-3 * np.tanh(f)
        return votes.argmax(axis=1)


class Balanced(Machines):
    """One machine for each class against the rest, where both sides weigh the same; the largest value decides."""

    def problems(self, train: Any, C: float) -> list[Problem]:
        result = []
        for a in range(len(self.classes)):
            own = self.y[train] == a
            weights = np.where(own, (~own).sum() / max(1, own.sum()), 1.0)
            result.append(hinge(np.where(own, 1.0, -1.0), C * weights, sample=train))
        return result

    def decide(self, values: Any) -> Any:
        return values.argmax(axis=1)


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
            g, c = divmod(int(scores.argmax()), len(Cs))
            right += machines[g].accuracies(np.concatenate(others), test, [Cs[c]])[0] * len(test)
        means.append(100 * right / len(y))
    protocol = f"10 folds x {repeats}, seeds 0 to {repeats - 1}, {inner} inner validation folds"
    return Score(name, float(np.mean(means)), float(np.std(means)), target, protocol)
