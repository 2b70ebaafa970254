"""What is not computed yet is refused in words by every machine, wherever it stands; nothing is computed in silence."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer.kernels import (
    Categorical,
    Custom,
    FeatureMap,
    Gaussian,
    Linear,
    Precomputed,
    SetKernel,
    Spectrum,
    Squares,
    WeisfeilerLehman,
)
from mercer.machines.support import SupportMachine
from mercer.samples import as_samples

rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 3)), np.arange(30) % 2


class Lazy:
    """An array of Dask's protocol: it has tasks, and its values are computed for anybody who asks for them."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __dask_graph__(self):
        return {}

    def compute(self):
        return self.array

    def __len__(self):
        return len(self.array)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("computed in silence")

    def __iter__(self):
        raise AssertionError("computed in silence")

    __getitem__ = __array__


def collections():
    """The stand-in, and the real ones as far as they are installed."""
    yield "stand-in", Lazy(X), Lazy(y)
    yield "polars", pl.LazyFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), pl.LazyFrame({"y": y})
    try:
        import dask.array as da
    except ImportError:
        return
    yield "dask", da.from_array(X, chunks=10), da.from_array(y, chunks=10)


COLLECTIONS = [pytest.param(X, y, id=name) for name, X, y in collections()]
NAMES = [name for name in sorted(mercer.__all__) if hasattr(getattr(mercer, name), "fit")]
METHODS = ("predict", "transform", "decision_function", "predict_proba", "score_samples", "kneighbors")


def blocks(A, B):
    return A @ B.T


def one_pair(a, b):
    return float(a @ b)


def every_machine():
    """With its own kernel, and with kernels that open doors of their own."""
    for name in sorted(mercer.__all__):
        machine = getattr(mercer, name)
        if not hasattr(machine, "fit"):
            continue
        kernels = [Linear(), Linear().on([0])]
        if name not in ("KernelFeatures", "LMS"):  # which need an explicit map
            kernels.append(blocks if issubclass(machine, SupportMachine) else one_pair)
        for kernel in kernels if "kernel" in inspect.signature(machine).parameters else []:
            yield pytest.param(machine(kernel=kernel), id=f"{name}-{getattr(kernel, '__name__', kernel)}")
        yield pytest.param(machine(), id=name)


@pytest.mark.filterwarnings("ignore")  # some have more to say of so few samples
@pytest.mark.parametrize(("lazy", "targets"), COLLECTIONS)
@pytest.mark.parametrize("machine", every_machine())
def test_machines_refuse_what_is_lazy(machine, lazy, targets):
    with pytest.raises(TypeError, match=r"^X is a .* lazy.*call \.(compute|collect)\(\) first"):
        machine.fit(lazy, y)
    parameters = inspect.signature(machine.fit).parameters
    if parameters["y"].default is inspect.Parameter.empty:
        with pytest.raises(TypeError, match=r"^y is a .* lazy"):
            machine.fit(X, targets)
    if "sample_weight" in parameters:
        with pytest.raises(TypeError, match=r"^sample_weight is a .* lazy"):
            machine.fit(X, y, targets)
    machine.fit(X, y)
    for method in METHODS:
        if callable(call := getattr(machine, method, None)):
            with pytest.raises(TypeError, match=r"^X is a .* lazy"):
                call(lazy)


DOORS = [
    *(Linear(), Gaussian(1).on([0]), Categorical(missing="level"), Custom(lambda A, B: A @ B.T), Precomputed()),
    *(FeatureMap(Squares()), Linear().on(Squares()), Spectrum(2), WeisfeilerLehman(1), SetKernel(Linear())),
]


@pytest.mark.parametrize(("lazy", "targets"), COLLECTIONS)
@pytest.mark.parametrize("kernel", DOORS, ids=str)
def test_kernels_refuse_what_is_lazy(kernel, lazy, targets):
    with pytest.raises(TypeError, match=r"^X is a .* lazy.*call \.(compute|collect)\(\) first, of a part if"):
        kernel(lazy)


@pytest.mark.parametrize("name", ["Array", "DataFrame", "Series", "Delayed"])
def test_collections_of_dask(name):
    """Whatever it is, and without a look at its graph, which may be long."""
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array").from_array(X, chunks=10)
    if name in ("DataFrame", "Series"):
        frame = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    lazy = {
        "Array": lambda: array,
        "DataFrame": lambda: frame,
        "Series": lambda: frame["a"],
        "Delayed": lambda: dask.delayed(lambda: X)(),
    }[name]()
    with pytest.raises(TypeError, match=r"^X is a .* of dask, which is lazy.*call \.compute\(\) first"):
        as_samples(lazy)


def test_what_has_a_protocol_and_its_values_is_welcome():
    """Arrays of xarray have Dask's methods whether or not they hold tasks; the graph is then None."""

    class Eager(Lazy):
        def __dask_graph__(self):
            return None

        def __array__(self, dtype=None, copy=None):
            return self.array

    assert (as_samples(Eager(X)).dense() == X).all()
