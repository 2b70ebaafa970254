"""Slow and obvious references: sequential minimal optimisation on the whole matrix in float64, one pair at a time.

Maximal violating pair with a second-order choice of its partner (Fan, Chen and Lin, "Working set selection using
second order information", JMLR 2005).
"""

import numpy as np

from mercer.solvers import certify

#: The least curvature of a step, for samples that are equal and for kernels that are not PSD.
FLAT = 1e-12


def smo(K, problem, tol=1e-3, max_iter=10**6):
    """The certified solution of one problem on the matrix K."""
    rows = np.arange(len(K)) if problem.sample is None else problem.sample
    K = K[np.ix_(rows, rows)]
    problem = problem.columns()[0]
    a = problem.feasible()
    steps = 0
    while steps < max_iter and improve(problem, K, a, tol):
        steps += 1
    return certify(problem, a, K @ a, steps, tol)


def improve(problem, K, a, tol):
    """Improves a by one pair, in place; False if no pair violates the KKT conditions by more than tol."""
    g = problem.q - K @ a - problem.ridge * a
    rising = np.where(a < problem.upper, g - np.where(a >= 0, problem.l1, -problem.l1), -np.inf)
    falling = np.where(a > problem.lower, g - np.where(a > 0, problem.l1, -problem.l1), np.inf)
    members = max((m for m, _ in problem.groups()), key=lambda m: rising[m].max() - falling[m].min())
    i = members[len(members) - 1 - np.argmax(rising[members][::-1])]  # the last of equals, as LIBSVM
    slope = rising[i] - falling[members]
    if not slope.max() > tol:
        return False
    diagonal = K.diagonal() + problem.ridge
    curvature = np.maximum(diagonal[i] + diagonal[members] - 2 * K[i, members], FLAT)
    chosen = np.argmax(np.where(slope > 0, slope**2 / curvature, -np.inf))
    j = members[chosen]
    end_i = 0.0 if problem.l1[i] and a[i] < 0 else problem.upper[i]  # the slope changes at zero
    end_j = 0.0 if problem.l1[j] and a[j] > 0 else problem.lower[j]
    change = min(slope[chosen] / curvature[chosen], end_i - a[i], a[j] - end_j)
    at_i, at_j = change == end_i - a[i], change == a[j] - end_j
    a[i] = end_i if at_i else a[i] + change
    a[j] = end_j if at_j else a[j] - change
    return True
