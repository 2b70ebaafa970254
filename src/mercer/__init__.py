"""mercer: kernel machines that are exact, certified and fast, on vectors, strings, trees, graphs and tables.

Names are imported when they are first asked for, so that ``import mercer`` costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer import threads

if TYPE_CHECKING:
    from mercer import inspection, kernels, selection, validity
    from mercer.errors import MercerError, MercerWarning
    from mercer.expansion import Expansion
    from mercer.gram import Gram
    from mercer.machines import (
        LMS,
        SVC,
        SVDD,
        SVR,
        BasisRidge,
        KernelFeatures,
        KernelLMS,
        KernelLogistic,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelPCA,
        KernelPerceptron,
        KernelRidge,
        KernelRidgeCV,
        KernelSVD,
        LinearSVC,
        LinearSVR,
        MahalanobisLearner,
        NuSVC,
        NuSVR,
        OneClassSVM,
        Perceptron,
    )

__all__ = [
    "LMS",
    "SVC",
    "SVDD",
    "SVR",
    "BasisRidge",
    "Expansion",
    "Gram",
    "KernelFeatures",
    "KernelLMS",
    "KernelLogistic",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelSVD",
    "LinearSVC",
    "LinearSVR",
    "MahalanobisLearner",
    "MercerError",
    "MercerWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "inspection",
    "kernels",
    "selection",
    "threads",
    "validity",
]
__version__ = "0.1.0"

#: The modules of the names that are not machines'.
PLACES = {
    "Expansion": "mercer.expansion",
    "Gram": "mercer.gram",
    "MercerError": "mercer.errors",
    "MercerWarning": "mercer.errors",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    if name in ("inspection", "kernels", "selection", "validity"):
        return import_module(f"mercer.{name}")
    return getattr(import_module(PLACES.get(name, "mercer.machines")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
