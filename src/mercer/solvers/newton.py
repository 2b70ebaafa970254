"""Newton's method for kernel logistic regression, its systems solved by preconditioned conjugate gradients.

The problem is that of ``mercer.likelihood``. With the bias always the best for the coefficients A, the slope of the
primal in A is K r with r = A - A', A' the coefficients that the current probabilities induce, and its curvature is
K + K R R' K. A Newton step is therefore

    delta = -r - R u,      (I + R'K R) u = -R'K r.

The matrix I + R'K R is symmetric and its eigenvalues are at least 1. It is met only in products with K, which come
from the Gram operator in blocks, or from a matrix in memory where that fits the budget. The preconditioner puts
K ~ L L' of a few hundred evenly spread samples in its place (Williams and Seeger, "Using the Nystroem method to speed
up kernel machines", 2001); on small data L L' is K, and the first step of conjugate gradients is the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from mercer.gram import Gram
from mercer.likelihood import Curvature, Likelihood, probabilities
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples.base import Array
from mercer.solvers.certificate import UNKNOWN, Certificate, Solution, Witness
from mercer.solvers.convexity import by_construction, of_columns, refuted
from mercer.solvers.lapack import NotPositiveDefiniteError, factorize, interruptible
from mercer.solvers.smo import Progress, SolverInterrupted

#: The preconditioner takes all samples if they, times the outputs, are no more than this ...
SMALL = 2000
#: ... or else this many divided by the outputs, but not fewer than ...
LANDMARKS = 800
#: ... these.
FEWEST = 40
#: The direction in which the coefficients are led.
RESIDUAL = "r'Kr = {} of r, the coefficients found less those that their probabilities induce"
#: Steps without a better violation after which the solver gives up: rounding leaves nothing to gain.
PATIENCE = 10


class Operator(Protocol):
    """A positive semi-definite matrix that multiplies, and is about L L'."""

    @property
    def bits(self) -> int: ...

    @property
    def kept(self) -> int: ...

    def product(self, V: Vector) -> Vector: ...

    def root(self, outputs: int) -> Vector: ...


class Whole:
    """The Gram matrix: in memory if it takes at most ``budget`` bytes, else computed anew for every product."""

    def __init__(self, gram: Gram, budget: int) -> None:
        self.gram = gram
        self.bits = 8 * gram.dtype.itemsize
        held = len(gram) ** 2 * gram.dtype.itemsize <= budget
        self.matrix: Array | None = gram.to_dense() if held else None
        self.kept = len(gram) if held else 0

    def product(self, V: Vector) -> Vector:
        V = V.astype(self.gram.dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            product = self.gram @ V if self.matrix is None else self.matrix @ V
        if not np.isfinite(product).all():
            raise ValueError(f"{self.gram.kernel} is not finite on these samples in {V.dtype}; scale the data first")
        return product.astype(np.float64, copy=False)

    def root(self, outputs: int) -> Vector:
        n = len(self.gram)
        rank = n if n * outputs <= SMALL else min(n, max(FEWEST, LANDMARKS // outputs))
        chosen = np.unique(np.linspace(0, n - 1, rank).astype(np.int64))
        rows = self.gram.block(chosen, slice(0, n)) if self.matrix is None else self.matrix[chosen]
        return spanning(np.asarray(rows, dtype=np.float64), chosen)[0]


@dataclass(frozen=True)
class Spanned:
    """K as far as some samples span it: Z Z', with K itself wherever one of them takes part."""

    Z: Vector
    bits: int = 64
    kept: int = 0

    def product(self, V: Vector) -> Vector:
        return np.asarray(self.Z @ (self.Z.T @ V))

    def root(self, outputs: int) -> Vector:
        return self.Z


def spanning(rows: Vector, chosen: Array) -> tuple[Vector, Vector]:
    """Z = K_nS T with T = M^-T and M M' = K_SS, from the rows K_Sn of the chosen samples; and T.

    A K_SS that is singular to working precision is made regular by as little of a ridge as suffices.
    """
    inner = rows[:, chosen]
    size = float(np.abs(inner.diagonal()).max(initial=0.0)) or 1.0
    for ridge in (0.0, *(10.0**e for e in range(-13, 1))):
        M = np.ascontiguousarray(inner + ridge * size * np.eye(len(inner)))
        try:
            factorize(M)
        except NotPositiveDefiniteError:
            continue
        M = np.tril(M)
        if M.diagonal().min() ** 2 > 1e-14 * size:
            T = solve_triangular(M, np.eye(len(M)), lower=True, check_finite=False).T
            return interruptible(partial(np.matmul, rows.T, T), rows.shape[1]), np.asarray(T)
    return np.zeros((rows.shape[1], 1)), np.zeros((len(chosen), 1))  # nothing like a kernel; no help, no harm


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
    budget: int = 200 * 2**20
    progress: Callable[[Progress], bool | None] | None = None

    def solve(
        self,
        gram: Gram,
        problems: Sequence[Likelihood],
        start: Sequence[Vector | None] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> list[Solution]:
        """One solution per problem, all on the same Gram matrix, or on its samples ``order``."""
        gram = gram.ordered(order)
        starts = [None] * len(problems) if start is None else start
        return [self._solved(gram, problem, A) for problem, A in zip(problems, starts, strict=True)]

    def _solved(self, gram: Gram, likelihood: Likelihood, start: Vector | None) -> Solution:
        """First in the precision of the samples; certified, and if need be continued, in float64."""
        path = Path(self, likelihood, None if by_construction(gram.kernel, balanced=True) else gram)
        path.begin(Whole(gram, self.budget), start)
        path.walk()
        if gram.dtype != np.float64:
            path.begin(Whole(gram.exact, self.budget), path.A)
            path.walk()
        return path.solution()

    def solve_spanned(self, Z: Vector, likelihood: Likelihood, start: Vector | None = None) -> Solution:
        """The same with Z Z' in the place of the Gram matrix."""
        path = Path(self, likelihood)
        path.begin(Spanned(Z), start)
        path.walk()
        return path.solution()


@dataclass(eq=False)
class Path:
    """Where a solve is: coefficients A, K A, bias, residual r and K r, and what has been spent to come here."""

    solver: Newton
    likelihood: Likelihood
    doubted: Gram | None = None  # a matrix that may not be positive semi-definite
    steps: int = 0
    products: int = 0
    begun: float = field(default_factory=time.perf_counter)
    certificate: Certificate = UNKNOWN

    def __post_init__(self) -> None:
        self.A = np.zeros(self.likelihood.target.shape)
        self.bias = np.zeros(self.likelihood.outputs)
        self.stopped = False
        self.witness: Witness | None = None

    def begin(self, operator: Operator, start: Vector | None) -> None:
        """Takes up coefficients, whose sum is made zero, with this matrix."""
        self.operator, self.certificate = operator, replace(UNKNOWN, iterations=self.steps)
        self.__dict__.pop("root", None)
        try:
            if start is not None:
                self.A = self.likelihood.feasible(start)
            self.KA = self.product(self.A) if self.A.any() else np.zeros_like(self.A)
            self.settle()
        except KeyboardInterrupt as interrupt:
            raise SolverInterrupted([self.solution()]) from interrupt

    def product(self, V: Vector) -> Vector:
        self.products += 1
        return self.operator.product(V)

    @remembered
    def root(self) -> Vector:
        return self.operator.root(self.likelihood.outputs)

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
        if self.doubted is not None:
            self.witness = (
                self.witness
                or of_columns(self.doubted, self.A, self.KA)
                or of_columns(self.doubted, self.r, self.Kr, RESIDUAL)
            )
            self.certificate = refuted(self.certificate, self.witness)

    def solution(self) -> Solution:
        """Where the solve is. If that is in float32, nothing is certified."""
        exact = self.operator.bits == 64
        return Solution(self.A, self.bias, self.certificate if exact else replace(UNKNOWN, iterations=self.steps))

    def walk(self) -> None:
        """Newton steps until the violation is small enough, or no step helps."""
        best, since = np.inf, 0
        try:
            while not (self.stopped or self.certificate.converged or self.steps == self.solver.max_iter):
                if self.certificate.violation < 0.5 * best:
                    best, since = self.certificate.violation, 0
                since += 1
                if since > PATIENCE:
                    break
                self.step()
                self.stopped = self.report()
        except KeyboardInterrupt as interrupt:
            raise SolverInterrupted([self.solution()]) from interrupt

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
        now, n, operator = self.certificate, len(self.likelihood), self.operator
        seconds = time.perf_counter() - self.begun
        seen = Progress(
            0, self.steps, now.violation, now.gap, n, n, self.products * n, operator.kept, operator.bits, seconds
        )
        return bool(self.solver.progress(seen))


def preconditioner(curvature: Curvature, L: Vector) -> Callable[[Vector], Vector]:
    """(I + R'L L'R)^-1 by the formula of Sherman, Morrison and Woodbury."""
    shape = curvature.P.shape[1], L.shape[1]
    inner = curvature.between(L)
    inner[np.arange(len(inner)), np.arange(len(inner))] += 1.0
    try:
        factorize(inner)
    except NotPositiveDefiniteError:  # only by rounding; then without
        return lambda v: v

    def apply(v: Vector) -> Vector:
        small = (L.T @ curvature.spread(v)).T.ravel()
        solved = cho_solve((inner.T, False), small, check_finite=False).reshape(shape)
        return np.asarray(v - curvature.gather(L @ solved.T))

    return apply
