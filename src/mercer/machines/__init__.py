"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.basis import BasisRidge
from mercer.machines.classify import SVC, NuSVC
from mercer.machines.components import KernelPCA
from mercer.machines.features import KernelFeatures
from mercer.machines.linear import LinearSVC, LinearSVR
from mercer.machines.lms import LMS, KernelLMS
from mercer.machines.logistic import KernelLogistic
from mercer.machines.metric import MahalanobisLearner
from mercer.machines.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.machines.novelty import OneClassSVM
from mercer.machines.perceptron import KernelPerceptron, Perceptron
from mercer.machines.regress import SVR, NuSVR
from mercer.machines.ridge import KernelRidge
from mercer.machines.ridge_cv import KernelRidgeCV
from mercer.machines.singular import KernelSVD
from mercer.machines.svdd import SVDD

__all__ = [
    "LMS",
    "SVC",
    "SVDD",
    "SVR",
    "BasisRidge",
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
]
