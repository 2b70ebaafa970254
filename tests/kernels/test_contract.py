"""The contract of a kernel, run on every kernel there is and on composed ones."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import mercer.kernels
from mercer.gram import Gram
from mercer.kernels.leaf import Unit

from .cases import CASES, DATA, Case

pytestmark = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

NAMES = {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__} | {"inf": np.inf}


def samples(case: Case, dtype=np.float64):
    if case.objects:
        exact = dtype == np.float64 or case.dtype32 == np.float64  # some have no other precision
        return DATA[case.data] if exact else tuple(as_objects(case, A, dtype) for A in DATA[case.data])
    return tuple(A.astype(dtype) for A in DATA[case.data])


def as_objects(case: Case, items, dtype):
    """Objects that are to be compared in this precision."""
    return case.kernel.samples(items).astype(dtype)


def close(K, expected, case: Case, tolerance: float) -> None:
    """Every entry agrees to a relative tolerance; where terms cancel, relative to the largest entry."""
    allowed = tolerance * (np.abs(expected).max() if case.signed else np.abs(expected))
    worst = np.abs(K - expected) - allowed
    assert (worst <= 0).all(), f"wrong by {np.abs(K - expected).max():.3g} at most"


def test_agrees_with_the_formula(case):
    X, Z = samples(case)
    close(case.kernel(X, Z), case.naive(X, Z), case, 1e-12)
    close(case.kernel(X), case.naive(X, X), case, 1e-12)


def test_agrees_in_single_precision(case):
    X, Z = samples(case, np.float32)
    expected = case.naive(X, Z) if case.objects else case.naive(X.astype(np.float64), Z.astype(np.float64))
    assert np.abs(case.kernel(X, Z) - expected).max() <= case.loose32 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_exactly_symmetric(case, dtype):
    if case.users:
        pytest.skip("a user's function is taken as it is")
    K = case.kernel(samples(case, dtype)[0])
    assert (K == K.T).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_diagonal(case, dtype):
    X, _ = samples(case, dtype)
    K, diagonal = case.kernel(X), case.kernel.diag(X)
    assert diagonal.shape == (len(X),)
    np.testing.assert_allclose(np.diag(K), diagonal, rtol=1e-12 if dtype == np.float64 else 1e-5, atol=1e-13)
    if isinstance(case.kernel, Unit):
        assert (diagonal == 1).all()
        assert (np.diag(K) == 1).all()


def test_shapes_and_types(case):
    X, Z = samples(case)
    x, z = samples(case, np.float32)
    assert case.kernel(X, Z).shape == (len(X), len(Z))
    assert case.kernel(X[:1], Z[:1]).shape == (1, 1)
    assert case.kernel(X[:3]).shape == (3, 3)
    for a, b, dtype in [(X, Z, np.float64), (x, Z, np.float64), (X, z, np.float64), (x, z, case.dtype32)]:
        assert case.kernel(a, b).dtype == dtype
    assert case.kernel(x).dtype == case.kernel.gram(x).dtype == case.kernel.gram(x).diag().dtype == case.dtype32
    assert case.kernel.diag(x).dtype == case.dtype32
    assert case.kernel.diag(X).dtype == np.float64


def test_valid_kernels_have_no_negative_eigenvalues(case):
    if case.kernel.validity != "psd":
        pytest.skip(f"validity is {case.kernel.validity}")
    values = np.linalg.eigvalsh(case.kernel(samples(case)[0]))
    assert values[0] >= -1e-12 * values[-1]


def test_is_a_value(case):
    again = pickle.loads(pickle.dumps(case.kernel))
    assert again == case.kernel
    assert hash(again) == hash(case.kernel)
    assert case.kernel != mercer.kernels.Gaussian(0.123)
    X, Z = samples(case)
    assert (again(X[:5], Z[:5]) == case.kernel(X[:5], Z[:5])).all()
    for name in vars(case.kernel):
        with pytest.raises(AttributeError):
            setattr(case.kernel, name, 1)


def test_repr_can_be_evaluated(case):
    if not case.expression:
        pytest.skip("its repr is not an expression")
    assert eval(repr(case.kernel), dict(NAMES)) == case.kernel


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_samples(case, form):
    if case.objects:
        pytest.skip("compares objects")
    X, Z = samples(case)
    close(case.kernel(form(X), form(Z)), case.kernel(X, Z), case, 1e-12)
    close(case.kernel(form(X)), case.kernel(X), case, 1e-12)
    close(case.kernel(form(X), Z), case.kernel(X, Z), case, 1e-12)
    close(case.kernel.diag(form(X)), case.kernel.diag(X), case, 1e-12)


def _every_second(A):
    wide = np.full((2 * A.shape[0], 3 * A.shape[1]), 9.0, dtype=A.dtype)
    wide[::2, ::3] = A
    return wide[::2, ::3]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": _every_second,
    "reversed": lambda A: np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1],
    "part": lambda A: np.hstack([A, A])[:, : A.shape[1]],
    "read-only": lambda A: np.lib.stride_tricks.as_strided(A, writeable=False),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_memory_order_does_not_matter(case, layout):
    if case.objects:
        pytest.skip("compares objects")
    X, Z = samples(case)
    close(case.kernel(layout(X), layout(Z)), case.kernel(X, Z), case, 1e-14)
    close(case.kernel(layout(X)), case.kernel(X), case, 1e-14)


def test_gram_agrees(case):
    X, _ = samples(case)
    K, gram = case.kernel(X), case.kernel.gram(X)
    assert isinstance(gram, Gram)
    some, others = np.array([149, 0, 7, 7, 80]), np.array([3, 149, 60])
    close(gram.to_dense(), K, case, 1e-14)
    close(gram.rows(some), K[some], case, 1e-13)
    close(gram.rows(some), K[some], case, 1e-13)  # now from the cache
    close(gram.block(some, others), K[np.ix_(some, others)], case, 1e-12)
    close(gram.block(slice(10, 30), slice(5, 150)), K[10:30, 5:150], case, 1e-13)
    V = np.linspace(-1, 1, 2 * len(X)).reshape(len(X), 2)
    np.testing.assert_allclose(gram @ V, K @ V, rtol=1e-10, atol=1e-11 * np.abs(K).max())
    np.testing.assert_allclose(gram @ V[:, 0], K @ V[:, 0], rtol=1e-10, atol=1e-11 * np.abs(K).max())
    np.testing.assert_allclose(gram.diag(), case.kernel.diag(X), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_do_not_depend_on_the_block(case, dtype):
    if case.users:
        pytest.skip("a user's function may round differently from block to block")
    X, _ = samples(case, dtype)
    gram = case.kernel.gram(X, budget=0)
    whole = gram.rows(slice(None))
    assert (gram.to_dense() == whole).all()
    for i in (0, 5, 143, 144, 149):
        assert (gram.rows([i])[0] == whole[i]).all()
    assert (gram.rows([149, 3, 77]) == whole[[149, 3, 77]]).all()
    assert (gram.block(slice(141, 150), slice(3, 147)) == whole[141:150, 3:147]).all()


def test_threads_do_not_change_the_result(case, set_threads):
    X, Z = samples(case, np.float32)
    results = []
    for threads in (1, 2):
        set_threads(threads)
        gram = case.kernel.gram(X, budget=0)
        results.append((case.kernel(X, Z), case.kernel(X), gram.rows([5, 149]), gram.rows([7])))
    for one, two in zip(*results, strict=True):
        assert (one == two).all()


@pytest.mark.slow("every kernel on every instruction set")
def test_instruction_sets_agree(case, instruction_set):
    X, Z = samples(case)
    close(case.kernel(X, Z), case.naive(X, Z), case, 1e-12)
    K = case.kernel(X)
    assert case.users or (K == K.T).all()
    if isinstance(case.kernel, Unit):
        assert (np.diag(K) == 1).all()
    x, z = samples(case, np.float32)
    expected = case.naive(x, z)
    assert np.abs(case.kernel(x, z) - expected).max() <= case.loose32 * max(1.0, np.abs(expected).max())
