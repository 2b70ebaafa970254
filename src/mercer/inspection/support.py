"""support_report: what a machine keeps of its training set, and how much of that it needs.

A support vector machine is a few examples with coefficients; the report says which, how many lie on the margin and how
many beyond it, how few would do, which samples are most like the points that the hyperplane holds apart, and what
leaving one out could change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.inspection.contests import columns, contests_of, witness_against
from mercer.inspection.essential import Flags, essential
from mercer.inspection.influence import reach, ridge_influence
from mercer.problem import Vector
from mercer.samples import Samples, Similarities
from mercer.samples.base import Array
from mercer.shown import Shown
from mercer.solvers.certificate import Witness

#: How close to its bound, relatively, a coefficient counts as there.
AT_BOUND = 1e-6
#: How many problems the table shows.
LINES = 20


@dataclass(frozen=True, eq=False)
class Support:
    """The support vectors of one problem; rows are those of the training set.

    >>> from mercer import SVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> (one,) = support_report(SVC(C=10, kernel="linear", tol=1e-9).fit(X, y), X).problems
    >>> one.name, one.rows, one.free, one.at_bound
    ('1 against 0', array([1, 2]...), 2, 0)
    """

    name: str
    #: Rows with a coefficient other than zero, and how many of them are free and how many at their bound.
    rows: Array = field(repr=False)
    free: int
    at_bound: int
    #: Rows that alone give the same w; None where too many are free to tell, where w is not the optimum of a problem
    #: of their own, or where there is no w. See ``mercer.inspection.essential``.
    essential: Array | None = field(repr=False)
    #: |w - w'| / |w| with w' the solution of the problem posed on the essential rows alone.
    refit_error: float | None
    #: The samples whose images lie nearest to the mean of those with positive and of those with negative coefficients,
    #: weighted by them: for classes, the nearest points of their (reduced) convex hulls. Distances are in the kernel's
    #: space; where it has none, both are empty.
    preimages: tuple[int, ...]
    distances: tuple[float, ...]
    #: One per row, what leaving it out can change (``mercer.inspection.influence``); None where no bound is known.
    influence: Vector | None = field(repr=False)
    #: How many samples may be misclassified if each is left out in turn, at most.
    left_out_errors: int | None

    @property
    def left_out(self) -> str:
        """What leaving one sample out can do, in a word: the most errors, else the largest change of f, if known."""
        if self.left_out_errors is not None:
            return f"<= {self.left_out_errors}"
        return "" if self.influence is None or not len(self.influence) else f"{np.abs(self.influence).max():.2g}"


@dataclass(frozen=True, eq=False)
class SupportReport(Shown):
    """What ``support_report`` found; ``print`` it.

    >>> from mercer import SVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> report = support_report(SVC(C=10, kernel="linear", tol=1e-9).fit(X, y), X)
    >>> len(report.rows), report.samples, report.per_class
    (2, 4, {0: 1, 1: 1})
    """

    machine: str
    #: Size of the training set, rows that some problem keeps, and how many of these each class has.
    samples: int
    rows: Array = field(repr=False)
    per_class: dict[Any, int]
    problems: tuple[Support, ...]
    #: What shows that the kernel is not positive semi-definite, if anything has come up: then there is no space in
    #: which rows could be essential, near or far.
    witness: Witness | None = None

    @property
    def essential(self) -> Array | None:
        """Rows that are essential to some problem; None where that of a problem is not known."""
        parts = [problem.essential for problem in self.problems]
        return None if any(part is None for part in parts) else np.unique(np.concatenate(parts))  # type: ignore[arg-type]

    def __str__(self) -> str:
        """A line for the machine, then a table with a line for each problem."""
        classes = ", ".join(f"{label}: {count}" for label, count in self.per_class.items())
        number = "unknown" if self.essential is None else str(len(self.essential))
        head = f"{self.machine} keeps {len(self.rows)} of {self.samples} samples"
        head += f" ({classes}); essential: {number}" if classes else f"; essential: {number}"
        width = max(len("problem"), *(len(problem.name) for problem in self.problems[:LINES]))
        titles = ("kept", "free", "bound", "essential", "refit", "left out", "nearest rows")
        lines = [head, "  ".join([f"{'problem':{width}}", *(f"{title:>9}" for title in titles)])]
        for p in self.problems[:LINES]:
            cells: list[Any] = [
                len(p.rows),
                p.free,
                p.at_bound,
                "?" if p.essential is None else len(p.essential),
                "" if p.refit_error is None else f"{p.refit_error:.1e}",
                p.left_out,
            ]
            near = ", ".join(f"{row} ({d:.2g})" for row, d in zip(p.preimages, p.distances, strict=True))
            lines.append("  ".join([f"{p.name:{width}}", *(f"{cell:>9}" for cell in cells), f"   {near}"]))
        if len(self.problems) > LINES:
            lines.append(f"... and {len(self.problems) - LINES} more")
        if self.witness is not None:
            lines.append(f"the kernel is not positive semi-definite: {self.witness}")
            lines.append(
                "so w lies in no space, and nothing can be said of essential or nearest rows, or of leaving out"
            )
        return "\n".join(lines)


def support_report(model: Any, X: Any = None) -> SupportReport:
    """What a fitted machine keeps of its training set: a support vector machine or any other with a ``support_``.

    For every problem: rows kept, free (0 < |a_i| < C_i) and at the bound; *essential* rows, a part of them, minimal in
    the sense of inclusion, that gives the same w (with a hard margin in d dimensions, at most d + 1; with a soft one
    those at the bound come on top) with the error of a fit to them alone; pre-images, the samples nearest to the points
    of the two classes' convex hulls between which w points; and what leaving a row out can change: for ``KernelRidge``
    and ``KernelRidgeCV``, at its alpha, exactly f(x_i) - f'(x_i); for ``SVC`` 2 |a_i| R^2, which bounds
    leave-one-out errors. Those of ``NuSVC`` it does not bound: the price of an error changes with the samples left.

    Ridge regression, ``KernelLogistic``, ``KernelLMS`` and ``KernelPerceptron`` have no bounds, so all that they keep
    is free. The optimum of the first two, and of the third if it got there, needs all of it. What few samples span
    although all have a say (``max_basis``), or what mistakes made, is not the optimum of a problem of those samples:
    then nothing is essential or not.

    Of a kernel that is known not to be positive semi-definite, rows are counted and no more: there is no space in which
    they could be essential, near or far.

    With the training data ``X``, pre-images are sought among all of it and R is that of all of it, as the bound needs;
    else both look at the support vectors only. In the table, "refit" is the relative change of w and "left out" the
    largest number of leave-one-out errors, or of ridge regression the largest change of f(x_i) if x_i is left out.

    References
    ----------
    Joachims, "Estimating the generalization performance of an SVM efficiently", ICML 2000.
    Cawley, Talbot, "Fast exact leave-one-out cross-validation of sparse least-squares support vector machines", 2004.
    Bennett, Bredensteiner, "Duality and geometry in SVM classifiers", ICML 2000.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[-2.0], [-1.0], [-1.0], [1.0], [3.0]], [0, 0, 0, 1, 1]
    >>> print(support_report(SVC(C=10, kernel="linear", tol=1e-9, solver="qp").fit(X, y), X))
    SVC keeps 3 of 5 samples (0: 2, 1: 1); essential: 2
    problem           kept       free      bound  essential      refit   left out  nearest rows
    1 against 0          3          3          0          2    ...         <= 3     3 (0), 1 (...)
    """
    check_is_fitted(model)
    if not hasattr(model, "support_"):
        raise TypeError(
            f"{type(model).__name__} keeps no support vectors, samples with coefficients that were fitted to targets: "
            "nothing can be said of them. Give a support vector machine, such as SVC(kernel='linear'), kernel ridge or "
            "logistic regression, KernelLMS or KernelPerceptron"
        )
    rows = np.asarray(model.support_)
    samples = model.expansion_.samples.take(np.arange(len(rows)))
    a = columns(model.expansion_.coefficients)[: len(rows)]
    others, places = (samples, rows) if X is None else _training(model, X)
    if X is not None and isinstance(samples, Similarities) and not samples.acquainted:
        samples = others.take(rows)
    witness = witness_against(model)
    judge = _judge(model, others, witness is None)
    problems = []
    for p, (name, column) in enumerate(zip(_names(model, a.shape[1]), a.T, strict=True)):
        own = np.flatnonzero(column)
        bias = np.atleast_1d(model.expansion_.bias)[p]
        g = Expansion(model.expansion_.kernel, samples.take(own), column[own], bias)
        found = judge(p, own, g)
        problems.append(
            Support(
                name,
                rows[own],
                int((~found.bound).sum()),
                int(found.bound.sum()),
                None if found.needed is None else np.sort(rows[own][found.needed]),
                found.refit_error,
                *(_preimages(g, others, places) if witness is None else ((), ())),
                found.influence,
                found.left_out_errors,
            )
        )
    classes = hasattr(model, "classes_")
    counts = dict(zip(model.classes_.tolist(), model.n_support_.tolist(), strict=True)) if classes else {}
    return SupportReport(type(model).__name__, _size(model), rows[a.any(axis=1)], counts, tuple(problems), witness)


def _names(model: Any, outputs: int) -> list[str]:
    if hasattr(model, "classes_"):
        return [str(contest) for contest in contests_of(model)]
    return ["all samples"] if outputs == 1 else [f"output {j}" for j in range(outputs)]


def _size(model: Any) -> int:
    """How many samples the machine was fitted to."""
    if hasattr(model, "shape_fit_"):
        return int(model.shape_fit_[0])
    return int(getattr(model, "n_samples_seen_", 0)) or len(model.dual_coef_)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of the support vectors of one problem: who is at a bound, who is needed, and what leaving one out can change."""

    bound: Flags
    needed: Flags | None
    refit_error: float | None
    influence: Vector | None
    left_out_errors: int | None


#: Judges a problem by its number, the positions of its support vectors among all, and its function.
Judge = Callable[[int, Array, Expansion], Judgement]


def _judge(model: Any, others: Samples, sound: bool) -> Judge:
    """The judge of a model's problems; ``sound`` if nothing is known against its kernel."""
    if getattr(model, "_bounded", False):
        priced = sound and hasattr(model, "classes_") and hasattr(model, "C")  # that of nu-SVC changes with the samples
        twice = (reach(model.kernel_, others) if len(model.support_) else 0.0) if priced else None
        return lambda p, own, g: _judged_with_bounds(model, twice, p, own, g, sound)
    change = ridge_influence(model) if hasattr(model, "loo_residuals") else None
    certificates = np.ravel(getattr(model, "certificate_", ()))
    optimal = bool(len(certificates)) and all(certificate.converged for certificate in certificates)
    whole = sound and optimal and getattr(model, "max_basis", None) is None

    def judge(p: int, own: Array, g: Expansion) -> Judgement:
        nobody = np.zeros(len(own), dtype=bool)
        influence = None if change is None else change[own, p]
        return Judgement(nobody, ~nobody if whole else None, None, influence, None)

    return judge


def _judged_with_bounds(model: Any, twice: float | None, p: int, own: Array, g: Expansion, sound: bool) -> Judgement:
    labels = np.repeat(model.classes_, model.n_support_)[own] if hasattr(model, "classes_") else None
    a = g.coefficients
    values = g(g.samples) if len(own) else np.zeros(0)
    slack = None if labels is None else np.maximum(0.0, 1 - np.sign(a) * values)
    limit, bound = _limits(model, p, own, g, slack, labels)
    if not sound:
        return Judgement(bound, None, None, None, None)
    target = values - float(g.bias) if labels is None else np.sign(a)
    needed, error = _needed(g, limit, bound, target, labels is None)
    if slack is None or twice is None:
        return Judgement(bound, needed, error, None, None)
    influence = twice * np.abs(a)
    return Judgement(bound, needed, error, influence, int((slack + influence >= 1).sum()))


def _training(model: Any, X: Any) -> tuple[Samples, Array]:
    others = model._new_samples(X)
    if len(others) != _size(model):
        raise ValueError(f"X must be the {_size(model)} training samples but has {len(others)}")
    return others, np.arange(len(others))


def _limits(
    model: Any, problem: int, own: Array, g: Expansion, slack: Vector | None, labels: Array | None
) -> tuple[Vector, Flags]:
    """The bounds of g's |a|, and who is at them; by the KKT conditions, samples beyond the margin are.

    The bound is the weight of the sample times C and the weight of its class, times 1 for the one-class machine, and
    for nu-SVC times 1 / rho: its certificate is of the problem before the division by rho, whose dual objective is
    -rho^2 a'Ka / 2.
    """
    a = g.coefficients
    bound, unit = getattr(model, "C", 1.0), 1.0
    certificate = model.certificate_[problem] if len(model.intercept_) > 1 else model.certificate_
    if labels is not None and hasattr(model, "C"):
        bound = model.C * model.class_weight_[np.searchsorted(model.classes_, labels)]
    elif labels is not None:
        squared, _ = g.energy()
        bound = unit = float(np.sqrt(max(-squared / (2 * certificate.dual), 0.0))) if certificate.dual else 0.0
    bound = bound * model._fit.support_weight[own]
    at = np.isclose(np.abs(a), bound, rtol=AT_BOUND, atol=0.0)
    if slack is not None:
        at |= (slack > max(1e-6, 2 * certificate.violation) * unit) & np.isfinite(bound)
    return np.maximum(np.abs(a), bound), at


def _needed(
    g: Expansion, limit: Vector, bound: Flags, target: Vector, pinned: bool
) -> tuple[Flags | None, float | None]:
    """Which of the support vectors are essential, and the change of w in a fit to them alone."""
    if not g.coefficients.any():
        return bound, 0.0  # the zero function needs nobody
    found = essential(g.kernel.gram(g.samples, budget=0), g.coefficients, limit, bound, target, pinned)
    return (None, None) if found is None else (found.kept, found.refit_error)


def _preimages(g: Expansion, others: Samples, places: Array) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """For either sign, which of the other samples lies nearest to the weighted mean of g's, and how near."""
    rows, distances = [], []
    a = g.coefficients
    for side in (np.flatnonzero(a > 0), np.flatnonzero(a < 0)):
        if not len(side):
            continue
        mean = Expansion(g.kernel, g.samples.take(side), a[side] / a[side].sum(), np.zeros(()))
        squared = g.kernel.diag_of(others) - 2 * mean(others) + float(mean.norm()) ** 2
        nearest = int(np.argmin(squared))
        rows.append(int(places[nearest]))
        distances.append(float(np.sqrt(max(squared[nearest], 0.0))))
    return tuple(rows), tuple(distances)
