"""SVDD: the ball in the kernel's space in which the data lie, where some of them may be known not to."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from mercer.kernels import Custom, Precomputed
from mercer.machines.base import warn_caller
from mercer.machines.fit import fit_of, view
from mercer.machines.novelty import INSIDE, OUTSIDE, NoveltyFit, NoveltyMachine
from mercer.machines.support import SupportMachine
from mercer.machines.support_fit import SupportFit
from mercer.machines.targets import column, one_each
from mercer.machines.training import Combined, Targets, Training
from mercer.problem import Problem, svdd
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import Solution
from mercer.threads import limited


@dataclass(frozen=True, eq=False, kw_only=True)
class BallFit(NoveltyFit):
    """A ball: half of R^2 - |phi(x) - c|^2 is the expansion at x less k(x, x) / 2."""

    radius: float
    #: k(x, x), if it is the same for all samples of a given matrix: new rows do not tell theirs.
    own: float | None


class SVDD(NoveltyMachine):
    """Support vector data description: the smallest ball in the kernel's space that holds the samples, errors allowed.

    Minimises ``R^2 + sum_i C_i xi_i`` over the centre c, the radius R and ``xi_i >= 0``, where targets are to be
    within, ``|phi(x_i) - c|^2 <= R^2 + xi_i``, and known outliers without, ``|phi(x_i) - c|^2 >= R^2 - xi_i``. At most
    1 / C targets lie outside. Where k(x, x) is constant and no outliers are known, ``C = 1 / (nu n_samples)`` gives the
    samples inside that ``OneClassSVM(nu=nu)`` gives.

    Parameters
    ----------
    C : float, default=1.0
        The price of an error, multiplied by ``sample_weight``. From 1 on every target lies inside, unless outliers are
        known, which may lie inside, too; with ``inf`` none may. Of all targets the prices must sum to 1 or more.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, n_jobs, warm_start, solver
        As in ``OneClassSVM``. Of a given matrix, ``kernel="precomputed"``, new rows do not tell their k(x, x): it is
        taken to be that of the training samples, if these agree in it.

    Attributes
    ----------
    radius_ : float
        R; NaN if an interruption came before |c| was known.
    offset_ : ndarray of shape (1,)
        -R^2: ``decision_function = score_samples - offset_``.
    dual_coef_, support_, support_vectors_, n_support_, coef_, n_iter_, fit_status_, shape_fit_
        The centre is c = sum_i dual_coef_i phi(x_i), with negative coefficients of outliers; for a linear kernel it is
        coef_.
    intercept_ : ndarray of shape (1,)
        b in R^2 - |phi(x) - c|^2 = 2 (sum_i dual_coef_i k(x_i, x) + b) - k(x, x).
    expansion_, kernel_, certificate_
        sum_i dual_coef_i k(x_i, x) + b, its kernel, and its certificate in float64, which is of half the objective.

    References
    ----------
    Tax, Duin, "Support vector data description", Machine Learning 54, 2004.

    Examples
    --------
    >>> from mercer import SVDD
    >>> machine = SVDD(kernel="linear").fit([[0.0], [1.0], [2.0]])
    >>> machine.coef_, round(machine.radius_, 6)
    (array([[1.]]), 1.0)
    >>> machine.predict([[1.5], [2.5]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "smo",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    _keeps: ClassVar[type[SupportFit]] = BallFit
    radius_ = view()

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X, of which those with y = -1 are known outliers; none if y is None."""
        return self._fitted_to(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, **parameters: Any) -> Array:
        """1 for samples inside, -1 for those outside."""
        return np.asarray(self.fit(X, y, **parameters).predict(X))

    def predict(self, X: Any) -> Array:
        """1 for samples in the ball or on it, -1 for those outside."""
        return np.where(self._value(fit_of(self), X) >= 0, INSIDE, OUTSIDE)

    def _targets(self, y: Any, samples: int) -> Targets:
        given = np.ones(samples) if y is None else one_each(column(y), samples)
        side = np.where(given == -1, -1.0, 1.0)
        if (strange := given[given != side]).size:
            text = "y is -1 for known outliers and 1 for targets, for which everything else is taken, too:"
            warn_caller(f"{text} {strange.tolist()[0]!r}", UserWarning)
        return Targets(side)

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._training(X, y, sample_weight)
        if not (training.target > 0).any():
            raise ValueError("all samples are known outliers (y = -1): there is nothing to describe; give targets")
        return training

    def _problems(self, training: Training) -> list[Problem]:
        own = training.kernel.diag_of(training.samples)[training.place]
        return [svdd(training.target, self.C * training.weight, own)]

    def _combined(self, training: Training, problems: list[Problem], solutions: list[Solution]) -> Combined:
        combined = super()._combined(training, problems, solutions)
        squared, own = 2 * float(solutions[0].bias) + solutions[0].squared_norm, 2 * problems[0].q
        same = isinstance(training.kernel, Precomputed) and np.allclose(own, own[0], rtol=1e-6, atol=0.0)
        combined.facts.update(
            offset=np.array([-squared]), radius=float(np.sqrt(max(squared, 0.0))), own=float(own[0]) if same else None
        )
        return combined

    def _value(self, fit: Any, X: Any) -> Array:
        """R^2 - |phi(x) - c|^2."""
        samples: Any = self._new_samples(X, fit)
        if fit.function is not None:
            own = Custom(fit.function.call).diag(in_memory(X))
        elif fit.own is not None and samples.new:
            own = fit.own
        else:
            own = fit.kernel.diag_of(samples).astype(np.float64)
        with limited(self.n_jobs):
            return np.asarray(2 * fit.expansion(samples) - own)
