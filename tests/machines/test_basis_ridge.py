"""BasisRidge: the closed form, its dual, the pseudo-inverse, the smoother, and the lasso to its stated gap."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import BasisRidge, KernelRidge
from mercer.kernels import FeatureMap, Gaussian, GaussianBasis, Lift, PolynomialBasis, UnresolvedKernelError
from tests.interrupt import interrupted

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-1, 1, 30))[:, None]
Z = np.linspace(-1.2, 1.2, 17)[:, None]
y = np.sin(3 * X).ravel() + 0.1 * rng.standard_normal(30)
Y = np.stack([y, np.cos(2 * X).ravel() + 5], axis=1)
WEIGHT = rng.uniform(0.2, 3.0, len(y))
WEIGHT[[3, 8]] = 0.0
BASES = [PolynomialBasis(7), GaussianBasis(sigma=0.334), Lift(), np.cos]
bases = pytest.mark.parametrize("basis", BASES, ids=["polynomial", "gaussian", "lift", "function"])


@parametrize_with_checks(
    [
        BasisRidge(),
        BasisRidge(GaussianBasis(sigma=2.0), alpha=0.1),
        BasisRidge(penalty="l1", penalize_bias=False),
    ]
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_functions_of_a_basis():
    np.testing.assert_allclose(PolynomialBasis(3)(X), np.vander(X.ravel(), 4, increasing=True))
    np.testing.assert_allclose(GaussianBasis(X, sigma=0.5)(Z), np.exp(-((Z - X.T) ** 2) / 0.5**2), atol=1e-12)
    np.testing.assert_allclose(GaussianBasis(X, sigma=0.5)(Z), Gaussian(0.5 / np.sqrt(2))(Z, X), rtol=1e-10)
    twice = GaussianBasis().resolve(np.vstack([X, X]))
    assert twice == GaussianBasis(X)
    assert hash(twice) == hash(GaussianBasis(X))
    assert eval(repr(twice), {"GaussianBasis": GaussianBasis}) == twice
    with pytest.raises(UnresolvedKernelError, match="resolve"):
        GaussianBasis()(X)
    with pytest.raises(ValueError, match="points or"):
        GaussianBasis("grid")
    with pytest.raises(ValueError, match="sigma"):
        GaussianBasis(sigma=0.0)
    with pytest.raises(ValueError, match="integer"):
        PolynomialBasis(1.5)


@bases
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_closed_form(basis, alpha):
    machine = BasisRidge(basis, alpha=alpha).fit(X, Y, sample_weight=WEIGHT)
    phi = machine.basis_(X)
    w = np.linalg.solve(phi.T * WEIGHT @ phi + alpha * np.eye(phi.shape[1]), phi.T * WEIGHT @ Y)
    np.testing.assert_allclose(machine.predict(Z), machine.basis_(Z) @ w, rtol=1e-7, atol=1e-9)
    assert all(certificate.converged and certificate.gap <= 1e-18 * alpha for certificate in machine.certificate_)
    objective = WEIGHT @ (Y - machine.predict(X)) ** 2 + alpha * np.sum(machine.coef_**2, axis=1)
    np.testing.assert_allclose([certificate.primal for certificate in machine.certificate_], objective)


@bases
@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_dual_and_primal_agree(basis, free, weight):
    primal = BasisRidge(basis, alpha=0.1, penalize_bias=not free).fit(X, Y, sample_weight=weight)
    dual = KernelRidge(0.1, kernel=FeatureMap(basis), fit_intercept=free).fit(X, Y, sample_weight=weight)
    assert dual.kernel_ == primal.expansion_.kernel
    np.testing.assert_allclose(primal.predict(Z), dual.predict(Z), rtol=0, atol=1e-10)
    np.testing.assert_allclose(primal.coef_, dual.dual_coef_.T @ primal.basis_(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("basis", "rows"),
    [
        (PolynomialBasis(9), 30),
        (PolynomialBasis(9), 5),  # fewer samples than functions: the interpolation of smallest norm
        (lambda x: np.hstack([x, x, x**2, 2 * x**2 - x]), 30),  # functions that depend on each other
    ],
    ids=["tall", "wide", "singular"],
)
def test_without_penalty_it_is_the_pseudo_inverse(basis, rows):
    machine = BasisRidge(basis, alpha=0.0).fit(X[:: 30 // rows], y[:: 30 // rows])
    expected = np.linalg.pinv(basis(X[:: 30 // rows]), rcond=1e-13) @ y[:: 30 // rows]
    np.testing.assert_allclose(machine.coef_, expected, rtol=1e-7, atol=1e-9)
    assert machine.certificate_.converged


def test_the_stable_way_is_worth_it():
    """The normal equations of a polynomial of degree 15 lose every digit; the pseudo-inverse finds the polynomial."""
    x = np.linspace(0, 1, 60)[:, None]
    w = np.where(np.arange(16) % 3, 1.0, -2.0)
    phi = PolynomialBasis(15)(x)
    machine = BasisRidge(PolynomialBasis(15), alpha=0.0).fit(x, phi @ w)
    assert np.abs(machine.predict(x) - phi @ w).max() < 1e-12


def test_a_free_bias_is_not_penalised():
    machine = BasisRidge(PolynomialBasis(4), alpha=2.0, penalize_bias=False).fit(X, y, sample_weight=WEIGHT)
    peer = Ridge(2.0).fit(PolynomialBasis(4)(X)[:, 1:], y, sample_weight=WEIGHT)
    np.testing.assert_allclose(machine.coef_, np.append(0.0, peer.coef_), atol=1e-10)
    assert machine.intercept_ == pytest.approx(peer.intercept_)
    shifted = BasisRidge(PolynomialBasis(4), alpha=2.0, penalize_bias=False).fit(X, y + 1e5, sample_weight=WEIGHT)
    np.testing.assert_allclose(shifted.predict(Z) - 1e5, machine.predict(Z), atol=1e-9)


@bases
@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_smoother(basis, free, alpha):
    if alpha == 0 and basis == BASES[1]:
        basis = GaussianBasis(Z[::3], 0.334)  # as many as there are samples are singular in float64
    machine = BasisRidge(basis, alpha=alpha, penalize_bias=not free).fit(X, Y, sample_weight=WEIGHT)
    b = machine.smoother(Z)
    np.testing.assert_allclose(b.weights @ Y, machine.predict(Z), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(b.weights[:, WEIGHT == 0], 0.0)
    kept = WEIGHT > 0
    own = machine.smoother(X[kept]).weights[:, kept]
    assert b.trace == pytest.approx(np.trace(own), rel=1e-6)
    if free:
        np.testing.assert_allclose(b.weights.sum(axis=1), 1.0, atol=1e-7)  # a constant is reproduced


@pytest.mark.parametrize("targets", [y, Y], ids=["one", "several"])
def test_path_is_as_many_fits(targets):
    alphas = np.array([0.0, 1e-3, 1.0, 50.0])
    path = BasisRidge(PolynomialBasis(5), penalize_bias=False).fit(X, targets).path(alphas)
    for i, alpha in enumerate(alphas):
        machine = BasisRidge(PolynomialBasis(5), alpha=alpha, penalize_bias=False).fit(X, targets)
        np.testing.assert_allclose(path.coef[i], machine.coef_, rtol=1e-12)
        np.testing.assert_allclose(path.intercept[i], machine.intercept_, rtol=1e-12)
        assert path.trace[i] == pytest.approx(machine.smoother(X).trace)
    with pytest.raises(ValueError, match="alphas"):
        BasisRidge().fit(X, y).path([-1.0])


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("free", [False, True])
def test_a_penalty_for_each_target_is_as_many_fits(penalty, free):
    machine = BasisRidge(PolynomialBasis(5), penalty=penalty, penalize_bias=not free)
    both = machine.set_params(alpha=[0.0, 0.5]).fit(X, Y)
    for j, alpha in enumerate((0.0, 0.5)):
        one = BasisRidge(PolynomialBasis(5), alpha=alpha, penalty=penalty, penalize_bias=not free).fit(X, Y[:, j])
        np.testing.assert_allclose(both.coef_[j], one.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), rtol=1e-9, atol=1e-12)
        assert both.certificate_[j].primal == pytest.approx(one.certificate_.primal)
        assert both.certificate_[j].converged
    if penalty == "l2":
        with pytest.raises(ValueError, match="smoother of its own"):
            both.smoother(X)
    for wrong, message in (([1.0, 2.0, 3.0], "each of 2 targets"), ([1.0, -1.0], "at least 0")):
        with pytest.raises(ValueError, match=message):
            machine.set_params(alpha=wrong).fit(X, Y)


def test_weights_act_as_repetitions():
    repeats = np.arange(len(y)) % 3
    for penalty in ("l1", "l2"):
        machine = BasisRidge(GaussianBasis(sigma=0.5), alpha=0.3, penalty=penalty, penalize_bias=False, tol=1e-12)
        weighted = machine.fit(X, y, sample_weight=repeats).predict(Z)
        repeated = machine.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats)).predict(Z)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)


def test_expansion_is_the_machine():
    for targets in (y, Y):
        machine = BasisRidge(GaussianBasis(sigma=0.5), penalize_bias=False).fit(X, targets)
        np.testing.assert_array_equal(machine.expansion_(Z), machine.predict(Z))
        np.testing.assert_allclose(machine.predict(Z), machine.basis_(Z) @ machine.coef_.T + machine.intercept_)
        np.testing.assert_allclose(machine.expansion_.norm(), np.linalg.norm(machine.coef_, axis=-1))
        again = pickle.loads(pickle.dumps(machine))
        np.testing.assert_array_equal(again.predict(Z), machine.predict(Z))
        np.testing.assert_array_equal(again.smoother(Z).weights, machine.smoother(Z).weights)


def test_bases_can_be_searched_and_frames_used():
    data, target = load_diabetes(return_X_y=True, as_frame=True)
    frame = pd.DataFrame({"bmi": data["bmi"] * 20, "s5": data["s5"] * 20})
    grid = {"basis": [PolynomialBasis(d) for d in (1, 2, 5)], "alpha": [0.1, 10.0]}
    search = GridSearchCV(BasisRidge(penalize_bias=False), grid, cv=3).fit(frame, target)
    assert search.best_score_ > 0.4
    np.testing.assert_array_equal(search.best_estimator_.feature_names_in_, ["bmi", "s5"])


# -- lasso ----------------------------------------------------------------------------------------------------


@bases
@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_lasso_reaches_its_gap(basis, free, alpha):
    machine = BasisRidge(basis, alpha=alpha, penalty="l1", penalize_bias=not free, tol=1e-9)
    machine.fit(X, Y, sample_weight=WEIGHT)
    phi, residual = machine.basis_(X), Y - machine.predict(X)
    mean = np.average(Y, axis=0, weights=WEIGHT) if free else 0.0
    for j, certificate in enumerate(machine.certificate_):
        assert certificate.converged
        assert certificate.gap <= 1e-9 * (WEIGHT @ (Y - mean)[:, j] ** 2 if free else WEIGHT @ Y[:, j] ** 2)
        objective = WEIGHT @ residual[:, j] ** 2 + alpha * np.abs(machine.coef_[j]).sum()
        assert certificate.primal == pytest.approx(objective, rel=1e-9)
        # The conditions of an optimum, from the data themselves.
        slope = 2 * phi.T @ (WEIGHT * residual[:, j])
        assert np.abs(slope).max() <= alpha + 2e-2 * alpha**0.5
        if free:
            assert WEIGHT @ residual[:, j] == pytest.approx(0.0, abs=1e-9)
        # No other point is better, by more than the gap.
        for _ in range(5):
            other = machine.coef_[j] + 1e-2 * rng.standard_normal(phi.shape[1])
            worse = WEIGHT @ (Y[:, j] - machine.intercept_[j] - phi @ other) ** 2 + alpha * np.abs(other).sum()
            assert worse >= certificate.primal - certificate.gap


def test_lasso_agrees_with_scikit_learn_and_selects():
    phi = PolynomialBasis(6)(X)
    peer = Lasso(0.5 / (2 * len(y)), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(phi, y)
    machine = BasisRidge(PolynomialBasis(6), alpha=0.5, penalty="l1", tol=1e-13).fit(X, y)
    np.testing.assert_allclose(machine.coef_, peer.coef_, atol=1e-6)
    assert 0 < np.count_nonzero(machine.coef_) < 7
    # So large a penalty leaves nothing.
    alpha = 2 * np.abs(phi.T @ y).max()
    assert not BasisRidge(PolynomialBasis(6), alpha=alpha, penalty="l1").fit(X, y).coef_.any()


def test_lasso_without_penalty_is_least_squares():
    lasso = BasisRidge(PolynomialBasis(5), alpha=0.0, penalty="l1").fit(X, y)
    np.testing.assert_array_equal(lasso.coef_, BasisRidge(PolynomialBasis(5), alpha=0.0).fit(X, y).coef_)


def test_lasso_that_does_not_reach_its_gap_says_so():
    with pytest.warns(ConvergenceWarning, match="within"):
        machine = BasisRidge(GaussianBasis(sigma=1.0), alpha=1e-3, penalty="l1", max_iter=2).fit(X, y)
    assert not machine.certificate_.converged
    assert machine.certificate_.gap > 1e-6 * y @ y


def test_lasso_has_no_smoother():
    machine = BasisRidge(penalty="l1").fit(X, y)
    assert not hasattr(machine, "smoother")
    with pytest.raises(AttributeError, match="path"):
        _ = machine.path


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c(penalty):
    many = np.random.default_rng(0).standard_normal((3000, 60))
    machine = BasisRidge(PolynomialBasis(2), penalty=penalty, alpha=1e-3, tol=1e-15, max_iter=10**6)
    assert interrupted(lambda: machine.fit(many, np.sin(many[:, 0]))) < 2  # of two threads, one of which is left behind


def test_basis_functions_of_many_rows_leave_this_thread_free_to_hear_ctrl_c():
    seen = []

    def phi(rows):
        seen.append(threading.current_thread() is threading.main_thread())
        return rows

    BasisRidge(phi).fit(X, y)
    BasisRidge(phi).fit(np.tile(X, (20, 1)), np.tile(y, 20))
    assert seen[0]
    assert not seen[-1]
