"""What would change if a sample were left out: exactly for ridge regression, by a bound for support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.inspection.contests import columns
from mercer.kernels.base import Kernel
from mercer.problem import Vector
from mercer.samples import Samples

#: Matrices of this many samples are computed whole: at most 32 MB.
DENSE = 2000


def ridge_influence(model: Any) -> Vector | None:
    """f(x_i) - f'(x_i) of kernel ridge regression, f' fitted without sample i: a row per support vector.

    It is the residual of sample i without it minus that with it, a_i / P_ii - alpha a_i / w_i with P the inverse of
    K + alpha / w (Cawley, Talbot, "Fast exact leave-one-out cross-validation of sparse least-squares support vector
    machines", Neural Networks 2004). None for more than 2000 samples, where ``loo_residuals`` is for the user to ask,
    and where K + alpha is not positive definite or nothing would be left.

    >>> from mercer import KernelRidge
    >>> X, y, w = [[1.0], [2.0], [4.0]], np.array([1.0, 3.0, 3.0]), np.array([1.0, 2.0, 3.0])
    >>> f, without = KernelRidge().fit(X, y, w), KernelRidge().fit(X[1:], y[1:], w[1:])
    >>> bool(np.isclose(ridge_influence(f)[0, 0], (f.predict(X) - without.predict(X))[0]))
    True
    """
    if len(model.support_) > DENSE:
        return None
    try:
        left_out = model.loo_residuals()
    except ValueError:
        return None
    return np.asarray(columns(left_out - model.residuals())[model.support_])


def reach(kernel: Kernel, samples: Samples) -> float:
    """2 R^2, where c <= k(x, z) <= c + R^2 for all pairs of these samples.

    Left out, sample i can be misclassified only if its slack plus 2 |a_i| R^2 is at least 1, provided that the samples
    are the whole training set and some support vector is free (Joachims, "Estimating the generalization performance of
    an SVM efficiently", ICML 2000).

    >>> from mercer.kernels import Linear
    >>> reach(Linear(), Linear().samples([[1.0], [-2.0]]))
    12.0
    """
    largest = float(np.max(kernel.diag_of(samples)))
    if len(samples) > DENSE:
        return 4 * largest  # |k(x, z)| is at most the largest k(x, x)
    return 2 * (largest - float(kernel.bind(samples, samples).dense().min()))
