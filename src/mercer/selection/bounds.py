"""What one fit of a support vector classifier says of its leave-one-out error, without leaving anything out.

Two numbers that cost less than a second fit: one is a bound under a mild condition, and loose; the other is close, and
a bound only under a condition that nobody can check beforehand. ``leave_one_out`` gives the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.kernels.pairs import chunks
from mercer.machines.classify import SVC
from mercer.machines.fit import fit_of
from mercer.machines.labels import checked_labels
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.shown import Shown
from mercer.solvers.removal import INSIDE, bordered, independent


@dataclass(frozen=True, eq=False)
class LooBound(Shown):
    """What ``loo_bound`` found; ``print`` it.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = loo_bound(SVC(kernel="linear").fit(X[:, :2], y), X[:, :2], y)
    >>> found.stable, len(found.span_errors), found.span <= found.xi_alpha
    (True, 569, True)
    """

    #: The share of samples for which 2 |a| R^2 + slack is at least 1.
    xi_alpha: float
    #: The share of samples with y f(x) <= |a| S^2, S the distance to the span of the free support vectors.
    span: float
    #: The same sample by sample.
    xi_alpha_errors: Array = field(repr=False)
    span_errors: Array = field(repr=False)
    #: R^2, a bound on the kernel's largest value less its smallest.
    radius: float
    #: S^2 for each support vector, in the order of ``support_``; infinite where no other one is free.
    spans: Vector = field(repr=False)
    #: How many support vectors are free, that is not at their bound.
    free: int

    @property
    def stable(self) -> bool:
        """Whether some support vector is free, which is what makes ``xi_alpha`` a bound."""
        return self.free > 0

    def __str__(self) -> str:
        what = "a bound on the leave-one-out error" if self.stable else "an estimate, as no support vector is free"
        return (
            f"xi-alpha {self.xi_alpha:.4g}: {what}\n"
            f"span     {self.span:.4g}: the leave-one-out error itself if the {self.free} free support vectors and "
            "those at their bounds stay what they are, else an estimate"
        )


def loo_bound(machine: Any, X: Any, y: Any) -> LooBound:
    """The xi-alpha estimate and the span estimate of the leave-one-out error of a fitted SVC of two classes.

    X and y are what it was fitted to. *Xi-alpha* (Joachims) counts the samples with ``2 |a_i| R^2 + xi_i >= 1``: no
    fewer than the errors of leave-one-out, if the solution is exact and some support vector is free, with each sample
    and without it. *Span* (Vapnik and Chapelle) is the number itself if, whichever sample is left out, the others stay
    free, at their bound or without a coefficient as they are; mostly some do not, and then it is an estimate, which may
    be below the truth.

    References
    ----------
    Joachims, "Estimating the generalization performance of an SVM efficiently", ICML 2000.
    Vapnik, Chapelle, "Bounds on error expectation for support vector machines", Neural Computation 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> print(loo_bound(SVC().fit(X, y), X, y))
    xi-alpha ...: a bound on the leave-one-out error
    span     ...: the leave-one-out error itself if the ... free support vectors and those at their bounds stay what ...
    """
    if type(machine) is not SVC:
        raise TypeError(f"loo_bound takes an SVC, not {type(machine).__name__}; leave_one_out takes others, too")
    check_is_fitted(machine)
    fit = fit_of(machine)
    if len(fit.classes) != 2:
        raise ValueError(
            f"loo_bound is about two classes, and this machine has {len(fit.classes)}; leave_one_out takes any number"
        )
    labels = checked_labels(y)
    if len(labels) != fit.shape_fit[0] or not np.isin(labels, fit.classes).all():
        raise ValueError(
            f"X and y must be what the machine was fitted to, {fit.shape_fit[0]} samples of {fit.classes.tolist()}; "
            f"y has {len(labels)} labels"
        )
    sign = np.where(labels == fit.classes[1], 1.0, -1.0)
    a = np.zeros(len(labels))
    a[fit.support] = fit.coefficients[:, 0]
    if (a * sign < 0).any():
        raise ValueError("these labels are not those that the machine was fitted to: coefficients have other signs")
    margin = sign * machine._values(fit, X)
    _, samples, _, _ = machine._kernel_and_samples(X)
    gram = fit.kernel.gram(samples)
    own = gram.exact.diag()
    least = min((float(gram.rows(some).min()) for some in chunks(len(gram), 8 * len(gram))), default=0.0)
    radius = float(own.max()) - least
    slack = np.maximum(0.0, 1.0 - margin)
    by_radius = (a != 0) & (2 * np.abs(a) * radius + slack >= 1) | (margin <= 0)
    spans, free = spans_of(machine, fit, gram, np.abs(a), labels)
    by_span = margin <= 0
    by_span[fit.support] |= margin[fit.support] <= np.abs(a[fit.support]) * spans
    return LooBound(float(by_radius.mean()), float(by_span.mean()), by_radius, by_span, radius, spans, free)


def spans_of(machine: Any, fit: Any, gram: Any, size: Vector, labels: Array) -> tuple[Vector, int]:
    """The squared distance of every support vector to the span of the other free ones, and how many are free."""
    support = fit.support.astype(np.int64)
    spans = np.full(len(support), np.inf)
    code = np.searchsorted(fit.classes, labels[support])
    cost = machine.C * fit.support_weight * fit.class_weight[code]
    free = np.flatnonzero(size[support] < cost * (1 - INSIDE))
    if not len(free):
        return spans, 0
    K = gram.exact.block(support, support)
    basis, _ = independent(K, free)
    inverse = np.linalg.inv(bordered(K[np.ix_(basis, basis)]))
    with np.errstate(divide="ignore"):
        spans[basis] = 1 / np.maximum(inverse.diagonal()[:-1], 0.0)
    others = np.setdiff1d(np.arange(len(support)), basis)
    to = np.ones((len(basis) + 1, len(others)))
    to[:-1] = K[np.ix_(basis, others)]
    spans[others] = np.maximum(K[others, others] - np.einsum("ij,ij->j", to, inverse @ to), 0.0)
    return spans, len(free)
