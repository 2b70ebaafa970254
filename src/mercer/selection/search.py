"""Searches for parameters, with scikit-learn's names, signatures and attributes.

Where the estimator is a machine of ours, or ends in one, all cells go to ``Trials`` at once, which shares between them
what they have in common; every other search is scikit-learn's own, unchanged.
"""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn import model_selection
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - unlocks the halving searches
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.selection import grid
from mercer.selection.evaluation import Search

#: Constraints of the parameters that scikit-learn's searches do not have.
SHARED: dict[str, list[Any]] = {"cache_size": [Interval(Real, 0, None, closed="neither"), None]}
CUT: dict[str, list[Any]] = {**SHARED, "cut": [StrOptions({"safe", "race"}), None], "checkpoint": [str, PathLike, None]}


class GridSearchCV(model_selection.GridSearchCV, Search):  # type: ignore[misc]
    """scikit-learn's ``GridSearchCV``; the cells of a machine of ours share what they have in common.

    Without ``param_grid`` the grid is made from the samples (``default_grid``) and kept in ``param_grid_``.
    ``extend=True`` lets the grid grow while the best cell lies on its edge.

    >>> from mercer import SVC
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=2).fit(X[::-1], y[::-1])
    >>> search.best_params_, search.cv_results_["evidence"].tolist()
    ({'C': 0.1}, ['exact', 'exact', 'exact'])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **model_selection.GridSearchCV._parameter_constraints,
        **CUT,
        "extend": ["boolean"],
        "param_grid": [dict, list, None],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: Any = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        cut: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        extend: bool = False,
        cache_size: float | None = None,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.cut, self.checkpoint, self.extend, self.cache_size = cut, checkpoint, extend, cache_size

    def _unshared(self) -> str | None:
        unshared: str | None = super()._unshared()
        if unshared is not None and self.param_grid is None:
            raise ValueError(f"GridSearchCV makes a grid for machines of mercer alone, but {unshared}; give param_grid")
        return unshared

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        """All cells of the grid; then, if it may grow, those beyond an edge, as long as the best cell lies on one."""
        cells = self.param_grid
        if cells is None:
            cells = self.param_grid_ = grid.default_grid(self.estimator, *self._sample)
        results = self._round(evaluate_candidates, list(ParameterGrid(cells)), callback_ctx)
        if not self.extend and self.param_grid is not None:
            return
        edges = grid.Edges(cells)
        for _ in range(grid.ROUNDS if self.extend else 0):
            beyond = edges.beyond(*self._ranked(results))
            if not beyond:
                break
            results = self._round(evaluate_candidates, beyond, callback_ctx)
        edges.warn(*self._ranked(results))

    def _ranked(self, results: Any) -> tuple[list[Any], Any, int]:
        """All cells, the scores by which they are chosen, and the number of the best."""
        names = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        name = self.refit if self.refit in names else names[0]
        return results["params"], results[f"mean_test_{name}"], self._select_best_index(self.refit, name, results)

    def _round(self, evaluate_candidates: Any, cells: list[Any], context: Any) -> Any:
        """Evaluates some cells, as one task where there are callbacks."""
        if context is None:
            return evaluate_candidates(cells)
        task = context.subcontext(
            task_name="search", max_subtasks=len(cells) * self.n_splits_, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self)
        results = evaluate_candidates(cells, callback_ctx=task)
        task.call_on_fit_task_end(estimator=self)
        return results


class RandomizedSearchCV(model_selection.RandomizedSearchCV, Search):  # type: ignore[misc]
    """scikit-learn's ``RandomizedSearchCV``; the cells of a machine of ours share what they have in common.

    >>> from scipy.stats import loguniform
    >>> from mercer import SVC
    >>> X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    >>> search = RandomizedSearchCV(SVC(), {"C": loguniform(0.1, 10)}, n_iter=4, random_state=0).fit(X, y)
    >>> [round(float(cell["C"]), 2) for cell in search.cv_results_["params"]]
    [1.25, 2.69, 1.61, 1.23]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **model_selection.RandomizedSearchCV._parameter_constraints,
        **CUT,
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: Any = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        cut: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        cache_size: float | None = None,
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.cut, self.checkpoint, self.cache_size = cut, checkpoint, cache_size


class HalvingGridSearchCV(model_selection.HalvingGridSearchCV, Search):  # type: ignore[misc]
    """scikit-learn's ``HalvingGridSearchCV``; the cells of a round share what they have in common.

    >>> from mercer import SVC
    >>> X, y = np.random.default_rng(0).standard_normal((90, 2)), np.arange(90) % 2
    >>> search = HalvingGridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3, random_state=0).fit(X, y)
    >>> search.n_candidates_, search.n_resources_
    ([3, 1], [30, 90])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **model_selection.HalvingGridSearchCV._parameter_constraints,
        **SHARED,
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: Any = "auto",
        min_resources: Any = "exhaust",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
        cache_size: float | None = None,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            factor=factor,
            resource=resource,
            max_resources=max_resources,
            min_resources=min_resources,
            aggressive_elimination=aggressive_elimination,
            cv=cv,
            scoring=scoring,
            refit=refit,
            error_score=error_score,
            return_train_score=return_train_score,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.cache_size = cache_size


class HalvingRandomSearchCV(model_selection.HalvingRandomSearchCV, Search):  # type: ignore[misc]
    """scikit-learn's ``HalvingRandomSearchCV``; the cells of a round share what they have in common.

    >>> from mercer import SVC
    >>> X, y = np.random.default_rng(0).standard_normal((90, 2)), np.arange(90) % 2
    >>> search = HalvingRandomSearchCV(SVC(), {"C": [0.1, 1, 10]}, n_candidates=3, cv=3, random_state=0).fit(X, y)
    >>> search.n_candidates_, search.n_resources_
    ([3, 1], [12, 36])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **model_selection.HalvingRandomSearchCV._parameter_constraints,
        **SHARED,
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: Any = "exhaust",
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: Any = "auto",
        min_resources: Any = "smallest",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
        cache_size: float | None = None,
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_candidates=n_candidates,
            factor=factor,
            resource=resource,
            max_resources=max_resources,
            min_resources=min_resources,
            aggressive_elimination=aggressive_elimination,
            cv=cv,
            scoring=scoring,
            refit=refit,
            error_score=error_score,
            return_train_score=return_train_score,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.cache_size = cache_size
