"""Kernels by the names scikit-learn's users type; nothing behind this function sees such a name."""

from __future__ import annotations

from typing import Any

from mercer.kernels.base import Kernel, instance
from mercer.kernels.distances import Chi2Distance, Exponential, NegativeDistance
from mercer.kernels.given import Custom, Precomputed
from mercer.kernels.leaf import positive
from mercer.kernels.maps import Map
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.vectors import Cosine, Linear, Polynomial, Sigmoid

NAMES = (
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "precomputed",
    "rbf",
    "sigmoid",
)


def named_kernel(
    kernel: Any,
    *,
    columns: int,
    gamma: float | str | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    parameters: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel of this name with scikit-learn's parameters; a Kernel as it is; a function as ``Custom``.

    >>> named_kernel("rbf", columns=4)
    Gaussian(gamma=0.25)
    """
    instance(kernel)
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, Map):
        raise TypeError(f"{kernel} is a feature map, not a kernel; its kernel is FeatureMap({kernel})")
    if callable(kernel):
        return Custom(_Partial(kernel, parameters), pairwise=True)
    rate = 1.0 / columns if gamma is None or gamma == "auto" else gamma
    match kernel:
        case "linear":
            return Linear()
        case "rbf":
            return Gaussian(gamma=rate)
        case "poly" | "polynomial":
            return Polynomial(degree, c=coef0, gamma=float(rate))
        case "sigmoid":
            return Sigmoid(gamma=float(rate), c=coef0)
        case "laplacian":
            return Laplacian(float(rate))
        case "cosine":
            return Cosine()
        case "chi2":
            return Exponential(
                Chi2Distance(), beta=1.0 / positive('gamma of kernel="chi2"', 1.0 if gamma is None else gamma)
            )
        case "additive_chi2":
            return NegativeDistance(Chi2Distance())
        case "precomputed":
            return Precomputed()
    raise ValueError(
        f"no kernel is called {kernel!r}; there are {', '.join(NAMES)}, or give a mercer kernel or a function"
    )


class _Partial:
    """A function of two samples with its further parameters given; unlike a lambda it can be pickled."""

    def __init__(self, function: Any, parameters: dict[str, Any] | None) -> None:
        self.function, self.parameters = function, parameters or {}
        self.__name__ = getattr(function, "__name__", repr(function))

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b, **self.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Partial) and (self.function, self.parameters) == (other.function, other.parameters)

    def __hash__(self) -> int:
        return hash(self.function)
