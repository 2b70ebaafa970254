"""Arrays in lent memory: aligned, independent while in use, and lent again."""

import gc
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from mercer import KernelPCA, KernelRidge, KernelRidgeCV
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


@pytest.mark.parametrize(
    ("machine", "alternative"),
    [
        (KernelRidge(kernel=Gaussian(1.0)), "KernelLMS finds the same function without it"),
        (KernelRidgeCV(kernel=Gaussian(1.0)), "KernelLMS finds the same function without it"),
        (KernelPCA(kernel=Gaussian(1.0)), "n_components=20"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_a_machine_that_needs_more_than_there_is_says_how_much_and_what_takes_less(machine, alternative):
    X = np.arange(1e6)[:, None]
    with pytest.raises(MemoryError) as refused:
        machine.fit(X, X[:, 0])
    text = str(refused.value)
    assert text.startswith(
        f"{type(machine).__name__}: an array of 1000000 x 1000000 numbers in float64 takes 8000.0 GB"
    )
    assert "there is no memory for 800000" in text
    assert alternative in text


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of addresses is that of Linux")
def test_the_core_is_usable_after_a_lack_of_memory():
    """Under a limit of addresses: what is kept for the next borrower is let go of."""
    code = """
        import re, resource, numpy as np
        from pathlib import Path
        from mercer import SVC
        from mercer.kernels import Gaussian
        from mercer.memory import empty
        X = np.random.default_rng(0).standard_normal((4000, 5))
        del (kept := [empty((1000, 10_000), np.float64) for _ in range(3)])[:]
        size = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + 30_000_000,) * 2)
        empty((4000, 4000), np.float64)  # 128 MB, of which 80 times 3 are kept in pieces
        try:
            empty((40_000, 40_000), np.float64)
        except MemoryError as error:
            print(error)
        print(SVC(kernel=Gaussian(1.0)).fit(X[:300], X[:300, 0] > 0).score(X[:300], X[:300, 0] > 0) > 0.9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "40000 x 40000 numbers in float64 takes 12.8 GB: there is no memory for 1280" in lines[0]
    assert lines[1] == "True"
