"""The proof that comes with a solution: primal and dual objective, their gap, and the violation of the KKT conditions.

It is computed in float64 from the coefficients as they are, whatever the solver believed; the formulas are in
``native/solvers/certificate.hpp``. Where K was float32, so are the products K a that cannot change the violation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

import numpy as np

from mercer import _native
from mercer.problem import Problem, Vector
from mercer.shown import Shown


@dataclass(frozen=True)
class Witness:
    """A direction z along which z'Kz is negative, as it is for no positive semi-definite kernel.

    ``samples`` are two samples i and j with the direction e_i - e_j, or one with e_i. Without them ``direction`` says
    what z is.

    >>> print(Witness(-2.0, samples=(3, 7)))
    K[3, 3] + K[7, 7] - 2 K[3, 7] = -2
    >>> print(Witness(-1051.0))
    a'Ka = -1.05e+03 of the coefficients found
    """

    curvature: float
    samples: tuple[int, ...] = ()
    direction: str = "a'Ka = {} of the coefficients found"

    def __str__(self) -> str:
        value = f"{self.curvature:.3g}"
        if len(self.samples) == 2:
            i, j = self.samples
            return f"K[{i}, {i}] + K[{j}, {j}] - 2 K[{i}, {j}] = {value}"
        return f"K[{self.samples[0]}, {self.samples[0]}] = {value}" if self.samples else self.direction.format(value)


#: What a certificate says of a kernel that is not known to be one, where nothing came up against it.
NO_WITNESS: Final = "no witness"
Convex = bool | Literal["no witness"]
#: A gap above this share of the objective is worth a word, though the violation is within tol.
WIDE = 0.01


@dataclass(frozen=True)
class Certificate(Shown):
    """How good a solution is, for one problem.

    For a positive semi-definite K, ``dual <= optimum <= primal``, so ``gap`` bounds the error of the objective.
    ``violation`` is the largest slope along which a coefficient may still rise minus the smallest along which one may
    fall (without an equality constraint, 0 counts among both): 0 at the optimum.

    ``convex`` is True where K is positive semi-definite by construction, on the directions that the constraints leave;
    False where the solver met a direction of negative curvature, the ``witness``; then primal, dual and gap prove
    nothing. In between it is "no witness". What is not finite is unknown: infinite, and never converged.

    >>> from mercer import SVC
    >>> proof = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1]).certificate_
    >>> proof.converged, proof.dual <= proof.primal, proof.violation < 1e-3, proof.convex
    (True, True, True, True)
    """

    primal: float
    dual: float
    gap: float
    violation: float
    iterations: int
    converged: bool
    convex: Convex = NO_WITNESS
    witness: Witness | None = None

    def __post_init__(self) -> None:
        known = math.isfinite(self.primal) and math.isfinite(self.dual)
        if known and math.isfinite(self.gap) and math.isfinite(self.violation):
            return
        unknown = {
            "primal": self.primal if math.isfinite(self.primal) else math.inf,
            "dual": self.dual if math.isfinite(self.dual) or self.dual == math.inf else -math.inf,
            "gap": self.gap if known and math.isfinite(self.gap) else math.inf,
            "violation": math.inf if math.isnan(self.violation) else self.violation,
            "converged": False,
        }
        for name, value in unknown.items():
            object.__setattr__(self, name, value)

    @property
    def wide(self) -> bool:
        """Whether it converged by its violation, and yet the gap is more than a hundredth of the objective."""
        proves = self.converged and self.convex is not False
        return proves and self.gap > WIDE * max(abs(self.primal), abs(self.dual))

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        text = (
            f"{state} after {self.iterations} iterations: primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"gap {self.gap:.3g}, violation {self.violation:.3g}"
        )
        if self.convex is False:
            text += f"; not convex: {self.witness}, so the objectives prove nothing"
        elif self.wide:
            text += (
                f"; the gap is {self.share:.2g} of the objective: a tol {self.remedy} times as large would bring it to "
                f"about {WIDE:g}"
            )
        return text

    @property
    def share(self) -> float:
        """The gap as a share of the objective."""
        size = max(abs(self.primal), abs(self.dual))
        return self.gap / size if size else (0.0 if self.gap == 0 else math.inf)

    @property
    def remedy(self) -> float:
        """By what tol would have to be multiplied for a narrow gap, which falls about as the violation does.

        The optimum, of which the gap is to be a small part, is between dual and primal: it is at least the smaller one.
        """
        least = min(abs(self.primal), abs(self.dual)) if self.primal * self.dual > 0 else self.gap / self.share
        return float(f"{WIDE * least / self.gap:.1g}")


#: What is known before anything was computed in float64.
UNKNOWN = Certificate(np.inf, -np.inf, np.inf, np.inf, 0, False)


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and bias with their certificate; with several outputs, a column, a bias and a certificate each.

    ``f`` is K a in float64, without the bias, at the sample of each coefficient, and so at samples that were held out
    by bounds or weights of zero, too. It is None where the solver does not know it, as before its first step. ``SMO``
    works in float32 where it can, and in the end computes in float64 what could change the violation, not the rest.
    ``squared_norm`` is |w|² = a'Ka of one output, where its solver knows it. ``resumable`` says that nothing of f was
    computed in float64: then a start (a, f) saves ``SMO`` the product, else a alone is one.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.problem import squared
    >>> from mercer.solvers import Cholesky
    >>> problem = squared(np.array([4.0, 0.0]), 1.0, bias=True)
    >>> (found,) = Cholesky().solve(Linear().gram([[1.0], [-1.0]]), [problem])
    >>> found.coefficients.round(6), float(found.bias.round(6)), found.certificate.converged
    (array([ 0.666667, -0.666667]), 2.0, True)
    >>> found.f.round(6)
    array([ 1.333333, -1.333333])
    """

    coefficients: Vector
    bias: Vector
    certificate: Certificate | tuple[Certificate, ...]
    f: Vector | None = field(default=None, kw_only=True)
    squared_norm: float = field(default=math.nan, kw_only=True)
    resumable: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class PrimalSolution(Solution):
    """A solution in the primal: its coefficients are weights w, one per column of a matrix Z of features; f = Z w."""


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
    outputs = [CoreProblem(one, a[:, j], f[:, j]) for j, one in enumerate(problem.columns())]
    for output in outputs:
        output.native.certify()
    judged = [output.solution(iterations, tol) for output in outputs]
    if problem.q.ndim == 1:
        return replace(judged[0], coefficients=coefficients)
    bias = np.array([one.bias for one in judged])
    return Solution(coefficients, bias, tuple(cast(Certificate, one.certificate) for one in judged), f=product)


class CoreProblem:
    """One output of a problem as the core takes it, with the arrays that it works on: a, and f = K a at each sample.

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
        known = f is not None
        self.native = _native.ProblemRun(q, lower, upper, l1, ridge, total, sample, group, self.a, self.f, known)

    def solution(self, iterations: int, tol: float) -> Solution:
        """What the core has certified."""
        run = self.native
        gap = abs(run.primal - run.dual)
        certificate = Certificate(run.primal, run.dual, gap, run.violation, iterations, run.violation <= tol)
        bias = run.bias or [0.0]
        one_or_two = np.asarray(bias[0] if len(bias) == 1 else bias)
        return Solution(self.a, one_or_two, certificate, f=self.f, squared_norm=float((self.a * self.f).sum()))
