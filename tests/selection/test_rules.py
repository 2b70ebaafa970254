"""One standard error, in our searches and in scikit-learn's."""

from functools import partial

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC
from mercer.kernels import Gaussian, Linear
from mercer.selection import GridSearchCV, one_standard_error

from .cases import TWO, X


def results(cells, scores, metric="score"):
    """``cv_results_`` of these cells, each with its scores by split."""
    scores = np.array(scores, dtype=float)
    columns = {f"split{i}_test_{metric}": scores[:, i] for i in range(scores.shape[1])}
    return {"params": cells, f"mean_test_{metric}": scores.mean(axis=1), **columns}


SPREAD = np.array([-0.1, 0.0, 0.1])  # its standard error is 0.1 / sqrt(3) = 0.0577


@pytest.mark.parametrize(
    ("cells", "means", "chosen"),
    [
        ([{"C": 1}, {"C": 10}, {"C": 100}], [0.8, 0.85, 0.9], 1),
        ([{"C": 1}, {"C": 10}, {"C": 100}], [0.8, 0.84, 0.9], 2),
        ([{"C": 10}, {"C": 1}], [0.9, 0.9], 1),
        ([{"alpha": 1}, {"alpha": 10}], [0.9, 0.85], 1),
        ([{"C": 1, "gamma": 1}, {"C": 4, "gamma": 0.1}], [0.9, 0.9], 1),
        ([{"C": 1, "gamma": 1}, {"C": 20, "gamma": 0.1}], [0.9, 0.9], 0),
        ([{"k__sigma": 1.0}, {"k__sigma": 2.0}], [0.9, 0.85], 1),
        ([{"kernel": Gaussian(1)}, {"kernel": Gaussian(3)}], [0.9, 0.85], 1),
        ([{"kernel": Gaussian(1), "C": 9}, {"kernel": Linear(), "C": 1}], [0.9, 0.9], 0),
        ([{"kernel": "rbf", "C": 9}, {"kernel": "linear", "C": 1}, {"kernel": "rbf", "C": 8}], [0.9, 0.9, 0.89], 2),
        ([{"C": 9, "class_weight": None}, {"C": 1, "class_weight": "balanced"}], [0.9, 0.9], 0),
        ([{"C": 1, "epsilon": 0.1}, {"C": 1, "epsilon": 0.2}], [0.9, 0.88], 1),
        ([{"n_neighbors": 3}, {"n_neighbors": 9}, {"n_neighbors": 30}], [0.9, 0.88, 0.7], 1),
        ([{"gamma": "scale", "C": 2}, {"gamma": 0.1, "C": 1}], [0.9, 0.9], 0),
        ([{"C": 1}, {"C": 10}], [np.nan, 0.9], 1),
        ([{"C": 1}, {"C": 10}], [np.nan, np.nan], 0),
    ],
)
def test_the_smoothest_within_one_standard_error(cells, means, chosen):
    assert one_standard_error(results(cells, [mean + SPREAD for mean in means])) == chosen


def test_a_single_split_has_no_standard_error():
    assert one_standard_error(results([{"C": 1}, {"C": 2}], [[0.8], [0.9]])) == 1


def test_several_metrics():
    both = results([{"C": 1}, {"C": 10}], [[0.8, 0.8], [0.9, 0.9]], "a")
    both |= results([{"C": 1}, {"C": 10}], [[0.9, 0.9], [0.8, 0.8]], "b")
    assert one_standard_error(both, metric="a") == 1
    assert one_standard_error(both, metric="b") == 0
    with pytest.raises(ValueError, match="the metrics 'a', 'b'; say which"):
        one_standard_error(both)


def test_in_searches():
    grid = {"C": [0.01, 0.1, 1, 10, 100], "gamma": [0.1, 1]}
    ours = GridSearchCV(SVC(), grid, refit=one_standard_error, cv=3).fit(X, TWO)
    theirs = model_selection.GridSearchCV(SVC(), grid, refit=one_standard_error, cv=3).fit(X, TWO)
    assert ours.best_params_ == theirs.best_params_
    means = ours.cv_results_["mean_test_score"]
    assert (
        means.max() - means[ours.best_index_] <= ours.cv_results_["std_test_score"][means.argmax()] / np.sqrt(2) + 1e-9
    )
    other = model_selection.GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [1, 5, 20]},
        scoring=["accuracy", "f1_macro"],
        refit=partial(one_standard_error, metric="f1_macro"),
    )
    assert other.fit(X, TWO).best_params_["n_neighbors"] in (1, 5, 20)
