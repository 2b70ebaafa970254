"""Machines: scikit-learn estimators that translate labels in and wrap an Expansion out."""

from mercer.machines.regress import KernelRidge

__all__ = ["KernelRidge"]
