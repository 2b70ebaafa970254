"""Leaving one out, exactly and for many penalties at once, and the Gaussian process behind kernel ridge regression."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import RidgeCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Categorical, Custom, Gaussian, IndefiniteKernelWarning, Linear, Sigmoid

X, y = load_diabetes(return_X_y=True)
X, y = X[:60] * 20, y[:60]
Y = np.stack([y, X[:, 3] * 50 + 0.1 * y, np.sin(X[:, 2]) * 80], axis=1)
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
WEIGHT[[5, 11]] = 0.0
ALPHAS = np.logspace(-3, 3, 7)
KERNEL = Gaussian(3.0)


def expected_failures(estimator):
    repeated = "to leave out one of two equal samples is not to leave out one sample of weight two"
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return {} if estimator.kernel == "precomputed" else dict.fromkeys(names, repeated)


#: Some of its matrices are random.
@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [KernelRidgeCV(kernel="rbf", fit_intercept=True), KernelRidgeCV(kernel="precomputed")],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def refitted(machine, targets, weight):
    """The residual at every sample of a machine fitted to all others, by as many fits."""
    out = np.empty(targets.shape)
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        machine.fit(X[rest], targets[rest], sample_weight=None if weight is None else weight[rest])
        out[i] = targets[i] - machine.predict(X[i : i + 1])[0]
    return out


@pytest.mark.parametrize("targets", [y, Y], ids=["one", "several"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("bias", [False, True])
def test_residuals_are_those_of_refits(bias, weight, targets):
    machine = KernelRidge(alpha=0.3, kernel=KERNEL, fit_intercept=bias)
    found = machine.fit(X, targets, sample_weight=weight).loo_residuals()
    np.testing.assert_allclose(found, refitted(machine, targets, weight), rtol=1e-8, atol=1e-8)
    searched = KernelRidgeCV([0.3], kernel=KERNEL, fit_intercept=bias).fit(X, targets, sample_weight=weight)
    np.testing.assert_allclose(searched.loo_residuals(), found, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_path_is_one_cholesky_per_alpha(bias, weight, dtype):
    x = X.astype(dtype)
    machine = KernelRidgeCV(ALPHAS, kernel=KERNEL, fit_intercept=bias).fit(x, Y, sample_weight=weight)
    share = np.ones(len(x)) if weight is None else weight
    singles = [KernelRidge(alpha, kernel=KERNEL, fit_intercept=bias).fit(x, Y, weight) for alpha in ALPHAS]
    expected = [np.average(single.loo_residuals() ** 2, axis=0, weights=share) for single in singles]
    np.testing.assert_allclose(machine.errors_, expected, rtol=1e-9)
    best = int(np.argmin(np.mean(expected, axis=1)))
    assert machine.alpha_ == ALPHAS[best]
    assert machine.best_score_ == pytest.approx(-np.mean(expected[best]))
    np.testing.assert_allclose(machine.dual_coef_, singles[best].dual_coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(machine.intercept_, singles[best].intercept_, rtol=1e-7)
    assert all(certificate.converged for certificate in machine.certificate_)


def test_each_target_may_have_its_own_alpha():
    machine = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha_per_target=True, fit_intercept=True).fit(X, Y)
    singles = [KernelRidgeCV(ALPHAS, kernel=KERNEL, fit_intercept=True).fit(X, column) for column in Y.T]
    np.testing.assert_array_equal(machine.alpha_, [single.alpha_ for single in singles])
    assert len(set(machine.alpha_)) > 1
    np.testing.assert_allclose(machine.best_score_, [single.best_score_ for single in singles])
    for method in (lambda m: m.predict(X), lambda m: m.loo_residuals(), lambda m: m.predict(X, return_std=True)[1]):
        expected = np.stack([method(single) for single in singles], axis=1)
        np.testing.assert_allclose(method(machine), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("bias", [False, True])
def test_agrees_with_scikit_learn(bias):
    peer = RidgeCV(ALPHAS, fit_intercept=bias, store_cv_results=True).fit(X, y)
    machine = KernelRidgeCV(ALPHAS, kernel=Linear(), fit_intercept=bias).fit(X, y)
    assert machine.alpha_ == peer.alpha_
    np.testing.assert_allclose(machine.errors_, peer.cv_results_.mean(axis=0), rtol=1e-8)
    np.testing.assert_allclose(machine.predict(X), peer.predict(X), rtol=1e-7)


def test_alphas_are_found_from_the_spectrum():
    small, large = (KernelRidgeCV(20, kernel=scale * KERNEL).fit(X, y) for scale in (1.0, 1000.0))
    assert len(small.alphas_) == 20
    np.testing.assert_allclose(large.alphas_, 1000 * small.alphas_)
    np.testing.assert_allclose(large.predict(X), small.predict(X), rtol=1e-6)


def test_tiny_penalties_of_singular_matrices_stay_finite():
    twice = np.vstack([X, X])
    machine = KernelRidgeCV([1e-300, 1e-9, 1.0], kernel=Linear(), fit_intercept=True).fit(twice, np.append(y, y + 1))
    assert np.isfinite(machine.errors_).all()
    assert machine.certificate_.converged


def test_any_kernel_and_any_data():
    frame = pd.DataFrame({"x": X[:, 2], "sex": np.where(X[:, 1] > 0, "f", "m")})
    machine = KernelRidgeCV(kernel=Gaussian("median").on("x") * Categorical().on("sex") + 1).fit(frame, y)
    assert machine.predict(frame, return_std=True)[1].shape == y.shape
    words = ["spam", "spa", "ham", "hamlet"]
    common = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True)
    with pytest.warns(LinAlgWarning, match="smallest eigenvalue of K is"):  # a rounded zero, of an unknown kernel
        KernelRidgeCV([1e-30, 0.1], kernel=common).fit([*words, "spam"], [1, 1, 0, 0, 1])
    assert KernelRidgeCV([0.1, 1.0], kernel=common).fit(words, [1, 1, 0, 0]).predict(["spas"])[0] > 0.5


def test_indefinite_kernels_are_named():
    kernel = Sigmoid(1.0, -1.0)
    with pytest.warns(IndefiniteKernelWarning, match="K has the eigenvalue -"):
        machine = KernelRidgeCV(kernel=kernel, fit_intercept=True).fit(X, y)  # of alphas that outweigh what is negative
    assert np.isfinite(machine.errors_).all()
    with pytest.warns(LinAlgWarning, match="not considered"), pytest.warns(IndefiniteKernelWarning):
        machine = KernelRidgeCV([1e-3, *machine.alphas_], kernel=kernel, fit_intercept=True).fit(X, y)
    np.testing.assert_array_equal(np.isinf(machine.errors_), [True] + [False] * 100)
    assert machine.certificate_.converged
    with pytest.raises(ValueError, match="larger alphas"):
        KernelRidgeCV([1e-3], kernel=kernel).fit(X, y)
    with pytest.warns(IndefiniteKernelWarning, match="K [+] ridge has the eigenvalue -"):
        machine = KernelRidge(1e-3, kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match="no covariance"):
        machine.loo_residuals()


@pytest.mark.parametrize(
    ("alphas", "message"), [([0.0, 1.0], "greater than 0"), (0, "alphas"), ([[1.0]], "list of numbers")]
)
def test_wrong_alphas(alphas, message):
    with pytest.raises(ValueError, match=message):
        KernelRidgeCV(alphas).fit(X, y)


def test_one_sample_cannot_be_left_out():
    weight = np.eye(len(y))[0]
    for fit in (KernelRidgeCV().fit, lambda *a, **k: KernelRidge().fit(*a, **k).loo_residuals()):
        with pytest.raises(ValueError, match="at least 2"):
            fit(X, y, sample_weight=weight)


# -- the Gaussian process -------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [y, Y], ids=["one", "several"])
def test_deviations_are_those_of_scikit_learn(targets):
    peer = GaussianProcessRegressor(RBF(3.0), alpha=0.3, optimizer=None).fit(X[:40], targets[:40])
    expected = peer.predict(X, return_std=True)
    found = KernelRidge(0.3, kernel=KERNEL).fit(X[:40], targets[:40]).predict(X, return_std=True)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8)


def test_an_unknown_bias_is_one_of_huge_variance():
    peer = KernelRidge(0.3, kernel=KERNEL + 1e7).fit(X[:40], y[:40], WEIGHT[:40])
    machine = KernelRidge(0.3, kernel=KERNEL, fit_intercept=True).fit(X[:40], y[:40], WEIGHT[:40])
    np.testing.assert_allclose(
        machine.predict(X, return_std=True)[1], peer.predict(X, return_std=True)[1], rtol=1e-5, atol=1e-6
    )


def test_the_scale_is_the_most_likely_one():
    def likelihood(scale):
        process = GaussianProcessRegressor(ConstantKernel(scale) * RBF(3.0), alpha=0.3 * scale, optimizer=None)
        return process.fit(X, y).log_marginal_likelihood_value_

    found = KernelRidge(0.3, kernel=KERNEL).fit(X, y).scale_
    assert likelihood(found) > max(likelihood(0.99 * found), likelihood(1.01 * found))


@pytest.mark.parametrize("bias", [False, True])
def test_intervals_hold_what_they_promise(bias):
    rng = np.random.default_rng(1)
    held = []
    for _ in range(60):  # processes drawn from the model, of a size and a mean that the machine does not know
        x = rng.uniform(0, 10, (40, 1))
        noise = 0.1 * np.eye(40)
        targets = 30 * np.linalg.cholesky(Gaussian(1.0)(x) + noise) @ rng.standard_normal(40) + 1000 * bias
        machine = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=bias).fit(x[:30], targets[:30])
        low, high = machine.interval(x[30:], level=0.8)
        held.append(np.mean((low <= targets[30:]) & (targets[30:] <= high)))
    assert np.mean(held) == pytest.approx(0.8, abs=0.05)
    with pytest.raises(ValueError, match="level"):
        machine.interval(x, level=95)


def test_pickles_without_factors():
    machine = KernelRidgeCV(kernel=KERNEL).fit(X, y)
    expected = machine.predict(X, return_std=True)
    assert "posteriors" in vars(machine._fit)
    again = pickle.loads(pickle.dumps(machine))
    assert "posteriors" not in vars(again._fit)
    np.testing.assert_allclose(again.predict(X, return_std=True), expected, rtol=1e-12)
    np.testing.assert_array_equal(again.loo_residuals(), machine.loo_residuals())


def test_parameters_set_after_fit_change_nothing():
    machine = KernelRidge(0.3, kernel=KERNEL).fit(X, y)
    expected = machine.interval(X)
    np.testing.assert_array_equal(machine.set_params(alpha=100.0, fit_intercept=True).interval(X), expected)
