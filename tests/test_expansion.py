import pickle
import subprocess
import sys

import numpy as np
import pytest

from mercer import Expansion
from mercer.kernels import Custom, Gaussian, Linear, Precomputed

from .kernels.cases import CASES
from .kernels.cases import DATA as CASE_DATA

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((40, 3)), rng.standard_normal((7, 3))


@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_is_the_sum_it_says(outputs):
    a = rng.standard_normal(40 if outputs is None else (40, outputs))
    a[::2] = 0
    f = Expansion.of(Gaussian(1.0), X, a, 0.5)
    assert len(f) == 20
    np.testing.assert_allclose(f(Z), Gaussian(1.0)(Z, X) @ a + 0.5, atol=1e-12)
    np.testing.assert_allclose(f.norm() ** 2, np.sum(a * (Gaussian(1.0)(X) @ a), axis=0), rtol=1e-12)


def test_the_zero_function():
    f = Expansion.of(Linear(), X, np.zeros(40), 2.0)
    np.testing.assert_array_equal(f(Z), np.full(7, 2.0))
    assert f.norm() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_segments_add_up(dtype):
    a = rng.standard_normal((40, 2))
    f = Expansion.of(Gaussian(1.0), X.astype(dtype), a, 0.5)
    starts = [0, 11, 11, 30]  # the second segment is empty
    parts = f.by_segment(Z.astype(dtype), starts)
    assert parts.shape == (7, 4, 2)
    K = Gaussian(1.0)(Z, X)
    np.testing.assert_allclose(parts[:, 0], K[:, :11] @ a[:11], atol=1e-5)
    np.testing.assert_array_equal(parts[:, 1], 0)
    np.testing.assert_allclose(parts.sum(axis=1) + 0.5, f(Z.astype(dtype)), atol=1e-5)


def test_a_precomputed_kernel_finds_its_columns():
    a = rng.standard_normal(40)
    a[3:30] = 0
    K = Linear()(X)
    f = Expansion.of(Precomputed(), K, a)
    np.testing.assert_allclose(f(Linear()(Z, X)), Linear()(Z, X) @ a, atol=1e-12)


@pytest.mark.parametrize("some", [slice(None), slice(1, 40, 2), slice(0, 1)])
def test_segments_of_a_precomputed_kernel(some):
    a = np.zeros((40, 2))
    a[some] = rng.standard_normal(a[some].shape)
    f = Expansion.of(Precomputed(), Linear()(X), a)
    K, starts = Linear()(Z, X), [0, 0, len(f) // 2]  # the first segment is empty
    parts = f.by_segment(K, starts)
    np.testing.assert_array_equal(parts[:, 0], 0)
    np.testing.assert_allclose(parts[:, 1], K[:, some][:, : starts[2]] @ a[some][: starts[2]], atol=1e-12)
    np.testing.assert_allclose(parts.sum(axis=1), K @ a, atol=1e-12)
    np.testing.assert_allclose(f.by_segment(K[:1], starts), parts[:1], atol=1e-12)


def test_objects():
    f = Expansion.of(Custom(lambda s, t: len(set(s) & set(t)), pairwise=True), ["ab", "bc", "cd"], [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(f(["a", "cd", "abcd"]), [1.0, 4.0, 6.0])


def test_wrong_coefficients_are_refused():
    with pytest.raises(ValueError, match="each of 40 samples"):
        Expansion.of(Linear(), X, np.ones(3))


@pytest.mark.alone("measures memory")
def test_prediction_holds_no_full_matrix():
    import tracemalloc

    big = rng.standard_normal((30_000, 2))
    f = Expansion.of(Gaussian(1.0), big, np.ones(30_000))
    tracemalloc.start()
    f(big[:5000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # the block of 5,000 x 30,000 would be 1.2e9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [17, 40, 41, 42, 43])
def test_bytes_are_compared_exactly(dtype, columns):
    """Their distances are sums of integers, whichever rows of the grid, or beside it, come later."""
    bytes_ = rng.integers(0, 256, size=(61, columns)).astype(dtype)
    a = rng.standard_normal(61)
    k = Gaussian(gamma=1e-6)
    f = Expansion.of(k, bytes_, a)

    def naive(rows):
        squares = np.square(rows.astype(float)[:, None] - bytes_.astype(float)[None]).sum(axis=2)
        return np.exp(-1e-6 * squares)

    beyond = np.clip(3 * bytes_[:9] - 300, -120, 380)  # on the grid, but not on the training samples' part of it
    between = bytes_[:9] + dtype(0.25)
    accuracy = 1e-12 if dtype == np.float64 else 4e-7
    for rows in (bytes_[:9], beyond, between):
        np.testing.assert_allclose(k(rows, bytes_), naive(rows), rtol=0, atol=accuracy)
        np.testing.assert_allclose(f(rows), naive(rows) @ a, rtol=0, atol=30 * accuracy)
    np.testing.assert_allclose(k(bytes_), naive(bytes_), rtol=0, atol=accuracy)
    np.testing.assert_array_equal(k(bytes_[:9], bytes_), k(bytes_, bytes_[:9]).T)


def test_a_part_of_the_samples_on_a_grid_does_not_speak_for_the_rest():
    X = np.random.default_rng(3).integers(0, 256, size=(61, 20)).astype(float)
    X[40:] += 0.37
    naive = np.exp(-1e-6 * np.square(X[:9, None] - X[None]).sum(axis=2))
    np.testing.assert_allclose(Gaussian(gamma=1e-6)(X[:9], X), naive, rtol=0, atol=1e-12)


# -- every kernel there is, whatever x is asked beside ---------------------------------------------------------------

BIAS = 0.25
#: What tables with nodes between samples may lose, and what rounding does.
TABLES, ROUNDING = 1e-5, 1e-12


def taken(rows, index):
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]


def expansion(case):
    """A function of some of the samples, with coefficients of both signs and two outputs, and those samples."""
    X, _ = CASE_DATA[case.data]
    rng = np.random.default_rng(4)
    a = rng.standard_normal((len(X), 2))
    a[rng.random(len(X)) < 0.6] = 0
    kept = np.flatnonzero(a.any(axis=1))
    return Expansion.of(case.kernel, X, a, BIAS), taken(X, kept), a[kept]


def orders(n):
    rng = np.random.default_rng(5)
    yield "all", np.arange(n)
    yield "in another order", rng.permutation(n)
    yield "some", np.arange(1, n, 3)
    yield "one repeatedly", np.array([7, 3, 7, 7, 3])
    yield from ((f"number {i} alone", np.array([i])) for i in (0, 7, n - 1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_do_not_depend_on_the_company(case):
    f, support, a = expansion(case)
    _, Z = CASE_DATA[case.data]
    K = np.asarray(case.naive(Z, support), dtype=float)
    expected, size = K @ a + BIAS, np.abs(K) @ np.abs(a) + BIAS
    allowed = (TABLES if case.data == "histograms" else ROUNDING) * size
    for what, function in (("fresh", f), ("pickled", pickle.loads(pickle.dumps(f)))):
        for which, index in orders(len(Z)):
            wrong = np.abs(function(taken(Z, index)) - expected[index]) - allowed[index]
            assert (wrong <= 0).all(), f"{what}, {which}: wrong by {wrong.max():.3g} more than rounding"


@pytest.mark.slow("a process of its own")
def test_values_are_the_same_in_another_process(tmp_path):
    """Whose hashes of text are others, and which has not seen the samples in the order that this one has."""
    portable = [case for case in CASES if not case.users]
    asked = {case.name: (expansion(case)[0], taken(CASE_DATA[case.data][1], [5, 2, 9])) for case in portable}
    (tmp_path / "asked").write_bytes(pickle.dumps(asked))
    program = (
        "import pickle, sys\n"
        "asked = pickle.load(open(sys.argv[1], 'rb'))\n"
        "pickle.dump({name: f(Z) for name, (f, Z) in asked.items()}, open(sys.argv[2], 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "asked", tmp_path / "told"], check=True)
    told = pickle.loads((tmp_path / "told").read_bytes())
    for name, (f, Z) in asked.items():
        np.testing.assert_allclose(told[name], f(Z), rtol=1e-12, atol=1e-12, err_msg=name)
