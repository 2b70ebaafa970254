"""The door for data: what comes in unchanged, what is converted, and what is refused and with which words."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import SVC, Expansion
from mercer.kernels import (
    Categorical,
    Chi2,
    Exponential,
    Gaussian,
    HellingerDistance,
    Intersection,
    Linear,
    Mahalanobis,
)
from mercer.samples import Objects, SparseVectors, Table, Vectors, as_samples

FRAMES = [pd.DataFrame, pl.DataFrame]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("view", [lambda A: A, np.asfortranarray, lambda A: A[::-2, ::3], lambda A: A.T])
def test_float_arrays_are_not_copied(dtype, view):
    A = view(np.arange(60, dtype=dtype).reshape(6, 10))
    samples = as_samples(A)
    assert isinstance(samples, Vectors)
    assert samples.dtype == dtype
    assert np.shares_memory(samples.array, A)


def test_samples_pass_unchanged():
    samples = as_samples(np.eye(2))
    assert as_samples(samples) is samples


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        ([[1, 2], [3, 4]], np.float64),
        (((1.0, 2.0), (3.0, 4.0)), np.float64),
        ([np.array([1, 2]), np.array([3, 4])], np.float64),
        (np.array([[1, 2], [3, 4]], dtype=np.int8), np.float64),
        (np.array([[1, 2], [3, 4]], dtype=np.uint64), np.float64),
        (np.array([[1, 2], [3, 4]], dtype=">f8"), np.float64),
        (np.array([[1, 2], [3, 4]], dtype=np.longdouble), np.float64),
        (np.array([[1, 2], [3, 4]], dtype=np.float16), np.float32),
        (np.array([[1, 2], [3, 4]], dtype=object), np.float64),
        (pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}), np.float64),
        (pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype="Int64"), np.float64),
        (pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype=np.float32), np.float32),
        (pl.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}), np.float64),
        (pl.DataFrame({"a": [1, 3], "b": [2, 4]}).cast(pl.Float32), np.float32),
    ],
)
def test_numbers_of_any_kind(X, dtype):
    samples = as_samples(X)
    assert isinstance(samples, Vectors)
    assert samples.dtype == dtype
    assert (samples.dense() == [[1, 2], [3, 4]]).all()


def test_booleans_are_zeros_and_ones():
    assert (as_samples(np.array([[True, False]])).dense() == [[1.0, 0.0]]).all()


def test_broadcast_and_unaligned_memory():
    A = np.broadcast_to(np.arange(3.0), (4, 3))
    assert (Linear()(A) == 5).all()
    packed = np.zeros(4, dtype=[("tag", "i1"), ("x", "f8", 3)])
    packed["x"] = np.arange(3.0)
    assert (Linear()(packed["x"]) == 5).all()


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array, sp.csc_matrix])
def test_sparse(form):
    A = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    samples = as_samples(form(A))
    assert isinstance(samples, SparseVectors)
    assert (samples.dense() == A).all()
    assert (Linear()(form(A)) == A @ A.T).all()


def test_sparse_rows_are_put_in_order_without_touching_the_original():
    A = sp.csr_array((np.array([5.0, 1.0, 2.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3))
    assert (Linear()(A) == [[50.0]]).all()
    assert A.data.tolist() == [5.0, 1.0, 2.0, 0.0]
    assert (as_samples(A).array.indices == [0, 2]).all()


def test_sparse_float32_stays_and_others_become_float64():
    assert as_samples(sp.csr_array(np.eye(2, dtype=np.float32))).dtype == np.float32
    assert as_samples(sp.csr_array(np.eye(2, dtype=np.int32))).dtype == np.float64
    assert as_samples(sp.csr_array(np.eye(2, dtype=bool))).dtype == np.float64


REFUSED = [
    ([1.0, 2.0], ValueError, ["1-D", "(2,)", "reshape(-1, 1)", "reshape(1, -1)"]),
    (np.zeros((2, 3, 4)), ValueError, ["2-D", "(2, 3, 4)", "reshape(len(X), -1)"]),
    (np.zeros((0, 3)), ValueError, ["0 sample", "(0, 3)"]),
    ([], ValueError, ["0 sample", "list"]),
    (np.zeros((3, 0)), ValueError, ["0 feature", "(3, 0)"]),
    (3.0, TypeError, ["2-D", "float"]),
    (None, TypeError, ["2-D", "NoneType"]),
    ("text", TypeError, ["2-D", "str"]),
    ({1: 2}, TypeError, ["dict"]),
    ({1.0, 2.0}, TypeError, ["set"]),
    ((x for x in [[1.0]]), TypeError, ["generator"]),
    (np.array([[1.0, np.nan], [np.nan, 1.0]]), ValueError, ["X contains NaN.", "row 0, column 1", "2 such"]),
    (np.array([[1.0, 2.0], [np.inf, 1.0]]), ValueError, ["infinity or a value too large for dtype", "row 1, column 0"]),
    (np.array([[np.inf, -np.inf]]), ValueError, ["infinity", "row 0, column 0", "2 such"]),
    (np.array([[1, np.nan]], dtype=np.float32), ValueError, ["NaN", "row 0, column 1"]),
    (np.array([[1 + 2j]]), ValueError, ["Complex", "real"]),
    (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, ["numbers", "datetime64"]),
    (sp.csr_array((3, 0)), ValueError, ["at least one", "(3, 0)"]),
    (sp.csr_array((0, 3)), ValueError, ["at least one", "(0, 3)"]),
    (sp.csr_array(np.array([[1j]])), TypeError, ["real", "complex128"]),
    (sp.csr_array(np.array([[np.nan]])), ValueError, ["Input X contains NaN.", "finite", "impute"]),
    (sp.coo_array(np.array([1.0, 2.0])), ValueError, ["2-D", "1"]),
    (pd.DataFrame({"a": []}), ValueError, ["at least one row", "(0, 1)"]),
    (pd.DataFrame(index=[1, 2]), ValueError, ["at least one"]),
    (pd.DataFrame({"age": [1.0, None], "b": [1, 2]}), ValueError, ["'age'", "1 missing", "fill or drop"]),
    (pl.DataFrame({"age": [1.0, None], "b": [1, 2]}), ValueError, ["'age'", "1 missing", "fill or drop"]),
    (pd.DataFrame({"city": ["a", None]}), ValueError, ["'city'", "1 missing"]),
    (pl.DataFrame({"age": [1.0, float("nan")]}), ValueError, ["NaN", "row 1, column 'age'"]),
    (pd.Series([1.0, 2.0]), ValueError, ["1-D", "reshape(-1, 1)"]),
    (pl.Series([1.0, 2.0]), ValueError, ["1-D", "reshape(-1, 1)"]),
    (np.array([[10**400, 1]], dtype=object), ValueError, ["beyond", "float64", "rescale"]),
    (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ValueError, ["'a', 'a'", "rename"]),
    (list(np.ma.masked_equal([[0.0, 1.0], [2.0, 3.0]], 0.0)), ValueError, ["1 entries are masked", "fill or drop"]),
]


@pytest.mark.parametrize(
    ("X", "error", "words"), REFUSED, ids=lambda v: type(v).__name__ if not isinstance(v, list) else ""
)
def test_refused(X, error, words):
    with pytest.raises(error) as info:
        as_samples(X)
    for word in words:
        assert word in str(info.value)


def test_enormous_but_finite_numbers_are_welcome():
    assert len(as_samples(np.full((2, 3), 1.7e308))) == 2
    assert len(as_samples(np.array([[1.7e308, -1.7e308]] * 2))) == 2


@pytest.mark.parametrize("k", [Intersection(), Chi2(), Exponential(HellingerDistance())], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_histograms(k, form):
    with pytest.raises(ValueError, match="Negative values") as info:
        k(form(np.array([[1.0, -0.25]])))
    for word in (">= 0", "-0.25", "clip"):
        assert word in str(info.value)


def test_columns_must_match():
    with pytest.raises(ValueError, match="X has 2 columns and Z has 3") as info:
        Gaussian(1)(np.eye(2), np.eye(3))
    assert "Gaussian(sigma=1)" in str(info.value)
    with pytest.raises(ValueError, match="2 columns and Z has 3"):
        Categorical()([["a", "b"]], [["a", "b", "c"]])
    with pytest.raises(ValueError, match="3 widths"):
        Gaussian([1, 2, 3])(np.eye(2))


@pytest.mark.parametrize("frame", FRAMES)
def test_frames(frame):
    numbers = as_samples(frame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    assert isinstance(numbers, Vectors)
    assert numbers.names == ("a", "b")
    table = as_samples(frame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    assert isinstance(table, Table)
    assert isinstance(table.select("a"), Vectors)
    assert len(table) == 2
    with pytest.raises(ValueError, match="'b' does not hold numbers") as info:
        Linear()(frame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    assert ".on(" in str(info.value)


ODD = {
    "text": (["x", "y"], "'b' does not hold numbers but text, and this"),
    "dates": (pd.to_datetime(["2020-01-01", "2021-01-01"]).to_list(), "'b' does not hold numbers but dates, and this"),
    "objects": ([{1}, {2}], "'b' does not hold numbers but objects of type set, and this"),
}


@pytest.mark.parametrize("k", [Linear(), Gaussian(1), Intersection(), 2 * Linear() + Gaussian(1)], ids=repr)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("frame", FRAMES)
def test_mixed_frames_and_kernels_of_vectors(frame, kind, k):
    """The message names the column, says what it holds, and how to write it with the columns that there are."""
    column, words = ODD[kind]
    if kind == "objects" and frame is pl.DataFrame:
        column = pl.Series(column, dtype=pl.Object)
    X = frame({"a": [1.0, 2.0], "b": column})
    for call in (lambda: k(X), lambda: SVC(kernel=k).fit(X, [0, 1])):
        with pytest.raises(ValueError, match="does not hold") as info:
            call()
        assert words in str(info.value)
        assert ".on(...), for example Gaussian(1).on('a') * Categorical().on('b')" in str(info.value)


def test_several_columns_of_no_numbers():
    X = pd.DataFrame({name: ["x", "y"] for name in "abcdefg"} | {"size": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"'a' does not hold numbers but text \(nor does 'b', 'c', 'd' and 3 more\)"):
        Linear()(X)
    with pytest.raises(ValueError, match=r"column 1 .* Gaussian\(1\)\.on\(0\) \* Categorical\(\)\.on\(1\)"):
        Linear()(np.array([[1, "x"]], dtype=object))


@pytest.mark.parametrize("frame", FRAMES)
def test_unknown_columns(frame):
    X = frame({"age": [1.0, 2.0], "city": ["x", "y"]})
    with pytest.raises(ValueError, match="no column 'agee'") as info:
        Gaussian(1).on("agee")(X)
    assert "'age', 'city'" in str(info.value)
    with pytest.raises(ValueError, match="no column 2"):
        Gaussian(1).on(2)(X)
    with pytest.raises(ValueError, match="no column names") as info:
        Gaussian(1).on("age")(np.eye(2))
    assert "data frame" in str(info.value)


@pytest.mark.parametrize("columns", [slice(0, 2), None, 1.5], ids=repr)
def test_columns_that_are_no_list(columns):
    with pytest.raises(TypeError, match="name or number") as info:
        Linear().on(columns)
    assert repr(columns) in str(info.value)


@pytest.mark.parametrize("k", [Linear(), Gaussian(1), Categorical(), Linear() + 1], ids=repr)
@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.__module__)
def test_columns_are_compared_by_name(k, frame):
    A = np.random.default_rng(0).standard_normal((5, 3))
    X = frame(dict(zip("abc", A.T, strict=True)))
    reordered = frame(dict(zip("cab", A[:, [2, 0, 1]].T, strict=True)))
    assert (k(X, reordered) == k(A, A)).all()
    assert (k(X, A) == k(A, A)).all()
    other = frame(dict(zip("abq", A.T, strict=True)))
    with pytest.raises(ValueError, match="only X has 'c' and only Z has 'q'"):
        k(X, other)
    assert (k.on(["a", "b"])(X, other) == k.on([0, 1])(A, A)).all()


def test_columns_with_numbers_for_names_are_compared_by_position():
    """As scikit-learn does: only text is a name."""
    X, Z = pd.DataFrame(np.eye(2), columns=["a", "b"]), pd.DataFrame(np.eye(2))
    assert (Linear()(X, Z) == np.eye(2)).all()
    assert (Linear()(Z[[1, 0]], Z) == np.eye(2)[::-1]).all()
    assert (Linear().on(1)(Z) == [[0, 0], [0, 1]]).all()


def test_whitened_columns_are_compared_by_name():
    X = pd.DataFrame(np.eye(3), columns=list("abc"))
    k = Exponential(Mahalanobis(np.diag([1.0, 2.0, 3.0])))
    assert (k(X, X[["b", "c", "a"]]) == k(np.eye(3), np.eye(3))).all()
    with pytest.raises(ValueError, match="only X has 'c'"):
        k(X, X.rename(columns={"c": "q"}))


@pytest.mark.parametrize("k", [Linear(), Gaussian(1)], ids=repr)
def test_a_model_knows_its_columns_by_name(k):
    X = pd.DataFrame(np.eye(3), columns=list("abc"))
    f = Expansion.of(k, X, np.arange(3.0))
    assert (f(X[["c", "b", "a"]]) == f(X)).all()
    with pytest.raises(ValueError, match="only X has 'q' and only Z has 'c'"):
        f(X.rename(columns={"c": "q"}))
    with pytest.raises(ValueError, match="the order differs"):  # behind the door nothing is put in order
        k.bind(as_samples(X), as_samples(X[["c", "b", "a"]]))


@pytest.mark.parametrize("columns", [[True, False, True], [1.5], [], [None]])
def test_columns_that_are_neither_names_nor_numbers(columns):
    with pytest.raises((ValueError, TypeError)):
        Linear().on(columns)(np.eye(3))


def test_objects():
    assert isinstance(as_samples(["ab", "c"]), Objects)
    assert isinstance(as_samples([[1, 2], [3]]), Objects)
    assert isinstance(as_samples([{"a": 1}, {"b": 2}]), Objects)
    with pytest.raises(TypeError, match="objects of type str") as info:
        Linear()(["ab", "c"])
    assert "expected vectors" in str(info.value)
    with pytest.raises(TypeError, match="no columns"):
        Linear().on(0)(["ab", "c"])


def test_a_column_of_digits_written_as_text_stays_text():
    """Postal codes: '01234' is not '1234', and a code with a letter may come later."""
    for column in (np.array(["01234", "1234"], dtype=object), pd.Series(["01234", "1234"])):
        K = Categorical().on("code")(pd.DataFrame({"code": column}))
        assert K.tolist() == [[1, 0], [0, 1]]
    K = Categorical().on("code")(pd.DataFrame({"code": ["12", "13"]}), pd.DataFrame({"code": ["12", "A1"]}))
    assert (K == [[1, 0], [0, 0]]).all()


def test_masked_arrays_do_not_lose_their_mask():
    with pytest.raises((ValueError, TypeError)):
        as_samples(np.ma.masked_array(np.eye(2), mask=[[True, False], [False, False]]))


def test_a_matrix_is_an_array():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        X = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert Intersection().diag(X).tolist() == [3.0, 7.0]
    assert type(Linear()(X)) is np.ndarray


@pytest.mark.parametrize(
    "X",
    [
        np.arange(6.0).reshape(3, 2)[::-1],
        sp.csr_array(np.eye(3)),
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        ["ab", "c"],
    ],
    ids=["vectors", "sparse", "table", "objects"],
)
def test_samples_are_values(X):
    samples = as_samples(X)
    again = pickle.loads(pickle.dumps(samples))
    assert again == samples
    assert hash(again) == hash(samples)
    some = samples.take(np.array([1, 0]))
    assert len(some) == 2
    assert some != samples
    assert some.take(np.array([1, 0])) == samples.take(np.array([0, 1]))


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([50_000_000, 0, 1], [0, 1, 3]),
        ([0, -1, 1], [0, 1, 3]),
        ([0, 1, 2], [0, 3, 2]),
        ([0, 1, 2], [0, 5_000_000, 3]),
        ([0, 1, 2], [0, 1, 4]),
        ([0, 1, 2], [1, 2, 3]),
        ([0, 1, 2], [0, 1]),
        ([0, 1], [0, 1, 2]),
    ],
)
def test_sparse_indices_outside_the_shape_are_refused(indices, indptr):
    broken = sp.csr_array((np.ones(3), [0, 1, 2], [0, 1, 3]), shape=(2, 3))
    broken.indices, broken.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="malformed"):
        as_samples(broken)


def test_misaligned_memory_is_copied():
    memory = np.frombuffer(b"\0" * 17, dtype=np.uint8)[1:].view(np.float64).reshape(1, 2)
    assert as_samples(memory).array.flags.aligned


@pytest.mark.parametrize(
    "X",
    [
        np.arange(12.0).reshape(4, 3),
        sp.csr_array(np.eye(4)),
        ["a", "bc", "d", ""],
        pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "c": list("abca")}),
    ],
    ids=["vectors", "sparse", "objects", "table"],
)
def test_parts_joined_are_the_whole(X):
    whole = as_samples(X)
    parts = [whole.take(np.arange(3)), whole.take(np.array([3]))]
    assert parts[0].joined(parts[1]) == whole
    with pytest.raises(TypeError, match="cannot be joined"):
        whole.joined(as_samples(np.ones((2, 7))))
