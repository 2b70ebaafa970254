"""Functions of cross-validation against scikit-learn's over the same machine and folds."""

import inspect
import io
import logging
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from mercer import SVC, SVR, KernelRidge
from mercer import selection as ours

from .cases import CASES, SURE, THREE, TWO, WAVE, N, X

FOLDS = KFold(3, shuffle=True, random_state=0)
FUNCTIONS = (
    "cross_validate",
    "cross_val_score",
    "cross_val_predict",
    "validation_curve",
    "learning_curve",
    "permutation_test_score",
)


def close(given, expected):
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_scikit_learn(name):
    def plain(function):
        parameters = inspect.signature(function).parameters.values()
        return [
            (p.name, p.kind, np.asarray(p.default).tolist() if p.name == "train_sizes" else p.default)
            for p in parameters
        ]

    assert str(plain(getattr(ours, name))) == str(plain(getattr(model_selection, name)))


@pytest.mark.slow("six cross-validations for every machine")
@pytest.mark.filterwarnings("ignore:KernelPerceptron stopped")
@pytest.mark.parametrize("name", CASES)
def test_scores_and_predictions(name):
    case = CASES[name]
    options = {"cv": FOLDS, "scoring": case.scoring}
    answer = ours.cross_validate(case.machine, case.X, case.y, return_train_score=True, return_indices=True, **options)
    expected = model_selection.cross_validate(
        case.machine, case.X, case.y, return_train_score=True, return_indices=True, **options
    )
    assert list(answer) == list(expected)
    close(answer["test_score"], expected["test_score"])
    close(answer["train_score"], expected["train_score"])
    assert [len(part) for part in answer["indices"]["test"]] == [N // 3] * 3
    close(ours.cross_val_score(case.machine, case.X, case.y, **options), expected["test_score"])
    said = ours.cross_val_predict(case.machine, case.X, case.y, cv=FOLDS)
    wanted = model_selection.cross_val_predict(case.machine, case.X, case.y, cv=FOLDS)
    if said.dtype.kind == "f":
        close(said, wanted)
    else:
        np.testing.assert_array_equal(said, wanted)


@pytest.mark.parametrize("y", [TWO, THREE, np.repeat([0, 1, 2], N // 3)], ids=["two", "three", "missing"])
def test_predictions_by_method(y):
    """Where a training part lacks a class, its column is filled."""
    cv = KFold(3)
    machine = SVC(decision_function_shape="ovr", **SURE)

    def said(package, method, kind):
        with pytest.MonkeyPatch.context():
            return package.cross_val_predict(kind, X, y, cv=cv, method=method)

    if len(np.unique(y[N // 3 :])) == len(np.unique(y)):
        close(said(ours, "decision_function", machine), said(model_selection, "decision_function", machine))
    else:
        with pytest.warns(RuntimeWarning, match="Number of classes"), pytest.raises(ValueError, match="Only 2 class"):
            said(ours, "decision_function", machine)
    with pytest.raises(ValueError, match="only works for partitions"):
        ours.cross_val_predict(machine, X, y, cv=ShuffleSplit(3, random_state=0))


def test_validation_curve():
    for machine, y, name, values in (
        (SVC(**SURE), THREE, "C", [0.1, 1, 10]),
        (SVC(**SURE), TWO, "gamma", [0.1, 1, "scale"]),
        (KernelRidge(kernel="rbf"), WAVE, "alpha", np.geomspace(0.01, 10, 4)),
        (SVR(**SURE), WAVE, "epsilon", [0.1, 0.5]),
    ):
        options = {"param_name": name, "param_range": values, "cv": FOLDS}
        for given, expected in zip(
            ours.validation_curve(machine, X, y, **options),
            model_selection.validation_curve(machine, X, y, **options),
            strict=True,
        ):
            assert given.shape == (len(values), 3)
            close(given, expected)


@pytest.mark.parametrize("shuffle", [False, True])
def test_learning_curve(shuffle):
    options = {"cv": FOLDS, "shuffle": shuffle, "random_state": 5, "return_times": True, "train_sizes": [0.3, 0.6, 1.0]}
    given = ours.learning_curve(SVC(**SURE), X, TWO, **options)
    expected = model_selection.learning_curve(SVC(**SURE), X, TWO, **options)
    for mine, theirs in zip(given[:3], expected[:3], strict=True):
        close(mine, theirs)
    assert [part.shape for part in given] == [part.shape for part in expected]


def test_permutation_test():
    options = {"cv": FOLDS, "n_permutations": 5}
    given = ours.permutation_test_score(SVC(**SURE), X, TWO, **options)
    expected = model_selection.permutation_test_score(SVC(**SURE), X, TWO, **options)
    for mine, theirs in zip(given, expected, strict=True):
        close(mine, theirs)


def test_groups_weights_and_metrics():
    weights = 1.0 + np.arange(N) % 3
    options = {"groups": np.arange(N) % 5, "cv": GroupKFold(3), "scoring": ["accuracy", "roc_auc"]}
    given = ours.cross_validate(SVC(**SURE), X, TWO, params={"sample_weight": weights}, **options)
    expected = model_selection.cross_validate(SVC(**SURE), X, TWO, params={"sample_weight": weights}, **options)
    for name in ("test_accuracy", "test_roc_auc"):
        close(given[name], expected[name])


def test_fits_that_fail():
    splits = [
        (np.flatnonzero(TWO == "yes"), np.arange(9)),
        (np.arange(60), np.arange(60, 90)),
    ]  # the first has one class
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 2"):
        scores = ours.cross_val_score(SVC(), X, TWO, cv=splits)
    assert np.isnan(scores[0])
    assert scores[1] > 0.5
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        ours.cross_validate(SVC(C=-1), X, TWO, cv=3)
    for package in (ours, model_selection):  # whose decorator puts the function in the machine's place
        with pytest.raises(ValueError, match="'C' parameter of cross_val_score must be"):
            package.cross_val_score(SVC(C=-1), X, TWO, cv=3, error_score="raise")


def lines(package, verbose):
    with redirect_stdout(io.StringIO()) as out:
        package.cross_validate(SVC(), X, TWO, cv=2, verbose=verbose)
    return [line.partition(" total time")[0].replace(".", "") for line in out.getvalue().splitlines() if "CV" in line]


@pytest.mark.parametrize("verbose", [1, 2, 3])
def test_messages_are_those_of_scikit_learn(verbose):
    assert lines(ours, verbose) == lines(model_selection, verbose)


def test_what_is_not_ours_is_left_to_scikit_learn(caplog):
    with caplog.at_level(logging.DEBUG, "mercer.selection"):
        ours.cross_val_score(Ridge(), X, WAVE)
        ours.cross_validate(SVC(), X, TWO, return_estimator=True)
    assert caplog.messages == [
        "cross_val_score is left to scikit-learn: Ridge is no machine of mercer and ends in none",
        "cross_validate is left to scikit-learn: the fitted estimators are wanted",
    ]


def test_predictions_of_a_method_that_there_is_not():
    with pytest.raises(AttributeError, match="'SVC' has no attribute 'predict_proba'"):
        ours.cross_val_predict(SVC(), X, TWO, cv=FOLDS, method="predict_proba")
