"""Arrays in lent memory: aligned, independent while in use, and lent again."""

import gc
import pickle

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.memory import empty, taken


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (1000, 700)])
def test_shape_type_and_place(shape, dtype):
    array = empty(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert array.size == 0 or array.ctypes.data % 64 == 0
    array[...] = 2
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), np.full(shape, 2, dtype))


def test_what_is_in_use_is_not_lent():
    arrays = [empty((1024, 1024), np.float64) for _ in range(4)]
    for i, array in enumerate(arrays):
        array[...] = i
    views = [array[::7, 3] for array in arrays]
    del arrays, array
    gc.collect()
    other = empty((1024, 1024), np.float64)
    other[...] = -1
    for i, view in enumerate(views):
        assert (view == i).all()


def test_results_survive_the_next_one():
    X = np.random.default_rng(0).standard_normal((900, 3))
    first = Gaussian(1.0)(X)
    kept = first.copy()
    for _ in range(3):
        Gaussian(2.0)(X)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [10, 50_000])
def test_rows_taken_are_those_of_numpy(rows, order):
    rng = np.random.default_rng(0)
    array = np.asarray(rng.standard_normal((rows, 7)), order=order)
    index = rng.integers(-rows, rows, 3 * rows)
    np.testing.assert_array_equal(taken(array, index, array.dtype), array[index])
    single = taken(array, None, np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, array.astype(np.float32))
