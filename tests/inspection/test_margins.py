"""Margins: distances, slacks and the hardest examples of every kind of classifier."""

import numpy as np
import pytest
import sklearn.base
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from mercer import SVC, Expansion, KernelLogistic, KernelPerceptron, KernelRidge, LinearSVC, NuSVC
from mercer.inspection import margins, support_report
from mercer.kernels import Gaussian, Linear, Sigmoid

X, y = load_iris(return_X_y=True)
X = scale(X)
two, side = X[50:], y[50:]


def test_of_a_linear_machine_are_distances_to_its_plane():
    machine = SVC(kernel="linear", tol=1e-6).fit(two, side)
    seen = margins(machine, two, side)
    w, b = machine.coef_[0], machine.intercept_[0]
    sign = np.where(side == 2, 1, -1)
    np.testing.assert_allclose(seen.geometric, sign * (two @ w + b) / np.linalg.norm(w), atol=1e-9)
    np.testing.assert_allclose(seen.functional, sign * machine.decision_function(two))
    assert seen.norm == pytest.approx(np.linalg.norm(w))
    assert seen.width == pytest.approx(2 / np.linalg.norm(w))
    assert seen.margin == seen.geometric.min() < 0


def test_slacks_and_norm_make_the_primal_objective():
    machine = SVC(C=3.0, kernel=Gaussian(1.0), tol=1e-6).fit(two, side)
    seen = margins(machine, two, side)
    assert seen.norm**2 / 2 + 3 * seen.slack.sum() == pytest.approx(machine.certificate_.primal, rel=1e-6)


def test_the_hardest_have_the_largest_coefficients():
    machine = SVC(C=100.0, kernel="linear").fit(two, side)
    order = margins(machine, two, side).hardest(100)
    by_row = dict(zip(machine.support_, np.abs(machine.dual_coef_[0]), strict=True))
    sizes = [by_row[row] for row in order]
    assert sorted(order) == sorted(by_row)
    assert sizes == sorted(sizes, reverse=True)


OVERLAPPING = np.random.default_rng(5).standard_normal((500, 4))
SIDE = (OVERLAPPING[:, 0] + 3 * np.random.default_rng(6).standard_normal(500) > 0).astype(int)
THREE = np.digitize(OVERLAPPING[:, 0] + 2 * np.random.default_rng(7).standard_normal(500), [-1.0, 1.0])
WEIGHT = np.random.default_rng(8).choice([0.5, 1.0, 2.0], 500)


def similar(A, B):
    return np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))


TIED = {
    "soft": (SVC(C=0.5), SIDE, None),
    "weights of samples": (SVC(C=0.5), SIDE, WEIGHT),
    "weights of classes": (SVC(C=0.5, class_weight={0: 3.0}), SIDE, WEIGHT),
    "pairs": (SVC(C=0.5), THREE, None),
    "weighted pairs": (SVC(C=0.5), THREE, WEIGHT),
    "against the rest": (SVC(C=0.5, strategy="ovr"), THREE, None),
    "nu": (NuSVC(nu=0.8), SIDE, None),
    "nu of pairs": (NuSVC(nu=0.7), THREE, WEIGHT),
    "by hand": (SVC(C=0.5, kernel=similar), SIDE, None),
    "mistakes": (KernelPerceptron(Gaussian(2.0), max_iter=3), SIDE, None),
}


def naive_order(machine, values, c):
    """Rows of the training set with a coefficient for problem c: by it, by slack, by number."""
    a = machine.expansion_.coefficients.reshape(len(machine.support_), -1)[:, c]
    rows = []
    for row, own in zip(machine.support_.tolist(), a.tolist(), strict=True):
        slack = max(0.0, 1 - np.sign(own) * values[row, c])
        rows.append((-abs(own), -round(slack, 9), row))
    return [row for size, _, row in sorted(rows) if size < 0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("given", [False, True])
def test_of_equal_coefficients_those_with_the_largest_slack_are_the_hardest(name, given):
    machine, labels, weight = TIED[name]
    data, machine = OVERLAPPING, sklearn.base.clone(machine)
    if given and hasattr(machine, "C") and machine.kernel == "rbf":  # of more rows than are kept with it
        data = similar(OVERLAPPING, OVERLAPPING)
        machine.kernel = "precomputed"
    machine.fit(data, labels, **({} if weight is None else {"sample_weight": weight}))
    values = machine.expansion_(machine._new_samples(data)).reshape(len(data), -1)
    seen = margins(machine, data, labels)
    for c in range(values.shape[1]):
        expected = naive_order(machine, values, c)
        assert seen.hardest(500, c).tolist() == expected
        a = np.abs(machine.expansion_.coefficients.reshape(len(machine.support_), -1)[:, c])
        assert np.unique(a[a > 0]).size < np.count_nonzero(a) / 2  # many are equal
    if not given:  # whatever samples the margins are of
        other = margins(machine, OVERLAPPING[:20] + 1, labels[:20])
        for c in range(values.shape[1]):
            np.testing.assert_array_equal(other.hardest(500, c), seen.hardest(500, c))


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_several_classes_have_the_margins_of_every_pair(cls):
    parameters = dict(kernel=Gaussian(1.0), tol=1e-8, **({"nu": 0.2} if cls is NuSVC else {}))
    seen = margins(cls(**parameters).fit(X, y), X, y)
    assert [str(contest) for contest in seen.contests] == ["0 against 1", "0 against 2", "1 against 2"]
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        among = np.isin(y, (i, j))
        alone = margins(cls(**parameters).fit(X[among], y[among]), X[among], y[among])
        np.testing.assert_allclose(seen.functional[among, column], alone.functional, atol=1e-5)
        np.testing.assert_allclose(seen.geometric[among, column], alone.geometric, atol=1e-5)
        assert np.isnan(seen.slack[~among, column]).all()
        assert seen.width[column] == pytest.approx(alone.width, rel=1e-5)
        assert seen.margin[column] == pytest.approx(alone.margin, abs=1e-5)


def test_one_against_the_rest_has_every_sample_in_every_column():
    machine = SVC(strategy="ovr", tol=1e-6).fit(X, y)
    seen = margins(machine, X, y)
    assert seen.functional.shape == (150, 3)
    signs = np.where(y[:, None] == np.arange(3), 1, -1)
    np.testing.assert_allclose(signs * seen.geometric, machine.decision_function(X), atol=1e-5)


def test_nu_bounds_the_share_of_margin_errors():
    machine = NuSVC(nu=0.3, kernel=Gaussian(1.0), tol=1e-8).fit(two, side)
    seen = margins(machine, two, side)
    assert (seen.slack > 1e-5).mean() <= 0.3 <= len(machine.support_) / len(two)
    free = np.abs(seen.functional - 1) < 1e-5
    assert free.any()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_linear_machine_without_coefficients_ranks_by_slack(loss):
    machine = LinearSVC(loss=loss).fit(X, y)
    seen = margins(machine, X, y)
    signs = np.where(y[:, None] == np.arange(3), 1, -1)
    distances = (X @ machine.coef_.T + machine.intercept_) / np.linalg.norm(machine.coef_, axis=1)
    np.testing.assert_allclose(seen.geometric, signs * distances, atol=1e-9)
    assert seen.hardest(1, contest=2)[0] == np.argmax(seen.slack[:, 2])


class Mean(ClassifierMixin, BaseEstimator):
    """f(x) = <x, the difference of the means> + 1/2"""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.expansion_ = Expansion.of(Linear(), X, (2 * codes - 1) / len(X), 0.5)
        return self


def test_any_classifier_with_an_expansion_has_margins():
    machine = Mean().fit(two, side)
    seen = margins(machine, two, side)
    np.testing.assert_allclose(seen.functional, np.where(side == 2, 1, -1) * machine.expansion_(two))
    assert seen.norm == pytest.approx(machine.expansion_.norm())


def test_a_users_function_of_samples():
    machine = SVC(kernel=lambda A, B: A @ B.T, tol=1e-8).fit(two, side)
    reference = margins(SVC(kernel="linear", tol=1e-8).fit(two, side), two, side)
    np.testing.assert_allclose(margins(machine, two, side).geometric, reference.geometric, atol=1e-5)


def test_the_summary_says_it_all():
    seen = margins(SVC(kernel="linear").fit(X, y), X, y)
    lines = str(seen).splitlines()
    assert len(lines) == 7
    assert "1 against 2" in lines[5]
    assert "5 on the wrong side" in lines[5]
    machine = SVC().fit(two, side)  # what is on the margin up to its tolerance is not short of it
    (problem,) = support_report(machine, two).problems
    assert problem.free > 0
    assert f" {problem.at_bound} short of the margin" in str(margins(machine, two, side))
    many = np.arange(30) % 10
    assert "... and 33 more" in str(margins(SVC().fit(X[:30], many), X[:30], many))


def test_what_has_no_margins_is_refused():
    machine = SVC().fit(two, side)
    with pytest.raises(TypeError, match="tells no classes apart"):
        margins(KernelRidge().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"y holds \d, which is none of the model's classes"):
        margins(machine, X, y)
    with pytest.raises(ValueError, match="100 samples but y has 99"):
        margins(machine, two, side[:-1])


INDEFINITE = [
    SVC(kernel=Sigmoid(1.0, -1.0)),
    SVC(kernel=-1 * Linear()),
    SVC(kernel=Sigmoid(1.0, -1.0), strategy="ovr"),
    NuSVC(kernel=Sigmoid(1.0, -1.0), nu=0.3),
    KernelLogistic(kernel=Sigmoid(1.0, -1.0)),
    KernelPerceptron(Sigmoid(1.0, -1.0), max_iter=3),
]


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning", "ignore::UserWarning")
@pytest.mark.parametrize("labels", [y, np.arange(150) % 2], ids=["three", "two"])
@pytest.mark.parametrize("machine", INDEFINITE, ids=repr)
def test_without_a_geometry_there_are_no_lengths_but_words(machine, labels):
    machine = sklearn.base.clone(machine).fit(X, labels)
    seen = margins(machine, X, labels)
    norms = np.atleast_1d(machine.expansion_.norm())
    assert np.isnan(norms).any()
    for values in (seen.norm, seen.width, seen.margin, seen.geometric[0]):
        np.testing.assert_array_equal(np.isnan(np.atleast_1d(values)[np.isnan(norms)]), True)
    assert not np.isinf(seen.width).any()
    lines = str(seen).splitlines()
    assert sum("no |w|, no width and no distance" in line for line in lines) == np.isnan(norms).sum()
    assert "not positive semi-definite" in lines[-1]
    assert "nan" not in str(seen)
    assert "inf" not in str(seen)
    report = support_report(machine, X)
    assert report.essential is None
    for problem in report.problems:
        assert problem.essential is problem.refit_error is problem.influence is problem.left_out_errors is None
        assert problem.preimages == problem.distances == ()
        assert problem.free + problem.at_bound == len(problem.rows)
    assert "nothing can be said of essential or nearest rows" in str(report)
    assert "nan" not in str(report)


def test_a_function_without_a_hyperplane_has_no_distances():
    machine = SVC().fit(np.ones((9, 1)), np.arange(9) % 3 // 2)
    seen = margins(machine, np.ones((9, 1)), np.arange(9) % 3 // 2)
    assert seen.norm == 0
    assert np.isnan([seen.width, seen.margin, *seen.geometric]).all()
    assert "w = 0, so there is no hyperplane" in str(seen)


def test_a_hyperplane_whose_classes_are_not_there_has_no_smallest_margin():
    seen = margins(SVC().fit(X, y), X[:50], y[:50])
    assert np.isnan(seen.margin[2])
    assert np.isfinite(seen.margin[:2]).all()
    assert "1 against 2: |w|" in str(seen)
    assert "no sample of its classes" in str(seen)
