"""Kernels and data that all support vector machines take, and those that they refuse."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from mercer.kernels import Categorical, Custom, Gaussian, Linear, Polynomial, Precomputed
from tests.machines.support import MACHINES, iris, small, values


@pytest.mark.parametrize("cls", MACHINES)
def test_a_kernel_by_name_as_object_as_function_and_as_matrix(cls):
    machine, X, y, function = small(cls)
    named = machine.set_params(kernel="rbf", gamma=0.125).fit(X, y)
    expected = values(named, function, X)
    assert named.kernel_ == Gaussian(gamma=0.125)
    for kernel in (Gaussian(2.0), lambda A, B: Gaussian(2.0)(A, B), Custom(Gaussian(2.0))):
        other = clone(machine).set_params(kernel=kernel).fit(X, y)
        np.testing.assert_allclose(values(other, function, X), expected, atol=1e-6)
    K = Gaussian(2.0)(X)
    for kernel in ("precomputed", Precomputed()):
        other = clone(machine).set_params(kernel=kernel).fit(K, y)
        np.testing.assert_allclose(values(other, function, K), expected, atol=1e-6)
        np.testing.assert_allclose(values(other, function, K[:7]), expected[:7], atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_a_kernel_that_is_set_after_the_fit_does_not_touch_what_was_fitted(cls):
    machine, X, y, function = small(cls)
    kernels = ["rbf", Gaussian(2.0), lambda A, B: A @ B.T]
    for fitted in kernels:
        expected = values(machine.set_params(kernel=fitted).fit(X, y), function, X)
        for other in kernels:
            np.testing.assert_array_equal(values(machine.set_params(kernel=other), function, X), expected)


@pytest.mark.parametrize("cls", MACHINES)
def test_float32_is_kept_and_sparse_agrees(cls):
    machine, X, y, function = small(cls)
    expected = values(machine.set_params(tol=1e-5).fit(X, y), function, X)
    single = machine.fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(values(single, function, X.astype(np.float32)), expected, atol=1e-3)
    for dtype in (np.float32, np.float64):
        sparse = machine.set_params(kernel="rbf", gamma=0.125).fit(sp.csr_array(X.astype(dtype)), y)
        assert sparse.support_vectors_.dtype == dtype
        np.testing.assert_allclose(values(sparse, function, sp.csr_matrix(X.astype(dtype))), expected, atol=1e-3)


@pytest.mark.parametrize("cls", MACHINES)
def test_frames_and_words(cls):
    X, y = iris
    frame = pd.DataFrame({"length": X[:100, 0], "kind": np.where(X[:100, 1] > 0, "wide", "slim")})
    mixed = cls(kernel=Gaussian(1.0).on("length") * (1 + Categorical().on("kind"))).fit(frame, y[:100])
    np.testing.assert_array_equal(mixed.feature_names_in_, ["length", "kind"])
    assert list(mixed.support_vectors_.columns) == ["length", "kind"]
    assert mixed.predict(frame[:3]).shape == (3,)
    words = ["spam", "spa", "ham", "hamlet", "sparse", "shame"]
    shared = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True)
    assert len(cls(kernel=shared).fit(words, [1, 1, 0, 0, 1, 0]).predict(["spas"])) == 1


FRAME = pd.DataFrame(iris[0], columns=list("abcd"))


@pytest.mark.parametrize("X", [iris[0], sp.csr_array(iris[0]), sp.csr_matrix(iris[0]), FRAME, FRAME.astype("float32")])
def test_plain_rows_are_checked_once(X, monkeypatch):
    """By our door alone: scikit-learn's checks take several times as long as to predict a row."""
    machine = SVC().fit(X, iris[1])
    expected = machine.predict(X)
    monkeypatch.setattr("mercer.machines.base.validate_data", None)
    np.testing.assert_array_equal(machine.predict(X[:1]), expected[:1])


@pytest.mark.parametrize(
    "X",
    [
        FRAME.astype("Float64"),
        FRAME.astype(pd.SparseDtype(float, 0.0)),
        FRAME.astype("object"),
        FRAME.astype({"a": str}),
    ],
)
def test_other_frames_are_converted_by_scikit_learn(X):
    expected = SVC(gamma=1.0).fit(*iris).predict(iris[0])
    np.testing.assert_array_equal(SVC(gamma=1.0).fit(X, iris[1]).predict(X), expected)


@pytest.mark.parametrize("cls", [SVC, sklearn.svm.SVC])
def test_rows_that_the_machine_does_not_know_are_refused(cls):
    machine = cls().fit(FRAME, iris[1])
    with pytest.raises(ValueError, match="must be in the same order"):
        machine.predict(FRAME[list("abdc")])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- e\n"):
        machine.predict(FRAME.rename(columns={"a": "e"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        machine.predict(FRAME.to_numpy())
    with pytest.raises(ValueError, match="NaN"):
        machine.predict(FRAME.mask(FRAME > 1))
    for X in (sp.csr_array(iris[0]), sp.csr_matrix(iris[0])):
        machine = cls().fit(X, iris[1])
        with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 4 features as input"):
            machine.predict(X[:, :3])
        with pytest.raises(ValueError, match="NaN"):
            machine.predict(X * np.nan)
        with pytest.warns(UserWarning, match="fitted without feature names"):
            machine.predict(FRAME)


@pytest.mark.parametrize("cls", [*MACHINES, LinearSVC, LinearSVR])
@pytest.mark.parametrize("weight", [2, 0.5])
def test_a_number_is_the_weight_of_every_sample(cls, weight):
    X, y = iris[0][:100], iris[1][:100]
    balanced = {"class_weight": "balanced"} if cls in (SVC, NuSVC, LinearSVC) else {}
    one, each = (cls(**balanced).fit(X, y, sample_weight=w) for w in (weight, np.full(100, float(weight))))
    np.testing.assert_array_equal(one.predict(X), each.predict(X))
    assert one.certificate_ == each.certificate_
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        cls().fit(X, y, sample_weight=0)
    with pytest.raises(ValueError, match="NaN or infinity"):
        cls().fit(X, y, sample_weight=np.nan)


@pytest.mark.parametrize("cls", [*MACHINES, LinearSVC, LinearSVR])
def test_the_function_of_a_machine_that_was_not_fitted(cls):
    with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
        cls().expansion_  # noqa: B018
    assert not hasattr(cls(), "expansion_")


def test_parameters_of_kernels_can_be_searched():
    X, y = iris
    search = GridSearchCV(SVC(kernel=Gaussian(1.0)), {"kernel__sigma": [0.5, 2.0], "C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.kernel == Gaussian(search.best_params_["kernel__sigma"])
    assert cross_val_score(SVC(kernel=Precomputed()), Gaussian(1.0)(X), y, cv=3).mean() > 0.9


@pytest.mark.parametrize("cls", MACHINES)
def test_functions_that_are_not_symmetric(cls):
    machine, X, y, _ = small(cls)
    with pytest.raises(ValueError, match=r"the kernel function must be symmetric, but f\(X, X\)"):
        machine.set_params(kernel=lambda A, B: A @ B.T + A[:, :1]).fit(X, y)


@pytest.mark.parametrize("cls", MACHINES)
def test_pickles(cls):
    machine, X, y, function = small(cls)
    again = pickle.loads(pickle.dumps(machine.fit(X, y)))
    np.testing.assert_array_equal(values(again, function, X), values(machine, function, X))


@pytest.mark.parametrize("cls", MACHINES)
def test_a_fitted_machine_does_not_change_when_the_data_do(cls):
    machine, X, y, function = small(cls)
    changing = X.copy()
    before = values(machine.fit(changing, y), function, X)
    changing[:] = 0
    np.testing.assert_array_equal(values(machine, function, X), before)


def test_linear_kernel_objects_have_weights():
    X, y = iris
    machine = SVC(kernel=Linear(), decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(X @ machine.coef_.T + machine.intercept_, machine.decision_function(X), atol=1e-10)
    assert not hasattr(SVC(kernel=Polynomial(2)).fit(X, y), "coef_")


@pytest.mark.parametrize("cls", MACHINES)
def test_wrong_weights_are_refused_and_negative_ones_warn(cls):
    machine, X, y, function = small(cls)
    with pytest.raises(ValueError, match="incompatible shapes"):
        machine.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(X, y, sample_weight=np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        machine.fit(X, y, sample_weight=np.zeros(len(y)))
    weight = np.ones(len(y))
    even = values(machine.fit(X, y, sample_weight=weight), function, X)
    np.testing.assert_array_equal(values(machine.fit(X, y, sample_weight=[]), function, X), even)
    weight[::7] = 0
    expected = values(machine.fit(X, y, sample_weight=weight), function, X)
    weight[::14] = -1
    with pytest.warns(UserWarning, match="negative weight"):
        machine.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(values(machine, function, X), expected)


@pytest.mark.parametrize("cls", MACHINES)
def test_wrong_data_are_refused(cls):
    X, y = iris
    machine = cls(kernel="linear")
    with pytest.raises(NotFittedError):
        machine.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.where(X > 2, np.nan, X), y)
    if cls is not OneClassSVM:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            machine.fit(X, y[:-1])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            machine.fit(X, y[:10])  # all of one class, which is not what is wrong
    machine.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="trained on dense data"):
        machine.predict(sp.csr_array(X))
    with pytest.raises(TypeError, match="Sparse precomputed"):
        cls(kernel="precomputed").fit(sp.csr_array(X @ X.T), y)
    with pytest.raises(ValueError, match="square"):
        cls(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="returned shape"):
        cls(kernel=lambda A, B: A).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        cls(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


def test_a_sample_without_weight_may_be_beyond_the_kernel():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y, weight = X[:, 0] > 0, np.ones(60)
    X[5], weight[5] = 1e200, 0.0
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        SVC(kernel=Polynomial(3), max_iter=3).fit(X, y, weight)
    with pytest.raises(ValueError, match="not finite"):
        SVC(kernel=Polynomial(3), max_iter=3).fit(X, y)


@pytest.mark.parametrize("kernel", [Gaussian("median"), Gaussian(gamma="scale")], ids=str)
def test_parameters_are_found_from_samples_that_have_a_weight(kernel):
    X = np.random.default_rng(0).standard_normal((90, 2))
    y, weight = np.arange(90) % 3, np.ones(90)
    X[:9] *= 100
    weight[:9] = 0
    assert SVC(kernel=kernel).fit(X, y, weight).kernel_ == SVC(kernel=kernel).fit(X[9:], y[9:]).kernel_


@pytest.mark.parametrize("dtype", [int, bool, np.float32, "Int64", "category"])
def test_a_frame_with_columns_of_another_kind_is_its_numbers(dtype):
    X, y = iris
    numbers = X.copy()
    numbers[:, 1] = numbers[:, 1].round() > 3 if dtype is bool else numbers[:, 1].round()
    frame = pd.DataFrame(numbers, columns=["a", "b", "c", "d"]).astype({"b": dtype})
    machine = SVC().fit(frame, y)
    np.testing.assert_array_equal(machine.predict(frame), SVC().fit(numbers, y).predict(numbers))
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-18, 1e18, 1e19, 1e30])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_float32_of_any_scale(scale, kind):
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X[:, 0] > 0
    Z = kind((X * scale).astype(np.float32))
    expected = SVC(tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC(tol=1e-6).fit(Z, y).decision_function(Z), expected, atol=1e-5)
    np.testing.assert_allclose(Gaussian(scale)(Z), Gaussian(1.0)(X), atol=1e-5)


def test_a_variance_whose_inverse_overflows_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        SVC().fit(np.array([[1e-160], [2e-160]]), [0, 1])
