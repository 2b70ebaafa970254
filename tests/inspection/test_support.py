"""Support vectors: how many, where, how few would do, and what leaving one out can change."""

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.preprocessing import scale

from mercer import (
    LMS,
    SVC,
    SVR,
    KernelLMS,
    KernelLogistic,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.inspection import support_report
from mercer.kernels import Gaussian, Polynomial

X, y = load_iris(return_X_y=True)
X = scale(X)
two, side = X[50:], y[50:]


def separable(d, n=60):
    """Points on two parallel lattices, many of them on the margin."""
    rng = np.random.default_rng(d)
    points = rng.integers(-2, 3, size=(n, d)).astype(float)
    labels = np.arange(n) % 2
    points[:, 0] = np.where(labels == 1, 1.0, -1.0) * (1 + rng.integers(0, 2, n))
    return points @ np.linalg.qr(rng.standard_normal((d, d)))[0], labels


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("solver", ["smo", "qp"])
def test_at_most_d_plus_1_examples_determine_a_separating_machine(d, solver):
    points, labels = separable(d)
    machine = SVC(C=np.inf, kernel="linear", tol=1e-8, solver=solver).fit(points, labels)
    rows = support_report(machine).essential
    assert 2 <= len(rows) <= d + 1
    if solver == "qp":  # an interior point has coefficients for all that lie on the margin
        assert len(machine.support_) > d + 1
    again = clone(machine).set_params(solver="smo").fit(points[rows], labels[rows])
    np.testing.assert_allclose(again.coef_, machine.coef_, atol=1e-6)
    np.testing.assert_allclose(again.intercept_, machine.intercept_, atol=1e-6)


def test_no_essential_example_can_be_spared():
    points, labels = separable(3)
    machine = SVC(C=np.inf, kernel="linear", tol=1e-8, solver="qp").fit(points, labels)
    rows = support_report(machine).essential
    for row in rows:
        fewer = np.setdiff1d(rows, row)
        if len(np.unique(labels[fewer])) == 2:
            without = clone(machine).set_params(solver="smo").fit(points[fewer], labels[fewer])
            assert np.linalg.norm(without.coef_ - machine.coef_) > 1e-3


@pytest.mark.parametrize("C", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("kernel", ["linear", Polynomial(2)])
def test_soft_margins_need_all_at_the_bound_and_few_others(C, kernel):
    rng = np.random.default_rng(0)
    points = rng.integers(-3, 4, size=(150, 2)).astype(float)
    labels = (points[:, 0] + rng.integers(-1, 2, 150) > 0).astype(int)
    machine = SVC(C=C, kernel=kernel, tol=1e-7, solver="qp").fit(points, labels)
    (problem,) = support_report(machine).problems
    assert problem.refit_error < 1e-4
    assert len(problem.essential) < len(problem.rows)
    dimension = 2 if kernel == "linear" else 5
    assert len(problem.essential) <= problem.at_bound + dimension + 1 + problem.free
    again = clone(machine).set_params(solver="smo").fit(points[problem.essential], labels[problem.essential])
    grid = rng.standard_normal((50, 2))
    np.testing.assert_allclose(again.decision_function(grid), machine.decision_function(grid), atol=1e-4)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("separated", [True, False])
def test_d_plus_1_is_no_limit_of_soft_margins(d, separated):
    """All at the bound are essential, though a hyperplane may separate the data; the report promises nothing else."""
    points, labels = separable(d)
    if not separated:
        labels = labels.copy()
        labels[:10] = 1 - labels[:10]
    machine = SVC(C=1e-3, kernel="linear", tol=1e-8).fit(points, labels)
    report = support_report(machine, points)
    (problem,) = report.problems
    at_bound = machine.support_[np.abs(machine.dual_coef_[0]) >= 1e-3 * (1 - 1e-6)]
    assert problem.at_bound == len(at_bound) > d + 1
    assert set(at_bound.tolist()) <= set(report.essential.tolist())
    assert f"essential: {len(report.essential)}" in str(report)
    assert "at most" not in str(report)
    assert "+ 1" not in str(report)
    if separated:
        hard = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(points, labels)
        assert len(support_report(hard, points).essential) <= d + 1


@pytest.mark.parametrize(
    "machine",
    [SVC(), SVC(class_weight={0: 0.1, 2: 5.0}), SVC(strategy="ovr"), NuSVC(nu=0.2)],
)
def test_counts_of_every_problem(machine):
    machine.set_params(tol=1e-6).fit(X, y)
    report = support_report(machine)
    assert list(report.per_class.values()) == machine.n_support_.tolist()
    assert report.samples == 150
    assert len(report.problems) == 3
    for p, problem in enumerate(report.problems):
        a = machine.expansion_.coefficients[:, p]
        values = machine.expansion_(X[machine.support_])[:, p]
        assert problem.free + problem.at_bound == len(problem.rows) == np.count_nonzero(a)
        on_margin = np.abs(np.abs(values[a != 0]) - 1) < 1e-4
        assert problem.free <= on_margin.sum()
        assert problem.at_bound >= (~on_margin).sum()
        assert problem.refit_error < 1e-3


def test_nu_machines_know_their_bound():
    machine = NuSVC(nu=0.4, kernel=Gaussian(1.0), tol=1e-8).fit(two, side)
    (problem,) = support_report(machine).problems
    largest = np.abs(machine.dual_coef_).max()
    assert problem.at_bound == (np.abs(machine.dual_coef_) > (1 - 1e-7) * largest).sum() > 10


def test_sample_weights_are_seen_through_the_slack():
    weight = np.linspace(0.2, 2, 100)
    machine = SVC(C=2.0, kernel="linear", tol=1e-8).fit(two, side, sample_weight=weight)
    (problem,) = support_report(machine).problems
    a = np.abs(machine.dual_coef_[0])
    assert problem.at_bound == (a >= (1 - 1e-9) * 2 * weight[machine.support_]).sum()


def test_leave_one_out_errors_are_within_the_bound():
    points, labels = make_blobs(60, 2, centers=2, cluster_std=4.0, random_state=3)
    machine = SVC(C=0.3, kernel=Gaussian(3.0), tol=1e-6).fit(points, labels)
    (problem,) = support_report(machine, points).problems
    wrong = []
    for i in range(60):
        kept = np.arange(60) != i
        if clone(machine).fit(points[kept], labels[kept]).predict(points[i : i + 1])[0] != labels[i]:
            wrong.append(i)
    slack = np.maximum(0, 1 - np.where(labels == 1, 1, -1) * machine.decision_function(points))
    reach = dict(zip(problem.rows, problem.influence, strict=True))
    assert wrong
    assert all(slack[i] + reach[i] >= 1 for i in wrong)
    assert len(wrong) <= problem.left_out_errors < 60


def test_no_bound_is_claimed_where_the_price_of_an_error_changes():
    """Of a nu-machine a row that is no support vector, and well on its side, can be misclassified if left out."""
    rng = np.random.default_rng(145)
    n = int(rng.integers(8, 30))
    points = rng.standard_normal((n, 2))
    labels = (points[:, 0] + rng.standard_normal(n) * rng.uniform(0, 2) > 0).astype(int)
    machine = NuSVC(nu=float(rng.uniform(0.05, 0.6)), kernel=Gaussian(3.0), tol=1e-8).fit(points, labels)
    (problem,) = support_report(machine, points).problems
    assert 13 not in problem.rows
    kept = np.arange(n) != 13
    assert machine.predict(points[13:14])[0] == labels[13]
    assert clone(machine).fit(points[kept], labels[kept]).predict(points[13:14])[0] != labels[13]
    assert problem.influence is problem.left_out_errors is None


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("search", [False, True])
def test_influence_on_ridge_regression_is_exact(bias, weighted, search):
    data, target = load_diabetes(return_X_y=True)
    data, targets = data[:40], np.stack([target[:40], target[40:80]], axis=1)
    weight = np.linspace(0.2, 3, 40) if weighted else np.ones(40)
    weight[3] = 0.0 if weighted else 1.0  # as good as absent, so its row is not kept
    if search:
        machine = KernelRidgeCV([0.1, 0.3], kernel=Gaussian(0.1), fit_intercept=bias, alpha_per_target=True)
    else:
        machine = KernelRidge(alpha=[0.1, 0.3], kernel=Gaussian(0.1), fit_intercept=bias)
    report = support_report(machine.fit(data, targets, sample_weight=weight))
    alpha = machine.alpha_ if search else machine.alpha
    assert report.samples == 40
    assert len(report.rows) == len(report.essential) == np.count_nonzero(weight)
    for i in (0, 7, 39):
        kept = np.arange(40) != i
        without = KernelRidge(alpha, kernel=Gaussian(0.1), fit_intercept=bias)
        without.fit(data[kept], targets[kept], sample_weight=weight[kept])
        change = (machine.predict(data[i : i + 1]) - without.predict(data[i : i + 1]))[0]
        found = [problem.influence[problem.rows == i][0] for problem in report.problems]
        np.testing.assert_allclose(found, change, rtol=1e-7)
    for problem, line in zip(report.problems, str(report).splitlines()[2:], strict=True):
        assert f" {np.abs(problem.influence).max():.2g} " in line


def test_influence_is_unknown_where_nothing_can_be_left_out():
    (problem,) = support_report(KernelRidge().fit([[1.0]], [2.0])).problems
    assert problem.influence is None
    with pytest.warns(LinAlgWarning, match="Singular matrix"):
        machine = KernelRidge(alpha=0).fit([[1.0], [1.0]], [2.0, 2.0])
    (problem,) = support_report(machine).problems
    assert problem.influence is None


def test_preimages_are_nearest_to_the_hulls():
    machine = SVC(kernel=Gaussian(1.0), tol=1e-6).fit(two, side)
    (problem,) = support_report(machine, two).problems
    a = machine.dual_coef_[0]
    for sign, row, distance in zip((1, -1), problem.preimages, problem.distances, strict=True):
        own = sign * a > 0
        weights = np.abs(a[own]) / np.abs(a[own]).sum()
        known = two[machine.support_[own]]
        k = machine.kernel_
        squared = 1 - 2 * k(two, known) @ weights + weights @ k(known) @ weights
        assert row == squared.argmin()
        assert distance == pytest.approx(np.sqrt(squared.min()))


@pytest.mark.parametrize("labels", [y, y == 1], ids=["three", "two"])
@pytest.mark.parametrize("count", [None, 12])
def test_logistic_regression_keeps_all_or_a_basis(labels, count):
    machine = KernelLogistic(max_basis=count).fit(X, labels)
    report = support_report(machine, X)
    assert len(report.problems) == (3 if labels is y else 1)
    assert report.per_class == {c: int((labels[machine.support_] == c).sum()) for c in machine.classes_.tolist()}
    assert len(report.rows) == (count or 150)
    for p, problem in enumerate(report.problems):
        a = machine.expansion_.coefficients.reshape(len(report.rows), -1)[:, p]
        assert problem.free == len(problem.rows) == np.count_nonzero(a)
        assert problem.at_bound == 0
        assert problem.influence is problem.left_out_errors is None  # bounds of the hinge are not of this loss
    # Without a basis the optimum feels every sample; of a basis, all others had a say.
    assert (report.essential is None) == (count is not None)


@pytest.mark.parametrize("parts", [1, 4])
def test_a_perceptron_keeps_its_mistakes(parts):
    order = np.random.default_rng(0).permutation(150)
    data, labels = X[order], y[order]
    machine = KernelPerceptron(Gaussian(1.0), max_iter=1000)
    if parts == 1:
        machine.fit(data, labels)
    else:
        for rows in np.array_split(np.arange(150), parts):
            machine.partial_fit(data[rows], labels[rows], classes=[0, 1, 2])
    report = support_report(machine, data)
    np.testing.assert_array_equal(machine.expansion_.samples.array, data[report.rows])
    assert report.samples == 150
    assert report.per_class == {c: int((labels[report.rows] == c).sum()) for c in range(3)}
    assert [problem.name for problem in report.problems] == [f"{c} against the rest" for c in range(3)]
    assert [problem.free for problem in report.problems] == (machine.expansion_.coefficients != 0).sum(axis=0).tolist()
    assert report.essential is None
    assert f"KernelPerceptron keeps {len(report.rows)} of 150 samples" in str(report)


@pytest.mark.parametrize("machine", [LMS(alpha=0.1), KernelLMS(Gaussian(1.0), alpha=0.1)])
def test_least_mean_squares_that_converged_need_all_they_keep(machine):
    weight = np.ones(150)
    weight[:10] = 0.0
    report = support_report(machine.fit(X, np.stack([y, X[:, 0]], axis=1), sample_weight=weight), X)
    assert [problem.name for problem in report.problems] == ["output 0", "output 1"]
    np.testing.assert_array_equal(report.rows, np.arange(10, 150))
    np.testing.assert_array_equal(report.essential, np.arange(10, 150))
    early = clone(machine).set_params(early_stopping=True, n_iter_no_change=1).fit(X, y)
    assert support_report(early).essential is None


@pytest.mark.parametrize("machine", [SVR(C=20.0, epsilon=20.0), NuSVR(C=20.0), OneClassSVM(nu=0.1)])
def test_bounds_of_weighted_regression_and_novelty(machine):
    data, target = load_diabetes(return_X_y=True)
    weight = np.linspace(0.2, 2, 150)
    machine.set_params(tol=1e-8).fit(data[:150], target[:150], sample_weight=weight)
    (problem,) = support_report(machine).problems
    bound = getattr(machine, "C", 1.0) * weight[machine.support_]
    assert problem.at_bound == (np.abs(machine.dual_coef_[0]) >= (1 - 1e-9) * bound).sum() > 5
    assert problem.free > 0
    assert problem.refit_error < 1e-4


@pytest.mark.parametrize("machine", [SVR(C=20.0, epsilon=20.0), NuSVR(C=20.0), OneClassSVM(nu=0.1)])
def test_regression_and_novelty(machine):
    data, target = load_diabetes(return_X_y=True)
    report = support_report(machine.fit(data[:150], target[:150]))
    (problem,) = report.problems
    assert problem.free + problem.at_bound == len(machine.support_)
    assert problem.refit_error < 1e-4
    assert report.per_class == {}
    assert problem.left_out_errors is None


def test_the_table_has_a_line_per_problem():
    lines = str(support_report(SVC().fit(X, y))).splitlines()
    assert lines[0].startswith("SVC keeps 51 of 150 samples (0: 8, 1: 22, 2: 21); essential: ")
    assert [line.split("  ")[0] for line in lines[1:]] == ["problem", "0 against 1", "0 against 2", "1 against 2"]


def test_what_keeps_no_samples_is_refused():
    with pytest.raises(TypeError, match="SVC\\(kernel='linear'\\)"):
        support_report(LinearSVC().fit(X, y))
    for machine in (KernelPCA(2), KernelSVD(2), Perceptron(max_iter=1000)):
        with pytest.raises(TypeError, match=f"{type(machine).__name__} keeps no support vectors"):
            support_report(machine.fit(X[:100], y[:100]))
    with pytest.raises(ValueError, match="must be the 150 training samples"):
        support_report(SVC().fit(X, y), X[:10])


def test_a_machine_without_support_vectors_needs_none():
    report = support_report(SVR(epsilon=10.0).fit(X, y))
    assert report.problems[0].free == report.problems[0].at_bound == len(report.essential) == 0
    assert "keeps 0 of 150" in str(report)
