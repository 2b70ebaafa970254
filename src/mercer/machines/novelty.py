"""Machines that learn where data lie, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from mercer.machines.fit import fit_of, view
from mercer.machines.support import SupportMachine
from mercer.machines.support_fit import SupportFit
from mercer.machines.training import Combined, Targets, Training
from mercer.problem import Problem, Vector, one_class
from mercer.samples.base import Array
from mercer.solvers import Solution

INSIDE, OUTSIDE = np.intp(1), np.intp(-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyFit(SupportFit):
    """A function of which a sample is inside where its score is more than the offset."""

    offset: Vector


class NoveltyMachine(OutlierMixin, SupportMachine):  # type: ignore[misc]
    """A machine that says of samples whether they lie inside: ``decision_function`` is positive there."""

    _keeps: ClassVar[type[SupportFit]] = NoveltyFit
    offset_ = view()

    def decision_function(self, X: Any) -> Array:
        """Positive for inliers, negative for outliers."""
        return self._value(fit_of(self), X)

    def score_samples(self, X: Any) -> Array:
        """``decision_function`` plus ``offset_``: of the one-class machine, the sum of kernel values alone."""
        fit = fit_of(self)
        return np.asarray(self._value(fit, X) + fit.offset)

    def predict(self, X: Any) -> Array:
        """1 for inliers, -1 for outliers."""
        return np.where(self._value(fit_of(self), X) > 0, INSIDE, OUTSIDE)


class OneClassSVM(NoveltyMachine):
    """The one-class machine: the part of space, cut off by a hyperplane in the kernel's space, where the data lie.

    Minimises ``1/2 |w|^2 - nu (sum w) rho + sum_i w_i max(0, rho - f(x_i))`` over f and rho. At most a share nu of the
    weight lies outside, and at least a share nu is in support vectors. With scikit-learn's parameters and defaults;
    C has no counterpart here.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        f(X, Z) that returns a matrix.
    degree, gamma, coef0 : for the names, as in ``SVC``.
    tol : float, default=1e-3
        The largest violation of the KKT conditions that counts as converged.
    nu : float in (0, 1], default=0.5
        The share of outliers allowed.
    shrinking, cache_size, verbose, max_iter, n_jobs, warm_start, solver : as in ``SVC``.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        rho: ``decision_function = score_samples - offset_``.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn; f(x) = sum_i dual_coef_i k(x_i, x) + intercept_, intercept_ = -rho.
    certificate_ : Certificate
        Primal and dual objective, gap and KKT violation of the solution, in float64.
    expansion_ : Expansion
        The fitted function.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson, "Estimating the support of a high-dimensional distribution",
    Neural Computation 2001.

    Examples
    --------
    >>> from mercer import OneClassSVM
    >>> machine = OneClassSVM(gamma=1.0, nu=0.25).fit([[0.0], [0.1], [-0.1], [4.0]])
    >>> machine.predict([[0.05], [9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "smo",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X; y is not used."""
        return self._fitted_to(X, None, sample_weight)

    def _targets(self, y: Any, samples: int) -> Targets:
        return Targets(np.zeros(samples))

    def _problems(self, training: Training) -> list[Problem]:
        return [one_class(training.weight, self.nu)]

    def _combined(self, training: Training, problems: list[Problem], solutions: list[Solution]) -> Combined:
        combined = super()._combined(training, problems, solutions)
        combined.facts["offset"] = -combined.bias
        return combined
