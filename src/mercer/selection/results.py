"""What has come of the cells of a search so far: any thread adds to it, and whole cells become trials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.problem import Vector
from mercer.selection.cells import Cell
from mercer.selection.trial import Trial

Finished = Callable[[int, Trial], None]


@dataclass(frozen=True)
class Outcome:
    """What came of one cell on one split; scores are a number or, of several metrics, numbers by name."""

    test: Any
    train: Any
    fit_seconds: float
    score_seconds: float
    certificate: Any
    error: str | None

    @property
    def skipped(self) -> bool:
        return self.test is None


#: Of a split that a cell was not evaluated on.
SKIPPED = Outcome(None, None, 0.0, 0.0, None, None)


@dataclass(eq=False)
class Results:
    """Outcomes by cell and split."""

    splits: int
    finished: Finished | None
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.RLock = field(default_factory=threading.RLock)
    outcomes: dict[int, dict[int, Outcome]] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)

    def add(self, cell: Cell, split: int, outcome: Outcome) -> None:
        with self.lock:
            own = self.outcomes.setdefault(cell.number, {})
            own[split] = outcome
            if len(own) == self.splits and cell.number not in self.trials:
                self.tell(cell.number, trial_of(cell.params, [own[i] for i in range(self.splits)]))

    def cut(self, cell: Cell, evidence: str, interval: tuple[float, float]) -> None:
        """The cell is not evaluated on the splits that are left."""
        with self.lock:
            own = self.outcomes.get(cell.number, {})
            found = [own.get(i, SKIPPED) for i in range(self.splits)]
            self.tell(cell.number, trial_of(cell.params, found, evidence, interval))

    def tell(self, number: int, trial: Trial) -> None:
        with self.lock:
            self.trials[number] = trial
            if self.finished is not None:
                self.finished(number, trial)


def trial_of(
    params: dict[str, Any],
    found: Sequence[Outcome],
    evidence: str = "exact",
    interval: tuple[float, float] | None = None,
) -> Trial:
    trains = [one.train for one in found]
    return Trial(
        params=params,
        scores=by_name([np.nan if one.skipped else one.test for one in found]),
        train_scores=None
        if all(one is None for one in trains)
        else by_name([np.nan if t is None else t for t in trains]),
        fit_seconds=np.array([one.fit_seconds for one in found]),
        score_seconds=np.array([one.score_seconds for one in found]),
        certificates=tuple(one.certificate for one in found),
        evidence=evidence,
        interval=interval,
        error=tuple(one.error for one in found),
    )


def by_name(scores: Sequence[Any]) -> dict[str, Vector]:
    """The scores of all splits by name; the one number of a fit that failed stands for all names."""
    names = next((list(score) for score in scores if isinstance(score, dict)), None)
    if names is None:
        return {"score": np.array(scores, dtype=np.float64)}
    return {
        name: np.array([score[name] if isinstance(score, dict) else score for score in scores], dtype=np.float64)
        for name in names
    }
