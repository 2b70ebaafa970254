"""SVC and NuSVC: classes, margins, votes and probabilities."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale

import mercer
from mercer import SVC, KernelLogistic, NuSVC
from mercer.kernels import Gaussian, Linear
from mercer.machines.probability import coupled, sigmoid
from mercer.solvers import NotSeparableError

X, y = load_iris(return_X_y=True)
X = scale(X)


def test_hard_margin_separates_with_the_widest_margin():
    points, side = np.array([[-2.0, 0], [-1, 1], [-1, -1], [1, 0], [3, 1]]), np.array([0, 0, 0, 1, 1])
    machine = SVC(C=np.inf, kernel=Linear(), tol=1e-9).fit(points, side)
    np.testing.assert_allclose(machine.coef_, [[1.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(machine.intercept_, 0, atol=1e-8)
    np.testing.assert_allclose(np.abs(machine.decision_function(points))[1:4], 1, atol=1e-8)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 4)])
def test_a_hard_margin_that_does_not_exist_is_refused(weight):
    with pytest.raises(NotSeparableError, match="grows without bound"):
        SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], sample_weight=weight)


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_one_against_the_rest_is_decided_by_distance(cls):
    parameters = dict(kernel=Gaussian(1.0), tol=1e-8, **({"nu": 0.2} if cls is NuSVC else {}))
    machine = cls(**parameters, strategy="ovr").fit(X, y)
    apart = OneVsRestClassifier(cls(**parameters)).fit(X, y)
    distances = np.stack([e.decision_function(X) / e.expansion_.norm() for e in apart.estimators_], axis=1)
    np.testing.assert_allclose(machine.decision_function(X), distances, atol=1e-5)
    np.testing.assert_array_equal(machine.predict(X), distances.argmax(axis=1))
    assert machine.dual_coef_.shape == (3, len(machine.support_))
    assert len(machine.certificate_) == 3
    assert cls(strategy="ovr").fit(X[:100], y[:100]).dual_coef_.shape[0] == 1


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1.0])
def test_distances_are_those_of_any_scale(scale):
    machine = SVC(kernel="linear", strategy="ovr").fit(scale * X, y)
    distances = machine.expansion_(scale * X) / np.linalg.norm(machine.coef_, axis=1)
    np.testing.assert_allclose(machine.decision_function(scale * X), distances, rtol=1e-9)


def test_where_a_class_has_no_hyperplane_values_are_compared_with_values():
    same = np.zeros((len(y), 1))
    same[y == 0] = 1  # nothing tells the others apart
    machine = SVC(kernel="linear", strategy="ovr", tol=1e-10).fit(same, np.where(y == 0, 0, 1 + np.arange(len(y)) % 4))
    assert (machine.coef_ == 0).any()
    assert (machine.coef_ != 0).any()
    np.testing.assert_array_equal(machine.decision_function(same), machine.expansion_(same))


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
@pytest.mark.parametrize("parameters", [dict(decision_function_shape="ovo"), dict(probability=True)])
def test_one_against_the_rest_has_no_pairs(parameters):
    with pytest.raises(ValueError, match="strategy='ovo'"):
        SVC(strategy="ovr", **parameters).fit(X, y)


def test_no_margin_at_all_is_refused_in_words():
    with pytest.raises(ValueError, match=r"the margin is 0: to this kernel the classes .* as small as nu=0.3"):
        NuSVC(nu=0.3, kernel="linear").fit(np.ones((6, 1)), [0, 1, 0, 1, 0, 1])


def test_class_weights():
    for class_weight in ({0: 0.1, 2: 5.0}, "balanced"):
        ours = SVC(class_weight=class_weight, tol=1e-7, decision_function_shape="ovo").fit(X[10:], y[10:])
        peer = sklearn.svm.SVC(class_weight=class_weight, tol=1e-7, decision_function_shape="ovo").fit(X[10:], y[10:])
        np.testing.assert_array_equal(ours.class_weight_, peer.class_weight_)
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [2.0, 5.0, 7.0], [True, False, False]])
def test_labels_of_any_kind(labels):
    labels = np.array(labels)
    machine = SVC().fit(X, labels[y])
    np.testing.assert_array_equal(machine.classes_, np.unique(labels))
    assert machine.score(X, labels[y]) > 0.95
    assert SVC().fit(X, list(labels[y])).predict(X[:1])[0] == labels[0]


def test_classes_lost_by_weights_are_refused():
    weight = np.where(y == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="no sample of class 1"):
        SVC().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="belong to the same class"):
        SVC().fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.0))
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.9).fit(X[40:], y[40:])
    with pytest.raises(ValueError, match="greater than one"):
        SVC().fit(X, np.zeros(len(y)))


def test_nu_bounds_the_errors_from_above_and_the_support_vectors_from_below():
    points, side = make_blobs(300, centers=2, cluster_std=2.0, random_state=0)
    for nu in (0.3, 0.6):
        machine = NuSVC(nu=nu, tol=1e-6).fit(points, side)
        sign = np.where(side == 1, 1, -1)
        errors = (sign * machine.decision_function(points) < 1 - 1e-4).mean()
        assert errors <= nu + 1e-9
        assert len(machine.support_) / len(points) >= nu - 1e-9


@pytest.mark.parametrize("cls", [SVC, KernelLogistic])
@pytest.mark.parametrize("factor", [-1.0, np.nan])
def test_class_weights_that_are_not_at_least_zero_are_refused(cls, factor):
    with pytest.raises(ValueError, match=f"class_weight must be at least 0 for every class, not {factor} for 'b'"):
        cls(class_weight={"b": factor}).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])


@pytest.mark.parametrize("factor", [-1.0, 0.0, 5.0])
def test_class_weights_have_no_effect_on_nu(factor):
    machine = NuSVC(class_weight={0: factor}).fit(X, y)
    np.testing.assert_array_equal(machine.class_weight_, [factor, 1.0, 1.0])
    np.testing.assert_array_equal(machine.dual_coef_, NuSVC().fit(X, y).dual_coef_)


def test_a_class_that_counts_for_nothing_is_refused():
    with pytest.raises(ValueError, match="all samples with positive weights belong to the same class"):
        SVC(class_weight={0: 0.0}).fit(X, y > 0)
    with pytest.raises(ValueError, match="no sample of class 0 has a positive weight"):
        SVC(class_weight={0: 0.0}).fit(X, y)


def test_costs_beyond_float64_are_refused():
    with pytest.raises(ValueError, match=r"C=1e\+200 times a weight of 1e\+200 is beyond float64"):
        SVC(C=1e200).fit(X, y, sample_weight=np.full(len(y), 1e200))


def test_numbers_that_may_not_be_labels_are_warned_of():
    with pytest.warns(UserWarning, match="The number of unique classes is greater than 50%"):
        SVC().fit(X[:30], np.arange(30))


def test_no_rows_have_no_classes():
    machine = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    assert machine.predict(X[:0]).shape == (0,)


def test_a_hard_class_beside_a_soft_one_is_that_of_a_huge_cost():
    rows, target = [[-1.0], [0.0], [1.0]], [0, 1, 0]
    machine = SVC(kernel="linear", class_weight={0: np.inf}).fit(rows, target)
    assert machine.certificate_.primal == machine.certificate_.dual == 2
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 2))
    target = (rows[:, 0] + 0.3 * rng.standard_normal(400) > 0).astype(int)
    machine = SVC(kernel="linear", class_weight={0: np.inf}).fit(rows, target)
    huge = SVC(kernel="linear", class_weight={0: 1e6}).fit(rows, target)
    assert machine.certificate_.converged
    assert (machine.decision_function(rows[target == 0]) <= -1 + 2e-3).all()
    np.testing.assert_allclose(machine.decision_function(rows), huge.decision_function(rows), atol=2e-3)


def test_a_nu_too_small_for_the_classes_is_named():
    with pytest.warns(ConvergenceWarning, match="next to nothing"):
        NuSVC(nu=0.1, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]] * 5, [0, 1, 1, 0] * 5)


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning", "ignore:The margin is")
@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_reproducible_and_like_scikit_learns(cls, classes):
    rows, target = X[y < classes][:, :2], y[y < classes]
    machine = cls(probability=True, random_state=3).fit(rows, target)
    p = machine.predict_proba(rows)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(cls(probability=True, random_state=3).fit(rows, target).predict_proba(rows), p)
    peer = getattr(sklearn.svm, cls.__name__)(probability=True, random_state=3).fit(rows, target)
    assert np.abs(p - peer.predict_proba(rows)).mean() < 0.05
    with pytest.warns(FutureWarning, match="probA_"):
        assert machine.probA_.shape == peer._probA.shape
    assert (machine._fit.probA < 0).all()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    machine.fit(rows, target)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_the_sigmoid_has_the_largest_likelihood():
    rng = np.random.default_rng(0)
    f = rng.standard_normal(2000)
    positive = rng.random(2000) < 1 / (1 + np.exp(-3 * f + 1))
    A, B = sigmoid(f, positive)
    assert pytest.approx((-3, 1), abs=0.3) == (A, B)


def test_coupling_finds_the_probabilities_behind_consistent_pairs():
    p = np.array([0.5, 0.2, 0.2, 0.1])
    r = p[:, None] / (p[:, None] + p)
    np.fill_diagonal(r, 0)
    np.testing.assert_allclose(coupled(r[None]), [p], atol=1e-12)


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_nu_of_a_kernel_with_a_margin_below_zero_is_scikit_learns(nu):
    X, y = load_breast_cancer(return_X_y=True)  # the sigmoid of columns that were not scaled is far from a kernel
    ours, theirs = (module.NuSVC(kernel="sigmoid", nu=nu, tol=1e-6).fit(X, y) for module in (mercer, sklearn.svm))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3)
    again = clone(ours).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert again.score(X, y) == ours.score(X, y)


def test_a_warm_start_with_all_at_their_bounds_has_the_bias_of_a_cold_one():
    warm = SVC(warm_start=True).fit(X, y).set_params(C=0.01).fit(X, y)
    np.testing.assert_allclose(warm.intercept_, SVC(C=0.01).fit(X, y).intercept_, atol=1e-12)


def test_what_is_fitted_keeps_its_strategy():
    for first, second in (("ovr", "ovo"), ("ovo", "ovr")):
        machine = SVC(strategy=first).fit(X, y)
        labels, values = machine.predict(X), machine.decision_function(X)
        machine.set_params(strategy=second)
        np.testing.assert_array_equal(machine.predict(X), labels)
        np.testing.assert_array_equal(machine.decision_function(X), values)
        assert machine.expansion_(X).shape == (150, 3)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
def test_probabilities_take_any_truth_and_no_global_generator():
    before = np.random.get_state()[2]  # noqa: NPY002
    one, two = (SVC(probability=np.True_).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.random.get_state()[2] == before  # noqa: NPY002
    with pytest.raises(ValueError, match="trains one machine per class"):
        SVC(strategy="ovr", probability=np.True_).fit(X, y)


def test_no_weights_at_all_are_ones():
    np.testing.assert_array_equal(SVC().fit(X, y, []).dual_coef_, SVC().fit(X, y).dual_coef_)


@pytest.mark.parametrize("steps", [1, 5])
def test_nu_stopped_early_is_on_the_right_side(steps):
    X, y = load_breast_cancer(return_X_y=True)  # until the optimum, margins of some nu are below zero
    with pytest.warns(ConvergenceWarning):
        machine = NuSVC(nu=0.05, max_iter=steps).fit(scale(X), y)
    assert machine.score(scale(X), y) > 0.9


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("seed", [0, 3, 11])
def test_a_margin_that_is_not_larger_than_the_violation_is_warned_of(nu, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 6))
    y = X[:, 0] + X[:, 1] + 1.5 * rng.standard_normal(600) > 0
    with pytest.warns(ConvergenceWarning, match="next to nothing"):
        NuSVC(nu=nu, kernel="linear").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="terminated early") as said:
        NuSVC(nu=0.2, max_iter=40).fit(X, X[:, 0] > 0)  # of which the margin is large
    assert len(said) == 1
    assert NuSVC(nu=0.7, kernel="linear").fit(X, y).score(X, y) > 0.7  # without a word
