"""The support vector machines of a search: problems on the matrix of all rows, along the prices of errors.

The problem of a split has the samples that are held out, too, with bounds of zero: so all splits read the same rows,
and f = K a, which the solver knows at every sample, says what the machine would answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.machines.novelty import INSIDE, OUTSIDE
from mercer.machines.support import NOT_FINITE, SupportMachine
from mercer.machines.support_classifier import SupportClassifier, columns_of, members_of
from mercer.machines.training import Posed, Training, certificate_of
from mercer.problem import Problem, Vector, unchecked
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.selection import one_vs_one
from mercer.selection.cells import ALONG
from mercer.selection.held_out import Known
from mercer.selection.views import Rows
from mercer.solvers import Solution
from mercer.solvers.convexity import first_refuted

Positions = NDArray[np.int64]
MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)


def why_not(machine: SupportMachine) -> str | None:
    """Why a machine of these classes is fitted on its own; None if it need not be."""
    if machine.solver != "smo":
        return f"solver={machine.solver!r}"
    if callable(machine.kernel) and not isinstance(machine.kernel, Kernel):
        return "its kernel is a function of blocks"
    if isinstance(machine, SupportClassifier) and machine._calibrates():
        return "probability=True"
    return None


def answers_of(machine: Any, facts: Any, values: Array) -> dict[str, Callable[[], Any]]:
    """What a machine says, given the values of its functions."""
    if isinstance(machine, SupportClassifier):
        return {
            "predict": lambda: one_vs_one.named(machine, facts, values),
            "decision_function": lambda: machine._decided(facts, values),
        }
    if isinstance(machine, OneClassSVM):
        return {
            "predict": lambda: np.where(values > 0, INSIDE, OUTSIDE),
            "decision_function": lambda: values,
            "score_samples": lambda: values + facts.offset,
        }
    return {"predict": lambda: values}


@dataclass(eq=False)
class Answered:
    """The solution of one cell on one split: values at rows that were asked for, and all that a Fit is made of."""

    machine: Any
    training: Training
    problems: list[Problem]
    solutions: list[Solution]
    facts: SimpleNamespace
    values: Array
    seconds: float

    @property
    def certificate(self) -> Any:
        found = tuple(certificate_of(solution) for solution in self.solutions)
        return found[0] if len(found) == 1 else found

    @property
    def refuted(self) -> bool:
        """Whether a problem is known not to be convex, so that it has several solutions."""
        return first_refuted(certificate_of(solution) for solution in self.solutions) is not None

    def known(self, rows: Rows, at: int) -> Known:
        """What stands for the fitted machine at the rows that were held out (0) or trained on (1)."""
        tests = len(rows.test)
        values, X = (self.values[tests:], rows.X_train) if at else (self.values[:tests], rows.X_test)
        classes = getattr(self.facts, "classes", None)
        attributes = {} if classes is None else {"classes_": classes}
        return Known(self.machine, X, answers_of(self.machine, self.facts, values), self.fitted, attributes)

    def fitted(self) -> Any:
        """The machine with a Fit of its own."""
        machine = copy(self.machine)  # other splits have it, too
        posed = Posed(self.training, None, self.problems, None)  # type: ignore[arg-type]
        machine._fit = machine._keep(posed, self.solutions)
        return machine


def solve_chain(
    machines: Sequence[Any],
    given: Rows,
    samples: Samples,
    gram_of: Callable[[Kernel], Gram],
    *,
    train_values: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Answered | one_vs_one.AnsweredByPairs | Exception]:
    """What comes of each machine in turn, fitted to the rows of a split; ``samples`` are all rows.

    A machine that cannot be fitted gives its exception, and the others go on without it. Ends early once ``stopped``.
    """
    train = given.train
    asked = np.concatenate([given.test, train]) if train_values else given.test
    if (shared := one_vs_one_of(machines, given, gram_of)) is not None:
        yield from one_vs_one.solve_chain(machines, *shared, asked, stopped)
        return
    training: Training | None = None
    last: list[Solution] | None = None
    price = 0.0
    for machine in machines:
        begun = time.perf_counter()
        try:
            machine._validate_params()
            if training is None:
                training = machine._training(given.X_train, given.y_train, given.weight)
                rows = train[training.place]
                gram = gram_of(training.kernel)
                spread = Spread.of(rows, len(samples))
            problems = machine._problems(training)
            posed = [spread.over_all(problem) for problem in problems]
            along = ALONG[type(machine)]
            now = float(getattr(machine, along))
            # Where steps are counted, each machine takes those of a fit of its own, from where that begins.
            starts = None
            if last is not None and machine.max_iter < 0:
                starts = [started(p, s, along, now / price) for p, s in zip(posed, last, strict=True)]
            solver = machine._solver(training)
            found = replace(solver, progress=lambda _: stopped()).solve(gram, posed, starts)
            if stopped():
                return
            last, price = found, now
            solutions = [spread.back(problem, solution) for problem, solution in zip(problems, found, strict=True)]
            machine._refuse_overflow(training, solutions)
            combined = machine._combined(training, problems, solutions)
            if not (np.isfinite(combined.coefficients).all() and np.isfinite(combined.bias).all()):
                raise ValueError(NOT_FINITE)
            machine._warn(training, solutions)
            facts = SimpleNamespace(**combined.facts)
            whole = all(map(spread.whole, problems))
            values = values_at(machine, training, gram, rows, asked, found, combined, whole)
            yield Answered(machine, training, problems, solutions, facts, values, time.perf_counter() - begun)
        except Exception as error:
            last = None
            yield error


def one_vs_one_of(
    machines: Sequence[Any], given: Rows, gram_of: Callable[[Kernel], Gram]
) -> tuple[Training, Gram, Positions] | None:
    """What all machines of a chain share, if their problems are of pairs of classes and all can be posed at once."""
    if type(machines[0]) is not SVC:
        return None
    try:
        for machine in machines:
            machine._validate_params()
        training = machines[0]._training(given.X_train, given.y_train, given.weight)
        if not machines[0]._by_pairs(training.classes):
            return None
        for machine in machines:
            machine._costs(training)
        gram = gram_of(training.kernel)
    except Exception:  # each machine says by itself what it refuses
        return None
    return (training, gram, given.train[training.place]) if one_vs_one.takes(machines, training, gram) else None


@dataclass(eq=False)
class Spread:
    """How problems of some rows become problems of all, in which the others have bounds of zero."""

    rows: Positions
    size: int
    #: Whether that is possible and worth it: rows that repeat, and a few of many, are better alone.
    all: bool

    @classmethod
    def of(cls, rows: Positions, size: int) -> Spread:
        return cls(rows, size, 2 * len(rows) >= size and len(np.unique(rows)) == len(rows))

    def whole(self, problem: Problem) -> bool:
        """Whether a problem has one coefficient for each of the rows, and becomes one of all."""
        return self.all and problem.sample is None

    def over_all(self, problem: Problem) -> Problem:
        if not self.whole(problem):
            own = np.arange(len(problem)) if problem.sample is None else problem.sample
            return replace(problem, sample=self.rows[own])
        (one,) = problem.columns()
        arrays = {name: self._spread(getattr(one, name)) for name in ("q", "lower", "upper", "l1", "ridge")}
        group = None if problem.group is None else self._spread(problem.group)
        return unchecked(**(problem.__dict__ | arrays | {"group": group}))

    def _spread(self, values: Array) -> Array:
        out = np.zeros(self.size, dtype=values.dtype)
        out[self.rows] = values
        return out

    def back(self, problem: Problem, solution: Solution) -> Solution:
        """The solution of the problem as it was posed."""
        if not self.whole(problem):
            return solution
        assert solution.f is not None
        return replace(solution, coefficients=solution.coefficients[self.rows], f=solution.f[self.rows])


def started(problem: Problem, last: Solution, along: str, ratio: float) -> tuple[Vector, Vector] | Vector:
    """Where a problem begins whose neighbour, with prices lower by this ratio, has this solution.

    Coefficients at their bounds grow with these, free ones stay; of all multiples of a the best is taken.
    """
    a, f = last.coefficients, last.f
    assert f is not None
    if along != "C" or not np.isfinite(ratio):
        return a
    if problem.group is not None:  # what the groups sum to grows with the price
        scale = ratio
    elif (energy := float(a @ f)) > 0:
        best = (float(problem.q @ a) - float(np.sum(problem.l1 * np.abs(a)))) / energy
        scale = min(max(best, 1.0), ratio) if ratio > 1 else ratio
    else:
        scale = 1.0
    return (scale * a, scale * f) if last.resumable else scale * a


def values_at(
    machine: Any,
    training: Training,
    gram: Gram,
    rows: Positions,
    asked: Positions,
    found: Sequence[Solution],
    combined: Any,
    whole: bool,
) -> Array:
    """The values of all functions of a machine at these rows, as ``_values`` of the machine would have them.

    ``whole`` says that the problems are of all rows, one coefficient for each, so that f is known there.
    """
    bias = combined.bias
    one = len(bias) == 1
    if whole:
        margins = [machine._margin(s)[0] if isinstance(machine, SupportClassifier) else 1.0 for s in found]
        f = [np.asarray(s.f)[asked] / m for s, m in zip(found, margins, strict=True)]
        values = np.stack(f, axis=1) + bias
        sizes = np.array([np.abs(s.coefficients).sum() / abs(m) for s, m in zip(found, margins, strict=True)])
        if isinstance(machine, SupportClassifier):
            settle(values, gram, rows, asked, combined.coefficients, bias, sizes)
    else:
        values = products(machine, training, gram, rows, asked, combined.coefficients, bias)
    return np.asarray(values[:, 0] if one else values)


def settle(
    values: Array, gram: Gram, rows: Positions, asked: Positions, a: Vector, bias: Vector, sizes: Vector
) -> None:
    """Computes those values in float64 whose sign float32 leaves in doubt."""
    doubt = gram.matrices(None, single=False).errors.largest
    unsure = np.flatnonzero((np.abs(values) <= doubt * sizes).any(axis=1))
    if not len(unsure):
        return
    support = np.flatnonzero(a.any(axis=1))
    if len(support):
        block = gram.exact.block(asked[unsure], rows[support])
        values[unsure] = block @ a[support] + bias


def products(
    machine: Any, training: Training, gram: Gram, rows: Positions, asked: Positions, a: Vector, bias: Vector
) -> Array:
    """Values by products of the matrix with the coefficients."""
    classes = 0 if training.classes is None else len(training.classes)
    if isinstance(machine, SupportClassifier) and machine._by_pairs(training.classes):
        sums = np.empty((classes, len(asked), classes - 1))
        for c, members in enumerate(members_of(training)):
            own = np.arange(members.start, members.stop)
            sums[c] = product(gram, asked, rows[own], a[own])
        flat = sums.transpose(1, 0, 2).reshape(len(asked), -1)
        of_first, of_second = columns_of(classes)
        return np.asarray(flat.take(of_first, axis=1) + flat.take(of_second, axis=1) + bias)
    return np.asarray(product(gram, asked, rows, a) + bias)


def product(gram: Gram, asked: Positions, rows: Positions, a: Vector) -> Array:
    """K[asked, rows] @ a."""
    used = np.flatnonzero(a.any(axis=1))
    if not len(used):
        return np.zeros((len(asked), a.shape[1]))
    held = gram.held_rows
    if held is None:
        return np.asarray(gram.between(asked, rows[used]).product(a[used]))
    return held[np.ix_(asked, rows[used])].astype(np.float64) @ a[used]
