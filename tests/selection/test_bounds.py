"""The estimates of the leave-one-out error: their formulas by hand, and what they are bounds of."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.selection import leave_one_out, loo_bound

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X)[:250], y[:250]


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_xi_alpha_is_not_below_the_errors_and_span_is_close(C):
    machine = SVC(C=C, gamma=0.03, tol=1e-6)
    seen = loo_bound(machine.fit(X, y), X, y)
    truth = leave_one_out(machine, X, y)
    assert seen.stable
    assert not (truth.errors & ~seen.xi_alpha_errors).any()
    assert abs(seen.span - truth.error_rate) <= 0.02
    assert seen.xi_alpha == seen.xi_alpha_errors.mean()


def test_their_formulas():
    machine = SVC(C=2.0, gamma=0.03, tol=1e-8).fit(X, y)
    seen = loo_bound(machine, X, y)
    K = Gaussian(gamma=0.03)(X)
    a = np.zeros(len(y))
    a[machine.support_] = np.abs(machine.dual_coef_[0])
    margin = np.where(y == 1, 1, -1) * machine.decision_function(X)
    assert seen.radius == pytest.approx(1 - K.min())
    expected = 2 * a * (1 - K.min()) + np.maximum(0, 1 - margin) >= 1
    np.testing.assert_array_equal(seen.xi_alpha_errors, expected)
    free = np.flatnonzero((a > 0) & (a < 2.0 * (1 - 1e-6)))
    assert seen.free == len(free)
    for place in (0, 1, -1):
        sample = machine.support_[place]
        others = free[free != sample]

        def distance(part, sample=sample, others=others):
            c = np.append(part, 1 - part.sum())
            return 1 - 2 * c @ K[others, sample] + c @ K[np.ix_(others, others)] @ c

        nearest = minimize(distance, np.full(len(others) - 1, 1 / len(others)), tol=1e-12)
        assert seen.spans[place] == pytest.approx(nearest.fun, rel=1e-4)


def test_span_is_exact_where_all_stays_as_it_is():
    Z = np.array([[-2.0, 0.3], [-1.0, 1.0], [-1.2, -1.0], [2.0, 0.1], [1.0, 1.1], [1.1, -1.0]])
    label = np.array([0, 0, 0, 1, 1, 1])
    machine = SVC(C=1e3, gamma=0.5, tol=1e-9)
    seen = loo_bound(machine.fit(Z, label), Z, label)
    np.testing.assert_array_equal(seen.span_errors, leave_one_out(machine, Z, label).errors)


def test_without_a_free_support_vector_it_is_an_estimate():
    Z, label = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    seen = loo_bound(SVC(C=0.01, gamma=1.0).fit(Z, label), Z, label)
    assert not seen.stable
    assert "an estimate, as no support vector is free" in str(seen)
    assert np.isinf(seen.spans).all()


def test_given_kernels():
    K = Gaussian(gamma=0.03)(X)
    given = loo_bound(SVC(C=2.0, kernel="precomputed").fit(K, y), K, y)
    seen = loo_bound(SVC(C=2.0, gamma=0.03).fit(X, y), X, y)
    assert (given.xi_alpha, given.span, given.free) == (seen.xi_alpha, seen.span, seen.free)


def test_what_it_does_not_take_is_said():
    with pytest.raises(TypeError, match="takes an SVC, not SVR"):
        loo_bound(SVR(), X, y)
    with pytest.raises(NotFittedError):
        loo_bound(SVC(), X, y)
    flowers, kinds = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="this machine has 3"):
        loo_bound(SVC().fit(flowers, kinds), flowers, kinds)
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match="must be what the machine was fitted to, 250 samples"):
        loo_bound(machine, X[:5], y[:5])
    with pytest.raises(ValueError, match="coefficients have other signs"):
        loo_bound(machine, X, 1 - y)
