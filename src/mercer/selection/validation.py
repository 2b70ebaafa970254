"""Scores, predictions and curves by cross-validation, with scikit-learn's signatures and answers.

A machine of ours, or a pipeline that ends in one, goes to ``Trials``, where all splits and values of a parameter share
what they have in common; any other estimator goes to scikit-learn's function as it was given.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import is_classifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.model_selection._validation import _check_groups_routing_disabled, _translate_train_sizes
from sklearn.utils import check_random_state, indexable
from sklearn.utils._param_validation import validate_params
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)

from mercer.problem import Vector
from mercer.selection import reports
from mercer.selection.shareable import is_shareable
from mercer.selection.trial import Trial
from mercer.selection.trials import Trials

logger = logging.getLogger("mercer.selection")


def checked(name: str) -> Any:
    """Checks arguments as scikit-learn's function of this name does."""
    constraints = getattr(model_selection, name)._skl_parameter_constraints
    return validate_params(constraints, prefer_skip_nested_validation=False)


def left(name: str, why: str, given: dict[str, Any]) -> Any:
    """The answer of scikit-learn's function of this name."""
    logger.debug("%s is left to scikit-learn: %s", name, why)
    return getattr(model_selection, name)(**given)


def unshared(estimator: Any) -> str | None:
    """Why an estimator is left to scikit-learn; None if it is not."""
    if not is_shareable(estimator):
        return f"{type(estimator).__name__} is no machine of mercer and ends in none"
    if hasattr(estimator, "_skl_callbacks"):
        return f"{type(estimator).__name__} has callbacks, which every single fit calls"
    return None


@checked("cross_validate")  # type: ignore[untyped-decorator]
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: Any = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """scikit-learn's ``cross_validate``: scores and times of every split.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import SVC
    >>> sorted(cross_validate(SVC(), X, y, cv=3, return_train_score=True))
    ['fit_time', 'score_time', 'test_score', 'train_score']
    """
    given = dict(locals())
    why = "the fitted estimators are wanted" if return_estimator else unshared(estimator)
    if why is not None:
        return left("cross_validate", why, given)  # type: ignore[no-any-return]
    scorer = check_scoring(estimator, scoring=scoring, raise_exc=(error_score == "raise"))
    asked = Asked("cross_validate", estimator, X, y, groups, cv, scorer, params)
    trials = asked.trials(n_jobs=n_jobs, error_score=error_score, return_train_score=return_train_score)
    with trials:
        [trial] = trials.evaluate_all([{}], reports.messages(verbose, 1, named=False))
    reports.warn_of_failures([trial], error_score)
    answer: dict[str, Any] = {"fit_time": trial.fit_seconds, "score_time": trial.score_seconds}
    if return_indices:
        train, test = zip(*trials.splits, strict=True)
        answer["indices"] = {"train": train, "test": test}
    for name, scores in trial.scores.items():
        answer[f"test_{name}"] = scores
        if trial.train_scores is not None:
            answer[f"train_{name}"] = trial.train_scores[name]
    return answer


@checked("cross_val_score")  # type: ignore[untyped-decorator]
def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: Any = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> Vector:
    """scikit-learn's ``cross_val_score``: the score of every split.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import SVC
    >>> cross_val_score(SVC(), X + 9 * y[:, None], y, cv=3).round(2)
    array([1., 1., 1.])
    """
    given = dict(locals())
    why = unshared(estimator)
    if why is not None:
        return left("cross_val_score", why, given)  # type: ignore[no-any-return]
    scorer = check_scoring(estimator, scoring=scoring)
    answer = cross_validate(**{**given, "scoring": {"score": scorer}})
    return answer["test_score"]  # type: ignore[no-any-return]


@checked("cross_val_predict")  # type: ignore[untyped-decorator]
def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: Any = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    method: str = "predict",
) -> Any:
    """scikit-learn's ``cross_val_predict``: of every sample, what is predicted without it.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import KernelRidge
    >>> cross_val_predict(KernelRidge(kernel="rbf"), X, y, cv=3).shape
    (60,)
    """
    given = dict(locals())
    why = unshared(estimator)
    if why is None and _routing_enabled() and params:
        why = "metadata are routed"
    if why is not None:
        return left("cross_val_predict", why, given)
    asked = Asked("cross_val_predict", estimator, X, y, groups, cv, unscored, params)
    trials = asked.trials(n_jobs=n_jobs)
    tested = np.concatenate([test for _, test in trials.splits])
    if not np.array_equal(np.sort(tested), np.arange(asked.samples)):
        raise ValueError("cross_val_predict only works for partitions")
    with trials:
        return trials.predictions({}, method)


@checked("validation_curve")  # type: ignore[untyped-decorator]
def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Any,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: Any = 0,
    error_score: Any = np.nan,
    params: dict[str, Any] | None = None,
) -> tuple[Vector, Vector]:
    """scikit-learn's ``validation_curve``: scores of training and held-out samples by the values of a parameter.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import SVC
    >>> train, test = validation_curve(SVC(), X, y, param_name="C", param_range=[0.1, 1, 10], cv=5)
    >>> train.shape, test.shape
    ((3, 5), (3, 5))
    """
    given = dict(locals())
    why = unshared(estimator)
    if why is not None:
        return left("validation_curve", why, given)  # type: ignore[no-any-return]
    asked = Asked("validation_curve", estimator, X, y, groups, cv, check_scoring(estimator, scoring=scoring), params)
    cells = [{param_name: value} for value in param_range]
    with asked.trials(n_jobs=n_jobs, error_score=error_score, return_train_score=True) as trials:
        found = trials.evaluate_all(cells, reports.messages(verbose, len(cells)))
    return scores_of_all(found)


@checked("learning_curve")  # type: ignore[untyped-decorator]
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: Any = np.linspace(0.1, 1.0, 5),  # noqa: B008 - as in scikit-learn
    cv: Any = None,
    scoring: Any = None,
    exploit_incremental_learning: bool = False,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: Any = 0,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    return_times: bool = False,
    params: dict[str, Any] | None = None,
) -> tuple[Vector, ...]:
    """scikit-learn's ``learning_curve``: scores of training and held-out samples by the number of training samples.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import SVC
    >>> sizes, train, test = learning_curve(SVC(), X, y, train_sizes=[0.5, 1.0], cv=3, shuffle=True, random_state=0)
    >>> sizes, test.shape
    (array([20, 40]), (2, 3))
    """
    given = dict(locals())
    why = "it learns by partial_fit" if exploit_incremental_learning else unshared(estimator)
    if why is not None:
        return left("learning_curve", why, given)  # type: ignore[no-any-return]
    asked = Asked("learning_curve", estimator, X, y, groups, cv, check_scoring(estimator, scoring=scoring), params)
    folds = asked.splits()
    sizes = _translate_train_sizes(train_sizes, len(folds[0][0]))
    if verbose > 0:
        reports.say(f"[learning_curve] Training set sizes: {sizes}")
    if shuffle:
        random = check_random_state(random_state)
        folds = [(random.permutation(train), test) for train, test in folds]
    parts = [(train[:size], test) for train, test in folds for size in sizes]
    options = {"n_jobs": n_jobs, "error_score": error_score, "return_train_score": True}
    with asked.trials(parts, **options) as trials:
        [trial] = trials.evaluate_all([{}], reports.messages(verbose, 1, named=False))
    reports.warn_of_failures([trial], error_score)
    assert trial.train_scores is not None
    answers = [trial.train_scores["score"], trial.scores["score"]]
    if return_times:
        answers += [trial.fit_seconds, trial.score_seconds]
    return sizes, *(values.reshape(-1, len(sizes)).T for values in answers)


@checked("permutation_test_score")  # type: ignore[untyped-decorator]
def permutation_test_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    cv: Any = None,
    n_permutations: int = 100,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: Any = 0,
    scoring: Any = None,
    params: dict[str, Any] | None = None,
) -> tuple[float, Vector, float]:
    """scikit-learn's ``permutation_test_score``: how likely so high a score is where the targets mean nothing.

    >>> X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], 30)
    >>> from mercer import SVC
    >>> score, others, probability = permutation_test_score(SVC(), X + 9 * y[:, None], y, n_permutations=9)
    >>> float(score), float(probability)
    (1.0, 0.1)
    """
    given = dict(locals())
    return left("permutation_test_score", "trials have one set of targets", given)  # type: ignore[no-any-return]


def unscored(estimator: Any, X: Any, y: Any = None) -> float:
    """The score where only predictions are wanted, for machines that have none of their own."""
    return np.nan


class Asked:
    """What a function was asked of an estimator: the samples, the splits, the scorer, and where metadata go."""

    def __init__(
        self, name: str, estimator: Any, X: Any, y: Any, groups: Any, cv: Any, scorer: Any, params: Any
    ) -> None:
        _check_groups_routing_disabled(groups)
        self.estimator, self.scorer = estimator, scorer
        self.X, self.y, groups = indexable(X, y, groups)
        self.samples = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        self.cv = check_cv(cv, y, classifier=is_classifier(estimator))
        self.fit_params: Mapping[str, Any] = {} if params is None else params
        self.score_params: Mapping[str, Any] = {}
        self.split_params: Mapping[str, Any] = {"groups": groups}
        if _routing_enabled():
            self._route(name)

    def _route(self, name: str) -> None:
        """Sends the metadata to those who request them; whose error would speak of ``fit``, which nobody called."""
        router = MetadataRouter(owner=name)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if self.scorer is not unscored:
            router.add(scorer=self.scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        try:
            routed = process_routing(router, "fit", **self.fit_params)
        except UnsetMetadataPassedError as error:
            raise UnsetMetadataPassedError(
                message=str(error).replace(f"{name}.fit", name),
                unrequested_params=error.unrequested_params,
                routed_params=error.routed_params,
            ) from error
        self.fit_params, self.split_params = routed.estimator.fit, routed.splitter.split
        if self.scorer is not unscored:
            self.score_params = routed.scorer.score

    def splits(self) -> list[tuple[Any, Any]]:
        return list(self.cv.split(self.X, self.y, **self.split_params))

    def trials(self, splits: list[tuple[Any, Any]] | None = None, **options: Any) -> Trials:
        return Trials(
            self.estimator,
            self.X,
            self.y,
            cv=self.splits() if splits is None else splits,
            scoring=self.scorer,
            fit_params=self.fit_params,
            score_params=self.score_params,
            **options,
        )


def scores_of_all(trials: list[Trial]) -> tuple[Vector, Vector]:
    """The scores of the training and of the held-out samples: a row for each cell, a column for each split."""
    train = [trial.train_scores["score"] for trial in trials if trial.train_scores is not None]
    return np.array(train), np.array([trial.scores["score"] for trial in trials])
