"""The proof that comes with a solution: primal and dual objective, their gap, and the violation of the KKT conditions.

It is computed in float64 from the coefficients as they are, whatever the solver believed; the formulas are in
``native/solvers/certificate.hpp``. Where K was float32, so are the products K a that cannot change the violation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from mercer import _native
from mercer.problem import Problem, Vector


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, for one problem.

    For a positive semi-definite K, ``dual <= optimum <= primal``, so ``gap`` bounds the error of the objective.
    ``violation`` is the largest slope along which a coefficient may still rise minus the smallest along which one may
    fall (without an equality constraint, 0 counts among both): 0 at the optimum.

    >>> from mercer import SVC
    >>> proof = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1]).certificate_
    >>> proof.converged, proof.dual <= proof.primal, proof.violation < 1e-3
    (True, True, True)
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


#: What is known before anything was computed in float64.
UNKNOWN = Certificate(np.inf, -np.inf, np.inf, np.inf, 0, False)


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and bias with their certificate; with several outputs, a column, a bias and a certificate each.

    ``squared_norm`` is |w|² = a'Ka of one output, where its solver knows it.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.problem import squared
    >>> from mercer.solvers import Cholesky
    >>> found = Cholesky().solve(Linear().gram([[1.0], [-1.0]]), squared(np.array([4.0, 0.0]), 1.0, bias=True))
    >>> found.coefficients.round(6), float(found.bias.round(6)), found.certificate.converged
    (array([ 0.666667, -0.666667]), 2.0, True)
    """

    coefficients: Vector
    bias: Vector
    certificate: Certificate | tuple[Certificate, ...]
    squared_norm: float = field(default=math.nan, kw_only=True)


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
    tasks = [Task(one, a[:, j], f[:, j]) for j, one in enumerate(problem.columns())]
    for task in tasks:
        task.native.certify()
    judged = [task.solution(iterations, tol) for task in tasks]
    if problem.q.ndim == 1:
        return replace(judged[0], coefficients=coefficients)
    bias = np.array([one.bias for one in judged])
    return Solution(coefficients, bias, tuple(cast(Certificate, one.certificate) for one in judged))


class Task:
    """One output of a problem with the arrays that the core works on: a, and f = K a at the sample of each.

    Both are copies, or zero.
    """

    def __init__(self, problem: Problem, a: Vector | None = None, f: Vector | None = None) -> None:
        self.a, self.f = (
            np.zeros(len(problem)) if v is None else np.array(v, dtype=np.float64, order="C") for v in (a, f)
        )
        group = None if problem.group is None else problem.group.astype(np.uint8)
        sample = None if problem.sample is None else np.ascontiguousarray(problem.sample, dtype=np.int64)
        named = (problem.q, problem.lower, problem.upper, problem.l1, problem.ridge)
        q, lower, upper, l1, ridge = (np.ascontiguousarray(v, dtype=np.float64) for v in named)
        total = np.array([] if problem.total is None else problem.total, dtype=np.float64, ndmin=1)
        self.native = _native.Task(q, lower, upper, l1, ridge, total, sample, group, self.a, self.f)

    def solution(self, iterations: int, tol: float) -> Solution:
        """What the core has certified."""
        task = self.native
        gap = max(task.primal - task.dual, 0.0)
        converged = task.violation <= tol and math.isfinite(task.dual)  # NaN never counts as converged
        certificate = Certificate(task.primal, task.dual, gap, task.violation, iterations, converged)
        bias = task.bias or [0.0]
        one_or_two = np.asarray(bias[0] if len(bias) == 1 else bias)
        return Solution(self.a, one_or_two, certificate, squared_norm=float((self.a * self.f).sum()))
