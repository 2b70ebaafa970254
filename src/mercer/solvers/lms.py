"""Least mean squares: gradient steps for a function of a kernel's space, f = sum_i a_i k(x_i, .), on

    1/2 sum_i w_i (y_i - f(x_i))^2 + 1/2 alpha |f|^2          e = w (y - f) - alpha a          a <- a + step e

with all rows at a time, or with some: the coefficients of a batch change by its own e. Where k has an explicit map phi,
f = theta'phi and the same step is theta <- theta + step phi'e: primal and dual make the same functions, and differ in
what is kept. Nothing is factored or stored but a few vectors (Widrow and Hoff, "Adaptive switching circuits", 1960).

The step must lie below 2 / L, with L the largest eigenvalue of the rule, which Lanczos finds from a few products; for
batches of m of n rows L is about k + (m - 1) (L of all) / n, k the largest k(x, x) (Ma, Bassily and Belkin, ICML 2018).
With ``step=None`` and all rows, every step and its momentum are those that together lower the objective most: the
method of conjugate gradients (Hestenes and Stiefel, 1952).

How far f is from the optimum, every product with K tells. By S = e'W^-1 e and Q = e'K e, no function is better than

    1/2 sum_i w_i (y_i - f(x_i))^2 + 1/2 alpha |f|^2 - gap,      gap = 1/2 S Q / (Q + alpha S),

for that is the value of the dual where it is largest on the line from a along e; and since the objective is quadratic,
2 gap also bounds sum_i w_i (f - f_best)^2. So the descent ends when f is known to be within ``tol`` of the best f, both
as root mean squares and relative to y. Without a penalty the gap is the whole objective, of which nothing tells how
much is to remain; then it ends when the gradient, of length Q^1/2 in the kernel's space, has fallen to ``tol`` times
its first length.

Conjugate gradients of many rows are followed in float32 at first. Where they end, f and the gap are computed in
float64, and if that is not close enough, the descent goes on from there in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from mercer.errors import MercerError
from mercer.kernels.leaf import TINY
from mercer.problem import Vector
from mercer.solvers.certificate import UNKNOWN, Certificate, Solution
from mercer.solvers.convexity import by_construction, of_columns, refuted
from mercer.solvers.lanczos import spectrum_ends
from mercer.solvers.operator import Operator, Positions, rounding
from mercer.solvers.preconditioner import NystromPreconditioner
from mercer.solvers.smo import SolverInterrupted
from mercer.solvers.stage import DescentStage, rough

#: Products with the matrix that are spent on its largest eigenvalue.
EIGENVALUE_STEPS = 20
#: A descent in batches looks where it stands when it has made this many times the passes of its last look.
LOOK = 1.25
#: What the descent aims at, as a part of ``tol``: the verdict at the end is by products of its own.
AIM = 0.8
#: Products in float32 are to come so close; what is beyond is left to float64.
ROUGH = 1e-4


Preconditioner = NystromPreconditioner | None


class StepError(MercerError, ValueError):
    """A step so large that the iteration would diverge."""


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The problem: targets of shape (rows, outputs), weights of the rows, and the penalty alpha.

    Rows of weight 0 are not learned from; f is known there all the same, and ``held`` are those it is judged by.
    """

    y: Vector
    weight: Vector
    alpha: float = 0.0
    held: Positions | None = None

    def error(self, f: Vector) -> float:
        """The weighted mean square of y - f."""
        return float(self.weight @ np.square(self.y - f).mean(axis=1) / self.weight.sum())

    def gradient(self, a: Vector, f: Vector) -> Vector:
        """The coefficients e of the direction of steepest descent."""
        return np.asarray(self.weight[:, None] * (self.y - f) - self.alpha * a)

    def gap(self, e: Vector, square: Vector) -> Vector:
        """By how much, at most, the objective of each output exceeds its minimum; ``square`` is e'Ke."""
        own = np.divide(e**2, self.weight[:, None], out=np.zeros_like(e), where=self.weight[:, None] > 0).sum(axis=0)
        return ratio(own * square, 2 * (square + self.alpha * own))

    def reached(self, gap: Vector, square: Vector, first: Vector, tol: float) -> Vector:
        """Of which outputs f is as close to the best as ``tol`` asks; ``first`` is e'Ke of f = 0."""
        if self.alpha:
            return np.asarray(gap <= tol**2 * (self.weight @ self.y**2) / 2)
        return np.asarray(square <= tol**2 * first)

    def certificates(self, seen: Point, first: Vector, noise: float, tol: float) -> tuple[Certificate, ...]:
        """One for each output, of the objective divided by alpha if that is not 0, as ``mercer.problem`` has it.

        Without a penalty, a gradient that may be rounding alone is as short as any.
        """
        a, f, e, Ke = seen.a, seen.f, seen.e, seen.Ke
        square = np.maximum(inner(e, Ke), 0.0)
        primal = (self.weight @ (self.y - f) ** 2 + self.alpha * inner(a, f)) / 2
        gap = self.gap(e, square)
        converged = self.reached(gap, np.where(square > noise * inner(e, e), square, 0.0), first, tol)
        slopes = Ke[self.weight > 0]
        violation = np.maximum(slopes.max(axis=0), 0) - np.minimum(slopes.min(axis=0), 0)
        unit = self.alpha or 1.0
        return tuple(
            Certificate(p / unit, (p - g) / unit, g / unit, v / unit, seen.passes, good)
            for p, g, v, good in zip(*(x.tolist() for x in (primal, gap, violation, converged)), strict=True)
        )


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a descent: coefficients, f = K a, e and K e, after how many passes, and whether all in float64."""

    a: Vector
    f: Vector
    e: Vector
    Ke: Vector
    passes: int
    precise: bool


@dataclass(frozen=True, eq=False)
class Descent(Solution):
    """Where the steps have led, with a certificate for each output, and the way there.

    ``errors`` are the weighted mean squares of y - f of every pass over the data (after it, or in batches as they were
    met), ``held`` those of the rows it is judged by, after it. ``step`` was taken at each turn, 0 if it varied;
    ``limit`` it had to stay below, infinite if unknown. ``stopped`` says that it was not to reach the optimum: held
    rows were predicted worse again, or ``progress`` asked for the end.
    """

    certificate: tuple[Certificate, ...]
    errors: tuple[float, ...]
    held: tuple[float, ...]
    step: float
    limit: float
    stopped: bool

    @property
    def iterations(self) -> int:
        return len(self.errors)


@dataclass(frozen=True)
class GradientDescent:
    """Takes gradient steps until f is within ``tol`` of the best, as the module says, or ``max_iter`` passes are done.

    ``step=None`` chooses, as the module says. ``batch`` rows are used at a time, all if None. With held rows, it ends
    when their error has not fallen for ``patience`` passes, and returns to where that was least. With ``landmarks``,
    positions of rows, its steps are preconditioned by ``NystromPreconditioner``. ``progress`` is told the pass and
    its errors; if it returns True, the descent ends there. Ctrl-C raises ``SolverInterrupted`` with the descent to
    the point that was last looked at, certified if its products are in float64, or else to its start.

    >>> import numpy as np
    >>> from mercer.solvers.operator import Factored
    >>> problem = LeastSquares(np.array([[1.0], [2.0]]), np.ones(2), alpha=1.0)
    >>> (found,) = GradientDescent(step=0.1).solve(Factored(np.eye(2)), [problem])
    >>> found.coefficients.round(4).ravel()
    array([0.5, 1. ])
    """

    step: float | None = None
    batch: int | None = None
    max_iter: int = 1000
    tol: float = 1e-6
    patience: int = 5
    seed: int = 0
    landmarks: Positions | None = field(default=None, compare=False)
    progress: Callable[[int, float, float | None], bool] | None = None

    def solve(
        self, K: Operator, problems: Sequence[LeastSquares], start: Sequence[Vector | None] | None = None
    ) -> list[Descent]:
        """A descent for each problem, from f = 0 or from the coefficients of the start."""
        starts = [None] * len(problems) if start is None else start
        found: list[Descent] = []
        try:
            if not np.isfinite(K.diag()).all():
                raise ValueError("k(x, x) is not finite on these samples; scale the data first")
            for problem, a in zip(problems, starts, strict=True):
                found.append(self._solved(K, problem, a))
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, SolverInterrupted):
                found += interrupt.solutions
            rest = zip(problems[len(found) :], starts[len(found) :], strict=True)
            raise SolverInterrupted([*found, *(unbegun(problem, a) for problem, a in rest)]) from interrupt
        return found

    def _solved(self, K: Operator, problem: LeastSquares, start: Vector | None) -> Descent:
        conjugate = self.batch is None and self.step is None
        stage = DescentStage(K, rough(K) if conjugate else K)
        preconditioner: Preconditioner = None
        if self.landmarks is not None:
            preconditioner = NystromPreconditioner(
                stage.source, stage.left, problem.weight, problem.alpha, self.landmarks
            )
        step, limit = (0.0, np.inf) if conjugate else self._step(stage, problem, preconditioner)
        history = History(self, problem)

        def descent(seen: Point) -> Descent:
            certificates = (replace(UNKNOWN, iterations=seen.passes),) * seen.a.shape[1]
            if seen.precise:
                noise = rounding(np.float64, K.diag())
                each = problem.certificates(seen, history.first, noise, self.tol)
                certificates = tuple(judged(K, c, a, f) for c, a, f in zip(each, seen.a.T, seen.f.T, strict=True))
            way = tuple(history.errors[: seen.passes]), tuple(history.held[: seen.passes])
            f, bias = seen.f if seen.precise else None, np.zeros(seen.a.shape[1])
            return Descent(seen.a, bias, certificates, *way, step, limit, history.stopped, f=f)

        a, f = np.zeros_like(problem.y), np.zeros_like(problem.y)
        try:
            if start is not None and start.any():
                a, f = start, stage.product(start)
                history.begin_at(a, stage)
            while True:
                last = stage.source is K
                history.begin(stage, AIM * self.tol if last else max(AIM * self.tol, ROUGH), last=last)
                if self.batch is None:
                    self._whole(stage, preconditioner, step, history, a, f)
                else:
                    self._batches(stage, preconditioner, step, history, a)
                a = history.best
                f = stage.exact(a)
                e = problem.gradient(a, f)
                Ke = stage.exact(e)
                if not (np.isfinite(f).all() and np.isfinite(Ke).all()):  # as k(x, x) of an indefinite kernel may be
                    raise ValueError(f"{K.kernel} is not finite on these samples; scale the data first")
                history.seen = Point(a, f, e, Ke, len(history.errors), True)
                found = descent(history.seen)
                if last or history.ended or all(certificate.converged for certificate in found.certificate):
                    return found
                stage = DescentStage(
                    K, K
                )  # and what the stage before has kept is forgotten before this one keeps anything
                preconditioner = None if preconditioner is None else preconditioner.within(stage.source, stage.left)
        except KeyboardInterrupt as interrupt:
            if history.seen is None:
                raise
            raise SolverInterrupted([descent(history.seen)]) from interrupt

    def _step(self, stage: DescentStage, problem: LeastSquares, preconditioner: Preconditioner) -> tuple[float, float]:
        """The step, and the limit it must stay below."""
        root = np.sqrt(problem.weight)

        def rule(v: Vector) -> Vector:
            g = (root * v)[:, None]
            Kg = stage.product(g)
            return np.asarray(root * (Kg if preconditioner is None else preconditioner.applied(g, Kg)[1])[:, 0])

        largest = max(spectrum_ends(rule, len(stage.source), EIGENVALUE_STEPS).largest, TINY)
        if self.batch is not None:
            own = float((problem.weight * stage.diagonal).max())
            largest = min(largest, own + (self.batch - 1) * largest / np.count_nonzero(problem.weight))
        limit = 2 / (largest + problem.alpha)
        if self.step is not None and not self.step < limit:
            raise StepError(
                f"step={self.step:.6g} is too large: the iteration diverges unless it is below {limit:.6g} = 2 / "
                f"{largest + problem.alpha:.6g}, the largest eigenvalue here; give a smaller step, or step='auto'"
            )
        return (limit / 2 if self.step is None else self.step), limit

    def _whole(
        self, stage: DescentStage, preconditioner: Preconditioner, step: float, history: History, a: Vector, f: Vector
    ) -> None:
        """All rows at a time: one product with K per step, from which f, the gradient and the best step follow."""
        problem = history.problem
        p = Kp = np.zeros_like(problem.y)  # the direction of conjugate gradients
        before = None
        while True:
            e = problem.gradient(a, f)
            Ke = stage.product(e)
            if history.looked(a, f, e, Ke):
                return
            z, Kz = (e, Ke) if preconditioner is None else preconditioner.applied(e, Ke)
            if step:
                a, f = a + step * z, f + step * Kz
            else:
                slope = inner(e, Kz)
                momentum = 0.0 if before is None else ratio(slope, before)
                p, Kp = z + momentum * p, Kz + momentum * Kp
                curvature = inner(problem.weight[:, None] * Kp, Kp) + problem.alpha * inner(p, Kp)
                length = ratio(slope, curvature)
                a, f, before = a + length * p, f + length * Kp, slope
            if history.passed(a, problem.error(f), None if problem.held is None else f[problem.held]):
                return

    def _batches(
        self, stage: DescentStage, preconditioner: Preconditioner, step: float, history: History, a: Vector
    ) -> None:
        """Some rows at a time, in a new random order at every pass; f is asked for at these rows only."""
        assert self.batch is not None
        problem, rng = history.problem, np.random.default_rng(self.seed)
        rows, a, look = np.flatnonzero(problem.weight), a.copy(), 0
        learned = stage.learned(a)
        while True:
            if len(history.errors) >= look:
                f = stage.product(a) if a.any() else np.zeros_like(a)
                e = problem.gradient(a, f)
                if history.looked(a.copy(), f, e, stage.product(e)):
                    return
                look = ceil(LOOK * (look + 1))
            f = problem.y.copy()
            for batch in np.array_split(rng.permutation(rows), -(-len(rows) // self.batch)):
                f[batch] = learned.at(batch)
                e = problem.weight[batch, None] * (problem.y[batch] - f[batch]) - problem.alpha * a[batch]
                learned.move(batch, step * e)
                a[batch] += step * e
                if preconditioner is not None:
                    block = preconditioner.pairs.block(batch, slice(0, len(preconditioner.some)))
                    change = step * preconditioner.correction(block.T @ e)
                    learned.move(preconditioner.some, change)
                    a[preconditioner.some] += change
            if history.passed(a.copy(), problem.error(f), None if problem.held is None else learned.at(problem.held)):
                return


def unbegun(problem: LeastSquares, start: Vector | None) -> Descent:
    """A descent of which nothing is known but where it was to start."""
    a = np.zeros_like(problem.y) if start is None else start
    bias = np.zeros(a.shape[1])
    return Descent(a, bias, (UNKNOWN,) * a.shape[1], errors=(), held=(), step=0.0, limit=np.inf, stopped=False)


def judged(K: Operator, certificate: Certificate, a: Vector, f: Vector) -> Certificate:
    """The certificate of coefficients a with f = K a, and what is known of convexity."""
    if by_construction(K.kernel, balanced=False):
        return replace(certificate, convex=True)
    return refuted(certificate, of_columns(K, a[:, None], f[:, None]))


class History:
    """The way of a descent: its errors so far, when it ends, where it was best, and what was last seen there."""

    def __init__(self, solver: GradientDescent, problem: LeastSquares) -> None:
        self.solver, self.problem = solver, problem
        self.errors: list[float] = []
        self.held: list[float] = []
        self.stopped = False
        self.first = np.zeros(problem.y.shape[1])
        self.best = np.zeros_like(problem.y)
        self.known = False  # whether ``first`` is
        self.seen: Point | None = None

    def begin(self, stage: DescentStage, tol: float, *, last: bool) -> None:
        """From here on products are this stage's, and ``tol`` is to be reached; unless ``last``, more follows."""
        self.noise, self.precise = rounding(stage.source.dtype, stage.diagonal), stage.precise
        self.tol, self.last = tol, last

    def begin_at(self, a: Vector, stage: DescentStage) -> None:
        """For a descent that does not begin at f = 0: takes note of where it does, and of the gradient there."""
        e = self.problem.gradient(np.zeros_like(a), np.zeros_like(a))
        self.best, self.first, self.known = a, np.maximum(inner(e, stage.product(e)), 0.0), True

    @property
    def ended(self) -> bool:
        """Whether it is not to go on, however far from the optimum."""
        return self.stopped or len(self.errors) >= self.solver.max_iter

    def looked(self, a: Vector, f: Vector, e: Vector, Ke: Vector) -> bool:
        """Takes note of coefficients a, f = K a, e and K e; whether this is as close to the optimum as was asked."""
        square, known = inner(e, Ke), self.noise * inner(e, e)
        if (square < -known).any():
            raise ValueError(
                "the kernel is not positive semi-definite on these samples, so that gradient steps lead nowhere; "
                "mercer.kernels.repair makes it so"
            )
        # A gradient that may be rounding alone is none; to follow it would let idle coefficients grow.
        square = np.where(square > known, square, 0.0)
        if not self.known:
            self.first, self.known = square, True
        self.seen = Point(a, f, e, Ke, len(self.errors), self.precise)
        gap = self.problem.gap(e, square)
        near = bool(self.problem.reached(gap, square, self.first, self.tol).all())
        self.stopped = near and self.last and self.problem.held is not None
        return near

    def passed(self, a: Vector, error: float, held: Vector | None) -> bool:
        """Takes note of a pass: coefficients, the error, and f at the rows it is judged by; whether it was the last."""
        if not np.isfinite(error):
            raise FloatingPointError("the iteration has diverged; give a smaller step, or step='auto'")
        self.errors.append(error)
        if held is None:
            self.best = a
        else:
            self.held.append(float(np.square(self.problem.y[self.problem.held] - held).mean()))
            if self.held[-1] == min(self.held):
                self.best = a
            self.stopped = len(self.held) - int(np.argmin(self.held)) > self.solver.patience
        judged = self.held[-1] if self.held else None
        if self.solver.progress and self.solver.progress(len(self.errors), error, judged):
            self.stopped = True
        return self.ended


def inner(u: Vector, v: Vector) -> Vector:
    """The inner product of every column of u with that of v."""
    return np.asarray(np.einsum("ij,ij->j", u, v))


def ratio(above: Any, below: Any) -> Vector:
    """above / below, and 0 where there is nothing left to divide by."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))
