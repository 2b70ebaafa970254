"""LMS and KernelLMS: one rule in two spaces, its step and the spectrum, its limit, early stopping, and its pace."""

import pickle
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LMS, KernelLMS, KernelRidge
from mercer.gram import Gram
from mercer.kernels import (
    Categorical,
    Custom,
    FeatureMap,
    FeaturesError,
    Gaussian,
    Graphlet,
    Linear,
    Polynomial,
    Precomputed,
    Quadratic,
    SetKernel,
    ShortestPath,
    Spectrum,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
    ZeroKernelWarning,
)
from mercer.machines.lms import LeastMeanSquares
from mercer.solvers import SolverInterrupted, stage
from mercer.solvers.lms import StepError
from tests.interrupt import interrupted

pytestmark = pytest.mark.slow("descents of hundreds of passes")

X, y = load_diabetes(return_X_y=True)
X, y = scale(X[:200]), scale(y[:200])
Y = np.stack([y, np.sin(3 * y)], axis=1)
WEIGHTS = "an iteration that stops within tol comes close to the same optimum, not to the same digits"


def quiet(machine, *data):
    """A fit that is meant to end early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(*data)


def expected_failures(estimator):
    if estimator.tol < 1e-6:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@parametrize_with_checks(
    [
        LMS(alpha=0.1, tol=1e-11),
        LMS(early_stopping=True, validation_fraction=0.3, batch_size=10, max_iter=30),
        KernelLMS(alpha=0.1, tol=1e-11),
        KernelLMS(alpha=0.1, precondition=20, batch_size=16, max_iter=50),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# -- one rule -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [y, Y], ids=["one", "two"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_it_is_the_lectures_rule(alpha, weighted, targets):
    kernel, step = Gaussian(3.0), 0.01
    weight = np.linspace(0.5, 1.5, len(y)) if weighted else np.ones(len(y))
    K = kernel(X)
    w = weight if targets.ndim == 1 else weight[:, None]
    beta = np.zeros(targets.shape)
    for _ in range(7):
        beta = beta + step * (w * (targets - K @ beta) - alpha * beta)
    machine = quiet(KernelLMS(kernel, alpha=alpha, step=step, max_iter=7), X, targets, weight if weighted else None)
    np.testing.assert_allclose(machine.dual_coef_, beta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(machine.predict(X), K @ beta, rtol=1e-9, atol=1e-12)
    assert machine.n_iter_ == 7


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("parameters", [dict(step=1e-5), dict(), dict(batch_size=32), dict(batch_size=1, step=1e-4)])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), FeatureMap(Quadratic())])
@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_primal_and_dual_make_the_same_functions(kernel, parameters, passes, alpha):
    parameters = dict(parameters, alpha=alpha, max_iter=passes, tol=0.0)
    primal, dual = (quiet(machine(kernel, **parameters), X, Y) for machine in (LMS, KernelLMS))
    np.testing.assert_allclose(primal.predict(X), dual.predict(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(primal.errors_, dual.errors_, rtol=1e-6)
    np.testing.assert_allclose(kernel.features(X) @ primal.coef_.T, primal.predict(X), rtol=1e-6, atol=1e-7)
    assert primal.coef_.shape == (2, kernel.features(X).shape[1])


def test_a_map_is_given_as_its_kernel():
    with pytest.raises(TypeError, match=r"is a feature map, not a kernel; its kernel is FeatureMap\(Quadratic"):
        LMS(Quadratic()).fit(X, y)
    assert LMS(FeatureMap(Quadratic()), alpha=0.1).fit(X, y).coef_.shape == (21,)


def test_a_batch_of_all_rows_is_no_batch():
    whole, batch = (quiet(KernelLMS(step=0.01, batch_size=b, max_iter=5), X, y) for b in (None, len(y)))
    np.testing.assert_array_equal(whole.dual_coef_, batch.dual_coef_)


# -- the step and the spectrum --------------------------------------------------------------------------------------


@pytest.mark.parametrize("precondition", [0, 30])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_the_limit_of_the_step_is_where_it_diverges(alpha, precondition):
    kernel = Gaussian(3.0)
    given = dict(alpha=alpha, precondition=precondition, tol=0.0)
    limit = quiet(KernelLMS(kernel, step=1e-3, max_iter=1, **given), X, y).largest_step_
    if not precondition:
        assert limit == pytest.approx(2 / (np.linalg.eigvalsh(kernel(X))[-1] + alpha), rel=1e-6)
    below = quiet(KernelLMS(kernel, step=0.98 * limit, max_iter=400, **given), X, y)
    assert below.errors_[-1] < below.errors_[0]
    with pytest.raises(StepError, match=f"unless it is below {limit:.4g}"[:-1]):
        KernelLMS(kernel, step=limit * 1.001, **given).fit(X, y)
    if not precondition:  # the check is no caution: beyond the limit the rule does diverge
        K, beta = kernel(X), np.zeros(len(y))
        for _ in range(400):
            beta += 1.05 * limit * (y - K @ beta - alpha * beta)
        assert np.abs(K @ beta - y).max() > 1e3


def test_the_step_is_checked_in_the_primal_and_for_batches():
    with pytest.raises(StepError, match="too large"):
        LMS(step=0.1).fit(X, y)
    one = quiet(KernelLMS(Gaussian(3.0), step=1.9, batch_size=1, max_iter=3), X, y)
    assert one.largest_step_ == pytest.approx(2.0)  # of single samples with k(x, x) = 1
    with pytest.raises(StepError, match="below 2 "):
        KernelLMS(Gaussian(3.0), step=2.0, batch_size=1).fit(X, y)
    batches = quiet(KernelLMS(Gaussian(3.0), batch_size=20, max_iter=50), X, y)
    assert one.largest_step_ > batches.largest_step_ == 2 * batches.step_
    assert batches.errors_[-1] < batches.errors_[0]


# -- where it leads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        dict(step=0.01, max_iter=10_000),
        dict(),
        dict(precondition=50),
        dict(batch_size=20, max_iter=1000),
        dict(batch_size=20, precondition=50, max_iter=1000),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_converges_to_ridge(parameters, weighted):
    x, targets, kernel = X[:60], Y[:60], Gaussian(3.0)
    weight = np.linspace(0.2, 1.0, len(x)) if weighted else None
    ridge = KernelRidge(alpha=0.5, kernel=kernel).fit(x, targets, weight)
    machine = KernelLMS(kernel, alpha=0.5, tol=1e-9, **parameters).fit(x, targets, weight)
    np.testing.assert_allclose(machine.predict(X), ridge.predict(X), atol=1e-6)
    assert [c.primal for c in machine.certificate_] == pytest.approx([c.primal for c in ridge.certificate_], rel=1e-6)
    if "max_iter" in parameters:  # conjugate gradients find f, in which some coefficients hardly matter
        np.testing.assert_allclose(machine.dual_coef_, ridge.dual_coef_, atol=1e-5)


CLOSE = [dict(), dict(precondition=30), dict(step=0.01), dict(batch_size=30, max_iter=300), dict(tol=1e-6)]


@pytest.mark.parametrize("parameters", CLOSE)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("sigma", [2.0, 10.0])
def test_a_certificate_is_true_and_the_stop_agrees_with_it(parameters, alpha, sigma):
    kernel = Gaussian(sigma)
    ridge = KernelRidge(kernel=kernel, alpha=alpha).fit(X, Y)
    machine = quiet(KernelLMS(kernel, alpha=alpha, **parameters), X, Y)
    K, f = kernel(X), machine.predict(X)
    for j, (ours, best) in enumerate(zip(machine.certificate_, ridge.certificate_, strict=True)):
        a = machine.dual_coef_[:, j]
        primal = np.sum((Y[:, j] - f[:, j]) ** 2) / (2 * alpha) + a @ K @ a / 2
        assert ours.primal == pytest.approx(primal, rel=1e-9)
        assert ours.dual <= best.primal * (1 + 1e-9) <= ours.primal * (1 + 2e-9)
        assert ours.gap == pytest.approx(ours.primal - ours.dual, abs=1e-9 * primal)
        slopes = K @ (Y[:, j] - f[:, j] - alpha * a) / alpha
        assert ours.violation == pytest.approx(max(slopes.max(), 0) - min(slopes.min(), 0), rel=1e-6, abs=1e-9)
        assert ours.converged == (ours.gap * alpha <= machine.tol**2 * np.sum(Y[:, j] ** 2) / 2)
        assert ours.converged or machine.n_iter_ == machine.max_iter
        away = np.sqrt(np.mean((f[:, j] - ridge.predict(X)[:, j]) ** 2))
        assert away <= max(machine.tol, np.sqrt(2 * alpha * ours.gap / len(y))) * 1.001  # what tol promises


@pytest.mark.parametrize("parameters", [dict(), dict(precondition=30)])
def test_defaults_converge_and_say_so(parameters):
    for alpha in (1e-3, 0.1, 10.0):
        assert KernelLMS(Gaussian(3.0), alpha=alpha, **parameters).fit(X, y).certificate_.converged
    certificate = KernelLMS("linear").fit(X, y).certificate_  # least squares: 0 is all that is known below it
    residual = y - X @ np.linalg.lstsq(X, y)[0]
    assert certificate.converged
    assert certificate.primal == certificate.gap == pytest.approx(np.sum(residual**2) / 2, rel=1e-4)


def test_without_a_penalty_it_interpolates_or_fits_least_squares():
    kernel = Gaussian(1.0)
    machine = KernelLMS(kernel, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), y, atol=1e-6)
    np.testing.assert_allclose(machine.dual_coef_, np.linalg.solve(kernel(X), y), atol=1e-5)
    theta = LMS(tol=1e-10).fit(X, y).coef_
    np.testing.assert_allclose(theta, np.linalg.lstsq(X, y)[0], atol=1e-7)
    singular = KernelLMS("linear", tol=1e-10).fit(X, y)  # of rank 10: f converges
    np.testing.assert_allclose(singular.predict(X), X @ theta, atol=1e-7)


def test_early_stopping():
    rng = np.random.default_rng(0)
    noisy = y + rng.standard_normal(len(y))
    machine = KernelLMS(Gaussian(1.5), tol=0.0, early_stopping=True, validation_fraction=0.2).fit(X, noisy)
    best = np.argmin(machine.validation_errors_)
    assert machine.n_iter_ == best + 6
    assert len(machine.expansion_) <= 160  # held-out samples have no coefficients
    again = quiet(clone(machine).set_params(max_iter=int(best) + 1, n_iter_no_change=100), X, noisy)
    np.testing.assert_allclose(again.dual_coef_, machine.dual_coef_)
    held = np.flatnonzero(machine.dual_coef_ == 0)
    assert len(held) == 40
    error = np.mean((machine.predict(X[held]) - noisy[held]) ** 2)
    assert error == pytest.approx(machine.validation_errors_.min())
    with pytest.raises(ValueError, match="leaves none"):
        KernelLMS(early_stopping=True).fit(X[:1], y[:1])


@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_many_samples_are_learned_in_float32_as_far_as_that_goes(tol, monkeypatch):
    rng = np.random.default_rng(0)
    many = rng.standard_normal((2100, 3))
    targets = np.sin(2 * many).sum(axis=1) + 0.1 * rng.standard_normal(len(many))
    seen, product = set(), stage.product
    monkeypatch.setattr(stage, "product", lambda K, v: (seen.add(K.dtype.name), product(K, v))[1])
    machine = KernelLMS(Gaussian(1.0), alpha=0.1, tol=tol).fit(many, targets)
    assert seen == ({"float32"} if tol > 1e-4 else {"float32", "float64"})
    ridge = KernelRidge(kernel=Gaussian(1.0), alpha=0.1).fit(many, targets)
    away = machine.predict(many) - ridge.predict(many)
    assert np.sqrt(np.mean(away**2)) <= tol * np.sqrt(np.mean(targets**2))
    assert machine.certificate_.converged
    least = ridge.certificate_.primal
    assert machine.certificate_.dual <= least <= machine.certificate_.primal + 1e-12 * least
    plain = KernelLMS(Gaussian(1.0), alpha=0.1, tol=tol, precondition=0).fit(many, targets)
    assert machine.n_iter_ < 0.5 * plain.n_iter_


def test_the_matrix_in_float32_is_gone_when_that_in_float64_comes(monkeypatch):
    kept, held = [], Gram.held

    def watched(gram):
        assert not any(matrix() is not None for matrix in kept)
        matrix = held(gram)
        assert matrix is not gram
        kept.append(weakref.ref(matrix))
        return matrix

    monkeypatch.setattr(Gram, "held", watched)
    many = np.random.default_rng(0).standard_normal((2100, 3))
    KernelLMS(Gaussian(1.0), alpha=0.1, tol=1e-7).fit(many, np.sin(many).sum(axis=1))
    assert len(kept) == 2


@pytest.mark.parametrize("last", [True, False])
def test_an_interrupt_certifies_nothing_that_is_known_in_float32_only(last, monkeypatch):
    many = np.random.default_rng(0).standard_normal((2100, 3))
    targets, kernel, seen, product = np.sin(many).sum(axis=1), Gaussian(1.0), [], stage.product

    def interrupted(K, v):
        seen.append(K.dtype.name)
        if seen.count("float64" if last else "float32") == 5:
            raise KeyboardInterrupt
        return product(K, v)

    monkeypatch.setattr(stage, "product", interrupted)
    machine = KernelLMS(kernel, alpha=0.1, tol=1e-9, precondition=0)
    with pytest.raises(SolverInterrupted):
        machine.fit(many, targets)
    assert len(machine.errors_) == machine.certificate_.iterations > 0
    assert not machine.certificate_.converged
    a, K = machine.dual_coef_, kernel(many)
    primal = np.sum((targets - K @ a) ** 2) / 0.2 + a @ K @ a / 2
    assert machine.certificate_.primal == (pytest.approx(primal, rel=1e-12) if last else np.inf)
    assert np.isfinite(machine.certificate_.gap) == last


@pytest.mark.parametrize("settings", [{"precondition": 1}, {"cache_size": 1e-5}], ids=["one", "no memory"])
def test_few_landmarks_are_enough_to_go_on(settings):
    many = np.random.default_rng(0).standard_normal((2100, 2))
    machine = KernelLMS(Gaussian(1.0), alpha=0.1, **settings).fit(many, np.sin(many[:, 0]))
    assert machine.certificate_.converged


def test_samples_of_which_float32_can_hold_no_matrix():
    many = 3e4 * np.random.default_rng(0).standard_normal((2100, 2))
    with pytest.warns(ConvergenceWarning):
        machine = KernelLMS(Polynomial(4), alpha=1.0, max_iter=3).fit(many, many[:, 0] / 3e4)
    assert np.isfinite(machine.predict(many)).all()


def test_samples_that_are_all_zero():
    with pytest.warns(ZeroKernelWarning, match="zero for all 2100 samples"):
        machine = KernelLMS("linear").fit(np.zeros((2100, 2)), np.arange(2100.0))
    assert (machine.predict(np.ones((1, 2))) == 0).all()


def test_early_stopping_ends_no_earlier_for_float32():
    many = np.random.default_rng(0).standard_normal((2100, 3))
    passes = [
        KernelLMS(Gaussian(1.0), alpha=0.1, tol=tol, early_stopping=True, n_iter_no_change=1000, random_state=0)
        .fit(many, np.sin(many).sum(axis=1))
        .n_iter_
        for tol in (1e-6, 1e-8)
    ]
    assert passes[0] < passes[1]


def test_a_preconditioner_saves_passes():
    plain, fast = (KernelLMS(Gaussian(3.0), alpha=0.01, precondition=p, tol=1e-6).fit(X, y) for p in (0, 100))
    assert fast.n_iter_ < 0.5 * plain.n_iter_
    np.testing.assert_allclose(fast.predict(X), plain.predict(X), atol=1e-3)
    for p in (0, 50):
        with pytest.raises(ValueError, match="positive semi-definite"):
            KernelLMS(-Gaussian(1.0), precondition=p).fit(X, y)


def test_unfinished_fits_warn():
    with pytest.warns(ConvergenceWarning, match="after 2 passes"):
        machine = KernelLMS(max_iter=2).fit(X, y)
    assert not machine.certificate_.converged


# -- data -----------------------------------------------------------------------------------------------------------


def test_any_kernel_and_any_data():
    frame = pd.DataFrame({"x": X[:, 2], "sex": np.where(X[:, 1] > 0, "f", "m")})
    kernel = Gaussian(1.0).on("x") * Categorical().on("sex") + 1
    np.testing.assert_allclose(
        KernelLMS(kernel, alpha=1.0, tol=1e-9).fit(frame, y).predict(frame),
        KernelRidge(kernel=kernel, alpha=1.0).fit(frame, y).predict(frame),
        atol=1e-6,
    )
    words = ["spam", "spa", "ham", "hamlet"]
    common = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True)
    assert KernelLMS(common, alpha=0.1).fit(words, [1, 1, 0, 0]).predict(["spas"])[0] > 0.5
    K = Gaussian(2.0)(X)
    given = KernelLMS(Precomputed(), alpha=0.1, precondition=40).fit(K, y)
    np.testing.assert_allclose(given.predict(K), KernelLMS(Gaussian(2.0), alpha=0.1).fit(X, y).predict(X), atol=0.02)
    sparse = KernelLMS(alpha=0.1, tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.predict(sp.csr_array(X)), KernelLMS(alpha=0.1, tol=1e-8).fit(X, y).predict(X), atol=1e-6
    )
    with pytest.raises(FeaturesError, match="no finite explicit feature map"):
        LMS(Gaussian(1.0)).fit(X, y)


def paths(*words):
    """A graph for every word: its letters, each joined with the next."""
    return [([(v, v + 1) for v in range(len(word) - 1)], list(word)) for word in words]


GRAPHS, NEW_GRAPHS = paths("aab", "abb", "aaa", "bbb", "aabb"), paths("bbc", "bcc", "cab")
TREES, NEW_TREES = ["(S (A a) (B b))", "(S (B b) (B b))", "(S (A a) (A a))"], ["(S (A a) (C c))", "(S (C c) (B b))"]
OBJECTS = {
    "vertices": (VertexHistogram(), GRAPHS, NEW_GRAPHS),
    "rounds": (WeisfeilerLehman(1), GRAPHS, NEW_GRAPHS),
    "paths": (ShortestPath(), GRAPHS, NEW_GRAPHS),
    "graphlets": (Graphlet(3), GRAPHS, NEW_GRAPHS),
    "composed": (2 * VertexHistogram() + ShortestPath().normalized() ** 2, GRAPHS, NEW_GRAPHS),
    "trees": (Subtree(), TREES, NEW_TREES),
    "words": (Spectrum(2), ["aab", "abb", "aaa", "bab"], ["bbc", "abc"]),
    "sets of words": (SetKernel(Spectrum(2)), [["aab", "ab"], ["abb"], ["aaa", "b"]], [["abc"], ["bc", "bb"]]),
    "sets of trees": (SetKernel(Subtree(), "sum"), [TREES[:2], TREES[2:]], [NEW_TREES]),
}


@pytest.mark.parametrize(("kernel", "known", "new"), OBJECTS.values(), ids=OBJECTS.keys())
def test_new_objects_are_described_in_the_parts_of_known_ones(kernel, known, new):
    targets = np.arange(1.0, len(known) + 1)
    primal, dual = (machine(kernel, alpha=0.1, tol=1e-6).fit(known, targets) for machine in (LMS, KernelLMS))
    ridge = KernelRidge(kernel=kernel, alpha=0.1).fit(known, targets)
    for machine in (primal, dual, pickle.loads(pickle.dumps(primal))):
        np.testing.assert_allclose(machine.predict(new), ridge.predict(new), atol=1e-4)
    features = kernel.in_columns_of(known).features(known)
    np.testing.assert_allclose(features @ primal.coef_, primal.predict(known), atol=1e-8)


def test_what_only_new_graphs_have_counts_for_nothing():
    machine = LMS(VertexHistogram(), tol=1e-9).fit(paths("aab", "abb", "aaa", "bbb"), [2.0, 1.0, 3.0, 0.0])
    np.testing.assert_allclose(machine.predict(paths("bbc", "bcc", "cac")), [0.0, 0.0, 1.0], atol=1e-8)


@pytest.mark.parametrize("parameters", [dict(), dict(batch_size=50), dict(step=1e-4)])
def test_sparse_rows_stay_sparse(parameters, monkeypatch):
    rows = np.where(np.abs(X) > 1, X, 0)
    expected = quiet(LMS(alpha=1.0, max_iter=20, **parameters), rows, Y)
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    monkeypatch.setattr(sp.csr_array, "todense", None)
    machine = quiet(clone(expected), sp.csr_array(rows), Y)
    np.testing.assert_allclose(machine.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(machine.predict(sp.csr_array(rows)), expected.predict(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("parameters", [dict(), dict(precondition=50), dict(batch_size=50, max_iter=500)])
def test_matrices_that_do_not_fit_are_streamed(parameters, monkeypatch):
    machine = KernelLMS(Gaussian(2.0), alpha=0.1, tol=1e-8, **parameters)
    stored = quiet(clone(machine), X, y).predict(X)
    monkeypatch.setattr(Gram, "to_dense", None)
    streamed = quiet(machine.set_params(cache_size=0.3), X, y)  # 200 x 200 numbers take 0.305
    np.testing.assert_allclose(streamed.predict(X), stored, atol=1e-8)


def test_float32_is_certified_in_float64():
    machine = KernelLMS(Gaussian(3.0), alpha=1.0, tol=1e-4).fit(X.astype(np.float32), y)
    exact = KernelRidge(kernel=Gaussian(3.0), alpha=1.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(X.astype(np.float32)), exact.predict(X), atol=1e-3)
    assert machine.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)


def test_progress(capsys):
    machine = quiet(KernelLMS(verbose=True, max_iter=3, early_stopping=True), X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith(f"KernelLMS pass 3: mean squared error {machine.errors_[-1]:.6g}, ")
    assert "held-out" in lines[-1]


@pytest.mark.parametrize("parameters", [dict(), dict(batch_size=50)])
@pytest.mark.parametrize("machine", [LMS(Polynomial(2)), KernelLMS(Gaussian(3.0))])
def test_an_interrupt_leaves_what_there_is(machine, parameters, monkeypatch):
    told = KernelLMS._tell

    def interrupted(machine, context, number, *errors):
        if number == 8:
            raise KeyboardInterrupt
        return told(machine, context, number, *errors)

    monkeypatch.setattr(LeastMeanSquares, "_tell", interrupted)
    machine = clone(machine).set_params(alpha=1e-3, tol=1e-9, **parameters)
    with pytest.raises(SolverInterrupted):
        machine.fit(X, y)
    assert machine.n_iter_ == machine.certificate_.iterations == len(machine.errors_) == 7
    assert not machine.certificate_.converged
    monkeypatch.undo()
    until = quiet(clone(machine).set_params(max_iter=7), X, y)
    np.testing.assert_allclose(machine.predict(X), until.predict(X), rtol=1e-6, atol=1e-9)
    assert machine.certificate_.gap == pytest.approx(until.certificate_.gap, rel=1e-6)


@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c():
    machine = KernelLMS(step=1e-9, max_iter=10**9, tol=0.0)
    interrupted(lambda: machine.fit(X, y))
    assert len(machine.errors_) == machine.certificate_.iterations > 0
