"""Support vector machines that predict numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval

from mercer.machines.base import warn_caller
from mercer.machines.fit import fit_of, view
from mercer.machines.support import SupportMachine
from mercer.machines.support_fit import SupportFit
from mercer.machines.targets import Regressor, column, one_each, priced
from mercer.machines.training import Combined, Targets, Training, certificate_of
from mercer.problem import Problem, Vector, epsilon_insensitive, nu_epsilon
from mercer.samples.base import Array
from mercer.solvers import Solution
from mercer.solvers.certificate import WIDE

#: A tol above this share of the standard deviation of the targets is coarse.
COARSE = 0.05


class SupportRegressor(Regressor, SupportMachine):
    """What SVR and NuSVR share."""

    def _targets(self, y: Any, samples: int) -> Targets:
        targets: Array = np.asarray(column(y), dtype=np.float64)
        assert_all_finite(targets, input_name="y")
        return Targets(one_each(targets, samples))

    def _warn(self, training: Training, solutions: Sequence[Solution]) -> None:
        """Says, too, that ``tol``, an error of f, is a large part of what the targets vary by."""
        super()._warn(training, solutions)
        certificate = certificate_of(solutions[0])
        if certificate.wide and self.tol > COARSE * (spread := float(np.std(training.target))) > 0:
            warn_caller(
                f"Converged to tol={self.tol:g}, which is coarse for targets of standard deviation {spread:.2g}: the "
                f"objective may be {certificate.share:.0%} from the optimum. About "
                f"tol={self.tol * certificate.remedy:.1g} would bring that to {WIDE:.0%}; or scale the targets.",
                ConvergenceWarning,
            )

    def _size(self, training: Training) -> float:
        return float(np.abs(training.target).max())

    def predict(self, X: Any) -> Array:
        """The values of the fitted function at X."""
        return self._value(fit_of(self), X)

    def _predict(self, fit: Any, X: Any) -> Array:
        return self._value(fit, X)


class SVR(SupportRegressor):
    """Support vector regression: a function of small norm that stays, if it can, within epsilon of the targets.

    Minimises ``1/2 |w|^2 + C sum_i w_i max(0, |y_i - f(x_i)| - epsilon)`` with an unpenalised bias, through its dual in
    one signed coefficient per sample: ``sum a = 0``, ``|a_i| <= C w_i``. ``C=inf`` is the hard tube; if no function
    fits into it, ``NotSeparableError`` says so. With scikit-learn's parameters, attributes and defaults.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        f(X, Z) that returns a matrix.
    degree, gamma, coef0 : for the names, as in ``SVC``.
    tol : float, default=1e-3
        The largest violation of the KKT conditions that counts as converged.
    C : float, default=1.0
        The price of leaving the tube by 1.
    epsilon : float, default=0.1
        Half the width of the tube.
    shrinking, cache_size, verbose, max_iter, n_jobs, warm_start, solver : as in ``SVC``.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn; f(x) = sum_i dual_coef_i k(x_i, x) + intercept_.
    certificate_ : Certificate
        Primal and dual objective, gap and KKT violation of the solution, in float64.
    expansion_ : Expansion
        The fitted function.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Smola, Schoelkopf, "A tutorial on support vector regression", Statistics and Computing 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = SVR(C=100, epsilon=0.01).fit(X, np.sin(X).ravel())
    >>> machine.predict([[np.pi / 2]]).round(1)
    array([1.])
    >>> machine.certificate_.converged
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
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
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    def _problems(self, training: Training) -> list[Problem]:
        return [epsilon_insensitive(training.target, priced(self.C, training.weight), self.epsilon)]


@dataclass(frozen=True, eq=False, kw_only=True)
class TubeFit(SupportFit):
    """A function, and half the width of its tube."""

    epsilon: float


class NuSVR(SupportRegressor):
    """Support vector regression that finds the width of its tube: nu is the share of samples it may leave outside.

    Minimises ``1/2 |w|^2 + C sum_i w_i (nu epsilon + max(0, |y_i - f(x_i)| - epsilon))`` over f, its bias and epsilon.
    With scikit-learn's parameters, attributes and defaults.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most this share of the weight lies outside the tube, at least this share is in support vectors.
    C : float, default=1.0
        The price of leaving the tube by 1.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        f(X, Z) that returns a matrix.
    degree, gamma, coef0 : for the names, as in ``SVC``.
    shrinking : bool, default=True
        Of the solver, as are cache_size, verbose, max_iter, n_jobs, warm_start and solver; as in ``SVC``.
    tol : float, default=1e-3
        The largest violation of the KKT conditions that counts as converged.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn; f(x) = sum_i dual_coef_i k(x_i, x) + intercept_.
    epsilon_ : float
        Half the width of the tube.
    certificate_ : Certificate
        Primal and dual objective, gap and KKT violation of the solution, in float64.
    expansion_ : Expansion
        The fitted function.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Schoelkopf, Smola, Williamson, Bartlett, "New support vector algorithms", Neural Computation 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = NuSVR(C=100, nu=0.2).fit(X, np.sin(X).ravel())
    >>> machine.predict([[np.pi / 2]]).round(1)
    array([1.])
    >>> machine.epsilon_ < 0.02
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "smo",
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    _keeps: ClassVar[type[SupportFit]] = TubeFit
    epsilon_ = view()

    def _problems(self, training: Training) -> list[Problem]:
        if np.isinf(self.C):
            raise ValueError("NuSVR needs a finite C: with C=inf the tube may not be left, and nu has no meaning")
        return [nu_epsilon(training.target, priced(self.C, training.weight), self.nu)]

    def _combined(self, training: Training, problems: list[Problem], solutions: list[Solution]) -> Combined:
        (problem,), (solution,) = problems, solutions
        above, below = solution.bias  # b + epsilon and b - epsilon
        a = problem.by_sample(solution.coefficients, len(training))
        return Combined(a[:, None], np.array([(above + below) / 2]), {"epsilon": float(above - below) / 2})

    def _start_of_each(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        a = coefficients[:, 0]
        return [np.concatenate([np.maximum(a, 0), np.minimum(a, 0)])]
