"""Margins: distances, slacks and the hardest examples of every kind of classifier."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from mercer import SVC, Expansion, KernelRidge, LinearSVC, NuSVC
from mercer.inspection import margins, support_report
from mercer.kernels import Gaussian, Linear

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
