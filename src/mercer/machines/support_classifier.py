"""The support vector classifier, what SVC and NuSVC share: pairs of classes, votes, and Platt's probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, deprecated
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.metaestimators import available_if

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.machines.base import warn_caller
from mercer.machines.fit import fit_of
from mercer.machines.labels import LabelledMachine
from mercer.machines.probability import coupled, sigmoid
from mercer.machines.support_fit import LabelledFit, SupportFit
from mercer.machines.training import Combined, Posed, Positions, Targets, Training, certificate_of
from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.solvers import Solution
from mercer.threads import limited

#: Folds of the cross-validation behind ``probability=True``.
FOLDS = 5
#: Samples that were held out get their values in parts of about this many bytes.
HELD_BYTES = 2**26
#: A w whose square is a larger share of the objective, or whose terms are not longer by far, is not looked at twice.
SMALL, LEFT = 1e-3, 1e-4
GONE = "was deprecated in version 1.9 and will be removed in 1.11 as the `probability=True` option for SVC and NuSVC \
was deprecated and will be removed in 1.11."


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassifierFit(LabelledFit):
    """Functions of problems of two classes; of pairs of classes the expansion has LIBSVM's compact layout."""

    by_pairs: bool
    #: |w| of every function, as a unit of distance.
    lengths: Vector
    #: The slopes and offsets of Platt's sigmoids, one per problem, or empty.
    probA: Vector  # noqa: N815
    probB: Vector  # noqa: N815

    @property
    def functions(self) -> Expansion:
        """One output per problem."""
        if not self.by_pairs:
            return self.expansion
        compact = self.expansion.coefficients
        ends = np.concatenate([[0], np.cumsum(self.n_support)])
        firsts, seconds = pairs_of(len(self.classes))
        wide = np.zeros((len(compact), len(firsts)))
        for p, (i, j) in enumerate(zip(firsts.tolist(), seconds.tolist(), strict=True)):
            wide[ends[i] : ends[i + 1], p] = compact[ends[i] : ends[i + 1], j - 1]
            wide[ends[j] : ends[j + 1], p] = compact[ends[j] : ends[j + 1], i]
        return replace(self.expansion, coefficients=wide)


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

    _keeps: ClassVar[type[SupportFit]] = ClassifierFit

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

    def _fitted_to(self, X: Any, y: Any, sample_weight: Any) -> Self:
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
        return super()._fitted_to(X, y, sample_weight)

    def _calibrates(self) -> bool:
        return self.probability != "deprecated" and bool(self.probability)

    def _by_pairs(self, classes: Array) -> bool:
        """Whether there is to be a problem for each pair of these classes."""
        return len(classes) > 2 and self.strategy == "ovo"

    def _arranged(self, targets: Targets, weight: Vector) -> Positions:
        assert targets.classes is not None
        used = super()._arranged(targets, weight)
        return used[np.argsort(targets.value[used], kind="stable")] if self._by_pairs(targets.classes) else used

    def _pairs(self, classes: Array) -> list[tuple[int, int]]:
        """The pairs of classes that have a problem each, if there are more than two classes to pair."""
        i, j = pairs_of(len(classes) if self._by_pairs(classes) else 0)
        return list(zip(i.tolist(), j.tolist(), strict=True))

    def _contests(self, training: Training) -> list[tuple[Positions | None, Vector]]:
        """The samples (all of them if None) and the signs of every problem of two classes."""
        target, k = training.target, len(training.classes)
        if k == 2:
            return [(None, np.where(target == 1, 1.0, -1.0))]
        if not self._by_pairs(training.classes):
            return [(None, np.where(target == c, 1.0, -1.0)) for c in range(k)]
        members = [np.arange(of.start, of.stop) for of in members_of(training)]
        ones = [np.ones(len(m)) for m in members]
        return [
            (np.concatenate([members[i], members[j]]), np.concatenate([ones[i], -ones[j]]))
            for i, j in self._pairs(training.classes)
        ]

    def _problems(self, training: Training) -> list[Problem]:
        cost = self._costs(training)
        return [
            self._problem(sign, cost if sample is None else cost[sample], sample)
            for sample, sign in self._contests(training)
        ]

    def _functions(self, training: Training, problems: list[Problem], solutions: list[Solution]) -> Combined:
        """One column per problem; of pairs LIBSVM's layout: j - 1 for class i of the pair (i, j), i for class j."""
        scaled = [self._scaled(solution) for solution in solutions]
        bias = np.array([b for _, b in scaled])
        norms = [self._norm(solution) for solution in solutions]
        lengths = [self._length_of(training, *one) for one in zip(problems, solutions, norms, strict=True)]
        pairs = self._pairs(training.classes)
        facts = dict(by_pairs=bool(pairs), lengths=np.array(lengths), probA=np.empty(0), probB=np.empty(0))
        if not pairs:
            return Combined(np.stack([a for a, _ in scaled], axis=1), bias, facts, np.array(norms))
        coefficients = np.zeros((len(training), len(training.classes) - 1))
        of = members_of(training)
        for (i, j), (a, _) in zip(pairs, scaled, strict=True):
            firsts = of[i].stop - of[i].start
            coefficients[of[i], j - 1], coefficients[of[j], i] = a[:firsts], a[firsts:]
        return Combined(coefficients, bias, facts, np.array(norms))

    def _start_of_each(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        pairs = self._pairs(training.classes)
        # other classes than last
        if coefficients.shape[1] != (len(training.classes) - 1 if pairs else len(problems)):
            return [np.zeros(len(problem)) for problem in problems]
        if not pairs:
            return list(coefficients.T)
        of = members_of(training)
        return [np.concatenate([coefficients[of[i], j - 1], coefficients[of[j], i]]) for i, j in pairs]

    def _length(self, f: Expansion, training: Training, spanning: Positions, combined: Combined) -> Vector:
        assert combined.norms is not None
        return combined.norms if len(combined.norms) > 1 else np.asarray(combined.norms[0])

    def _iterations(self, steps: list[int]) -> Any:
        return np.array(steps, dtype=np.int32)

    # -- decisions --------------------------------------------------------------------------------------------

    @property
    def expansion_(self) -> Expansion:
        """The fitted functions, one output per problem of two classes."""
        functions: Expansion = fit_of(self).functions
        return functions

    def _values(self, fit: ClassifierFit, X: Any) -> Array:
        """The value of every problem's function: (rows, problems), or (rows,) for two classes."""
        samples = self._new_samples(X, fit)
        with limited(self.n_jobs):
            if not fit.by_pairs:
                return fit.expansion(samples)
            sums = fit.expansion.by_segment(samples, fit.first_support)
        of_first, of_second = columns_of(len(fit.classes))
        flat = sums.reshape(len(sums), sums.shape[1] * sums.shape[2])
        return np.asarray(flat.take(of_first, axis=1) + flat.take(of_second, axis=1) + fit.expansion.bias)

    def decision_function(self, X: Any) -> Array:
        """How far each row is on the side of the classes.

        Of two classes: f, positive for the second. Of more: the values of all pairs if ``decision_function_shape`` is
        "ovo", each positive for the pair's first class; else the votes of each class plus a bounded sum of its values,
        or with ``votes="distance"`` the sum of its distances; with ``strategy="ovr"`` the distance f / |w| to each
        class's hyperplane, or f if some class has none (w = 0).
        """
        fit = fit_of(self)
        return self._decided(fit, self._values(fit, X))

    def _decided(self, fit: Any, values: Array) -> Array:
        if values.ndim == 1:
            return values
        if not fit.by_pairs:
            return np.asarray(values / fit.lengths) if (fit.lengths > 0).all() else values
        if self.decision_function_shape == "ovo":
            return values
        if self.votes == "distance":
            return distances(fit, values)
        k = len(fit.classes)
        confidence = values @ signs(k)
        return np.asarray(won(values >= 0, k) + confidence / (3 * (np.abs(confidence) + 1)))

    def predict(self, X: Any) -> Array:
        """The class of every row: by sign, by the votes or distances of all pairs, or by the largest distance."""
        return self._predict(fit_of(self), X)

    def _predict(self, fit: ClassifierFit, X: Any) -> Array:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._labels(fit, self._values(fit, X))

    def _labels(self, fit: Any, values: Array) -> Array:
        """The classes that the values of every problem's function speak for."""
        if fit.by_pairs and not self.break_ties:
            values = distances(fit, values) if self.votes == "distance" else won(values > 0, len(fit.classes))
        else:
            values = self._decided(fit, values)
        return np.asarray(fit.classes.take(values >= 0 if values.ndim == 1 else values.argmax(axis=1)))

    # -- probabilities ----------------------------------------------------------------------------------------

    def _completed(self, fit: Any, posed: Posed) -> Any:
        """With Platt's sigmoids, fitted to values that cross-validation gives."""
        if not self._calibrates():
            return fit
        training = posed.training
        random = check_random_state(0 if self.random_state is None else self.random_state)
        fold = np.empty(len(training), dtype=np.int64)
        for c in range(len(training.classes)):
            members = np.flatnonzero(training.target == c)
            fold[random.permutation(members)] = np.arange(len(members)) % FOLDS
        # By class and fold, so that the samples of each problem lie in few pieces of one matrix.
        order = np.lexsort((fold, training.target))
        dealt = replace(
            training, place=training.place[order], target=training.target[order], weight=training.weight[order]
        )
        contests = self._contests(dealt)
        values = self._held_out(dealt, posed.gram, contests, fold[order])
        # As in LIBSVM, the first class is the positive one, also of two.
        flip = -1.0 if len(training.classes) == 2 else 1.0
        fits = [sigmoid(flip * v, flip * sign > 0) for v, (_, sign) in zip(values, contests, strict=True)]
        slopes, offsets = np.array(fits).T
        return replace(fit, probA=slopes, probB=offsets)

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
        fit = fit_of(self)
        if not fit.probA.size:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or when the fit was interrupted"
            )
        values = self._values(fit, X)
        k = len(fit.classes)
        pairs = -values[:, None] if k == 2 else values
        first = np.clip(expit(-(pairs * fit.probA + fit.probB)), 1e-7, 1 - 1e-7)
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
        slopes: Array = fit_of(self).probA
        return slopes

    @deprecated(f"Attribute `probB_` {GONE}")  # type: ignore[prop-decorator, untyped-decorator]
    @property
    def probB_(self) -> Array:  # noqa: N802
        """The offsets of Platt's sigmoids."""
        offsets: Array = fit_of(self).probB
        return offsets


def members_of(training: Training) -> list[slice]:
    """Where the samples of each class are, which for pairs are sorted by class."""
    ends = np.searchsorted(training.target, np.arange(len(training.classes) + 1)).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


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
    as_second = np.arange(float(k))  # the number of pairs in which each class is the second
    return np.asarray(first @ signs(k) + as_second)


def distances(fit: Any, values: Vector) -> Vector:
    """How far each row is on the side of every class, in the sum of its pairs."""
    return np.asarray((values * inverse(fit.lengths)) @ signs(len(fit.classes)))


def inverse(lengths: Vector) -> Vector:
    """What makes distances of the values of all pairs: 1 / |w|, or 0 where w = 0 and no point is nearer to a class.

    Where some |w| is NaN there are no distances, and where all are 0 no differences: then values are left as they are.

    >>> inverse(np.array([2.0, 0.0])), inverse(np.array([2.0, np.nan]))
    (array([0.5, 0. ]), array([1., 1.]))
    """
    if np.isnan(lengths).any() or not lengths.any():
        return np.ones(len(lengths))
    return np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
