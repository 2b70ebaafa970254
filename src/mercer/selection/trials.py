"""The trials of a search: every cell, a setting of parameters, is fitted and scored on the same splits.

Cells of our machines share what they have in common: matrices, reductions, starts. All tools of this package, from a
search to a learning curve, put their cells here and know nothing of how they are solved.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.model_selection._validation import _fit_and_score, _score
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, _num_samples

from mercer import _native
from mercer.problem import Vector
from mercer.selection import support
from mercer.selection.cells import Cell, Chain
from mercer.selection.held_out import Known, plain_score, takes_answers
from mercer.selection.matrices import Layout, Shared, budget_of
from mercer.selection.shareable import last_step
from mercer.selection.trial import Trial
from mercer.threads import blas_of_one_thread, limited

#: Out-of-fold values are kept for ``predictions`` up to so many bytes.
KEPT = 2**27
Finished = Callable[[int, Trial], None]


class Trials:
    """Cells of one estimator on one set of samples and splits.

    >>> from mercer import SVC
    >>> X, y = np.arange(20.0)[:, None] % 10, np.arange(20) % 10 < 5
    >>> trials = Trials(SVC(), X, y, cv=2)
    >>> trial = trials.evaluate({"C": 10.0})
    >>> trial.scores["score"], trial.certificates[0].converged
    (array([1., 1.]), True)
    """

    def __init__(
        self,
        machine: Any,
        X: Any,
        y: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        groups: Any = None,
        fit_params: Mapping[str, Any] | None = None,
        score_params: Mapping[str, Any] | None = None,
        split_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        cache_size: float | None = None,
        cut: str | None = None,
        checkpoint: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.machine = clone(machine)
        self.X, self.y = indexable(X, y)
        split_params = {"groups": groups} if split_params is None else split_params
        splitter = check_cv(cv, y, classifier=is_classifier(machine))
        self.splits = [
            (positions(a, self.X), positions(b, self.X)) for a, b in splitter.split(self.X, self.y, **split_params)
        ]
        strict = error_score == "raise"
        self.scorer = scoring if callable(scoring) else check_scoring(machine, scoring, raise_exc=strict)
        self.fit_params, self.score_params = dict(fit_params or {}), dict(score_params or {})
        self.error_score, self.return_train_score = error_score, return_train_score
        self.n_jobs, self.budget = n_jobs, budget_of(cache_size)
        self._held: dict[int, dict[int, Known]] = {}
        self._views: dict[Any, View] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._views.clear()

    # -- cells --------------------------------------------------------------------------------------------------

    def evaluate(self, params: Mapping[str, Any]) -> Trial:
        """The trial of one cell."""
        return self.evaluate_all([params])[0]

    def evaluate_all(self, cells: Sequence[Mapping[str, Any]], finished: Finished | None = None) -> list[Trial]:
        """The trials of all cells, in their order; ``finished`` is told the number of each cell as it is done."""
        posed, alone = self._sorted(cells)
        results = Results(len(self.splits), finished)
        trials: dict[int, Trial] = {}
        if posed:
            trials |= self._shared(posed, results)
        for number in alone:
            trials[number] = self._alone(dict(cells[number]))
            if finished is not None:
                finished(number, trials[number])
        return [trials[number] for number in range(len(cells))]

    def _sorted(self, cells: Sequence[Mapping[str, Any]]) -> tuple[list[Cell], list[int]]:
        """The cells that share, and the numbers of those that go alone."""
        posed, alone = [], []
        for number, params in enumerate(cells):
            try:
                cell = Cell.of(number, params, self.machine)
                why = self._why_alone(cell)
            except Exception:  # parameters that there are not, and the like: scikit-learn says so
                why = "its parameters cannot be set"
            if why is None:
                posed.append(cell)
            else:
                alone.append(number)
        return posed, alone

    def shares(self, cells: Sequence[Mapping[str, Any]]) -> str | None:
        """Why a cell cannot share what it computes; None if all do."""
        for number, params in enumerate(cells):
            why = self._why_alone(Cell.of(number, params, self.machine))
            if why is not None:
                return why
        return None

    def _why_alone(self, cell: Cell) -> str | None:
        machine = cell.machine
        if type(machine) not in support.MACHINES:
            return f"{type(machine).__name__} is fitted on its own"
        weights = (
            {f"{cell.prefix}sample_weight", "sample_weight"} if cell.before is None else {f"{cell.prefix}sample_weight"}
        )
        if set(self.fit_params) - weights or (self.fit_params and cell.before is not None and _routing_enabled()):
            return "it is given more than weights"
        return support.why_not(machine)

    # -- cells that share ---------------------------------------------------------------------------------------

    def _shared(self, cells: list[Cell], results: Results) -> dict[int, Trial]:
        chains = Chain.all_of(cells)
        work = [(chain, split) for chain in chains for split in range(len(self.splits))]
        if cells[0].before is not None:  # rows of a split live only as long as its cells are solved
            keys = {id(chain): chain.cells[0].before_key() for chain in chains}
            order = {key: i for i, key in enumerate(dict.fromkeys(keys.values()))}
            work.sort(key=lambda pair: (order[keys[id(pair[0])]], pair[1]))
        threads = min(self._threads(), len(work))
        kernels = len(chains)

        def solve(chain: Chain, split: int) -> None:
            self._solve(chain, split, results, kernels, threads)

        with ExitStack() as within:
            if threads > 1:
                within.enter_context(limited(1))
            within.enter_context(blas_of_one_thread)
            run(work, solve, threads, results.stop)
        for number, cell in results.refused.items():
            results.trials[number] = self._alone(cell.params)
            if results.finished is not None:
                results.finished(number, results.trials[number])
        return results.trials

    def _threads(self) -> int:
        return _native.thread_count() if self.n_jobs is None else max(1, effective_n_jobs(self.n_jobs))

    def _view(self, cell: Cell, split: int, kernels: int, threads: int) -> View:
        """The rows as the machine of this cell sees them, on this split."""
        key = None if cell.before is None else (cell.before_key(), split)
        with self._lock:
            view = self._views.get(key)
            if view is None:
                if key is not None:  # those of earlier splits are done with
                    for old in [k for k in self._views if k is not None][: max(0, len(self._views) - threads)]:
                        del self._views[old]
                view = self._views[key] = View(self, cell, split, kernels, threads)
        return view

    _lock = threading.Lock()

    def _solve(self, chain: Chain, split: int, results: Results, kernels: int, threads: int) -> None:
        """All cells of a chain on one split."""
        first = chain.cells[0]
        begun = time.perf_counter()
        try:
            view = self._view(first, split, kernels, threads)
            rows = view.rows(split)
            samples = view.samples(first.machine)
        except Exception:  # what the rows of a split would say, each split says by itself
            results.refuse(chain.cells)
            return
        made = time.perf_counter() - begun
        asked = rows.test if not self.return_train_score else np.concatenate([rows.test, rows.train])
        found = support.solve_chain(
            [cell.machine for cell in chain.cells],
            rows.X_train,
            rows.y_train,
            rows.weight,
            rows.train,
            asked,
            samples,
            lambda kernel: view.shared.gram(kernel, samples),
            results.stop.is_set and (lambda _: results.stop.is_set()),
        )
        for cell, answered in zip(chain.cells, found, strict=True):
            if results.stop.is_set():
                return
            results.add(cell, split, self._scored(cell, split, rows, answered, made / len(chain.cells)))

    def _scored(self, cell: Cell, split: int, rows: Rows, answered: Any, made: float) -> Outcome:
        if isinstance(answered, Exception):
            if self.error_score == "raise":
                raise answered
            text = "".join(traceback.format_exception(answered))
            return Outcome(self.error_score, self.error_score, made, 0.0, None, text)
        begun = time.perf_counter()
        tests = len(rows.test)
        known = Known(answered.machine, rows.X_test, answered.answers(slice(0, tests)), answered.fitted)
        test = self._score(known, rows.X_test, rows.y_test, self.splits[split][1])
        train = None
        if self.return_train_score:
            own = Known(answered.machine, rows.X_train, answered.answers(slice(tests, None)), answered.fitted)
            train = self._score(own, rows.X_train, rows.y_train, self.splits[split][0])
        spent = time.perf_counter() - begun
        return Outcome(test, train, answered.seconds + made, spent, answered.certificate, None)

    def _score(self, known: Known, X: Any, y: Any, which: Any) -> Any:
        """What the scorer says of these rows."""
        plain = None if self.score_params or y is None else plain_score(self.scorer, known._machine)
        if plain is not None and np.ndim(y) == 1 and len(y) > 1:
            return plain(y, known.answer("predict"))
        params = _check_method_params(self.X, params=self.score_params, indices=which)
        estimator = known if takes_answers(self.scorer) else known.machine()
        return _score(estimator, X, y, self.scorer, params, self.error_score)

    # -- cells that go alone ------------------------------------------------------------------------------------

    def _alone(self, params: dict[str, Any]) -> Trial:
        """A cell as scikit-learn evaluates it."""
        found = [
            _fit_and_score(
                clone(self.machine),
                self.X,
                self.y,
                scorer=self.scorer,
                train=train,
                test=test,
                verbose=0,
                parameters=params,
                fit_params=self.fit_params,
                score_params=self.score_params,
                return_train_score=self.return_train_score,
                return_times=True,
                return_estimator=True,
                error_score=self.error_score,
            )
            for train, test in self.splits
        ]
        return Trial(
            params=params,
            scores=by_name([one["test_scores"] for one in found]),
            train_scores=by_name([one["train_scores"] for one in found]) if self.return_train_score else None,
            fit_seconds=np.array([one["fit_time"] for one in found]),
            score_seconds=np.array([one["score_time"] for one in found]),
            certificates=tuple(getattr(last_step(one["estimator"]), "certificate_", None) for one in found),
            error=tuple(one["fit_error"] for one in found),
        )

    def predictions(self, params: Mapping[str, Any], method: str = "predict") -> Any:
        """Of every sample, what the machine says that was fitted without it."""
        machine = clone(self.machine).set_params(**clone(dict(params), safe=False))
        return cross_val_predict(machine, self.X, self.y, cv=self.splits, params=self.fit_params, method=method)


@dataclass(eq=False)
class Rows:
    """The rows of one split: their positions among the samples, and what fits and scorers are given of them."""

    train: Any
    test: Any
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    weight: Any


class View:
    """All rows as a machine sees them: as they are, or on one split, after the steps that stand before the machine."""

    def __init__(self, trials: Trials, cell: Cell, split: int, kernels: int, threads: int) -> None:
        self.trials, self.lock = trials, threading.Lock()
        self._rows: dict[int, Rows] = {}
        self._samples: dict[Any, Any] = {}
        if cell.before is None:
            self.X, self.size = trials.X, _num_samples(trials.X)
        else:
            own = self._rows[split] = self._transformed(cell, split)
            self.X = together(own.X_train, own.X_test)
            self.size = len(own.train) + len(own.test)
        self._arrange(cell, split)
        self.shared = Shared(
            Layout.of(self.size, trials.budget // (1 if cell.before is None else threads), kernels, threads), threads
        )

    def _arrange(self, cell: Cell, split: int) -> None:
        """Puts rows of one class side by side, and of these those that are held out together, where pairs of classes
        will be told apart: then what a pair reads of a row lies in few pieces.
        """
        trials = self.trials
        self._order = None
        if not is_classifier(cell.machine) or np.ndim(trials.y) != 1:
            return
        classes, codes = np.unique(np.asarray(trials.y), return_inverse=True)
        if len(classes) < 3:
            return
        if cell.before is None:
            fold = np.full(len(codes), len(trials.splits))
            for number, (_, test) in enumerate(trials.splits):
                fold[test] = number
        else:
            train, test = trials.splits[split]
            codes = np.concatenate([codes[train], codes[test]])
            fold = np.repeat([0, 1], [len(train), len(test)])
        self._order = np.lexsort((fold, codes))
        self._place = np.argsort(self._order)
        for number, rows in self._rows.items():
            self._rows[number] = replace(rows, train=self._place[rows.train], test=self._place[rows.test])

    def _transformed(self, cell: Cell, split: int) -> Rows:
        trials, (train, test) = self.trials, self.trials.splits[split]
        steps = clone(cell.before)
        X_train, y_train = _safe_split(cell.estimator, trials.X, trials.y, train)
        X_test, y_test = _safe_split(cell.estimator, trials.X, trials.y, test, train)
        X_train = steps.fit_transform(X_train, y_train)
        return Rows(
            np.arange(len(train)),
            np.arange(len(train), len(train) + len(test)),
            X_train,
            y_train,
            steps.transform(X_test),
            y_test,
            trials_weight(trials, cell, train),
        )

    def rows(self, split: int) -> Rows:
        """Those of a split."""
        with self.lock:
            if split not in self._rows:
                trials, (train, test) = self.trials, self.trials.splits[split]
                machine = last_step(trials.machine)
                X_train, y_train = _safe_split(machine, trials.X, trials.y, train)
                X_test, y_test = _safe_split(machine, trials.X, trials.y, test, train)
                weight = trials.fit_params.get("sample_weight")
                if weight is not None:
                    weight = _check_method_params(trials.X, {"w": weight}, indices=train)["w"]
                if self._order is not None:
                    train, test = self._place[train], self._place[test]
                self._rows[split] = Rows(train, test, X_train, y_train, X_test, y_test, weight)
            return self._rows[split]

    def samples(self, machine: Any) -> Any:
        """All rows as samples of a machine's kernel."""
        kernel = machine.kernel
        key = kernel if isinstance(kernel, str) else id(kernel)
        with self.lock:
            if key not in self._samples:
                _, samples, _, _ = machine._kernel_and_samples(self.X)
                if self._order is not None:
                    samples = samples.take(self._order)
                self._samples[key] = kernel, samples  # the kernel lives as long as its number
            return self._samples[key][1]


def trials_weight(trials: Trials, cell: Cell, train: Any) -> Any:
    weight = trials.fit_params.get(f"{cell.prefix}sample_weight")
    return None if weight is None else _check_method_params(trials.X, {"w": weight}, indices=train)["w"]


def together(first: Any, second: Any) -> Any:
    """The rows of two arrays, one after the other."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    if type(first) is np.ndarray:
        return np.concatenate([first, second])
    raise TypeError(f"rows of {type(first).__name__} are not put together")


def positions(index: Any, X: Any) -> Any:
    """The positions of a split, which may be a mask."""
    index = np.asarray(index)
    return np.flatnonzero(index) if index.dtype == bool else index


@dataclass
class Outcome:
    """Of one cell on one split."""

    test: Any
    train: Any
    fit_seconds: float
    score_seconds: float
    certificate: Any
    error: str | None


@dataclass(eq=False)
class Results:
    """What has come of the cells so far; any thread adds to it."""

    splits: int
    finished: Finished | None
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    outcomes: dict[int, dict[int, Outcome]] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    refused: dict[int, Cell] = field(default_factory=dict)

    def add(self, cell: Cell, split: int, outcome: Outcome) -> None:
        with self.lock:
            own = self.outcomes.setdefault(cell.number, {})
            own[split] = outcome
            if len(own) < self.splits or cell.number in self.refused:
                return
            trial = self.trials[cell.number] = trial_of(cell, [own[i] for i in range(self.splits)])
            del self.outcomes[cell.number]
            if self.finished is not None:
                self.finished(cell.number, trial)

    def refuse(self, cells: list[Cell]) -> None:
        """These are to go alone."""
        with self.lock:
            self.refused.update({cell.number: cell for cell in cells})


def trial_of(cell: Cell, found: list[Outcome]) -> Trial:
    return Trial(
        params=cell.params,
        scores=by_name([one.test for one in found]),
        train_scores=None if found[0].train is None else by_name([one.train for one in found]),
        fit_seconds=np.array([one.fit_seconds for one in found]),
        score_seconds=np.array([one.score_seconds for one in found]),
        certificates=tuple(one.certificate for one in found),
        error=tuple(one.error for one in found),
    )


def run(work: list[Any], solve: Callable[..., None], threads: int, stop: threading.Event) -> None:
    """Does all work, in its order, by so many threads; the first exception stops them all, Ctrl-C too."""
    if threads <= 1:
        for one in work:
            solve(*one)
        return
    left, lock, failed = iter(work), threading.Lock(), []

    def go_on() -> None:
        while not stop.is_set():
            with lock:
                one = next(left, None)
            if one is None:
                return
            try:
                solve(*one)
            except BaseException as error:
                failed.append(error)
                stop.set()

    workers = [threading.Thread(target=go_on, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(0.1)
    except BaseException:
        stop.set()
        for worker in workers:
            worker.join()
        raise
    if failed:
        raise failed[0]


def by_name(scores: list[Any]) -> dict[str, Vector]:
    """The scores of all splits by name; the one number of a fit that failed stands for all names."""
    names = next((list(score) for score in scores if isinstance(score, dict)), None)
    if names is None:
        return {"score": np.array(scores, dtype=np.float64)}
    return {
        name: np.array([score[name] if isinstance(score, dict) else score for score in scores], dtype=np.float64)
        for name in names
    }
