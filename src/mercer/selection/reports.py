"""What a user is told of the fits of a search: scikit-learn's messages, callbacks and warnings of fits that failed.

Cells that share are not fitted one by one, so all this is told of each as it is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from joblib.logger import short_format_time
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from mercer.selection.trial import Trial

#: The width of a line of scikit-learn's.
LINE = 80
Finished = Callable[[int, Trial], None]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def messages(verbose: int, cells: int, *, named: bool = True) -> Finished | None:
    """Writes a line for each split of a finished cell, as scikit-learn does from ``verbose=2`` on; None below.

    ``named`` says whether there are cells to be numbered and parameters to be shown.
    """
    if verbose <= 1:
        return None

    def finished(number: int, trial: Trial) -> None:
        shown = ", ".join(f"{name}={trial.params[name]}" for name in sorted(trial.params)) if named else ""
        splits = len(trial.fit_seconds)
        for split in range(splits):
            place = f" {split + 1}/{splits}" if verbose > 2 and named else ""
            place += f"; {number + 1}/{cells}" if verbose > 9 and named else ""
            if verbose > 9:
                start = f"[CV{place}] START {shown}"
                say(start + "." * (LINE - len(start)))
            text = shown + (";" if shown else "") + (scores_of(trial, split) if verbose > 2 else "")
            text += f" total time={short_format_time(trial.fit_seconds[split] + trial.score_seconds[split])}"
            end = f"[CV{place}] END "
            say(end + "." * (LINE - len(end) - len(text)) + text)

    return finished


def scores_of(trial: Trial, split: int) -> str:
    """The scores of one split, as scikit-learn writes them."""
    train = trial.train_scores
    if set(trial.scores) == {"score"}:
        score = f"{trial.scores['score'][split]:.3f}"
        return f", score={score}" if train is None else f", score=(train={train['score'][split]:.3f}, test={score})"
    return "".join(
        f" {name}: ("
        + ("" if train is None else f"train={train[name][split]:.3f}, ")
        + f"test={trial.scores[name][split]:.3f})"
        for name in sorted(trial.scores)
    )


def callbacks(
    search: Any, context: Any, splits: Sequence[Any], X: Any, y: Any, cells: int, fit_params: Mapping[str, Any]
) -> Finished | None:
    """Tells the callbacks of a search of every split of a finished cell; None if nobody listens."""
    if context is None or not hasattr(search, "_skl_callbacks"):
        return None
    tasks = [
        context.subcontext(task_name="candidate-split-evaluation", task_id=task) for task in range(cells * len(splits))
    ]

    def finished(number: int, trial: Trial) -> None:
        for split, (train, _) in enumerate(splits):
            part = lambda i, train=train: _safe_split(search.estimator, X, y, train)[i]  # noqa: E731
            told: dict[str, Any] = {"X": lambda part=part: part(0), "y": lambda part=part: part(1)}
            if fit_params.get("sample_weight") is not None:
                told["metadata"] = _check_method_params(
                    X, params={"sample_weight": fit_params["sample_weight"]}, indices=train
                )
            task = tasks[number * len(splits) + split]
            task.call_on_fit_task_begin(estimator=search, **told)
            task.call_on_fit_task_end(estimator=search, **told)

    return finished


def both(*listeners: Finished | None) -> Finished | None:
    """All listeners as one; None if there are none."""
    listening = [listener for listener in listeners if listener is not None]
    if not listening:
        return None

    def finished(number: int, trial: Trial) -> None:
        for listener in listening:
            listener(number, trial)

    return finished


def warn_of_failures(trials: Sequence[Trial], error_score: Any) -> None:
    """Warns that some fits failed, with their tracebacks; an error if all did."""
    errors = [{"fit_error": error} for trial in trials for error in trial.error or (None,) * len(trial.fit_seconds)]
    _warn_or_raise_about_fit_failures(errors, error_score)


def rows(trials: Sequence[Trial], *, multimetric: bool, error_score: Any) -> list[dict[str, Any]]:
    """The trials in scikit-learn's form: one dictionary for each fit, cell by cell.

    Where every split of a cell failed, a scorer that names its scores itself was never called: the names are those of
    another cell.
    """
    names = next((list(trial.scores) for trial in trials if not all(trial.error or (None,))), ["score"])
    found: list[dict[str, Any]] = []
    for trial in trials:
        tests = columns(trial.scores, names, trial, error_score, multimetric)
        trains = columns(trial.train_scores, names, trial, error_score, multimetric) if trial.train_scores else None
        for split, (fit, score) in enumerate(
            zip(trial.fit_seconds.tolist(), trial.score_seconds.tolist(), strict=True)
        ):
            row = {"test_scores": tests[split], "fit_time": fit, "score_time": score}
            if trains is not None:
                row["train_scores"] = trains[split]
            found.append(row)
    return found


def columns(
    scores: Mapping[str, Any], names: list[str], trial: Trial, error_score: Any, multimetric: bool
) -> list[Any]:
    """The scores of a trial by split: a number each, or a dictionary of them by name."""
    lists = [
        scores[name].tolist() if name in scores else [error_score] * len(trial.fit_seconds)
        for name in (names if multimetric else scores)
    ]
    if not multimetric:
        return lists[0]
    return [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]
