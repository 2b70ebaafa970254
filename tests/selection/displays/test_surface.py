"""The surface over two parameters: every cell at its place, with its score, its evidence and the choices marked."""

import sys
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import model_selection, svm
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC
from mercer.kernels import Gaussian, Linear
from mercer.selection import GridSearchCV, RandomizedSearchCV, ValidationSurfaceDisplay, one_standard_error

X, y = load_iris(return_X_y=True)
C, GAMMA = [0.01, 0.1, 1.0, 10.0], [1e-3, 1e-2, 0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def search():
    return GridSearchCV(SVC(), {"C": C, "gamma": GAMMA}, cv=4).fit(X, y)


def offsets(artist):
    return [tuple(point) for point in np.asarray(artist.get_offsets()).tolist()]


def at(params):
    return params["C"], params["gamma"]


@pytest.mark.parametrize("kind", [GridSearchCV, model_selection.GridSearchCV])
def test_fields_have_the_mean_scores_and_lie_around_their_cells(kind):
    search = kind(SVC(), {"C": C, "gamma": GAMMA}, cv=4).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    naive = np.empty((len(GAMMA), len(C)))
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        naive[GAMMA.index(params["gamma"]), C.index(params["C"])] = score
    np.testing.assert_array_equal(display.surface_.get_array(), naive)
    corners = display.surface_.get_coordinates()
    for ends, values in ((corners[0, :, 0], C), (corners[:, 0, 1], GAMMA)):
        middles = np.sqrt(ends[1:] * ends[:-1])
        np.testing.assert_allclose(middles, values, rtol=1e-12)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("C", "gamma")
    assert display.figure_ is display.ax_.figure


def test_the_best_and_the_smoothest_are_marked_and_each_cell_once(search):
    display = ValidationSurfaceDisplay.from_search(search)
    results = search.cv_results_
    assert offsets(display.best_) == [at(search.best_params_)]
    assert offsets(display.one_standard_error_) == [at(results["params"][one_standard_error(results)])]
    assert offsets(display.best_) != offsets(display.one_standard_error_)
    splits = np.array([results[f"split{i}_test_score"] for i in range(4)])[:, search.best_index_]
    limit = search.best_score_ - splits.std(ddof=1) / 2
    near = {at(p) for p, m in zip(results["params"], results["mean_test_score"], strict=True) if m >= limit}
    assert set(offsets(display.cells_["near"])) == near
    marked = [point for artist in display.cells_.values() for point in offsets(artist)]
    assert sorted(marked) == sorted(at(params) for params in results["params"])
    assert display.inexact_ is None
    words = {text.get_text() for text in display.legend_.get_texts()}
    assert words == {"exact", "within one SE", "best", "one-SE choice"}


def test_colours_begin_at_the_median_unless_told_otherwise(search):
    means = search.cv_results_["mean_test_score"]
    display = ValidationSurfaceDisplay.from_search(search)
    assert display.surface_.get_clim() == pytest.approx((np.median(means), means.max()))
    assert display.colorbar_.extend == "min"
    display = ValidationSurfaceDisplay.from_search(search, surface_kw={"vmin": 0, "vmax": 1}, cmap="cividis")
    assert display.surface_.get_clim() == (0, 1)
    assert display.surface_.get_cmap().name == "cividis"
    assert display.colorbar_.extend == "neither"
    assert ValidationSurfaceDisplay.from_search(search, colorbar=False).colorbar_ is None


def test_it_is_drawn_on_given_axes_and_again(search):
    _, (left, right) = plt.subplots(1, 2)
    display = ValidationSurfaceDisplay.from_search(search, ax=left)
    assert display.ax_ is left
    assert display.plot(right) is display
    assert display.ax_ is right
    assert len(plt.get_fignums()) == 1


def test_negated_scores_are_errors_whose_smallest_is_best():
    grid = {"C": C, "gamma": GAMMA}
    search = GridSearchCV(svm.SVC(), grid, scoring="neg_mean_squared_error").fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search, negate_score=True)
    assert display.surface_.get_array().min() == pytest.approx(-search.best_score_)
    assert display.colorbar_.ax.get_ylabel() == "Mean squared error"
    assert display.surface_.get_cmap().name == "viridis_r"
    assert offsets(display.best_) == [at(search.best_params_)]
    straight = ValidationSurfaceDisplay.from_search(search)
    assert straight.colorbar_.ax.get_ylabel() == "Negative mean squared error"
    np.testing.assert_array_equal(straight.surface_.get_array(), -display.surface_.get_array())


def test_cells_that_were_cut_are_hatched_and_marked_by_their_evidence():
    search = GridSearchCV(SVC(), {"C": C, "gamma": GAMMA}, cv=10, cut="safe").fit(X, y)
    evidence = search.cv_results_["evidence"]
    assert set(evidence) > {"exact"}
    display = ValidationSurfaceDisplay.from_search(search)
    cut = [at(p) for p, e in zip(search.cv_results_["params"], evidence, strict=True) if e != "exact"]
    assert len(display.inexact_.get_paths()) == len(cut)
    hatched = [path.vertices for path in display.inexact_.get_paths()]
    for (x, width), corners in zip(cut, hatched, strict=True):
        assert corners[:, 0].min() < x < corners[:, 0].max()
        assert corners[:, 1].min() < width < corners[:, 1].max()
    for kind in set(evidence) - {"exact"}:
        own = [at(p) for p, e in zip(search.cv_results_["params"], evidence, strict=True) if e == kind]
        assert offsets(display.cells_[kind]) == own
    assert offsets(display.best_) == [at(search.best_params_)]


def test_fits_that_failed_have_no_colour():
    scores = [0.5, np.nan, 0.7, 0.9]
    display = ValidationSurfaceDisplay(
        param_names=("a", "b"), x_values=[1, 1, 2, 2], y_values=[1, 2, 1, 2], scores=scores
    ).plot()
    assert display.surface_.get_array().mask.tolist() == [[False, False], [True, False]]
    assert offsets(display.cells_["failed"]) == [(1, 2)]
    assert len(display.inexact_.get_paths()) == 1
    assert offsets(display.best_) == [(2, 2)]
    assert display.one_standard_error_ is None
    with pytest.raises(ValueError, match="no cell has one"):
        ValidationSurfaceDisplay(param_names=("a", "b"), x_values=[1, 2], y_values=[1, 2], scores=[np.nan] * 2).plot()


def test_of_more_parameters_the_best_over_the_others_is_shown():
    grid = {"C": C, "gamma": GAMMA, "class_weight": [None, "balanced"], "kernel": ["rbf", "sigmoid"]}
    search = GridSearchCV(svm.SVC(), grid, cv=3).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    assert display.param_names == ("C", "gamma")
    naive = np.full((len(GAMMA), len(C)), -np.inf)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        place = GAMMA.index(params["gamma"]), C.index(params["C"])
        naive[place] = max(naive[place], score)
    np.testing.assert_array_equal(display.surface_.get_array(), naive)
    assert offsets(display.best_) == [at(search.best_params_)]
    other = ValidationSurfaceDisplay.from_search(search, params=("kernel", "C"))
    assert other.surface_.get_array().shape == (len(C), 2)
    assert [text.get_text() for text in other.ax_.get_xticklabels()] == ["rbf", "sigmoid"]


def test_samples_of_a_distribution_are_points_of_their_colours():
    rng = np.random.default_rng(0)
    values = {"C": 10 ** rng.uniform(-1, 2, 8), "gamma": 10 ** rng.uniform(-3, 0, 8)}
    search = RandomizedSearchCV(SVC(), values, n_iter=6, random_state=0).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    assert offsets(display.surface_) == [at(params) for params in search.cv_results_["params"]]
    np.testing.assert_array_equal(display.surface_.get_array(), search.cv_results_["mean_test_score"])
    assert display.ax_.get_xscale() == "log"


def test_rounds_of_a_halving_search_before_the_last_are_not_compared():
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    search = HalvingGridSearchCV(svm.SVC(), {"C": C, "gamma": GAMMA}, cv=3, random_state=0).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    results = search.cv_results_
    last = [at(p) for p, i in zip(results["params"], results["iter"], strict=True) if i == max(results["iter"])]
    assert 0 < len(last) < len(C) * len(GAMMA)
    full = [point for kind in ("near", "exact") if kind in display.cells_ for point in offsets(display.cells_[kind])]
    assert sorted(full) == sorted(last)
    assert len(offsets(display.cells_["eliminated"])) == len(C) * len(GAMMA) - len(last)
    assert offsets(display.best_) == [at(search.best_params_)]
    assert offsets(display.one_standard_error_)[0] in last


def test_kernels_as_values_stand_side_by_side():
    kernels = [Gaussian(1.0), Gaussian(3.0), Linear()]
    search = GridSearchCV(SVC(), {"C": [0.1, 1], "kernel": kernels}, cv=3).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [str(kernel) for kernel in kernels]
    assert display.surface_.get_array().shape == (3, 2)


def test_zero_stands_beside_its_neighbours_and_few_values_on_a_line():
    values = [(a, b) for a in (0.0, 0.01, 1.0) for b in (2, 3, 4)]
    a, b = zip(*values, strict=True)
    display = ValidationSurfaceDisplay(param_names=("a", "b"), x_values=a, y_values=b, scores=np.arange(9.0)).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "0.01", "1"]
    assert display.ax_.get_yscale() == "linear"
    assert offsets(display.best_) == [(2, 4)]


def test_one_of_several_metrics():
    scoring = ["accuracy", "neg_mean_squared_error"]
    search = GridSearchCV(svm.SVC(), {"C": C, "gamma": GAMMA}, scoring=scoring, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="metrics 'accuracy', 'neg_mean_squared_error'; say which one, as in metric="):
        ValidationSurfaceDisplay.from_search(search)
    display = ValidationSurfaceDisplay.from_search(search, metric="neg_mean_squared_error")
    np.testing.assert_array_equal(
        np.sort(display.surface_.get_array().ravel()), np.sort(search.cv_results_["mean_test_neg_mean_squared_error"])
    )
    assert display.colorbar_.ax.get_ylabel() == "Negative mean squared error"
    chosen = partial(one_standard_error, metric="accuracy")
    assert offsets(ValidationSurfaceDisplay.from_search(search, metric="accuracy").one_standard_error_) == [
        at(search.cv_results_["params"][chosen(search.cv_results_)])
    ]
    search = GridSearchCV(svm.SVC(), {"C": C, "gamma": GAMMA}, scoring=scoring, refit="accuracy").fit(X, y)
    assert ValidationSurfaceDisplay.from_search(search).colorbar_.ax.get_ylabel() == "Accuracy"


def test_a_grid_of_several_parts_shows_the_cells_that_have_both():
    grid = [{"kernel": ["linear"], "C": [1.0]}, {"kernel": ["rbf"], "C": C, "gamma": GAMMA}]
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    display = ValidationSurfaceDisplay.from_search(search)
    assert display.surface_.get_array().shape == (len(GAMMA), len(C))
    assert sum(len(offsets(artist)) for artist in display.cells_.values()) == len(C) * len(GAMMA)


def test_what_cannot_be_drawn_is_refused(search):
    with pytest.raises(NotFittedError):
        ValidationSurfaceDisplay.from_search(GridSearchCV(SVC(), {"C": C}))
    single = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}).fit(X, y)
    with pytest.raises(ValueError, match="over 2 parameters, but 'n_neighbors' took several values; PathDisplay draws"):
        ValidationSurfaceDisplay.from_search(single)
    for wrong in (("C",), ("C", "C"), ("C", "sigma")):
        with pytest.raises(
            ValueError, match="names of 2 parameters of the search, which are 'C', 'gamma'; but was given"
        ):
            ValidationSurfaceDisplay.from_search(search, params=wrong)
    flat = ValidationSurfaceDisplay(param_names=("a", "b"), x_values=[1, 2], y_values=[1, 1], scores=[0.1, 0.2])
    with pytest.raises(ValueError, match="two values or more of each parameter, but b has one"):
        flat.plot()


def test_without_matplotlib_it_says_what_to_install(search, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r"ValidationSurfaceDisplay.from_search needs matplotlib: pip install 'mercer"
    ):
        ValidationSurfaceDisplay.from_search(search)
