"""LinearSVC and LinearSVR: scikit-learn's checks, its objective, the certificate, and what does not change results."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LinearSVC, LinearSVR
from mercer.problem import Problem, epsilon_insensitive, hinge, squared_epsilon_insensitive, squared_hinge
from mercer.solvers import Factored
from mercer.solvers.linear import LinearSolver
from tests.naive import judge
from tests.pairs import pairs

X, y = make_classification(400, 30, n_informative=8, flip_y=0.1, random_state=3)
wide, labels = make_classification(80, 300, n_informative=20, n_classes=3, random_state=4)
D, t = load_diabetes(return_X_y=True)
D = D * 20

LOSSES = {
    "hinge": lambda q, f, epsilon: np.maximum(0, 1 - q * f),
    "squared_hinge": lambda q, f, epsilon: np.maximum(0, 1 - q * f) ** 2,
    "epsilon_insensitive": lambda q, f, epsilon: np.maximum(0, np.abs(q - f) - epsilon),
    "squared_epsilon_insensitive": lambda q, f, epsilon: np.maximum(0, np.abs(q - f) - epsilon) ** 2,
}


def objective(machine, X, q, cost):
    w, b = machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
    loss = LOSSES[machine.loss](q, X @ w + b, getattr(machine, "epsilon", 0.0))
    return 0.5 * (w @ w + (b / machine.intercept_scaling) ** 2) + cost @ loss


def expected_failures(estimator):
    if estimator.loss != "hinge":
        return {}
    reason = "only as equal as tol; scikit-learn's own class has the same exception"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        # As precise as the check that a weight of 2 is as good as a repetition asks for.
        LinearSVC(tol=1e-8),
        LinearSVC(loss="hinge"),
        LinearSVC(tol=1e-8, dual=True, max_iter=100_000),
        LinearSVR(tol=1e-8),
        LinearSVR(tol=1e-8, loss="squared_epsilon_insensitive"),
        LinearSVR(tol=1e-8, loss="squared_epsilon_insensitive", dual=True, max_iter=100_000),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("loss", "dual", "kind", "C"),
    [
        (*problem, kind, C)
        for problem, kind, C in pairs(
            [("hinge", True), ("squared_hinge", True), ("squared_hinge", False)],
            ["dense", "sparse", "float32"],
            [0.01, 1.0, 100.0],
        )
    ],
)
@pytest.mark.slow("the peer needs as many as a million iterations")
def test_classification_reaches_the_optimum(loss, dual, kind, C):
    data = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[kind]
    machine = LinearSVC(loss=loss, dual=dual, C=C, tol=1e-6, intercept_scaling=2.0, max_iter=10**5).fit(data, y)
    peer = sklearn.svm.LinearSVC(loss=loss, C=C, tol=1e-6, intercept_scaling=2.0, max_iter=10**6, random_state=0)
    q, cost = 2.0 * y - 1, np.full(len(y), C)
    expected = objective(peer.fit(X, y), X, q, cost)
    exact = data.astype(np.float64)
    assert objective(machine, exact, q, cost) == pytest.approx(machine.certificate_.primal, rel=1e-12)
    assert machine.certificate_.primal == pytest.approx(expected, rel=1e-6 if kind != "float32" else 1e-5)
    assert machine.certificate_.dual <= expected * (1 + 1e-6)
    assert machine.certificate_.violation <= 1e-6


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("dual", [True, "auto"])
@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_regression_reaches_the_optimum(loss, dual, epsilon):
    machine = LinearSVR(loss=loss, dual=dual, epsilon=epsilon, tol=1e-6, max_iter=10**5).fit(D, t)
    peer = sklearn.svm.LinearSVR(loss=loss, epsilon=epsilon, tol=1e-6, max_iter=10**6, random_state=0).fit(D, t)
    ours, theirs = (objective(m, D, t, np.ones(len(t))) for m in (machine, peer))
    assert ours == pytest.approx(machine.certificate_.primal, rel=1e-12)
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert machine.certificate_.converged


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("data", [(load_iris().data, load_iris().target), (wide, labels)])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_one_versus_rest_agrees_with_scikit_learn(loss, data, class_weight):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(data[1]))
    parameters = dict(loss=loss, class_weight=class_weight, tol=1e-7, max_iter=10**6)
    machine = LinearSVC(**parameters).fit(*data, sample_weight=weight)
    peer = sklearn.svm.LinearSVC(**parameters, random_state=0).fit(*data, sample_weight=weight)
    scale = np.abs(peer.coef_).max()
    np.testing.assert_allclose(machine.coef_, peer.coef_, atol=2e-3 * scale)
    np.testing.assert_allclose(machine.intercept_, peer.intercept_, atol=2e-3 * scale)
    assert len(machine.certificate_) == 3
    assert all(c.violation <= 1e-7 for c in machine.certificate_)


@pytest.mark.parametrize(("squared", "primal"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.slow("a plain solver finds the optimum to 9 digits")
def test_the_certificate_is_that_of_the_problem(squared, primal, regression):
    """Its bounds enclose what judge() says of a plain solver's coefficients on the Gram matrix."""
    solver = LinearSolver(tol=1e-9, primal=primal, intercept=0.5, max_iter=10**5)
    few, label = X[:100, :10] / 3, y[:100]
    cost = np.linspace(0.2, 1, len(few))
    if regression:
        q = few @ np.arange(10.0) + np.sin(np.arange(100))
        posed = squared_epsilon_insensitive if squared else epsilon_insensitive
        (found,) = solver.solve(Factored(few), [posed(q, cost, 0.3, bias=False)])
        lower, upper = -cost, cost
    else:
        q = 2.0 * label - 1
        posed = squared_hinge if squared else hinge
        (found,) = solver.solve(Factored(few), [posed(q, cost, bias=False)])
        lower, upper = np.where(q > 0, 0, -cost), np.where(q > 0, cost, 0)
    ridge = 1 / (2 * cost) if squared else np.zeros(len(q))
    if squared:
        lower, upper = np.where(lower < 0, -np.inf, 0), np.where(upper > 0, np.inf, 0)
    problem = Problem(q, lower, upper, np.full(len(q), 0.3 if regression else 0.0), ridge)
    ours = found.certificate
    assert ours.converged
    assert ours.gap <= 1e-6 * ours.primal
    # The plainest solver there is, on the Gram matrix of the extended rows.
    K = few @ few.T + 0.25
    a, f = np.zeros(len(q)), np.zeros(len(q))
    for i in np.tile(np.arange(len(q)), 400):
        H = K[i, i] + ridge[i]
        b = a[i] + (q[i] - f[i] - ridge[i] * a[i]) / H
        b = np.clip(np.sign(b) * max(abs(b) - problem.l1[i] / H, 0), lower[i], upper[i])
        f += K[i] * (b - a[i])
        a[i] = b
    _, reached = judge(problem, a, K @ a, 0, 1e-9)
    assert reached.dual <= ours.primal * (1 + 1e-9)
    assert ours.dual == pytest.approx(reached.dual, rel=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [True, "auto"])
@pytest.mark.slow("has enough samples for threads to share")
def test_threads_and_runs_do_not_change_anything(loss, dual, set_threads):
    digits, target = np.repeat(wide, 30, axis=0) + 0.01 * np.arange(2400)[:, None] % 7, np.repeat(labels, 30)
    results = []
    for threads in (1, 2, 5, 2):
        set_threads(threads)
        results.append(LinearSVC(loss=loss, dual=dual, C=0.01, tol=1e-2).fit(digits, target).coef_)
        results.append(LinearSVC(loss=loss, dual=dual, C=0.01, tol=1e-2).fit(digits, target == 1).coef_)
    for first, second in zip(results[:2] * 3, results[2:], strict=True):
        np.testing.assert_array_equal(first, second)


def test_instruction_sets_agree(instruction_set):
    for data in (X, X.astype(np.float32), sp.csr_array(X)):
        machine = LinearSVC(tol=1e-10).fit(data, y)
        reference = sklearn.svm.LinearSVC(tol=1e-10, max_iter=10**5).fit(data, y)
        np.testing.assert_allclose(machine.coef_, reference.coef_, atol=1e-6)


def test_rows_of_mostly_zeros_are_compressed_and_agree():
    rng = np.random.default_rng(1)
    thin = X * (rng.random(X.shape) < 0.15)
    for loss in ("hinge", "squared_hinge"):
        dense, sparse = (LinearSVC(loss=loss).fit(x, y) for x in (thin, sp.csr_array(thin)))
        np.testing.assert_array_equal(dense.coef_, sparse.coef_)


def test_sparse_data_in_any_order_with_repetitions():
    plain = sp.csr_array(X)
    coo = plain.tocoo()
    row, column, data = np.tile(coo.row, 2), np.tile(coo.col, 2), np.tile(coo.data / 2, 2)
    order = np.lexsort((np.random.default_rng(0).permutation(len(row)), row))
    indptr = np.searchsorted(row[order], np.arange(len(y) + 1))
    messy = sp.csr_array((data[order], column[order], indptr), shape=X.shape)
    before = messy.data.copy()
    np.testing.assert_allclose(LinearSVC().fit(messy, y).coef_, LinearSVC().fit(plain, y).coef_, rtol=1e-9)
    np.testing.assert_array_equal(messy.data, before)


@pytest.mark.parametrize("C", [0.01, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hard_data_give_a_small_violation_or_an_honest_warning(loss, C):
    rng = np.random.default_rng(2)
    base = rng.integers(0, 2, (200, 4)).astype(float)
    hard = np.column_stack([base, 1e3 * base[:, 0], np.ones(200), rng.normal(size=200)])
    machine = LinearSVC(loss=loss, C=C).fit(np.vstack([hard, hard]), np.append(base[:, 1] > 0, rng.random(200) > 0.5))
    c = machine.certificate_
    assert c.converged == (c.violation <= 1e-4 or c.gap <= 1e-12 * c.primal)
    assert c.converged or C > 1e3
    assert c.gap <= 0.1 * c.primal


def test_l1_is_delegated_and_certified():
    machine = LinearSVC(penalty="l1", dual=False, tol=1e-8, max_iter=100_000).fit(X, y)
    assert 0 <= machine.certificate_.gap < 1e-3 * machine.certificate_.primal
    assert machine.certificate_.violation < 1e-2
    assert len(LinearSVC(penalty="l1", dual=False, max_iter=10**5).fit(wide, labels).certificate_) == 3


@pytest.mark.slow("the peer's solver is slow")
def test_crammer_singer_is_delegated_and_not_certified():
    for target in (y, y + (X[:, 0] > 0)):
        machine = LinearSVC(multi_class="crammer_singer", max_iter=10**6).fit(X, target)
        c = machine.certificate_
        assert 0 < c.primal < len(y)
        assert c.dual == -np.inf
        assert not c.converged


def test_unsupported_combinations_say_what_scikit_learn_says():
    for machine in (LinearSVC(loss="hinge", dual=False), LinearSVR(dual=False)):
        with pytest.raises(ValueError, match=r"Unsupported set of arguments: .* not supported when dual=False"):
            machine.fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one"):
        LinearSVC().fit(X, np.ones(len(y)))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_expansion_is_the_decision_function(classes):
    X, y = make_classification(100, 6, n_informative=4, n_classes=classes, random_state=0)
    machine = LinearSVC().fit(X, y)
    np.testing.assert_allclose(machine.expansion_(X), machine.decision_function(X), atol=1e-12)
    line = LinearSVR().fit(X, X[:, 0])
    np.testing.assert_allclose(line.expansion_(X), line.predict(X), atol=1e-12)
    plain = LinearSVR(fit_intercept=False).fit(X, X[:, 0])
    np.testing.assert_allclose(plain.expansion_(X), plain.predict(X), atol=1e-12)


def test_a_problem_that_no_linear_machine_has_is_refused():
    y = np.array([-1.0, 1.0])
    for problem in (hinge(y, 1.0), hinge(y, 1.0, np.array([1, 0]), bias=False)):
        with pytest.raises(ValueError, match="no equality, one coefficient per row"):
            LinearSolver().solve(Factored(y[:, None]), [problem])
    with pytest.raises(ValueError, match="one coefficient per row"):
        LinearSolver().solve(Factored(np.eye(3)), [hinge(y, 1.0, bias=False)])
