"""Searches against scikit-learn's over the same machine and folds, and what only ours have."""

import io
import logging
import pickle
import warnings
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import loguniform
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelRidge, OneClassSVM
from mercer.kernels import Gaussian, IndefiniteKernelWarning, Linear
from mercer.selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    Trials,
)
from mercer.selection.grid import GridEdgeWarning

from .cases import CASES, SURE, THREE, TWO, WAVE, N, X, above

TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")


def agree(ours, theirs):
    """Whether two searches say the same, in everything but the time they took."""
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for name, column in theirs.cv_results_.items():
        mine = ours.cv_results_[name]
        if name in TIMES:
            assert mine.shape == column.shape
            assert (mine >= 0).all()
        elif isinstance(column, np.ndarray) and column.dtype.kind == "f":
            np.testing.assert_allclose(mine, column, rtol=1e-4, atol=1e-6, err_msg=name)
        else:
            assert list(map(str, mine)) == list(map(str, column)), name
    assert str(ours.best_params_) == str(theirs.best_params_)
    assert ours.best_index_ == theirs.best_index_
    assert ours.n_splits_ == theirs.n_splits_
    assert ours.multimetric_ == theirs.multimetric_


@pytest.mark.slow("two searches for every machine")
@pytest.mark.filterwarnings("ignore:KernelPerceptron stopped")
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_scikit_learn(name):
    case = CASES[name]
    options = {"cv": KFold(3, shuffle=True, random_state=0), "scoring": case.scoring, "return_train_score": True}
    ours = GridSearchCV(case.machine, case.grid, **options).fit(case.X, case.y)
    theirs = model_selection.GridSearchCV(case.machine, case.grid, **options).fit(case.X, case.y)
    agree(ours, theirs)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    said, expected = ours.predict(case.X[:9]), theirs.predict(case.X[:9])
    if said.dtype.kind == "f":
        np.testing.assert_allclose(said, expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(said, expected)
    assert len(ours.certificates_) == 3
    assert ours.cv_results_["evidence"].tolist() == ["exact"] * len(ours.cv_results_["params"])
    with pytest.raises(KeyError):
        ours.cv_results_["evidences"]


def test_randomized_search_agrees():
    space, options = {"C": loguniform(0.1, 10), "gamma": [0.1, 1]}, {"n_iter": 5, "random_state": 3, "cv": 3}
    ours = RandomizedSearchCV(SVC(**SURE), space, **options).fit(X, TWO)
    agree(ours, model_selection.RandomizedSearchCV(SVC(**SURE), space, **options).fit(X, TWO))


@pytest.mark.parametrize("name", ["HalvingGridSearchCV", "HalvingRandomSearchCV"])
def test_halving_agrees(name):
    ours, theirs = (
        {"HalvingGridSearchCV": HalvingGridSearchCV, "HalvingRandomSearchCV": HalvingRandomSearchCV}[name],
        getattr(model_selection, name),
    )
    space, options = {"C": [0.1, 1, 10], "gamma": [0.1, 1, 2]}, {"random_state": 0, "cv": 3}
    mine = ours(SVC(**SURE), space, cache_size=50, **options).fit(X, TWO)
    agree(mine, theirs(SVC(**SURE), space, **options).fit(X, TWO))
    assert mine.n_resources_[-1] > mine.n_resources_[0]


@pytest.mark.parametrize("refit", ["auc", False, lambda results: int(results["mean_test_accuracy"].argmin())])
def test_several_metrics(refit):
    scoring = {"accuracy": make_scorer(accuracy_score), "auc": "roc_auc"}
    options = {"cv": 3, "scoring": scoring, "refit": refit}
    grid = {"C": [0.1, 1, 10]}
    ours, theirs = (
        kind(SVC(**SURE), grid, **options).fit(X, TWO) for kind in (GridSearchCV, model_selection.GridSearchCV)
    )
    for name, column in theirs.cv_results_.items():
        if name.startswith(("mean_test", "std_test", "rank_test", "split")):
            np.testing.assert_allclose(ours.cv_results_[name], column, rtol=1e-6, err_msg=name)
    for attribute in ("best_index_", "best_score_", "best_params_"):
        assert getattr(ours, attribute, None) == getattr(theirs, attribute, None)
    assert ours.scorer_.keys() == theirs.scorer_.keys()


def test_a_function_that_names_its_scores():
    def scores(machine, X, y):
        return {"right": float(np.mean(machine.predict(X) == y)), "size": float(len(X))}

    search = GridSearchCV(SVC(), {"C": [1, -1]}, scoring=scores, refit="right", cv=3, error_score=0.25)
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 6"):
        search.fit(X, TWO)
    assert search.multimetric_
    assert search.cv_results_["split1_test_size"].tolist() == [N / 3, 0.25]
    with pytest.raises(ValueError, match="parameter refit must be set to a scorer key"):
        clone(search).set_params(refit=True, param_grid={"C": [1]}).fit(X, TWO)


def test_fits_that_fail():
    grid, error = {"C": [1, -1]}, "InvalidParameterError"
    said = []
    for kind in (GridSearchCV, model_selection.GridSearchCV):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search = kind(SVC(), grid, cv=3).fit(X, TWO)
        said.append([w.category for w in caught])
        assert "3 fits failed out of a total of 6" in str(caught[0].message)
        assert error in str(caught[0].message)
        assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert said[0] == said[1]
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        GridSearchCV(SVC(), {"C": [-1]}, cv=3).fit(X, TWO)
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        GridSearchCV(SVC(), grid, cv=3, error_score="raise").fit(X, TWO)


def test_groups_weights_and_frames():
    groups, weights = np.arange(N) % 5, 1.0 + np.arange(N) % 3
    options = {"cv": GroupKFold(3)}
    for data in (X, pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        searches = [
            kind(SVC(**SURE), {"C": [0.1, 1]}, **options).fit(data, TWO, groups=groups, sample_weight=weights)
            for kind in (GridSearchCV, model_selection.GridSearchCV)
        ]
        agree(*searches)
        if data is not X:
            assert searches[0].feature_names_in_.tolist() == ["a", "b", "c"]


def test_metadata_routing():
    weights = 1.0 + np.arange(N) % 3
    with config_context(enable_metadata_routing=True):
        machine = SVC(**SURE).set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        searches = [
            kind(machine, {"C": [0.1, 1]}, cv=GroupKFold(3).set_split_request(groups=True), scoring=scorer).fit(
                X, TWO, sample_weight=weights, groups=np.arange(N) % 5
            )
            for kind in (GridSearchCV, model_selection.GridSearchCV)
        ]
        agree(*searches)


def lines(kind, verbose):
    """What a search writes, without the times and the dots before them."""
    with redirect_stdout(io.StringIO()) as out:
        kind(SVC(), {"C": [0.1, 1]}, cv=2, verbose=verbose, return_train_score=verbose > 3).fit(X, TWO)
    return [line.partition(" total time")[0].replace(".", "") for line in out.getvalue().splitlines() if "CV" in line]


@pytest.mark.parametrize("verbose", [1, 2, 3, 4, 10])
def test_messages_are_those_of_scikit_learn(verbose):
    assert lines(GridSearchCV, verbose) == lines(model_selection.GridSearchCV, verbose)


class Recorder:
    """A callback of scikit-learn's that remembers the tasks."""

    def __init__(self):
        self.begun, self.ended, self.rows = [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.begun.append((context.task_name, context.task_id))
        self.rows.append((len(X), len(y)) if X is not None else None)

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.task_name, context.task_id))


def test_callbacks():
    found = []
    for kind in (GridSearchCV, model_selection.GridSearchCV):
        recorder = Recorder()
        kind(SVC(), {"C": [0.1, 1]}, cv=3).set_callbacks(recorder).fit(X, TWO)
        found.append(recorder)
    for names in ("begun", "ended"):
        assert sorted(getattr(found[0], names)) == sorted(getattr(found[1], names))
    assert found[0].rows == found[1].rows


def test_callbacks_of_the_machine_are_called_by_every_fit(caplog):
    recorder = Recorder()
    with caplog.at_level(logging.DEBUG, "mercer.selection"):
        GridSearchCV(SVC().set_callbacks(recorder), {"C": [0.1, 1]}, cv=3, refit=False).fit(X, TWO)
    assert sum(name == "fit" for name, _ in recorder.begun) == 6
    assert "has callbacks" in caplog.text


def test_what_is_not_ours_is_left_to_scikit_learn(caplog, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("no trials were expected")

    monkeypatch.setattr("mercer.selection.evaluation.Trials", refuse)

    class Mine(SVC):
        pass

    with caplog.at_level(logging.DEBUG, "mercer.selection"):
        GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=2).fit(X, WAVE)
        GridSearchCV(Mine(), {"C": [0.1, 1]}, cv=2).fit(X, TWO)
    assert caplog.messages == [
        "GridSearchCV is left to scikit-learn: Ridge is no machine of mercer and ends in none",
        "GridSearchCV is left to scikit-learn: Mine is no machine of mercer and ends in none",
    ]
    with pytest.raises(ValueError, match="checkpoint='file' needs a search that mercer runs, but Ridge is no machine"):
        GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, checkpoint="file").fit(X, WAVE)
    with pytest.raises(AssertionError, match="no trials"):
        GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge": [Ridge(), KernelRidge()]}).fit(X, WAVE)


def test_ctrl_c_keeps_what_was_finished(monkeypatch):
    def interrupted(self, cells, finished=None):
        for number, cell in enumerate(cells):
            if cell["C"] == 10:
                raise KeyboardInterrupt
            finished(number, self.evaluate(cell))

    whole = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3).fit(X, TWO)
    expected = whole.cv_results_["split1_test_score"][:2]
    evaluate_all = Trials.evaluate_all
    monkeypatch.setattr(Trials, "evaluate", lambda self, cell: evaluate_all(self, [cell])[0])
    monkeypatch.setattr(Trials, "evaluate_all", interrupted)
    search = whole
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, TWO)
    assert search.cv_results_["params"] == [{"C": 0.1}, {"C": 1}]
    assert search.cv_results_["split1_test_score"].tolist() == expected.tolist()
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "best_index_")


def test_pickles_clones_and_parameters():
    search = GridSearchCV(SVC(), {"C": [0.1, 1]}, cv=3, cut=None, extend=False, cache_size=10)
    copy = pickle.loads(pickle.dumps(search.fit(X, TWO)))
    assert copy.cv_results_["evidence"].tolist() == ["exact", "exact"]
    assert clone(search).get_params().keys() >= {"cut", "checkpoint", "extend", "cache_size"}
    for wrong in ({"cut": "yes"}, {"extend": 3}, {"cache_size": -1}, {"checkpoint": 3}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(search).set_params(**wrong).fit(X, TWO)


class TestDefaultGrid:
    @pytest.mark.filterwarnings("ignore::mercer.selection.grid.GridEdgeWarning")
    def test_is_made_of_the_samples(self):
        search = GridSearchCV(SVC(), cv=StratifiedKFold(3)).fit(X, THREE)
        assert set(search.param_grid_) == {"C", "gamma"}
        assert len(search.cv_results_["params"]) == 49
        scaled = GridSearchCV(SVC(), cv=StratifiedKFold(3)).fit(1000 * X, THREE)
        np.testing.assert_allclose(np.array(scaled.param_grid_["gamma"]) * 1e6, search.param_grid_["gamma"], rtol=0.01)
        assert scaled.best_score_ == pytest.approx(search.best_score_, abs=0.03)

    def test_not_for_others(self):
        with pytest.raises(ValueError, match="a grid for machines of mercer alone, but Ridge is no machine"):
            GridSearchCV(Ridge()).fit(X, WAVE)
        with pytest.raises(ValueError, match="no default grid for OneClassSVM, which learns without labels"):
            GridSearchCV(OneClassSVM(), scoring=above).fit(X)


class TestEdges:
    def test_the_edge_is_reported(self):
        grid = {"svc__C": [1e-4, 1e-3, 1e-2]}
        machine = make_pipeline(StandardScaler(), SVC())
        GridSearchCV(machine, grid, cv=3).fit(X, TWO)  # a grid that was given is what the user wants
        search = GridSearchCV(machine, {"svc__C": [1e-9, 1e-8]}, cv=3, extend=True)
        search.fit(X, TWO)  # flat: no edge

    def test_the_grid_grows_to_the_best(self):
        search = GridSearchCV(SVC(kernel="linear"), {"C": [0.003, 0.01]}, cv=3, extend=True).fit(X, TWO)
        tried = [cell["C"] for cell in search.cv_results_["params"]]
        assert tried[:4] == [0.003, 0.01, 0.0333, 0.111]
        whole = model_selection.GridSearchCV(SVC(kernel="linear"), {"C": tried}, cv=3).fit(X, TWO)
        assert whole.best_params_ == search.best_params_
        assert search.best_score_ > search.cv_results_["mean_test_score"][1]
        assert search.best_params_["C"] < max(tried)

    def test_it_does_not_grow_for_ever(self):
        def more(machine, X, y):
            return float(np.log(machine.named_steps["svc"].C))

        machine = make_pipeline(StandardScaler(), SVC(kernel=Gaussian(1) + Linear()))
        search = GridSearchCV(machine, {"svc__C": [0.1, 1]}, cv=2, extend=True, scoring=more)
        with pytest.warns(GridEdgeWarning, match=r"svc__C=1e\+08 is the largest of 10 values from 0.1 to 1e\+08"):
            search.fit(X, TWO)
        assert len(search.cv_results_["params"]) == 10

    def test_a_corner(self):
        def score(machine, X, y):
            return float(np.log(machine.C) - np.log(machine.gamma))

        search = GridSearchCV(SVC(), {"C": [1, 2], "gamma": [1, 2]}, cv=2, scoring=score, extend=True)
        with pytest.warns(GridEdgeWarning, match="C=.* and gamma=.* is the smallest"):
            search.fit(X, TWO)
        cells = {(cell["C"], cell["gamma"]) for cell in search.cv_results_["params"]}
        assert len(cells) == len(search.cv_results_["params"]) == 100


class TestCuts:
    """What a search says of the cells that it did not finish."""

    GRID = {"C": np.geomspace(0.001, 100, 6).tolist(), "gamma": [0.01, 0.1, 1, 10]}  # noqa: RUF012

    def test_the_best_is_that_of_the_whole_search(self):
        whole = GridSearchCV(SVC(**SURE), self.GRID, cv=5).fit(X, TWO)
        search = GridSearchCV(SVC(**SURE), self.GRID, cv=5, cut="safe").fit(X, TWO)
        assert search.best_params_ == whole.best_params_
        assert search.best_score_ == whole.best_score_
        evidence = search.cv_results_["evidence"]
        assert set(evidence) <= {"exact", "bounded", "skipped"}
        assert evidence[search.best_index_] == "exact"
        assert (evidence != "exact").any()
        means = whole.cv_results_["mean_test_score"]
        for i in np.flatnonzero(evidence != "exact"):
            low, high = search.cv_results_["evidence_low"][i], search.cv_results_["evidence_high"][i]
            assert low - 1e-12 <= means[i] <= high + 1e-12
            assert high <= whole.best_score_

    def test_a_checkpoint_continues(self, tmp_path, monkeypatch):
        whole = GridSearchCV(SVC(), self.GRID, cv=3).fit(X, TWO)
        search = GridSearchCV(SVC(), self.GRID, cv=3, checkpoint=tmp_path / "search")
        search.fit(X, TWO)
        agree(search, whole)
        again = clone(search).fit(X, TWO)
        for name, column in search.cv_results_.items():
            if name.startswith(("split", "mean_test")):
                np.testing.assert_array_equal(again.cv_results_[name], column)


BOOTSTRAPS = [(np.random.default_rng(seed).integers(0, 60, 80), np.arange(60, N)) for seed in range(2)]
SIGNED = [(np.r_[0:60, -N : 20 - N], np.arange(-30, 0)), (np.arange(30 - N, 0), np.arange(30))]


@pytest.mark.parametrize("splits", [BOOTSTRAPS, SIGNED], ids=["bootstrap", "negative positions"])
@pytest.mark.parametrize("name", ["SVC", "SVC scale", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge"])
def test_rows_that_repeat_in_a_split(name, splits):
    case = CASES[name]
    asked = {"cv": splits, "scoring": case.scoring, "refit": False, "return_train_score": True}
    ours = GridSearchCV(case.machine, case.grid, **asked).fit(case.X, case.y)
    theirs = model_selection.GridSearchCV(case.machine, case.grid, **asked).fit(case.X, case.y)
    agree(ours, theirs)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kernels", [["precomputed", "rbf"], ["rbf", "precomputed"]])
def test_kernels_of_a_given_matrix_and_of_its_rows(kernels, y):
    grid, K = {"C": [0.1, 10], "kernel": kernels}, Gaussian(1)(X)
    ours = GridSearchCV(SVC(**SURE), grid, cv=3).fit(K, y)
    agree(ours, model_selection.GridSearchCV(SVC(**SURE), grid, cv=3).fit(K, y))


@pytest.mark.parametrize(
    ("machine", "y"),
    [
        (SVR(), np.where(np.arange(N) == 80, np.nan, WAVE)),
        (SVR(), np.where(np.arange(N) == 80, np.inf, WAVE)),
        (SVC(), np.where(np.arange(N) == 80, 0.5, THREE)),
        (SVC(break_ties=True, decision_function_shape="ovo"), THREE),
    ],
    ids=["nan", "infinite", "no label", "refused by the machine"],
)
def test_scores_that_fail(machine, y):
    asked = {"cv": [(np.arange(70), np.arange(70, N))], "refit": False, "error_score": -7}
    with pytest.warns(UserWarning, match="Scoring failed"):
        ours = GridSearchCV(machine, {"C": [0.1, 1]}, **asked).fit(X, y)
    assert (ours.cv_results_["mean_test_score"] == -7).all()
    asked["error_score"] = "raise"
    with pytest.raises(ValueError, match=r"NaN|infinity|continuous|break_ties"):
        GridSearchCV(machine, {"C": [0.1, 1]}, **asked).fit(X, y)


@pytest.mark.parametrize("cut", ["safe", "race"])
def test_cells_that_go_alone_are_not_cut(cut):
    frames = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(StandardScaler(), SVC(**SURE))
    grid = [{"standardscaler": [frames], "svc__C": [1e-3, 0.1, 1]}]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    for cells in (grid, [{"svc__C": [0.1, 1]}, *grid]):
        theirs = model_selection.GridSearchCV(pipeline, cells, cv=5).fit(table, TWO)
        ours = GridSearchCV(pipeline, cells, cv=5, cut=cut).fit(table, TWO)
        exact = ours.cv_results_["evidence"] == "exact"
        assert exact[-3:].all()
        assert np.array_equal(ours.cv_results_["mean_test_score"][exact], theirs.cv_results_["mean_test_score"][exact])


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_an_indefinite_kernel_is_fitted_on_its_own(y):
    grid = {"C": [1, 100], "kernel": ["sigmoid", "rbf"]}
    with pytest.warns(IndefiniteKernelWarning):
        ours = GridSearchCV(SVC(gamma=1, coef0=-1), grid, cv=3, refit=False).fit(X, y)
    with pytest.warns(IndefiniteKernelWarning):
        theirs = model_selection.GridSearchCV(SVC(gamma=1, coef0=-1), grid, cv=3, refit=False).fit(X, y)
    agree(ours, theirs)
