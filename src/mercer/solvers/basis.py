"""Kernel logistic regression on few samples: the coefficients of all others are zero.

In the manner of the import vector machine (Zhu and Hastie, "Kernel logistic regression and the import vector machine",
JCGS 2005) the samples are chosen greedily, each the one that lowers the objective most. Where theirs tries every sample
at every step, here the gradient K r of the whole problem is computed once for a round, which adds half as many samples
as there are. They are picked one after the other by a quadratic model of the objective,

    j = argmax sum over classes of g_j^2 / Q_jj,    g <- g - Q_j g_j / Q_jj,    Q <- Q - Q_j Q_j' / Q_jj,

with g = K r at first and Q = E + E'W E, E the kernel as far as no chosen sample spans it, W the curvature of the loss.
Then Newton's method solves for the coefficients of all that were chosen, with K replaced by what they span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.likelihood import Likelihood
from mercer.problem import Vector
from mercer.solvers.certificate import UNKNOWN, Certificate, Solution, Witness
from mercer.solvers.convexity import by_construction, of_columns, refuted
from mercer.solvers.newton import RESIDUAL, Newton, spanning
from mercer.solvers.smo import SolverInterrupted

#: A round chooses at least so many samples, ...
FIRST = 4
#: ... from so many with the steepest gradients.
POOL = 500
#: A sample is spanned by the chosen ones if no more than this share of its square norm is left.
SPANNED = 1e-9


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
        gram: Gram,
        problems: Sequence[Likelihood],
        start: Sequence[Vector | None] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> list[Solution]:
        """One solution per problem, as ``Newton`` does. They start from nothing: the samples are chosen anew."""
        exact = gram.ordered(order).exact
        return [self._solved(exact, problem) for problem in problems]

    def _solved(self, gram: Gram, likelihood: Likelihood) -> Solution:
        """Round after round; an interrupt leaves the solution of the last one, of fewer samples than were asked for."""
        best = Solution(np.zeros(likelihood.target.shape), np.zeros(likelihood.outputs), UNKNOWN)
        try:
            for solution in self._rounds(gram, likelihood):
                best = solution
        except KeyboardInterrupt as interrupt:
            assert isinstance(best.certificate, Certificate)
            raise SolverInterrupted(
                [replace(best, certificate=replace(best.certificate, converged=False))]
            ) from interrupt
        return best

    def _rounds(self, gram: Gram, likelihood: Likelihood) -> Iterator[Solution]:
        diagonal, valid = gram.diag(), by_construction(gram.kernel, balanced=True)
        witness: Witness | None = None

        def judged(spread: Vector, solution: Solution) -> Solution:
            assert isinstance(solution.certificate, Certificate)
            certificate = solution.certificate if valid else refuted(solution.certificate, witness)
            return Solution(spread, solution.bias, certificate)

        chosen, rows = np.empty(0, dtype=np.int64), np.empty((0, len(gram)))
        Z = np.zeros((len(gram), 1))
        solution = self.newton.solve_spanned(Z, likelihood)
        spread = np.zeros_like(solution.coefficients)
        yield judged(spread, solution)
        while len(chosen) < min(self.size, len(gram)):
            F = Z @ (Z.T @ solution.coefficients) + solution.bias
            r = gradient(likelihood, spread, F)
            K_r = gram @ r
            if not valid:
                witness = witness or of_columns(gram, r, K_r, RESIDUAL)
            if len(chosen) and float(np.ptp(K_r, axis=0).max()) <= self.newton.tol:
                return
            own = diagonal - (Z * Z).sum(axis=1)
            score = np.where(own > SPANNED * diagonal, (K_r**2).sum(axis=1) / np.maximum(own, 1e-300), -1.0)
            pool = np.argsort(-score, kind="stable")[:POOL]
            pool = pool[score[pool] > 0]
            if not len(pool):
                return
            E = gram.block(pool, slice(None)) - Z[pool] @ Z.T
            count = min(max(FIRST, len(chosen) // 2), self.size - len(chosen))
            more = pool[picked(K_r[pool], E, pool, likelihood.curvature(F), count)]
            chosen, rows = np.concatenate([chosen, more]), np.concatenate([rows, gram.block(more, slice(None))])
            Z, T = spanning(rows, chosen)
            solution = self.newton.solve_spanned(Z, likelihood, solution.coefficients)
            spread = np.zeros_like(spread)
            spread[chosen] = T @ (Z.T @ solution.coefficients)
            yield judged(spread, solution)


def picked(g: Vector, E: Vector, pool: NDArray[np.int64], W: Vector, count: int) -> list[int]:
    """The rows of E, which stand for the samples of the pool, that a quadratic model promises most for."""
    models = [E[:, pool] + (E * w) @ E.T for w in W.T]
    g, least = g.copy(), SPANNED * np.array([Q.diagonal() for Q in models])
    found: list[int] = []
    while len(found) < min(count, len(pool)):
        own = np.array([Q.diagonal() for Q in models])
        gain = np.where(own > least, g.T**2 / np.maximum(own, 1e-300), 0.0).sum(axis=0)
        gain[found] = 0.0
        j = int(gain.argmax())
        if not gain[j] > 0:
            break
        found.append(j)
        for c, Q in enumerate(models):
            if own[c, j] > least[c, j]:
                column = Q[:, j] / np.sqrt(Q[j, j])
                g[:, c] -= column * (g[j, c] / column[j])
                Q -= np.outer(column, column)
    return found


def gradient(likelihood: Likelihood, coefficients: Vector, F: Vector) -> Vector:
    """r = A - A' at coefficients A with values F: K r is the gradient of the whole problem, r'K r / 2 its gap."""
    return np.asarray(coefficients - likelihood.induced(F))
