"""LinearSVC and LinearSVR where there is little to learn from, where numbers are huge, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer import LinearSVC, LinearSVR
from mercer.solvers import NotSeparableError

X, y = make_classification(60, 4, n_informative=2, n_redundant=0, flip_y=0.2, random_state=0)
target = X @ [1.0, 2.0, 3.0, 4.0]
HINGES = ["hinge", "squared_hinge"]
TUBES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def test_hard_margin():
    separable = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    for loss in ("hinge", "squared_hinge"):
        machine = LinearSVC(C=np.inf, loss=loss, tol=1e-8, intercept_scaling=100).fit(separable, [0, 0, 1, 1])
        np.testing.assert_allclose(machine.coef_, [[1.0, 0.0]], atol=1e-3)
        assert machine.certificate_.converged
        assert machine.certificate_.gap < 1e-6


@pytest.mark.parametrize("machine", [LinearSVC(C=np.inf, loss=loss) for loss in HINGES])
def test_a_hard_margin_that_is_impossible(machine):
    for rows in (X, X.astype(np.float32), sp.csr_array(X), np.zeros_like(X)):
        with pytest.raises(
            NotSeparableError, match=r"contradict each other: .* without bound \(it reached .* Use a finite"
        ):
            machine.fit(rows, y)
    with pytest.raises(NotSeparableError, match="a sample of zeros"):
        LinearSVC(C=np.inf, loss=machine.loss, fit_intercept=False).fit(np.zeros_like(X), y)
    # Where the iterations are too few for a proof, at least nothing is certified.
    with pytest.warns(ConvergenceWarning, match=r"The hard constraints may contradict each other: give a finite C"):
        machine.fit(1e3 * X, y)
    assert not machine.certificate_.converged
    assert machine.certificate_.violation > 1e-4


@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_hard_margin_that_is_thin_is_possible(loss, scale):
    """A margin of a thousandth of the samples' size."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 10))
    rows[:, 0] += np.where(rows[:, 0] > 0, 2e-3, -2e-3)
    machine = LinearSVC(C=np.inf, loss=loss, max_iter=100_000, intercept_scaling=scale).fit(
        scale * rows, rows[:, 0] > 0
    )
    assert machine.certificate_.converged
    assert machine.score(scale * rows, rows[:, 0] > 0) == 1


#: Samples that can be told apart, though the weights are hard to find.
AWKWARD = {
    "small": lambda rows: 1e-6 * rows,
    "far": lambda rows: rows + 1e4,
    "outlier": lambda rows: np.where(np.arange(len(rows)) == 0, 1e6, 1.0)[:, None] * rows,
    "wide column": lambda rows: rows * [1, 1e6, 1, 1, 1],
    "far column": lambda rows: np.add(rows, [0, 1e6, 0, 0, 0]),
    "income": lambda rows: rows + 5e4 * np.abs(rows) * [0, 1, 0, 0, 0],
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "constant"),
    [(kind, constant) for kind in AWKWARD for constant in (0.0, 1.0, 1e5) if constant or kind != "far"],
)
@pytest.mark.slow("margins that take as many steps as there may be")
def test_a_hard_margin_that_is_hard_to_find_is_not_called_impossible(kind, constant, seed):
    rows = np.random.default_rng(seed).standard_normal((60, 5))
    rows[:, 0] += np.where(rows[:, 0] > 0, 0.1, -0.1)
    changed = AWKWARD[kind](rows)
    for seen in (changed, sp.csr_array(changed)):
        settings = {"C": np.inf, "max_iter": 5000, "fit_intercept": constant > 0, "intercept_scaling": constant or 1.0}
        LinearSVC(**settings).fit(seen, rows[:, 0] > 0)
        LinearSVR(epsilon=0.1, **settings).fit(seen, rows @ [1, 2, 3, 4, 5])


@pytest.mark.parametrize("loss", TUBES)
def test_hard_tube(loss):
    machine = LinearSVR(C=np.inf, loss=loss, epsilon=0.1).fit(X, target)
    assert np.abs(machine.predict(X) - target).max() < 0.1 + 1e-4
    assert 0 <= machine.certificate_.gap < 1e-3
    with pytest.raises(NotSeparableError, match=r"contradict each other"):
        machine.fit(X, np.where(y, 5.0, target))


@pytest.mark.parametrize("loss", HINGES)
def test_little_to_learn_from(loss):
    one_each = LinearSVC(loss=loss).fit([[0.0], [1.0]], ["a", "b"])
    assert one_each.certificate_.converged
    assert list(one_each.predict([[-1.0], [2.0]])) == ["a", "b"]
    nothing = LinearSVC(loss=loss).fit(sp.csr_array(X.shape), y)  # the more frequent class wins
    assert nothing.certificate_.converged
    assert (nothing.predict(X) == np.bincount(y).argmax()).all()
    constant = LinearSVC(loss=loss).fit(np.column_stack([X, np.full(len(X), 7.0)]), y)
    assert constant.certificate_.converged


@pytest.mark.parametrize("loss", TUBES)
def test_targets_that_are_all_zero(loss):
    machine = LinearSVR(loss=loss).fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(machine.coef_, 0)
    np.testing.assert_array_equal(machine.intercept_, 0)
    assert machine.certificate_.converged
    assert LinearSVR(loss=loss).fit([[1.0]], [2.0]).certificate_.converged


@pytest.mark.parametrize("loss", HINGES)
def test_a_class_without_weight_does_not_count(loss):
    """The optimum is that of the rows that do; scikit-learn does not refuse it either."""
    weight = np.where(y == 0, 0.0, 1.0)
    for class_weight in (None, "balanced"):
        machine = LinearSVC(loss=loss, class_weight=class_weight).fit(X, y, sample_weight=weight)
        assert machine.certificate_.converged
        assert machine.predict(X[y == 1]).all()
    same = LinearSVC(loss=loss, class_weight={0: 0.0}, tol=1e-8).fit(X, y)
    machine = LinearSVC(loss=loss, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(same.coef_, machine.coef_, atol=1e-6)


@pytest.mark.parametrize("parameters", [{"penalty": "l1", "dual": False}, {"multi_class": "crammer_singer"}], ids=str)
def test_a_class_without_weight_is_refused_where_it_would_be_miscounted(parameters):
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(ValueError, match="no sample of class 0 has a positive weight"):
        LinearSVC(**parameters).fit(X, classes, sample_weight=np.where(classes == 0, 0.0, 1.0))
    some = np.arange(len(X)) % 3 > 0
    machine = LinearSVC(**parameters, tol=1e-8, max_iter=10**5).fit(X, classes, sample_weight=some.astype(float))
    left = LinearSVC(**parameters, tol=1e-8, max_iter=10**5).fit(X[some], classes[some])
    np.testing.assert_allclose(machine.coef_, left.coef_, atol=1e-6)


def test_weights_that_are_not_positive():
    negative = np.where(np.arange(len(y)) < 5, -1.0, 1.0)
    for machine, targets in ((LinearSVC(), y), (LinearSVR(), target)):
        with pytest.warns(UserWarning, match="5 samples have a negative weight and are left out"):
            machine.fit(X, targets, sample_weight=negative)
        left_out = type(machine)().fit(X[5:], targets[5:])
        np.testing.assert_array_equal(machine.coef_, left_out.coef_)
        with pytest.raises(ValueError, match="all samples have zero or negative weights"):
            machine.fit(X, targets, sample_weight=-np.ones(len(y)))
        with pytest.raises(ValueError, match=r"incompatible shapes: \(0,\) vs"):
            machine.fit(X, targets, sample_weight=[])
    with pytest.raises(ValueError, match=r"class_weight must be at least 0 for every class, not -1.0 for 0"):
        LinearSVC(class_weight={0: -1.0}).fit(X, y)


@pytest.mark.parametrize("scale", [1e-8, 1e4, 1e8])
@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_any_scale_give_a_good_primal(loss, scale):
    """X of another scale is C of another; whether or not rounding allows a proof, the weights are good."""
    machine = LinearSVC(loss=loss).fit(X * scale, y)
    same = LinearSVC(loss=loss, C=min(scale**2, 1e6), tol=1e-6, max_iter=10**5).fit(X, y)
    C = min(scale**2, 1e6)
    c = machine.certificate_
    assert c.converged == (c.violation <= 1e-4 or c.gap <= 1e-12 * c.primal)
    assert c.primal <= 2 * same.certificate_.primal / C


@pytest.mark.parametrize("C", [1e8, 1e12])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_cost_of_the_hinge(C):
    machine = LinearSVC(loss="hinge", C=C).fit(X, y)
    reference = LinearSVC(loss="hinge", C=1e3).fit(X, y).certificate_.primal / 1e3
    assert machine.certificate_.primal / C == pytest.approx(reference, rel=0.05)


@pytest.mark.parametrize("machine", [*(LinearSVC(loss=loss) for loss in HINGES), LinearSVR()])
def test_numbers_beyond_float64_are_refused(machine):
    with pytest.raises(ValueError, match=r"beyond float64: primal .* Scale the columns of X"):
        machine.fit(X * 1e200, y)


@pytest.mark.parametrize("loss", TUBES)
@pytest.mark.parametrize("epsilon", [np.inf, -1.0, np.nan])
def test_tubes_that_are_refused(loss, epsilon):
    with pytest.raises(ValueError, match=r"'epsilon' parameter of LinearSVR must be a float in the range \[0.0, inf\)"):
        LinearSVR(loss=loss, epsilon=epsilon).fit(X, target)


@pytest.mark.parametrize("loss", HINGES)
def test_stored_zeros_and_wide_indices_change_nothing(loss):
    stored = sp.csr_array(X)
    stored.data[::3] = 0
    wide = stored.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = LinearSVC(loss=loss, tol=1e-8).fit(stored.toarray(), y).coef_
    for rows in (stored, wide, sp.csc_array(stored)):
        np.testing.assert_allclose(LinearSVC(loss=loss, tol=1e-8).fit(rows, y).coef_, expected, atol=1e-7)


@pytest.mark.parametrize("how", [{"penalty": "l1"}, {"multi_class": "crammer_singer"}])
def test_what_liblinear_solves_has_no_hard_margin(how):
    with pytest.raises(ValueError, match="C=inf, a hard margin, needs"):
        LinearSVC(C=np.inf, **how).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


@pytest.mark.filterwarnings("ignore:.*negative weight")
def test_balance_is_that_of_the_samples_that_count():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((100, 3)), rng.standard_normal(100) + 0.3
    y = X[:, 0] > 0
    machines = [LinearSVC(class_weight="balanced").fit(X, y, weight) for weight in (w, np.maximum(w, 0))]
    np.testing.assert_array_equal(machines[0].coef_, machines[1].coef_)
    assert LinearSVC(class_weight="balanced").fit(X, y, np.where(y, -1.0, 1.1)).certificate_.converged
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        LinearSVC(class_weight="balanced").fit(X, y, -1.0)
