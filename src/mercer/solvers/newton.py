"""Newton's method for kernel logistic regression, its systems solved by preconditioned conjugate gradients.

The problem is that of ``mercer.likelihood``. With the bias always the best for the coefficients A, the slope of the
primal in A is K r with r = A - A', A' the coefficients that the current probabilities induce, and its curvature is
K + K R R' K. A Newton step is therefore

    delta = -r - R u,      (I + R'K R) u = -R'K r.

The matrix I + R'K R is symmetric and its eigenvalues are at least 1. It is met only in products with K. The
preconditioner puts K ~ Z Z' of a few hundred evenly spread landmarks in its place (``mercer.solvers.landmarks``); on
small data Z Z' is K, and the first step of conjugate gradients is the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_solve

from mercer import costs
from mercer.likelihood import Curvature, Likelihood, probabilities
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.solvers.certificate import UNKNOWN, Certificate, Solution, Witness
from mercer.solvers.convexity import by_construction, of_columns, refuted
from mercer.solvers.landmarks import choose_evenly, span
from mercer.solvers.lapack import NotPositiveDefiniteError, factorize
from mercer.solvers.operator import Operator, Positions, product
from mercer.solvers.smo import Progress, SolverInterrupted

#: The direction in which the coefficients are led.
RESIDUAL = "r'Kr = {} of r, the coefficients found less those that their probabilities induce"
#: Steps without a better violation after which the solver gives up: rounding leaves nothing to gain.
PATIENCE = 10


@dataclass(frozen=True)
class Newton:
    """Solves for the coefficients; ``tol`` bounds the violation, ``max_iter`` the Newton steps (-1 for no limit).

    ``violation`` is, for the worst class, the largest entry of K r minus the smallest: by how much log-odds would
    change if the probabilities' own coefficients took the place of the current ones.

    >>> K = Linear().gram([[-1.0], [0.5], [1.0], [-0.5]])
    >>> (solution,) = Newton().solve(K, [Likelihood.of(np.array([0, 1, 1, 1]), 2, np.ones(4))])
    >>> solution.certificate.converged, bool(abs(solution.coefficients.sum()) < 1e-9)
    (True, True)
    """

    tol: float = 1e-4
    max_iter: int = 100
    progress: Callable[[Progress], bool | None] | None = None

    def solve(
        self,
        K: Operator,
        problems: Sequence[Likelihood],
        start: Sequence[Vector | None] | None = None,
        order: Positions | None = None,
    ) -> list[Solution]:
        """One solution per problem, all on the same matrix, or on its samples ``order``.

        First in the precision of the matrix, which is held if it fits; certified, and if need be continued, in float64.
        """
        K = K.ordered(order)
        starts = [None] * len(problems) if start is None else start
        iterates = [Iterate(self, K, problem) for problem in problems]
        try:
            for matrix in [K] if K.dtype == np.float64 else [K, K.exact]:
                held = matrix.held()
                for iterate, A in zip(iterates, starts, strict=True):
                    iterate.begin(held, A if matrix is K else iterate.A)
                    iterate.walk()
        except KeyboardInterrupt as interrupt:
            raise SolverInterrupted([iterate.solution() for iterate in iterates]) from interrupt
        return [iterate.solution() for iterate in iterates]


@dataclass(eq=False)
class Iterate:
    """Where a solve is: coefficients A, K A, bias, residual r and K r, and what has been spent to come here."""

    solver: Newton
    given: Operator
    likelihood: Likelihood
    steps: int = 0
    products: int = 0
    begun: float = field(default_factory=time.perf_counter)
    certificate: Certificate = UNKNOWN

    def __post_init__(self) -> None:
        self.A = np.zeros(self.likelihood.target.shape)
        self.bias = np.zeros(self.likelihood.outputs)
        self.exact = self.stopped = False
        self.valid = by_construction(self.given.kernel, balanced=True)
        self.witness: Witness | None = None

    def begin(self, K: Operator, start: Vector | None) -> None:
        """Takes up coefficients, whose sum is made zero, with the given matrix as it is held in some precision."""
        self.K, self.certificate = K, replace(UNKNOWN, iterations=self.steps)
        self.exact = False
        self.__dict__.pop("root", None)
        if start is not None:
            self.A = self.likelihood.feasible(start)
        self.KA = self.product(self.A) if self.A.any() else np.zeros_like(self.A)
        self.settle()
        self.exact = bool(K.dtype == np.float64)

    def product(self, V: Vector) -> Vector:
        self.products += 1
        with np.errstate(over="ignore", invalid="ignore"):
            KV = product(self.K, V)
        if not np.isfinite(KV).all():
            kernel, dtype = self.given.kernel, self.K.dtype
            raise ValueError(f"{kernel} is not finite on these samples in {dtype}; scale the data first")
        return KV

    @remembered
    def root(self) -> Vector:
        """Z of which Z Z' is about K: its own factor, or what landmarks span."""
        own = self.K.factor
        if own is not None:
            return np.asarray(own)
        n, outputs = len(self.K), self.likelihood.outputs
        if n * outputs > costs.NEWTON_ALL:
            n = min(n, max(costs.NEWTON_FEWEST, costs.NEWTON_LANDMARKS // outputs))
        return span(self.K, choose_evenly(len(self.K), n)).Z

    def settle(self) -> None:
        """The best bias, the residual and the certificate of the coefficients as they are."""
        self.bias = self.likelihood.best_bias(self.KA, self.bias)
        F = self.KA + self.bias
        self.primal = 0.5 * float((self.A * self.KA).sum()) + self.likelihood.loss(F)
        induced = self.likelihood.induced(F)
        self.r = self.A - induced
        self.Kr = self.product(self.r)
        dual = self.likelihood.entropy(F) - 0.5 * float((induced * (self.KA - self.Kr)).sum())
        violation = float(np.ptp(self.Kr, axis=0).max())
        gap = abs(self.primal - dual)
        good = violation <= self.solver.tol
        self.certificate = Certificate(self.primal, dual, gap, violation, self.steps, good, convex=True)
        if not self.valid:
            self.witness = (
                self.witness
                or of_columns(self.given, self.A, self.KA)
                or of_columns(self.given, self.r, self.Kr, RESIDUAL)
            )
            self.certificate = refuted(self.certificate, self.witness)

    def solution(self) -> Solution:
        """Where the solve is. If that is in float32, nothing is certified, and K A is not known."""
        if not self.exact:
            return Solution(self.A, self.bias, replace(UNKNOWN, iterations=self.steps))
        return Solution(self.A, self.bias, self.certificate, f=self.KA)

    def walk(self) -> None:
        """Newton steps until the violation is small enough, or no step helps."""
        best, since = np.inf, 0
        while not (self.stopped or self.certificate.converged or self.steps == self.solver.max_iter):
            if self.certificate.violation < 0.5 * best:
                best, since = self.certificate.violation, 0
            since += 1
            if since > PATIENCE:
                break
            self.step()
            self.stopped = self.report()

    def step(self) -> None:
        """One Newton step, as long as the objective allows."""
        curvature = Curvature(self.likelihood, probabilities(self.KA + self.bias))
        u = self.conjugate_gradients(curvature)
        delta = -self.r - curvature.spread(u)
        K_delta = self.product(delta)
        slope = float((delta * self.Kr).sum())
        cross, square = float((self.A * K_delta).sum()), float((delta * K_delta).sum())
        fixed = self.primal - self.likelihood.loss(self.KA + self.bias)
        length, bias = 1.0, self.bias
        for _ in range(50):
            KA = self.KA + length * K_delta
            bias = self.likelihood.best_bias(KA, bias)
            value = fixed + length * cross + 0.5 * length**2 * square + self.likelihood.loss(KA + bias)
            if value <= self.primal + 1e-4 * length * slope + 1e-13 * abs(self.primal):
                break
            length /= 2
        self.A, self.KA, self.bias = self.A + length * delta, KA, bias
        self.steps += 1
        self.settle()

    def conjugate_gradients(self, curvature: Curvature) -> Vector:
        """u with (I + R'K R) u = -R'K r, as exact as the distance from the optimum deserves.

        An error e of the equation costs the quadratic model at most |e|^2 / 2 of what it promises to gain by the
        step, half of r'K r + u'R'K r.
        """
        precondition = preconditioner(curvature, self.root)
        u = np.zeros_like(self.A)
        right = left = -curvature.gather(self.Kr)
        square = float((self.r * self.Kr).sum())
        share = min(0.3, self.certificate.violation) ** 2
        z = precondition(left)
        direction, energy = z, float((left * z).sum())
        floor = 1e-26 * float((right * right).sum())
        for _ in range(10 * len(left)):
            error = float((left * left).sum())
            if error <= max(share * (square - float((u * right).sum())), floor) or not energy > 0:
                break
            image = direction + curvature.gather(self.product(curvature.spread(direction)))
            bend = float((direction * image).sum())
            if not bend > 0:  # an indefinite kernel; what there is still leads down
                break
            u = u + energy / bend * direction
            left = left - energy / bend * image
            z = precondition(left)
            before, energy = energy, float((left * z).sum())
            direction = z + energy / before * direction
        return u

    def report(self) -> bool:
        """Tells whoever listens how far this has come; True asks to stop."""
        if self.solver.progress is None:
            return False
        now, n = self.certificate, len(self.likelihood)
        kept, bits = (0 if self.K is self.given else n), 8 * self.K.dtype.itemsize
        seconds = time.perf_counter() - self.begun
        seen = Progress(0, self.steps, now.violation, now.gap, n, n, self.products * n, kept, bits, seconds)
        return bool(self.solver.progress(seen))


def preconditioner(curvature: Curvature, Z: Vector) -> Callable[[Vector], Vector]:
    """(I + R'Z Z'R)^-1 by the formula of Sherman, Morrison and Woodbury."""
    shape = curvature.P.shape[1], Z.shape[1]
    inner = curvature.between(Z)
    inner[np.arange(len(inner)), np.arange(len(inner))] += 1.0
    try:
        factorize(inner)
    except NotPositiveDefiniteError:  # only by rounding; then without
        return lambda v: v

    def apply(v: Vector) -> Vector:
        small = (Z.T @ curvature.spread(v)).T.ravel()
        solved = cho_solve((inner.T, False), small, check_finite=False).reshape(shape)
        return np.asarray(v - curvature.gather(Z @ solved.T))

    return apply
