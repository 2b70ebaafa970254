"""Nested cross-validation: how good a search is on samples that it never saw.

The inner splits of all outer ones are evaluated together, so that they share what they have in common; scores are those
of a search that is run by hand on the training samples of each outer split.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._validation import (
    _aggregate_score_dicts,
    _fit_and_score,
    _normalize_score_results,
    _warn_or_raise_about_fit_failures,
)
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from mercer.selection.reports import Finished
from mercer.selection.search import GridSearchCV, RandomizedSearchCV
from mercer.selection.trial import Trial
from mercer.selection.trials import Trials, positions

logger = logging.getLogger("mercer.selection")


def nested_cross_validate(
    search: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    params: dict[str, Any] | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """The scores of a search on the splits of ``cv``, each searched within its training samples alone.

    It is ``cross_validate(search, X, y, cv=cv)`` with two entries more, ``best_params`` and ``best_score``: what was
    chosen within each split, and the mean score there. The searches of a ``GridSearchCV`` or ``RandomizedSearchCV``
    over a machine of ours are evaluated together; any other search is run by hand.

    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> answer = nested_cross_validate(GridSearchCV(SVC(), {"C": [0.1, 10]}, cv=3), X, X[:, 0] > 0, cv=3)
    >>> answer["test_score"].round(2), len(answer["best_params"])
    (array([1.  , 0.9 , 0.95]), 3)
    """
    why = by_hand(search, params)
    options = {"return_train_score": return_train_score, "error_score": error_score}
    if why is not None:
        logger.debug("nested_cross_validate runs the searches one by one: %s", why)
        answer: dict[str, Any] = model_selection.cross_validate(
            search, X, y, groups=groups, cv=cv, scoring=scoring, params=params, return_estimator=True, **options
        )
    else:
        answer = together(search, X, y, groups, cv, scoring, params or {}, **options)
    estimators = answer["estimator"]
    answer["best_params"] = [getattr(one, "best_params_", None) for one in estimators]
    answer["best_score"] = np.array([getattr(one, "best_score_", np.nan) for one in estimators])
    if not return_estimator:
        del answer["estimator"]
    return answer


def by_hand(search: Any, params: Any) -> str | None:
    """Why the searches cannot be evaluated together; None if they can."""
    if not isinstance(search, (GridSearchCV, RandomizedSearchCV)):
        return f"{type(search).__name__} is no search over all cells at once"
    if isinstance(search, GridSearchCV) and (search.param_grid is None or search.extend):
        return "every split has a grid of its own"
    if _routing_enabled() and params:
        return "metadata are routed"
    if hasattr(search, "_skl_callbacks"):
        return "it has callbacks"
    return search._unshared()


def together(
    search: Any, X: Any, y: Any, groups: Any, cv: Any, scoring: Any, params: dict[str, Any], **options: Any
) -> dict[str, Any]:
    """Evaluates the cells of all outer splits at once, then lets a search choose in each."""
    scorer = check_scoring(search, scoring=scoring, raise_exc=options["error_score"] == "raise")
    X, y = indexable(X, y)
    splitter = check_cv(cv, y, classifier=is_classifier(search))
    outer = [(positions(a, X), positions(b, X)) for a, b in splitter.split(X, y, groups=groups)]
    inner = [inner_splits(search, X, y, train, params) for train, _ in outer]
    scorers, _ = search._get_scorers()
    routed = search._get_routed_params_for_fit(_check_method_params(X, params=params))
    cells = candidates(search)
    with Trials(
        search.estimator,
        X,
        y,
        cv=[split for splits in inner for split in splits],
        scoring=scorers,
        fit_params=routed.estimator.fit,
        score_params=routed.scorer.score,
        n_jobs=search.n_jobs,
        error_score=search.error_score,
        return_train_score=search.return_train_score,
        cache_size=search.cache_size,
        checkpoint=search.checkpoint,
    ) as trials:
        found = trials.evaluate_all(cells)
    ends = np.cumsum([0, *map(len, inner)])
    rows = []
    for number, (train, test) in enumerate(outer):
        fold = clone(search)
        fold._evaluated = Evaluated(cells, [part_of(trial, ends[number], ends[number + 1]) for trial in found])
        row = _fit_and_score(
            fold,
            X,
            y,
            scorer=scorer,
            train=train,
            test=test,
            verbose=0,
            parameters=None,
            fit_params=params,
            score_params={},
            return_times=True,
            return_estimator=True,
            **options,
        )
        del fold._evaluated
        row["fit_time"] += sum(float(trial.fit_seconds[ends[number] : ends[number + 1]].sum()) for trial in found)
        rows.append(row)
    return as_scores(rows, options["error_score"])


def as_scores(rows: list[dict[str, Any]], error_score: Any) -> dict[str, Any]:
    """The answer in the form of ``cross_validate``."""
    _warn_or_raise_about_fit_failures(rows, error_score)
    columns = _aggregate_score_dicts(rows)
    answer = {name: columns[name] for name in ("fit_time", "score_time", "estimator")}
    for kind in ("test", "train"):
        if f"{kind}_scores" in columns:
            scores = _normalize_score_results(columns[f"{kind}_scores"])
            answer |= {f"{kind}_{name}": values for name, values in scores.items()}
    return answer


def inner_splits(search: Any, X: Any, y: Any, train: Any, params: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The splits that a search of these training samples makes, as positions among all samples."""
    fold = clone(search)
    some_X, some_y = _safe_split(fold.estimator, X, y, train)
    groups = _check_method_params(X, params=params, indices=train).get("groups")
    splitter = check_cv(fold.cv, some_y, classifier=is_classifier(fold.estimator))
    return [(train[a], train[b]) for a, b in splitter.split(some_X, some_y, groups=groups)]


def candidates(search: Any) -> list[dict[str, Any]]:
    if isinstance(search, GridSearchCV):
        return list(ParameterGrid(search.param_grid))
    copy = clone(search)  # a generator of random numbers stays where it is
    return list(ParameterSampler(copy.param_distributions, copy.n_iter, random_state=copy.random_state))


def part_of(trial: Trial, start: int, stop: int) -> Trial:
    """The trial on some of its splits."""
    part = slice(start, stop)
    train = trial.train_scores
    return replace(
        trial,
        scores={name: values[part] for name, values in trial.scores.items()},
        train_scores=None if train is None else {name: values[part] for name, values in train.items()},
        fit_seconds=trial.fit_seconds[part],
        score_seconds=trial.score_seconds[part],
        certificates=trial.certificates[part],
        error=trial.error[part],
    )


class Evaluated:
    """Trials that were evaluated before, in the place of ``Trials``; a search takes their cells, and draws none."""

    def __init__(self, cells: Sequence[Mapping[str, Any]], trials: list[Trial]) -> None:
        self.cells, self.trials = cells, trials
        self.splits = [None] * len(trials[0].fit_seconds)

    def evaluate_all(self, cells: Sequence[Mapping[str, Any]], finished: Finished | None = None) -> list[Trial]:
        for number, trial in enumerate(self.trials):
            if finished is not None:
                finished(number, trial)
        return self.trials
