"""All rows as the machines of a search see them: as they are, or on one split, after the steps before the machine.

The rows that are held out are among them, so that one matrix serves all splits.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, _num_samples

from mercer.machines import SVC
from mercer.selection.cells import Cell
from mercer.selection.matrices import Layout, Shared

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Given:
    """The samples of a search, its splits, and what fits are given beside them."""

    X: Any
    y: Any
    splits: list[tuple[Positions, Positions]]
    fit_params: dict[str, Any]

    def weight(self, prefix: str, which: Positions | None = None) -> Any:
        """The weights of these samples, or of all; None if there are none."""
        weight = self.fit_params.get(f"{prefix}sample_weight", self.fit_params.get("sample_weight"))
        if weight is None or which is None:
            return weight
        return _check_method_params(self.X, {"weight": weight}, indices=which)["weight"]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one split: their positions in a view, and what fits and scorers are given of them."""

    train: Positions
    test: Positions
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    weight: Any
    #: The samples that are held out, by their positions in what was given.
    held_out: Positions
    trained_on: Positions


class View:
    """All rows of a search, or of one split of it if there are steps before the machine."""

    def __init__(self, given: Given, cell: Cell, split: int | None) -> None:
        self.given, self.cell, self.lock = given, cell, threading.Lock()
        self._rows: dict[int, Rows] = {}
        self._samples: dict[Any, Any] = {}
        self._shared: Shared | None = None
        if split is None:
            self.X, self.y, self.size = given.X, given.y, _num_samples(given.X)
            self.weight = given.weight(cell.prefix)
        else:
            own = self._rows[split] = self._transformed(split)
            self.X = together(own.X_train, own.X_test)
            self.y = None if own.y_train is None else together(np.asarray(own.y_train), np.asarray(own.y_test))
            self.size = len(own.train) + len(own.test)
            self.weight = None if own.weight is None else together(np.asarray(own.weight), np.ones(len(own.test)))
        self._place, order = None, self._arranged(split)
        if order is not None:
            self.X, self.y = _safe_indexing(self.X, order), _safe_indexing(self.y, order)
            self.weight = None if self.weight is None else np.asarray(self.weight)[order]
            self._place = np.argsort(order)
            self._rows = {number: self._placed(rows) for number, rows in self._rows.items()}

    def _arranged(self, split: int | None) -> Positions | None:
        """An order in which rows of one class lie side by side, and of these those that are held out together.

        What pairs of classes read of a row of the matrix lies in few pieces then. None if there are no pairs.
        """
        machine = self.cell.machine
        if type(machine) is not SVC or machine.kernel == "precomputed" or np.ndim(self.y) != 1:
            return None
        classes, codes = np.unique(np.asarray(self.y), return_inverse=True)
        if len(classes) < 3:
            return None
        held = np.full(self.size, len(self.given.splits))
        for number, (_, test) in enumerate(self.given.splits):
            held[self._rows[split].test if split is not None else test] = number
        return np.lexsort((held, codes))

    def _placed(self, rows: Rows) -> Rows:
        """The same, with positions in this view."""
        if self._place is None:
            return rows
        return replace(rows, train=self._place[rows.train], test=self._place[rows.test])

    def _transformed(self, split: int) -> Rows:
        given, cell, (train, test) = self.given, self.cell, self.given.splits[split]
        steps = clone(cell.before)
        X_train, y_train = _safe_split(cell.estimator, given.X, given.y, train)
        X_test, y_test = _safe_split(cell.estimator, given.X, given.y, test, train)
        X_train = steps.fit_transform(X_train, y_train)
        places = np.arange(len(train)), np.arange(len(train), len(train) + len(test))
        weight = given.weight(cell.prefix, train)
        return Rows(*places, X_train, y_train, steps.transform(X_test), y_test, weight, test, train)

    def rows(self, split: int) -> Rows:
        """Those of a split."""
        with self.lock:
            if split not in self._rows:
                given, machine, (train, test) = self.given, self.cell.machine, self.given.splits[split]
                X_train, y_train = _safe_split(machine, given.X, given.y, train)
                X_test, y_test = _safe_split(machine, given.X, given.y, test, train)
                weight = given.weight(self.cell.prefix, train)
                rows = Rows(train, test, X_train, y_train, X_test, y_test, weight, test, train)
                self._rows[split] = self._placed(rows)
            return self._rows[split]

    def samples(self, machine: Any) -> Any:
        """All rows as samples of a machine's kernel."""
        kernel = machine.kernel
        with self.lock:
            if kernel not in self._samples:
                self._samples[kernel] = machine._kernel_and_samples(self.X)[1]
            return self._samples[kernel]

    def shared(self, budget: int, kernels: int, threads: int) -> Shared:
        """The matrices of these rows."""
        with self.lock:
            if self._shared is None:
                self._shared = Shared(Layout.of(self.size, budget, kernels), threads)
            return self._shared


def together(first: Any, second: Any) -> Any:
    """The rows of two arrays, one after the other."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    if type(first) is np.ndarray:
        return np.concatenate([first, second])
    raise TypeError(f"rows of {type(first).__name__} are not put together")
