"""What is not computed yet is refused in words by every machine, wherever it stands; nothing is computed in silence."""

import inspect

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from dask.callbacks import Callback

import mercer
from mercer import SVC, Expansion, KernelRidge
from mercer.kernels import (
    Categorical,
    Custom,
    FeatureMap,
    Gaussian,
    Linear,
    Mahalanobis,
    Mismatch,
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
    """The stand-in, and the real ones."""
    yield "stand-in", Lazy(X), Lazy(y)
    yield "polars", pl.LazyFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), pl.LazyFrame({"y": y})
    yield "dask", da.from_array(X, chunks=10), da.from_array(y, chunks=10)


@pytest.fixture(autouse=True)
def _no_task_is_run():
    """Dask tells its callbacks of every computation."""
    begun = []
    with Callback(start=begun.append):
        yield
    assert not begun


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
    if hasattr(machine, "score"):
        for given, name in (((lazy, y), "X"), ((X, targets), "y"), ((X, y, targets), "sample_weight")):
            with pytest.raises(TypeError, match=rf"^{name} is a .* lazy"):
                machine.score(*given)


@pytest.mark.parametrize("lazy", [Lazy(X[0]), da.from_array(X[0]), dask.delayed(lambda: X[0])()])
def test_a_list_of_rows_that_are_lazy_is_refused(lazy):
    rows, labels = [lazy] * 3, [0, 1, 0]
    for call in (SVC().fit, KernelRidge(kernel=Linear()).fit):
        with pytest.raises(TypeError, match=r"^X\[0\] is a .* lazy"):
            call(rows, labels)
    for kernel in (Linear(), Mismatch(2, 1, alphabet="dna"), WeisfeilerLehman(1)):
        with pytest.raises(TypeError, match=r"^X\[0\] is a .* lazy"):
            kernel(rows)


OTHER_DOORS = {
    "box": lambda lazy: mercer.validity.integral_condition(Linear(), lazy),
    "A": lambda lazy: mercer.validity.is_psd(lazy),
    "y": lambda lazy: mercer.validity.check_kernel(Linear(), X, lazy),
    "V": lambda lazy: Linear().gram(X) @ lazy,
    "index": lambda lazy: Linear().gram(X).rows(lazy),
    "coefficients": lambda lazy: Expansion.of(Linear(), X, lazy),
    "X": lambda lazy: Squares()(lazy),
    "S": lambda lazy: Mahalanobis(lazy),
    "factor": lambda lazy: Mahalanobis(factor=lazy),
}


@pytest.mark.parametrize(("lazy", "targets"), COLLECTIONS)
@pytest.mark.parametrize("name", OTHER_DOORS)
def test_other_doors_refuse_what_is_lazy(name, lazy, targets):
    del targets
    with pytest.raises(TypeError, match=rf"^{name} is a .* lazy"):
        OTHER_DOORS[name](lazy)


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
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    lazy = {
        "Array": da.from_array(X, chunks=10),
        "DataFrame": frame,
        "Series": frame["a"],
        "Delayed": dask.delayed(lambda: X)(),
    }[name]
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
