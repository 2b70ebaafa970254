"""Least squares over the weights of basis functions, with a penalty on their squares or on their sizes.

    minimise over w and b   sum_i weight_i (y_i - b - w'phi(x_i))^2 + alpha |w|^2     (ridge)
                                                                    + alpha |w|_1     (lasso)

Either b is 0, or it is free: then w solves the same problem with targets and basis functions shifted to (weighted)
mean zero. With rows multiplied by the roots of the weights, A and t, what remains is |t - A w|^2 + penalty.
Ridge is solved by one singular value decomposition A = U diag(s) V', w = V diag(s / (s^2 + alpha)) U't, for all alpha;
alpha = 0 is the pseudo-inverse. The normal equations, whose condition number is that of A squared, are never formed.
Lasso is solved by scikit-learn, and judged here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as CoordinateDescent
from sklearn.linear_model import lars_path

from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.solvers.certificate import Certificate, PrimalSolution
from mercer.solvers.lapack import interruptible
from mercer.solvers.progress import OnStage, silent

#: Sweeps of coordinate descent after which another method is tried first.
SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class Design:
    """The matrix A: ``root`` are the roots of the weights, ``centre`` is what was taken off the basis functions.

    >>> import numpy as np
    >>> design = Design.of(np.array([[0.0], [1.0], [2.0]]), np.ones(3), bias=True)
    >>> design.trace(0.0), design.values(np.array([2.0]))
    (2.0, array([0., 2., 4.]))
    """

    matrix: Vector
    root: Vector
    centre: Vector
    bias: bool

    @classmethod
    def of(cls, features: Vector, weight: Vector, *, bias: bool) -> Design:
        root = np.sqrt(weight)
        centre = np.average(features, axis=0, weights=weight) if bias else np.zeros(features.shape[1])
        return cls((features - centre) * root[:, None], root, centre, bias)

    def mean(self, y: Vector) -> Vector:
        """What is taken off the targets, of shape (samples, targets)."""
        return np.asarray(np.average(y, axis=0, weights=self.root**2) if self.bias else np.zeros(y.shape[1]))

    def shifted(self, y: Vector) -> Vector:
        """The targets t."""
        return np.asarray((y - self.mean(y)) * self.root[:, None])

    @remembered
    def svd(self) -> tuple[Vector, Vector, Vector]:
        """U, s and V'; singular values that cannot be told from zero are left out."""
        U, s, V = interruptible(lambda: np.linalg.svd(self.matrix, full_matrices=False))
        kept = s > max(self.matrix.shape) * np.finfo(np.float64).eps * s[0]
        return U[:, kept], s[kept], V[kept]

    def trace(self, alpha: float) -> float:
        """The effective number of parameters: the trace of the matrix that turns targets into fitted values."""
        _, s, _ = self.svd
        return float(np.sum(s**2 / (s**2 + alpha)) + self.bias)

    def smoother(self, features: Vector, alpha: float) -> Vector:
        """One row b(x) for each row of features, with f(x) = b(x)'y."""
        U, s, V = self.svd
        weight = self.root**2 / np.sum(self.root**2)
        if self.bias:  # U is orthogonal to the roots up to rounding, which small s would make large
            U = U - np.multiply.outer(self.root, self.root @ U) / np.sum(self.root**2)
        rows = ((features - self.centre) @ V.T * (s / (s**2 + alpha))) @ U.T * self.root
        return np.asarray(rows + weight if self.bias else rows)

    def judge_ridge(self, t: Vector, w: Vector, alpha: float, tol: float) -> Certificate:
        """With g = A'(t - A w) - alpha w, half the slope, w is g'(A'A + alpha)^-1 g above the optimum: the gap."""
        _, s, V = self.svd
        residual = t - self.matrix @ w
        slope = self.matrix.T @ residual - alpha * w
        gap = float(np.sum((V @ slope) ** 2 / (s**2 + alpha)))
        primal = float(residual @ residual + alpha * (w @ w))
        violation = 2 * float(np.abs(slope).max())
        return Certificate(primal, primal - gap, gap, violation, 1, gap <= tol * float(t @ t), convex=True)

    def judge_lasso(self, t: Vector, w: Vector, alpha: float, tol: float) -> Certificate:
        """The dual is to maximise 2 t'u - |u|^2 subject to |2 A'u| <= alpha in every entry; u is c (t - A w)."""
        residual = t - self.matrix @ w
        square = float(residual @ residual)
        primal = square + alpha * float(np.abs(w).sum())
        correlation = 2 * (self.matrix.T @ residual)
        steepest = float(np.abs(correlation).max())
        most = alpha / steepest if steepest else np.inf
        c = float(np.clip(residual @ t, -most * square, most * square)) / square if square else 0.0
        dual = 2 * c * float(residual @ t) - c**2 * square
        slope = np.where(w == 0, np.maximum(np.abs(correlation) - alpha, 0), np.abs(correlation - alpha * np.sign(w)))
        gap = abs(primal - dual)
        return Certificate(primal, dual, gap, float(slope.max()), 0, gap <= tol * float(t @ t), convex=True)

    def values(self, w: Vector) -> Vector:
        """w'phi(x_i) at every row."""
        return np.asarray(((self.matrix @ w).T / self.root).T + self.centre @ w)


@dataclass(frozen=True, eq=False)
class Penalised:
    """Targets of shape (rows, outputs), and the penalty ``alpha``: a number, or one for each output."""

    y: Vector
    alpha: Any

    def outputs(self) -> list[tuple[int, float]]:
        return list(enumerate(np.broadcast_to(self.alpha, self.y.shape[1]).tolist()))


@dataclass(frozen=True)
class Ridge:
    """Solves with the penalty on squares; ``converged`` means a gap of at most tol |t|^2.

    >>> import numpy as np
    >>> design = Design.of(np.array([[0.0], [1.0], [2.0]]), np.ones(3), bias=True)
    >>> (solution,) = Ridge().solve(design, [Penalised(np.array([[1.0], [3.0], [5.0]]), alpha=0.0)])
    >>> solution.coefficients.round(9), solution.bias.round(9), solution.f.ravel().round(9)
    (array([[2.]]), array([1.]), array([0., 2., 4.]))
    """

    tol: float = 1e-6

    def solve(
        self, design: Design, problems: Sequence[Penalised], start: Sequence[Vector | None] | None = None
    ) -> list[PrimalSolution]:
        """One solution per problem; a closed form needs no start."""
        return [solution_of(design, problem, self.minimum) for problem in problems]

    def minimum(self, design: Design, t: Vector, output: int, alpha: float) -> tuple[Vector, Certificate]:
        U, s, V = design.svd
        w = V.T @ (s / (s**2 + alpha) * (U.T @ t))
        return w, design.judge_ridge(t, w, alpha, self.tol)


def solution_of(design: Design, problem: Penalised, minimum: Any) -> PrimalSolution:
    """The minima for all outputs of a problem."""
    t = design.shifted(problem.y)
    found = [minimum(design, t[:, j], j, alpha) for j, alpha in problem.outputs()]
    w = np.stack([weights for weights, _ in found], axis=1)
    bias = design.mean(problem.y) - design.centre @ w
    return PrimalSolution(w, bias, tuple(certificate for _, certificate in found), f=design.values(w))


@dataclass(frozen=True)
class Lasso:
    """Solves with the penalty on sizes; without one, of all that are best, it takes the one of least squares.

    ``begin`` is told every long stage before it begins.
    """

    tol: float = 1e-6
    max_iter: int = 10_000
    begin: OnStage = silent

    def solve(
        self, design: Design, problems: Sequence[Penalised], start: Sequence[Vector | None] | None = None
    ) -> list[PrimalSolution]:
        """One solution per problem, from w = 0 on."""
        return [solution_of(design, problem, self.minimum) for problem in problems]

    def minimum(self, design: Design, t: Vector, output: int, alpha: float) -> tuple[Vector, Certificate]:
        """By coordinate descent; if it takes too long, as for functions much alike, least angles; then descent again.

        scikit-learn divides the squared error by twice the number of rows, and its tolerance is that of half our gap.
        """
        if not alpha > 0:
            return Ridge(self.tol).minimum(design, t, output, alpha)
        tol, max_iter = self.tol, self.max_iter
        penalty = alpha / (2 * len(t))
        descent: Any = CoordinateDescent(penalty, fit_intercept=False, tol=tol / 4, warm_start=True)

        def descend(start: Vector, sweeps: int) -> tuple[Vector, int]:
            descent.set_params(max_iter=sweeps).coef_ = start
            descent.fit(design.matrix, t)
            return np.array(descent.coef_), int(descent.n_iter_)

        def angles(start: Vector) -> tuple[Vector, int]:
            fixed = dict(method="lasso", return_path=False, return_n_iter=True)
            _, _, w, steps = lars_path(design.matrix, t, alpha_min=penalty, max_iter=max_iter, **fixed)
            return np.asarray(w), int(steps)

        best = np.zeros(design.matrix.shape[1])
        certificate = design.judge_lasso(t, best, alpha, tol)
        iterations = 0
        few = min(SWEEPS, max_iter)
        stages: list[tuple[str, Callable[[Vector], tuple[Vector, int]]]] = [
            (f"at most {few} sweeps of coordinate descent", lambda w: descend(w, few)),
            ("least angles", angles),
            (f"at most {max_iter} sweeps of coordinate descent", lambda w: descend(w, max_iter)),
        ]
        for name, stage in stages:
            if certificate.converged:
                break
            self.begin(f"target {output + 1}: {name}, gap {certificate.gap:.3g}")
            with warnings.catch_warnings():  # our own certificate says whether it has converged
                warnings.simplefilter("ignore", ConvergenceWarning)
                w, steps = interruptible(lambda stage=stage, start=best: stage(start))  # type: ignore[misc]
            iterations += steps
            judged = design.judge_lasso(t, w, alpha, tol)
            if judged.gap < certificate.gap:
                best, certificate = w, judged
        return best, replace(certificate, iterations=iterations)
