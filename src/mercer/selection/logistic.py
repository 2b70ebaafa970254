"""Kernel logistic regression in a search: all splits share one matrix, and each cost starts from its neighbour.

At the optimum the coefficients are c (T - P), of costs c, targets T and probabilities P. So values F at the samples,
of which P are the soft maximum, are all that a start takes; as functions of log C they are smooth, and those of the
last two costs lead to the next one by a straight line. From there it takes some two thirds of the steps from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.likelihood import Likelihood
from mercer.machines import KernelLogistic
from mercer.machines.fit import InputFeatures
from mercer.machines.targets import column, one_each, positive_weights
from mercer.machines.training import Training
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.selection.ridge_path import Split
from mercer.selection.submatrix import WholeMatrix
from mercer.selection.values import HeldOutValues
from mercer.solvers.operator import Operator, Positions
from mercer.threads import limited

Product = Callable[[Vector], Vector]


class LogisticFamily:
    """``KernelLogistic`` of all samples (no ``max_basis``), with any ``C``, ``class_weight`` and ``tol``.

    >>> X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 1])
    >>> machines = [KernelLogistic(C=C, kernel="linear") for C in (0.1, 1.0)]
    >>> train, test = np.arange(4), np.arange(4, 6)
    >>> gram = LogisticFamily().kernel(machines[0], X, train).gram(X)
    >>> (values,) = LogisticFamily().held_out_of_splits(machines, y, None, gram, [(train, test)])
    >>> values[1].test.round(2), machines[1].fit(X[train], y[train]).decision_function(X[test]).round(2)
    (array([1.13, 1.59]), array([1.13, 1.59]))
    """

    def takes(self, machine: Any) -> bool:
        """Whether this is a machine whose fits can be shared: of this very class, as others may do something else."""
        return type(machine) is KernelLogistic and machine.max_basis is None and not by_blocks(machine.kernel)

    def kernel(self, machine: Any, X: Any, train: Any, sample_weight: Any = None) -> Kernel:
        """The kernel of a fit to these rows, its data-dependent parameters found.

        Splits that find the same kernel share a matrix.
        """
        machine._validate_params()
        if isinstance(machine.kernel, str) and machine.gamma == "scale" and machine.kernel != "precomputed":
            named: Kernel = machine._kernel_and_samples(_safe_indexing(X, train))[0]
            return named  # all of these rows decide, whatever they weigh
        kernel, samples, _, _ = machine._kernel_and_samples(X)
        rows = np.arange(len(samples))[train]
        weight = weights_of(sample_weight, len(samples))[rows]
        resolved: Kernel = kernel.resolve(samples.take(rows[weight > 0]))
        return resolved

    def held_out(self, work: Any) -> Iterator[HeldOutValues]:
        """What each machine of a chain says: one split."""
        weight = work.fit_params.get("sample_weight")
        gram = work.gram(self.kernel(work.machines[0], work.X, work.train, weight))
        (values,) = self.held_out_of_splits(work.machines, work.y, weight, gram, [(work.train, work.test)])
        yield from values

    def held_out_of_splits(
        self,
        machines: Sequence[Any],
        y: Any,
        sample_weight: Any,
        gram: Gram,
        splits: Sequence[Split],
        *,
        train_values: bool = False,
    ) -> list[list[HeldOutValues]]:
        """For each split, what each machine says at its test rows, and with ``train_values`` at its training rows.

        The splits are all those whose machines have this very kernel, and ``gram`` is its matrix of all rows, which is
        held meanwhile if that fits its budget. The machines are not fitted; they differ in ``C``, ``class_weight`` and
        what steers the solver. They are solved in the order of ``C``. What a fit would refuse is refused here.
        """
        labels = one_each(column(y), len(gram))
        weight = weights_of(sample_weight, len(gram))
        for machine in machines:
            machine._validate_params()
        gram.check_finite()
        held = 8 * len(gram) ** 2 <= gram.budget
        matrix = WholeMatrix(gram) if held else gram
        every = np.arange(len(gram))
        return [
            path_of_costs(machines, labels, weight, matrix, every[train], every[test], train_values)
            for train, test in splits
        ]


def path_of_costs(
    machines: Sequence[Any],
    labels: Array,
    weight: Vector,
    matrix: WholeMatrix | Gram,
    train: Positions,
    test: Positions,
    train_values: bool,
) -> list[HeldOutValues]:
    """What the machines of one split say, each solved from the coefficients of the one with the next smaller C."""
    found: list[Any] = [None] * len(machines)
    solved: list[tuple[Likelihood, Vector]] = []
    shown = [test, train] if train_values else [test]
    across: Any = None
    for number in np.argsort([machine.C for machine in machines], kind="stable").tolist():
        machine = machines[number]
        training = training_rows(machine, labels[train], weight[train], matrix)
        problem: Likelihood
        (problem,) = machine._problems(training)
        if across is None:  # the samples are the same for all, as no class may lose its weight
            rows = train[training.place]
            system, across = parts(matrix, rows, shown)
        with limited(machine.n_jobs):
            solver, begin = machine._solver(training), start(problem, solved)
            solutions = solver.solve(system, [problem], [begin])
            if begin is not None and not solutions[0].certificate.converged:  # too far from its neighbour
                solutions = solver.solve(system, [problem], [None])
            values = [multiply(solutions[0].coefficients) + solutions[0].bias for multiply in across]
        machine._warn(training, solutions)
        if solutions[0].f is not None:
            solved = [*solved[-1:], (problem, solutions[0].f + solutions[0].bias)]
        values = [value[:, 0] if value.shape[1] == 1 else value for value in values]
        at_train = values[1] if train_values else None
        found[number] = HeldOutValues(values[0], at_train, solutions[0].certificate, training.classes)
    return found


def start(problem: Likelihood, solved: list[tuple[Likelihood, Vector]]) -> Vector | None:
    """The coefficients that the values of neighbours lead to: of two whose costs differ by a factor, along a line."""
    if not solved:
        return None
    (last, F), (first, before) = solved[-1], solved[0]
    ahead, step = np.log(problem.cost / last.cost), np.log(last.cost / first.cost)
    if step[0] and np.allclose(step, step[0]) and np.allclose(ahead, ahead[0]):
        F = F + (F - before) * (ahead[0] / step[0])
    return problem.induced(F)


def training_rows(machine: Any, labels: Array, weight: Vector, matrix: WholeMatrix | Gram) -> Training:
    """What a fit to these rows would pose its problem from; they are rows of a matrix, and not samples, here."""
    gram = matrix.gram if isinstance(matrix, WholeMatrix) else matrix
    targets = machine._targets(labels, len(labels))
    place = machine._arranged(targets, weight)
    return Training(
        gram.kernel,
        gram.samples,
        place,
        targets.value[place],
        weight[place],
        given=None,
        features=InputFeatures(machine),
        classes=targets.classes,
        class_weight=targets.class_weight,
    )


def parts(matrix: WholeMatrix | Gram, rows: Positions, shown: list[Positions]) -> tuple[Operator, list[Product]]:
    """The matrix of some rows, and products with those between others and them, in float64."""
    if isinstance(matrix, WholeMatrix):
        cut = [matrix.exact[np.ix_(positions, rows)] for positions in shown]
        return matrix.of(rows), [block.__matmul__ for block in cut]
    pairs = [matrix.exact.between(positions, rows) for positions in shown]
    return matrix.ordered(rows), [block.product for block in pairs]


def by_blocks(kernel: Any) -> bool:
    """Whether a kernel is a user's function of two blocks of samples, which knows no rows of a matrix of all."""
    return callable(kernel) and not isinstance(kernel, Kernel)


def weights_of(sample_weight: Any, samples: int) -> Vector:
    """A weight for each sample; no weights at all are the same as none given."""
    given = in_memory(sample_weight, "sample_weight")
    return positive_weights(None if np.asarray(given).size == 0 else given, samples)
