"""Perceptron and KernelPerceptron: Rosenblatt's rule, Novikoff's bound, the dual, averages, budgets and streams."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPerceptron, Perceptron, _native
from mercer.kernels import Categorical, Custom, Gaussian, Linear, Polynomial, Precomputed
from mercer.solvers.perceptron import DualLearner, PrimalLearner
from tests.interrupt import interrupted

WEIGHTS = "a weight is the size of a step: twice the step is not two visits of the example"


def expected_failures(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [
        Perceptron(),
        Perceptron(shuffle=True),
        KernelPerceptron(),
        KernelPerceptron("linear", averaged=True),
        KernelPerceptron("linear", budget=20),
        KernelPerceptron("precomputed"),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def separable(n=200, d=5, margin=0.1, seed=0):
    """Points at least ``margin`` away from a plane of unit normal w and offset b."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((4 * n, d))
    f = X @ w + 0.3
    kept = np.flatnonzero(np.abs(f) >= margin)[:n]
    return X[kept], (f[kept] > 0).astype(int), np.abs(f[kept]).min()


def naive(X, y, epochs):
    """Rosenblatt's rule in the words of the lecture."""
    w, b = np.zeros(X.shape[1]), 0.0
    R = np.linalg.norm(X, axis=1).max()
    mistakes = []
    for _ in range(epochs):
        mistakes.append(0)
        for x, sign in zip(X, np.where(y == 1, 1, -1), strict=True):
            if sign * (w @ x + b) <= 0:
                w, b = w + sign * x, b + sign * R**2
                mistakes[-1] += 1
        if not mistakes[-1]:
            break
    return w, b, mistakes


@pytest.mark.parametrize("seed", range(3))
def test_it_is_rosenblatts_rule(seed):
    X, y, _ = separable(seed=seed)
    machine = Perceptron().fit(X, y)
    w, b, mistakes = naive(X, y, 1000)
    assert machine.mistakes_.tolist() == mistakes
    np.testing.assert_allclose(machine.coef_[0], w, rtol=1e-9, atol=1e-9)
    assert machine.intercept_[0] == pytest.approx(b)


@pytest.mark.parametrize("seed", range(5))
def test_novikoffs_bound(seed):
    X, y, margin = separable(margin=0.2, seed=seed)
    machine = Perceptron().fit(X, y)
    assert machine.mistakes_[-1] == 0
    assert machine.score(X, y) == 1
    assert 0 < machine.mistakes_.sum() <= (2 * machine.radius_ / margin) ** 2
    assert machine.radius_ == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert machine.n_iter_ == len(machine.mistakes_)


def test_classes_that_overlap_are_named():
    X, y, _ = separable()
    y[:20] = 1 - y[:20]
    with pytest.warns(ConvergenceWarning, match=r"after 7 passes.*may not be separable"):
        machine = Perceptron(max_iter=7).fit(X, y)
    assert machine.n_iter_ == 7
    with pytest.warns(ConvergenceWarning, match="after 3 passes"):
        KernelPerceptron("linear", max_iter=3).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_learn_as_dense_ones(dtype):
    X, y = load_digits(return_X_y=True)
    X = X[:400].astype(dtype)
    dense, sparse = (Perceptron().fit(x, y[:400]) for x in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.mistakes_, sparse.mistakes_)
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X)), rtol=1e-6)
    assert dense.coef_.shape == (10, 64)
    assert dense.score(X, y[:400]) == 1


@pytest.mark.alone("measures memory")
def test_sparse_rows_are_not_densified():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(2000), 10), rng.integers(0, 100_000, 20_000)
    X = sp.csr_array((rng.random(20_000), place), shape=(2000, 100_000))
    y = np.arange(2000) % 2
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Perceptron(max_iter=2).fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * 2000 * 100_000 * 8


@pytest.mark.parametrize("machine", [Perceptron(), KernelPerceptron("linear"), KernelPerceptron(Gaussian(2.0))])
def test_results_do_not_depend_on_threads(machine, set_threads):
    X, y = load_digits(return_X_y=True)
    fits = []
    for threads in (1, 3):
        set_threads(threads)
        fits.append(clone(machine).fit(X[:300], y[:300]))
    np.testing.assert_array_equal(*(m.mistakes_ for m in fits))
    np.testing.assert_array_equal(*(m.expansion_.coefficients for m in fits))


# -- the dual -------------------------------------------------------------------------------------------------------


def stream(machine, X, y, rows=1):
    for i in range(0, len(y), rows):
        machine.partial_fit(X[i : i + rows], y[i : i + rows], classes=np.unique(y))
    return machine


@pytest.mark.parametrize("classes", [2, 3])
def test_the_dual_makes_the_same_mistakes_example_by_example(classes):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(np.flatnonzero(y < classes))
    X, y = X[order], y[order]
    primal, dual = stream(Perceptron(), X, y), stream(KernelPerceptron("linear"), X, y)
    np.testing.assert_array_equal(primal.mistakes_, dual.mistakes_)
    assert len(dual.mistakes_) == len(X)
    np.testing.assert_allclose(primal.decision_function(X), dual.decision_function(X), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_dual_makes_the_same_mistakes_epoch_by_epoch(shuffle):
    X, y, _ = separable(n=600, seed=3)
    primal = Perceptron(shuffle=shuffle).fit(X, y)
    dual = KernelPerceptron(Linear(), shuffle=shuffle, max_iter=1000).fit(X, y)
    np.testing.assert_array_equal(primal.mistakes_, dual.mistakes_)
    w = dual.expansion_.coefficients @ dual.expansion_.samples.dense()
    np.testing.assert_allclose(w, primal.coef_[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(primal.expansion_(X), dual.expansion_(X), rtol=1e-9, atol=1e-9)


def test_parts_of_a_stream_may_have_any_size():
    X, y = make_moons(500, noise=0.2, random_state=0)
    machines = [stream(KernelPerceptron(Gaussian(0.5)), X, y, rows) for rows in (1, 7, 500)]
    assert len({m.mistakes_.sum() for m in machines}) == 1
    for machine in machines[1:]:
        np.testing.assert_allclose(machine.decision_function(X), machines[0].decision_function(X), atol=1e-12)


def naive_kernel(K, y, budget=None):
    """One pass of the dual on a matrix: coefficients in order, and the average over all times."""
    a, b, R2 = np.zeros(len(y)), 0.0, K.diagonal().max()
    total, total_b, age = np.zeros(len(y)), 0.0, []
    for i, sign in enumerate(np.where(y == 1, 1, -1)):
        if sign * (K[i] @ a + b) <= 0:
            a[i] += sign
            b += sign * R2
            age.append(i)
            if budget is not None and len(age) > budget:
                weakest = min(age[:-1], key=lambda j: a[j] ** 2 * K[j, j])
                age.remove(weakest)
                b -= a[weakest] * R2
                a[weakest] = 0
        total, total_b = total + a, total_b + b
    return a, b, total / len(y), total_b / len(y)


def test_averaged():
    X, y = make_moons(300, noise=0.3, random_state=1)
    kernel = Polynomial(2)
    _, _, a, b = naive_kernel(kernel(X), y)
    machine = KernelPerceptron(kernel, averaged=True).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(machine.decision_function(X), kernel(X) @ a + b, atol=1e-9)


def test_averages_are_better_than_the_last_function():
    X, y = make_moons(2000, noise=0.3, random_state=1)
    last, mean = (
        KernelPerceptron(Gaussian(0.3), averaged=averaged).partial_fit(X[:1000], y[:1000], classes=[0, 1])
        for averaged in (False, True)
    )
    assert mean.score(X[1000:], y[1000:]) > last.score(X[1000:], y[1000:])
    assert mean.score(X[1000:], y[1000:]) > 0.87


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(3)])
def test_budget(kernel):
    X, y = make_moons(400, noise=0.3, random_state=2)
    X = np.abs(X)
    a, b, _, _ = naive_kernel(kernel(X), y, budget=15)
    machine = KernelPerceptron(kernel, budget=15)
    for part in np.array_split(np.arange(400), 9):
        machine.partial_fit(X[part], y[part], classes=[0, 1])
        assert len(machine.expansion_) <= 15
    if isinstance(kernel, Gaussian):  # R^2 of the whole is that of every part
        np.testing.assert_allclose(machine.decision_function(X), kernel(X) @ a + b, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert len(KernelPerceptron(kernel, budget=15, max_iter=5).fit(X, y).expansion_) <= 15


def test_averages_have_no_budget():
    with pytest.raises(ValueError, match="averaged=True needs the support vectors of all times, but budget=5"):
        KernelPerceptron(averaged=True, budget=5).fit([[0.0], [1.0]], [0, 1])


def test_a_budget_costs_little():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole, part = (
            KernelPerceptron(Gaussian(20.0), budget=n, max_iter=3).fit(X[:1200], y[:1200]) for n in (None, 300)
        )
    assert len(part.expansion_) == 300 < len(whole.expansion_)
    assert part.score(X[1200:], y[1200:]) > whole.score(X[1200:], y[1200:]) - 0.1


@pytest.mark.alone("measures memory")
def test_a_long_stream_in_bounded_memory():
    rng = np.random.default_rng(0)
    machine = KernelPerceptron(Gaussian(1.0), budget=100)
    right = []

    def part():
        X = rng.standard_normal((5000, 4))
        return X, ((X**2).sum(axis=1) > 3.5).astype(int)

    machine.partial_fit(*part(), classes=[0, 1])
    tracemalloc.start()
    for _ in range(19):
        X, y = part()
        right.append(machine.score(X, y))
        machine.partial_fit(X, y)
        assert len(machine.expansion_) <= 100
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6
    assert np.mean(right) > 0.8
    assert len(pickle.dumps(machine)) < 30_000


def test_without_a_budget_only_the_support_is_kept():
    X, y = make_moons(3000, noise=0.1, random_state=0)
    machine = stream(KernelPerceptron(Gaussian(0.3)), X, y, rows=500)
    assert len(machine.expansion_) == machine.mistakes_.sum()
    assert len(machine.expansion_) < 400
    assert len(pickle.dumps(machine)) < 10_000 + 100 * len(machine.expansion_)


def test_several_classes_share_rows():
    X, y = load_digits(return_X_y=True)
    machine = KernelPerceptron(Gaussian(30.0)).fit(X[:1000], y[:1000])
    assert machine.mistakes_[-1] == 0
    assert machine.decision_function(X[:5]).shape == (5, 10)
    assert machine.expansion_.coefficients.shape == (len(machine.expansion_), 10)
    assert machine.score(X[1000:], y[1000:]) > 0.93
    for c in (0, 7):  # each output is the machine that tells its class from the rest
        alone = KernelPerceptron(Gaussian(30.0)).fit(X[:1000], y[:1000] == c)
        np.testing.assert_allclose(
            alone.decision_function(X[1000:]), machine.decision_function(X[1000:])[:, c], atol=1e-9
        )


def test_weights_multiply_steps_and_none_leaves_out():
    X, y, _ = separable()
    weight = np.arange(len(y)) % 3 + 0.0
    kept = weight > 0
    for machine in (Perceptron(), KernelPerceptron("linear", max_iter=1000)):
        some = clone(machine).fit(X[kept], y[kept], sample_weight=weight[kept])
        with_zeros = clone(machine).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(some.mistakes_, with_zeros.mistakes_)
        plain = clone(machine).fit(X, y).decision_function(X)
        np.testing.assert_allclose(clone(machine).fit(X, y, np.full(len(y), 3.0)).decision_function(X), 3 * plain)


def test_any_kernel_and_any_data():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame({"x": scale(X[:, 2]), "half": np.where(np.arange(150) % 2, "a", "b")})
    kernel = Gaussian(1.0).on("x") * Categorical().on("half")
    machine = KernelPerceptron(kernel, max_iter=20, averaged=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert machine.fit(frame, y).score(frame, y) > 0.8
    parts, whole = (stream(clone(machine), frame, y, rows).decision_function(frame) for rows in (40, 150))
    np.testing.assert_allclose(parts, whole, atol=1e-12)
    words, labels = ["spam", "spa", "ham", "hamlet"], [1, 1, 0, 0]
    common = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True).normalized()
    assert KernelPerceptron(common).fit(words, labels).score(words, labels) == 1
    assert stream(KernelPerceptron(common), words, labels).mistakes_.sum() <= 4
    rows = sp.csr_array(X)
    np.testing.assert_allclose(
        stream(KernelPerceptron(), rows, y, 50).decision_function(rows),
        stream(KernelPerceptron(), X, y, 50).decision_function(X),
        atol=1e-9,
    )
    K = Gaussian(1.0)(X)
    given, direct = KernelPerceptron(Precomputed()).fit(K, y > 0), KernelPerceptron(Gaussian(1.0)).fit(X, y > 0)
    np.testing.assert_array_equal(given.mistakes_, direct.mistakes_)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        KernelPerceptron(Precomputed()).partial_fit(K, y, classes=[0, 1, 2])


def test_streams_must_stay_of_one_kind():
    machine = KernelPerceptron(Gaussian(1.0)).partial_fit(np.eye(3), [0, 1, 1], classes=[0, 1])
    with pytest.raises(TypeError, match="cannot be joined"):
        machine.partial_fit(sp.eye_array(3, format="csr"), [0, 1, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        machine.partial_fit(np.eye(3), [0, 1, 2])


def test_fit_then_partial_fit_goes_on():
    X, y, _ = separable()
    for machine in (Perceptron(), KernelPerceptron("linear", max_iter=1000)):
        machine.fit(X, y)
        before = machine.decision_function(X)
        machine.partial_fit(X, y)
        assert machine.mistakes_[-1] == 0
        np.testing.assert_array_equal(machine.decision_function(X), before)


def test_progress(capsys):
    X, y, _ = separable()
    machine = Perceptron(verbose=True).fit(X, y)
    assert capsys.readouterr().out.splitlines()[-1] == f"Perceptron pass {machine.n_iter_}: 0 mistakes"


@pytest.mark.parametrize("machine", [Perceptron(max_iter=10**9), KernelPerceptron(Gaussian(2.0), max_iter=10**9)])
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c_leaves_what_was_learned(machine):
    X, y, _ = separable(n=500)
    y[:50] = 1 - y[:50]
    # One point of both classes: never separable.
    assert interrupted(lambda: machine.fit(np.vstack([X, X[:1]]), np.append(y, 1 - y[0])), after=1.0) < 2
    assert machine.score(X, y) > 0.5
    assert machine.n_iter_ == len(machine.mistakes_)


@pytest.mark.parametrize("machine", [Perceptron(), KernelPerceptron(Gaussian(2.0))])
def test_ctrl_c_in_the_first_pass_forgets_the_passes_of_the_fit_before(machine, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    X, y, _ = separable()
    machine = clone(machine).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(PrimalLearner, "learn", interrupted)
        patch.setattr(DualLearner, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
    assert machine.n_iter_ == len(machine.mistakes_) == 0
    assert machine.partial_fit(X, y).n_iter_ == len(machine.mistakes_) == 1


def test_the_core_refuses_arrays_that_do_not_fit():
    rows = _native.dense_rows(np.eye(3))
    one, three = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    with pytest.raises(ValueError, match="fit together"):
        _native.perceptron_pass(rows, one + 3, three, np.ones(3), 1.0, np.zeros((1, 4)), one)
    with pytest.raises(ValueError, match="fit together"):
        _native.perceptron_pass(rows, one, three, np.ones(3), 1.0, np.zeros((1, 3)), one)
