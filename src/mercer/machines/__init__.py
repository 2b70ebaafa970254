"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.classify import SVC, NuSVC
from mercer.machines.linear import LinearSVC, LinearSVR
from mercer.machines.metric import MahalanobisLearner
from mercer.machines.novelty import OneClassSVM
from mercer.machines.regress import SVR, KernelRidge, NuSVR

__all__ = ["SVC", "SVR", "KernelRidge", "LinearSVC", "LinearSVR", "MahalanobisLearner", "NuSVC", "NuSVR", "OneClassSVM"]
