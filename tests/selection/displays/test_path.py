"""The path along one parameter: means, standard errors, the best value and the one-standard-error choice."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import model_selection
from sklearn.datasets import load_diabetes, load_iris

from mercer import SVC, KernelRidge
from mercer.selection import GridSearchCV, PathDisplay, one_standard_error

X, y = load_diabetes(return_X_y=True)
X, y = X[:120], y[:120]
ALPHAS = np.logspace(-4, 2, 19)
C = [0.1, 1.0, 10.0]
MACHINE = KernelRidge(kernel="rbf", gamma=30.0, fit_intercept=True)


@pytest.fixture(scope="module")
def search():
    return GridSearchCV(MACHINE, {"alpha": ALPHAS}, cv=4, return_train_score=True).fit(X, y)


def naive_path(search, kind):
    rows = np.array([search.cv_results_[f"split{i}_{kind}_score"] for i in range(search.n_splits_)])
    return rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))


def band_at(band, x):
    heights = [height for place, height in band.get_paths()[0].vertices if np.isclose(place, x)]
    return min(heights), max(heights)


def test_lines_are_the_means_and_bands_one_standard_error(search):
    display = PathDisplay.from_search(search)
    assert [line.get_label() for line in display.lines_] == ["Train", "Test"]
    for line, band, kind in zip(display.lines_, display.fill_between_, ("train", "test"), strict=True):
        mean, error = naive_path(search, kind)
        np.testing.assert_allclose(line.get_xdata(), ALPHAS)
        np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-12)
        for x, low, high in zip(ALPHAS, mean - error, mean + error, strict=True):
            assert band_at(band, x) == pytest.approx((low, high))
    assert display.lines_[0].get_linestyle() != display.lines_[1].get_linestyle()
    assert display.lines_[0].get_marker() != display.lines_[1].get_marker()
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "alpha"
    assert display.inexact_ is None


def test_best_and_smoothest_lie_on_the_line_and_the_limit_below(search):
    display = PathDisplay.from_search(search)
    mean, error = naive_path(search, "test")
    best, chosen = search.best_index_, one_standard_error(search.cv_results_)
    assert best != chosen
    assert display.best_.get_xydata().tolist() == [[pytest.approx(ALPHAS[best]), pytest.approx(mean[best])]]
    assert display.one_standard_error_.get_xydata().tolist() == [
        [pytest.approx(ALPHAS[chosen]), pytest.approx(mean[chosen])]
    ]
    assert display.threshold_.get_ydata() == pytest.approx([mean[best] - error[best]] * 2)
    assert mean[chosen] >= display.threshold_.get_ydata()[0]


def test_of_an_estimator_it_is_the_validation_curve(search):
    display = PathDisplay.from_estimator(MACHINE, X, y, param_name="alpha", param_range=ALPHAS, cv=4)
    of_search = PathDisplay.from_search(search)
    for line, other in zip(display.lines_, of_search.lines_, strict=True):
        np.testing.assert_allclose(line.get_xydata(), other.get_xydata(), rtol=1e-10)
    assert display.best_index == of_search.best_index
    assert display.one_standard_error_index == of_search.one_standard_error_index


def test_negated_errors_have_a_minimum():
    options = {"param_name": "alpha", "param_range": ALPHAS, "scoring": "neg_mean_squared_error", "cv": 4}
    display = PathDisplay.from_estimator(MACHINE, X, y, negate_score=True, score_type="test", **options)
    (line,) = display.lines_
    assert line.get_label() == "Test"
    assert display.best_.get_ydata()[0] == line.get_ydata().min() > 0
    assert display.threshold_.get_ydata()[0] > line.get_ydata().min()
    assert display.ax_.get_ylabel() == "Mean squared error"


def test_of_more_parameters_the_best_over_the_others_is_shown():
    iris, labels = load_iris(return_X_y=True)
    gammas = [0.01, 0.1, 1.0, 10.0]
    search = model_selection.GridSearchCV(SVC(), {"C": C, "gamma": gammas}).fit(iris, labels)
    display = PathDisplay.from_search(search)
    assert display.param_name == "gamma"
    assert [line.get_label() for line in display.lines_] == ["Test"]
    means = search.cv_results_["mean_test_score"].reshape(len(C), len(gammas))
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means.max(axis=0))
    display = PathDisplay.from_search(search, param="C")
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means.max(axis=1))
    assert display.best_.get_xdata()[0] == search.best_params_["C"]
    with pytest.raises(ValueError, match="names of 1 parameter of the search, which are 'C', 'gamma'; but was given"):
        PathDisplay.from_search(search, param="sigma")
    with pytest.raises(ValueError, match="score_type must be one of 'test', as there are no train_scores; got 'both'"):
        PathDisplay.from_search(search, score_type="both")


def test_values_in_any_order_are_drawn_from_left_to_right(search):
    shuffled = GridSearchCV(MACHINE, {"alpha": np.random.default_rng(0).permutation(ALPHAS)}, cv=4).fit(X, y)
    display, straight = PathDisplay.from_search(shuffled), PathDisplay.from_search(search, score_type="test")
    np.testing.assert_allclose(display.lines_[0].get_xydata(), straight.lines_[0].get_xydata(), rtol=1e-9)
    np.testing.assert_allclose(display.best_.get_xydata(), straight.best_.get_xydata(), rtol=1e-9)


def test_values_that_were_cut_have_a_cross_at_the_edge():
    scores = np.array([[0.5, np.nan], [0.8, 0.9], [0.7, 0.7]])
    evidence = ["bounded", "exact", "exact"]
    display = PathDisplay(param_name="C", param_range=C, test_scores=scores, evidence=evidence).plot()
    assert display.inexact_.get_xydata().tolist() == [[0.1, 0]]
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [np.nan, 0.85, 0.7])
    assert display.best_.get_xdata()[0] == 1.0
    assert display.one_standard_error_ is None


def test_styles_are_the_users(search):
    _, ax = plt.subplots()
    display = PathDisplay.from_search(search, ax=ax, line_kw={"c": "black", "ls": ":"}, fill_between_kw={"alpha": 0.5})
    assert display.ax_ is ax
    assert {line.get_color() for line in display.lines_} == {"black"}
    assert {line.get_linestyle() for line in display.lines_} == {":"}
    assert {band.get_alpha() for band in display.fill_between_} == {0.5}
    assert display.plot().ax_ is not ax
