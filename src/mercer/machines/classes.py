"""What SVC and NuSVC share: pairs of classes, votes, and Platt's probabilities."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, deprecated
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.machines.base import warn_caller
from mercer.machines.labels import LabelledMachine
from mercer.machines.probability import coupled, sigmoid
from mercer.machines.training import Positions, Training, certificate_of
from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.solvers import Solution
from mercer.threads import limited

#: Folds of the cross-validation behind ``probability=True``.
FOLDS = 5
#: Samples that were held out get their values in parts of about so many bytes.
HELD_BYTES = 2**26
#: A w whose square is a larger share of the objective, or whose terms are not longer by far, is not looked at twice.
SMALL, LEFT = 1e-3, 1e-4
GONE = "was deprecated in version 1.9 and will be removed in 1.11 as the `probability=True` option for SVC and NuSVC \
was deprecated and will be removed in 1.11."


class SupportClassifier(LabelledMachine):
    """What SVC and NuSVC share: several classes by problems of two, voting, and Platt's probabilities.

    One problem per pair of classes, the first of which is positive ("ovo"), or one per class against the rest ("ovr").
    Of two classes in all, the second is positive.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelledMachine._parameter_constraints,
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "strategy": [StrOptions({"ovr", "ovo"})],
        "votes": [StrOptions({"count", "distance"})],
    }

    def _costs(self, training: Training) -> Vector:
        """What an error of each sample costs."""
        return training.weight

    def _problem(self, sign: Vector, cost: Vector, sample: Positions | None) -> Problem:
        """The problem of two classes, of all samples or of some."""
        raise NotImplementedError

    def _margin(self, solution: Solution) -> tuple[float, float]:
        """The margin by which coefficients and bias are to be divided, and the bias."""
        return 1.0, float(solution.bias)

    def _scaled(self, solution: Solution) -> tuple[Vector, float]:
        """Coefficients and bias of the function with margin 1."""
        margin, bias = self._margin(solution)
        if margin == 1:
            return solution.coefficients, bias
        with np.errstate(over="ignore"):  # next to no margin: refused as not finite
            return solution.coefficients / margin, float(np.divide(bias, margin))

    def _norm(self, solution: Solution) -> float:
        """|w| of that function; NaN if an interruption came before it was known, or if a'Ka is negative."""
        if solution.squared_norm < 0 and certificate_of(solution).convex is False:
            return math.nan
        return math.sqrt(max(solution.squared_norm, 0.0)) / abs(self._margin(solution)[0])

    def _of_a_constant(self, problem: Problem) -> float:
        """The smallest objective of a constant function, up to rounding."""
        return math.inf

    def _length_of(self, training: Training, problem: Problem, solution: Solution, norm: float) -> float:
        """|w| as a unit of distance: 0 if all that is left of w is what ``tol`` and rounding have left.

        That is so if a constant is as good as f, and the terms of w are far longer than their sum.
        """
        primal = certificate_of(solution).primal
        if not norm * norm < SMALL * primal or primal < self._of_a_constant(problem):
            return norm
        own = training.kernel.diag_of(training.samples)[training.place]
        own = np.abs(own if problem.sample is None else own[problem.sample])
        return norm if norm > LEFT * float(np.abs(solution.coefficients) @ np.sqrt(own)) else 0.0

    # -- fit --------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if self.probability != "deprecated":
            name = type(self).__name__
            warn_caller(
                "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. "
                f"Use `CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`",
                FutureWarning,
            )
        if self.strategy == "ovr" and (self.decision_function_shape == "ovo" or self._calibrates()):
            raise ValueError(
                "strategy='ovr' trains one machine per class, so it has neither decision_function_shape='ovo' nor "
                "probability=True; use strategy='ovo'"
            )
        return super()._fit(X, y, sample_weight)

    def _calibrates(self) -> bool:
        return self.probability != "deprecated" and bool(self.probability)

    def _targets(self, y: Any, samples: int) -> Array:
        target = super()._targets(y, samples)
        self._by_pairs = len(self.classes_) > 2 and self.strategy == "ovo"  # what is fitted, whatever is set later
        return target

    def _arranged(self, target: Array, weight: Vector) -> Positions:
        used = super()._arranged(target, weight)
        return used[np.argsort(target[used], kind="stable")] if self._by_pairs else used

    def _forget(self) -> None:
        super()._forget()
        self._probA = self._probB = np.empty(0)

    def _pairs(self) -> list[tuple[int, int]]:
        """The pairs of classes that have a problem each, if there are more than two classes to pair."""
        i, j = pairs_of(len(self.classes_) if self._by_pairs else 0)
        return list(zip(i.tolist(), j.tolist(), strict=True))

    def _contests(self, target: Array) -> list[tuple[Positions | None, Vector]]:
        """The samples (all of them if None) and the signs of every problem of two classes."""
        k = len(self.classes_)
        if k == 2:
            return [(None, np.where(target == 1, 1.0, -1.0))]
        if not self._by_pairs:
            return [(None, np.where(target == c, 1.0, -1.0)) for c in range(k)]
        members = [np.arange(of.start, of.stop) for of in self._members(target)]
        ones = [np.ones(len(m)) for m in members]
        return [
            (np.concatenate([members[i], members[j]]), np.concatenate([ones[i], -ones[j]])) for i, j in self._pairs()
        ]

    def _members(self, target: Array) -> list[slice]:
        """Where the samples of each class are, which for pairs are sorted by class."""
        ends = np.searchsorted(target, np.arange(len(self.classes_) + 1)).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def _problems(self, training: Training) -> list[Problem]:
        cost = self._costs(training)
        return [
            self._problem(sign, cost if sample is None else cost[sample], sample)
            for sample, sign in self._contests(training.target)
        ]

    def _combined(
        self, training: Training, problems: list[Problem], solutions: list[Solution]
    ) -> tuple[Vector, Vector]:
        """One column per problem; of pairs LIBSVM's layout: j - 1 for class i of the pair (i, j), i for class j."""
        scaled = [self._scaled(solution) for solution in solutions]
        bias = np.array([b for _, b in scaled])
        norms = [self._norm(solution) for solution in solutions]
        self._norms = np.array(norms)
        self._lengths = np.array(
            [self._length_of(training, *one) for one in zip(problems, solutions, norms, strict=True)]
        )
        pairs = self._pairs()
        if not pairs:
            return np.stack([a for a, _ in scaled], axis=1), bias
        coefficients = np.zeros((len(training), len(self.classes_) - 1))
        of = self._members(training.target)
        for (i, j), (a, _) in zip(pairs, scaled, strict=True):
            firsts = of[i].stop - of[i].start
            coefficients[of[i], j - 1], coefficients[of[j], i] = a[:firsts], a[firsts:]
        return coefficients, bias

    def _separated(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        pairs = self._pairs()
        if coefficients.shape[1] != (len(self.classes_) - 1 if pairs else len(problems)):  # other classes than last
            return [np.zeros(len(problem)) for problem in problems]
        if not pairs:
            return list(coefficients.T)
        of = self._members(training.target)
        return [np.concatenate([coefficients[of[i], j - 1], coefficients[of[j], i]]) for i, j in pairs]

    def _length(self, f: Expansion, training: Training, spanning: Positions) -> Vector:
        return self._norms if len(self._norms) > 1 else np.asarray(self._norms[0])

    def _iterations(self, steps: list[int]) -> Any:
        return np.array(steps, dtype=np.int32)

    # -- decisions --------------------------------------------------------------------------------------------

    @property
    def expansion_(self) -> Expansion:
        """The fitted functions, one output per problem of two classes."""
        check_is_fitted(self)
        pairs = self._pairs()
        if not pairs:
            return self._expansion
        compact = self._expansion.coefficients
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        wide = np.zeros((len(compact), len(pairs)))
        for p, (i, j) in enumerate(pairs):
            wide[ends[i] : ends[i + 1], p] = compact[ends[i] : ends[i + 1], j - 1]
            wide[ends[j] : ends[j + 1], p] = compact[ends[j] : ends[j + 1], i]
        return replace(self._expansion, coefficients=wide)

    def _values(self, X: Any) -> Array:
        """The value of every problem's function: (rows, problems), or (rows,) for two classes."""
        samples = self._seen(X)
        with limited(self.n_jobs):
            if not self._by_pairs:
                return self._expansion(samples)
            sums = self._expansion.by_segment(samples, self._first_support)
        of_first, of_second = columns_of(len(self.classes_))
        flat = sums.reshape(len(sums), sums.shape[1] * sums.shape[2])
        return np.asarray(flat.take(of_first, axis=1) + flat.take(of_second, axis=1) + self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """How far each row is on the side of the classes.

        Of two classes: f, positive for the second. Of more: the values of all pairs if ``decision_function_shape`` is
        "ovo", each positive for the pair's first class; else the votes of each class plus a bounded sum of its values,
        or with ``votes="distance"`` the sum of its distances; with ``strategy="ovr"`` the distance f / |w| to each
        class's hyperplane, or f if some class has none (w = 0).
        """
        values = self._values(X)
        if values.ndim == 1:
            return values
        if not self._by_pairs:
            return np.asarray(values / self._lengths) if (self._lengths > 0).all() else values
        if self.decision_function_shape == "ovo":
            return values
        if self.votes == "distance":
            return self._distances(values)
        k = len(self.classes_)
        confidence = values @ signs(k)
        return np.asarray(won(values >= 0, k) + confidence / (3 * (np.abs(confidence) + 1)))

    def _distances(self, values: Vector) -> Vector:
        """How far each row is on the side of every class, in the sum of its pairs."""
        return np.asarray((values * inverse(self._lengths)) @ signs(len(self.classes_)))

    def predict(self, X: Any) -> Array:
        """The class of every row: by sign, by the votes or distances of all pairs, or by the largest distance."""
        if self.break_ties and self.decision_function_shape == "ovo":
            check_is_fitted(self)
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if getattr(self, "_by_pairs", False) and not self.break_ties:
            values = self._values(X)
            values = self._distances(values) if self.votes == "distance" else won(values > 0, len(self.classes_))
        else:
            values = self.decision_function(X)
        return np.asarray(self.classes_.take(values >= 0 if values.ndim == 1 else values.argmax(axis=1)))

    # -- probabilities ----------------------------------------------------------------------------------------

    def _complete(self, training: Training, gram: Gram) -> None:
        """Fits Platt's sigmoids to values that cross-validation gives."""
        if not self._calibrates():
            return
        random = check_random_state(0 if self.random_state is None else self.random_state)
        fold = np.empty(len(training), dtype=np.int64)
        for c in range(len(self.classes_)):
            members = np.flatnonzero(training.target == c)
            fold[random.permutation(members)] = np.arange(len(members)) % FOLDS
        # By class and fold, so that the samples of each problem lie in few pieces of one matrix.
        order = np.lexsort((fold, training.target))
        dealt = replace(
            training, place=training.place[order], target=training.target[order], weight=training.weight[order]
        )
        contests = self._contests(dealt.target)
        values = self._held_out(dealt, gram, contests, fold[order])
        # As in LIBSVM, the first class is the positive one, also of two.
        flip = -1.0 if len(self.classes_) == 2 else 1.0
        fits = [sigmoid(flip * v, flip * sign > 0) for v, (_, sign) in zip(values, contests, strict=True)]
        self._probA, self._probB = np.array(fits).T

    def _held_out(self, training: Training, gram: Gram, contests: Any, fold: Positions) -> list[Vector]:
        """The value of every sample of every contest, from the other folds."""
        values, tasks, problems, cost = [], [], [], self._costs(training)
        for sample, sign in contests:
            rows = np.arange(len(sign)) if sample is None else sample
            values.append(np.zeros(len(sign)))
            for number in range(FOLDS):
                held, kept = np.flatnonzero(fold[rows] == number), np.flatnonzero(fold[rows] != number)
                if len(np.unique(sign[kept])) < 2:
                    values[-1][held] = sign[kept][0] if len(kept) else 0.0
                elif len(held):
                    problems.append(self._problem(sign[kept], cost[rows[kept]], rows[kept]))
                    tasks.append((values[-1], held, rows[held], rows[kept]))
        with limited(self.n_jobs):
            solutions = self._solver(training).solve(gram, problems, None, training.order)
            for (out, held, rows, others), solution in zip(tasks, solutions, strict=True):
                a, bias = self._scaled(solution)
                spanning = np.flatnonzero(a) if a.any() else np.zeros(1, dtype=np.int64)
                f = Expansion.of(training.kernel, training.kept(others[spanning]), a[spanning], bias)
                for some in np.array_split(
                    np.arange(len(held)), min(len(held), 1 + training.samples.nbytes // HELD_BYTES)
                ):
                    out[held[some]] = f(training.take(rows[some]))
        return values

    def _check_probability(self) -> bool:
        if not self._calibrates():
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, by sigmoids of the pairs' values, coupled."""
        check_is_fitted(self)
        if not self._probA.size:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or when the fit was interrupted"
            )
        values = self._values(X)
        k = len(self.classes_)
        pairs = -values[:, None] if k == 2 else values
        first = np.clip(expit(-(pairs * self._probA + self._probB)), 1e-7, 1 - 1e-7)
        r = np.zeros((len(pairs), k, k))
        i, j = pairs_of(k)
        r[:, i, j], r[:, j, i] = first, 1 - first
        return coupled(r)

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    @deprecated(f"Attribute `probA_` {GONE}")  # type: ignore[prop-decorator, untyped-decorator]
    @property
    def probA_(self) -> Array:  # noqa: N802
        """The slopes of Platt's sigmoids, one per pair of classes; empty without ``probability=True``."""
        return self._probA

    @deprecated(f"Attribute `probB_` {GONE}")  # type: ignore[prop-decorator, untyped-decorator]
    @property
    def probB_(self) -> Array:  # noqa: N802
        """The offsets of Platt's sigmoids."""
        return self._probB


@lru_cache(maxsize=8)
def pairs_of(k: int) -> tuple[Positions, Positions]:
    """The first and the second classes of all pairs of k classes, in order."""
    i, j = np.triu_indices(k, 1)
    return i, j


@lru_cache(maxsize=8)
def columns_of(k: int) -> tuple[Positions, Positions]:
    """Where the sums of all pairs' first and second classes are, in LIBSVM's layout with k - 1 columns per class."""
    i, j = pairs_of(k)
    return i * (k - 1) + j - 1, j * (k - 1) + i


@lru_cache(maxsize=8)
def signs(k: int) -> Vector:
    """One row per pair of k classes: 1 for its first class, -1 for its second."""
    i, j = pairs_of(k)
    rows = np.arange(len(i))
    matrix = np.zeros((len(i), k))
    matrix[rows, i], matrix[rows, j] = 1.0, -1.0
    return matrix


def won(first: Array, k: int) -> Vector:
    """How many pairs each class has won; ``first`` tells of every pair whether its first class has."""
    as_second = np.arange(float(k))  # in so many pairs is each class the second
    return np.asarray(first @ signs(k) + as_second)


def inverse(lengths: Vector) -> Vector:
    """What makes distances of the values of all pairs: 1 / |w|, or 0 where w = 0 and no point is nearer to a class.

    Where some |w| is NaN there are no distances, and where all are 0 no differences: then values are left as they are.

    >>> inverse(np.array([2.0, 0.0])), inverse(np.array([2.0, np.nan]))
    (array([0.5, 0. ]), array([1., 1.]))
    """
    if np.isnan(lengths).any() or not lengths.any():
        return np.ones(len(lengths))
    return np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
