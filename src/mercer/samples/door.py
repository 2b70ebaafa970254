"""as_samples: turns what the user has into samples, or says what was given, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from mercer.samples.base import Array, Samples
from mercer.samples.kinds import taken_apart
from mercer.samples.objects import Objects
from mercer.samples.sparse import SparseVectors
from mercer.samples.table import Table, contains, marked
from mercer.samples.vectors import Vectors

#: The types of SciPy's indices.
INDICES = (np.dtype(np.int32), np.dtype(np.int64))


def as_samples(X: Any) -> Samples:
    """Samples from an array, a SciPy sparse matrix, a data frame, or a sequence of objects.

    Float32 and float64 arrays are used where they lie, in any memory order; other numbers become float64.

    >>> len(as_samples([[0.0, 1.0], [2.0, 3.0]]))
    2
    >>> as_samples([1.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: expected a 2-D array with one row per sample but got a 1-D array of shape (2,). Reshape your data with \
X.reshape(-1, 1) for samples of one number, or X.reshape(1, -1) for a single sample
    """
    return opened(X).complete()


def opened(X: Any) -> Samples:
    """The same, but entries may be missing or infinite: for kernels of some columns, which refuse them where they read.

    >>> opened([[1.0, float("nan")]]).select(0).dense()
    array([[1.]])
    """
    if isinstance(X, Samples):
        return X
    if type(X) is np.ndarray:
        return _sequence(as_numpy(X))
    if sp.issparse(X):
        return _sparse(X)
    X = in_memory(X)
    try:
        frame = nw.from_native(X, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = getattr(X, "column_names", X.columns)  # of Arrow, or of pandas
        raise ValueError(
            f"expected columns of different names but some are the same: {', '.join(map(repr, names))}; "
            "rename them, or give the values as an array"
        ) from None
    if isinstance(frame, nw.DataFrame):
        if frame.shape[1] == 0 or frame.shape[0] == 0:
            raise ValueError(f"expected at least one row and one column but got a data frame of shape {frame.shape}")
        names = tuple(frame.columns) if all(isinstance(name, str) for name in frame.columns) else None
        return from_columns(tuple(_values(frame.get_column(name)) for name in frame.columns), names)
    X = _values(frame) if isinstance(frame, nw.Series) else as_numpy(X)
    if isinstance(X, (set, dict)) or (hasattr(X, "__iter__") and not hasattr(X, "__len__")):
        raise TypeError(f"expected an array, a data frame or a list of samples but got a {type(X).__name__}")
    return _sequence(X)


def in_memory(X: Any, name: str = "X") -> Any:
    """What the user gave, unless it is lazy, or a list of what is: to read that would be to compute it in silence.

    >>> in_memory([1.0])
    [1.0]
    """
    if type(X) in (np.ndarray, type(None)):
        return X
    if isinstance(X, (list, tuple)):
        if X and has_graph(X[0]):
            raise not_in_memory(X[0], f"{name}[0]")
    elif nw.dependencies.is_into_dataframe(X):  # whose columns may have the same names
        pass
    elif has_graph(X) or isinstance(nw.from_native(X, allow_series=True, pass_through=True), nw.LazyFrame):
        raise not_in_memory(X, name)
    return X


def has_graph(X: Any) -> bool:
    """Whether it is a collection of Dask's protocol: tasks in place of values."""
    graph = getattr(X, "__dask_graph__", None)
    if not callable(graph) or isinstance(X, type):
        return False
    return _library(X) == "dask" or graph() is not None  # of xarray's arrays it is None where they hold values


def not_in_memory(X: Any, name: str) -> TypeError:
    """What to call on something lazy."""
    known = [f".{call}()" for call in ("compute", "collect", "execute") if hasattr(type(X), call)]
    remedy = f"call {known[0]} first" if known else "bring it into memory first"
    return TypeError(
        f"{name} is a {type(X).__name__} of {_library(X)}, which is lazy: its values are not in memory, where kernels "
        f"read them; {remedy}, of a part if the whole is too large"
    )


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def as_numpy(X: Any) -> Any:
    """Arrow's arrays, which narwhals takes in chunks only, and NumPy's own texts as arrays of objects or numbers."""
    if _library(X) == "pyarrow" and hasattr(X, "to_numpy"):
        X = X.to_numpy(zero_copy_only=False)
    return X.astype(object) if isinstance(X, np.ndarray) and X.dtype.kind == "T" else X


def _values(column: Any) -> Array:
    """The values of a column; those that are missing as NaN, NaT, or among objects None."""
    values = np.asarray(as_numpy(column.to_numpy()))
    if not column.null_count() or column.dtype.is_float() or values.dtype.kind in "mM":
        return values
    if column.dtype.is_integer():  # as floats, large ones are no longer told apart
        values = np.fromiter(column.to_list(), dtype=object, count=len(column))
    values = values.astype(object)
    values[np.asarray(column.is_null().to_list())] = None
    return values


def _sequence(X: Any) -> Samples:
    if isinstance(X, (list, tuple)) and X and _whole(X):
        return Objects(X)
    parts = X if isinstance(X, (list, tuple)) else (X,)  # a list of rows may hold masked ones
    masked = sum(int(np.ma.getmaskarray(part).sum()) for part in parts if isinstance(part, np.ma.MaskedArray))
    if masked:
        raise ValueError(f"expected numbers but {masked} entries are masked; fill or drop them first")
    if isinstance(X, np.ndarray):
        array = np.asarray(X)
    else:
        try:
            array = np.asarray(X)
        except ValueError:  # ragged
            array = np.empty(len(X), dtype=object)
            array[:] = list(X)
        if array.ndim == 2 and array.dtype.kind in "US":  # numbers beside text stay numbers
            array = np.asarray(X, dtype=object)
    if array.ndim == 0:
        raise TypeError(f"expected a 2-D array with one row per sample but got a single {type(X).__name__}")
    if array.shape[0] == 0:
        raise ValueError(
            f"found 0 sample(s) (shape={array.shape}) while a minimum of 1 is required; the {type(X).__name__} is empty"
        )
    if array.dtype.kind in "USO" and array.ndim == 2:
        return from_columns(tuple(marked(array[:, i]) for i in range(array.shape[1])), None)
    if array.dtype.kind in "USO" and not _numbers(array):
        return Objects(list(X))
    return _of_numbers(array, None)


def _whole(items: Sequence[Any]) -> bool:
    """Whether they are objects that NumPy would take apart, or texts, of which it makes all as long as the longest."""
    return taken_apart(items[0]) or all(isinstance(item, str) for item in items)


def _numbers(array: Array, where: str = "") -> bool:
    """True for Python numbers in an array of objects; digits written as text are not numbers."""
    if array.dtype.kind != "O" or any(isinstance(value, (str, bytes)) for value in array.flat):
        return False
    try:
        array.astype(np.float64)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        raise ValueError(
            f"expected numbers but found an integer beyond the range of float64, some 1.8e308{where}; rescale it, or "
            "write it as text if it is a name"
        ) from None
    return True


def from_columns(columns: tuple[Array, ...], names: tuple[str, ...] | None) -> Samples:
    """Vectors if every column holds numbers, all of them finite, else a table."""
    if all(
        column.dtype.kind in "fiub" or _numbers(column, f", in column {names[i] if names else i!r}")
        for i, column in enumerate(columns)
    ):
        kinds = {column.dtype for column in columns}
        dtype = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
        return _of_numbers(np.stack([column.astype(dtype) for column in columns], axis=1), names)
    return Table(columns, names)


def numeric(array: Array, names: tuple[str, ...] | None) -> Vectors:
    """Checked vectors from an array that ought to hold numbers."""
    samples = _of_numbers(array, names)
    if isinstance(samples, Table):
        samples.complete()  # which it is not
    assert isinstance(samples, Vectors)
    return samples


def _of_numbers(array: Array, names: tuple[str, ...] | None) -> Vectors | Table:
    """Vectors, or if an entry is not finite, a table of the columns: some of them may be all that is read."""
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected real numbers; use .real, .imag or abs first")
    if array.dtype.kind not in "fiubO":
        raise TypeError(f"expected numbers (float32 or float64 are used as they are) but got dtype {array.dtype}")
    if array.ndim == 1:
        raise ValueError(
            f"expected a 2-D array with one row per sample but got a 1-D array of shape {array.shape}. "
            "Reshape your data with X.reshape(-1, 1) for samples of one number, or X.reshape(1, -1) for a single sample"
        )
    if array.ndim != 2:
        raise ValueError(
            f"expected a 2-D array with one row per sample but got shape {array.shape}; "
            "use X.reshape(len(X), -1) to flatten each sample"
        )
    if array.shape[1] == 0:
        raise ValueError(
            f"found 0 feature(s) (shape={array.shape}) while a minimum of 1 is required; the samples have no columns"
        )
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
        array = array.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()  # of all entries: NaN or infinite if one of them is, and rarely otherwise
    if not np.isfinite(total) and not np.isfinite(array).all():
        return Table(tuple(array.T), names)
    return Vectors(array, names)


def _sparse(X: Any) -> SparseVectors:
    if X.ndim != 2:
        raise ValueError(f"expected a 2-D sparse array but got {X.ndim} dimensions")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"expected at least one row and one column but got a sparse array of shape {X.shape}")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"expected real numbers but got a sparse array of dtype {X.dtype}")
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"sparse data may have at most 2**31 - 1 columns but got {X.shape[1]}")
    dtype = np.float32 if X.dtype in (np.dtype(np.float32), np.dtype(np.float16)) else np.float64
    array = X.tocsr().astype(dtype, copy=False)
    if not _well_formed(array):
        try:
            array.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"the sparse array is malformed: {error}; its indices must lie within its shape") from None
    if not (array.has_sorted_indices and array.has_canonical_format) or not array.data.all():
        array = array.copy()
        array.sum_duplicates()
        array.eliminate_zeros()
    if not (finite := np.isfinite(array.data)).all():
        raise ValueError(f"{contains(array.data[~finite][0])} Stored values must be finite; impute or drop them first")
    return SparseVectors(array)


def _well_formed(array: Any) -> bool:
    """Whether a CSR array is one that SciPy's check, which takes longer than to predict, would leave as it is.

    The core reads where the indices say, so whatever is not surely right is left to that check.
    """
    data, indices, indptr, (rows, columns) = array.data, array.indices, array.indptr, array.shape
    if (
        indices.dtype not in INDICES
        or indptr.dtype != indices.dtype
        or not data.ndim == indices.ndim == indptr.ndim == 1
    ):
        return False
    if len(indptr) != rows + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False
    if not len(data) == len(indices) == indptr[-1]:
        return False
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < columns)
