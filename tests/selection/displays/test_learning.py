"""The learning curve: scikit-learn's picture, with the numbers of our function."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import model_selection
from sklearn.datasets import load_iris

from mercer import SVC
from mercer.selection import LearningCurveDisplay, learning_curve

X, y = load_iris(return_X_y=True)
OPTIONS = {"cv": 3, "train_sizes": [0.3, 0.6, 1.0], "shuffle": True, "random_state": 0}


def test_lines_are_the_means_of_learning_curve():
    sizes, train, test = learning_curve(SVC(), X, y, **OPTIONS)
    display = LearningCurveDisplay.from_estimator(SVC(), X, y, **OPTIONS)
    for line, scores in zip(display.lines_, (train, test), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), sizes)
        np.testing.assert_array_equal(line.get_ydata(), scores.mean(axis=1))
    assert display.figure_ is display.ax_.figure


def test_it_takes_what_scikit_learns_takes_and_shows_the_same():
    theirs = model_selection.LearningCurveDisplay
    for name in ("__init__", "from_estimator"):
        assert list(inspect.signature(getattr(LearningCurveDisplay, name)).parameters) == list(
            inspect.signature(getattr(theirs, name)).parameters
        )
    options = OPTIONS | {"scoring": "neg_mean_squared_error", "negate_score": True, "std_display_style": "errorbar"}
    ours, expected = (kind.from_estimator(SVC(), X, y, **options) for kind in (LearningCurveDisplay, theirs))
    for bar, other in zip(ours.errorbar_, expected.errorbar_, strict=True):
        np.testing.assert_allclose(bar[0].get_xydata(), other[0].get_xydata(), rtol=1e-12)
    assert ours.ax_.get_ylabel() == expected.ax_.get_ylabel() == "Mean squared error"


@pytest.mark.parametrize("score_type", ["test", "train", "both"])
def test_curves_differ_in_dashes_and_markers_and_look_the_same_alone(score_type):
    _, ax = plt.subplots()
    display = LearningCurveDisplay.from_estimator(SVC(), X, y, score_type=score_type, ax=ax, **OPTIONS)
    looks = {line.get_label(): (line.get_linestyle(), line.get_marker()) for line in display.lines_}
    expected = {"Train": ("--", "s"), "Test": ("-", "o")}
    assert looks == {name: look for name, look in expected.items() if score_type in ("both", name.lower())}
    assert display.ax_ is ax
    for line, band in zip(display.lines_, display.fill_between_, strict=True):
        assert plt.matplotlib.colors.same_color(band.get_facecolor()[0][:3], line.get_color())
