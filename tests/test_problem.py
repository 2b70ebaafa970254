"""Problems are the machines of the literature: scikit-learn's solutions of them satisfy our KKT conditions."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from mercer.kernels import Gaussian
from mercer.problem import (
    Problem,
    epsilon_insensitive,
    hinge,
    nu_epsilon,
    nu_hinge,
    one_class,
    squared,
    squared_hinge,
)
from mercer.solvers import certify

GAMMA = 0.02


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), np.where(y == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y)


def certificate_of(problem, X, a):
    product = Gaussian(gamma=GAMMA).gram(X).exact @ problem.by_sample(a, len(X))
    solution = certify(problem, a, problem.of_samples(product), 0, 1e-5)
    return solution.certificate, solution.bias


def signed(machine, n):
    a = np.zeros(n)
    a[machine.support_] = machine.dual_coef_.ravel()
    return a


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_hinge_is_svc(classes, C):
    X, y = classes
    peer = SVC(C=C, gamma=GAMMA, tol=1e-8).fit(X, y)
    certificate, bias = certificate_of(hinge(y, C), X, signed(peer, len(y)))
    assert certificate.violation < 1e-5 * max(1, C / 10)  # LIBSVM keeps its rows in float32
    assert certificate.gap < 2e-5 * abs(certificate.primal)
    assert bias == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_weights_are_bounds(classes):
    X, y = classes
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    peer = SVC(C=2.0, gamma=GAMMA, tol=1e-8).fit(X, y, sample_weight=weight)
    assert certificate_of(hinge(y, 2.0 * weight), X, signed(peer, len(y)))[0].converged


@pytest.mark.parametrize("epsilon", [0.01, 0.3])
def test_epsilon_insensitive_is_svr(numbers, epsilon):
    X, y = numbers
    peer = SVR(C=3.0, gamma=GAMMA, epsilon=epsilon, tol=1e-8).fit(X, y)
    certificate, bias = certificate_of(epsilon_insensitive(y, 3.0, epsilon), X, signed(peer, len(y)))
    assert certificate.converged
    assert certificate.gap < 1e-5 * abs(certificate.primal)
    assert bias == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_one_class_is_one_class_svm(numbers):
    X, _ = numbers
    peer = OneClassSVM(nu=0.3, gamma=GAMMA, tol=1e-9).fit(X)
    certificate, bias = certificate_of(one_class(np.ones(len(X)), 0.3), X, signed(peer, len(X)))
    assert certificate.converged
    assert bias == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_nu_hinge_is_nu_svc_times_the_margin(classes):
    X, y = classes
    peer = NuSVC(nu=0.2, gamma=GAMMA, tol=1e-9).fit(X, y)
    a = signed(peer, len(y))
    margin = 0.2 * len(y) / np.abs(a).sum()
    a = np.where(np.abs(a) * margin > 1 - 1e-9, y, a * margin)  # at the bound means exactly so
    certificate, _ = certificate_of(nu_hinge(y, 0.2), X, a)
    assert certificate.violation < 1e-4


def test_nu_hinge_takes_weights_as_bounds(classes):
    X, y = classes
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    peer = NuSVC(nu=0.2, gamma=GAMMA, tol=1e-9).fit(X, y, sample_weight=weight)
    a = signed(peer, len(y))
    margin = 0.2 * weight.sum() / np.abs(a).sum()
    a = np.where(np.abs(a) * margin > weight * (1 - 1e-9), y * weight, a * margin)
    certificate, (positive, negative) = certificate_of(nu_hinge(y, 0.2, weight), X, a)
    assert certificate.violation < 1e-4
    assert (negative - positive) / 2 == pytest.approx(margin, rel=1e-4)
    assert (negative + positive) / 2 / margin == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_nu_epsilon_is_nu_svr(numbers):
    X, y = numbers
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    peer = NuSVR(nu=0.3, C=2.0, gamma=GAMMA, tol=1e-9).fit(X, y, sample_weight=weight)
    a = signed(peer, len(y))
    certificate, (above, below) = certificate_of(
        nu_epsilon(y, 2.0 * weight, 0.3), X, np.concatenate([np.maximum(a, 0), np.minimum(a, 0)])
    )
    assert certificate.violation < 1e-4
    assert certificate.gap < 1e-5 * certificate.primal
    assert (above + below) / 2 == pytest.approx(peer.intercept_[0], abs=1e-4)
    same = certificate_of(epsilon_insensitive(y, 2.0 * weight, (above - below) / 2), X, a)[0]
    assert same.violation < 1e-4  # the tube it finds is the one that gives it


def test_a_problem_may_live_on_some_of_the_samples(classes):
    X, y = classes
    some = np.random.default_rng(0).permutation(len(y))[:200]
    peer = SVC(gamma=GAMMA, tol=1e-8).fit(X[some], y[some])
    assert certificate_of(hinge(y[some], 1.0, some), X, signed(peer, 200))[0].converged
    with pytest.raises(ValueError, match="must number 200 samples"):
        hinge(y[some], 1.0, some[:-1])


def test_without_free_coefficients_the_bias_is_in_the_middle():
    solution = certify(hinge(np.array([1.0, -1.0]), 0.1), np.array([0.1, -0.1]), np.array([0.2, -0.1]), 1, 1e-9)
    assert solution.bias == pytest.approx((0.8 - 0.9) / 2)


def test_a_hard_margin_is_the_limit_of_soft_ones(classes):
    X, y = classes
    a = signed(SVC(C=1e12, gamma=0.5, tol=1e-4).fit(X, y), len(y))
    soft, hard = (certificate_of(hinge(y, C), X, a)[1] for C in (1e12, np.inf))
    assert hard == pytest.approx(soft, abs=1e-12)


def test_a_wrong_solution_is_not_certified(classes):
    X, y = classes
    a = signed(SVC(C=1.0, gamma=GAMMA, tol=1e-8).fit(X, y), len(y))
    i = np.flatnonzero(np.abs(a) > 0.01)[0]
    a[i] *= 0.5
    certificate, _ = certificate_of(hinge(y, 1.0), X, a)
    assert not certificate.converged
    assert certificate.violation > 1e-4


def test_squared_hinge_gap_closes_at_its_optimum(classes):
    """Its dual is a bounded least-squares problem; a projected-gradient reference must close the gap."""
    X, y = classes
    X, y = X[:60], y[:60]
    problem = squared_hinge(y, 1.0)
    K = Gaussian(gamma=GAMMA)(X) + np.diag(problem.ridge)
    step = 1 / np.linalg.eigvalsh(K)[-1]
    a = np.zeros(len(y))
    for _ in range(2000):
        z = a + step * (y - K @ a)
        low, high = -1e3, 1e3  # the multiplier of sum a = 0, by bisection
        for _ in range(60):
            b = (low + high) / 2
            s = np.clip(z - b, problem.lower, problem.upper).sum()
            low, high = (b, high) if s > 0 else (low, b)
        a = np.clip(z - b, problem.lower, problem.upper)
    certificate, _ = certificate_of(problem, X, a)
    assert certificate.gap < 1e-6 * certificate.primal


def test_ridge_without_penalty_has_a_gap_unless_it_interpolates():
    y = np.array([1.0, 2.0])
    problem = squared(y, 0.0)
    assert certify(problem, y, y, 1, 1e-9).certificate.gap == 0
    assert certify(problem, 0.5 * y, 0.5 * y, 1, 1e-9).certificate.gap > 1


@pytest.mark.parametrize("wrong", [dict(lower=1.0, upper=0.0), dict(ridge=-1.0), dict(l1=-0.1)])
def test_impossible_problems_are_refused(wrong):
    with pytest.raises(ValueError, match=r"bound|negative"):
        Problem(q=np.ones(3), **wrong)
