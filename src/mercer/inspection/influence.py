"""What would change if a sample were left out: exactly for ridge regression, by a bound for support vector machines."""

from __future__ import annotations

import numpy as np

from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.problem import Vector
from mercer.samples import Samples
from mercer.solvers.lapack import eigh

#: Matrices of this many samples are computed whole: at most 32 MB.
DENSE = 2000


def ridge_influence(gram: Gram, a: Vector, alpha: Vector, bias: bool) -> Vector | None:
    """f(x_i) - f'(x_i), f' fitted without sample i; None for more than 2000 samples.

    With P the inverse of K + alpha I (if there is a bias, the part of the bordered matrix's inverse that belongs to K),
    the residual of sample i without it is a_i / P_ii, and with it alpha a_i (Cawley, Talbot, "Fast exact leave-one-out
    cross-validation of sparse least-squares support vector machines", Neural Networks 2004).

    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Linear
    >>> X, y = [[1.0], [2.0], [4.0]], np.array([1.0, 3.0, 3.0])
    >>> f, without = KernelRidge(alpha=1).fit(X, y), KernelRidge(alpha=1).fit(X[1:], y[1:])
    >>> change = ridge_influence(Linear().gram(X), f.dual_coef_[:, None], np.ones(1), False)
    >>> bool(np.isclose(change[0, 0], (f.predict(X) - without.predict(X))[0]))
    True
    """
    if len(gram) > DENSE:
        return None
    values, U = eigh(gram.exact.to_dense())
    change = np.empty_like(a)
    for j, penalty in enumerate(np.broadcast_to(alpha, a.shape[1])):
        inverse = 1 / (np.maximum(values, 0.0) + penalty)
        diagonal = (U**2) @ inverse
        if bias:
            ones = U @ (inverse * U.sum(axis=0))
            diagonal = diagonal - ones**2 / ones.sum()
        change[:, j] = a[:, j] / diagonal - penalty * a[:, j]
    return change


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
