"""PathDisplay: the scores of a search along one parameter, such as the penalty of a ridge regression.

It shows how sharp the best value is, where fits begin to follow the noise, and what one standard error allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils._plotting import _validate_style_kwargs

from mercer.problem import Vector
from mercer.selection.displays.axes import TEST, TRAIN, Axis, drawing, legend, pyplot
from mercer.selection.displays.table import Table, score_label, standard_error, words_of
from mercer.selection.validation import validation_curve


class PathDisplay:
    """The scores of a search along one parameter, with the standard errors of their means.

    It is made by ``from_search`` or ``from_estimator``. A star is the best value, a diamond the one of the smoothest
    machine within one standard error of it; a dotted line is the best mean less one standard error. Values whose scores
    were not computed in full have a cross at the lower edge.

    Parameters
    ----------
    param_name : str
    param_range : sequence
        The values of the parameter.
    test_scores, train_scores : arrays of shape (values, splits); the latter may be None
    evidence : sequence of str, optional
        How the scores of each value are known; "exact" if not given.
    best_index, one_standard_error_index : int, optional
        The numbers of the best value (found if not given) and of the one-standard-error choice.
    score_name : str, optional

    Attributes
    ----------
    lines_ : list of Line2D
        The means: of the training samples, if they are shown, and of the held-out ones.
    fill_between_ : list of PolyCollection
        One standard error to either side.
    best_, one_standard_error_ : Line2D; the latter or None
    threshold_ : Line2D
    inexact_ : Line2D or None
    ax_, figure_ : Axes and Figure

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import KernelRidge
    >>> from mercer.selection import PathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas = np.logspace(-4, 3, 8)
    >>> machine = KernelRidge(kernel="rbf", gamma=30.0)
    >>> display = PathDisplay.from_estimator(machine, X, y, param_name="alpha", param_range=alphas)
    >>> [len(line.get_xdata()) for line in display.lines_], display.ax_.get_xscale()
    ([8, 8], 'log')
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        param_name: str,
        param_range: Any,
        test_scores: Any,
        train_scores: Any = None,
        evidence: Any = None,
        best_index: int | None = None,
        one_standard_error_index: int | None = None,
        score_name: str | None = None,
    ) -> None:
        self.param_name = param_name
        self.param_range = param_range
        self.test_scores = test_scores
        self.train_scores = train_scores
        self.evidence = evidence
        self.best_index = best_index
        self.one_standard_error_index = one_standard_error_index
        self.score_name = score_name

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        param: str | None = None,
        metric: str | None = None,
        ax: Any = None,
        negate_score: bool = False,
        score_name: str | None = None,
        score_type: str | None = None,
        line_kw: Mapping[str, Any] | None = None,
        fill_between_kw: Mapping[str, Any] | None = None,
    ) -> PathDisplay:
        """The picture of a fitted search, of ours or of scikit-learn's.

        ``param`` is the parameter along x; if not given, the one with the most values. Where there are others, each
        value shows the best cell over them. ``metric`` is needed where there are several and ``refit`` names none. The
        rest is for ``plot``.
        """
        pyplot(f"{cls.__name__}.from_search")
        table = Table.of_search(search, metric)
        name = score_label(score_name, search, metric, negate_score)
        display = cls._of_table(table, table.names(1, None if param is None else [param])[0], name)
        return display.plot(
            ax, negate_score=negate_score, score_type=score_type, line_kw=line_kw, fill_between_kw=fill_between_kw
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        param_name: str,
        param_range: Any,
        groups: Any = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        pre_dispatch: Any = "all",
        verbose: Any = 0,
        error_score: Any = np.nan,
        fit_params: dict[str, Any] | None = None,
        ax: Any = None,
        negate_score: bool = False,
        score_name: str | None = None,
        score_type: str | None = None,
        line_kw: Mapping[str, Any] | None = None,
        fill_between_kw: Mapping[str, Any] | None = None,
    ) -> PathDisplay:
        """The picture of ``validation_curve``, which takes all but the last six arguments."""
        pyplot(f"{cls.__name__}.from_estimator")
        train, test = validation_curve(
            estimator,
            X,
            y,
            param_name=param_name,
            param_range=param_range,
            groups=groups,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            pre_dispatch=pre_dispatch,
            verbose=verbose,
            error_score=error_score,
            params=fit_params,
        )
        results: dict[str, Any] = {"params": [{param_name: value} for value in param_range]}
        for kind, scores in (("train", train), ("test", test)):
            results |= {f"split{i}_{kind}_score": column for i, column in enumerate(scores.T)}
            results[f"mean_{kind}_score"] = scores.mean(axis=1)
        name = words_of(score_name, scoring, negate_score)
        display = cls._of_table(Table.of_results(results, "score"), param_name, name)
        return display.plot(
            ax, negate_score=negate_score, score_type=score_type, line_kw=line_kw, fill_between_kw=fill_between_kw
        )

    @classmethod
    def _of_table(cls, table: Table, name: str, score_name: str) -> PathDisplay:
        kept, place = table.best_of_others([name])
        return cls(
            param_name=name,
            param_range=[table.params[i][name] for i in kept],
            test_scores=table.test[kept],
            train_scores=None if table.train is None else table.train[kept],
            evidence=table.evidence[kept],
            best_index=place.get(table.best),
            one_standard_error_index=place.get(table.smoothest),
            score_name=score_name,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        negate_score: bool = False,
        score_name: str | None = None,
        score_type: str | None = None,
        line_kw: Mapping[str, Any] | None = None,
        fill_between_kw: Mapping[str, Any] | None = None,
    ) -> PathDisplay:
        """Draws the picture, on ``ax`` if it is given.

        ``score_type`` is "test", "train" or "both", which is the default where both are known. ``negate_score`` shows
        errors that scikit-learn negates as what they are, so that the best is the smallest.
        """
        kinds = ("both", "test", "train") if self.train_scores is not None else ("test",)
        score_type = kinds[0] if score_type is None else score_type
        if score_type not in kinds:
            why = "" if self.train_scores is not None else ", as there are no train_scores"
            raise ValueError(f"score_type must be one of {', '.join(map(repr, kinds))}{why}; got {score_type!r}")
        ax = drawing(f"{type(self).__name__}.plot", ax)
        axis = Axis.of(self.param_name, self.param_range)
        order = np.argsort(axis.at, kind="stable")
        x, sign = axis.at[order], -1 if negate_score else 1
        styles = {"train": {"label": "Train", **TRAIN}, "test": {"label": "Test", **TEST}}
        self.lines_, self.fill_between_ = [], []
        for kind in ("train", "test") if score_type == "both" else (score_type,):
            scores = np.asarray(getattr(self, f"{kind}_scores"), dtype=np.float64)[order]
            mean, error = sign * scores.mean(axis=1), standard_error(scores)
            self.lines_ += ax.plot(x, mean, **_validate_style_kwargs(styles[kind], line_kw or {}))
            band = {"color": self.lines_[-1].get_color(), "alpha": 0.25, "linewidth": 0}
            band = _validate_style_kwargs(band, fill_between_kw or {})
            self.fill_between_.append(ax.fill_between(x, mean - error, mean + error, **band))
        self._mark(ax, axis.at, sign, "train" if score_type == "train" else "test")
        ax.set_ylabel(self.score_name if score_name is None else score_name)
        axis.dress(ax, "x")
        self.legend_ = legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any, x: Vector, sign: int, kind: str) -> None:
        """The best value, the one-standard-error choice on the same curve, and values whose scores are not exact."""
        test = np.asarray(self.test_scores, dtype=np.float64)
        means = test.mean(axis=1)
        best = int(np.nanargmax(means)) if self.best_index is None else self.best_index
        shown = sign * np.asarray(getattr(self, f"{kind}_scores"), dtype=np.float64).mean(axis=1)
        style = {"ls": "none", "mfc": "white", "mec": "black", "zorder": 3}
        self.one_standard_error_ = None
        smoothest = self.one_standard_error_index
        if smoothest is not None:
            (self.one_standard_error_,) = ax.plot(
                x[smoothest],
                shown[smoothest],
                marker="D",
                ms=12 if smoothest == best else 8,
                label="one-SE choice",
                **style,
            )
        (self.best_,) = ax.plot(x[best], shown[best], marker="*", ms=12, label="best", **style)
        limit = sign * (means[best] - standard_error(test)[best])
        self.threshold_ = ax.axhline(limit, color="0.4", ls=":", lw=1, label="best - SE")
        evidence = np.full(len(x), "exact") if self.evidence is None else np.asarray(self.evidence)
        inexact = (evidence != "exact") | np.isnan(means)
        self.inexact_ = None
        if inexact.any():
            (self.inexact_,) = ax.plot(
                x[inexact], np.zeros(inexact.sum()), "x", color="black", transform=ax.get_xaxis_transform(),
                clip_on=False, label="not exact",
            )  # fmt: skip
