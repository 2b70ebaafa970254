"""The trials of a search: every cell, a setting of parameters, is fitted and scored on the same splits.

All tools of this package, from a search to a learning curve, put their cells here and know nothing of how they are
solved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils import indexable

from mercer.selection.shareable import last_step
from mercer.selection.trial import Trial


class Trials:
    """Cells of one estimator on one set of samples and splits."""

    def __init__(
        self,
        machine: Any,
        X: Any,
        y: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        groups: Any = None,
        fit_params: Mapping[str, Any] | None = None,
        score_params: Mapping[str, Any] | None = None,
        split_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        cache_size: float | None = None,
        cut: str | None = None,
        checkpoint: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.machine = clone(machine)
        self.X, self.y = indexable(X, y)
        split_params = {"groups": groups} if split_params is None else split_params
        splitter = check_cv(cv, y, classifier=is_classifier(machine))
        self.splits = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(self.X, self.y, **split_params)]
        strict = error_score == "raise"
        self.scorer = scoring if callable(scoring) else check_scoring(machine, scoring, raise_exc=strict)
        self.fit_params, self.score_params = dict(fit_params or {}), dict(score_params or {})
        self.error_score, self.return_train_score = error_score, return_train_score

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def shares(self, cells: Sequence[Mapping[str, Any]]) -> str | None:
        """Why the cells cannot share what they compute; None if they do."""
        return "nothing is shared yet"

    def evaluate(self, params: Mapping[str, Any]) -> Trial:
        return self.evaluate_all([params])[0]

    def evaluate_all(
        self, cells: Sequence[Mapping[str, Any]], finished: Callable[[int, Trial], None] | None = None
    ) -> list[Trial]:
        """The trials of all cells, in their order; ``finished`` is told the number of each cell as it is done."""
        trials = []
        for number, cell in enumerate(cells):
            trials.append(self._trial(dict(cell)))
            if finished is not None:
                finished(number, trials[-1])
        return trials

    def _trial(self, params: dict[str, Any]) -> Trial:
        found = [
            _fit_and_score(
                clone(self.machine),
                self.X,
                self.y,
                scorer=self.scorer,
                train=train,
                test=test,
                verbose=0,
                parameters=params,
                fit_params=self.fit_params,
                score_params=self.score_params,
                return_train_score=self.return_train_score,
                return_times=True,
                return_estimator=True,
                error_score=self.error_score,
            )
            for train, test in self.splits
        ]
        return Trial(
            params=params,
            scores=by_name([one["test_scores"] for one in found]),
            train_scores=by_name([one["train_scores"] for one in found]) if self.return_train_score else None,
            fit_seconds=np.array([one["fit_time"] for one in found]),
            score_seconds=np.array([one["score_time"] for one in found]),
            certificates=tuple(getattr(last_step(one["estimator"]), "certificate_", None) for one in found),
            error=tuple(one["fit_error"] for one in found),
        )

    def predictions(self, params: Mapping[str, Any], method: str = "predict") -> Any:
        """Of every sample, what the machine says that was fitted without it."""
        machine = clone(self.machine).set_params(**clone(dict(params), safe=False))
        return cross_val_predict(machine, self.X, self.y, cv=self.splits, params=self.fit_params, method=method)


def by_name(scores: list[Any]) -> dict[str, Any]:
    """The scores of all splits by name; the one number of a fit that failed stands for all names."""
    names = next((list(score) for score in scores if isinstance(score, dict)), None)
    if names is None:
        return {"score": np.array(scores, dtype=np.float64)}
    return {
        name: np.array([score[name] if isinstance(score, dict) else score for score in scores], dtype=np.float64)
        for name in names
    }
