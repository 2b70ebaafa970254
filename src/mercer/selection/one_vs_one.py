"""Classifiers of several classes in a search: the pairs of classes of a split, along all prices of errors, in one call.

There may be hundreds of pairs, each a problem of few samples that is solved sooner than Python could pose it: so all of
them are arrays here, one after the other, and what is known of a solution becomes an object when it is asked for.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.gram import Gram
from mercer.machines import SVC
from mercer.machines.support import NOT_FINITE
from mercer.machines.support_classifier import SupportClassifier, columns_of, pairs_of
from mercer.machines.training import Posed, Training
from mercer.problem import Problem, Vector
from mercer.remembered import remembered
from mercer.samples.base import Array
from mercer.selection.held_out import Known
from mercer.selection.views import Rows
from mercer.solvers import Certificate, Solution
from mercer.solvers.convexity import by_construction

Positions = NDArray[np.int64]
#: What the core tells of a solution, in its order.
FACTS = "primal", "dual", "violation", "bias", "steps", "squared_norm"
#: Of the objectives: where float32 may have moved them by more, they are computed anew; else it is added to the gap.
CLOSE = 1e-3
#: Rows are taken together whose sums are about so many bytes.
BLOCK = 2**22


def takes(machines: Sequence[Any], training: Training, gram: Gram) -> bool:
    """Whether these machines, which differ in the price of errors alone, pose such problems."""
    machine = machines[0]
    return (
        type(machine) is SVC
        and machine._by_pairs(training.classes)
        and machine.votes == "count"
        and machine.max_iter < 0
        and all(0 < machine.C < np.inf for machine in machines)
        and gram.held_rows is not None
        and by_construction(training.kernel, balanced=True)
    )


def named(machine: SupportClassifier, facts: Any, values: Array) -> Array:
    """What ``predict`` says, or refuses."""
    if machine.break_ties and machine.decision_function_shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
    return machine._labels(facts, values)


@dataclass(eq=False)
class Contests:
    """The problems of all pairs of classes, one after the other, with an entry for each sample of a pair.

    A sample takes part in a problem for each of the other classes: so there are as many entries as coefficients of the
    machine, which stand in LIBSVM's compact layout.
    """

    #: Where the samples of the problem stand among those of the training, and among those of the matrix.
    own: Positions
    sample: Positions
    #: 1 for the first class of a pair, -1 for the second.
    sign: Vector
    #: Where each problem begins, and where the last one ends.
    starts: Positions
    #: Samples of the training sorted by class and place in the matrix; where each class begins among them.
    order: Positions
    firsts: Positions
    #: Which entry every coefficient is, sample by sample in that order.
    entry: Positions
    classes: int

    @classmethod
    def of(cls, training: Training, rows: Positions) -> Contests:
        """Those of samples at these rows of the matrix."""
        k = len(training.classes)
        order = np.lexsort((rows, training.target))
        counts = np.bincount(training.target, minlength=k)
        firsts = np.concatenate([[0], np.cumsum(counts)])
        pairs = np.stack(pairs_of(k), axis=1)
        runs = pairs.ravel()
        lengths = counts[runs]
        ends = np.cumsum(lengths)
        place = np.arange(ends[-1]) + np.repeat(firsts[runs] - (ends - lengths), lengths)
        column = np.repeat(
            np.where(np.arange(len(runs)) % 2 == 0, pairs[:, ::-1].ravel() - 1, pairs[:, ::-1].ravel()), lengths
        )
        entry = np.empty(len(place), dtype=np.int64)
        entry[place * (k - 1) + column] = np.arange(len(place))
        own = order[place]
        sign = np.repeat(np.where(np.arange(len(runs)) % 2 == 0, 1.0, -1.0), lengths)
        starts = np.concatenate([[0], ends[1::2]])
        return cls(own, rows[own], sign, starts, order, firsts, entry, k)

    def compact(self, a: Vector) -> Vector:
        """The coefficients of all samples, in their order here, given those of the entries."""
        return a[self.entry].reshape(len(self.order), self.classes - 1)


@dataclass(eq=False)
class Found:
    """All solutions of a chain: by price and entry, and by price and problem."""

    contests: Contests
    prices: Vector
    a: Vector
    facts: dict[str, Vector]

    def __init__(self, contests: Contests, prices: Vector) -> None:
        self.contests, self.prices = contests, prices
        self.a = np.empty((len(prices), len(contests.sample)))
        self.known = np.empty((len(prices), len(contests.starts) - 1, len(FACTS)))
        self.facts = {name: self.known[:, :, i] for i, name in enumerate(FACTS)}


def solved(
    contests: Contests, machine: Any, training: Training, prices: Vector, gram: Gram, stopped: Callable[[], bool]
) -> Found:
    """The solutions of all problems for all prices, which ascend."""
    weight = machine._weights(training)[contests.own]
    q = contests.sign
    zero = np.zeros(len(q))
    found = Found(contests, prices)
    end = q * weight
    _native.solve_chains(
        gram.matrices(None),
        q,
        np.minimum(end, 0.0),
        np.maximum(end, 0.0),
        zero,
        zero,
        contests.sample,
        contests.starts,
        np.zeros(len(contests.starts) - 1),
        prices,
        float(machine.tol),
        CLOSE,
        int(machine.max_iter),
        gram.budget,
        found.a,
        found.known,
        stopped,
    )
    return found


@dataclass(eq=False)
class Sums:
    """The sums of all classes at some rows of the matrix, for all machines of a chain, some rows at a time."""

    found: Found
    gram: Gram
    #: Where the samples of the training stand in the matrix, sorted by class.
    columns: Positions
    asked: Positions

    def blocks(self, which: slice) -> Iterator[tuple[slice, Vector]]:
        """Parts of the rows that were asked for, with sums by row, class, machine and other class."""
        contests, held = self.found.contests, self.gram.held_rows
        assert held is not None
        a = np.stack([contests.compact(one) for one in self.found.a[which]], axis=1)
        a = a.reshape(len(self.columns), -1)
        k, machines = contests.classes, a.shape[1] // (contests.classes - 1)
        ends = contests.firsts.tolist()
        pieces = [pieces_of(self.columns[first:last]) for first, last in pairwise(ends)]
        height = max(1, min(len(self.asked), BLOCK // (8 * k * a.shape[1])))
        sums = np.empty((height, k, a.shape[1]))
        entries = np.empty(height * int(np.diff(contests.firsts).max()))
        for top in range(0, len(self.asked), height):
            some = slice(top, min(top + height, len(self.asked)))
            count = some.stop - top
            rows = held[self.asked[some]]
            for c, (first, last) in enumerate(pairwise(ends)):
                block = entries[: count * (last - first)].reshape(count, last - first)
                for at, begin, end in pieces[c]:
                    block[:, at : at + end - begin] = rows[:, begin:end]
                np.matmul(block, a[first:last], out=sums[:count, c])
            yield some, sums[:count].reshape(count, k, machines, k - 1)

    def winners(self) -> Positions:
        """The class with the most votes, by machine and row."""
        winners = np.empty((len(self.found.prices), len(self.asked)), dtype=np.int64)
        biases = np.ascontiguousarray(self.found.facts["bias"])
        for some, sums in self.blocks(slice(None)):
            _native.most_votes(sums, biases, winners[:, some])
        return winners

    def values(self, number: int) -> Vector:
        """The values of all pairs of one machine."""
        of_first, of_second = columns_of(self.found.contests.classes)
        values = np.empty((len(self.asked), len(of_first)))
        for some, sums in self.blocks(slice(number, number + 1)):
            flat = sums.reshape(len(sums), -1)
            values[some] = flat.take(of_first, axis=1) + flat.take(of_second, axis=1) + self.found.facts["bias"][number]
        return values


def pieces_of(columns: Positions) -> list[tuple[int, int, int]]:
    """Runs of columns that follow each other: where each begins among them, its first column and its end.

    >>> pieces_of(np.array([3, 4, 8]))
    [(0, 3, 5), (2, 8, 9)]
    """
    if not len(columns):
        return []
    breaks = [0, *(np.flatnonzero(np.diff(columns) != 1) + 1).tolist(), len(columns)]
    return [(i, int(columns[i]), int(columns[i]) + j - i) for i, j in pairwise(breaks)]


class Certificates(Sequence[Certificate]):
    """The certificates of all pairs, made of arrays when somebody looks at them.

    >>> facts = {name: np.zeros(2) for name in FACTS}
    >>> certificates = Certificates(facts, 1e-3)
    >>> len(certificates), certificates[1].converged
    (2, True)
    """

    def __init__(self, facts: dict[str, Vector], tol: float) -> None:
        self.facts, self.tol = facts, tol

    def __len__(self) -> int:
        return len(self.facts["primal"])

    @overload
    def __getitem__(self, at: int) -> Certificate: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Certificate, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        primal, dual, violation = (float(self.facts[name][at]) for name in ("primal", "dual", "violation"))
        steps = int(self.facts["steps"][at])
        return Certificate(primal, dual, abs(primal - dual), violation, steps, violation <= self.tol, convex=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, Certificates)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(eq=False)
class AnsweredByPairs:
    """What a machine of one chain says, as ``support.Answered`` does."""

    machine: Any
    training: Training
    found: Found
    number: int
    sums: Sums
    #: The class with the most votes at each row.
    winners: Positions
    seconds: float

    @property
    def facts(self) -> SimpleNamespace:
        return SimpleNamespace(by_pairs=True, classes=self.training.classes)

    @remembered
    def values(self) -> Vector:
        return self.sums.values(self.number)

    @property
    def own_facts(self) -> dict[str, Vector]:
        return {name: values[self.number] for name, values in self.found.facts.items()}

    @property
    def certificate(self) -> Certificates:
        return Certificates(self.own_facts, float(self.machine.tol))

    def known(self, rows: Rows, at: int) -> Known:
        """What stands for the fitted machine at the rows that were held out (0) or trained on (1)."""
        tests = len(rows.test)
        part, X = (slice(tests, None), rows.X_train) if at else (slice(0, tests), rows.X_test)
        machine, facts, winners, own = self.machine, self.facts, self.winners[part], weakref.ref(self)

        def values() -> Array:
            answered = own()
            if answered is None:  # the matrix is not kept for what somebody might ask
                raise LookupError("the values of all pairs of a cell are known while it is scored")
            return answered.values[part]

        def said() -> Array:
            if machine.break_ties:  # by values, or an error
                return named(machine, facts, values())
            return np.asarray(facts.classes.take(winners))

        answers = {"predict": said, "decision_function": lambda: machine._decided(facts, values())}
        return Known(machine, X, answers, self.fitted, {"classes_": facts.classes})

    def problems(self) -> list[Problem]:
        problems: list[Problem] = self.machine._problems(self.training)
        return problems

    def solutions(self, problems: list[Problem]) -> list[Solution]:
        """One for each problem, as a fit has them."""
        contests = self.found.contests
        compact = np.empty((len(contests.order), contests.classes - 1))
        compact[contests.order] = contests.compact(self.found.a[self.number])
        facts, certificates = self.own_facts, self.certificate
        return [
            Solution(a, np.asarray(facts["bias"][p]), certificates[p], squared_norm=float(facts["squared_norm"][p]))
            for p, a in enumerate(self.machine._start_of_each(self.training, problems, compact))
        ]

    def check(self) -> None:
        """Says what ``fit`` would say of these solutions."""
        facts = self.own_facts
        if not (facts["violation"] <= self.machine.tol).all():
            solutions = self.solutions(self.problems())
            self.machine._refuse_overflow(self.training, solutions)
            self.machine._warn(self.training, solutions)
        if not (np.isfinite(facts["bias"]).all() and np.isfinite(self.found.a[self.number]).all()):
            raise ValueError(NOT_FINITE)

    def fitted(self) -> Any:
        """The machine with a Fit of its own."""
        machine, problems = copy(self.machine), self.problems()  # other splits have it, too
        posed = Posed(self.training, None, problems, None)  # type: ignore[arg-type]
        machine._fit = machine._keep(posed, self.solutions(problems))
        return machine


def solve_chain(
    machines: Sequence[Any],
    training: Training,
    gram: Gram,
    rows: Positions,
    asked: Positions,
    stopped: Callable[[], bool],
) -> Iterator[AnsweredByPairs | Exception]:
    """What comes of each machine in turn; their prices ascend."""
    begun = time.perf_counter()
    prices = np.array([machine.C for machine in machines], dtype=np.float64)
    contests = Contests.of(training, rows)
    found = solved(contests, machines[0], training, prices, gram, stopped)
    if stopped():
        return
    sums = Sums(found, gram, rows[contests.order], asked)
    winners = sums.winners()
    each = (time.perf_counter() - begun) / len(machines)
    for number, machine in enumerate(machines):
        answered = AnsweredByPairs(machine, training, found, number, sums, winners[number], each)
        try:
            answered.check()
            yield answered
        except Exception as error:
            yield error
