"""KernelLogistic: scikit-learn's checks, its logistic regression, the proof of the optimum, and few samples."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelLogistic
from mercer.kernels import Categorical, Custom, Gaussian, Linear, Precomputed
from mercer.solvers import SolverInterrupted
from mercer.solvers.newton import Iterate
from tests.machines.watcher import Watcher

pytestmark = pytest.mark.slow("Newton steps to a fine gap, beside those of peers")

WEIGHTS = "weights change gamma='scale', as in scikit-learn's SVC"


def data(loader):
    X, y = loader(return_X_y=True)
    return scale(X), y


cancer, iris, wine = data(load_breast_cancer), data(load_iris), data(load_wine)
cancer = tuple(part[::2] for part in cancer)  # enough of it
weights = np.random.default_rng(0).uniform(0.2, 2.0, 600)


def expected_failures(estimator):
    if estimator.kernel != "rbf":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [KernelLogistic(), KernelLogistic(kernel="linear")],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the same problem, the same optimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [cancer, iris], ids=["two classes", "three classes"])
def test_linear_is_scikit_learns_logistic_regression(data, weighted, C):
    X, y = data
    weight = weights[: len(y)] if weighted else None
    class_weight = {0: 2.0, 1: 0.5} if weighted else None
    ours = KernelLogistic(C=C, kernel="linear", tol=1e-7, class_weight=class_weight).fit(X, y, sample_weight=weight)
    peer = LogisticRegression(C=C, tol=1e-10, max_iter=1000, solver="newton-cholesky", class_weight=class_weight)
    peer.fit(X, y, sample_weight=weight)
    assert ours.certificate_.converged
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(
        ours.intercept_, peer.intercept_ - peer.intercept_.mean() * (len(ours.intercept_) > 1), atol=1e-6
    )
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def objectives(machine, X, y, C):
    """Primal and dual, written down naively: the dual at the coefficients that the probabilities induce."""
    K = machine.kernel_(X)
    A, P = np.zeros((len(X), len(machine.intercept_))), machine.predict_proba(X)
    A[machine.support_] = machine.dual_coef_.T
    T = (y[:, None] == machine.classes_).astype(float)
    loss = -C * np.log(P[T == 1]).sum()
    induced = C * (T - P)
    if A.shape[1] == 1:
        induced = induced[:, 1:]
    entropy = -C * np.sum(P * np.log(np.maximum(P, 1e-300)))
    assert abs(induced.sum(axis=0)).max() < 1e-8 * C * len(X)  # the constraint that the bias makes
    return 0.5 * np.sum(A * (K @ A)) + loss, entropy - 0.5 * np.sum(induced * (K @ induced))


@pytest.mark.parametrize("data", [cancer, wine], ids=["two classes", "three classes"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_certificate_is_true_and_the_gap_closes(data, C):
    X, y = data
    gaps = []
    for steps in (1, 2, 3, 100):
        machine = KernelLogistic(C=C, kernel=Gaussian(5.0), max_iter=steps, tol=1e-10)
        if steps < 100:
            with pytest.warns(ConvergenceWarning, match="max_iter"):
                machine.fit(X, y)
        else:
            machine.fit(X, y)
        certificate = machine.certificate_
        primal, dual = objectives(machine, X, y, C)
        assert certificate.primal == pytest.approx(primal, rel=1e-9)
        assert certificate.dual == pytest.approx(dual, rel=1e-9, abs=1e-8)
        assert primal - dual > -1e-9 * primal
        assert certificate.gap == pytest.approx(max(primal - dual, 0), abs=1e-8 * primal)
        assert certificate.converged == (certificate.violation <= 1e-10)
        gaps.append(certificate.gap)
    assert gaps[0] > gaps[1] >= gaps[2] >= gaps[3] - 1e-13 * abs(machine.certificate_.primal)
    assert gaps[3] <= 1e-10 * primal


def test_hard_problems_converge():
    """Wide Gaussians and a large C: a matrix that is singular to working precision, and values far apart."""
    X, y = wine
    for C, sigma in ((1e4, 1.0), (1e4, 30.0), (1e6, 10.0)):
        certificate = KernelLogistic(C=C, kernel=Gaussian(sigma)).fit(X, y).certificate_
        assert certificate.converged
        assert certificate.gap <= 1e-4 * certificate.primal + 1e-4


@pytest.mark.parametrize("kernel", [Gaussian(4.0), "linear"])
def test_streamed_products_and_a_rough_preconditioner_change_nothing(kernel, monkeypatch):
    X, y = wine
    parameters = dict(C=10.0, kernel=kernel, tol=1e-7)
    expected = KernelLogistic(**parameters).fit(X, y)
    for name, value in dict(NEWTON_ALL=0, NEWTON_LANDMARKS=0, NEWTON_FEWEST=10).items():
        monkeypatch.setattr(f"mercer.costs.{name}", value)
    streamed = KernelLogistic(**parameters, cache_size=1e-6).fit(X, y)
    assert streamed.certificate_.converged
    np.testing.assert_allclose(streamed.decision_function(X), expected.decision_function(X), atol=1e-5)


def test_float32_is_certified_in_float64():
    X, y = cancer
    single = KernelLogistic(C=100.0).fit(X.astype(np.float32), y)
    double = KernelLogistic(C=100.0).fit(X.astype(np.float32).astype(np.float64), y)
    assert single.certificate_.converged
    assert single.certificate_.primal == pytest.approx(double.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-4)


def test_weight_two_is_a_sample_twice_and_weight_zero_none():
    X, y = iris
    times = np.random.default_rng(2).integers(0, 3, len(y))
    machine = KernelLogistic(kernel=Gaussian(1.0), tol=1e-9)
    weighted = machine.fit(X, y, sample_weight=times).decision_function(X)
    repeated = machine.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


def test_class_weight_is_a_factor_of_c():
    X, y = iris
    by_class = KernelLogistic(kernel=Gaussian(1.0), class_weight={0: 3.0, 2: 0.5}, tol=1e-9).fit(X, y)
    by_sample = KernelLogistic(kernel=Gaussian(1.0), tol=1e-9).fit(X, y, np.array([3.0, 1.0, 0.5])[y])
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=1e-8)


# -- probabilities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [cancer, iris], ids=["two classes", "three classes"])
def test_probabilities(data):
    X, y = data
    machine = KernelLogistic().fit(X, y)
    P = machine.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(P), machine.predict_log_proba(X), atol=1e-9)
    np.testing.assert_array_equal(machine.classes_[P.argmax(axis=1)], machine.predict(X))
    # The unpenalised bias makes the mean probability of a class its share.
    np.testing.assert_allclose(P.mean(axis=0), np.bincount(y) / len(y), atol=1e-9)


def test_log_probabilities_do_not_underflow():
    machine = KernelLogistic(C=1e3, kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    log = machine.predict_log_proba([[-1e4], [1e4]])
    assert np.isfinite(log).all()
    assert log.min() < -800


def test_labels_of_any_kind():
    X, y = iris
    for labels in (np.array(["a", "b", "c"]), np.array([2.0, 5.0, 7.0])):
        machine = KernelLogistic().fit(X, labels[y])
        np.testing.assert_array_equal(machine.classes_, labels)
        assert machine.score(X, labels[y]) > 0.95


# -- any kernel, any data -----------------------------------------------------------------------------------------


def test_every_kind_of_data():
    X, y = iris
    kernel = Gaussian(2.0)
    expected = KernelLogistic(kernel=kernel).fit(X, y).predict_proba(X)
    for machine, given in (
        (KernelLogistic(kernel=kernel), sp.csr_array(X)),
        (KernelLogistic(kernel=kernel), pd.DataFrame(X)),
        (KernelLogistic(kernel="precomputed"), kernel(X)),
        (KernelLogistic(kernel=Precomputed()), kernel(X)),
        (KernelLogistic(kernel=lambda a, b: kernel(a, b)), X),
        (KernelLogistic(kernel=Custom(lambda a, b: kernel(a, b))), X),
    ):
        np.testing.assert_allclose(machine.fit(given, y).predict_proba(given), expected, atol=1e-5)
    words = np.array(["red", "green", "blue"])[y]
    table = pd.DataFrame({"word": words, "number": X[:, 0]})
    mixed = KernelLogistic(kernel=Categorical().on("word") + Gaussian(1.0).on("number")).fit(table, y)
    assert mixed.score(table, y) == 1


def test_expansion_is_the_machine():
    X, y = iris
    machine = KernelLogistic(kernel=Gaussian("median")).fit(X, y)
    np.testing.assert_allclose(machine.expansion_(X), machine.decision_function(X))
    assert machine.expansion_.coefficients.shape == (150, 3)
    np.testing.assert_allclose(machine.expansion_.coefficients.sum(axis=0), 0, atol=1e-8)
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(copy.predict_proba(X), machine.predict_proba(X))
    assert clone(machine).get_params() == machine.get_params()


def test_in_a_grid_search():
    X, y = iris
    search = GridSearchCV(
        KernelLogistic(C=100.0, kernel=Gaussian(1.0)), {"kernel__sigma": [1.0, 3.0]}, cv=3, scoring="neg_log_loss"
    )
    assert search.fit(X, y).best_score_ > -0.2


# -- few samples --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [cancer, wine], ids=["two classes", "three classes"])
def test_few_samples_come_close_to_all(data):
    X, y = data
    whole = KernelLogistic(C=10.0, kernel=Gaussian(6.0), tol=1e-6).fit(X, y)
    excess = []
    for size in (4, 16, 64):
        few = KernelLogistic(C=10.0, kernel=Gaussian(6.0), tol=1e-6, max_basis=size).fit(X, y)
        assert len(few.expansion_) == len(few.support_) == size
        assert few.certificate_.converged
        excess.append(few.certificate_.primal - whole.certificate_.primal)
        assert -1e-6 < excess[-1] <= few.basis_gap_ + 1e-6
    assert excess[0] > excess[1] > excess[2]
    assert excess[2] < 0.01 * whole.certificate_.primal
    assert log_loss(y, few.predict_proba(X)) < 1.05 * log_loss(y, whole.predict_proba(X)) + 0.005


def test_greedy_choice_beats_a_random_one():
    X, y = cancer
    chosen = KernelLogistic(C=10.0, kernel=Gaussian(6.0), max_basis=20).fit(X, y).certificate_.primal
    rng = np.random.default_rng(0)
    for _ in range(3):
        some = rng.choice(len(y), 20, replace=False)
        features = Gaussian(6.0)(X, X[some]) @ np.linalg.cholesky(np.linalg.inv(Gaussian(6.0)(X[some])))
        peer = LogisticRegression(C=10.0, tol=1e-8, max_iter=1000, solver="newton-cholesky").fit(features, y)
        loss = 10 * len(y) * log_loss(y, peer.predict_proba(features)) + 0.5 * np.sum(peer.coef_**2)
        assert chosen < loss


def test_the_optimum_of_all_ends_the_choice():
    X, y = iris
    machine = KernelLogistic(kernel=Linear(), max_basis=100).fit(X, y)
    assert len(machine.expansion_) <= 16  # four columns span everything
    assert machine.basis_gap_ < 1e-6


# -- progress, stopping, starting again ---------------------------------------------------------------------------


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = cancer
    machine = KernelLogistic(C=10.0, warm_start=True, tol=1e-6).fit(X, y)
    steps = machine.n_iter_
    again = machine.fit(X, y)
    assert steps > 2
    assert again.n_iter_ <= 1
    machine.set_params(C=11.0).fit(X, y)
    np.testing.assert_allclose(
        machine.predict_proba(X), KernelLogistic(C=11.0, tol=1e-6).fit(X, y).predict_proba(X), atol=1e-6
    )


def test_verbose_writes_what_happens(capsys):
    KernelLogistic(verbose=True).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"KernelLogistic problem 0: violation \S+, gap \S+, 1 steps, .* all 150 coefficients", lines[0])
    assert len(lines) > 2


def test_callbacks_are_told_and_may_stop():
    watcher = Watcher()
    machine = KernelLogistic().set_callbacks(watcher).fit(*iris)
    assert len(watcher.seen) == machine.n_iter_
    assert watcher.seen[-1]["violation"] == machine.certificate_.violation
    with pytest.warns(ConvergenceWarning, match="stopped before"):
        stopped = KernelLogistic(tol=1e-8).set_callbacks(Watcher(stop=True)).fit(*iris)
    assert stopped.n_iter_ == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_interrupt_leaves_what_there_is(dtype, monkeypatch):
    X, y = cancer[0].astype(dtype), cancer[1]
    step, count = Iterate.step, []

    def interrupted(path):
        if len(count) == 2:
            raise KeyboardInterrupt
        count.append(1)
        step(path)

    monkeypatch.setattr(Iterate, "step", interrupted)
    machine = KernelLogistic(tol=1e-8)
    with pytest.raises(SolverInterrupted):
        machine.fit(X, y)
    assert machine.certificate_.iterations == 2
    assert not machine.certificate_.converged
    assert np.isfinite(machine.certificate_.gap) == (dtype == "float64")  # in float32 nothing is certified
    assert machine.score(X, y) > 0.9


def test_the_number_of_threads_changes_nothing_that_matters(set_threads):
    X, y = wine
    values = []
    for threads in (1, 2, 5):
        set_threads(threads)
        values.append(KernelLogistic(tol=1e-6, cache_size=1e-6).fit(X, y).decision_function(X))
    np.testing.assert_allclose(values[1], values[0], atol=1e-9)
    np.testing.assert_allclose(values[2], values[0], atol=1e-9)


@pytest.mark.parametrize(("parameters", "match"), [(dict(C=np.inf), "C"), (dict(max_basis=0), "max_basis")])
def test_parameters_that_make_no_sense_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        KernelLogistic(**parameters).fit(*iris)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="greater than one"):
        KernelLogistic().fit(iris[0], np.zeros(150))
