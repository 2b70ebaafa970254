"""Machines that solve all splits of a kernel at once, in a search: kernel ridge and kernel logistic regression."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.kernels import Kernel
from mercer.machines import KernelLogistic, KernelRidge
from mercer.machines.logistic import labels_of, log_probabilities
from mercer.samples.base import Array
from mercer.selection.cells import Cell
from mercer.selection.held_out import Known
from mercer.selection.logistic import LogisticFamily
from mercer.selection.ridge import RidgeFamily
from mercer.selection.values import HeldOutValues
from mercer.selection.views import Rows, View

FAMILIES = (RidgeFamily(), LogisticFamily())


def family_of(machine: Any) -> Any:
    """Whose machine it is; None if nobody's."""
    if type(machine) not in (KernelRidge, KernelLogistic):
        return None
    if callable(machine.kernel) and not isinstance(machine.kernel, Kernel):
        return None
    return next((family for family in FAMILIES if family.takes(machine)), None)


def solve_paths(
    cells: list[Cell], view: View, splits: list[int], budget: int, train_values: bool
) -> Iterator[tuple[Cell, int, HeldOutValues, float]]:
    """What came of cells that differ along their path, on these splits of a view, with the seconds each took."""
    machines = [cell.machine for cell in cells]
    family = family_of(machines[0])
    by_kernel: dict[Kernel, list[int]] = {}
    for split in splits:
        rows = view.rows(split)
        kernel = family.kernel(machines[0], view.X, rows.train, view.weight)
        by_kernel.setdefault(kernel, []).append(split)
    for kernel, some in by_kernel.items():
        begun = time.perf_counter()
        gram = kernel.gram(kernel.samples(view.X), budget)
        pairs = [(view.rows(split).train, view.rows(split).test) for split in some]
        found = family.held_out_of_splits(machines, view.y, view.weight, gram, pairs, train_values=train_values)
        each = (time.perf_counter() - begun) / (len(cells) * len(some))
        for split, values in zip(some, found, strict=True):
            for cell, value in zip(cells, values, strict=True):
                yield cell, split, value, each


def known(cell: Cell, rows: Rows, values: HeldOutValues, at: Array, X: Any) -> Known:
    """What stands for the fitted machine at the rows X, where its values are ``at``."""

    def fitted() -> Any:
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        return clone(cell.machine).fit(rows.X_train, rows.y_train, **weight)

    answers: dict[str, Callable[[], Any]] = {"predict": lambda: at}
    attributes: dict[str, Any] = {}
    if values.classes is not None:
        classes = values.classes
        answers = {
            "predict": lambda: labels_of(classes, at),
            "decision_function": lambda: at,
            "predict_log_proba": lambda: log_probabilities(at),
            "predict_proba": lambda: probabilities(at),
        }
        attributes = {"classes_": classes}
    return Known(cell.machine, X, answers, fitted, attributes)


def probabilities(at: Array) -> Array:
    return np.asarray(np.exp(log_probabilities(at)))
