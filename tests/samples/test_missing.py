"""Missing values: where nobody reads them they change nothing; where somebody does they are refused, or a level."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from mercer import SVC, KernelPerceptron, KernelRidge
from mercer.kernels import (
    Categorical,
    Custom,
    Delta,
    FeatureMap,
    Gaussian,
    Linear,
    SetKernel,
    Spectrum,
    Squares,
    WeisfeilerLehman,
)
from mercer.samples import as_samples

from ..names import named

N = 24
rng = np.random.default_rng(7)
AGE, PAY = rng.standard_normal(N), rng.standard_normal(N)
CITY = [["Oslo", "Rome", "Bern"][i] for i in rng.integers(0, 3, N)]
Y = rng.integers(0, 2, N)
GAPS = rng.random(N) < 0.4


def holes(values):
    return [None if gap else value for gap, value in zip(GAPS, values, strict=True)]


#: Whole columns, and the same with gaps, of every kind that libraries have.
COLUMNS = {
    "floats": (PAY.tolist(), "float64", pl.Float64, pa.float64()),
    "nullable floats": (PAY.tolist(), "Float64", pl.Float32, pa.float32()),
    "integers": (list(range(N)), "Int64", pl.Int64, pa.int64()),
    "booleans": ([i % 2 == 0 for i in range(N)], "boolean", pl.Boolean, pa.bool_()),
    "text": (CITY, "str", pl.String, pa.string()),
    "text of Arrow": (CITY, "string[pyarrow]", pl.String, pa.large_string()),
    "objects": (CITY, object, pl.Object, pa.string()),
    "categories": (CITY, "category", pl.Categorical, pa.dictionary(pa.int32(), pa.string())),
    "days": (pd.date_range("2020-01-01", periods=N).to_list(), "datetime64[ns]", pl.Datetime, pa.timestamp("us")),
}


def frames(kind):
    """Tables with and without gaps in their second column, of all libraries."""
    values, of_pandas, of_polars, of_arrow = COLUMNS[kind]
    for gappy in (False, True):
        column = holes(values) if gappy else values
        yield (
            pd.DataFrame({"age": AGE, "other": pd.Series(column, dtype=of_pandas), "age again": AGE}),
            pl.DataFrame({"age": AGE, "other": pl.Series(column, dtype=of_polars), "age again": AGE}),
            pa.table({"age": AGE, "other": pa.array(column, type=of_arrow), "age again": AGE}),
        )


CASES = [
    pytest.param(whole, gappy, id=f"{library}-{kind}")
    for kind in COLUMNS
    for library, whole, gappy in zip(("pandas", "polars", "Arrow"), *frames(kind), strict=True)
]
A = np.column_stack([AGE, PAY, AGE])
B = A.copy()
B[GAPS, 1] = np.nan
B[~GAPS, 1] = np.inf
ARRAYS = [
    pytest.param(A, B, id="array"),
    pytest.param(np.float32(A), np.float32(B), id="single precision"),
    pytest.param(A.tolist(), B.tolist(), id="lists"),
    pytest.param(A.astype(object), B.astype(object), id="objects"),
]


def row(X, i):
    if isinstance(X, list):
        return [X[i]]
    return X.iloc[[i]] if isinstance(X, pd.DataFrame) else X.slice(i, 1) if isinstance(X, pa.Table) else X[i : i + 1]


@pytest.mark.parametrize("kernel", [Gaussian("median").on(0), Linear().on([0, 2]) + Gaussian(1).on(2)], ids=str)
@pytest.mark.parametrize(("whole", "gappy"), CASES + ARRAYS)
@pytest.mark.slow("every machine on every kind of data")
def test_columns_that_are_not_read_may_have_gaps(whole, gappy, kernel):
    expected = KernelRidge(0.1, kernel=kernel).fit(whole, Y).predict(whole)
    for X in (whole, gappy):
        machine = KernelRidge(0.1, kernel=kernel).fit(X, Y)
        for again in (machine, pickle.loads(pickle.dumps(machine))):
            for Z in (whole, gappy):
                np.testing.assert_allclose(again.predict(Z), expected, rtol=1e-12, atol=1e-12)
                some = [again.predict(row(Z, i))[0] for i in range(0, N, 5)]
                np.testing.assert_allclose(some, expected[::5], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("whole", "gappy"), CASES)
def test_missing_values_are_a_level(whole, gappy):
    """One level, equal to itself and to no other label, in whatever company."""
    k = Categorical(missing="level").on("other")
    labels = np.array([None if gap else str(i) for i, gap in zip(as_integers(whole), GAPS, strict=True)], dtype=object)
    expected = labels[:, None] == labels
    np.testing.assert_array_equal(k(gappy), expected)
    np.testing.assert_array_equal(k(whole), Categorical().on("other")(whole))
    np.testing.assert_array_equal(k(gappy, whole)[GAPS], 0)
    np.testing.assert_array_equal(k(whole, gappy)[:, GAPS], 0)
    np.testing.assert_array_equal(k(whole, gappy)[:, ~GAPS], k(whole)[:, ~GAPS])
    for i in (int(np.argmax(GAPS)), int(np.argmin(GAPS))):
        np.testing.assert_array_equal(k(row(gappy, i), gappy)[0], expected[i])
        np.testing.assert_array_equal(k(gappy, row(gappy, i))[:, 0], expected[i])


def as_integers(table):
    """The labels of a whole column as numbers of their own."""
    column = list(table["other"]) if not isinstance(table, pa.Table) else table["other"].to_pylist()
    known = {label: i for i, label in enumerate(dict.fromkeys(column))}
    return [known[label] for label in column]


@pytest.mark.parametrize("gap", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr)
def test_every_sign_of_a_missing_value_is_the_same(gap):
    column = np.array(["red", gap, "blue", None, gap], dtype=object)
    expected = [[1, 0, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0], [0, 1, 0, 1, 1], [0, 1, 0, 1, 1]]
    for X in (column[:, None], list(column), [[label, 1] for label in column]):
        k = Categorical(missing="level")
        k = k.on(0) if isinstance(X[0], list) else k
        assert k(X).tolist() == expected
        assert k(pickle.loads(pickle.dumps(k.samples(X)))).tolist() == expected
        with pytest.raises(ValueError, match=r"row 1, column 0: column 0 has 3 missing values; fill or drop"):
            (Categorical().on(0) if isinstance(X[0], list) else Categorical())(X)


DICTIONARY = pa.array(["red", None, "blue", None]).dictionary_encode()


@pytest.mark.parametrize(
    "column",
    [
        *(DICTIONARY, pa.chunked_array([DICTIONARY]), pa.array(["red", None, "blue", None])),
        *(pd.Series(["red", None, "blue", None], dtype=dtype) for dtype in ("str", "string", object, "category")),
        *(pl.Series(["red", None, "blue", None], dtype=dtype) for dtype in (pl.String, pl.Categorical)),
    ],
    ids=lambda column: f"{type(column).__module__.partition('.')[0]} {getattr(column, 'dtype', '')}",
)
def test_single_columns(column):
    k = Categorical(missing="level")
    assert k(column).tolist() == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    with pytest.raises(ValueError, match=r"row 1, column 0: column 0 has 2 missing values"):
        Categorical()(column)


def test_numbers_without_a_value_are_a_level_too():
    X = np.array([[1.0], [np.nan], [2.0], [np.nan]])
    assert Categorical(missing="level")(X).tolist() == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    assert Categorical(missing="level")(X, [["1.0"], [None], [1]]).tolist() == [
        [0, 0, 1],
        [0, 1, 0],
        [0, 0, 0],
        [0, 1, 0],
    ]
    with pytest.raises(ValueError, match=r"missing values are an \"error\" .* or a \"level\" .* not 'ignore'"):
        Categorical(missing="ignore")


READ = [
    *(Gaussian(1).on("pay"), Gaussian(1).on(["age", "pay"]), Linear().on("age") + Linear().on("pay"), Gaussian(1)),
    *(Categorical().on("city"), Delta().on("city"), Categorical(), Delta(), Spectrum(2).on("city")),
    *(Custom(lambda A, B: np.ones((len(A), len(B)))), Custom(lambda a, b: 1.0, pairwise=True)),
    *(
        Linear().on(lambda rows: rows),
        FeatureMap(Squares()),
        Linear().on("age") + Linear(),
        Gaussian("median").on("pay"),
    ),
    *(Linear().on("age") * Custom(lambda a, b: 1.0, pairwise=True), WeisfeilerLehman(1).on("city")),
    *(SetKernel(Linear()).on("city"), Categorical(missing="level") * Linear(), Linear().on("age") + Delta()),
]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
@pytest.mark.parametrize("kernel", READ, ids=named)
def test_gaps_that_are_read_are_refused(kernel, library):
    whole = library({"age": AGE, "city": CITY, "pay": PAY.tolist()})
    X = library({"age": AGE, "city": holes(CITY), "pay": holes(PAY.tolist())})
    what = r"X contains NaN.*row \d+, .*column '(city|pay)' has \d+ missing values; fill or drop them first"
    with pytest.raises(ValueError, match=what) as refused:
        SVC(kernel=kernel).fit(X, Y)
    for advice in ("SimpleImputer", ".on([...])", "Categorical(missing='level')"):
        assert advice in str(refused.value)
    if not kernel.pending:
        with pytest.raises(ValueError, match=what):
            kernel(X)
    try:
        machine = KernelRidge(kernel=kernel).fit(whole, Y)
    except (TypeError, ValueError):
        return  # it does not read such columns at all
    with pytest.raises(ValueError, match=what):
        machine.predict(X)


def test_rows_that_come_in_parts():
    """With and without gaps, so that some parts are numbers alone and others are not."""
    for X in (B, pd.DataFrame({"age": AGE, "other": holes(PAY.tolist())})):
        machine = KernelPerceptron(Gaussian(1).on([0]))
        once = KernelPerceptron(Gaussian(1).on([0]))
        for part in np.array_split(np.arange(N), 5):
            taken = X.iloc[part] if isinstance(X, pd.DataFrame) else X[part]
            machine.partial_fit(taken, Y[part], classes=[0, 1])
            once.partial_fit(A[part, :1], Y[part], classes=[0, 1])
        np.testing.assert_allclose(machine.decision_function(X), once.decision_function(A[:, :1]), rtol=1e-12)


def test_an_imputer_before_a_machine():
    machine = make_pipeline(SimpleImputer(), SVC(kernel=Gaussian(1)))
    gappy = A.copy()
    gappy[GAPS, 1] = np.nan
    filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (machine.fit(gappy, Y).predict(gappy) == SVC(kernel=Gaussian(1)).fit(filled, Y).predict(filled)).all()


def test_what_nothing_reads_is_kept_out_of_the_door_for_all():
    """``as_samples`` is for those who read everything."""
    with pytest.raises(ValueError, match=r"row 0, column 1: column 1 has 2 missing values"):
        as_samples([["Oslo", None], ["Rome", None]])


@pytest.mark.parametrize("beside", [holes(PAY.tolist()), CITY], ids=["gaps", "text"])
def test_the_precision_of_tables(beside):
    """Certificates are of the matrix in double precision, whatever stands beside the column that is read."""
    dtype = np.float32 if beside is not CITY else None
    X = pd.DataFrame({"age": AGE.astype(np.float32), "other": pd.Series(beside, dtype=dtype)})
    k = Gaussian(1).on("age")
    K = k.gram(X)
    assert K.dtype == np.float32
    assert K.exact.dtype == np.float64
    np.testing.assert_array_equal(K.exact.to_dense(), Gaussian(1)(X[["age"]].astype(np.float64)))
    np.testing.assert_array_equal(K.to_dense(), Gaussian(1)(X[["age"]]))
