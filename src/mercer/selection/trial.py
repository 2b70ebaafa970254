"""What came of one cell of a search: its scores on every split, with the proof of each solution.

Engine and tools exchange nothing else, so that a tool need not know how a cell was solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.problem import Vector


@dataclass(frozen=True)
class Trial:
    """The scores of one cell. Arrays have one number for each split; tuples, one entry.

    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.selection import Trials
    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> trial = Trials(SVC(), X + 9 * y[:, None], y, cv=3).evaluate({"C": 10.0})
    >>> trial.params, trial.scores["score"], trial.evidence, trial.certificates[2].converged
    ({'C': 10.0}, array([1., 1., 1.]), 'exact', True)
    """

    params: dict[str, Any]
    #: By the scorer's name; "score" where there is a single one.
    scores: dict[str, Vector]
    train_scores: dict[str, Vector] | None
    fit_seconds: Vector
    score_seconds: Vector
    #: A Certificate, a tuple of them, or None where the estimator gives none.
    certificates: tuple[Any, ...]
    #: How the scores are known: "exact", "bounded", "raced" or "skipped".
    evidence: str = "exact"
    #: Between which numbers the mean score lies, where the cell was cut.
    interval: tuple[float, float] | None = None
    #: The traceback of a fit that failed, else None.
    error: tuple[str | None, ...] = ()
