"""Rows that a Gram matrix keeps from one solve to the next: none is computed twice, and none changes an answer."""

import copy
import gc
import pickle
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import _native
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from mercer.problem import epsilon_insensitive, hinge, one_class
from mercer.solvers import SMO, SolverInterrupted


def made(n, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


X, y = made(600)
LARGE, sign = made(5000)
WORDS = ["".join(np.random.default_rng(i).choice(list("ab"), 12)) for i in range(150)]

MATRICES = {
    "dense": (Gaussian(3.0), LARGE, sign),
    "float32": (Gaussian(3.0), LARGE.astype(np.float32), sign),
    "few columns": (Gaussian(1.0), LARGE[:, :3], sign),
    "polynomial": (Polynomial(2), 0.3 * LARGE[:2500], sign[:2500]),
    "sparse": (Gaussian(2.0), sp.csr_array(np.where(np.abs(LARGE) > 1.3, LARGE, 0)), sign),
    "one block": (Gaussian(3.0), X, y),
    "sum": (Gaussian(3.0) + 0.1 * Linear(), X, y),
    "strings": (Spectrum(3), WORDS, y[:150]),
    "function": (Custom(lambda A, B: np.exp(-0.05 * ((A[:, None] - B[None]) ** 2).sum(axis=2))), X[:300], y[:300]),
    "given": (Precomputed(), Gaussian(3.0)(X), y),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_second_fit_finds_the_rows_of_the_first(name):
    kernel, data, labels = MATRICES[name]
    gram = kernel.gram(data)
    seen = []
    for C in (1.0, 1.05):
        (found,) = SMO().solve(gram, [hinge(labels, C)])
        (alone,) = SMO().solve(kernel.gram(data), [hinge(labels, C)])
        np.testing.assert_array_equal(found.coefficients, alone.coefficients)  # whatever was known before
        assert found.certificate == alone.certificate
        seen.append(gram.computed)
    assert seen[0] > 0
    if name != "given":  # which is read where it lies, and counted as it is read
        assert seen[1] - seen[0] <= 0.05 * seen[0]


def test_machines_of_other_kinds_share_them():
    kernel, value = Gaussian(3.0), LARGE[:, 0] + np.sin(LARGE[:, 1])
    gram = kernel.gram(LARGE)
    problems = [hinge(sign, 1.0), epsilon_insensitive(value, 1.0, 0.1), one_class(np.ones(len(LARGE)), 0.2)]
    new = []
    for problem in problems:
        before = gram.computed
        (found,) = SMO().solve(gram, [problem])
        (alone,) = SMO().solve(kernel.gram(LARGE), [problem])
        np.testing.assert_array_equal(found.coefficients, alone.coefficients)
        new.append(gram.computed - before)
    rows = gram.computed
    assert rows <= len(LARGE) + 10
    SMO().solve(gram, problems[:1])
    assert gram.computed == rows


@pytest.mark.parametrize("size", [600, 3000])
def test_pairs_of_classes_find_them_again(size):
    rng = np.random.default_rng(0)
    label = np.sort(rng.integers(0, 4, size))
    data = rng.standard_normal((size, 10)) + label[:, None]
    pairs = [np.flatnonzero((label == i) | (label == j)) for i in range(4) for j in range(i)]
    gram = Gaussian(2.0).gram(data)
    computed = []
    for C in (1.0, 1.05):
        problems = [hinge(np.where(label[rows] == label[rows[0]], 1.0, -1.0), C, rows) for rows in pairs]
        found = SMO().solve(gram, problems)
        alone = SMO().solve(Gaussian(2.0).gram(data), problems)
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_array_equal(one.coefficients, other.coefficients)
        computed.append(gram.computed)
    assert computed[0] > 0
    if size == 600:  # else the parts of rows among two classes are each pair's own
        assert computed[1] - computed[0] <= 0.05 * computed[0]


def test_a_matrix_made_for_one_solve_keeps_what_is_worth_it():
    gram = Gaussian(1.0).gram(LARGE[:, :3], lasting=False)
    before = 0
    for _ in range(2):
        SMO().solve(gram, [hinge(sign, 1.0)])
        assert gram.computed > before
        before = gram.computed


@pytest.mark.parametrize("name", ["dense", "one block", "function"])
@pytest.mark.parametrize("reports", [1, 2])
def test_what_an_interrupted_solve_leaves_is_right(name, reports):
    kernel, data, labels = MATRICES[name]
    gram, seen = kernel.gram(data), []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == reports:
            raise KeyboardInterrupt

    problem = hinge(labels, 10.0)
    try:
        SMO(progress=interrupt).solve(gram, [problem])
    except SolverInterrupted:
        assert len(seen) == reports
    (found,) = SMO().solve(gram, [problem])
    (alone,) = SMO().solve(kernel.gram(data), [problem])
    np.testing.assert_array_equal(found.coefficients, alone.coefficients)
    np.testing.assert_array_equal(gram.rows(range(5)), kernel.gram(data).rows(range(5)))


def test_a_function_that_fails_leaves_no_rows_half_written():
    calls = []

    def fragile(A, B):
        calls.append(len(A))
        if len(calls) == 5:
            raise OSError("no more")
        return np.exp(-0.01 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    data, labels = LARGE[:2500], sign[:2500]
    gram = Custom(fragile).gram(data)
    with pytest.raises(OSError, match="no more"):
        SMO().solve(gram, [hinge(labels, 1.0)])
    (found,) = SMO().solve(gram, [hinge(labels, 1.0)])
    (alone,) = SMO().solve(Custom(fragile).gram(data), [hinge(labels, 1.0)])
    np.testing.assert_array_equal(found.coefficients, alone.coefficients)


def test_threads_may_solve_on_it_at_the_same_time():
    kernel = Gaussian(3.0)
    gram = kernel.gram(LARGE)
    values = [0.5, 1.0, 2.0, 4.0]
    alone = [SMO().solve(kernel.gram(LARGE), [hinge(sign, C)])[0].coefficients for C in values]
    K = kernel.gram(LARGE).rows(range(20))
    found, wrong = {}, []

    def solve(C):
        (found[C],) = SMO().solve(gram, [hinge(sign, C)])
        if not (gram.rows(range(20)) == K).all():
            wrong.append(C)

    threads = [threading.Thread(target=solve, args=(C,)) for C in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for C, coefficients in zip(values, alone, strict=True):
        np.testing.assert_array_equal(found[C].coefficients, coefficients)


def test_both_precisions_within_one_budget():
    gram = Gaussian(3.0).gram(LARGE, 30 * 2**20)
    for C in (1.0, 1e4, 1.0, 1e4):  # the large ones are solved in float64
        (found,) = SMO(max_iter=20_000).solve(gram, [hinge(sign, C)])
        (alone,) = SMO(max_iter=20_000).solve(Gaussian(3.0).gram(LARGE, 30 * 2**20), [hinge(sign, C)])
        np.testing.assert_array_equal(found.coefficients, alone.coefficients)
        assert gram.matrices(None).kept_bytes <= gram.budget


@pytest.mark.parametrize("budget", [10**6, 10**7, 3 * 10**7, 10**9])
def test_what_is_known_or_in_use_changes_no_step_of_little_memory(budget):
    kernel, data, labels = Gaussian(1.0), LARGE[:900, :3], sign[:900]
    values = [0.1, 1.0, 10.0]

    def solved(gram, C):
        return SMO().solve(gram, [hinge(labels, C)])[0].coefficients

    alone = [solved(kernel.gram(data, budget), C) for C in values]
    gram = kernel.gram(data, budget)
    gram.rows(range(300))  # in float64, which the solver uses of large C alone
    for C, expected in zip(values, alone, strict=True):
        np.testing.assert_array_equal(solved(gram, C), expected)
    gram, found = kernel.gram(data, budget), {}
    rounds = [threading.Thread(target=lambda i=i: found.update({i: solved(gram, values[i % 3])})) for i in range(6)]
    for thread in rounds:
        thread.start()
    for thread in rounds:
        thread.join()
    for i in range(6):
        np.testing.assert_array_equal(found[i], alone[i % 3])


def test_rows_may_be_asked_for_while_a_solver_works():
    gram, seen = Gaussian(3.0).gram(LARGE), []
    row = Gaussian(3.0).gram(LARGE).rows([7])

    def look(progress):
        seen.append((gram.rows([7]) == row).all())
        return gram.matrices(None).kept_bytes is not None  # never, and so it goes on

    (found,) = SMO(progress=look).solve(gram, [hinge(sign, 1.0)])
    assert found.certificate.converged
    assert all(seen)
    assert len(seen) > 0
    assert gram.matrices(None).kept_bytes > 0


def test_another_order_begins_anew():
    order = np.random.default_rng(0).permutation(len(X))
    gram = Gaussian(3.0).gram(X)
    SMO().solve(gram, [hinge(y, 1.0)])
    (found,) = SMO(tol=1e-6).solve(gram, [hinge(y[order], 1.0)], None, order)
    (plain,) = SMO(tol=1e-6).solve(gram, [hinge(y, 1.0)])
    assert found.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-9)
    SMO(tol=1e-6).solve(gram, [hinge(y[order], 1.0)], None, order)
    before = gram.computed
    assert (gram.rows(order[:3]) == Gaussian(3.0)(X)[order[:3]]).all()  # in the order of the samples themselves
    SMO(tol=1e-6).solve(gram, [hinge(y[order], 1.0)], None, order)
    assert gram.computed - before <= 3  # and the matrix in the other order is still there
    assert (gram.rows([3]) == Gaussian(3.0)(X)[[3]]).all()


@pytest.mark.parametrize("name", ["dense", "one block", "function", "sum"])
def test_its_memory_goes_with_it(name):
    kernel, data, labels = MATRICES[name]
    gc.disable()
    try:
        gram = kernel.gram(data)
        SMO().solve(gram, [hinge(labels, 1.0)])
        gram.rows([0])
        alive = weakref.ref(gram)
        del gram
        assert alive() is None
    finally:
        gc.enable()


def test_laplacian_rows_are_shared_too():
    gram = Laplacian(0.05).gram(LARGE[:3000])
    SMO().solve(gram, [hinge(sign[:3000], 1.0)])
    before = gram.computed
    SMO().solve(gram, [hinge(sign[:3000], 0.9)])
    assert gram.computed - before <= 0.05 * before


def test_rows_of_a_precision_leave_room_for_those_of_the_other():
    gram = Gaussian(3.0).gram(LARGE[:3000], 50 * 2**20)
    SMO().solve(gram, [hinge(sign[:3000], 10.0)])  # in float32
    matrices = gram.matrices(None)
    assert 0 < matrices.kept_bytes <= gram.budget
    before = matrices.kept_bytes
    for start in range(0, 3000, 100):
        gram.rows(np.arange(start, start + 100))  # in float64
    assert before <= matrices.kept_bytes <= gram.budget


def test_rows_of_some_samples_share_the_budget_with_those_of_all():
    gram = Gaussian(3.0).gram(LARGE, 100 * 2**20)
    SMO().solve(gram, [hinge(sign, 10.0)])
    kept = []
    some = replace(hinge(sign[:4000], 10.0), sample=np.arange(4000))
    SMO(progress=lambda p: kept.append(p.kept)).solve(gram, [some])
    assert max(kept) > 0
    assert max(kept) * 4000 * 4 + gram.matrices(None).kept_bytes <= gram.budget


def test_rows_whose_samples_are_not_all_in_the_order_of_a_solver():
    gram = Gaussian(3.0).gram(X[:6])
    gram.matrices(np.array([0, 0, 2, 3, 4, 5]))  # as many as there are, but one twice
    np.testing.assert_array_equal(gram.rows([0, 1, 2]), gram.to_dense()[:3])


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Gaussian(3.0) + Linear(), Spectrum(3)], ids=repr)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda gram: pickle.loads(pickle.dumps(gram))])
def test_a_copy_keeps_no_rows(kernel, copied):
    gram = kernel.gram(WORDS if isinstance(kernel, Spectrum) else X)
    rows = gram.rows([2, 5])
    other = copied(gram)
    np.testing.assert_array_equal(other.rows([2, 5]), rows)
    assert gram.computed == other.computed == 2


def test_threads_that_come_first_together_read_the_same_pairs():
    seen = []

    class Slow:
        def fill(self, out, rows, columns):
            out[...] = 1.0

    class Matrix:
        def between(self, rows, columns):
            pairs = Slow()
            seen.append(weakref.ref(pairs))
            time.sleep(0.2 * len(seen))  # both threads are here before one of them goes on
            return pairs

    matrices = _native.function_matrices(Matrix(), np.ones(3))
    threads = [threading.Thread(target=matrices.dense) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert [pairs() is None for pairs in seen] == [False, True]  # the first of them is not taken from who reads it


@pytest.mark.parametrize("other", [None, Linear(), Gaussian(3.0).normalized()], ids=repr)
def test_memory_goes_where_a_function_holds_the_matrix(other):
    class Owner:
        def __init__(self):
            kernel = Custom(self.compare)
            self.gram = (kernel if other is None else kernel + other).gram(X[:100])
            SMO().solve(self.gram, [hinge(y[:100], 1.0)])
            self.gram.rows([0])
            self.gram.to_dense()

        def compare(self, left, right):
            return left @ right.T

    alive = weakref.ref(Owner())
    gc.collect()
    assert alive() is None


def test_rows_that_are_held_stay_where_they_are():
    gram = Gaussian(3.0).gram(X).hold()
    rows = gram.held_rows
    assert gram.hold().held_rows.ctypes.data == rows.ctypes.data
    expected = rows.copy()
    gram.forget()
    assert gram.held_rows is None
    gram.hold()
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(gram.held_rows, expected)


def test_a_matrix_is_held_beside_whoever_works_on_it():
    gram, inside = Gaussian(3.0).gram(LARGE), []

    def hold(progress):
        if not inside:
            inside.append(gram.hold().held_rows)

    (found,) = SMO(tol=1e-4, progress=hold).solve(gram, [hinge(sign, 10.0)])
    assert found.certificate.converged
    assert gram.held_rows.ctypes.data == inside[0].ctypes.data
