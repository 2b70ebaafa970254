"""ValidationSurfaceDisplay: the scores of a search over two parameters, with what is known of every cell.

A search returns one best cell; the picture shows whether it is a peak or part of a plateau, and whether it lies on an
edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.problem import Vector
from mercer.selection.displays.axes import Axis, drawing, legend, pyplot, size_of
from mercer.selection.displays.table import Table, score_label, standard_error

#: What is drawn in a cell by its evidence. Scores that were cut are at most what is known of them: their sign points
#: down.
MARKERS = {"exact": ".", "bounded": "v", "raced": "x", "skipped": "_", "eliminated": "1", "failed": "X"}
#: The size of a star in points: this share of a cell, between these limits. Other marks are smaller by these factors.
STAR, SMALLEST, LARGEST = 0.8, 8.0, 14.0
DIAMOND, RING, POINT, SIGN = 0.68, 0.34, 0.34, 0.36
#: Of at least this share of a grid's places cells are known, or it is drawn as single points.
GRID = 0.5


class ValidationSurfaceDisplay:
    """The mean scores of a search over two of its parameters, such as C and gamma.

    It is made by ``from_search``. Every cell has a mark: a ring where it is within one standard error of the best one,
    a point where it is not, and another sign where its score was not computed in full, in a hatched field. A star is
    the best cell, a diamond the smoothest within one standard error of it.

    Parameters
    ----------
    param_names : (str, str)
        The parameters along x and y.
    x_values, y_values : sequences
        Their values, cell by cell.
    scores : array of shape (cells,)
        The mean scores; nan where there is none.
    standard_errors : array of shape (cells,), optional
        Of the means, over the splits.
    evidence : sequence of str, optional
        How each score is known, as in ``cv_results_["evidence"]``; "exact" if not given.
    best_index, one_standard_error_index : int, optional
        The numbers of the cells with the best score (found if not given) and of the one-standard-error choice.
    score_name : str, optional

    Attributes
    ----------
    surface_ : QuadMesh, or PathCollection where the cells are no grid
    cells_ : dict of str to PathCollection
        The marks, by the evidence of their cells; those within one standard error under "near".
    inexact_ : PolyCollection or None
        The hatched fields.
    best_, one_standard_error_ : PathCollection; the latter or None
    colorbar_ : Colorbar or None
    ax_, figure_ : Axes and Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.selection import GridSearchCV, ValidationSurfaceDisplay
    >>> grid = {"C": [0.1, 1, 10, 100], "gamma": [0.01, 0.1, 1, 10]}
    >>> search = GridSearchCV(SVC(), grid).fit(*load_iris(return_X_y=True))
    >>> display = ValidationSurfaceDisplay.from_search(search)
    >>> display.surface_.get_array().shape, display.ax_.get_xlabel(), display.ax_.get_xscale()
    ((4, 4), 'C', 'log')
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        param_names: tuple[str, str],
        x_values: Any,
        y_values: Any,
        scores: Any,
        standard_errors: Any = None,
        evidence: Any = None,
        best_index: int | None = None,
        one_standard_error_index: int | None = None,
        score_name: str | None = None,
    ) -> None:
        self.param_names = param_names
        self.x_values = x_values
        self.y_values = y_values
        self.scores = scores
        self.standard_errors = standard_errors
        self.evidence = evidence
        self.best_index = best_index
        self.one_standard_error_index = one_standard_error_index
        self.score_name = score_name

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        params: tuple[str, str] | None = None,
        metric: str | None = None,
        score_name: str | None = None,
        ax: Any = None,
        negate_score: bool = False,
        cmap: Any = None,
        colorbar: bool = True,
        surface_kw: Mapping[str, Any] | None = None,
    ) -> ValidationSurfaceDisplay:
        """The picture of a fitted search, of ours or of scikit-learn's.

        ``params`` are the parameters along x and y; if not given, the two with the most values. Where there are others,
        each place shows the best cell over them. ``metric`` is needed where there are several and ``refit`` names none.
        The rest is for ``plot``.
        """
        pyplot(f"{cls.__name__}.from_search")
        table = Table.of_search(search, metric)
        names = table.names(2, params)
        kept, place = table.best_of_others(names)
        values = [[table.params[i][name] for i in kept] for name in names]
        display = cls(
            param_names=(names[0], names[1]),
            x_values=values[0],
            y_values=values[1],
            scores=table.means[kept],
            standard_errors=standard_error(table.test[kept]),
            evidence=table.evidence[kept],
            best_index=place.get(table.best),
            one_standard_error_index=place.get(table.smoothest),
            score_name=score_label(score_name, search, metric, negate_score),
        )
        return display.plot(ax, negate_score=negate_score, cmap=cmap, colorbar=colorbar, surface_kw=surface_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        negate_score: bool = False,
        score_name: str | None = None,
        cmap: Any = None,
        colorbar: bool = True,
        surface_kw: Mapping[str, Any] | None = None,
    ) -> ValidationSurfaceDisplay:
        """Draws the picture, on ``ax`` if it is given.

        ``negate_score`` shows errors that scikit-learn negates as what they are, the smallest in the brightest colour.
        Colours begin at the median, as scores of bad cells would take nearly all of them; ``surface_kw``
        may say otherwise (``dict(vmin=0)``), and goes to ``pcolormesh``, or to ``scatter`` where the cells are no grid.
        """
        ax = drawing(f"{type(self).__name__}.plot", ax)
        x, y = (Axis.of(n, v) for n, v in zip(self.param_names, (self.x_values, self.y_values), strict=True))
        for axis in (x, y):
            if len(axis.values) < 2:
                raise ValueError(f"a surface needs two values or more of each parameter, but {axis.name} has one")
        scores = np.asarray(self.scores, dtype=np.float64)
        known = np.isfinite(scores)
        if not known.any():
            raise ValueError("a surface needs scores, but no cell has one")
        evidence = np.full(len(scores), "exact") if self.evidence is None else np.asarray(self.evidence)
        evidence = np.where((evidence == "exact") & ~known, "failed", evidence).astype(object)
        best = int(np.nanargmax(scores)) if self.best_index is None else self.best_index
        shown = -scores if negate_score else scores
        self._draw_surface(ax, x, y, shown, negate_score, cmap, surface_kw)
        self._hatch(ax, x, y, np.flatnonzero((evidence != "exact") | ~known), known)
        self._mark(ax, x.at, y.at, scores, evidence, best)
        label = self.score_name if score_name is None else score_name
        self.colorbar_ = None
        if colorbar:
            low, high = self.surface_.get_clim()
            below, above = shown[known].min() < low, shown[known].max() > high
            extend = ("neither", "min", "max", "both")[below + 2 * above]
            self.colorbar_ = ax.figure.colorbar(self.surface_, ax=ax, label=label, extend=extend)
        x.dress(ax, "x")
        y.dress(ax, "y")
        self.legend_ = legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_surface(
        self, ax: Any, x: Axis, y: Axis, shown: Vector, negate: bool, cmap: Any, given: Mapping[str, Any] | None
    ) -> None:
        worst = np.inf if negate else -np.inf
        median = float(np.median(np.where(np.isnan(shown), worst, shown)))
        dull = median if np.isfinite(median) and np.nanmin(shown) < np.nanmax(shown) else None
        options = {"cmap": cmap or ("viridis_r" if negate else "viridis"), ("vmax" if negate else "vmin"): dull}
        options |= given or {}
        if not is_grid(x, y):
            self.surface_ = ax.scatter(x.at, y.at, c=shown, **{"s": 150, "zorder": 1, **options})
            return
        field = np.full((len(y.values), len(x.values)), np.nan)
        field[y.index, x.index] = shown
        ax.set_facecolor("0.85")  # where there is no score
        self.surface_ = ax.pcolormesh(x.edges, y.edges, np.ma.masked_invalid(field), **options)

    def _hatch(self, ax: Any, x: Axis, y: Axis, cells: Any, known: Any) -> None:
        """Fields of cells whose scores are not exact, as polygons."""
        from matplotlib.collections import PolyCollection

        self.inexact_ = None
        if len(cells) == 0 or not is_grid(x, y):
            return
        corners = [
            [(x.edges[i + a], y.edges[j + b]) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
            for i, j in zip(x.index[cells], y.index[cells], strict=True)
        ]
        colours = ["none" if k else "0.85" for k in known[cells]]
        self.inexact_ = ax.add_collection(
            PolyCollection(corners, facecolors=colours, edgecolors="0.45", hatch="////", linewidths=0, zorder=1.5)
        )

    def _mark(self, ax: Any, x: Vector, y: Vector, scores: Vector, evidence: Any, best: int) -> None:
        """A mark in every cell, and those of the best and of the smoothest."""
        smoothest = self.one_standard_error_index
        groups = evidence.copy()
        if self.standard_errors is not None:
            near = scores >= scores[best] - np.nan_to_num(np.asarray(self.standard_errors)[best])
            groups[near & (evidence == "exact")] = "near"
        star = star_size(ax, x, y)
        white = {"facecolors": "white", "edgecolors": "black"}
        special = {
            "near": {"marker": "o", "s": (RING * star) ** 2, "linewidths": 0.8, "label": "within one SE", **white},
            "exact": {"marker": ".", "s": (POINT * star) ** 2, "linewidths": 0.4, "label": "exact", **white},
        }
        self.cells_ = {}
        for group in dict.fromkeys(["near", *MARKERS, *groups.tolist()]):
            here = groups == group
            if here.any():
                sign = {"marker": MARKERS.get(group, "d"), "s": (SIGN * star) ** 2, "linewidths": 1.0, "label": group}
                style = special.get(group, {"color": "black", **sign})
                self.cells_[group] = ax.scatter(x[here], y[here], zorder=2, **style)
        bold = {"linewidths": 1.0, "zorder": 3, **white}
        self.one_standard_error_ = None
        if smoothest is not None:
            size = star if smoothest == best else DIAMOND * star  # so that both can be seen
            self.one_standard_error_ = ax.scatter(
                x[[smoothest]], y[[smoothest]], marker="D", s=size**2, label="one-SE choice", **bold
            )
        self.best_ = ax.scatter(x[[best]], y[[best]], marker="*", s=star**2, label="best", **bold)


def star_size(ax: Any, x: Vector, y: Vector) -> float:
    """In points, so that it lies within a cell where cells are large enough to be seen."""
    cell = 72 * size_of(ax) / (len(np.unique(x)), len(np.unique(y)))
    return float(np.clip(STAR * cell.min(), SMALLEST, LARGEST))


def is_grid(x: Axis, y: Axis) -> bool:
    """Whether the cells fill most places of a grid."""
    return len(set(zip(x.index.tolist(), y.index.tolist(), strict=True))) >= GRID * len(x.values) * len(y.values)
