"""The trials of a search: every cell, a setting of parameters, is fitted and scored on the same splits.

Cells of our machines share what they have in common: matrices, reductions, starts. All tools of this package, from a
search to a learning curve, put their cells here and know nothing of how they are solved.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv, cross_val_predict
from sklearn.model_selection._validation import _fit_and_score, _score
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import _check_method_params, _num_samples

from mercer import _native
from mercer.selection import paths, support
from mercer.selection.cells import Cell, Chain, hashable
from mercer.selection.checkpoint import Checkpoint
from mercer.selection.cuts import Cuts
from mercer.selection.grid import default_grid
from mercer.selection.held_out import Known, is_plain, plain_score, takes_answers
from mercer.selection.matrices import Layout, budget_of
from mercer.selection.plan import Plan
from mercer.selection.results import Finished, Outcome, Results, by_name
from mercer.selection.shareable import any_shareable, last_step
from mercer.selection.trial import Trial
from mercer.selection.views import Given, Rows, View
from mercer.threads import blas_of_one_thread, limited

#: With ``verbose`` a line says how far a search is, if the last one is so many seconds ago.
SILENCE = 2.0


class Trials:
    """Cells of one estimator on one set of samples and splits.

    Parameters are those of ``GridSearchCV``, of which this is the engine, and: ``fit_params`` and ``score_params`` are
    given to fits and scorers, ``split_params`` to ``cv``; ``cache_size`` is the memory for matrices in megabytes, a
    quarter of what is free if None; ``cut`` and ``checkpoint`` as in ``GridSearchCV``. ``n_jobs=None`` takes the
    threads of the core. Results do not depend on their number.

    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> trials = Trials(SVC(), X, y)
    >>> trial = trials.evaluate({"C": 10.0})
    >>> trial.scores["score"].round(2), trial.certificates[0][0].converged
    (array([...]), True)
    >>> bool(np.isclose((trials.predictions({"C": 10.0}) == y).mean(), trial.scores["score"].mean()))
    True
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
        parts = splitter.split(self.X, self.y, **split_params)
        self.splits = [(positions(a, self.X), positions(b, self.X)) for a, b in parts]
        strict = error_score == "raise"
        self.scorer = scoring if callable(scoring) else check_scoring(machine, scoring, raise_exc=strict)
        self.fit_params, self.score_params = dict(fit_params or {}), dict(score_params or {})
        self.error_score, self.return_train_score = error_score, return_train_score
        self.n_jobs, self.budget, self.verbose = n_jobs, budget_of(cache_size), verbose
        self.cut = Cuts.of(cut, self.scorer, machine)
        self.checkpoint = None if checkpoint is None else Checkpoint.open(checkpoint, self)
        self.given = Given(self.X, self.y, self.splits, self.fit_params)
        self._views: dict[Any, View] = {}
        self._making = threading.Lock()
        self._said: list[tuple[dict[str, Any], dict[int, Known]]] = []
        self._told: list[Trial] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._views.clear()
        if self.checkpoint is not None:
            self.checkpoint.close()

    # -- cells --------------------------------------------------------------------------------------------------

    def evaluate(self, params: Mapping[str, Any]) -> Trial:
        """The trial of one cell."""
        return self.evaluate_all([params])[0]

    def evaluate_all(self, cells: Sequence[Mapping[str, Any]], finished: Finished | None = None) -> list[Trial]:
        """The trials of all cells, in their order; ``finished`` is told the number of each cell as it is done.

        They are solved in the order that shares most. Ctrl-C ends that within a second; who listens has what was
        finished.
        """
        results = Results(len(self.splits), self._listener(finished, len(cells)))
        chains, along, alone = self._sorted(cells)
        for chain in along:
            alone += self._path(chain, results)
        if chains:
            alone += self._chains(chains, results)
        for number in sorted(alone):
            if number not in results.trials:
                self._alone(number, dict(cells[number]), results)
        return [results.trials[number] for number in range(len(cells))]

    def _sorted(self, cells: Sequence[Mapping[str, Any]]) -> tuple[list[Chain], list[Chain], list[int]]:
        """Chains of cells, those of machines that solve all splits at once, and the numbers of cells that go alone."""
        posed: list[Cell] = []
        along: list[Cell] = []
        alone: list[int] = []
        if not any_shareable(self.machine, {name: [v] for cell in cells for name, v in cell.items()}):
            return [], [], list(range(len(cells)))
        for number, params in enumerate(cells):
            try:
                cell = Cell.of(number, params, self.machine)
                why = self._why_alone(cell)
            except Exception:  # parameters that there are not, and the like: scikit-learn says so
                why = "its parameters cannot be set"
            if why is not None:
                alone.append(number)
            else:
                (posed if type(cell.machine) in support.MACHINES else along).append(cell)
        return Chain.all_of(posed), Chain.all_of(along), alone

    def shares(self, cells: Sequence[Mapping[str, Any]]) -> str | None:
        """Why a cell cannot share what it computes; None if all do."""
        for number, params in enumerate(cells):
            why = self._why_alone(Cell.of(number, params, self.machine))
            if why is not None:
                return why
        return None

    def _why_alone(self, cell: Cell) -> str | None:
        machine = cell.machine
        if type(machine) not in support.MACHINES and paths.family_of(machine) is None:
            return f"{type(machine).__name__} is fitted on its own"
        if cell.before is not None and not takes_answers(self.scorer):
            return "its scorer looks at the whole pipeline"
        weights = {f"{cell.prefix}sample_weight"}
        if set(self.fit_params) - weights or (self.fit_params and cell.before is not None and _routing_enabled()):
            return "it is given more than weights"
        return support.why_not(machine) if type(machine) in support.MACHINES else None

    def plan(self, cells: Sequence[Mapping[str, Any]]) -> Plan:
        """What is shared by these cells, in which order they are solved, and the memory that takes."""
        chains, along, alone = self._sorted(cells)
        return Plan.of(chains, along, len(alone), self.given, self.budget, self._threads(), self.return_train_score)

    def predictions(self, params: Mapping[str, Any], method: str = "predict") -> Any:
        """Of every sample, what the machine says that was fitted without it; no fit if the cell was evaluated."""
        said = self._remembered(params)
        if said is None and self.shares([params]) is None:
            self.evaluate(params)
            said = self._remembered(params)
        held_out = np.concatenate([test for _, test in self.splits])
        whole = len(held_out) == len(np.unique(held_out)) == _num_samples(self.X)
        values = self._said_of(said, method) if said is not None and len(said) == len(self.splits) and whole else None
        if values is None:
            machine = clone(self.machine).set_params(**clone(dict(params), safe=False))
            return cross_val_predict(machine, self.X, self.y, cv=self.splits, params=self.fit_params, method=method)
        return values[np.argsort(held_out, kind="stable")]

    def _said_of(self, said: Mapping[int, Known], method: str) -> Any:
        """What was said of the rows of all splits, split after split; None if it is not kept, or classes differ."""
        parts = [said[split] for split in range(len(self.splits))]
        classes = {tuple(np.asarray(getattr(part, "classes_", ())).tolist()) for part in parts}
        if method != "predict" and len(classes) > 1:
            return None
        try:
            return np.concatenate([np.asarray(part.answer(method)) for part in parts])
        except LookupError:  # what is not kept
            return None

    def ask(self) -> dict[str, Any] | None:
        """The next cell of the default grid that nobody has told of; None when there is none left."""
        told = [trial.params for trial in self._told]
        grid = default_grid(self.machine, self.X, self.y)
        return next((cell for cell in ParameterGrid(grid) if cell not in told), None)

    def tell(self, trial: Trial) -> None:
        """Takes note of a trial, whoever thought of it."""
        self._told.append(trial)

    @property
    def best(self) -> Trial:
        """The trial with the best mean score of those that were told."""
        if not self._told:
            raise ValueError("no trial has been told yet; call tell(evaluate(params)) first")
        return max(self._told, key=lambda trial: float(np.mean(next(iter(trial.scores.values())))))

    # -- cells that share: support vector machines ----------------------------------------------------------------

    def _chains(self, chains: list[Chain], results: Results) -> list[int]:
        """Solves the chains; the numbers of cells that have to go alone after all."""
        before = [chain.cells[0].before_key() for chain in chains]
        place = {key: i for i, key in enumerate(dict.fromkeys(before))}
        refused: set[int] = set()
        kernels = max(before.count(key) for key in place)

        def solve(work: list[tuple[Chain, int]]) -> None:
            # Rows that were transformed for a split live only as long as its cells are solved.
            transformed = lambda pair: (place[pair[0].cells[0].before_key()], pair[1])  # noqa: E731
            work = sorted(work, key=transformed) if None not in place or len(place) > 1 else work
            threads = min(self._threads(), len(work), self._fitting(kernels, before != [None] * len(before)))

            def one(chain: Chain, split: int) -> None:
                if not self._solve(chain, split, results, kernels, threads):
                    refused.update(cell.number for cell in chain.cells)

            with ExitStack() as within:
                if threads > 1:
                    within.enter_context(limited(1))
                within.enter_context(blas_of_one_thread)
                run(work, one, threads, results.stop)

        if self.cut is None:
            solve([(chain, split) for chain in chains for split in range(len(self.splits))])
        else:
            self.cut.run(chains, results, solve, refused)
        return sorted(refused)

    def _threads(self) -> int:
        return int(_native.thread_count() if self.n_jobs is None else max(1, effective_n_jobs(self.n_jobs)))

    def _fitting(self, kernels: int, per_split: bool) -> int:
        """For how many threads there is memory."""
        layout = Layout.of(_num_samples(self.X), self.budget, kernels)
        most = layout.threads(self._threads())
        if not per_split or not layout.held:
            return most
        return max(1, min(most, self.budget // (layout.bytes_of_reduction + layout.bytes_of_matrix)))

    def _view(self, cell: Cell, split: int, keep: int) -> View:
        """The rows as the machine of this cell sees them, on this split."""
        own = None if cell.before is None else split
        # Columns of a given matrix stand for rows, so that such a machine has other rows than its neighbours.
        key = cell.before_key(), own, get_tags(cell.machine).input_tags.pairwise
        with self._making:
            if key not in self._views:
                earlier = [other for other in self._views if other[1] is not None]
                for other in earlier[: max(0, len(earlier) + 1 - keep)]:
                    del self._views[other]
                self._views[key] = View(self.given, cell, own)
            return self._views[key]

    def _solve(self, chain: Chain, split: int, results: Results, kernels: int, threads: int) -> bool:
        """All cells of a chain on one split; False if they have to go alone."""
        kept = None if self.checkpoint is None else self.checkpoint.found(chain.cells, split)
        if kept is not None:
            for cell, outcome in zip(chain.cells, kept, strict=True):
                results.add(cell, split, outcome)
            return True
        first = chain.cells[0]
        begun = time.perf_counter()
        try:
            view = self._view(first, split, threads)
            rows, samples = view.rows(split), view.samples(first.machine)
        except Exception:  # what is wrong with these rows, a fit of its own will say
            return False
        shared = view.shared(self.budget, kernels, threads)
        found = support.solve_chain(
            [cell.machine for cell in chain.cells],
            rows,
            samples,
            lambda kernel: shared.gram(kernel, samples),
            train_values=self.return_train_score,
            stopped=results.stop.is_set,
        )
        made, outcomes = (time.perf_counter() - begun) / len(chain.cells), []
        for cell, answered in zip(chain.cells, found, strict=False):
            if isinstance(answered, support.Answered) and answered.refuted:
                return False  # where it ends depends on where it begins: a fit of its own warns of that
            if isinstance(answered, Exception):
                outcome = self._failed(answered, made)
            else:
                seconds = answered.seconds + made
                known = [answered.known(rows, at) for at in (0, 1)[: 1 + self.return_train_score]]
                outcome = self._scored(cell, split, rows, known, seconds, answered.certificate)
            outcomes.append(outcome)
            results.add(cell, split, outcome)
        if self.checkpoint is not None and len(outcomes) == len(chain.cells):
            self.checkpoint.add(chain.cells, split, outcomes)
        return True

    def _failed(self, error: Exception, seconds: float) -> Outcome:
        if self.error_score == "raise":
            raise error
        text = "".join(traceback.format_exception(error))
        train = self.error_score if self.return_train_score else None
        return Outcome(self.error_score, train, seconds, 0.0, None, text)

    def _scored(
        self, cell: Cell, split: int, rows: Rows, known: list[Known], seconds: float, certificate: Any
    ) -> Outcome:
        begun = time.perf_counter()
        test = self._score(known[0], rows.X_test, rows.y_test, rows.held_out)
        train = None if len(known) == 1 else self._score(known[1], rows.X_train, rows.y_train, rows.trained_on)
        self._remember(cell, split, known[0])
        return Outcome(test, train, seconds, time.perf_counter() - begun, certificate, None)

    def _score(self, known: Known, X: Any, y: Any, which: Any) -> Any:
        """What the scorer says of these rows."""
        plain = None if self.score_params or y is None else plain_score(self.scorer, known._machine)
        if plain is not None and is_plain(y):
            try:
                return plain(y, known.answer("predict"))
            except Exception:  # what a machine refuses to say, a scorer reports
                pass
        params = _check_method_params(self.X, params=self.score_params, indices=which)
        estimator = known if takes_answers(self.scorer) else known.machine()
        return _score(estimator, X, y, self.scorer, params, self.error_score)

    def _remembered(self, params: Mapping[str, Any]) -> dict[int, Known] | None:
        """What is kept of a cell, by split."""
        asked = {name: hashable(value) for name, value in params.items()}
        return next(
            (said for known, said in self._said if {name: hashable(value) for name, value in known.items()} == asked),
            None,
        )

    def _remember(self, cell: Cell, split: int, known: Known) -> None:
        """Keeps what is said of the last cells, for ``predictions``."""
        with self._making:
            own = next((said for params, said in self._said if params is cell.params), None)
            if own is None:
                own = {}
                self._said.append((cell.params, own))
                del self._said[:-REMEMBERED]
            own[split] = known.light()

    # -- cells that share: machines that solve all splits at once --------------------------------------------------

    def _path(self, chain: Chain, results: Results) -> list[int]:
        """Solves a chain of such machines; the numbers of cells that have to go alone after all."""
        first, every = chain.cells[0], range(len(self.splits))
        try:
            for some in [list(every)] if first.before is None else [[split] for split in every]:
                view = self._view(first, some[0], 1)
                found = paths.solve_paths(chain.cells, view, some, self.budget, self.return_train_score)
                for cell, split, values, seconds in found:
                    rows = view.rows(split)
                    known = [paths.known(cell, rows, values, values.test, rows.X_test)]
                    if values.train is not None:
                        known.append(paths.known(cell, rows, values, values.train, rows.X_train))
                    results.add(cell, split, self._scored(cell, split, rows, known, seconds, values.certificate))
        except Exception:  # what is wrong, a fit of its own will say
            return [cell.number for cell in chain.cells]
        return []

    # -- cells that go alone ------------------------------------------------------------------------------------

    def _alone(self, number: int, params: dict[str, Any], results: Results) -> None:
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
        trial = Trial(
            params=params,
            scores=by_name([one["test_scores"] for one in found]),
            train_scores=by_name([one["train_scores"] for one in found]) if self.return_train_score else None,
            fit_seconds=np.array([one["fit_time"] for one in found]),
            score_seconds=np.array([one["score_time"] for one in found]),
            certificates=tuple(getattr(last_step(one["estimator"]), "certificate_", None) for one in found),
            error=tuple(one["fit_error"] for one in found),
        )
        results.tell(number, trial)

    def _listener(self, finished: Finished | None, cells: int) -> Finished | None:
        """Whoever is told of finished cells, and with ``verbose`` the user, now and then, of the time that is left."""
        if not self.verbose:
            return finished
        begun = last = time.monotonic()
        done = 0

        def told(number: int, trial: Trial) -> None:
            nonlocal done, last
            done, now = done + 1, time.monotonic()
            if now - last > SILENCE:
                last = now
                left = (now - begun) / done * (cells - done)
                sys.stdout.write(f"{done} of {cells} cells, about {left:.0f} s left\n")
                sys.stdout.flush()
            if finished is not None:
                finished(number, trial)

        return told


#: What was said of the rows held out is kept for the last so many cells.
REMEMBERED = 128


def positions(index: Any, X: Any) -> Any:
    """The positions of a part of a split, which may be a mask, or count from the end.

    >>> positions([0, -1], np.zeros(3)).tolist(), positions([True, False, True], np.zeros(3)).tolist()
    ([0, 2], [0, 2])
    """
    index = np.asarray(index)
    if index.dtype == bool:
        return np.flatnonzero(index)
    return np.where(index < 0, index + _num_samples(X), index) if index.dtype.kind == "i" else index


def run(work: list[Any], solve: Callable[..., None], threads: int, stop: threading.Event) -> None:
    """Does all work, in its order, by so many threads; the first exception stops them all, Ctrl-C too."""
    if threads <= 1:
        for one in work:
            solve(*one)
        return
    left, lock = iter(work), threading.Lock()
    failed: list[BaseException] = []

    def go_on(ended: threading.Event) -> None:
        try:
            while not stop.is_set():
                with lock:
                    one = next(left, None)
                if one is None:
                    return
                solve(*one)
        except BaseException as error:
            failed.append(error)
            stop.set()
        finally:
            ended.set()

    # Threads are not joined: one whose join is interrupted counts as ended, whether it has or not.
    ends = [threading.Event() for _ in range(threads)]
    for ended in ends:
        threading.Thread(target=go_on, args=(ended,), daemon=True).start()
    try:
        for ended in ends:
            while not ended.wait(0.05):
                pass
    except BaseException:
        stop.set()
        raise
    finally:
        for ended in ends:
            ended.wait()
    if failed:
        raise failed[0]
