"""Kernel logistic regression on few samples: the coefficients of all others are zero.

In the manner of the import vector machine (Zhu and Hastie, "Kernel logistic regression and the import vector machine",
JCGS 2005) the samples are chosen greedily, each the one that lowers the objective most. Where theirs tries every sample
at every step, here the gradient K r of the whole problem is computed once for a round, which adds half as many samples
as there are. They are picked one after the other by a quadratic model of the objective,

    j = argmax sum over classes of g_j^2 / Q_jj     (``mercer.solvers.landmarks.choose_by_gain``),

with g = K r at first and Q = E + E'W E, E the kernel as far as no chosen sample spans it, W the curvature of the loss.
Then Newton's method solves for the coefficients of all that were chosen, with K replaced by what they span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mercer import costs
from mercer.likelihood import Likelihood
from mercer.problem import Vector
from mercer.solvers.certificate import UNKNOWN, Certificate, Solution, Witness
from mercer.solvers.convexity import by_construction, of_columns, refuted
from mercer.solvers.landmarks import SPANNED, choose_by_gain, span_of
from mercer.solvers.newton import RESIDUAL, Newton
from mercer.solvers.operator import Operator
from mercer.solvers.smo import SolverInterrupted

#: The least number of samples that a round adds, unless fewer are wanted.
FIRST = 4


@dataclass(frozen=True)
class ImportVectors:
    """Solves for coefficients of at most ``size`` samples, by ``newton``; fewer if they reach the optimum of all.

    Their rows of K are held in float64. The certificate is that of the problem on the chosen samples.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> problem = Likelihood.of((X[:, 0] > 0).astype(int), 2, np.ones(50))
    >>> (solution,) = ImportVectors(2).solve(Gaussian(1.0).gram(X), [problem])
    >>> int(np.count_nonzero(solution.coefficients)), solution.certificate.converged
    (2, True)
    """

    size: int
    newton: Newton = field(default_factory=Newton)

    def solve(
        self,
        K: Operator,
        problems: Sequence[Likelihood],
        start: Sequence[Vector | None] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> list[Solution]:
        """One solution per problem, as ``Newton`` does. They start from nothing: the samples are chosen anew."""
        exact = K.ordered(order).exact
        return [self._solved(exact, problem) for problem in problems]

    def _solved(self, K: Operator, likelihood: Likelihood) -> Solution:
        """Round after round; an interrupt leaves the solution of the last one, of fewer samples than were asked for."""
        best = Solution(np.zeros(likelihood.target.shape), np.zeros(likelihood.outputs), UNKNOWN)
        try:
            for solution in self._rounds(K, likelihood):
                best = solution
        except KeyboardInterrupt as interrupt:
            assert isinstance(best.certificate, Certificate)
            raise SolverInterrupted(
                [replace(best, certificate=replace(best.certificate, converged=False))]
            ) from interrupt
        return best

    def _rounds(self, K: Operator, likelihood: Likelihood) -> Iterator[Solution]:
        diagonal, valid = K.diag(), by_construction(K.kernel, balanced=True)
        witness: Witness | None = None

        def judged(spread: Vector, solution: Solution) -> Solution:
            assert isinstance(solution.certificate, Certificate)
            certificate = solution.certificate if valid else refuted(solution.certificate, witness)
            return replace(solution, coefficients=spread, certificate=certificate)

        chosen, rows = np.empty(0, dtype=np.int64), np.empty((0, len(K)))
        spanned = span_of(rows, chosen)
        (solution,) = self.newton.solve(spanned.operator, [likelihood])
        spread = np.zeros_like(solution.coefficients)
        yield judged(spread, solution)
        while len(chosen) < min(self.size, len(K)):
            assert solution.f is not None  # it was found in float64
            F = solution.f + solution.bias
            r = gradient(likelihood, spread, F)
            K_r = K @ r
            if not valid:
                witness = witness or of_columns(K, r, K_r, RESIDUAL)
            if len(chosen) and float(np.ptp(K_r, axis=0).max()) <= self.newton.tol:
                return
            own = spanned.residual(diagonal)
            score = np.where(own > SPANNED * diagonal, (K_r**2).sum(axis=1) / np.maximum(own, 1e-300), -1.0)
            pool = np.argsort(-score, kind="stable")[: costs.GAIN_POOL]
            pool = pool[score[pool] > 0]
            if not len(pool):
                return
            E = K.block(pool, slice(None)) - spanned.Z[pool] @ spanned.Z.T
            count = min(max(FIRST, len(chosen) // 2), self.size - len(chosen))
            models = [E[:, pool] + (E * w) @ E.T for w in likelihood.curvature(F).T]
            more = pool[choose_by_gain(K_r[pool], models, count)]
            chosen, rows = np.concatenate([chosen, more]), np.concatenate([rows, K.block(more, slice(None))])
            spanned = span_of(rows, chosen)
            (solution,) = self.newton.solve(spanned.operator, [likelihood], [solution.coefficients])
            spread = np.zeros_like(spread)
            spread[chosen] = spanned.T @ (spanned.Z.T @ solution.coefficients)
            yield judged(spread, solution)


def gradient(likelihood: Likelihood, coefficients: Vector, F: Vector) -> Vector:
    """r = A - A' at coefficients A with values F: K r is the gradient of the whole problem, r'K r / 2 its gap."""
    return np.asarray(coefficients - likelihood.induced(F))
