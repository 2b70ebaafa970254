"""Problems without bounds are linear systems: solved by Cholesky's factorisation and iterative refinement.

    (K + diag(ridge)) a + b 1 = q,   1'a = total   (a and b; without the equality, a alone)

The matrix is factored in the precision of the data, in place.
Residuals are computed in float64 and the solution is corrected until the KKT violation is small enough; a float32
factor therefore yields a float64 answer (Higham, "Accuracy and Stability of Numerical Algorithms", ch. 12), and if
it cannot, the matrix is factored again in float64. A singular matrix gives the least-squares solution of smallest
norm and a warning with the condition number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgWarning, blas, cho_solve
from sklearn.exceptions import ConvergenceWarning

from mercer.caller import warn_caller
from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.solvers.certificate import Solution, Witness, certify
from mercer.solvers.convexity import certified
from mercer.solvers.lapack import NotPositiveDefiniteError, by_columns, eigh, factorize, reciprocal_condition
from mercer.solvers.operator import DerivedOperator, Operator
from mercer.solvers.progress import OnStage, silent

#: A ridge is far beyond K and the smallest ridge if it is this many times as large.
FAR = 2.0**20
#: Rows handled at a time where a temporary of the matrix's width is needed.
PANEL = 384


class Invertible(Operator, Protocol):
    """An operator whose sums with a diagonal can be solved: what closed forms need.

    Its products are in float64, whatever the precision it is solved in.
    """

    @property
    def inner(self) -> Operator:
        """The matrix as it was given."""

    def inverse(self, ridge: Vector) -> Callable[[Vector], Vector]:
        """A function that solves (K + diag(ridge)) x = b, or NotPositiveDefiniteError."""

    @property
    def witness(self) -> Witness | None:
        """A direction along which K is negative, if that is known already."""

    def rounding(self, a: Vector) -> float:
        """The error to be expected in K a, by rounding alone."""

    def least_squares(self, ridge: Vector, q: Vector, total: float | None) -> tuple[Vector, Witness | None]:
        """The last resort: the least-squares solution of smallest norm."""


#: Up to this many rows are refined to this part of tol, as that costs nothing.
FEW, FINER = 1000, 1e-4


@dataclass(frozen=True)
class Cholesky:
    """Solves problems without bounds. ``tol`` bounds the KKT violation relative to the largest |q|.

    ``begin`` is told every long stage before it begins.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.problem import squared
    >>> Cholesky().solve(Linear().gram(np.eye(2)), [squared(np.array([1.0, 2.0]), 1.0)])[0].coefficients
    array([0.5, 1. ])
    """

    tol: float = 1e-7
    refinements: int = 5
    begin: OnStage = silent

    def solve(
        self, K: Operator, problems: Sequence[Problem], start: Sequence[Vector | None] | None = None
    ) -> list[Solution]:
        """One solution per problem; if K is ``Invertible`` already, by its means. A closed form needs no start."""
        for problem in problems:
            if problem.bounded:
                raise ValueError("Cholesky solves problems without bounds and l1 terms; this one has some")
            if problem.group is not None:
                raise ValueError("Cholesky solves problems with at most one equality")
            if len(problem) != len(K):
                raise ValueError(f"the problem has {len(problem)} coefficients but the Gram matrix has {len(K)} rows")
        system: Any = K if hasattr(K, "inverse") else InvertibleGram(K, self.begin)
        return [self._solved(system, problem) for problem in problems]

    def _solved(self, system: Invertible, problem: Problem) -> Solution:
        q = problem.q.reshape(len(problem), -1)
        ridges = np.stack([one.ridge for one in problem.columns()], axis=1)
        coefficients, product = np.empty_like(q), np.empty_like(q)
        total = None if problem.total is None else float(np.asarray(problem.total))
        steps, good = 0, True
        witness = system.witness
        patterns, which = np.unique(ridges, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            columns = np.flatnonzero(np.ravel(which) == number)
            solved = self._solve(system, patterns[:, number], q[:, columns], total)
            coefficients[:, columns], product[:, columns] = solved.coefficients, solved.product
            steps, good = max(steps, solved.steps), good and solved.good
            witness = witness or solved.witness
        shape = problem.q.shape
        # What least squares found is not the minimum of anything, however small its residual.
        limit = self.tol * scale(problem.q) if good else -np.inf
        solution = certify(problem, coefficients.reshape(shape), product.reshape(shape), steps, limit)
        solution = certified(solution, system.inner, problem, product, witness)
        if good:  # else least squares has said so
            warn_of(solution)
        return solution

    def _solve(self, system: Invertible, ridge: Vector, q: Vector, total: float | None) -> Attempt:
        """The solution for one ridge: by refinement if that succeeds, else in float64, else by least squares."""
        try:
            attempt = self._refine(system, ridge, q, total)
        except NotPositiveDefiniteError:
            attempt = None
        if attempt is not None and attempt.good:
            return attempt
        if system.dtype == np.float32:
            return self._solve(InvertibleGram(system.inner.exact, self.begin), ridge, q, total)
        self.begin(f"least squares of {len(q)} rows")
        a, witness = system.least_squares(ridge, q, total)
        return Attempt(a, system @ a, 1, False, witness)

    def _refine(self, system: Invertible, ridge: Vector, q: Vector, total: float | None) -> Attempt:
        """Newton steps on the residual, which is exact to float64, until it is small or no longer falls."""
        self.begin(f"factor of {len(q)} rows in {system.dtype}")
        solve = system.inverse(ridge)
        ones = None if total is None else solve(np.ones((len(q), 1)))
        a, bias = np.zeros_like(q), np.zeros(q.shape[1])
        limit = self.tol * scale(q)
        worst, residual = np.inf, q
        steps = 0
        while steps < self.refinements:
            steps += 1
            change = solve(residual)
            if ones is not None:
                shift = (change.sum(axis=0) + a.sum(axis=0) - total) / ones.sum()
                change -= ones * shift
                bias += shift
            a += change
            product = system @ a
            residual = q - product - ridge[:, None] * a - bias
            before, worst = worst, float(np.abs(residual).max())
            self.begin(f"refinement {steps}: residual {worst:.1e}")
            if worst <= (FINER if len(q) <= FEW else 0.1) * limit or not worst < 0.5 * before:
                break
        # What no solver in float64 can undercut: the rounding of the residual itself.
        return Attempt(a, product, steps, worst <= max(limit, system.rounding(a)))


@dataclass(frozen=True, eq=False)
class Attempt:
    """Coefficients, K times them in float64, the number of solves they took, and whether they are good enough.

    ``witness`` is a direction along which K + ridge, and so K, turned out to be negative.
    """

    coefficients: Vector
    product: Vector
    steps: int
    good: bool
    witness: Witness | None = None


def warn_of(solution: Solution) -> None:
    """Says how far the solution is from one, where that is too far."""
    found = solution.certificate
    certificates = found if isinstance(found, tuple) else (found,)
    worst = max(certificates, key=lambda certificate: (not certificate.converged, certificate.violation))
    if not worst.converged:
        warn_caller(
            f"The solution is not certified ({worst}); a larger alpha or a narrower kernel would help",
            ConvergenceWarning,
        )


def scale(q: Vector) -> float:
    """The size against which residuals are measured."""
    return max(1.0, float(np.abs(q).max(initial=0.0)))


def rounding(diagonal: Vector, a: Vector) -> float:
    """The error to be expected in K a computed in float64, given the diagonal of K."""
    size = np.abs(diagonal)
    return 1e-15 * float(np.sqrt(size.max()) * (np.sqrt(size) @ np.abs(a)).max())


class InvertibleGram(DerivedOperator):
    """K in memory, with the factor of K + diag(ridge) in its lower triangle, K in the upper one and ``diagonal``."""

    def __init__(self, K: Operator, begin: OnStage = silent) -> None:
        super().__init__(K)
        K.check_finite()
        begin(f"matrix of {len(K)} samples in {K.dtype}")
        self.matrix = K.to_dense()
        self.diagonal = self.matrix.diagonal().copy()
        self.valid = K.kernel.validity == "psd"
        self.factored = False

    def restore(self) -> None:
        """K as it was, from the untouched triangle."""
        if self.factored:
            for start in range(0, len(self.matrix), PANEL):
                stop = start + PANEL
                self.matrix[stop:, start:stop] = self.matrix[start:stop, stop:].T
                corner = self.matrix[start:stop, start:stop]
                corner[...] = np.triu(corner, 1) + np.triu(corner, 1).T
            np.fill_diagonal(self.matrix, self.diagonal)
            self.factored = False

    def inverse(self, ridge: Vector) -> Callable[[Vector], Vector]:
        self.restore()
        K, units = self.matrix, self.units(ridge)
        np.fill_diagonal(K, (self.diagonal + ridge) * units**2)
        self.factored = True
        for i in np.flatnonzero(units < 1):
            K[i, :i] *= units[i]
            K[i + 1 :, i] *= units[i]
        norm = self.norm() if self.dtype == np.float64 else 0.0
        factorize(K)
        if self.dtype == np.float64:  # in float32, refinement itself tells whether the factor is good enough
            self.check_condition(norm, float((ridge * units**2).min()))

        def solve(b: Vector) -> Vector:
            right = (b * units[:, None]).astype(K.dtype)
            found = by_columns(lambda some: cho_solve((K.T, False), some, check_finite=False), right)
            return np.asarray(found * units[:, None], dtype=np.float64)

        return solve

    def units(self, ridge: Vector) -> Vector:
        """What the coefficients are measured in: powers of 2, which round nothing, and 1 for all but few samples.

        A ridge far beyond K, of a sample that hardly weighs anything, becomes as large as K, so that the condition of
        the others is theirs alone.
        """
        size = max(float(np.abs(self.diagonal).max(initial=0.0)), float(ridge.min(initial=np.inf)))
        units = np.ones(len(ridge))
        far = ridge > FAR * size
        units[far] = np.exp2(np.round(0.5 * np.log2(size / ridge[far])))
        return units

    def check_condition(self, norm: float, lowest: float) -> None:
        """Refuses a matrix that is singular to working precision, whose solution would be noise."""
        eps = float(np.finfo(np.float64).eps)
        # A PSD kernel's eigenvalues exceed the smallest ridge, which often settles the matter at no cost.
        if not (self.valid and norm * len(self.matrix) * eps <= lowest):
            reciprocal = reciprocal_condition(self.matrix, norm)
            if not reciprocal >= eps:  # NaN included
                raise NotPositiveDefiniteError(f"condition number about {1 / max(reciprocal, 1e-300):.1e}")

    def rounding(self, a: Vector) -> float:
        """The error to be expected in K a, by rounding alone; in float32 none is forgiven, float64 is the remedy."""
        return rounding(self.diagonal, a) if self.dtype == np.float64 else 0.0

    @property
    def witness(self) -> Witness | None:
        return None

    def norm(self) -> float:
        """The 1-norm of the matrix, which bounds its largest eigenvalue."""
        K = self.matrix
        return max(float(np.abs(K[i : i + PANEL]).sum(axis=1).max()) for i in range(0, len(K), PANEL))

    def __matmul__(self, a: Any) -> Array:
        """K a in float64: from the untouched triangle if that is float64, else computed anew."""
        if self.dtype != np.float64:
            return np.asarray(self.inner.exact @ a)
        V = np.asarray(a).reshape(len(self), -1)
        KV = by_columns(lambda some: blas.dsymm(1.0, self.matrix.T, np.asfortranarray(some), lower=1), V)
        return np.asarray(KV + (self.diagonal - self.matrix.diagonal())[:, None] * V).reshape(np.shape(a))

    def least_squares(self, ridge: Vector, q: Vector, total: float | None) -> tuple[Vector, Witness | None]:
        """The least-squares solution of smallest norm, through the eigenvalues of the (bordered) matrix.

        If there are too many negative ones, they are a witness: a vector of those spans whose last entry is 0.
        """
        self.restore()
        n, units = len(q), self.units(ridge)
        border = 0 if total is None else 1
        A = np.zeros((n + border, n + border))
        A[:n, :n] = units[:, None] * self.matrix * units
        A[np.arange(n), np.arange(n)] += ridge * units**2
        right = np.zeros((n + border, q.shape[1]))
        right[:n] = q * units[:, None]
        if total is not None:
            A[n, :n] = A[:n, n] = units
            right[n] = total
        values, vectors = eigh(A)
        size = np.abs(values)
        cut = len(A) * float(np.finfo(np.float64).eps) * float(size.max(initial=0.0))
        kept = size > cut
        witness = None
        # A matrix given in float32 is no more definite than its rounding.
        lost = cut * float(np.finfo(self.given).eps) / float(np.finfo(np.float64).eps)
        if (values < -lost).sum() > border:
            witness = Witness(float(values[border]), direction="K + ridge has the eigenvalue {}")
        if not kept.all() or witness is None:  # of a witness the certificate tells
            condition = float(size.max() / size.min()) if size.min() > 0 else np.inf
            warn_caller(
                f"Singular matrix in solving the dual problem: the condition number of K + ridge is about "
                f"{condition:.1e}, and {int((~kept).sum())} of {len(A)} eigenvalues were dropped. The least-squares "
                "solution of smallest norm was taken; a larger alpha gives a unique one.",
                LinAlgWarning,
            )
        found = vectors[:, kept] @ ((vectors[:, kept].T @ right) / values[kept, None])
        return np.asarray(found[:n] * units[:, None]), witness
