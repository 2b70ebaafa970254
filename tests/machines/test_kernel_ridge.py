"""KernelRidge as an estimator: scikit-learn's checks, its peer, and what it adds."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRidge
from mercer.kernels import (
    Categorical,
    Custom,
    Gaussian,
    IndefiniteKernelWarning,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from mercer.solvers.cholesky import InvertibleGram

X, y = load_diabetes(return_X_y=True)
X = X * 20
Y = np.stack([y, y**2 / 100], axis=1)


#: Some of its matrices are random.
@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [KernelRidge(), KernelRidge(kernel="rbf", fit_intercept=True), KernelRidge(kernel="precomputed")]
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        dict(kernel="rbf"),
        dict(kernel="rbf", gamma=0.3, alpha=0.01),
        dict(kernel="poly", degree=2, coef0=0.5, gamma=0.1),
        dict(kernel="laplacian"),
        dict(kernel="cosine"),
        dict(kernel="rbf", alpha=[0.1, 10.0]),
    ],
)
def test_agrees_with_scikit_learn(parameters, dtype):
    x = X.astype(dtype)
    ours, peer = KernelRidge(**parameters).fit(x, Y), Peer(**parameters).fit(x.astype(np.float64), Y)
    np.testing.assert_allclose(ours.dual_coef_, peer.dual_coef_, rtol=1e-5, atol=1e-7 * np.abs(peer.dual_coef_).max())
    # A sum of kernel values in float32 is as accurate as its terms, however much they cancel.
    terms = np.abs(ours.kernel_(x.astype(np.float64))) @ np.abs(ours.dual_coef_)
    error = np.abs(ours.predict(x) - peer.predict(x.astype(np.float64)))
    assert (error <= (3e-7 if dtype == np.float32 else 1e-12) * terms).all()
    assert len(ours.certificate_) == 2
    assert all(c.converged for c in ours.certificate_)


def test_objective_is_the_certificate():
    machine = KernelRidge(alpha=2.0, kernel=Gaussian(2.0)).fit(X, y)
    residual = y - machine.predict(X)
    objective = (residual @ residual + 2.0 * float(machine.expansion_.norm()) ** 2) / (2 * 2.0)
    assert machine.certificate_.primal == pytest.approx(objective, rel=1e-10)


def test_bias_is_not_penalised():
    machine = KernelRidge(kernel="rbf", fit_intercept=True)
    shifted = machine.fit(X, y + 1e4).predict(X)
    np.testing.assert_allclose(shifted - 1e4, machine.fit(X, y).predict(X), atol=1e-6)
    assert machine.dual_coef_.sum() == pytest.approx(0, abs=1e-8)


def test_weights_act_as_repetitions():
    repeats = np.arange(len(y)) % 3
    machine = KernelRidge(kernel="rbf", fit_intercept=True)
    weighted = machine.fit(X, y, sample_weight=repeats).predict(X)
    repeated = machine.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [1e-17, 1e-50, 1e-310])
def test_a_sample_that_hardly_weighs_anything_is_as_good_as_absent(weight, dtype, bias):
    machine, some = KernelRidge(kernel=Gaussian(1.0), fit_intercept=bias), X[:60].astype(dtype)
    weighted = machine.fit(some, y[:60], sample_weight=np.r_[weight, np.ones(59)]).predict(some)
    assert machine.certificate_.converged
    np.testing.assert_allclose(weighted, machine.fit(some[1:], y[1:60]).predict(some), rtol=1e-9)


def test_only_what_is_far_beyond_the_matrix_is_measured_otherwise():
    system = InvertibleGram(Gaussian(1.0).gram(X[:5]))
    for ridge in (np.full(5, 1e9), np.array([1.0, 2, 30, 400, 5000])):
        assert (system.units(ridge) == 1).all()
    units = system.units(np.array([1.0, 1, 1, 1, 1e40]))
    assert (units[:4] == 1).all()
    assert 0.25 < units[4] ** 2 * 1e40 < 4


def test_a_singular_system_with_a_sample_that_hardly_weighs_anything():
    twice = np.vstack([X[:1], np.repeat(X[1:20], 2, axis=0)])
    machine = KernelRidge(alpha=0.0, kernel=Gaussian(1.0))
    with pytest.warns(LinAlgWarning, match="Singular"):
        without = machine.fit(twice[1:], np.repeat(y[1:20], 2)).predict(X)
    machine.set_params(alpha=1e-18)
    with pytest.warns(LinAlgWarning, match="Singular"):
        machine.fit(twice, np.r_[y[0], np.repeat(y[1:20], 2)], sample_weight=np.r_[1e-50, np.ones(38)])
    np.testing.assert_allclose(machine.predict(X), without, rtol=1e-6, atol=1e-6 * np.abs(without).max())


def test_any_kernel_and_any_data():
    frame = pd.DataFrame({"x": X[:, 2], "sex": np.where(X[:, 1] > 0, "f", "m")})
    kernel = Gaussian(1.0).on("x") * Categorical().on("sex") + 1
    machine = KernelRidge(kernel=kernel).fit(frame, y)
    assert machine.score(frame, y) > 0.3
    np.testing.assert_array_equal(machine.feature_names_in_, ["x", "sex"])
    words = ["spam", "spa", "ham", "hamlet"]
    common = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True)
    assert KernelRidge(kernel=common, alpha=0.1).fit(words, [1, 1, 0, 0]).predict(["spas"])[0] > 0.5


def test_data_dependent_parameters_are_found_at_fit():
    machine = KernelRidge(kernel=Gaussian(gamma="scale")).fit(X, y)
    assert machine.kernel_ == Gaussian(gamma=1 / (X.shape[1] * X.var())) or machine.kernel_.gamma == pytest.approx(
        1 / (X.shape[1] * X.var())
    )
    assert machine.kernel == Gaussian(gamma="scale")


def test_sparse_data_are_not_densified_and_agree():
    dense = KernelRidge(kernel="rbf").fit(X, y).predict(X)
    for container in (sp.csr_matrix, sp.csr_array):
        machine = KernelRidge(kernel="rbf").fit(container(X), y)
        assert sp.issparse(machine.X_fit_)
        np.testing.assert_allclose(machine.predict(container(X)), dense, rtol=1e-9)


def test_kernel_parameters_can_be_searched():
    machine = KernelRidge(kernel=Gaussian(1.0) + Linear())
    assert machine.set_params(kernel__0__sigma=3.0).kernel == Gaussian(3.0) + Linear()
    search = GridSearchCV(
        KernelRidge(kernel=Gaussian(1.0)), {"kernel__sigma": [0.5, 2.0, 4.0], "alpha": [0.1, 1.0]}, cv=3
    )
    search.fit(X, y)
    assert search.best_estimator_.kernel == Gaussian(search.best_params_["kernel__sigma"])
    assert clone(machine).kernel == machine.kernel
    with pytest.raises(ValueError, match="no parameter 'width'"):
        KernelRidge(kernel=Gaussian(1.0)).set_params(kernel__width=2.0)
    with pytest.raises(ValueError, match="needs a kernel object"):
        KernelRidge(kernel="rbf").set_params(kernel__sigma=2.0)


def test_setting_gamma_replaces_sigma():
    assert KernelRidge(kernel=Gaussian(1.0)).set_params(kernel__gamma=2.0).kernel == Gaussian(gamma=2.0)


def test_pickles():
    machine = KernelRidge(kernel=Polynomial(2).centered().normalized() + Laplacian(0.1)).fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.kernel_ == machine.kernel_


def test_cross_validation():
    assert cross_val_score(KernelRidge(kernel=Gaussian(3.0), fit_intercept=True), X, y, cv=3).mean() > 0.4


def test_singular_kernel_warns():
    with pytest.warns(LinAlgWarning, match="condition number"):
        KernelRidge(alpha=0.0).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(alpha=[1.0, 2.0, 3.0]), "each of 1 targets"),
        (dict(alpha=-1.0), "alpha"),
        (dict(kernel="gauss"), "kernel"),
        (dict(kernel="poly", degree=2.5), "integer"),
        (dict(kernel="chi2"), "Negative values"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(**parameters).fit(X, y)


def test_wrong_weights():
    with pytest.raises(ValueError, match="at least one non-zero"):
        KernelRidge().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        KernelRidge().fit(X, y, sample_weight=np.full(len(y), -1.0))


def test_a_fitted_machine_does_not_change_when_the_data_do():
    data = X.copy()
    machine = KernelRidge(kernel="rbf").fit(data, y)
    before = machine.predict(X)
    data[:] = 0
    np.testing.assert_array_equal(machine.predict(X), before)


def test_float32_prediction_is_as_good_as_the_solution():
    x = X[:, :2].astype(np.float32)
    with pytest.warns(ConvergenceWarning, match="NOT converged"):  # the matrix is that ill-conditioned
        machine = KernelRidge(kernel=Gaussian(1.0), alpha=1e-8).fit(x, y)
    np.testing.assert_allclose(machine.predict(x), machine.predict(x.astype(np.float64)), atol=1e-4 * np.abs(y).max())


def test_kernels_made_of_precomputed_ones_are_cross_validated_as_such():
    assert KernelRidge(kernel=2 * Precomputed() + 1).__sklearn_tags__().input_tags.pairwise
    scores = cross_val_score(KernelRidge(kernel=Precomputed() + 1), Gaussian(3.0)(X), y, cv=3)
    assert scores.mean() > 0.3


@pytest.mark.parametrize("bias", [False, True])
def test_an_indefinite_kernel_is_named_and_not_certified(bias):
    with pytest.warns(IndefiniteKernelWarning, match="K [+] ridge has the eigenvalue -"):
        machine = KernelRidge(alpha=0.1, kernel=Sigmoid(1.0, -1.0), fit_intercept=bias).fit(X[:30], y[:30])
    assert not machine.certificate_.converged


def test_what_is_not_certified_is_said():
    """In float32 the columns of so wide a kernel are all alike."""
    Z = np.random.default_rng(0).standard_normal((60, 4))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        machine = KernelRidge(1e-10, kernel=Gaussian(100.0)).fit(Z.astype(np.float32), np.sin(Z[:, 0]) + Z[:, 1])
    said = [warning for warning in seen if warning.category is ConvergenceWarning]
    assert len(said) == (not machine.certificate_.converged)
    for warning in said:
        assert f"violation {machine.certificate_.violation:.3g})" in str(warning.message)
        assert warning.filename == __file__
