"""Kernels of columns and maps: tables of numbers and categories, sparse columns in any order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer.kernels import Categorical, Gaussian, Laplacian, Linear, Squares

X = np.random.default_rng(4).standard_normal((12, 3))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables(frame):
    ages, cities = np.array([20.0, 30.0, 40.0]), ["Oslo", "Rome", "Oslo"]
    people = frame({"age": ages, "city": cities, "height": [1.5, 1.75, 2.0]})
    k = Gaussian(10).on("age") * Categorical().on("city") + Linear().on(["height", "age"])
    same = np.equal.outer(np.array(cities), np.array(cities))
    age = np.exp(-(np.subtract.outer(ages, ages) ** 2) / 200)
    height = np.array([1.5, 1.75, 2.0])
    np.testing.assert_allclose(k(people), age * same + np.outer(height, height) + np.outer(ages, ages), rtol=1e-12)
    np.testing.assert_allclose(k.diag(people), np.diag(k(people)), rtol=1e-12)
    new = frame({"age": [25.0], "city": ["Bern"], "height": [2.0]})
    np.testing.assert_allclose(k(people, new)[:, 0], height * 2 + ages * 25, rtol=1e-12)
    np.testing.assert_allclose(k.gram(people).rows([2]), k(people)[[2]], rtol=1e-12)
    assert k.validity == "psd"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_of_new_tables_are_matched_by_value(frame):
    train, test = frame({"c": ["b", "a", "c"]}), frame({"c": ["z", "c", "a"]})
    assert Categorical().on("c")(train, test).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert Categorical()(train).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_categories_of_any_pandas_type(dtype):
    column = pd.Series(["x", "y", "x"], dtype=dtype)
    assert Categorical().on("c")(pd.DataFrame({"c": column, "n": [1, 2, 3]}))[0].tolist() == [1, 0, 1]


def test_numeric_categories():
    table = pd.DataFrame({"c": [1, 2, 1], "s": ["x", "y", "x"]})
    assert Categorical().on("c")(table)[0].tolist() == [1, 0, 1]
    assert Categorical()(table)[0].tolist() == [1, 0, 1]


def test_parts_of_on_have_their_names():
    assert Linear().on([0, 1]).columns == (0, 1)
    assert Linear().on(Squares()).map == Squares()


def test_on_columns():
    A = pd.DataFrame(X, columns=["a", "b", "c"])
    assert (Linear().on("b")(A) == Linear()(X[:, 1:2])).all()
    assert (Linear().on(["c", "a"])(A) == Linear()(X[:, [2, 0]])).all()
    assert (Linear().on(1)(A) == Linear().on(1)(X)).all()
    assert (Linear().on(-1)(X) == Linear().on(2)(X)).all()
    assert (Linear().on(lambda B: B**2)(X) == Linear()(X**2)).all()


def test_columns_of_sparse_rows_in_any_order():
    """Thin rows, so that the inverted index is used; close in pairs, so that rows are merged, which needs an order."""
    rng = np.random.default_rng(0)
    A = np.zeros((40, 400))
    for i, row in enumerate(A):
        row[i // 2] = 1e6
        row[rng.choice(np.arange(20, 400), 3, replace=False)] = rng.gamma(2.0, size=3)
    columns = list(range(400))[::-1]
    for kernel in (Laplacian(0.3), Gaussian(1.0)):
        expected = kernel(A[:, columns])
        assert (expected[::2, 1::2].diagonal() > 0).all()
        np.testing.assert_allclose(kernel.on(columns)(sp.csr_array(A)), expected, atol=1e-12)
