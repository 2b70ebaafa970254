"""Leave-one-out predictions of support vector machines: what each sample gets from a machine that never saw it.

They are those of one fit to all the others for each sample, for the price of a few fits: taking away a sample that is
no support vector changes nothing, and the way to the solution without any other is short.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from mercer.caller import warn_caller
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.kernels.named import named_kernel
from mercer.machines.base import holds_precomputed
from mercer.machines.classify import SVC, NuSVC
from mercer.machines.labels import checked_labels
from mercer.machines.regress import SVR, NuSVR
from mercer.machines.training import Posed, Positions, certificate_of
from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.shown import Shown
from mercer.solvers import Solution
from mercer.solvers.certificate import certify
from mercer.solvers.removal import INSIDE, Optimum, middle_bias, optimum, without_each
from mercer.threads import blas_of_one_thread, limited

#: Refits that are solved in one call.
TOGETHER = 64
#: The matrix, the tableau and what is followed, in matrices of float64.
MATRICES = 3


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Shown):
    """What ``leave_one_out`` found; ``print`` it.

    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> found = leave_one_out(SVR(C=10, gamma=1.0, epsilon=0.01), X, np.sin(X).ravel())
    >>> found.mae < 0.1, found.converged
    (True, True)
    """

    machine: str
    #: One for each sample, by the machine that was fitted to all others: a label or a number.
    predictions: Array = field(repr=False)
    #: Whether the label is another one; of numbers the target less the prediction.
    errors: Array = field(repr=False)
    #: The targets.
    targets: Array = field(repr=False)
    #: How many removals of a sample from a problem were settled in which way. Of a machine of several classes a sample
    #: belongs to several problems.
    settled: dict[str, int]
    #: The largest violation of the conditions of the optimum in any solution, and the largest that counts as converged.
    violation: float
    tol: float

    @property
    def classifies(self) -> bool:
        return bool(self.errors.dtype == bool)

    @property
    def converged(self) -> bool:
        """Whether every solution is one to within ``tol``."""
        return self.violation <= self.tol

    @property
    def error_rate(self) -> float:
        """The share of samples with a wrong label."""
        if not self.classifies:
            raise AttributeError("numbers have no error rate; they have mae and r2")
        return float(self.errors.mean())

    @property
    def mae(self) -> float:
        """The mean of the absolute errors of numbers."""
        return float(np.abs(self._residuals).mean())

    @property
    def r2(self) -> float:
        """1 less the squares of the errors over those of the targets' distances from their mean."""
        rest, spread = np.square(self._residuals).sum(), np.square(self.targets - self.targets.mean()).sum()
        return float(1 - rest / spread) if spread else (1.0 if not rest else 0.0)

    @property
    def _residuals(self) -> Array:
        if self.classifies:
            raise AttributeError("labels have neither mae nor r2; they have an error_rate")
        return self.errors

    def __str__(self) -> str:
        score = f"error rate {self.error_rate:.4g}" if self.classifies else f"MAE {self.mae:.4g}, R2 {self.r2:.4g}"
        ways = ", ".join(f"{count} {way}" for way, count in self.settled.items() if count)
        state = "all converged" if self.converged else "NOT all converged"
        return (
            f"{self.machine} on {len(self.predictions)} samples, each left out in turn: {score}\n"
            f"  settled: {ways or 'none'}\n"
            f"  {state}: largest violation {self.violation:.3g}, tol {self.tol:g}"
        )


#: The ways in which a removal is settled.
UNCHANGED, WRONG, FOLLOWED, REFITTED = "no support vector", "on the wrong side already", "followed", "refitted"


def leave_one_out(machine: Any, X: Any, y: Any, sample_weight: Any = None) -> LeaveOneOut:
    """What SVC, SVR, NuSVC or NuSVR predict for every sample when fitted to all others; ``machine`` stays as it is.

    Every prediction is that of an honest refit to within ``tol``. A sample that is no support vector keeps its value. A
    label that is wrong already stays wrong. For the others the solution is followed while their coefficient falls to
    zero, or solved again from there. That takes a matrix of all samples in memory, a third of ``cache_size``; without
    it all support vectors are solved for.

    What depends on the data (gamma="scale", ``Gaussian("median")``, class_weight="balanced") is another thing without
    each sample, and so is nu, a share of all samples: then every sample is refitted, from the solution with it. To give
    gamma a number is what makes it fast.

    The only sample of a class cannot be known when it is left out: it is an error if two classes remain, and refused
    if one does.

    References
    ----------
    Cauwenberghs, Poggio, "Incremental and decremental support vector machine learning", NIPS 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> print(leave_one_out(SVC(gamma=0.25), X, y))
    SVC on 150 samples, each left out in turn: error rate 0.02667
      settled: ...
      all converged: largest violation ..., tol 0.001
    """
    if type(machine) not in (SVC, SVR, NuSVC, NuSVR):
        raise TypeError(
            f"leave_one_out takes SVC, SVR, NuSVC and NuSVR, not {type(machine).__name__}; "
            "KernelRidgeCV has leave-one-out errors of its own, and cross_val_predict(cv=LeaveOneOut()) takes the rest"
        )
    fresh = clone(machine).set_params(warm_start=False, verbose=False)
    fresh._validate_params()
    removal = _Removal(fresh, X, y, sample_weight)
    found = removal.run()
    if not found.converged:
        warn_caller(
            f"Some solutions without a sample violate the KKT conditions by up to {found.violation:.3g}, tol is "
            f"{found.tol:g}; columns of one scale, or a smaller C, may help.",
            ConvergenceWarning,
        )
    return found


class _Removal:
    """One call of ``leave_one_out``: the machine fitted to all samples, and what has been settled."""

    def __init__(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.machine, self.X, self.y, self.weight = machine, X, y, sample_weight
        self.classifies = isinstance(machine, (SVC, NuSVC))
        with limited(machine.n_jobs):
            self.posed: Posed = machine._pose(X, y, sample_weight)
            training = self.posed.training
            self.solutions = machine._solver(training).solve(self.posed.gram, self.posed.problems, None, training.order)
        machine._refuse_overflow(training, self.solutions)
        self.fit = machine._fit = machine._keep(self.posed, self.solutions)
        self.settled = dict.fromkeys((UNCHANGED, WRONG, FOLLOWED, REFITTED), 0)
        self.violation = 0.0

    def run(self) -> LeaveOneOut:
        training, n = self.posed.training, len(self.posed.training.samples)
        targets = self._targets()
        predictions = np.array(self.machine._predict(self.fit, self.X))
        alone = self._alone()
        if len(training) < 2:
            raise ValueError(f"leaving out the only sample of positive weight, of n_samples={n}, leaves nothing to fit")
        if self._depends() or (self.classifies and not self._by_signs() and not (self.fit.lengths > 0).all()):
            alone = np.arange(len(training))
            self.violation = max(certificate_of(solution).violation for solution in self.solutions)
            self.settled[UNCHANGED] = n - len(training)  # of no weight
        elif len(alone) < len(training):
            predictions[training.place] = self._together(alone)
        with limited(self.machine.n_jobs):
            for i in alone:
                predictions[training.place[i]] = self._refitted(int(i))
        self.settled[REFITTED] += len(alone)
        wrong = predictions != targets if self.classifies else targets - predictions
        name, tol = type(self.machine).__name__, float(self.machine.tol)
        return LeaveOneOut(name, predictions, wrong, targets, self.settled, self.violation, tol)

    def _targets(self) -> Array:
        n = len(self.posed.training.samples)
        if self.classifies:
            return checked_labels(self.y)
        return np.asarray(self.machine._targets(self.y, n).value)

    # -- what kind of machine -------------------------------------------------------------------------------------

    def _depends(self) -> bool:
        """Whether another thing than the sample changes when it is left out."""
        machine = self.machine
        if isinstance(machine, (NuSVC, NuSVR)) or machine.solver != "smo":
            return True
        if self.classifies and machine.class_weight == "balanced":
            return True
        if isinstance(machine.kernel, Kernel):
            return bool(machine.kernel.pending)
        if not isinstance(machine.kernel, str) or machine.gamma != "scale":
            return False
        named = [named_kernel(machine.kernel, columns=1, gamma=gamma) for gamma in (1.0, 2.0)]
        return named[0] != named[1]

    def _by_signs(self) -> bool:
        """Whether labels depend on the signs of the values alone."""
        if len(self.fit.classes) == 2:
            return True
        return bool(self.fit.by_pairs and self.machine.votes == "count" and not self.machine.break_ties)

    def _alone(self) -> Positions:
        """The samples without which there is a class less."""
        training = self.posed.training
        if not self.classifies:
            return np.empty(0, dtype=np.int64)
        count = np.bincount(training.target, minlength=len(training.classes))
        single = np.flatnonzero(count[training.target] == 1)
        if len(single) and len(count) == 2:
            lost = training.classes.tolist()[int(training.target[single[0]])]
            raise ValueError(
                f"class {lost!r} has one sample of positive weight, and without it there is one class left, which no "
                "machine can be fitted to; leave_one_out needs two samples of each of two classes"
            )
        return single

    # -- all samples on one matrix --------------------------------------------------------------------------------

    def _together(self, alone: Positions) -> Array:
        """The predictions of all samples of positive weight but those, from values of all problems."""
        training, problems = self.posed.training, self.posed.problems
        budget = self.machine._budget()
        gram = training.kernel.gram(training.samples, budget).ordered(training.order)
        convex = all(certificate_of(s).convex is not False for s in self.solutions)
        fits = MATRICES * 8 * len(gram) ** 2 <= budget
        K = gram.exact.to_dense() if fits and convex else None
        if self.classifies:
            values = np.array(self.machine._values(self.fit, self.X)).reshape(len(training.samples), -1)[training.place]
            lengths = np.tile(self.fit.lengths, (len(values), 1))
            contests = self.machine._contests(training)
        else:
            values, lengths, contests = np.empty((len(training), 1)), np.empty((len(training), 1)), [(None, None)]
        for p, ((sample, sign), problem, solution) in enumerate(zip(contests, problems, self.solutions, strict=True)):
            rows = np.arange(len(training)) if sample is None else sample
            one = _OneProblem(gram, K, problem.columns()[0], solution, rows, float(self.machine.tol), self)
            wrong = -sign if self.classifies and self._by_signs() else None
            skip = np.isin(rows, alone)
            values[rows, p], lengths[rows, p] = one.without_each(wrong, skip)
        if not self.classifies:
            return values[:, 0]
        if self._by_signs():
            return np.asarray(self.machine._labels(self.fit, values[:, 0] if values.shape[1] == 1 else values))
        labels = [
            self.machine._labels(replace(self.fit, lengths=lengths[i]), values[i : i + 1]) for i in range(len(values))
        ]
        return np.concatenate(labels)

    # -- one sample by itself -------------------------------------------------------------------------------------

    def _refitted(self, i: int) -> Any:
        """What a machine predicts for a sample that is fitted to all others, from the solutions with it."""
        training, n = self.posed.training, len(self.posed.training.samples)
        at = training.place[i]
        rest = np.delete(np.arange(n), at)
        weight = self.weight
        if np.ndim(weight):
            weight = np.asarray(weight)[rest] if np.size(weight) else weight
        machine = clone(self.machine)
        posed = machine._pose(self._rows(rest), _safe_indexing(self.y, rest), weight)
        solutions = machine._solver(posed.training).solve(
            posed.gram, posed.problems, self._starts(machine, posed, rest), posed.training.order
        )
        self.violation = max([self.violation, *(certificate_of(solution).violation for solution in solutions)])
        fit = machine._fit = machine._keep(posed, solutions)
        return machine._predict(fit, self._rows(np.array([at]), rest))[0]

    def _starts(self, machine: Any, posed: Posed, rest: Positions) -> Any:
        """The coefficients with all samples, where there are as many classes."""
        if self.classifies and len(posed.training.classes) < len(self.fit.classes):
            return None
        n = len(self.posed.training.samples)
        coefficients = np.zeros((n, self.fit.coefficients.shape[1]))
        coefficients[self.fit.support] = self.fit.coefficients
        return list(machine._start_of_each(posed.training, posed.problems, coefficients[rest][posed.training.place]))

    def _rows(self, rows: Positions, columns: Positions | None = None) -> Any:
        """Some of the user's samples; of a given matrix their similarities to the others."""
        kernel = self.machine.kernel
        given = kernel == "precomputed" if isinstance(kernel, str) else holds_precomputed(self.posed.training.kernel)
        if not given or not isinstance(kernel, (str, Kernel)):
            return _safe_indexing(self.X, rows)
        matrix = self.X if sp.issparse(self.X) else np.asarray(self.X)
        return matrix[rows][:, rows if columns is None else columns]


class _OneProblem:
    """One problem, and the samples that are left out of it."""

    def __init__(
        self,
        gram: Gram,
        K: Array | None,
        problem: Problem,
        solution: Solution,
        rows: Positions,
        tol: float,
        of: _Removal,
    ) -> None:
        self.gram, self.problem, self.solution, self.tol, self.of = gram, problem, solution, tol, of
        #: What is so little of a coefficient that it may be rounding.
        self.size = INSIDE * float(np.abs(solution.coefficients).max(initial=0.0))
        self.best: Optimum | None = None
        self.K = None
        if K is not None:
            self.K = K if len(rows) == len(K) and (np.diff(rows) == 1).all() else K[np.ix_(rows, rows)]
            plain = replace(problem, sample=None)
            with blas_of_one_thread:
                self.best = optimum(self.K, plain, solution.coefficients.copy())
        used = (
            solution if self.best is None else certify(replace(problem, sample=None), self.best.a, self.best.f, 0, tol)
        )
        of.violation = max(of.violation, certificate_of(used).violation)

    def without_each(self, wrong: Vector | None, skip: Array) -> tuple[Vector, Vector]:
        """The value at each sample of the function without it, and |w|; those to ``skip`` are as they are."""
        best, settled = self.best, self.of.settled
        a = self.solution.coefficients if best is None else best.a
        assert self.solution.f is not None
        value = self.solution.f + self.solution.bias if best is None else best.f + best.b
        squared = float(self.solution.squared_norm) if best is None else float(best.a @ best.f)
        norm = np.full(len(a), np.sqrt(max(squared, 0.0)))
        open_ = (a != 0) & ~skip
        settled[UNCHANGED] += int(((a == 0) & ~skip).sum())
        if best is None and not self._free(a).any():
            self._recentre(value, np.flatnonzero((a == 0) & ~skip))
        if wrong is not None:
            already = open_ & (wrong * value > self.tol)
            settled[WRONG] += int(already.sum())
            open_ &= ~already
        left = np.flatnonzero(open_)
        if best is not None and len(left):
            assert self.K is not None
            with limited(self.of.machine.n_jobs):
                found = without_each(self.K, best, left, None if wrong is None else -wrong[left], self.tol)
            done = found.violation <= self.tol
            ok = left[done]
            value[ok], norm[ok] = found.value[done], np.sqrt(np.maximum(found.squared_norm[done], 0.0))
            settled[FOLLOWED] += len(ok)
            self.of.violation = max(self.of.violation, float(found.violation[done].max(initial=0.0)))
            left = left[~done]
        settled[REFITTED] += len(left)
        for begin in range(0, len(left), TOGETHER):
            self._refit(left[begin : begin + TOGETHER], value, norm)
        return value, norm

    def _free(self, a: Vector) -> Array:
        p, size = self.problem, self.size
        return np.asarray((np.abs(a) > size) & (a > p.lower + size) & (a < p.upper - size))

    def _bias(self, problem: Problem, solution: Solution) -> float:
        assert solution.f is not None
        if self._free(solution.coefficients).any():
            return float(solution.bias)
        return middle_bias(problem, solution.coefficients, solution.f, self.size)

    def _without(self, i: int) -> tuple[Problem, Vector]:
        """The problem without a sample, and where to begin."""
        lower, upper = self.problem.lower.copy(), self.problem.upper.copy()
        lower[i] = upper[i] = 0.0
        start = (self.solution.coefficients if self.best is None else self.best.a).copy()
        start[i] = 0.0
        return replace(self.problem, lower=lower, upper=upper), start

    def _recentre(self, value: Vector, places: Positions) -> None:
        """Without free coefficients the bias is in the middle of an interval that the sample may have ended."""
        for i in places:
            f = self.solution.f
            assert f is not None
            value[i] = f[i] + middle_bias(self._without(int(i))[0], self.solution.coefficients, f, self.size)

    def _refit(self, places: Positions, value: Vector, norm: Vector) -> None:
        machine = self.of.machine
        problems, starts = zip(*(self._without(int(i)) for i in places), strict=True)
        with limited(machine.n_jobs):
            solutions = machine._solver(self.of.posed.training).solve(self.gram, problems, starts)
        for i, problem, solution in zip(places, problems, solutions, strict=True):
            value[i] = solution.f[i] + self._bias(problem, solution)
            norm[i] = np.sqrt(max(float(solution.squared_norm), 0.0))
            self.of.violation = max(self.of.violation, certificate_of(solution).violation)
