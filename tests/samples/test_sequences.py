"""Sequences: strings, bytes and tokens through the door, taken apart and put together again."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.kernels import Categorical, Custom, Gaussian, Spectrum
from mercer.samples import Objects, Sequences, as_samples, as_sequences

TEXTS = ["GATTACA", "", "naïve \U0001d54f", "TACO"]


@pytest.mark.parametrize(
    "given",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS)[:, None],
        pd.Series(TEXTS),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS]),
        pa.table({"s": TEXTS}),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype="category"),
        np.array(TEXTS, dtype=np.dtypes.StringDType()),
        pd.DataFrame({"s": TEXTS}),
        as_samples(TEXTS),
    ],
    ids=lambda given: type(given).__name__,
)
def test_strings_from_anything(given):
    x = as_sequences(given)
    assert isinstance(x, Sequences)
    assert x.content() == TEXTS
    assert as_sequences(x) is x


def test_bytes_are_letters():
    x = as_sequences([b"GATTACA", bytearray(b"\xff\x00")])
    assert x.content() == ["GATTACA", "\xff\x00"]
    assert Spectrum(2)([b"GATTACA"], ["ATTA"]) == 3
    for column in (np.array, pd.Series, pl.Series, pa.array):
        assert as_sequences(column([b"GAT", b"TA"])).content() == ["GAT", "TA"]


def test_tokens():
    rows = [["to", "be"], [], [("or",), 4, "to"]]
    assert as_sequences(rows).content() == rows
    assert as_sequences([["a", "b"], ["c", "d"]]).content() == [["a", "b"], ["c", "d"]]  # no table
    assert as_sequences([np.array([1, 2]), np.array([3])]).content() == [[1, 2], [3]]
    for column in (pd.Series, pl.Series, pa.array):
        assert as_sequences(column([["to", "be"], ["or"]])).content() == [["to", "be"], ["or"]]
    assert (Spectrum(1)([[1, 2], [2, 3]]) == [[2, 1], [1, 2]]).all()


def test_take_copy_and_equality():
    x = as_sequences(TEXTS)
    assert x.take(np.array([3, 0, 3])).content() == ["TACO", "GATTACA", "TACO"]
    assert x.take(np.array([], dtype=np.int64)).content() == []
    assert x.copy() == x
    assert hash(x.copy()) == hash(x)
    assert x != as_sequences(TEXTS[:3])
    again = pickle.loads(pickle.dumps(x))
    assert again == x
    assert x.astype(np.float32).dtype == np.float32


def test_memory_is_as_stated():
    x = as_sequences(["ACGT" * 50] * 100)
    assert x.nbytes == 4 * 20_000 + 8 * 101


@pytest.mark.parametrize(
    ("given", "error", "what"),
    [
        ("GATTACA", TypeError, "single str"),
        ([], ValueError, r"found 0 sample\(s\)"),
        (["GAT", None], TypeError, "sample 1 is None, a NoneType; missing values must be filled or dropped"),
        (pd.Series(["GAT", pd.NA], dtype="string"), TypeError, "sample 1 is (<NA>|nan|None), a"),
        ([["GAT"], {"GAT": 1}], TypeError, "sample 1 is {'GAT': 1}, a dict"),
        ([["GAT"], {"GAT"}], TypeError, "sample 1 is {'GAT'}, a set"),
        ([np.int64(1), np.int64(2)], TypeError, "sample 0 is 1, a int64"),
        (["GAT", float("nan")], TypeError, "sample 1 is nan"),
        (["GAT", b"GAT"], TypeError, "1 strings, 1 bytes and 0 others"),
        ([[1.0, 2.0], [[3.0], [4.0]]], TypeError, "sample 1 is a list"),
        (np.eye(3), TypeError, r"got vectors; pick a column of strings with .on\('column'\)"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), TypeError, "a table of 2 columns"),
    ],
)
def test_what_is_no_sequence_is_refused(given, error, what):
    with pytest.raises(error, match=what):
        as_sequences(given)


def test_a_list_of_strings_still_means_categories_to_kernels_of_categories():
    assert isinstance(as_samples(["a", "b"]), Objects)
    assert (Custom(lambda a, b: len(a + b), pairwise=True)(["a", "bc"]) == [[2, 3], [3, 4]]).all()
    frame = pd.DataFrame({"s": ["GAT", "TAC", "GAT"], "n": [1.0, 2.0, 1.0], "c": ["u", "u", "v"]})
    k = Spectrum(1).on("s") * Gaussian(1).on("n") + Categorical().on("c")
    e = np.exp(-0.5)
    np.testing.assert_allclose(k(frame), [[4, 2 * e + 1, 3], [2 * e + 1, 4, 2 * e], [3, 2 * e, 4]])


@pytest.mark.parametrize(
    "X", [["GATTACA", "", "TAXI", "ZZ"], [["to", "be"], ["or"], [], [1, "to"]]], ids=["text", "tokens"]
)
def test_parts_joined_are_the_whole(X):
    whole = as_sequences(X)
    assert as_sequences(X[:2]).joined(as_sequences(X[2:])).content() == whole.content()
    assert set(as_sequences(X[:2]).joined(as_sequences(X[2:])).letters) == set(whole.letters)
    with pytest.raises(TypeError, match="cannot be joined"):
        whole.joined(as_samples([[1.0]]))
