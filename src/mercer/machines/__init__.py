"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.classify import SVC, NuSVC
from mercer.machines.linear import LinearSVC, LinearSVR
from mercer.machines.lms import LMS, KernelLMS
from mercer.machines.novelty import OneClassSVM
from mercer.machines.perceptron import KernelPerceptron, Perceptron
from mercer.machines.regress import SVR, KernelRidge, NuSVR

__all__ = [
    "LMS",
    "SVC",
    "SVR",
    "KernelLMS",
    "KernelPerceptron",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
]
