"""The Gram matrix as an operator: the rows it keeps, blocks, products, memory, threads and refusals."""

import copy
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gram
from mercer.kernels import (
    L2,
    Categorical,
    Custom,
    Exponential,
    Gaussian,
    Linear,
    Matern,
    NegativeDistance,
    Precomputed,
    Subsequence,
    WeightedDegree,
    pairs,
)
from mercer.problem import hinge
from mercer.solvers import SMO

X = np.random.default_rng(3).standard_normal((50, 20))
ROW = 50 * 8


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [Gaussian(1).normalized(), (Linear() + 1).normalized(), 2 * Linear().normalized() + 3], ids=repr
)
def test_a_sample_is_the_same_as_itself_in_blocks_of_any_columns(kernel, dtype):
    gram = kernel.gram(X.astype(dtype))
    rows, columns = np.array([3, 1, 40, 3, 7]), np.array([40, 3, 9, 3])
    block, expected = gram.block(rows, columns), gram.to_dense()[np.ix_(rows, columns)]
    own = rows[:, None] == columns
    assert (block[own] == gram.diag()[3]).all()
    assert (block[own] == expected[own]).all()
    np.testing.assert_allclose(block, expected, rtol=10 * np.finfo(dtype).eps, atol=10 * np.finfo(dtype).eps)


def test_rows_are_kept():
    gram = Gaussian(1).gram(X, budget=10**6)
    K = gram.to_dense()
    assert (gram.rows([1, 2, 3]) == K[[1, 2, 3]]).all()
    assert gram.computed == 3
    assert (gram.rows([3, 4, 1, 4]) == K[[3, 4, 1, 4]]).all()
    assert gram.computed == 4


def few_rows(count):
    """A budget for ``count`` rows of X, which is so small that samples are not kept packed."""
    assert count < 10
    return count * (8 * 64 + 16)


def test_the_least_recently_used_row_goes_first():
    gram = Linear().gram(X, budget=few_rows(2))
    for i in (0, 1, 0, 2):  # 1 is the oldest when 2 arrives
        gram.rows([i])
    assert gram.computed == 3
    gram.rows([0])
    gram.rows([2])
    assert gram.computed == 3
    gram.rows([1])
    assert gram.computed == 4


@pytest.mark.parametrize("budget", [0, 1, few_rows(0), few_rows(1), few_rows(3), 10**9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_budget_gives_the_same_rows(budget, dtype):
    gram = Gaussian(1).gram(X.astype(dtype), budget=budget)
    K = gram.to_dense()
    for which in ([3], [7, 7, 3], range(50), [49, 0], [3], []):
        which = np.array(which, dtype=int)
        rows = gram.rows(which)
        assert rows.dtype == dtype
        assert (rows == K[which]).all()


def test_a_row_that_is_kept_cannot_be_changed_from_outside():
    gram = Linear().gram(X, budget=10**6)
    first = gram.rows([0])
    before = first.copy()
    first[...] = 99
    assert (gram.rows([0]) == before).all()
    gram.diag()[...] = 99
    assert (gram.diag() == Linear().diag(X)).all()


@pytest.mark.parametrize("budget", [0, 4 * ROW, 10**6])
def test_threads_may_share_it(budget):
    gram = Matern(1.5).gram(X, budget=budget)
    K = Matern(1.5)(X)
    wrong: list[str] = []

    def hammer(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(150):
            which = rng.integers(0, 50, rng.integers(1, 9))
            if not (gram.rows(which) == K[which]).all():
                wrong.append(f"rows {which}")
            if not np.allclose(gram @ K[0], K @ K[0]):
                wrong.append("product")

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_positions():
    gram = Gaussian(1).gram(X)
    K = gram.to_dense()
    mask = np.arange(50) % 7 == 0
    for index in (5, -1, slice(3, 40, 5), [4, -2], np.array([1, 2], dtype=np.uint8), mask, np.int64(3)):
        assert (gram.rows(index) == np.atleast_2d(K[index])).all()
    assert gram.rows([]).shape == (0, 50)


@pytest.mark.parametrize("index", [[50], [-51], 50, np.array([0, 999])])
def test_positions_outside(index):
    gram = Gaussian(1).gram(X)
    for ask in (gram.rows, lambda i: gram.block(i, [0]), lambda i: gram.block([0], i)):
        with pytest.raises(IndexError, match=r"0 \.\. 49"):
            ask(index)


@pytest.mark.parametrize("index", [[0.5], "a", [True, False], [[0, 1]], None])
def test_positions_that_are_not(index):
    with pytest.raises(TypeError, match="slice"):
        Gaussian(1).gram(X).rows(index)


def test_blocks():
    k = Gaussian(1)
    K, gram = k(X), k.gram(X)
    assert (gram.block(slice(0, 5), slice(0, 50)) == K[:5]).all()
    assert (gram.block([9, 3], [4, 5, 6]) == K[[9, 3], 4:7]).all()
    np.testing.assert_allclose(gram.block([9, 3], [40, 5, 6]), K[np.ix_([9, 3], [40, 5, 6])], rtol=1e-13)
    for kernel in (k, Custom(lambda a, b: float(a @ b), pairwise=True), Custom(lambda A, B: A @ B.T), Linear()):
        gram = kernel.gram(X)
        assert gram.block([], [1, 2]).shape == (0, 2)
        assert gram.block([1, 2], []).shape == (2, 0)
        assert gram.block([], []).shape == (0, 0)


@pytest.mark.parametrize(
    ("k", "n"),
    [(Gaussian(1.0), 20_000), (Gaussian(1.0).normalized(), 7_000), (Exponential(L2()) * Linear() + 1, 7_000)],
    ids=repr,
)
@pytest.mark.alone("measures memory")
def test_a_product_never_holds_the_matrix(k, n):
    gram = k.gram(np.random.default_rng(0).standard_normal((n, 3)).astype(np.float32))
    V = np.ones((n, 2), np.float32)
    tracemalloc.start()
    result = gram @ V
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * n * n / 8
    assert result.shape == (n, 2)
    rows = gram.rows([0, n - 1]).astype(np.float64)
    np.testing.assert_allclose(result[[0, n - 1], 0], rows.sum(axis=1), rtol=1e-4)


@pytest.mark.parametrize("V", [X[:, 0], X[:, :3]], ids=["vector", "matrix"])
def test_a_product_in_many_blocks(monkeypatch, V):
    monkeypatch.setattr(pairs, "BLOCK_BYTES", 8 * 70)
    monkeypatch.setattr(pairs, "BLOCK_ROWS", 6)
    monkeypatch.setattr(pairs, "BLOCK_COLUMNS", 10)
    k = Gaussian(1)
    np.testing.assert_allclose(k.gram(X) @ V, k(X) @ V, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        k.bind(*k.both(X, X[:17])).product(V[:17]), k(X, X[:17]) @ V[:17], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("V", [np.ones(49), np.ones((51, 2)), np.float64(1.0), np.ones((2, 50)), np.ones((50, 2, 2))])
def test_products_of_the_wrong_size(V):
    with pytest.raises(ValueError, match="50 rows"):
        Gaussian(1).gram(X) @ V


def test_products_with_integers_and_no_columns():
    gram = Linear().gram(X)
    np.testing.assert_allclose(gram @ np.ones(50, dtype=int), (X @ X.T).sum(axis=1), rtol=1e-10, atol=1e-12)
    assert (gram @ np.empty((50, 0))).shape == (50, 0)


def test_a_product_of_single_and_double_precision():
    gram = Gaussian(1).gram(X.astype(np.float32))
    assert (gram @ np.ones(50)).dtype == np.float64
    assert (gram @ np.ones(50, np.float32)).dtype == np.float32
    assert gram.exact.dtype == np.float64
    assert Gaussian(1).gram(X).exact.dtype == np.float64


@pytest.mark.parametrize("budget", [-1, -(10**9)])
def test_bad_budget(budget):
    with pytest.raises(ValueError, match="bytes >= 0"):
        Gaussian(1).gram(X, budget=budget)


def test_looks():
    gram = Gaussian(1).gram(X)
    assert repr(gram) == "Gram(Gaussian(sigma=1), 50 samples, float64)"
    assert (len(gram), gram.shape, gram.dtype) == (50, (50, 50), np.float64)
    assert isinstance(gram, Gram)


def objects(items):
    """A one-dimensional array of objects, whatever they are."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


# -- precomputed matrices and functions ---------------------------------------------------------------------------


class TestPrecomputed:
    K = X @ X.T

    def test_is_taken_as_it_is(self):
        gram = Precomputed().gram(self.K)
        assert (gram.to_dense() == self.K).all()
        assert (gram.rows([3, 1]) == self.K[[3, 1]]).all()
        assert (gram.block([3, 1], [7, 2, 40]) == self.K[np.ix_([3, 1], [7, 2, 40])]).all()
        assert (gram.diag() == np.diag(self.K)).all()
        np.testing.assert_allclose(gram @ X, self.K @ X)

    def test_new_samples_are_rows(self):
        assert (Precomputed()(self.K[:4], self.K) == self.K[:4]).all()
        with pytest.raises(ValueError, match="all 50 training samples"):
            Precomputed()(self.K[:4, :20], self.K)

    def test_part_of_the_training_samples(self):
        k = Precomputed()
        some = k.samples(self.K).take(np.array([5, 2, 9]))
        assert (k(some) == self.K[np.ix_([5, 2, 9], [5, 2, 9])]).all()
        assert (k.diag(some) == np.diag(self.K)[[5, 2, 9]]).all()

    def test_algebra(self):
        k = 2 * Precomputed() + 1
        np.testing.assert_allclose(k(self.K), 2 * self.K + 1)
        np.testing.assert_allclose(Precomputed().normalized()(self.K), Linear().normalized()(X), atol=1e-14)
        centered = Precomputed().centered().resolve(self.K)
        np.testing.assert_allclose(centered(self.K), Linear().centered().resolve(X)(X), atol=1e-12)

    def test_new_samples_have_no_diagonal(self):
        """Not even if there are as many as training samples, which makes their matrix square."""
        square, normalized = (X + 1) @ X.T, Precomputed().normalized()
        for new in (square, square[:4]):
            for use in (normalized.diag, Precomputed().diag, lambda A: normalized(A, self.K)):
                with pytest.raises(ValueError, match="new samples") as info:
                    use(new)
                assert str(new.shape) in str(info.value)
                assert "divide the matrix" in str(info.value)
        some = Precomputed().samples(self.K).take(np.array([5, 2]))
        np.testing.assert_allclose(normalized(some, self.K), Linear().normalized()(X[[5, 2]], X), atol=1e-14)

    def test_refusals(self):
        with pytest.raises(ValueError, match="symmetric"):
            Precomputed()(np.array([[1.0, 2.0], [3.0, 1.0]]))
        with pytest.raises(ValueError, match="square"):
            Precomputed().gram(np.ones((2, 5)))
        with pytest.raises(ValueError, match="shape"):
            Precomputed()(np.ones((2, 5)))
        with pytest.raises(ValueError, match="shape"):
            Precomputed()(np.ones((5, 2)))

    def test_is_exactly_symmetric_even_if_the_matrix_is_so_up_to_rounding(self):
        K = self.K.copy()
        K[0, 1] *= 1 + 1e-15
        result = Precomputed()(K)
        assert (result == result.T).all()

    def test_the_result_is_not_the_given_matrix(self):
        K = self.K.copy()
        Precomputed()(K)[...] = 0
        assert (self.K == K).all()


class TestCustom:
    def test_of_two_blocks(self):
        gram = Custom(lambda A, B: A @ B.T).gram(X)
        np.testing.assert_allclose(gram.rows([4, 2]), X[[4, 2]] @ X.T, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gram.diag(), (X**2).sum(axis=1))
        np.testing.assert_allclose(Custom(lambda A, B: A @ B.T)(sp.csr_array(X)), X @ X.T)

    def test_of_two_objects(self):
        words = ["abc", "bcd", "xyz", "ab"]
        k = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
        assert (k(words) == [[3, 2, 0, 2], [2, 3, 0, 1], [0, 0, 3, 0], [2, 1, 0, 2]]).all()
        assert (k(words, ["a"]) == [[1], [0], [0], [1]]).all()
        assert (k.gram(words).rows([3]) == [[2, 1, 0, 2]]).all()
        assert (k.diag(words) == [3, 3, 3, 2]).all()

    @pytest.mark.parametrize("words", [[["a", "b"], ["b", "c"]], [["a", "b"], ["b"]], [("a", "b"), ("b", "c")]])
    def test_of_lists_of_any_length(self, words):
        k = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
        assert k(words)[0].tolist() == [2, 1]

    @pytest.mark.parametrize("n", [50, 2000])  # one block of rows, and several
    @pytest.mark.slow("matrices of 2000 samples by a function of NumPy, in many ways")
    def test_a_function_that_is_not_symmetric_is_taken_as_it_is(self, n):
        A = np.random.default_rng(0).standard_normal((n, 2))

        def f(A, B):
            return A @ B.T + A[:, :1]

        expected = f(A, A)
        for k, K in [
            (Custom(f), expected),
            (2 * Custom(f) + Linear(), 2 * expected + A @ A.T),
            (Linear() * Custom(f), A @ A.T * expected),
            (Linear() + NegativeDistance(f, power=1), A @ A.T - expected),
        ]:
            gram = k.gram(A)
            np.testing.assert_allclose(k(A), K, atol=1e-11)
            np.testing.assert_allclose(gram.to_dense(), K, atol=1e-11)
            np.testing.assert_allclose(gram.rows([3, 1]), K[[3, 1]], atol=1e-11)
            np.testing.assert_allclose(gram.block([4, 3, 1], [2, 5]), K[np.ix_([4, 3, 1], [2, 5])], atol=1e-11)
            np.testing.assert_allclose(gram @ A, K @ A, atol=1e-8)

    def test_a_normalized_function_is_one_on_the_diagonal(self):
        w = np.linspace(0.1, 3, 20)
        k = Custom(lambda A, B: (A * w) @ B.T).normalized()
        assert (np.diag(k(X)) == 1).all()
        assert (k.gram(X).rows([7])[0, 7] == 1).all()

    @pytest.mark.parametrize("container", [list, tuple, objects], ids=["list", "tuple", "object array"])
    @pytest.mark.parametrize("shapes", [[(2, 3), (2, 3)], [(2, 3), (4, 3)], [(3,), (3,)], [(3,), (4,)]])
    def test_arrays_are_objects_of_equal_shape_or_not(self, container, shapes):
        images = container([np.arange(np.prod(shape)).reshape(shape) for shape in shapes])
        seen = []

        def f(a, b):
            seen.append((a.shape, a.dtype.kind))
            return a.sum() * b.sum()

        k = 2 * Custom(f, pairwise=True)
        totals = np.array([image.sum() for image in images])
        assert (k(images) == 2 * np.outer(totals, totals)).all()
        assert (k.diag(images) == 2 * totals**2).all()
        assert set(seen) == {(shape, "i") for shape in shapes}

    def test_a_wrong_shape_is_explained(self):
        with pytest.raises(ValueError, match="returned shape") as info:
            Custom(lambda A, B: A[:, 0])(X)
        assert "pairwise=True" in str(info.value)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_value_that_is_not_finite_is_refused(self, value):
        def matrix(A, B):
            return np.full((len(A), len(B)), value)

        for k in (
            Custom(matrix),
            Custom(lambda a, b: value, pairwise=True),
            Exponential(matrix),
            NegativeDistance(matrix, power=1),
        ):
            for use in (k, k.diag, lambda A, k=k: k.gram(A).rows([0]), lambda A, k=k: k.gram(A) @ A):
                with pytest.raises(ValueError, match="NaN or infinity") as info:
                    use(X)
                assert repr(k) in str(info.value)
                assert f"the first {value}" in str(info.value)

    def test_a_root_of_a_negative_distance_is_refused(self):
        with pytest.raises(ValueError, match="NaN or infinity"):
            Exponential(lambda A, B: -np.ones((len(A), len(B))), power=0.5)(X)

    def test_a_distance_from_itself_need_not_be_zero(self):
        def apart(A, B):
            return 0.5 + np.abs(A[:, None] - B[None]).sum(axis=2)

        for k, diagonal in ((Exponential(apart), np.exp(-0.25)), (NegativeDistance(apart), -0.25)):
            np.testing.assert_allclose(k.diag(X), diagonal)
            np.testing.assert_allclose(np.diag(k(X)), k.diag(X))
            np.testing.assert_allclose(k.gram(X).diag(), k.diag(X))

    def test_an_error_of_the_function_comes_through(self):
        with pytest.raises(ZeroDivisionError):
            Custom(lambda a, b: 1 / 0, pairwise=True)(X)

    def test_must_be_a_function(self):
        with pytest.raises(TypeError, match="function"):
            Custom(3)


def test_tables_have_a_gram_matrix_too():
    gram = Categorical().gram([["a", "x"], ["a", "y"], ["b", "y"]])
    assert (gram.rows([1]) == [[0.5, 1, 0.5]]).all()
    assert (gram.block([0, 2], [2, 0]) == [[0, 1], [1, 0]]).all()


def test_a_matrix_that_fits_is_held():
    gram = Gaussian(1).gram(X, budget=50 * ROW)
    held = gram.held()
    assert held.kernel == Precomputed()
    np.testing.assert_array_equal(held.to_dense(), gram.to_dense())
    some, others = np.array([7, 3, 40]), np.array([9, 2])
    np.testing.assert_allclose(held.block(some, others), gram.block(some, others), rtol=1e-12)
    np.testing.assert_allclose(held @ X, gram @ X, atol=1e-12)
    small = Gaussian(1).gram(X, budget=49 * ROW)
    assert small.held() is small
    assert held.held() is held


@pytest.mark.parametrize("kernel", [Gaussian(2), Precomputed()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gram_matrix_is_an_array(kernel, dtype):
    """By NumPy's protocol: of the dtype asked for, memory of its own, and no promise of none."""
    A = np.random.default_rng(0).random((20, 3)).astype(dtype)
    given = Linear()(A) if isinstance(kernel, Precomputed) else A
    K = kernel.gram(given)
    for array in (np.asarray(K), np.array(K), np.array(K, copy=True), np.asarray(K, dtype=dtype)):
        assert type(array) is np.ndarray
        assert array.dtype == dtype
        assert (array == K.to_dense()).all()
    other = np.float64 if dtype == np.float32 else np.float32
    assert np.asarray(K, dtype=other).dtype == other
    assert np.asarray(K, dtype=object).dtype == object
    with pytest.raises(ValueError, match="copy"):
        np.asarray(K, copy=False)
    np.asarray(K)[:] = 7  # nobody else's
    assert (np.asarray(K) == K.to_dense()).all()
    assert (np.asarray(K) != 7).any()
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.linalg.eigvalsh(K.to_dense()), atol=1e-4)
    np.testing.assert_allclose(np.ones(20) @ K, K @ np.ones(20), rtol=1e-4)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Gaussian(1.0) + 0.1 * Linear(), Gaussian(2.0).on([0, 1]) * Linear()], ids=repr
)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda gram: pickle.loads(pickle.dumps(gram))])
def test_a_gram_matrix_in_use_can_be_copied_and_pickled(kernel, copied):
    for gram in (kernel.gram(X, budget=10**6), kernel.gram(X.astype(np.float32), budget=10**6).exact):
        rows, product = gram.rows([3, 1]), gram @ X
        other = copied(gram)
        assert (other.computed, other.budget, other.given) == (0, gram.budget, gram.given)
        assert (other.rows([3, 1]) == rows).all()
        assert (other @ X == product).all()


@pytest.mark.parametrize("kernel", [Subsequence(3, 0.7).normalized(), WeightedDegree(3)], ids=repr)
def test_pickled_matrices_of_objects_give_the_same_solutions_to_the_last_bit(kernel):
    words = ["".join(word) for word in np.random.default_rng(0).choice(list("ACGT"), (60, 20))]
    problem, gram = hinge(np.resize([1.0, -1.0], 60), 1.0), kernel.gram(words)
    (expected,) = SMO().solve(gram, [problem])
    (found,) = SMO().solve(pickle.loads(pickle.dumps(gram)), [problem])
    assert (found.coefficients == expected.coefficients).all()
    assert (found.f == expected.f).all()


@pytest.mark.parametrize("V", [np.ones(50) * 1j, np.array(["a"] * 50), np.full(50, None)], ids=lambda V: V.dtype.str)
def test_products_with_what_is_no_real_number(V):
    with pytest.raises(TypeError, match="V must hold real numbers, but its dtype is"):
        Linear().gram(X) @ V
