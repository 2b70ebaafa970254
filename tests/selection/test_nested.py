"""Nested cross-validation against the searches run by hand."""

import logging

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn import model_selection
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV, Trials, nested_cross_validate

from .cases import SURE, THREE, TWO, WAVE, N, X

GRID = {"C": [0.1, 1, 10], "gamma": [0.1, 1]}
INNER, OUTER = StratifiedKFold(2), KFold(3, shuffle=True, random_state=1)


def by_hand(search, X, y, outer, **params):
    """The scores of a search of the training samples of each split, with their best parameters."""
    scores, chosen = [], []
    for train, test in outer.split(X, y, groups=params.get("groups")):
        some = {name: np.asarray(values)[train] for name, values in params.items()}
        fold = clone(search).fit(X[train], y[train], **some)
        scores.append(fold.score(X[test], y[test]))
        chosen.append((fold.best_params_, fold.best_score_))
    return scores, chosen


@pytest.mark.slow("every search many times")
@pytest.mark.parametrize(
    ("search", "y"),
    [
        (GridSearchCV(SVC(**SURE), GRID, cv=INNER), TWO),
        (GridSearchCV(SVC(**SURE), GRID, cv=INNER, scoring="balanced_accuracy"), THREE),
        (
            GridSearchCV(SVC(**SURE), {"C": [0.1, 1]}, cv=INNER, scoring=["accuracy", "f1_macro"], refit="f1_macro"),
            THREE,
        ),
        (GridSearchCV(make_pipeline(StandardScaler(), SVC(**SURE)), {"svc__C": [0.1, 1]}, cv=INNER), TWO),
        (GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [0.01, 1], "gamma": [0.1, 1]}, cv=3), WAVE),
        (RandomizedSearchCV(SVC(**SURE), GRID, n_iter=3, random_state=2, cv=INNER), TWO),
        (HalvingGridSearchCV(SVC(**SURE), {"C": [0.1, 1, 10]}, random_state=0, cv=2), TWO),
        (GridSearchCV(Ridge(), {"alpha": [0.1, 10]}, cv=2), WAVE),
    ],
    ids=["grid", "scorer", "metrics", "pipeline", "ridge", "randomized", "halving", "not ours"],
)
def test_equals_searches_by_hand(search, y):
    answer = nested_cross_validate(search, X, y, cv=OUTER, return_estimator=True)
    scores, chosen = by_hand(search, X, y, OUTER)
    np.testing.assert_allclose(answer["test_score"], scores, rtol=1e-5)
    assert answer["best_params"] == [params for params, _ in chosen]
    np.testing.assert_allclose(answer["best_score"], [score for _, score in chosen], rtol=1e-5)
    assert [type(one) for one in answer["estimator"]] == [type(search)] * 3
    assert (answer["fit_time"] > 0).all()


def test_groups_and_weights():
    groups, weights = np.arange(N) % 9, 1.0 + np.arange(N) % 3
    search = GridSearchCV(SVC(**SURE), GRID, cv=GroupKFold(2))
    answer = nested_cross_validate(
        search, X, TWO, cv=GroupKFold(3), groups=groups, params={"groups": groups, "sample_weight": weights}
    )
    scores, chosen = by_hand(search, X, TWO, GroupKFold(3), groups=groups, sample_weight=weights)
    np.testing.assert_allclose(answer["test_score"], scores)
    assert answer["best_params"] == [params for params, _ in chosen]


def test_given_matrix():
    K = np.exp(-np.abs(X[:, :1] - X[:, 0]))
    search = GridSearchCV(SVC(kernel="precomputed", **SURE), {"C": [0.1, 1, 10]}, cv=INNER)
    answer = nested_cross_validate(search, K, TWO, cv=OUTER)
    expected = model_selection.cross_val_score(search, K, TWO, cv=OUTER)
    np.testing.assert_allclose(answer["test_score"], expected)


def test_all_cells_are_evaluated_once(monkeypatch, caplog):
    asked = []
    evaluate_all = Trials.evaluate_all

    def counted(self, cells, finished=None):
        asked.append((len(cells), len(self.splits)))
        return evaluate_all(self, cells, finished)

    monkeypatch.setattr(Trials, "evaluate_all", counted)
    with caplog.at_level(logging.DEBUG, "mercer.selection"):
        nested_cross_validate(GridSearchCV(SVC(), GRID, cv=2), X, TWO, cv=3)
        assert asked == [(6, 6)]
        assert not caplog.messages
        nested_cross_validate(GridSearchCV(SVC(), {"C": [1, 2]}, cv=2, extend=True), X, TWO, cv=3)
    assert "nested_cross_validate runs the searches one by one: every split has a grid of its own" in caplog.messages


def test_fits_that_fail():
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        nested_cross_validate(GridSearchCV(SVC(), {"C": [-1]}, error_score="raise"), X, TWO, cv=3)
    search = GridSearchCV(SVC(), {"C": [-1]}, cv=2)
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        nested_cross_validate(search, X, TWO, cv=3)


def test_splits_may_be_masks():
    masks = [(np.arange(N) % 3 != k, np.arange(N) % 3 == k) for k in range(3)]
    search = GridSearchCV(SVC(**SURE), GRID, cv=INNER)
    theirs = model_selection.cross_validate(search, X, TWO, cv=masks, return_estimator=True)
    ours = nested_cross_validate(search, X, TWO, cv=masks)
    assert np.array_equal(ours["test_score"], theirs["test_score"])
    assert np.array_equal(ours["best_score"], [one.best_score_ for one in theirs["estimator"]])


def test_random_cells_have_their_own_scores():
    search = RandomizedSearchCV(SVC(**SURE), {"C": loguniform(1e-3, 1e3)}, n_iter=4, cv=INNER)
    answer = nested_cross_validate(search, X, TWO, cv=OUTER)
    for (train, _), params, score in zip(OUTER.split(X), answer["best_params"], answer["best_score"], strict=True):
        alone = model_selection.cross_val_score(SVC(**SURE, **params), X[train], TWO[train], cv=INNER)
        assert np.isclose(alone.mean(), score)
