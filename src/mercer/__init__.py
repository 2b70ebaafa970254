"""mercer: kernel machines that are exact, certified and fast, on vectors, histograms, tables and your own data."""

from mercer import kernels, threads, validity
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.machines import SVC, SVR, KernelPCA, KernelRidge, KernelSVD, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

__all__ = [
    "SVC",
    "SVR",
    "Expansion",
    "Gram",
    "KernelPCA",
    "KernelRidge",
    "KernelSVD",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "kernels",
    "threads",
    "validity",
]
__version__ = "0.1.0"
