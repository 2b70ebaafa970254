"""What all pictures share: matplotlib when it is needed, axes to draw on, and a parameter as one of them.

So that the same parameter looks the same in every picture, and one without matplotlib learns what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from mercer.problem import Vector
from mercer.selection.rules import alike

#: Positive numbers are shown by their logarithms where the largest is at least so many times the smallest.
DECADE = 10
#: Inches from which axes are wide.
WIDE = 4.0
#: Blue and vermilion of Okabe and Ito, which everybody tells apart; in print, lines and markers do.
TRAIN = {"color": "#D55E00", "linestyle": "--", "marker": "s", "markersize": 4}
TEST = {"color": "#0072B2", "linestyle": "-", "marker": "o", "markersize": 4}


def pyplot(caller: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install 'mercer[plots]'") from error
    return plt


def drawing(caller: str, ax: Any) -> Any:
    """The axes to draw on: those given, or new ones in a figure that leaves room for legend and colours."""
    plt = pyplot(caller)
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def legend(ax: Any) -> Any:
    """Above the axes, where it hides nothing; in two columns, or three where there is room for them."""
    columns = 3 if size_of(ax)[0] > WIDE else 2
    spacing = {"columnspacing": 1.2, "handletextpad": 0.4, "borderaxespad": 0.2, "handlelength": 1.6}
    return ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns, frameon=False, fontsize="small", **spacing
    )


def size_of(ax: Any) -> Vector:
    """Width and height of the axes in inches, as far as they are known before they are laid out."""
    box = ax.get_position()
    return np.asarray(ax.figure.get_size_inches() * np.array([box.width, box.height]))


@dataclass(frozen=True)
class Axis:
    """A parameter along an axis: numbers where they are, other values side by side, as are numbers with zero."""

    name: str
    #: The distinct values in the order of the axis, and of every cell the number of its own.
    values: list[Any]
    index: Any
    #: "log", "linear", or "names" where values stand side by side.
    scale: str

    @classmethod
    def of(cls, name: str, given: Sequence[Any]) -> Axis:
        values = [float(value) if is_number(value) else value for value in given]
        distinct: list[Any] = []
        index = np.empty(len(values), dtype=np.int64)
        for cell, value in enumerate(values):
            place = next((i for i, other in enumerate(distinct) if alike(value, other)), len(distinct))
            if place == len(distinct):
                distinct.append(value)
            index[cell] = place
        if not all(isinstance(value, float) for value in distinct):
            return cls(name, distinct, index, "names")
        order = np.argsort(distinct, kind="stable")
        ranks = np.argsort(order)
        ordered = [distinct[i] for i in order]
        wide = len(ordered) > 1 and ordered[-1] >= DECADE * abs(ordered[0])
        scale = "linear" if not wide else "log" if ordered[0] > 0 else "names"
        return cls(name, ordered, ranks[index], scale)

    @property
    def places(self) -> Vector:
        """Where the values are."""
        return np.arange(len(self.values), dtype=np.float64) if self.scale == "names" else np.array(self.values)

    @property
    def at(self) -> Vector:
        """Where the cells are."""
        return np.asarray(self.places[self.index])

    @property
    def edges(self) -> Vector:
        """Between which the fields of the values lie: in the middle, and as far beyond the ends."""
        places = np.log(self.places) if self.scale == "log" else self.places
        if len(places) == 1:
            places = np.array([places[0] - 0.5, places[0] + 0.5])
        else:
            middle = (places[1:] + places[:-1]) / 2
            places = np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])
        return np.exp(places) if self.scale == "log" else places

    def dress(self, ax: Any, which: str) -> None:
        """Gives the x or y axis of a picture its scale, ticks and label."""
        if self.scale == "log":
            ax.set(**{f"{which}scale": "log"})
        elif self.scale == "names":
            texts = [f"{v:g}" if isinstance(v, float) else shorten(str(v), 24, placeholder="...") for v in self.values]
            getattr(ax, f"set_{which}ticks")(self.places, texts)
            if which == "x" and sum(map(len, texts)) > 40:
                for label in ax.get_xticklabels():
                    label.set(rotation=30, ha="right", rotation_mode="anchor")
        ax.set(**{f"{which}label": self.name})


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
