"""SMO against the naive reference, on every kind of problem."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from mercer import NuSVC
from mercer.kernels import L2, Custom, Gaussian, Laplacian, Linear, NegativeDistance, Polynomial, Precomputed
from mercer.kernels.levels import Levels
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class, squared
from mercer.samples import as_samples
from mercer.solvers import SMO, NotSeparableError, SolverInterrupted, certify

from ..naive import smo

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:120], scale(y)[:120]
sign = np.where(y > 0, 1.0, -1.0)
weight = np.random.default_rng(0).uniform(0.3, 2.0, 120)
some = np.random.default_rng(1).permutation(120)[:70]

PROBLEMS = {
    "hinge": hinge(sign, 1.0),
    "weighted hinge": hinge(sign, 5 * weight),
    "hinge of some samples": hinge(sign[some], 2.0, some),
    "epsilon": epsilon_insensitive(y, weight, 0.1),
    "one class": one_class(weight, 0.3),
    "nu hinge": nu_hinge(sign, 0.5, weight),
    "nu epsilon": nu_epsilon(y, weight, 0.4),
}


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Polynomial(2, gamma=0.1), Linear() + 1], ids=repr)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_finds_the_optimum_of_the_naive_solver(problem, kernel):
    (found,) = SMO(tol=1e-6).solve(kernel.gram(X), [problem])
    naive = smo(kernel(X), problem, tol=1e-6)
    assert found.certificate.converged
    assert naive.certificate.converged
    assert found.certificate.dual == pytest.approx(naive.certificate.dual, rel=1e-7)
    np.testing.assert_allclose(found.bias, naive.bias, atol=1e-5 * max(1, np.abs(naive.bias).max()))


#: The core reports no oftener than this, in seconds.
REPORT_EVERY = 0.2


def overlapping(n, d=20, seed=0):
    """Two classes that are hard to tell apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("reports", [2, 5])
def test_an_interrupted_solve_has_a_true_certificate(reports):
    X, sign = overlapping(6000)
    problem, kernel = hinge(sign, 50.0), Gaussian(3.0)
    seen = []

    def interrupt(progress):
        assert progress.bits == 32
        seen.append(progress)
        if len(seen) == reports:
            raise KeyboardInterrupt
        time.sleep(REPORT_EVERY)  # so that the next round is reported, however fast it was

    with pytest.raises(SolverInterrupted) as caught:
        SMO(tol=1e-4, progress=interrupt).solve(kernel.gram(X), [problem])
    (found,) = caught.value.solutions
    true = certify(problem, found.coefficients, kernel(X) @ found.coefficients, 0, 1e-4).certificate
    assert found.certificate.violation >= true.violation
    assert found.certificate.dual <= true.dual
    assert found.certificate.primal == pytest.approx(true.primal, rel=1e-4)
    assert not found.certificate.converged


@pytest.mark.parametrize("n", [300, 3000])
def test_decomposition_finds_the_optimum_of_scikit_learn(n):
    X, y = overlapping(n)
    (found,) = SMO(tol=1e-4).solve(Gaussian(gamma=0.05).gram(X), [hinge(y, 10.0)])
    peer = SVC(C=10.0, gamma=0.05, tol=1e-4).fit(X, y)
    a = np.zeros(n)
    a[peer.support_] = peer.dual_coef_[0]
    theirs = a @ y - a @ Gaussian(gamma=0.05)(X) @ a / 2
    assert found.certificate.violation <= 1e-4
    assert found.certificate.dual == pytest.approx(theirs, rel=1e-6)
    assert 0 <= found.certificate.gap < 1e-3 * found.certificate.dual


@pytest.mark.parametrize("budget", [0, 2 * 10**7, 10**9])
def test_the_number_of_threads_and_the_memory_change_no_bit(budget):
    X, y = overlapping(3000)
    labels = [y, np.where(X[:, 1] > 0, 1.0, -1.0), np.where(X[:, 2] > 0.5, 1.0, -1.0)]
    problems = [hinge(labels[0], 1.0), *(hinge(t[:900], 1.0, np.arange(900)) for t in labels)]
    answers = []
    for threads in (1, 2, 3, 2):
        with threadpool_limits(threads):
            solutions = SMO().solve(Gaussian(gamma=0.05).gram(X.astype(np.float32), budget), problems)
        answers.append(np.concatenate([s.coefficients for s in solutions]))
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)


@pytest.mark.parametrize("kind", ["stored", "sparse"])
@pytest.mark.slow("has enough samples for threads to share")
def test_the_number_of_threads_changes_no_bit_where_rows_come_in_batches(kind):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(6500) < 0.5, 1.0, -1.0)
    if kind == "stored":
        gram = Precomputed().gram(Gaussian(1.0)(rng.standard_normal((6500, 3), dtype=np.float32)))
    else:
        gram = Gaussian(1.0).gram(sp.random_array((6500, 500), density=0.01, rng=rng, format="csr"))
    answers = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            answers.append(SMO(max_iter=4000).solve(gram, [hinge(y, 1.0)])[0])
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0].coefficients, other.coefficients)
        assert answers[0].certificate == other.certificate
        assert answers[0].bias == other.bias


def test_bytes_and_floats_give_the_same_machine():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(2500, 30)) / np.float32(255)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=2500) > 0.5, 1.0, -1.0)
    off = X.copy()
    off[0, 0] += 1e-4  # no longer on the grid
    (exact,), (plain,) = (SMO(tol=1e-4).solve(Gaussian(gamma=0.5).gram(Z), [hinge(y, 1.0)]) for Z in (X, off))
    assert exact.certificate.converged
    assert plain.certificate.converged
    assert exact.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-5)


def test_the_certificate_is_that_of_float64_rows():
    X, y = overlapping(2500)
    gram = Gaussian(gamma=0.05).gram(X.astype(np.float32))
    (found,) = SMO(tol=1e-3).solve(gram, [hinge(y, 20.0)])
    exact = certify(hinge(y, 20.0), found.coefficients, gram.exact @ found.coefficients, 0, 1e-3).certificate
    assert found.certificate.violation == pytest.approx(exact.violation, abs=1e-9)
    assert found.certificate.dual == pytest.approx(exact.dual, rel=1e-6)
    assert found.certificate.primal == pytest.approx(exact.primal, rel=1e-6)


def test_float64_goes_on_where_tol_is_below_the_rounding_of_float32():
    """Sparse rows are accurate enough for float32 to be tried, but its slopes are rounded by more than tol."""
    rows = sp.random_array((300, 400), density=0.05, rng=np.random.default_rng(0), format="csr")
    (solution,) = SMO(tol=1e-7).solve(Gaussian(gamma=0.05).gram(rows), [one_class(np.ones(300), 0.1)])
    assert solution.certificate.converged
    assert solution.certificate.iterations < 1000


def test_a_start_at_the_solution_takes_no_steps():
    X, y = overlapping(800)
    gram, problem = Gaussian(gamma=0.05).gram(X), hinge(y, 1.0)
    (first,) = SMO().solve(gram, [problem])
    (second,) = SMO().solve(gram, [problem], [first.coefficients])
    assert first.certificate.iterations > 100
    assert second.certificate.iterations == 0
    np.testing.assert_array_equal(first.coefficients, second.coefficients)


def test_progress_is_told_and_may_stop():
    X, y = overlapping(3000)
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    (solution,) = SMO(progress=stop).solve(Gaussian(gamma=0.05).gram(X), [hinge(y, 1.0)])
    assert len(seen) == 1
    assert seen[0].bits == 32
    assert not solution.certificate.converged
    assert solution.certificate.violation == pytest.approx(2.0)


@pytest.mark.parametrize("n", [1500, 30000])
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c_returns_at_once_with_what_there_is(n):
    X, y = overlapping(n, d=60)
    gram, problem = Gaussian(gamma=1e-4).gram(X), hinge(y, 1e7)
    begun = threading.Event()

    def tell(progress):
        if progress.iterations > 0 or n < 2048:  # a problem that is one block has nothing to tell before it is solved
            begun.set()

    def interrupt():
        begun.wait(60)
        time.sleep(0.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sent = []
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(SolverInterrupted) as stopped:
            SMO(tol=1e-12, progress=tell).solve(gram, [problem])
        assert time.perf_counter() - sent[0] < 2
    finally:
        thread.join()
        signal.signal(signal.SIGINT, previous)
    (partial,) = stopped.value.solutions
    assert not partial.certificate.converged
    assert 0 < partial.certificate.dual < partial.certificate.primal
    assert abs(partial.coefficients.sum()) < 1e-6 * np.abs(partial.coefficients).sum()


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
def test_a_hard_margin_that_does_not_exist_has_a_name(kernel):
    X, y = overlapping(400, d=2)
    with pytest.raises(NotSeparableError, match="grows without bound"):
        SMO().solve(kernel.gram(X), [hinge(y, np.inf)])


def test_a_hard_margin_that_exists_is_found():
    X, y = overlapping(200, d=2)
    X[:, 0] += 8 * y
    (found,) = SMO(tol=1e-6).solve(Linear().gram(X), [hinge(y, np.inf)])
    f = X @ (X.T @ found.coefficients) + found.bias
    assert (y * f).min() == pytest.approx(1, abs=1e-5)
    assert found.certificate.gap < 1e-4 * found.certificate.dual


def test_hard_constraints_that_soft_ones_contradict_are_met():
    """Two samples are hard and near each other; what the soft ones lose does not count against them."""
    x = np.concatenate([[-0.01, 0.01], np.random.default_rng(0).uniform(-1, 1, 200)])
    y = np.where(np.arange(202) % 2, 1.0, -1.0)
    for C in (1.0, 1e2, 1e4):
        bounds = np.where(np.arange(202) < 2, np.inf, C)
        (found,) = SMO().solve(Linear().gram(x[:, None]), [hinge(y, bounds)])
        f = x * (x @ found.coefficients) + found.bias
        assert found.certificate.converged
        assert (y * f)[:2].min() > 1 - 2e-3


@pytest.mark.parametrize("degree", [20, 50])
@pytest.mark.parametrize("seed", range(4))
def test_nu_svr_of_a_steep_kernel_is_solved(degree, seed):
    """What both coefficients of a sample hold moves freely; pairs of coefficients take it nowhere in 1e6 steps."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    gram, problem = Polynomial(degree, c=0, gamma=1 / (3 * X.var())).gram(X), nu_epsilon(y, 1.0, 0.5)
    (found,) = SMO(max_iter=10**6).solve(gram, [problem])
    assert found.certificate.gap < 1e-6 * found.certificate.dual
    assert found.certificate.converged or degree == 50  # where entries of 1e25 leave f in doubt
    a = found.coefficients
    assert (np.minimum(a[:30], -a[30:]) <= 1e-12).all()  # nothing is left that both hold


@pytest.mark.parametrize(("kernel", "scale", "C"), [(Linear(), 1e8, 1.0), (Linear(), 1.0, 1e10)], ids=str)
def test_the_hopeless_is_given_up_within_seconds_and_said_so(kernel, scale, C):
    rng = np.random.default_rng(0)
    X, y = scale * rng.standard_normal((30, 3)), np.where(rng.standard_normal(30) > 0, 1.0, -1.0)
    gram = kernel.gram(X)
    (found,) = SMO().solve(gram, [hinge(y, C)])
    assert found.certificate.iterations < 20_000_000
    exact = certify(hinge(y, C), found.coefficients, gram @ found.coefficients, 0, 1e-3).certificate
    assert not found.certificate.converged
    assert found.certificate.violation == pytest.approx(exact.violation, rel=0.1)


def test_what_float64_cannot_know_is_not_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((201, 50)) + 100
    machine = NuSVC(kernel="poly", gamma=0.1, nu=0.01)
    with pytest.warns(ConvergenceWarning, match="KKT conditions are violated"):
        machine.fit(X, X[:, 0] > 100)
    assert 0.1 < machine.certificate_.violation < 1  # long double: 0.12; float64 claims 9e-4


def square(A, B):
    return (1 + A @ B.T) ** 2


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Precomputed(), Custom(square)], ids=str)
def test_problems_on_some_samples_in_another_order(kernel):
    X, y = overlapping(300)
    gram = kernel.gram(Gaussian(2.0)(X) if kernel == Precomputed() else X)
    order = np.random.default_rng(0).permutation(300)[:220]
    problems = [hinge(y[order], 1.0), hinge(y[order][30:90], 10.0, np.arange(30, 90))]
    found = SMO(tol=1e-6).solve(gram, problems, None, order)
    expected = SMO(tol=1e-6).solve(gram.ordered(order), problems)
    for one, other in zip(found, expected, strict=True):
        assert one.certificate.converged
        np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-5)


@pytest.mark.parametrize("n", [999, 1001, 1013])
def test_problems_solved_together_are_one_block_each_if_they_fit(n):
    y = np.repeat(np.arange(3), n)
    X = np.random.default_rng(0).normal(size=(3 * n, 4)) + 0.3 * y[:, None]
    pairs = [np.flatnonzero(y != c) for c in range(3)]
    problems = [hinge(np.where(y[rows] == y[rows[0]], 1.0, -1.0), 1.0, rows) for rows in pairs]
    seen = []
    SMO(max_iter=2, progress=seen.append).solve(Gaussian(2.0).gram(X), problems)
    assert {p.problem for p in seen} == {0, 1, 2}
    assert all(p.active == p.size == 2 * n for p in seen)


@pytest.mark.parametrize("megabytes", [20, 40, 50, 70, 120])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.slow("has enough samples for memory to be short")
def test_memory_for_one_thread_but_not_for_two_changes_no_step(megabytes, sparse):
    """Pairs of classes that single precision does not do justice to, in memory that threads share."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(4), 1000))
    X = rng.normal(size=(4000, 5)) + 0.7 * rng.normal(size=(4, 5))[y]
    X = np.hstack([X, np.zeros((4000, 60))]) if sparse else X
    samples = sp.csr_array(X * (rng.random(X.shape) < 0.5)) if sparse else X
    kernel = Gaussian(2.0)
    pairs = [np.concatenate([np.flatnonzero(y == i), np.flatnonzero(y == j)]) for i in range(4) for j in range(i)]
    order = np.argsort(y, kind="stable")
    place = np.argsort(order, kind="stable")
    problems = [hinge(np.where(y[rows] == y[rows[0]], 1.0, -1.0), 1.0, place[rows]) for rows in pairs]
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            gram = kernel.gram(samples, megabytes * 10**6)
            answers.append(SMO(tol=1e-6, max_iter=20_000).solve(gram, problems, None, order))
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one.coefficients, two.coefficients)
        assert one.certificate == two.certificate


@pytest.mark.parametrize("megabytes", [0, 1, 4])
def test_working_sets_fit_little_memory(megabytes):
    X, y = overlapping(3000)
    kernel, problem = Gaussian(2.0), hinge(y, 1.0)
    (much,), (little,) = (SMO().solve(kernel.gram(X, b), [problem]) for b in (10**9, megabytes * 10**6))
    assert little.certificate.converged
    assert little.certificate.dual <= much.certificate.primal
    assert much.certificate.dual <= little.certificate.primal


def hard_data():
    """Data on which solvers of this kind get stuck."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(300, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2, 1.0, -1.0)
    noisy = np.where(rng.random(300) < 0.1, -y, y)
    return {
        "checkerboard": (X, noisy),
        "duplicates": (np.repeat(X[:60], 5, axis=0), np.repeat(noisy[:60], 5)),
        "conflicts": (np.repeat(X[:60], 5, axis=0), noisy),
        "huge": (1e8 * X, noisy),
        "tiny": (1e-8 * X, noisy),
        "constant": (np.hstack([X, np.full((300, 3), 7.0)]), noisy),
        "mixed": (X * [1, 1e6], noisy),
        "far": (X + 1e6, noisy),
        "far apart": (X + np.where(X[:, :1] < 2, 1e5, -1e5), noisy),
        "far, in 20 columns": (rng.standard_normal((300, 20)) + 1e7, noisy),
    }


@pytest.mark.parametrize("C", [0.01, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", hard_data())
@pytest.mark.slow("hard data take as many steps as there may be")
def test_hard_data_end_within_tol_or_say_so(name, dtype, C):
    X, y = hard_data()[name]
    X = X.astype(dtype)
    gram = Gaussian(gamma=1 / (X.shape[1] * X.var(dtype=np.float64))).gram(X)
    problem = hinge(y, C)
    (found,) = SMO(max_iter=300_000).solve(gram, [problem])
    exact = certify(problem, found.coefficients, gram.exact @ found.coefficients, 0, 1e-3).certificate
    # never less than the truth, and more at most by the error that the documentation calls negligible
    assert found.certificate.violation >= exact.violation * (1 - 1e-3) - 1e-6
    assert found.certificate.violation <= exact.violation * (1 + 1e-3) + 5.1e-5
    # the optimum lies between primal and dual, up to the rounding of float64
    rounding = 1e-14 * C * np.abs(found.coefficients).sum()  # of C K a
    assert found.certificate.dual <= exact.dual + rounding
    assert found.certificate.primal >= exact.primal - rounding
    assert found.certificate.gap <= exact.gap + 1e-5 * abs(exact.dual)
    assert found.certificate.converged == (found.certificate.violation <= 1e-3)
    assert found.certificate.converged or found.certificate.iterations >= 300_000
    assert ((found.coefficients >= problem.lower) & (found.coefficients <= problem.upper)).all()


@pytest.mark.parametrize("base", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian((0.5,) * 20), Laplacian(0.1), Gaussian(1.0) * 3], ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_bound_on_what_rounded_samples_lose(kernel, sparse, base):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 20)) + base
    if sparse:
        x *= rng.random(x.shape) < 0.1
    samples = as_samples(sp.csr_array(x)) if sparse else as_samples(x)
    pairs = kernel.gram(samples).pairs
    shift = pairs.single_shift(pairs.shift())
    moved = x if sparse or shift is None else x - shift
    off = np.abs(kernel(moved.astype(np.float32).astype(np.float64)) - kernel(x)).max()
    one = Levels.one(80)
    ((moved,), (rounded,)) = (pairs.accuracy_at(shift, by, one) for by in (pairs.lost(shift, one), np.zeros((1, 1))))
    lost = moved.error - rounded.error
    assert off <= lost
    assert lost <= 1e3 * off + 1e-6  # or it would be no use


def first_report(n, d, C=1.0, budget=200 * 2**20, grid=False):
    X, y = overlapping(n, d)
    X = np.round(8 * X).clip(-100, 100) / 8 if grid else X
    seen = []

    def stop_at_the_second(progress):
        seen.append(progress)
        return len(seen) > 1

    gram = Gaussian(gamma=1 / d).gram(X, budget)
    SMO(max_iter=1, progress=stop_at_the_second).solve(gram, [hinge(y, C)])
    return seen[-1]


def test_the_cost_model_of_the_documentation():
    assert first_report(150, 5).bits == 64  # so few that it costs nothing
    assert first_report(2500, 5).bits == 32
    assert first_report(2500, 5, C=1e4).bits == 64  # 0.005 * 2e-6 * 1e4 * sqrt(2500) > tol
    assert first_report(2500, 30).kept == 2500
    assert first_report(2500, 30, budget=25_000_000).kept == 0  # one in four would not fit
    assert first_report(33_000, 5, budget=2**33).kept == 0  # active sets do more
    sample = 100 * 4
    beside = 2500 * 152 + 4 * 2**20  # vectors, and what threads take
    left = 40_000_000 - 2500 * sample - 2048 * (2048 * 4 + 4 * sample) - beside  # packed, a block
    row = 4 * 2512 + 16
    assert first_report(2500, 100, budget=40_000_000).kept == left // row
    assert first_report(2500, 100, budget=0).kept == 0


@pytest.mark.parametrize("scale", [1e-30, 1e20, 1e25, 1e45])
@pytest.mark.parametrize("d", [5, 20])
def test_data_beyond_the_range_of_float32(scale, d):
    X, y = overlapping(600, d)
    gamma = 1 / (d * (scale * X).var())
    (found,) = SMO().solve(Gaussian(gamma=gamma).gram(scale * X), [hinge(y, 1.0)])
    (plain,) = SMO().solve(Gaussian(gamma=gamma * scale**2).gram(X), [hinge(y, 1.0)])
    assert found.certificate.converged
    assert found.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-4)


def test_samples_in_any_order_with_a_composed_kernel():
    order = np.random.default_rng(0).permutation(120)
    gram = (Gaussian(3.0) + Linear()).gram(X)
    (plain,), (mixed,) = (
        SMO(tol=1e-6).solve(gram, [problem]) for problem in (hinge(sign, 1.0), hinge(sign[order], 1.0, order))
    )
    assert mixed.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-6)


def test_a_margin_does_not_depend_on_the_origin():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    (near,), (far,) = (SMO().solve(Linear().gram(X + shift), [hinge(y, np.inf)]) for shift in (0.0, 1e4))
    assert far.certificate.dual == pytest.approx(near.certificate.dual, rel=1e-3)


def test_a_negative_diagonal_is_no_obstacle():
    K = -Gaussian(1.0)(X)
    (found,) = SMO().solve(Precomputed().gram(K), [hinge(sign, 1.0)])
    assert found.certificate.converged
    assert np.count_nonzero(found.coefficients) > 10


@pytest.mark.parametrize(
    "problem",
    [
        hinge(np.array([1.0, -1, 1, -1]), np.array([1.0, 2, 3, 4])),
        hinge(np.array([1.0, -1, 1, -1]), np.inf),
        epsilon_insensitive(np.arange(4.0), 2.0, 0.1),
        one_class(np.array([0.5, 1, 2, 0.1]), 0.7),
        nu_hinge(np.array([1.0, -1, 1, -1]), 0.6, np.array([0.5, 1, 2, 0.9])),
        nu_epsilon(np.arange(2.0), 2.0, 0.8),
    ],
)
def test_any_start_is_made_feasible(problem):
    samples = np.eye(len(problem) if problem.sample is None else problem.sample.max() + 1)

    def begun(a):
        return SMO(max_iter=0).solve(Linear().gram(samples), [problem], [a])[0].coefficients

    for a in (None, np.zeros(4), np.array([3.0, -2, 0.5, 7]), np.array([-1.0, -1, -1, -1])):
        b = begun(a)
        assert (b >= problem.lower).all()
        assert (b <= problem.upper).all()
        for members, total in problem.groups():
            assert b[members].sum() == pytest.approx(total)
        np.testing.assert_allclose(begun(b), b, atol=1e-12)


def test_what_a_total_asks_for_is_put_on_the_first_coefficients():
    (begun,) = SMO(max_iter=0).solve(Linear().gram(np.eye(4)), [one_class(np.ones(4), 0.375)])
    np.testing.assert_array_equal(begun.coefficients, [1.0, 0.5, 0.0, 0.0])


def test_powers_beyond_float64_are_not_tried_in_float32():
    gram = Polynomial(400).gram(np.random.default_rng(0).standard_normal((300, 5)) + 3)
    pairs = gram.pairs
    assert pairs.accuracy_at(None, np.zeros((1, 1)), Levels.one(300))[0].error == np.inf


def test_an_order_names_samples_that_there_are():
    gram, problem = Linear().gram(np.eye(4)), hinge(np.resize([1.0, -1.0], 4), 1.0)
    for wrong in ([0, 1, 2, 4], [0, 1, 2, -1]):
        with pytest.raises(
            IndexError, match=rf"order must hold positions of samples, 0 \.\. 3, but holds {wrong[-1]}$"
        ):
            SMO().solve(gram, [problem], order=np.array(wrong))
        with pytest.raises(IndexError, match=rf"sample of a problem must hold .* 0 \.\. 3, but holds {wrong[-1]}$"):
            SMO().solve(gram, [replace(problem, sample=np.array(wrong))])
    for wrong in ([0.0, 1.0, 2.0, 3.0], [[0, 1], [2, 3]], ["a"]):
        with pytest.raises(TypeError, match="order must be a list of positions of samples, not an array of"):
            SMO().solve(gram, [problem], order=np.array(wrong))
    with pytest.raises(TypeError, match="which are integers, not float64"):
        replace(problem, sample=np.full(4, 0.5))
    for wrong in ([0, 1], [0, 1, 2, 3, 0]):
        with pytest.raises(ValueError, match=rf"of 4 coefficients on {len(wrong)} samples must say in `sample`"):
            SMO().solve(gram, [problem], order=np.array(wrong))
    with pytest.raises(ValueError, match="a start, or None, for each of 1 problems but got 2"):
        SMO().solve(gram, [problem], [None, None])
    with pytest.raises(ValueError, match=r"problems of one output; this one has 2: give its columns\(\)"):
        SMO().solve(gram, [squared(np.eye(4)[:, :2], 1.0, bias=True)])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1.0) + Linear(), Linear().normalized()], ids=repr)
def test_samples_that_stand_twice_in_an_order_are_two_of_the_same(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    order = rng.integers(0, 100, 80)
    problem = hinge(np.where(X[order, 0] > 0.3 * X[order, 1], 1.0, -1.0), 1.0)
    (found,) = SMO(tol=1e-7).solve(kernel.gram(X), [problem], order=order)
    (expected,) = SMO(tol=1e-7).solve(kernel.gram(X[order]), [problem])
    assert found.certificate.converged
    assert found.certificate.dual == pytest.approx(expected.certificate.dual, rel=1e-7)
    np.testing.assert_allclose(found.f, expected.f, atol=1e-4)


def test_a_solution_is_resumable_if_nothing_of_it_was_computed_in_float64():
    X, sign = overlapping(1000)
    gram, problem = Gaussian(3.0).gram(X), hinge(sign, 1.0)
    (rough,) = SMO(tol=0.1).solve(gram, [problem])
    (fine,) = SMO(tol=1e-4).solve(gram, [problem])
    (exact,) = SMO(tol=1e-9).solve(gram, [problem])
    assert [one.resumable for one in (rough, fine, exact)] == [True, False, False]
    (again,) = SMO(tol=0.1).solve(gram, [problem], [(rough.coefficients, rough.f)])
    assert again.certificate.iterations == 0
    np.testing.assert_array_equal(again.f, rough.f)
    assert again.certificate.violation == rough.certificate.violation


@pytest.mark.parametrize("n", [300, 1000])
def test_a_matrix_that_is_rounded_once_promises_no_more_than_is_true(n):
    rng = np.random.default_rng(0)  # of the diagonal, which is zero, nothing is learnt of the other entries
    X, sign = rng.standard_normal((n, 5)), np.where(rng.standard_normal(n) > 0, 1.0, -1.0)
    kernel = NegativeDistance(L2())
    K = kernel(X)
    for gram in (kernel.gram(X).hold(), Precomputed().gram(K)):
        (found,) = SMO().solve(gram, [hinge(sign, 1.0)])
        a, b = found.coefficients, float(found.bias)
        f = K @ a
        assert found.certificate.dual <= (sign @ a - a @ f / 2) * (1 + 1e-12)
        assert found.certificate.primal >= (a @ f / 2 + np.maximum(0, 1 - sign * (f + b)).sum()) * (1 - 1e-12)
