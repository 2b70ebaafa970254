"""Regression by basis functions, where the weights themselves are found: the primal view of kernel ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from mercer.expansion import Expansion
from mercer.kernels import FeatureMap, Map, PolynomialBasis
from mercer.machines.base import Stages, penalty_of, warn_caller
from mercer.machines.fit import Fit, Fitted, InputFeatures, fit_of, view
from mercer.machines.targets import Regressor, weights_at_least_zero
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Features, Vectors
from mercer.samples.door import in_memory
from mercer.solvers import Certificate
from mercer.solvers.lapack import interruptible
from mercer.solvers.least_squares import Design, Lasso, Penalised, Ridge
from mercer.solvers.linear import LinearSolution


@dataclass(frozen=True, eq=False)
class Smoother:
    """What a linear regression does to its targets: row i of ``weights`` is b(x_i), with f(x_i) = b(x_i)'y.

    ``trace`` is the sum of b_j(x_j) over the training samples, the effective number of parameters.
    """

    weights: Vector
    trace: float


@dataclass(frozen=True, eq=False)
class RidgePath:
    """The regressions of many penalties: weights, intercepts and effective number of parameters of each alpha.

    ``coef`` has the shape (alphas, functions) or (alphas, targets, functions), ``intercept`` accordingly.
    """

    alphas: Vector
    coef: Vector
    intercept: Vector
    trace: Vector


def _is_linear(machine: BasisRidge) -> bool:
    if machine.penalty != "l2":
        raise AttributeError('with penalty="l1" the fit is not linear in y: it has no smoother and no path of one SVD')
    return True


@dataclass(frozen=True, eq=False, kw_only=True)
class BasisFit(Fit):
    """The weights of basis functions; of a fit that is linear in y also what it was made of."""

    kernel: FeatureMap
    coef: Vector
    intercept: Any
    certificate: Certificate | tuple[Certificate, ...]
    n_iter: int
    #: See ``mercer.solvers.least_squares.Design``; ``kept`` are the positions of positive weight among all ``rows``.
    matrix: Vector | None = None
    root: Vector | None = None
    centre: Vector | None = None
    free_bias: bool | None = None
    targets: Any = None
    kept: Any = None
    rows: int | None = None
    alpha: Any = None

    @property
    def basis(self) -> Any:
        return self.kernel.phi

    @remembered
    def expansion(self) -> Expansion:
        one, weights = self.coef.ndim == 1, Features(np.atleast_2d(self.coef).copy())
        return Expansion(self.kernel, weights, np.ones(1) if one else np.eye(len(weights)), np.asarray(self.intercept))

    @remembered
    def design(self) -> Design:
        if self.matrix is None or self.root is None or self.centre is None:
            raise AttributeError('fitted with penalty="l1", so that there is no smoother and no path of one SVD')
        return Design(self.matrix, self.root, self.centre, bool(self.free_bias))


def facts_of(design: Design, targets: Vector, kept: Any, alpha: Any, rows: int) -> dict[str, Any]:
    """The fields of a fit that is linear in y."""
    parts = dict(matrix=design.matrix, root=design.root, centre=design.centre, free_bias=design.bias)
    return parts | dict(targets=targets[kept], kept=kept, rows=rows, alpha=alpha)


class BasisRidge(Fitted, MultiOutputMixin, Regressor, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares over the weights of basis functions, penalised: f(x) = b + sum_j w_j phi_j(x).

    Minimises ``sum_i v_i (y_i - f(x_i))^2 + alpha sum_j w_j^2`` or, with "l1", ``... + alpha sum_j |w_j|``; v are the
    sample weights. The first has a closed form, w = (Phi'Phi + alpha)^-1 Phi'y, computed by a singular value
    decomposition of Phi; ``alpha=0`` is the pseudo-inverse. It is ``KernelRidge`` with ``kernel=FeatureMap(basis)``.
    The second, the lasso, makes many weights zero.

    Parameters
    ----------
    basis : Map or callable, default=None
        ``PolynomialBasis(degree)``, ``GaussianBasis(centres, sigma)``, another map of ``mercer.kernels``, or a function
        of a whole array that returns one row of values per sample; ``PolynomialBasis(3)`` if None. Note that Gaussian
        basis functions are exp(-(x - c)^2 / sigma^2), without the 2 that the Gaussian kernel has.
    alpha : float or array-like of shape (n_targets,), default=1.0
        The penalty, at least 0; one for all targets or one each.
    penalty : {"l2", "l1"}, default="l2"
        Whether squares or absolute values of the weights are penalised.
    penalize_bias : bool, default=True
        True takes the basis as it is: a constant function in it (the first of a ``PolynomialBasis``) has a weight like
        any other, and b = 0. False adds a b that is not penalised, which takes the place of such a constant.
    tol : float, default=1e-6
        The largest duality gap that counts as converged, as a share of ``sum_i v_i y_i^2`` (of y less its mean, if b is
        free); what "l1" is solved to.
    max_iter : int, default=10000
        The largest number of sweeps of coordinate descent, and of steps of least angle regression, for "l1".
    verbose : bool, default=False
        Write a line for each stage that begins. scikit-learn's callbacks (``set_callbacks``) are told the same.

    Attributes
    ----------
    coef_ : ndarray of shape (n_functions,) or (n_targets, n_functions)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The bias b; 0 with ``penalize_bias``.
    basis_ : Map or callable
        The basis, its centres found.
    expansion_ : Expansion
        The fitted function, of the kernel ``FeatureMap(basis_)``: its samples are the weights, one row per target, as
        points of the feature space.
    certificate_ : Certificate, or a tuple of one per target
        The objective above, a lower bound of its minimum, their gap, and the largest slope left.

    References
    ----------
    Hoerl, Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 1970.
    Tibshirani, "Regression shrinkage and selection via the lasso", Journal of the Royal Statistical Society B 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import BasisRidge
    >>> from mercer.kernels import GaussianBasis, PolynomialBasis
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> BasisRidge(PolynomialBasis(2), alpha=0.0).fit(X, (1 + 2 * X**2).ravel()).coef_.round(6) + 0.0
    array([1., 0., 2.])
    >>> machine = BasisRidge(GaussianBasis(sigma=0.334), alpha=0.1).fit(X, np.sin(3 * X).ravel())
    >>> b = machine.smoother(X)
    >>> bool(np.allclose(b.weights @ np.sin(3 * X).ravel(), machine.predict(X))), round(b.trace, 2)
    (True, 6.18)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "basis": [Map, callable, None],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "penalty": [StrOptions({"l1", "l2"})],
        "penalize_bias": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    coef_, intercept_, basis_, expansion_, certificate_, n_iter_ = view(), view(), view(), view(), view(), view()

    def __init__(
        self,
        basis: Any = None,
        *,
        alpha: Any = 1.0,
        penalty: str = "l2",
        penalize_bias: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        verbose: bool | int = False,
    ) -> None:
        self.basis = basis
        self.alpha = alpha
        self.penalty = penalty
        self.penalize_bias = penalize_bias
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to rows X and targets y, of shape (n_samples,) or (n_samples, n_targets)."""
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        stages = Stages(self, context)
        features = InputFeatures(self)
        X, y = validate_data(
            features, in_memory(X), in_memory(y, "y"), dtype=np.float64, multi_output=True, y_numeric=True
        )
        targets = np.asarray(y, dtype=np.float64)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = weights_at_least_zero(sample_weight, X)
        kept = np.flatnonzero(weight)  # a sample of weight zero is as good as absent
        kernel = FeatureMap(PolynomialBasis(3) if self.basis is None else self.basis).resolve_own(Vectors(X[kept]))
        stages.begin(f"basis functions of {len(kept)} rows")
        free = not self.penalize_bias
        design = interruptible(lambda: Design.of(kernel.features(X[kept]), weight[kept], bias=free), len(kept))
        columns = targets[kept].reshape(len(kept), -1)
        alpha = penalty_of(self.alpha, targets)
        if self.penalty == "l1":
            solver: Lasso | Ridge = Lasso(self.tol, self.max_iter, stages.begin)
        else:
            stages.begin(f"singular values of {len(design.matrix)} x {design.matrix.shape[1]}")
            solver = Ridge(self.tol)
        solution = LinearSolution.of(solver.solve(design, [Penalised(columns, alpha)]))
        fit = BasisFit(
            **features.found(),
            kernel=kernel,
            coef=solution.weights[0] if targets.ndim == 1 else solution.weights,
            intercept=float(solution.intercepts[0]) if targets.ndim == 1 else solution.intercepts,
            certificate=solution.certificates[0] if targets.ndim == 1 else solution.certificates,
            n_iter=solution.iterations,
            **(facts_of(design, targets, kept, alpha, len(X)) if self.penalty == "l2" else {}),
        )
        if self.penalty == "l2":
            fit.__dict__["design"] = design  # which has its singular values already
        self._warn(solution.certificates)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _warn(self, certificates: Any) -> None:
        worst = max(certificates, key=lambda certificate: (not certificate.converged, certificate.gap))
        if not worst.converged:
            warn_caller(
                f"after {worst.iterations} iterations the objective, {worst.primal:.6g}, is only known to be within "
                f"{worst.gap:.3g} of its minimum, more than tol={self.tol:g} asks for; a larger alpha or max_iter, or "
                "basis functions that are less alike, would help",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> Any:
        """The values of the fitted function at X."""
        fit = fit_of(self)
        return fit.expansion(self._rows(fit, X))

    def _rows(self, fit: BasisFit, X: Any) -> Vector:
        """New data, checked."""
        rows = validate_data(InputFeatures(self, fit), in_memory(X), dtype=np.float64, reset=False)
        return np.asarray(rows)

    @available_if(_is_linear)  # type: ignore[untyped-decorator]
    def smoother(self, X: Any) -> Smoother:
        """The weights b(x) with which f(x) = b(x)'y blends the training targets, one row for each of X.

        With G = (Phi'Phi + alpha)^-1, b(x) = Phi G phi(x). It does not depend on y, nor on how many targets there are;
        but with a penalty for each target there would be one for each, too.
        """
        fit = fit_of(self)
        if np.ndim(fit.alpha):
            raise ValueError(
                f"alpha={self.alpha!r} has a penalty for each target, and so each has a smoother of its own; fit one "
                "target at a time to see it"
            )
        features = fit.kernel.features(self._rows(fit, X))
        weights = np.zeros((len(features), fit.rows))
        weights[:, fit.kept] = fit.design.smoother(features, fit.alpha)
        return Smoother(weights, fit.design.trace(fit.alpha))

    @available_if(_is_linear)  # type: ignore[untyped-decorator]
    def path(self, alphas: Any) -> RidgePath:
        """The fits to the same data with other penalties, by the decomposition that there is already.

        >>> import numpy as np
        >>> from mercer import BasisRidge
        >>> X = np.linspace(-1, 1, 9)[:, None]
        >>> path = BasisRidge().fit(X, X.ravel() ** 3).path([0.0, 0.1, 10.0])
        >>> path.coef.shape, path.trace.round(2)
        ((3, 4), array([4.  , 3.57, 1.  ]))
        """
        fit = fit_of(self)
        penalties = np.asarray(alphas, dtype=np.float64)
        if penalties.ndim != 1 or not (np.isfinite(penalties).all() and (penalties >= 0).all()):
            raise ValueError(f"alphas must be a list of finite numbers of at least 0, not {alphas!r}")
        columns = fit.targets.reshape(len(fit.targets), -1)
        found = Ridge(self.tol).solve(fit.design, [Penalised(columns, alpha) for alpha in penalties])
        solutions = [LinearSolution.of([solution]) for solution in found]
        shape = fit.targets.shape[1:]
        coef = np.array([solution.weights for solution in solutions])
        intercept = np.array([solution.intercepts for solution in solutions])
        trace = np.array([fit.design.trace(alpha) for alpha in penalties])
        return RidgePath(
            penalties, coef.reshape(len(coef), *shape, coef.shape[-1]), intercept.reshape(len(coef), *shape), trace
        )
