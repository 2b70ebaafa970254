"""margins: how far every example lies on its side of the hyperplane, and by how much it falls short.

It is the picture behind a support vector machine in numbers: which examples the hyperplane rests on, which it gave up,
and how wide the street between the classes is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from mercer.inspection.contests import Contest, columns, contests_of
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.shown import Shown

#: How many of the hardest examples the summary names.
NAMED = 5
#: How many hyperplanes the summary describes; a machine of many classes has hundreds.
LINES = 12
#: Slack that the summary counts; less is left to examples on the margin by machines of the usual tolerance.
NOTICED = 2e-3


@dataclass(frozen=True, eq=False)
class Margins(Shown):
    """What ``margins`` found; ``print`` it. With several hyperplanes, arrays have one column for each.

    Samples of neither of a hyperplane's two classes have NaN in its column.

    >>> from mercer import SVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> seen = margins(SVC(C=10, kernel="linear", tol=1e-9).fit(X, y), [[0.5]], [0])  # on the wrong side
    >>> seen.functional.round(3), seen.slack.round(3)
    (array([-0.5]), array([1.5]))
    """

    machine: str
    #: The two sides of every hyperplane.
    contests: tuple[Contest, ...]
    #: y_i f(x_i): at least 1 outside the margin, below 0 on the wrong side.
    functional: Vector = field(repr=False)
    #: y_i f(x_i) / |w|: the distance to the hyperplane in the kernel's space, negative on the wrong side.
    geometric: Vector = field(repr=False)
    #: max(0, 1 - y_i f(x_i)).
    slack: Vector = field(repr=False)
    #: |w|, the width 2 / |w| of the street, and the smallest geometric margin among these samples.
    norm: Vector
    width: Vector
    margin: Vector
    #: Rows of the training set (of the expansion, if the machine does not say which rows it kept), and how hard each
    #: was for every hyperplane: |a_i|. LinearSVC keeps no coefficients: then rows of X, by slack; with the squared
    #: hinge a_i = 2 C slack, so the order is the same.
    support: Array = field(repr=False)
    difficulty: Vector = field(repr=False)

    def hardest(self, count: int = NAMED, contest: int = 0) -> Array:
        """The rows with the largest coefficients of a hyperplane, the hardest first."""
        hard = columns(self.difficulty)[:, contest]
        if 0 < count < len(hard):  # of many, only those that are as hard as the last of these need an order
            hard = np.where(hard >= np.partition(hard, -count)[-count], hard, 0.0)
        some = np.flatnonzero(hard)
        order = some[np.argsort(-hard[some], kind="stable")][:count]
        return self.support[order[hard[order] > 0]]

    def __str__(self) -> str:
        """The machine, then two lines for every hyperplane."""
        functional, slack = columns(self.functional), columns(self.slack)
        norms, widths, margins_ = (np.atleast_1d(v) for v in (self.norm, self.width, self.margin))
        lines = [f"{self.machine} on {len(functional)} samples: {len(self.contests)} hyperplane(s)"]
        for c, contest in enumerate(self.contests[:LINES]):
            wrong, short, total = (functional[:, c] < 0).sum(), (slack[:, c] > NOTICED).sum(), np.nansum(slack[:, c])
            lines.append(
                f"  {contest}: |w| {norms[c]:.4g}, width 2/|w| {widths[c]:.4g}, smallest geometric margin "
                f"{margins_[c]:.4g}; {wrong} on the wrong side, {short} short of the margin, by {total:.4g} in all"
            )
            lines.append(f"    hardest rows: {', '.join(map(str, self.hardest(contest=c))) or 'none'}")
        if len(self.contests) > LINES:
            lines.append(f"  ... and {len(self.contests) - LINES} more")
        return "\n".join(lines)


def margins(model: Any, X: Any, y: Any) -> Margins:
    """The margins of the examples X with labels y under a fitted classifier.

    With f(x) = <w, phi(x)> + b and labels y = -1, 1, the functional margin of an example is y f(x), its geometric
    margin y f(x) / |w|, its slack max(0, 1 - y f(x)). |w| = sqrt(a'Ka). A machine of more than two classes has one
    hyperplane per pair of classes, or per class against the rest. Of ``LinearSVC``, whose intercept is a weight like
    others while it is trained, |w| is that of the features alone: the distance in the plane of the data.

    References
    ----------
    Cristianini, Shawe-Taylor, "An Introduction to Support Vector Machines", 2000, chapter 2.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> seen = margins(SVC(C=10, kernel="linear", tol=1e-9).fit(X, y), X, y)
    >>> seen.functional.round(3), float(seen.width.round(3)), seen.hardest()
    (array([2., 1., 1., 3.]), 2.0, array([1, 2], dtype=int32))
    >>> print(seen)
    SVC on 4 samples: 1 hyperplane(s)
      1 against 0: |w| 1, width 2/|w| 2, smallest geometric margin 1; 0 on the wrong side, 0 short of the margin, ...
        hardest rows: 1, 2
    """
    contests = contests_of(model)
    labels = np.asarray(column_or_1d(in_memory(y, "y")))
    known = np.isin(labels, model.classes_)
    if not known.all():
        raise ValueError(
            f"y holds {labels[~known].tolist()[0]!r}, which is none of the model's classes {model.classes_}"
        )
    values, norm = _values(model, X)
    if len(values) != len(labels):
        raise ValueError(f"X has {len(values)} samples but y has {len(labels)} labels")
    if values.shape[1] != len(contests):
        raise TypeError(f"{type(model).__name__} has {values.shape[1]} functions for {len(contests)} hyperplanes")
    signs = np.stack([contest.signs(labels) for contest in contests], axis=1)
    functional = np.where(signs == 0, np.nan, signs * values)
    slack = np.maximum(0.0, 1.0 - functional)
    with np.errstate(divide="ignore", invalid="ignore"):  # the zero function has no hyperplane
        geometric, width = functional / norm, 2.0 / norm
    support, difficulty = _difficulty(model, slack)
    nearest = np.array([np.min(c[~np.isnan(c)], initial=np.inf) for c in geometric.T])
    narrow = (functional, geometric, slack, norm, width, nearest)
    if len(contests) == 1:
        narrow = tuple(v[..., 0] for v in narrow)  # type: ignore[assignment]
    return Margins(type(model).__name__, contests, *narrow, support, difficulty)


def _values(model: Any, X: Any) -> tuple[Vector, Vector]:
    """f at X and |w|, a column for every hyperplane."""
    if not hasattr(model, "expansion_"):
        raise TypeError(f"{type(model).__name__} has no expansion_, so it has no hyperplane to measure")
    f = model.expansion_
    of = getattr(model, "_values", f)  # support vector machines have a door of their own, for a user's function
    return columns(of(X)), np.atleast_1d(f.norm())


def _difficulty(model: Any, slack: Vector) -> tuple[Array, Vector]:
    """The rows that carry the solution, and how much of it each carries."""
    if not hasattr(model, "support_"):  # no coefficient belongs to a sample
        return np.arange(len(slack)), np.nan_to_num(slack)
    a = np.abs(columns(model.expansion_.coefficients))
    return model.support_, a[: len(model.support_)]
