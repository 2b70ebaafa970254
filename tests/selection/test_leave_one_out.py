"""Leave-one-out predictions are those of honest refits, whatever the machine, the kernel, the price and the data."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneOut as Splits
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

from mercer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.selection import leave_one_out

KERNELS = [
    dict(kernel="rbf", gamma=0.5),
    dict(kernel="linear"),
    dict(kernel="poly", degree=2, gamma=0.3, coef0=1.0),
]
COSTS = [0.01, 0.1, 1.0, 10.0]


def products(A, B):
    return A @ B.T


def labelled(kind, classes):
    n, random = 48, np.random.default_rng(0)
    if kind == "grid":  # many duplicates, of both labels
        X = random.integers(0, 3, (n, 3)).astype(float) + 0.01 * (np.arange(n) % 5)[:, None]
        return X, (X.sum(axis=1) + random.integers(0, 2, n)).astype(int) % classes
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=1, n_classes=classes, n_clusters_per_class=1, flip_y=0.1, random_state=1
    )
    if kind == "twins":
        X, y = np.tile(X[: n // 2], (2, 1)), np.tile(y[: n // 2], 2)
        y[n // 2 :: 5] = (y[n // 2 :: 5] + 1) % classes  # some twins contradict each other
    return X, y


def refitted(machine, X, y, weight=None):
    """What a machine predicts for every sample that has been fitted to the others; values for more than labels."""
    found = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        weights = None if weight is None else weight[rest]
        found.append(clone(machine).fit(X[rest], y[rest], weights).predict(X[i : i + 1])[0])
    return np.array(found)


def undecided(machine, X, y, differing):
    """Whether the values of honest refits at these samples are zero but for rounding, so that either label is right."""
    for i in differing:
        rest = np.delete(np.arange(len(y)), i)
        values = (
            clone(machine).set_params(decision_function_shape="ovo").fit(X[rest], y[rest]).decision_function(X[[i]])
        )
        if np.abs(values).min() > 1e-6:
            return False
    return True


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize("kind", ["plain", "twins", "grid"])
@pytest.mark.parametrize("C", COSTS)
def test_of_two_classes(kind, C, kernel):
    X, y = labelled(kind, 2)
    machine = SVC(C=C, tol=1e-7, **kernel)
    found = leave_one_out(machine, X, y)
    differing = np.flatnonzero(found.predictions != refitted(machine, X, y))
    assert undecided(machine, X, y, differing)
    assert found.converged
    assert sum(found.settled.values()) == len(y)
    np.testing.assert_array_equal(found.errors, found.predictions != y)
    assert not hasattr(machine, "support_")


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize(
    "extra", [{}, {"strategy": "ovr"}, {"votes": "distance"}, {"break_ties": True}], ids=lambda extra: str(extra)
)
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_of_several_classes(extra, C, kernel):
    X, y = labelled("plain", 3)
    machine = SVC(C=C, tol=1e-7, **kernel, **extra)
    found = leave_one_out(machine, X, y)
    np.testing.assert_array_equal(found.predictions, refitted(machine, X, y))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize("kind", ["plain", "twins", "grid"])
@pytest.mark.parametrize("C", COSTS[:3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_of_numbers(kind, C, epsilon, kernel):
    X, _ = labelled(kind, 2)
    y = X[:, 0] + np.sin(X[:, 1]) + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    machine = SVR(C=C, epsilon=epsilon, tol=1e-7, **kernel)
    found = leave_one_out(machine, X, y)
    np.testing.assert_allclose(found.predictions, refitted(machine, X, y), atol=1e-5)
    np.testing.assert_array_equal(found.errors, y - found.predictions)
    assert found.converged


def test_agrees_with_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:300], y[:300]
    peer = sklearn.svm.SVC(C=3.0, gamma=0.05, tol=1e-6)
    found = leave_one_out(SVC(C=3.0, gamma=0.05, tol=1e-6), X, y)
    np.testing.assert_array_equal(found.predictions, cross_val_predict(peer, X, y, cv=Splits()))
    numbers = X[:, 0] * X[:, 1]
    peer = sklearn.svm.SVR(C=3.0, gamma=0.05, tol=1e-6)
    found = leave_one_out(SVR(C=3.0, gamma=0.05, tol=1e-6), X, numbers)
    np.testing.assert_allclose(found.predictions, cross_val_predict(peer, X, numbers, cv=Splits()), atol=1e-5)


def test_most_solutions_are_followed_not_refitted():
    X, y = load_breast_cancer(return_X_y=True)
    found = leave_one_out(SVC(C=3.0, gamma=0.05), scale(X), y)
    assert found.settled["refitted"] == 0
    assert found.settled["no support vector"] > 300
    assert found.settled["followed"] > 50


def test_without_memory_for_the_matrix_they_are_refitted():
    X, y = labelled("plain", 2)
    machine = SVC(C=2.0, gamma=0.5, tol=1e-7, cache_size=0.01)
    found = leave_one_out(machine, X, y)
    assert found.settled["followed"] == 0
    assert found.settled["refitted"] > 0
    np.testing.assert_array_equal(found.predictions, refitted(machine, X, y))


@pytest.mark.parametrize(
    "machine",
    [
        SVC(C=2.0, tol=1e-7),  # gamma="scale" is another number without each sample
        SVC(C=2.0, kernel=Gaussian("median"), tol=1e-7),
        SVC(C=2.0, gamma=0.5, class_weight="balanced", tol=1e-7),
        SVC(C=2.0, gamma=0.5, class_weight={0: 3.0}, tol=1e-7),
        NuSVC(nu=0.3, gamma=0.5, tol=1e-7),
        SVC(C=2.0, kernel=products, tol=1e-7),
        SVC(C=2.0, kernel="sigmoid", gamma=0.01, tol=1e-7),
    ],
    ids=["scale", "median", "balanced", "weights", "nu", "function", "sigmoid"],
)
def test_what_depends_on_all_samples(machine):
    X, y = labelled("plain", 2)
    np.testing.assert_array_equal(leave_one_out(machine, X, y).predictions, refitted(machine, X, y))


@pytest.mark.parametrize(
    "machine", [NuSVR(nu=0.4, C=2.0, gamma=0.5, tol=1e-7), SVR(C=2.0, tol=1e-7)], ids=["nu", "scale"]
)
def test_numbers_of_machines_that_depend_on_all_samples(machine):
    X, _ = labelled("plain", 2)
    y = X[:, 0] * X[:, 1]
    np.testing.assert_allclose(leave_one_out(machine, X, y).predictions, refitted(machine, X, y), atol=1e-5)


@pytest.mark.parametrize("kind", [SVC, SVR])
def test_weights_of_samples(kind):
    X, y = labelled("plain", 2)
    target = y if kind is SVC else X[:, 0] * X[:, 1]
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    weight[::7] = 0.0
    machine = kind(C=2.0, gamma=0.5, tol=1e-7)
    found = leave_one_out(machine, X, target, weight)
    np.testing.assert_allclose(found.predictions, refitted(machine, X, target, weight), atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_given_kernels(classes):
    X, y = labelled("plain", classes)
    K = Gaussian(gamma=0.5)(X)
    found = leave_one_out(SVC(C=2.0, kernel="precomputed"), K, y)
    np.testing.assert_array_equal(found.predictions, leave_one_out(SVC(C=2.0, gamma=0.5), X, y).predictions)
    balanced = leave_one_out(SVC(C=2.0, kernel="precomputed", class_weight="balanced"), K, y)
    other = leave_one_out(SVC(C=2.0, gamma=0.5, class_weight="balanced"), X, y)
    np.testing.assert_array_equal(balanced.predictions, other.predictions)


def test_strings():
    words = ["abab", "baba", "abba", "aabb", "bbab", "cdcd", "dcdc", "ccdd", "dccd", "acdc", "cdab", "abcd"]
    y = np.array([0] * 5 + [1] * 7)
    machine = SVC(C=5.0, kernel=Spectrum(2), tol=1e-7)
    found = leave_one_out(machine, words, y)
    expected = [
        clone(machine).fit(words[:i] + words[i + 1 :], np.delete(y, i)).predict([words[i]])[0] for i in range(len(y))
    ]
    np.testing.assert_array_equal(found.predictions, expected)


def test_labels_may_be_words():
    X, y = labelled("plain", 3)
    names = np.array(["low", "mid", "top"])[y]
    found = leave_one_out(SVC(gamma=0.5), X, names)
    np.testing.assert_array_equal(
        found.predictions, np.array(["low", "mid", "top"])[leave_one_out(SVC(gamma=0.5), X, y).predictions]
    )


def test_hard_margin():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    machine = SVC(C=np.inf, kernel="linear", tol=1e-6)
    found = leave_one_out(machine, X, y)
    np.testing.assert_array_equal(found.predictions, refitted(machine, X, y))


def test_two_samples_of_each_class():
    X, y = np.array([[0.0], [1.0], [1.5], [3.0]]), np.array([0, 0, 1, 1])
    for C in (0.1, 1.0, 100.0):
        machine = SVC(C=C, kernel=Linear(), tol=1e-8)
        np.testing.assert_array_equal(leave_one_out(machine, X, y).predictions, refitted(machine, X, y))


def test_the_only_sample_of_one_of_two_classes_is_refused_in_words():
    with pytest.raises(ValueError, match="class 1 has one sample of positive weight, and without it there is one"):
        leave_one_out(SVC(gamma=1.0), [[0.0], [1.0], [2.0]], [0, 0, 1])


def test_the_only_sample_of_one_of_three_classes_is_an_error():
    X, y = labelled("plain", 2)
    y[5] = 2
    for machine in (SVC(C=2.0, gamma=0.5, tol=1e-7), SVC(C=2.0, gamma=0.5, tol=1e-7, strategy="ovr")):
        found = leave_one_out(machine, X, y)
        assert found.errors[5]
        np.testing.assert_array_equal(found.predictions, refitted(machine, X, y))


def test_three_numbers_two_and_one():
    X, y = np.array([[0.0], [1.0], [2.5]]), np.array([0.0, 1.0, 4.0])
    machine = SVR(C=10.0, gamma=0.5, epsilon=0.0, tol=1e-8)
    np.testing.assert_allclose(leave_one_out(machine, X, y).predictions, refitted(machine, X, y), atol=1e-6)
    np.testing.assert_allclose(
        leave_one_out(machine, X[:2], y[:2]).predictions, refitted(machine, X[:2], y[:2]), atol=1e-6
    )
    with pytest.raises(ValueError, match="n_samples=1, leaves nothing to fit"):
        leave_one_out(machine, X[:1], y[:1])


@pytest.mark.parametrize("machine", [OneClassSVM(), KernelRidge()])
def test_other_machines_are_refused_in_words(machine):
    with pytest.raises(TypeError, match="leave_one_out takes SVC, SVR, NuSVC and NuSVR, not"):
        leave_one_out(machine, [[0.0], [1.0]], [0, 1])


def test_what_did_not_converge_is_said():
    X, y = labelled("plain", 2)
    with pytest.warns(ConvergenceWarning, match="violate the KKT conditions by up to"):
        found = leave_one_out(SVC(C=10.0, gamma=0.5, max_iter=1, class_weight="balanced"), X, y)
    assert not found.converged
    assert "NOT all converged" in str(found)


def test_scores():
    X, y = labelled("plain", 2)
    found = leave_one_out(SVC(gamma=0.5), X, y)
    assert found.error_rate == np.mean(found.predictions != y)
    with pytest.raises(AttributeError, match="error_rate"):
        _ = found.mae
    numbers = leave_one_out(SVR(gamma=0.5), X, X[:, 0])
    rest = X[:, 0] - numbers.predictions
    assert numbers.mae == pytest.approx(np.abs(rest).mean())
    assert numbers.r2 == pytest.approx(1 - np.square(rest).sum() / np.square(X[:, 0] - X[:, 0].mean()).sum())
    with pytest.raises(AttributeError, match="mae and r2"):
        _ = numbers.error_rate
