"""``cv_results_`` as pictures read it: of one metric, with the cells that count and how each is known.

Searches of ours and of scikit-learn's come to the same table, so that displays do not know which one they draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._plotting import _validate_score_name
from sklearn.utils.validation import check_is_fitted

from mercer.problem import Vector
from mercer.selection.displays.axes import Axis
from mercer.selection.rules import one_standard_error


@dataclass(frozen=True)
class Table:
    """The cells of a search and their scores by one metric."""

    params: list[Mapping[str, Any]]
    #: By cell and split; scores of the training samples where the search has them.
    test: Vector
    train: Vector | None
    means: Vector
    evidence: Any
    #: The number of the best cell, and of the smoothest within one standard error of it.
    best: int
    smoothest: int

    @classmethod
    def of_search(cls, search: Any, metric: str | None) -> Table:
        """Of a search that was fitted, or interrupted; ``metric`` as the user gave it."""
        check_is_fitted(search, "cv_results_")
        return cls.of_results(search.cv_results_, metric or metric_of(search))

    @classmethod
    def of_results(cls, results: Mapping[str, Any], metric: str) -> Table:
        means = np.asarray(results[f"mean_test_{metric}"], dtype=np.float64)
        evidence = np.asarray(results.get("evidence", ["exact"] * len(means))).astype(object)
        rounds = np.asarray(results.get("iter", np.zeros(len(means))))
        evidence[rounds < rounds.max()] = "eliminated"  # a halving search compares cells on equal samples in one round
        last = np.flatnonzero(rounds == rounds.max())
        if np.isnan(means[last]).all():
            raise ValueError(f"no cell of this search has a mean score ({metric!r}), so there is nothing to draw")
        counted = {
            name: [column[i] for i in last] for name, column in results.items() if name == "params" or "_test_" in name
        }
        return cls(
            params=list(results["params"]),
            test=by_split(results, f"test_{metric}"),
            train=by_split(results, f"train_{metric}") if f"mean_train_{metric}" in results else None,
            means=means,
            evidence=evidence,
            best=int(last[np.nanargmax(means[last])]),
            smoothest=int(last[one_standard_error(counted, metric=metric)]),
        )

    def names(self, count: int, given: Sequence[str] | None) -> list[str]:
        """The parameters to draw: those given, or of those with several values the ones that have the most."""
        known = {name: None for params in self.params for name in params}
        if given is not None:
            wrong = [name for name in given if name not in known]
            if wrong or len(given) != count or len(set(given)) < count:
                raise ValueError(
                    f"this picture needs the names of {count} parameter{'s' * (count > 1)} of the search, "
                    f"which are {', '.join(map(repr, known))}; but was given {given!r}"
                )
            return list(given)
        values = {name: len(Axis.of(name, [p[name] for p in self.params if name in p]).values) for name in known}
        varied = sorted((name for name in known if values[name] > 1), key=lambda name: (-values[name], name))
        if len(varied) < count:
            instead = "PathDisplay draws a single one" if count == 2 else "there is nothing to draw"
            raise ValueError(
                f"this picture needs a search over {count} parameter{'s' * (count > 1)}, but "
                f"{', '.join(map(repr, varied)) or 'none'} took several values; {instead}"
            )
        return sorted(varied[:count])

    def best_of_others(self, names: Sequence[str]) -> tuple[list[int], dict[int, int]]:
        """The numbers of the cells to draw, the best of those with the same values of these parameters.

        With them, of every cell that has these parameters, which of the drawn ones stands at its place.
        """
        cells = [i for i, params in enumerate(self.params) if all(name in params for name in names)]
        axes = [Axis.of(name, [self.params[i][name] for i in cells]) for name in names]
        places: dict[tuple[int, ...], list[int]] = {}
        for number, place in zip(cells, zip(*(axis.index.tolist() for axis in axes), strict=True), strict=True):
            places.setdefault(place, []).append(number)
        kept = [max(group, key=self._rank) for group in places.values()]
        return kept, {number: drawn for drawn, group in enumerate(places.values()) for number in group}

    def _rank(self, cell: int) -> tuple[bool, bool, float]:
        """By which the better of two cells is drawn: any score that counts before one on fewer samples, or none."""
        known = bool(np.isfinite(self.means[cell]))
        return self.evidence[cell] != "eliminated", known, float(self.means[cell]) if known else 0.0


def by_split(results: Mapping[str, Any], name: str) -> Vector:
    """The scores of all splits: a row for each cell."""
    columns: list[Any] = []
    while f"split{len(columns)}_{name}" in results:
        columns.append(results[f"split{len(columns)}_{name}"])
    return np.asarray(columns, dtype=np.float64).T


def standard_error(scores: Vector) -> Vector:
    """Of the mean over the splits, row by row; 0 of a single split, which tells nothing of it."""
    splits = scores.shape[1]
    if splits < 2:
        return np.zeros(len(scores))
    return np.asarray(np.std(scores, axis=1, ddof=1) / np.sqrt(splits))


def metric_of(search: Any) -> str:
    """The metric that a search chooses by."""
    refit = getattr(search, "refit", None)
    if isinstance(refit, str) and f"mean_test_{refit}" in search.cv_results_:
        return refit
    names: list[str] = [name.removeprefix("mean_test_") for name in search.cv_results_ if name.startswith("mean_test_")]
    if len(names) == 1:
        return names[0]
    raise ValueError(
        f"the search has the metrics {', '.join(map(repr, names))}; say which one, as in metric={names[0]!r}"
    )


def score_label(given: str | None, search: Any, metric: str | None, negate: bool) -> str:
    """The words for the score of a search."""
    metric = metric or metric_of(search)
    return words_of(given, getattr(search, "scoring", None) if metric == "score" else metric, negate)


def words_of(given: str | None, scoring: Any, negate: bool) -> str:
    """The words for a score, as scikit-learn's displays have them; scorers that are objects have none of their own."""
    named = scoring if isinstance(scoring, str) or hasattr(scoring, "__name__") else None
    words: str = _validate_score_name(given, named, negate)
    return words
