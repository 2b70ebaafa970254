"""mercer: kernel machines that are exact, certified and fast, on vectors, histograms, tables and your own data."""

from mercer import inspection, kernels, threads, validity
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.machines import SVC, SVR, KernelRidge, LinearSVC, LinearSVR, MahalanobisLearner, NuSVC, NuSVR, OneClassSVM

__all__ = [
    "SVC",
    "SVR",
    "Expansion",
    "Gram",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "MahalanobisLearner",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "inspection",
    "kernels",
    "threads",
    "validity",
]
__version__ = "0.1.0"
