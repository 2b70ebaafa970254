"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.basis import BasisRidge
from mercer.machines.classify import SVC, NuSVC
from mercer.machines.linear import LinearSVC, LinearSVR
from mercer.machines.novelty import OneClassSVM
from mercer.machines.regress import SVR, NuSVR
from mercer.machines.ridge import KernelRidge, KernelRidgeCV

__all__ = [
    "SVC",
    "SVR",
    "BasisRidge",
    "KernelRidge",
    "KernelRidgeCV",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
