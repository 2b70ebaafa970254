"""What all searches have in common: candidates go to ``Trials``, and the answers into scikit-learn's attributes.

It stands in the place of scikit-learn's ``BaseSearchCV.fit``, so that its searches, with their ways to choose the next
candidates, are ours by inheritance.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from inspect import signature
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params

from mercer.selection import reports
from mercer.selection.shareable import any_shareable
from mercer.selection.trial import Trial
from mercer.selection.trials import Trials

logger = logging.getLogger("mercer.selection")


class Results(dict[str, Any]):
    """``cv_results_``; asked for its evidence where nothing was cut, it says that all scores are exact.

    The column itself is there only where ``cut`` is given, so that without it the columns are scikit-learn's.
    """

    def __missing__(self, name: str) -> Any:
        if name != "evidence":
            raise KeyError(name)
        return np.full(len(self["params"]), "exact")


class Search(BaseSearchCV):  # type: ignore[misc]
    """In the place of scikit-learn's ``BaseSearchCV.fit``: evaluates the candidates by ``Trials`` where they share."""

    #: The parameters of ours, where a search has none.
    cut: str | None = None
    checkpoint: str | PathLike[str] | None = None
    extend: bool = False
    cache_size: float | None = None
    #: What was evaluated before, within a nested cross-validation.
    _evaluated: Any = None

    def _space(self) -> Any:
        """The grid, or the distributions."""
        return getattr(self, "param_grid", None) or getattr(self, "param_distributions", None)

    def _unshared(self) -> str | None:
        """Why this search is left to scikit-learn; None if it is not."""
        if not any_shareable(self.estimator, self._space()):
            return f"{type(self.estimator).__name__} is no machine of mercer and ends in none"
        if hasattr(self.estimator, "_skl_callbacks"):
            return f"{type(self.estimator).__name__} has callbacks, which every single fit calls"
        return None

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Evaluates all candidates and, unless ``refit`` is False, fits the best of them to all samples."""
        self.__dict__.pop("certificates_", None)
        unshared = self._unshared()
        if unshared is not None:
            if self.checkpoint is not None:
                raise ValueError(f"checkpoint={self.checkpoint!r} needs a search that mercer runs, but {unshared}")
            logger.debug("%s is left to scikit-learn: %s", type(self).__name__, unshared)
            return super().fit(X, y, **params)
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        weights = params.get("sample_weight")
        told = {"X": X, "y": y, "metadata": None if weights is None else {"sample_weight": weights}}
        # A search that may grow its grid comes back for more.
        tasks = None if self.extend else 1 + (self.refit is not False)
        context = self._init_callback_context(max_subtasks=tasks).call_on_fit_task_begin(estimator=self, **told)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self._check_input_parameters(X=X, y=y, split_params=routed.splitter.split)
        self.n_splits_ = self._checked_cv_orig.get_n_splits(X, y, **routed.splitter.split)
        self._sample = (X, y)
        contexts = {"callback_ctx": context} if "callback_ctx" in signature(self._run_search).parameters else {}
        with ExitStack() as opened:
            evaluation = Evaluation(self, X, y, scorers, routed, opened)
            try:
                self._run_search(evaluation, **contexts)
            except KeyboardInterrupt:
                self._keep(evaluation)
                raise
            finally:
                del self._sample
        self.multimetric_ = evaluation.multimetric
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(evaluation.trials[0].scores)
            refit_metric = self.refit
        if self.refit or not self.multimetric_:
            self._choose(evaluation, refit_metric)
        if self.refit:
            self._fit_best(X, y, routed.estimator.fit, context, told)
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.cv_results_ = evaluation.results
        context.call_on_fit_task_end(estimator=self, **told)
        return self

    def _choose(self, evaluation: Evaluation, metric: Any) -> None:
        """Sets what is known of the best cell."""
        results = evaluation.results
        self.best_index_ = self._select_best_index(self.refit, metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]
        self.certificates_ = evaluation.trials[self.best_index_].certificates

    def _fit_best(self, X: Any, y: Any, fit_params: Mapping[str, Any], context: Any, told: dict[str, Any]) -> None:
        """Fits the estimator with the best parameters, which may be estimators themselves, to all samples."""
        self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        task = context.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(self.best_estimator_):
            task.call_on_fit_task_begin(estimator=self, **told)
            start = time.time()
            self.best_estimator_.fit(*((X,) if y is None else (X, y)), **fit_params)
            self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        task.call_on_fit_task_end(estimator=self, **told)

    def _keep(self, evaluation: Evaluation) -> None:
        """After Ctrl-C: the cells that were finished, without a machine, which was not fitted."""
        for name in ("best_estimator_", "best_index_", "best_params_", "best_score_", "cv_results_", "refit_time_"):
            self.__dict__.pop(name, None)
        if evaluation.trials:
            evaluation.format()
            self.cv_results_ = evaluation.results
            self.multimetric_ = evaluation.multimetric


class Evaluation:
    """What ``_run_search`` calls with its candidates, as often as it likes; it keeps what came of all of them.

    Calls without splits of their own go to the same ``Trials``: what comes later shares with what came before.
    """

    def __init__(self, search: Search, X: Any, y: Any, scorers: Any, routed: Any, opened: ExitStack) -> None:
        self.search, self.X, self.y, self.scorers, self.routed, self.opened = search, X, y, scorers, routed, opened
        self.lasting: Trials | None = None
        self.trials: list[Trial] = []
        self.candidates: list[Mapping[str, Any]] = []
        self.more: dict[str, list[Any]] = defaultdict(list)
        self.results = Results()

    def __call__(
        self,
        candidate_params: Iterable[Mapping[str, Any]],
        cv: Any = None,
        more_results: Mapping[str, Any] | None = None,
        callback_ctx: Any = None,
    ) -> Results:
        search = self.search
        cells = list(candidate_params if search._evaluated is None else search._evaluated.cells)
        trials = self._trials(cv)
        splits = trials.splits
        if len(splits) != search.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {search.n_splits_} splits, got {len(splits)}"
            )
        if search.verbose > 0:
            reports.say(
                f"Fitting {len(splits)} folds for each of {len(cells)} candidates, "
                f"totalling {len(cells) * len(splits)} fits"
            )
        if not cells or not splits:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        done: dict[int, Trial] = {}
        finished = reports.both(
            done.__setitem__,
            reports.messages(search.verbose, len(cells)),
            reports.callbacks(search, callback_ctx, splits, self.X, self.y, len(cells), self.routed.estimator.fit),
        )
        try:
            found = dict(enumerate(trials.evaluate_all(cells, finished)))
        except KeyboardInterrupt:
            self._add(done, cells, more_results)
            raise
        reports.warn_of_failures(list(found.values()), search.error_score)
        self._add(found, cells, more_results)
        return self.format()

    def _trials(self, cv: Any) -> Any:
        """The trials on the splits of ``cv``, or on those of the search."""
        search = self.search
        if search._evaluated is not None:
            return search._evaluated
        if cv is None and self.lasting is not None:
            return self.lasting
        splitter = search._checked_cv_orig if cv is None else cv
        trials = Trials(
            search.estimator,
            self.X,
            self.y,
            cv=list(splitter.split(self.X, self.y, **self.routed.splitter.split)),
            scoring=self.scorers,
            fit_params=self.routed.estimator.fit,
            score_params=self.routed.scorer.score,
            n_jobs=search.n_jobs,
            error_score=search.error_score,
            return_train_score=search.return_train_score,
            cache_size=search.cache_size,
            cut=search.cut,
            checkpoint=search.checkpoint,
            verbose=search.verbose,
        )
        self.opened.enter_context(trials)
        if cv is None:
            self.lasting = trials
        return trials

    def _add(self, found: Mapping[int, Trial], cells: list[Any], more: Mapping[str, Any] | None) -> None:
        """Takes the trials of these cells, by their number, into what is known."""
        numbers = sorted(found)
        self.trials += [found[i] for i in numbers]
        self.candidates += [cells[i] for i in numbers]
        for name, values in (more or {}).items():
            self.more[name] += [values[i] for i in numbers]

    @property
    def multimetric(self) -> bool:
        """Whether scores have names; those of a function are known once it was called."""
        if isinstance(self.scorers, _MultimetricScorer):
            return True
        return any(set(trial.scores) != {"score"} for trial in self.trials)

    def format(self) -> Results:
        """All results so far, as ``cv_results_``."""
        search, more = self.search, dict(self.more)
        if search.cut is not None:
            means = [trial.interval or (np.nan, np.nan) for trial in self.trials]
            more["evidence"] = [trial.evidence for trial in self.trials]
            more["evidence_low"], more["evidence_high"] = ([pair[i] for pair in means] for i in (0, 1))
        rows = reports.rows(self.trials, multimetric=self.multimetric, error_score=search.error_score)
        with warnings.catch_warnings():
            if any(trial.evidence != "exact" for trial in self.trials):  # what was cut has no mean
                warnings.filterwarnings("ignore", "One or more of the .* scores are non-finite", UserWarning)
            formatted = search._format_results(self.candidates, search.n_splits_, rows, more)
        self.results = Results(formatted)
        return self.results
