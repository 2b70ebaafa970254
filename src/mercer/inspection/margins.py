"""margins: how far every example lies on its side of the hyperplane, and by how much it falls short.

It is the picture behind a support vector machine in numbers: which examples the hyperplane rests on, which it gave up,
and how wide the street between the classes is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from mercer.inspection.contests import Contest, columns, contests_of, witness_against
from mercer.problem import Vector
from mercer.samples import Similarities
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.shown import Shown
from mercer.solvers.certificate import Witness

#: How many of the hardest examples the summary names.
NAMED = 5
#: How many hyperplanes the summary describes; a machine of many classes has hundreds.
LINES = 12
#: Slack that the summary counts; less is left to examples on the margin by machines of the usual tolerance.
NOTICED = 2e-3
#: Decimal places of slack by which equal coefficients are ranked; what differs beyond is rounding.
PLACES = 9


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
    #: y_i f(x_i) / |w|: the distance to the hyperplane in the kernel's space, negative on the wrong side. NaN where
    #: there is no hyperplane (w = 0), and no distance (a'Ka < 0).
    geometric: Vector = field(repr=False)
    #: max(0, 1 - y_i f(x_i)).
    slack: Vector = field(repr=False)
    #: |w|, the width 2 / |w| of the street, and the smallest geometric margin among these samples; NaN where there is
    #: none.
    norm: Vector
    width: Vector
    margin: Vector
    #: Rows of the training set, how hard each was for every hyperplane, |a_i|, and by how much it falls short of the
    #: margin. Of machines that do not say which rows they kept: rows of X, by slack. LinearSVC is such a machine; with
    #: the squared hinge a_i = 2 C slack, so the order is the same.
    support: Array = field(repr=False)
    difficulty: Vector = field(repr=False)
    shortfall: Vector = field(repr=False)
    #: What shows that the kernel is not positive semi-definite, if anything has come up: then |w| is no length.
    witness: Witness | None = None

    def hardest(self, count: int = NAMED, contest: int = 0) -> Array:
        """The rows with the largest coefficients of a hyperplane, the hardest first.

        Of equal coefficients, as all are that lie at C, the larger slack comes first, then the smaller row. A
        coefficient is the price that is paid for a row, so sample and class weights count.
        """
        hard, short = (columns(v)[:, contest] for v in (self.difficulty, self.shortfall))
        order = np.lexsort((self.support, -short.round(PLACES), -hard))[:count]
        return self.support[order[hard[order] > 0]]

    def __str__(self) -> str:
        """The machine, then two lines for every hyperplane."""
        functional, slack = columns(self.functional), columns(self.slack)
        lines = [f"{self.machine} on {len(functional)} samples: {len(self.contests)} hyperplane(s)"]
        for c, contest in enumerate(self.contests[:LINES]):
            wrong, short, total = (functional[:, c] < 0).sum(), (slack[:, c] > NOTICED).sum(), np.nansum(slack[:, c])
            lines.append(
                f"  {contest}: {self._geometry(c)}; {wrong} on the wrong side, {short} short of the margin, "
                f"by {total:.4g} in all"
            )
            lines.append(f"    hardest rows: {', '.join(map(str, self.hardest(contest=c))) or 'none'}")
        if len(self.contests) > LINES:
            lines.append(f"  ... and {len(self.contests) - LINES} more")
        if self.witness is not None:
            lines.append(
                f"  the kernel is not positive semi-definite: {self.witness}, so |w| is no length in any space"
            )
        return "\n".join(lines)

    def _geometry(self, c: int) -> str:
        """Lengths in the kernel's space, or why there are none."""
        norm, width, margin = (np.atleast_1d(v)[c] for v in (self.norm, self.width, self.margin))
        if np.isnan(norm):
            return "a'Ka < 0, so there is no |w|, no width and no distance"
        if norm == 0:
            return "w = 0, so there is no hyperplane"
        nearest = "no sample of its classes" if np.isnan(margin) else f"smallest geometric margin {margin:.4g}"
        return f"|w| {norm:.4g}, width 2/|w| {width:.4g}, {nearest}"


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
    length = np.where(norm > 0, norm, np.nan)  # the zero function has no hyperplane
    geometric, width = functional / length, 2.0 / length
    nearest = np.array([c[~np.isnan(c)].min() if not np.isnan(c).all() else np.nan for c in geometric.T])
    narrow = (functional, geometric, slack, norm, width, nearest)
    if len(contests) == 1:
        narrow = tuple(v[..., 0] for v in narrow)  # type: ignore[assignment]
    return Margins(type(model).__name__, contests, *narrow, *_difficulty(model, X, slack), witness_against(model))


def _values(model: Any, X: Any) -> tuple[Vector, Vector]:
    """f at X and |w|, a column for every hyperplane."""
    if not hasattr(model, "expansion_"):
        raise TypeError(f"{type(model).__name__} has no expansion_, so it has no hyperplane to measure")
    f = model.expansion_
    door = getattr(model, "_values", None)  # support vector machines have one of their own, for a user's function
    return columns(f(X) if door is None else door(model._fit, X)), np.atleast_1d(f.norm())


def _difficulty(model: Any, X: Any, slack: Vector) -> tuple[Array, Vector, Vector]:
    """The rows that carry the solution, how much of it each carries, and by how much each falls short of the margin."""
    if not hasattr(model, "support_"):  # no coefficient belongs to a sample
        short = np.nan_to_num(slack)
        return np.arange(len(slack)), short, short
    a = columns(model.expansion_.coefficients)[: len(model.support_)]
    values = _values_of_support(model, X, a.shape)
    return model.support_, np.abs(a), np.maximum(0.0, 1.0 - np.sign(a) * values)


def _values_of_support(model: Any, X: Any, shape: tuple[int, ...]) -> Vector:
    """f at the rows that the model kept.

    Of a given matrix with many of them it takes the matrix of the fit, and X is that if it has its size and is
    symmetric; else these count as 0.
    """
    f = model.expansion_
    samples = f.samples.take(np.arange(shape[0]))
    if isinstance(samples, Similarities) and not samples.acquainted:
        function = getattr(model._fit, "function", None)  # by a user's function, which computes the matrix again
        others = model._new_samples(X if function is None else function.data)
        if len(others) != model.shape_fit_[0] or others.new or not others.symmetric:
            return np.zeros(shape)
        samples = others.take(np.asarray(model.support_))
    return columns(f(samples)) if len(samples) else np.zeros(shape)
