"""The proof that comes with a solution: primal and dual objective, their gap, and the violation of the KKT conditions.

All of it is computed in float64 from the coefficients as they are, whatever the solver believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.problem import Problem, Vector


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, for one problem.

    For a positive semi-definite K, ``dual <= optimum <= primal``, so ``gap`` bounds the error of the objective.
    ``violation`` is the largest slope along which a coefficient may still rise minus the smallest along which one may
    fall (without an equality constraint, 0 counts among both): 0 at the optimum.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    iterations: int
    converged: bool

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{state} after {self.iterations} iterations: primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"gap {self.gap:.3g}, violation {self.violation:.3g}"
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and bias with their certificate; with several outputs, a column, a bias and a certificate each."""

    coefficients: Vector
    bias: Vector
    certificate: Certificate | tuple[Certificate, ...]


def certify(problem: Problem, coefficients: Vector, product: Vector, iterations: int, tol: float) -> Solution:
    """The best bias for these coefficients, and the certificate; converged means a violation of at most ``tol``.

    ``product`` is K times the coefficients, computed in float64 (``gram.exact @ coefficients``), at the sample of each
    coefficient: ``problem.of_samples(gram.exact @ problem.by_sample(a, len(gram)))``.

    >>> import numpy as np
    >>> from mercer.problem import squared
    >>> a = np.array([0.5, 1.0])
    >>> print(certify(squared(np.array([1.0, 2.0]), 1.0), a, np.eye(2) @ a, 1, 1e-9).certificate)
    converged after 1 iterations: primal 1.25, dual 1.25, gap 0, violation 0
    """
    a = coefficients.reshape(len(problem), -1)
    f = product.reshape(len(problem), -1)
    judged = [judge(one, a[:, j], f[:, j], iterations, tol) for j, one in enumerate(problem.columns())]
    if problem.q.ndim == 1:
        return Solution(coefficients, judged[0][0], judged[0][1])
    return Solution(coefficients, np.array([b for b, _ in judged]), tuple(c for _, c in judged))


def judge(problem: Problem, a: Vector, f: Vector, iterations: int, tol: float) -> tuple[Vector, Certificate]:
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


def kkt_violation(problem: Problem, a: Vector, u: Vector) -> float:
    """Max slope over coefficients that may rise minus min slope over those that may fall (LIBSVM's m - M), or 0."""
    g = u - problem.ridge * a
    rising = np.where(a < problem.upper, g - np.where(a >= 0, problem.l1, -problem.l1), -np.inf)
    falling = np.where(a > problem.lower, g - np.where(a > 0, problem.l1, -problem.l1), np.inf)
    if problem.total is None:  # the multiplier of the absent equality is 0: it counts among both
        return float(max(rising.max(), 0.0) - min(falling.min(), 0.0))
    return float(max(0.0, *(rising[members].max() - falling[members].min() for members, _ in problem.groups())))


def best_response(problem: Problem, u: Vector) -> Vector:
    """The coefficients that attain loss_i(u_i)."""
    shrunk = np.sign(u) * np.maximum(np.abs(u) - problem.l1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(problem.ridge > 0, shrunk / problem.ridge, np.where(shrunk == 0, 0.0, np.sign(shrunk) * np.inf))
    return np.clip(free, problem.lower, problem.upper)


def loss(problem: Problem, u: Vector) -> Vector:
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


def best_bias(problem: Problem, members: NDArray[np.int64], total: float, u: Vector) -> float:
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


def middle_bias(part: Problem, total: float, v: Vector) -> float:
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
