"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.classify import SVC, NuSVC
from mercer.machines.linear import LinearSVC, LinearSVR
from mercer.machines.logistic import KernelLogistic
from mercer.machines.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.machines.novelty import OneClassSVM
from mercer.machines.regress import SVR, KernelRidge, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "KernelLogistic",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
