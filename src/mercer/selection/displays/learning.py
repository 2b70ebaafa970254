"""LearningCurveDisplay: scikit-learn's, with the scores of our ``learning_curve`` and the lines of our pictures.

Only where the numbers come from differs, so drawing is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import model_selection

from mercer.selection.displays.axes import TEST, TRAIN, drawing, pyplot
from mercer.selection.displays.table import words_of
from mercer.selection.validation import learning_curve


class LearningCurveDisplay(model_selection.LearningCurveDisplay):  # type: ignore[misc]
    """scikit-learn's ``LearningCurveDisplay``, whose scores are those of our ``learning_curve``.

    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LearningCurveDisplay.from_estimator(SVC(), X, y, shuffle=True, random_state=0)
    >>> display.lines_[1].get_xdata().tolist()
    [12, 39, 66, 93, 120]
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    def plot(self, ax: Any = None, *, score_type: str = "both", **options: Any) -> LearningCurveDisplay:
        """Draws the picture as scikit-learn does, with its other options; lines differ in dashes and markers, too."""
        ax = drawing(f"{type(self).__name__}.plot", ax)
        first = TEST if score_type == "test" else TRAIN
        ax.set_prop_cycle(**{name: [first[name], TEST[name]] for name in TEST})
        super().plot(ax, score_type=score_type, **options)
        ax.set_xlabel("Training samples")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        train_sizes: Any = np.linspace(0.1, 1.0, 5),  # noqa: B008 - as in scikit-learn
        cv: Any = None,
        scoring: Any = None,
        exploit_incremental_learning: bool = False,
        n_jobs: int | None = None,
        pre_dispatch: Any = "all",
        verbose: Any = 0,
        shuffle: bool = False,
        random_state: Any = None,
        error_score: Any = np.nan,
        fit_params: dict[str, Any] | None = None,
        ax: Any = None,
        negate_score: bool = False,
        score_name: str | None = None,
        score_type: str = "both",
        std_display_style: str | None = "fill_between",
        line_kw: Mapping[str, Any] | None = None,
        fill_between_kw: Mapping[str, Any] | None = None,
        errorbar_kw: Mapping[str, Any] | None = None,
    ) -> LearningCurveDisplay:
        """The picture of ``learning_curve``, which takes all but the last eight arguments."""
        pyplot(f"{cls.__name__}.from_estimator")
        sizes, train, test = learning_curve(
            estimator,
            X,
            y,
            groups=groups,
            train_sizes=train_sizes,
            cv=cv,
            scoring=scoring,
            exploit_incremental_learning=exploit_incremental_learning,
            n_jobs=n_jobs,
            pre_dispatch=pre_dispatch,
            verbose=verbose,
            shuffle=shuffle,
            random_state=random_state,
            error_score=error_score,
            params=fit_params,
        )
        display = cls(
            train_sizes=sizes,
            train_scores=train,
            test_scores=test,
            score_name=words_of(score_name, scoring, negate_score),
        )
        return display.plot(
            ax=ax,
            negate_score=negate_score,
            score_type=score_type,
            std_display_style=std_display_style,
            line_kw=line_kw,
            fill_between_kw=fill_between_kw,
            errorbar_kw=errorbar_kw,
        )
