"""Which cells of a search need not be finished: those that cannot win any more, or hardly will.

``cut="safe"``: a cell ends as soon as its best possible completion is below a cell that is complete. Those that go on
are solved from the very starts that they would have without cuts, so that the winner and its scores are the same, to
the last bit. ``cut="race"``: a cell ends when its scores are lower than the leader's by more than their differences
vary; that is a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer

from mercer.selection.cells import Cell, Chain
from mercer.selection.results import Results

#: Scores that are 1 at best, and whether they are 0 at worst.
AT_MOST_ONE: dict[Any, bool] = {
    metrics.accuracy_score: True,
    metrics.balanced_accuracy_score: True,
    metrics.average_precision_score: True,
    metrics.roc_auc_score: True,
    metrics.f1_score: True,
    metrics.precision_score: True,
    metrics.recall_score: True,
    metrics.jaccard_score: True,
    metrics.matthews_corrcoef: False,
    metrics.r2_score: False,
    metrics.explained_variance_score: False,
}
#: Errors, of which none is negative.
ERRORS = {
    metrics.mean_squared_error,
    metrics.root_mean_squared_error,
    metrics.mean_absolute_error,
    metrics.median_absolute_error,
    metrics.max_error,
    metrics.log_loss,
    metrics.brier_score_loss,
}
#: In a race, the differences of so many splits at least are looked at, and must be below zero by so many times their
#: standard error.
LEAST, FAR = 3, 2.5
Solve = Callable[[list[tuple[Chain, int]]], None]


def range_of(scorer: Any, machine: Any) -> tuple[float, float] | None:
    """Between which numbers a score lies; None if that is not known."""
    if type(scorer) is _PassthroughScorer:
        if is_classifier(machine):
            return 0.0, 1.0
        return (-np.inf, 1.0) if is_regressor(machine) else None
    if isinstance(scorer, _BaseScorer):
        function = scorer._score_func
        if scorer._sign == 1 and function in AT_MOST_ONE:
            return (0.0 if AT_MOST_ONE[function] else -np.inf), 1.0
        if scorer._sign == -1 and function in ERRORS:
            return -np.inf, 0.0
    return None


@dataclass(frozen=True)
class Cuts:
    """A way to cut, and between which numbers scores lie."""

    way: str
    worst: float
    best: float

    @classmethod
    def of(cls, way: str | None, scorer: Any, machine: Any) -> Cuts | None:
        """None if nothing is to be cut, or nothing can be: of several scores, or of one without a best."""
        if way is None:
            return None
        if way not in ("safe", "race"):
            raise ValueError(f"cut must be 'safe', 'race' or None, not {way!r}")
        limits = range_of(scorer, machine)
        return None if limits is None else cls(way, *limits)

    def run(self, chains: list[Chain], results: Results, solve: Solve, refused: set[int]) -> None:
        """Solves split after split what is still needed of the chains, and cuts the rest.

        Cells whose number ``solve`` puts into ``refused`` have to go alone, and are not cut.
        """
        cells = [cell for chain in chains for cell in chain.cells]

        def go(some: list[Chain], split: int) -> list[Cell]:
            parts = [self.needed(chain, alive) for chain in some]
            solve([(part, split) for part in parts if part.cells])
            return [cell for cell in cells if cell.number not in refused]

        alive = {cell.number for cell in cells}
        cells = go(chains, 0)
        while cells:
            leader = max(cells, key=lambda cell: self.mean(results, cell))
            own = next(chain for chain in chains if leader in chain.cells)
            alone = Chain(own.cells[: own.cells.index(leader) + 1])
            solve([(alone, split) for split in range(1, results.splits)])
            cells = [cell for cell in cells if cell.number not in refused]
            if leader.number not in refused:
                break
        for split in range(1, results.splits if cells else 1):
            alive = {cell.number for cell in cells if not self.lost(results, cell, leader)}
            cells = go(chains, split)
            complete = [cell for cell in cells if cell.number in results.trials]
            leader = max(complete, key=lambda cell: self.mean(results, cell), default=leader)
        for cell in cells:
            if cell.number not in results.trials and cell.number not in refused:
                evidence = "bounded" if self.way == "safe" else "raced"
                results.cut(cell, evidence, self.interval(results, cell))

    @staticmethod
    def needed(chain: Chain, alive: set[int]) -> Chain:
        """The chain up to its last cell that goes on, as each begins where the one before it ended."""
        last = max((i for i, cell in enumerate(chain.cells) if cell.number in alive), default=-1)
        return Chain(chain.cells[: last + 1])

    @staticmethod
    def scores(results: Results, cell: Cell) -> dict[int, float]:
        if cell.number in results.trials:
            return dict(enumerate(results.trials[cell.number].scores["score"].tolist()))
        return {split: float(one.test) for split, one in results.outcomes.get(cell.number, {}).items()}

    def mean(self, results: Results, cell: Cell) -> float:
        found = list(self.scores(results, cell).values())
        mean = float(np.mean(found)) if found else -np.inf
        return mean if np.isfinite(mean) else -np.inf

    def interval(self, results: Results, cell: Cell) -> tuple[float, float]:
        """Between which numbers the mean score lies, or in a race probably does."""
        found = list(self.scores(results, cell).values())
        left, k = results.splits - len(found), results.splits
        if self.way == "safe" or len(found) < 2:
            return (sum(found) + left * self.worst) / k, (sum(found) + left * self.best) / k
        mean, error = float(np.mean(found)), float(np.std(found, ddof=1)) / len(found) ** 0.5
        return mean - FAR * error, mean + FAR * error

    def lost(self, results: Results, cell: Cell, leader: Cell) -> bool:
        """Whether a cell is out of the question, beside one that is complete."""
        mine, best = self.scores(results, cell), self.scores(results, leader)
        if cell is leader or not mine or len(best) < results.splits:
            return False
        if not np.isfinite(list(mine.values())).all() or not np.isfinite(list(best.values())).all():
            return False
        if self.way == "safe":
            most = (sum(mine.values()) + (results.splits - len(mine)) * self.best) / results.splits
            return most < self.mean(results, leader) - 1e-12
        apart = np.array([mine[split] - best[split] for split in mine])
        if len(apart) < LEAST:
            return False
        error = float(apart.std(ddof=1)) / len(apart) ** 0.5
        return bool(apart.mean() + FAR * error < 0)
