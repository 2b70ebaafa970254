"""Is it a kernel, and is it a good one? Tests of matrices, a report on a kernel with data, and Mercer's theorem.

A similarity that is not positive semi-definite breaks the promises of every machine built on it, and one that is may
still be useless; both can be seen before anything is trained.

>>> from mercer.kernels import Gaussian, Sigmoid
>>> X = [[0.0], [1.0], [2.0]]
>>> check_kernel(Gaussian(1), X).psd, check_kernel(Sigmoid(1, c=-1), X).psd
(True, False)
"""

from mercer.validity.expansion import EmpiricalMap, MercerExpansion, empirical_map, mercer_expansion
from mercer.validity.integral import IntegralCondition, integral_condition
from mercer.validity.matrices import is_pd, is_psd
from mercer.validity.report import KernelReport, check_kernel

__all__ = [
    "EmpiricalMap",
    "IntegralCondition",
    "KernelReport",
    "MercerExpansion",
    "check_kernel",
    "empirical_map",
    "integral_condition",
    "is_pd",
    "is_psd",
    "mercer_expansion",
]
