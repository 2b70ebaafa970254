"""mercer: kernel machines that are exact, certified and fast, on vectors, strings, trees, graphs and tables."""

from mercer import inspection, kernels, threads, validity
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.machines import (
    LMS,
    SVC,
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
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "inspection",
    "kernels",
    "threads",
    "validity",
]
__version__ = "0.1.0"
