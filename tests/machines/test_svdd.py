"""SVDD against closed forms, a general quadratic programme, OneClassSVM where they are equal, and known outliers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVDD, OneClassSVM
from mercer.inspection import support_report
from mercer.kernels import Gaussian, IndefiniteKernelWarning, Laplacian, Linear, Polynomial, Sigmoid, Spectrum
from mercer.problem import svdd
from mercer.solvers import QP, NotSeparableError

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3)) + np.array([3.0, 0.0, -1.0])
SIDE = np.where(np.arange(120) % 10 == 0, -1, 1)
WEIGHT = rng.uniform(0.2, 2.0, 120)
#: With many dimensions or none, k(x, x) constant or not.
KERNELS = [Linear(), Gaussian(1.0), Polynomial(2), Linear() + 0.5 * Laplacian(0.3)]
REASON = "weights change gamma='scale' and the path of the solver, which stops within tol, as in scikit-learn"
KNOWN = {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}


@parametrize_with_checks([SVDD(), SVDD(C=0.3, kernel="linear")], expected_failed_checks=lambda _: KNOWN)
@pytest.mark.filterwarnings("ignore:y is -1 for known outliers")  # the checks give numbers
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def distances(machine, kernel, rows):
    """|phi(x) - c|^2, plainly."""
    own, a, S = np.diag(kernel(rows, rows)), machine.dual_coef_[0], machine.support_vectors_
    return own - 2 * kernel(rows, S) @ a + a @ kernel(S, S) @ a


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_two_points(scale):
    """The centre is between them, half their distance from each."""
    rows = scale * np.array([[0.0, 0.0], [3.0, 4.0]])
    machine = SVDD(C=1.0, kernel="linear", tol=1e-12 * scale**2).fit(rows)
    np.testing.assert_allclose(machine.coef_, [scale * np.array([1.5, 2.0])])
    assert machine.radius_ == pytest.approx(2.5 * scale)
    np.testing.assert_allclose(machine.decision_function(rows), 0.0, atol=1e-9 * scale**2)
    np.testing.assert_allclose(machine.decision_function(machine.coef_), machine.radius_**2)
    assert machine.offset_ == pytest.approx(-(machine.radius_**2))


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_corners_of_a_simplex(n):
    """e_1 ... e_n lie on a sphere around their mean of radius^2 = 1 - 1 / n."""
    machine = SVDD(C=1.0, kernel="linear", tol=1e-12).fit(np.eye(n))
    np.testing.assert_allclose(machine.dual_coef_, np.full((1, n), 1 / n))
    assert machine.radius_**2 == pytest.approx(1 - 1 / n)


def test_an_outlier_pushes_the_ball_aside():
    """Targets at 0 and 4; an outlier at 1 may not lie within 3/2 of the centre 5/2 ... that would lose the target 0."""
    rows = np.array([[0.0], [4.0], [1.0]])
    held, priced = (SVDD(C=C, kernel="linear", tol=1e-10).fit(rows, [1, 1, -1]) for C in (5e3, 1.0))
    assert held.predict(rows).tolist() != [1, 1, -1]  # no ball on a line holds 0 and 4 without 1
    assert priced.dual_coef_[0][priced.support_ == 2] < 0
    wide = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
    aside = SVDD(C=np.inf, kernel="linear", tol=1e-10).fit(wide, [1, 1, -1])
    np.testing.assert_allclose(aside.decision_function(wide), 0.0, atol=1e-7)  # through all three
    np.testing.assert_allclose(aside.coef_, [[2.0, -1.5]], atol=1e-7)
    assert aside.radius_ == pytest.approx(2.5)


@pytest.mark.parametrize("outliers", [False, True])
@pytest.mark.parametrize("nu", [0.01, 0.2, 0.9])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_general_quadratic_programme_finds_the_same(kernel, nu, outliers):
    y = SIDE if outliers else None
    K, side = kernel(X, X), np.ones(120) if y is None else SIDE
    C = 1 / (nu * WEIGHT[side > 0].sum())
    machine, price = SVDD(C=C, kernel=kernel, tol=1e-9).fit(X, y, WEIGHT), C * WEIGHT
    (exact,) = QP(tol=1e-9).solve(kernel.gram(X), [svdd(side, price, np.diag(K))])
    proof, decided = machine.certificate_, machine.decision_function(X)
    assert proof.converged
    assert proof.dual == pytest.approx(exact.certificate.primal, rel=1e-4)
    assert proof.gap <= 1e-6 * proof.primal
    np.testing.assert_allclose(2 * (K @ exact.coefficients + exact.bias) - np.diag(K), decided, atol=1e-4)
    away = distances(machine, kernel, X)
    slack = np.maximum(0.0, side * (away - machine.radius_**2))
    assert machine.radius_**2 + price @ slack == pytest.approx(2 * proof.primal, rel=1e-6)
    np.testing.assert_allclose(machine.score_samples(X), -away, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(decided, machine.radius_**2 - away, rtol=1e-6, atol=1e-7)
    assert machine.dual_coef_.sum() == pytest.approx(1.0)
    if not outliers:
        assert WEIGHT @ (decided < -1e-6) <= nu * WEIGHT.sum() * (1 + 1e-9)


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear().normalized(), 3 * Laplacian(0.5)], ids=str)
def test_where_all_samples_have_one_length_it_is_the_one_class_machine(kernel, nu):
    one = OneClassSVM(kernel=kernel, nu=nu, tol=1e-10).fit(X, sample_weight=WEIGHT)
    total, own = nu * WEIGHT.sum(), float(kernel(X[:1], X[:1])[0, 0])
    ball = SVDD(C=1 / total, kernel=kernel, tol=1e-10).fit(X, sample_weight=WEIGHT)
    if nu < 1:  # else no sample tells where the boundary is
        np.testing.assert_allclose(ball.decision_function(X), 2 * one.decision_function(X) / total, atol=1e-7)
        rho, norm = float(one.offset_[0]), float(one.expansion_.norm())
        assert ball.radius_**2 == pytest.approx(own - 2 * rho / total + (norm / total) ** 2)
        clear = np.abs(ball.decision_function(X)) > 1e-6
        assert (ball.predict(X)[clear] == one.predict(X)[clear]).all()
    assert ball.expansion_.norm() == pytest.approx(one.expansion_.norm() / total)


def test_prices_that_hold_no_ball_are_refused():
    with pytest.raises(ValueError, match=r"sum to 0\.9, less than 1.*raise C"):
        svdd(np.ones(3), 0.3, np.ones(3))
    with pytest.raises(ValueError, match="less than 1"):
        svdd(np.array([1.0, -1.0, -1.0]), 0.9, np.ones(3))
    with pytest.raises(ValueError, match="all samples are known outliers"):
        SVDD().fit(X, -np.ones(120))
    with pytest.raises(ValueError, match=r"sum to 0\.6, less than 1"):
        SVDD(C=0.005).fit(X)
    with pytest.raises(ValueError, match="'C' parameter"):
        SVDD(C=0.0).fit(X)


def test_targets_of_other_names_are_told_of():
    with pytest.warns(UserWarning, match=r"-1 for known outliers .* 0"):
        machine = SVDD(C=0.05).fit(X, np.where(SIDE > 0, 1, 0))
    np.testing.assert_array_equal(machine.dual_coef_, SVDD(C=0.05).fit(X).dual_coef_)
    assert (SVDD(C=0.05).fit_predict(X, SIDE) == SVDD(C=0.05).fit(X, SIDE).predict(X)).all()
    with pytest.raises(ValueError, match="inconsistent numbers"):
        SVDD().fit(X, [1, -1])


def test_any_data():
    words = ["GATTACA", "GATTACC", "GATTA", "TTTTTTTTTTTTT"]
    machine = SVDD(kernel=Spectrum(2), tol=1e-9).fit(words)
    assert (machine.decision_function(words) > -1e-6).all()
    assert machine.predict(["GATTACA" * 9]) == -1
    np.testing.assert_allclose(-machine.score_samples(words), distances(machine, Spectrum(2), words), atol=1e-7)
    whole = SVDD(C=0.1, kernel="linear").fit(X).decision_function(X)
    sparse = SVDD(C=0.1, kernel="linear").fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.decision_function(X), whole, atol=1e-3)
    by_function = SVDD(C=0.1, kernel=lambda A, B: A @ B.T).fit(X)
    np.testing.assert_allclose(by_function.decision_function(X[:9]), whole[:9], atol=1e-3)
    single = SVDD(C=0.1, kernel="linear").fit(X.astype(np.float32))
    np.testing.assert_allclose(single.decision_function(X.astype(np.float32)), whole, atol=1e-3)


def test_a_given_matrix_tells_new_samples_lengths_if_all_are_one():
    k, new = Gaussian(1.0), X[:7] + 0.1
    expected = SVDD(C=0.05, kernel=k, tol=1e-9).fit(X).decision_function(new)
    given = SVDD(C=0.05, kernel="precomputed", tol=1e-9).fit(k(X, X))
    np.testing.assert_allclose(given.decision_function(k(new, X)), expected, atol=1e-6)
    lengths = SVDD(C=0.05, kernel="precomputed").fit(X @ X.T)
    assert lengths.decision_function(X @ X.T).shape == (120,)
    with pytest.raises(ValueError, match=r"k\(x, x\) is known only"):
        lengths.decision_function(new @ X.T)


def test_a_kernel_that_is_none_is_said_so():
    with pytest.warns(IndefiniteKernelWarning, match="not positive semi-definite"):
        machine = SVDD(C=0.03, kernel=Sigmoid(1.0, -1.0)).fit(X)
    assert machine.certificate_.convex is False


def test_a_fit_that_is_stopped_tells_how_far_it_is():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        machine = SVDD(C=0.05, max_iter=3).fit(X)
    assert not machine.certificate_.converged
    assert machine.certificate_.gap > 0


def test_a_warm_start_goes_on():
    machine = SVDD(C=0.03, warm_start=True).fit(X, SIDE)
    before = machine.n_iter_
    machine.fit(X, SIDE)
    assert machine.n_iter_ < before / 2


def test_its_report_says_who_is_free():
    machine = SVDD(C=0.05, kernel=Gaussian(1.0), tol=1e-9).fit(X, SIDE)
    (found,) = support_report(machine, X).problems
    at = np.isclose(np.abs(machine.dual_coef_[0]), 0.05, rtol=1e-6)
    assert (found.at_bound, found.free) == (at.sum(), (~at).sum())


def test_the_widest_gap_of_the_data_is_not_passed():
    """A ball around few samples holds no two that are farther apart than its diameter."""
    machine = SVDD(kernel="linear", tol=1e-9).fit(X)
    assert 2 * machine.radius_ >= pairwise_distances(X).max() - 1e-6
    assert (machine.decision_function(X) >= -1e-6).all()


def test_a_hard_ball_that_is_impossible():
    """An outlier among the targets cannot be left out at any price."""
    with pytest.raises(NotSeparableError):
        SVDD(C=np.inf, kernel="linear").fit([[0.0], [2.0], [1.0]], [1, 1, -1])
