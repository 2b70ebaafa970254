"""Kernel ridge regression in a search: all splits and penalties of one kernel from one matrix.

A machine with a penalty is a linear system, so nothing is left to a start from a neighbour; ``ridge_path`` solves all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.machines import KernelRidge
from mercer.machines.base import penalty_of
from mercer.machines.ridge import LEAST_WEIGHT
from mercer.machines.targets import weights_at_least_zero
from mercer.problem import Vector
from mercer.samples.door import in_memory
from mercer.selection.ridge_path import Split, held_out_path
from mercer.selection.submatrix import WholeMatrix
from mercer.selection.values import HeldOutValues


class RidgeFamily:
    """``KernelRidge`` with any penalties, with and without a bias.

    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0)
    >>> machines = [KernelRidge(alpha=alpha) for alpha in (0.1, 1.0)]
    >>> train, test = np.arange(4), np.arange(4, 6)
    >>> gram = RidgeFamily().kernel(machines[0], X, train).gram(X)
    >>> (values,) = RidgeFamily().held_out_of_splits(machines, y, None, gram, [(train, test)])
    >>> values[1].test.round(3), machines[1].fit(X[train], y[train]).predict(X[test]).round(3)
    (array([3.733, 4.667]), array([3.733, 4.667]))
    """

    def takes(self, machine: Any) -> bool:
        """Whether this is a machine whose fits can be shared: of this very class, as others may do something else."""
        return type(machine) is KernelRidge

    def kernel(self, machine: Any, X: Any, train: Any, sample_weight: Any = None) -> Kernel:
        """The kernel of a fit to these rows, its data-dependent parameters found.

        Splits that find the same kernel share a matrix, and are solved in one call of ``held_out_of_splits``.
        """
        machine._validate_params()
        checked, features = machine._admitted(X)
        kernel: Kernel = machine._chosen_kernel(features.count)
        samples = kernel.samples(checked)
        rows = np.arange(len(samples))[train]
        weight = weights_of(sample_weight, np.zeros(len(samples)))[rows]
        resolved: Kernel = kernel.resolve(samples.take(rows[weight > 0]))
        return resolved

    def held_out(self, work: Any) -> Iterator[HeldOutValues]:
        """What each machine of a chain says: one split, which alone has this kernel.

        Splits of the same kernel belong into one call of ``held_out_of_splits``, as one decomposition serves them all.
        """
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

        The splits are all those whose machines have this very kernel, and ``gram`` is its matrix of all rows. The whole
        matrix is held in float64 meanwhile, with its eigenvectors if those are worth it. The machines are not fitted;
        they differ in ``alpha`` and ``fit_intercept`` alone. What a fit would refuse is refused here.
        """
        targets = check_array(in_memory(y, "y"), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(targets, range(len(gram)))
        weight = weights_of(sample_weight, targets)
        alphas = []
        for machine in machines:
            machine._validate_params()
            alphas.append(penalty_of(machine.alpha, targets))
        whole = WholeMatrix(gram)
        found: list[list[Any]] = [[None] * len(machines) for _ in splits]
        for bias in (False, True):
            cells = [i for i, machine in enumerate(machines) if bool(machine.fit_intercept) == bias]
            if not cells:
                continue
            some = [alphas[i] for i in cells]
            path = held_out_path(whole, targets, some, splits, weight, bias=bias, train_values=train_values)
            for row, values in zip(found, path, strict=True):
                for i, value in zip(cells, values, strict=True):
                    row[i] = value
        return found


def weights_of(sample_weight: Any, targets: Vector) -> Vector:
    """A weight for each sample; one that is next to nothing beside the largest is zero."""
    weight = np.ones(len(targets)) if sample_weight is None else weights_at_least_zero(sample_weight, targets)
    return np.where(weight < LEAST_WEIGHT * weight.max(initial=0.0), 0.0, weight)
