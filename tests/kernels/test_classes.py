"""A class where one of its instances is meant, brackets forgotten: the error says what to write, wherever it stands."""

import inspect

import numpy as np
import pytest

import mercer
from mercer.kernels import (
    L1,
    L2,
    Custom,
    Exponential,
    FeatureMap,
    Gaussian,
    Kernel,
    Linear,
    NegativeDistance,
    PolynomialBasis,
    SetKernel,
    ShortestPath,
    SpatialPyramid,
    Squares,
    WeisfeilerLehman,
    exp,
    repair,
)
from mercer.validity import check_kernel, empirical_map, mercer_expansion

X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2

FORGOTTEN = {
    "sum": (lambda: Linear() + Gaussian, "a kernel, Gaussian(...)"),
    "sum, first": (lambda: Gaussian + Linear(), "a kernel, Gaussian(...)"),
    "sum of more": (lambda: Linear() + Gaussian(1) + Linear, "a kernel, Linear()"),
    "difference": (lambda: Linear() - Gaussian, "a kernel, Gaussian(...)"),
    "product": (lambda: Gaussian(1) * Linear, "a kernel, Linear()"),
    "product, first": (lambda: Linear * Gaussian(1), "a kernel, Linear()"),
    "exp": (lambda: exp(Linear), "a kernel, Linear()"),
    "repair": (lambda: repair(Gaussian), "a kernel, Gaussian(...)"),
    "distance": (lambda: Exponential(L1), "a distance, L1()"),
    "negative distance": (lambda: NegativeDistance(L2), "a distance, L2()"),
    "feature map": (lambda: FeatureMap(Squares), "a map, Squares()"),
    "on": (lambda: Linear().on(Squares), "a map, Squares()"),
    "custom": (lambda: Custom(Gaussian), "a kernel, Gaussian(...)"),
    "sets": (lambda: SetKernel(Gaussian), "a kernel, Gaussian(...)"),
    "pyramid": (lambda: SpatialPyramid(1, Linear), "a kernel, Linear()"),
    "graphs": (lambda: WeisfeilerLehman(1, ShortestPath), "a kernel, ShortestPath()"),
    "report": (lambda: check_kernel(Gaussian, X), "a kernel, Gaussian(...)"),
    "expansion": (lambda: mercer_expansion(Gaussian, X, 2), "a kernel, Gaussian(...)"),
    "empirical map": (lambda: empirical_map(Gaussian, X), "a kernel, Gaussian(...)"),
    "basis": (lambda: mercer.BasisRidge(PolynomialBasis).fit(X, y), "a map, PolynomialBasis(...)"),
    "parameter": (
        lambda: mercer.SVC(kernel=Linear() + Gaussian(1)).set_params(kernel__1=Gaussian),
        "a kernel, Gaussian(...)",
    ),
    "inner parameter": (
        lambda: mercer.SVC(kernel=2 * Linear()).set_params(kernel__inner=Gaussian),
        "a kernel, Gaussian(...)",
    ),
}


@pytest.mark.parametrize("call", FORGOTTEN)
def test_brackets_that_were_forgotten(call):
    make, what = FORGOTTEN[call]
    with pytest.raises(TypeError) as refused:
        make()
    name = what.rpartition(" ")[2].partition("(")[0]
    noun, _, written = what.partition(", ")
    assert str(refused.value) == f"expected {noun} but got the class {name}; give one of its kind, {written}"


MACHINES = [
    name
    for name in sorted(mercer.__all__)
    if hasattr(getattr(mercer, name), "fit") and "kernel" in inspect.signature(getattr(mercer, name)).parameters
]


class Own(Kernel):
    """Somebody's."""


@pytest.mark.parametrize("kernel", [Gaussian, Linear, Own], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("name", MACHINES)
def test_machines(name, kernel):
    with pytest.raises(TypeError, match=rf"^expected a kernel but .* {kernel.__name__}\((\.\.\.)?\)$"):
        getattr(mercer, name)(kernel=kernel).fit(X, y)
