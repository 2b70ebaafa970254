"""Slow and obvious references: sequential minimal optimisation on the whole matrix in float64, one pair at a time.

Maximal violating pair with a second-order choice of its partner (Fan, Chen and Lin, "Working set selection using
second order information", JMLR 2005).
"""

import numpy as np

from mercer.problem import Problem
from mercer.solvers import Certificate, certify

#: The least curvature of a step, for samples that are equal and for kernels that are not PSD.
FLAT = 1e-12


def smo(K, problem, tol=1e-3, max_iter=10**6):
    """The certified solution of one problem on the matrix K."""
    rows = np.arange(len(K)) if problem.sample is None else problem.sample
    K = K[np.ix_(rows, rows)]
    problem = problem.columns()[0]
    a = start(problem)
    steps = 0
    while steps < max_iter and improve(problem, K, a, tol):
        steps += 1
    return certify(problem, a, K @ a, steps, tol)


def start(problem):
    """A point that meets all constraints: what a total asks for is put on the first coefficients of its group."""
    a = np.zeros(len(problem))
    for members, total in problem.groups():
        for i in members:
            a[i] = np.clip(total - a[members].sum(), problem.lower[i], problem.upper[i])
    return a


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


def judge(problem, a, f, iterations, tol):
    """The bias and the certificate of one output, from a and f = K a."""
    groups = problem.groups()
    u = problem.q - f
    bias = np.array([best_bias(problem, members, total, u) for members, total in groups])
    offset = np.zeros(len(problem))
    for b, (members, _) in zip(bias, groups, strict=True):
        offset[members] = b
    paid = sum(float(b) * total for b, (_, total) in zip(bias, groups, strict=True))
    primal = float(0.5 * (a @ f) + loss(problem, u - offset).sum() + paid)
    dual = float(a @ problem.q - problem.l1 @ np.abs(a) - 0.5 * (a @ f) - 0.5 * (problem.ridge @ a**2))
    violation = kkt_violation(problem, a, u)
    # ``not <=`` so that NaN never counts as converged.
    certificate = Certificate(primal, dual, max(primal - dual, 0.0), violation, iterations, bool(violation <= tol))
    single = bias[0] if len(bias) == 1 else np.float64(0.0) if not len(bias) else bias
    return np.asarray(single), certificate


def kkt_violation(problem, a, u):
    """Max slope over coefficients that may rise minus min slope over those that may fall (LIBSVM's m - M), or 0."""
    g = u - problem.ridge * a
    rising = np.where(a < problem.upper, g - np.where(a >= 0, problem.l1, -problem.l1), -np.inf)
    falling = np.where(a > problem.lower, g - np.where(a > 0, problem.l1, -problem.l1), np.inf)
    if problem.total is None:  # the multiplier of the absent equality is 0: it counts among both
        return float(max(rising.max(), 0.0) - min(falling.min(), 0.0))
    return float(max(0.0, *(rising[members].max() - falling[members].min() for members, _ in problem.groups())))


def best_response(problem, u):
    """The coefficients that attain loss_i(u_i)."""
    shrunk = np.sign(u) * np.maximum(np.abs(u) - problem.l1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(problem.ridge > 0, shrunk / problem.ridge, np.where(shrunk == 0, 0.0, np.sign(shrunk) * np.inf))
    return np.clip(free, problem.lower, problem.upper)


def loss(problem, u):
    """loss_i(u_i): what the primal problem charges for each sample; infinite where a hard constraint is broken.

    A hard constraint is one without an upper bound on its coefficient nor a ridge; breaking it by 1e-8 of the
    largest |q| is forgiven, since no floating-point solution meets it exactly.
    """
    forgiven = 1e-8 * max(1.0, float(np.abs(problem.q).max(initial=0.0)))
    a = best_response(problem, u)
    soft = np.abs(u) <= problem.l1 + forgiven
    a = np.where(np.isinf(a) & soft, 0.0, a)
    finite = np.isfinite(a)
    b = np.where(finite, a, 0.0)
    return np.where(finite, u * b - problem.l1 * np.abs(b) - 0.5 * problem.ridge * b**2, np.inf)


def best_bias(problem, members, total, u):
    """The b that minimises the primal objective: where the best responses of the members sum to their total."""
    part = Problem(
        problem.q[members], problem.lower[members], problem.upper[members], problem.l1[members], problem.ridge[members]
    )
    v = u[members]
    if not part.bounded and (part.ridge > 0).all():  # the squared loss: a weighted mean
        return float((np.sum(v / part.ridge) - total) / np.sum(1 / part.ridge))
    if not part.ridge.any():
        return middle_bias(part, total, v)
    low, high = float(v.min() - part.l1.max() - 1), float(v.max() + part.l1.max() + 1)
    for _ in range(200):  # the sum falls as b grows: bisection to the last bit
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if np.clip(best_response(part, v - middle), -1e300, 1e300).sum() > total:  # no inf - inf
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def middle_bias(part, total, v):
    """The best b without ridges, exactly: best responses fall in steps, and b lies amid those where they cross total.

    Infinite bounds count as the limit of large ones, so that a hard margin is the limit of soft ones.
    """
    rest = np.clip(0.0, part.lower, part.upper)
    at = np.concatenate([v - part.l1, v + part.l1])
    fall = np.concatenate([part.upper - rest, rest - part.lower])
    level = rest.sum() - total
    endless = np.isinf(fall)
    if endless.any():
        fall, level = endless.astype(np.float64), 0.0
    order = np.argsort(at, kind="stable")
    after = level + fall[: len(v)].sum() - np.cumsum(fall[order])
    slack = 1e-12 * (fall.sum() + abs(level))
    left = int(np.argmax(after <= slack))
    below = np.flatnonzero(after < -slack)
    right = int(below[0]) if len(below) else left
    return float(0.5 * (at[order[left]] + at[order[right]]))
