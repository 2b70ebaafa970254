"""Kernel ridge regression with a given penalty, and what it shares with the one that finds its own."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import stats
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.expansion import Expansion
from mercer.kernels import Kernel, named_kernel
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine, Stages, penalty_of, precise, warn_of_kernel, warn_of_zeros
from mercer.machines.fit import as_kept, fit_of, view
from mercer.machines.ridge_fit import Chosen, PosedRidge, RidgeFit
from mercer.machines.targets import Regressor, weights_at_least_zero
from mercer.problem import Vector, squared
from mercer.samples import Samples
from mercer.samples.door import in_memory
from mercer.solvers import Cholesky, Solution
from mercer.solvers.cholesky import InvertibleGram
from mercer.solvers.progress import OnStage

#: A weight this small beside the largest is zero: its inverse may be beyond all numbers.
LEAST_WEIGHT = 1e-100


class RidgeMachine(MultiOutputMixin, Regressor, CallbackSupportMixin, KernelMachine):  # type: ignore[misc]
    """Kernel ridge regression, all but the choice of the penalty."""

    _takes_less = (
        "The matrix of all samples is held in memory: KernelLMS finds the same function without it, and fewer samples, "
        "or samples in float32, take less"
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "fit_intercept": ["boolean"],
        "verbose": ["verbose"],
    }

    #: What it keeps.
    _keeps: ClassVar[type[RidgeFit]] = RidgeFit

    expansion_, certificate_, dual_coef_, intercept_ = view(), view(), view(), view()
    scale_, support_, X_fit_ = view(), view(), view()

    def _chosen(self, posed: PosedRidge, begin: OnStage) -> Chosen:
        """The penalty, for all targets or for each, and by what the system is to be solved."""
        raise NotImplementedError

    def _chosen_kernel(self, columns: int) -> Kernel:
        return named_kernel(
            self.kernel,
            columns=columns,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            parameters=self.kernel_params,
        )

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X and targets y, of shape (n_samples,) or (n_samples, n_targets)."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        posed = self._pose(X, y, sample_weight)
        begin = Stages(self, context).begin
        chosen = self._chosen(posed, begin)
        problem = squared(posed.targets, chosen.alpha, posed.weight, bias=self.fit_intercept)
        (solution,) = Cholesky(begin=begin).solve(chosen.system, [problem])
        fit = self._keep(posed, chosen, solution)
        warn_of_kernel(self, fit, X, posed.given)
        warn_of_zeros(fit.kernel, posed.gram.diag(), posed.gram.samples)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> PosedRidge:
        """The system to be solved, but for its penalty."""
        checked, features = self._admitted(X)
        targets = check_array(in_memory(y, "y"), ensure_2d=False, dtype=np.float64, input_name="y")
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(checked)
        check_consistent_length(targets, range(len(samples)))
        weight = np.ones(len(samples))
        if sample_weight is not None:
            weight = weights_at_least_zero(sample_weight, targets)
        weight = np.where(weight < LEAST_WEIGHT * weight.max(initial=0.0), 0, weight)
        kept = np.flatnonzero(weight)  # a sample of weight zero is as good as absent
        some = samples.take(kept)  # a copy: the user may change X later
        kernel = kernel.resolve(some)
        gram = kernel.gram(some, budget=0)
        X_given = X if isinstance(checked, Samples) else checked
        return PosedRidge(gram, targets[kept], weight[kept], kept, features, samples, targets, X_given)

    def _keep(self, posed: PosedRidge, chosen: Chosen, solution: Solution) -> RidgeFit:
        kernel, a = posed.gram.kernel, solution.coefficients
        known = precise(kernel, posed.gram.samples, a, float(np.abs(posed.given).max()))
        f = Expansion(kernel, known, a, np.asarray(solution.bias))
        missed, n = posed.given[:0], len(posed.given)
        if len(posed.kept) < n:
            absent = np.setdiff1d(np.arange(n), posed.kept)
            missed = posed.given[absent] - f(posed.samples.take(absent))
        return self._keeps(
            **posed.features.found(),
            expansion=f,
            certificate=solution.certificate,
            alpha=chosen.alpha,
            targets=posed.targets,
            weight=posed.weight,
            free_bias=bool(self.fit_intercept),
            support=posed.kept,
            absent=missed,
            X_given=as_kept(posed.X, f.samples, whole=not len(missed)),
            **chosen.facts,
        )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The values of the fitted function at X; with ``return_std``, their standard deviations as well.

        These are scikit-learn's GaussianProcessRegressor's: of f, a Gaussian process of covariance k, given targets
        with noise of variance alpha / w_i, and a bias of which nothing is known before. They do not depend on y: where
        the kernel does not know the size of the targets, multiply them by the root of ``scale_``, as ``interval`` does.
        The first call factors K + alpha, once for each alpha there is, and keeps the factors in memory.

        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> machine = KernelRidge(alpha=0.1, kernel=Gaussian(1.0)).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> machine.predict([[0.0], [9.0]], return_std=True)[1].round(3)
        array([0.295, 1.   ])
        """
        fit = fit_of(self)
        if not return_std:
            return self._predict(fit, X)
        samples = self._new_samples(X, fit)
        return fit.expansion(samples), np.sqrt(fit.variance(samples))

    def _predict(self, fit: RidgeFit, X: Any) -> Any:
        return fit.expansion(self._new_samples(X, fit))

    def interval(self, X: Any, level: float = 0.95) -> tuple[Any, Any]:
        """The ends of an interval that holds a new target (of weight 1) at each of X with probability ``level``.

        In the view of a Gaussian process of covariance s^2 k and noise s^2 alpha, with s^2 unknown: Student's t around
        the prediction, of n degrees of freedom (n - 1 with a bias) and variance ``scale_`` (std^2 + alpha).

        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> X = np.linspace(0, 6, 50)[:, None]
        >>> machine = KernelRidge(alpha=0.01, kernel=Gaussian(1.0)).fit(X, np.sin(X).ravel())
        >>> low, high = machine.interval([[1.0]])
        >>> bool(low[0] < np.sin(1) < high[0])
        True
        """
        if not 0 < level < 1:
            raise ValueError(f"level is a probability between 0 and 1, not {level!r}")
        fit = fit_of(self)
        samples = self._new_samples(X, fit)
        mean, variance = fit.expansion(samples), fit.variance(samples)
        reach = stats.t.ppf((1 + level) / 2, fit.freedom) * np.sqrt(fit.scale * (variance + fit.alpha))
        return mean - reach, mean + reach

    def loo_residuals(self) -> Vector:
        """y_i - f_-i(x_i) for every training sample, where f_-i is the machine fitted without sample i: exact.

        Parameters of the kernel that were found from data stay as they are. For samples of weight zero, which have no
        part in f, it is y_i - f(x_i).

        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> X, y = np.arange(5.0)[:, None], np.arange(5.0)
        >>> without = KernelRidge(kernel="rbf").fit(X[1:], y[1:])
        >>> bool(np.isclose(KernelRidge(kernel="rbf").fit(X, y).loo_residuals()[0], y[0] - without.predict(X[:1])[0]))
        True
        """
        fit = fit_of(self)
        residuals: Vector = fit.placed(fit.left_out)
        return residuals

    def residuals(self) -> Vector:
        """y_i - f(x_i) for every training sample, which is alpha a_i / w_i: no kernel value is computed.

        >>> from mercer import KernelRidge
        >>> KernelRidge(alpha=1.0).fit([[1.0], [2.0]], [1.0, 3.0]).residuals().round(3)
        array([-0.167,  0.667])
        """
        fit = fit_of(self)
        ridges = np.stack([one.ridge for one in fit.problem.columns()], axis=1)
        a = fit.expansion.coefficients
        residuals: Vector = fit.placed(ridges.reshape(a.shape) * a)
        return residuals


class KernelRidge(RidgeMachine):
    """Kernel ridge regression: least squares with a penalty on the norm, in the space of a kernel.

    Minimises ``sum_i w_i (y_i - f(x_i) - b)^2 + alpha |f|^2``, whose solution is f(x) = sum_i a_i k(x_i, x) with
    ``(K + alpha diag(1/w)) a + b = y``. With scikit-learn's parameters and defaults, and an optional bias.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1
        The penalty, at least 0; one for all targets or one each.
    kernel : str, Kernel or callable, default="linear"
        A name ("linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2", "precomputed"), any
        kernel of ``mercer.kernels``, or a function of two samples.
    gamma : float, default=None
        For the names: 1 / (number of features) if None, and 1 for "chi2".
    degree : int, default=3
        For "poly".
    coef0 : float, default=1
        For "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    fit_intercept : bool, default=False
        Whether to add a bias b, which is not penalised.
    verbose : bool, default=False
        Write a line for each stage that begins: the matrix, its factor, each refinement. scikit-learn's callbacks
        (``set_callbacks``) are told the same; a closed form cannot be stopped half way. Ctrl-C returns at once, but a
        call of LAPACK that has begun goes on in the background until it is done, and what it found is dropped.

    Attributes
    ----------
    expansion_ : Expansion
        The fitted function.
    certificate_ : Certificate, or a tuple of one per target
        Primal and dual objective, gap and KKT violation of the solution, in float64.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The coefficients a.
    intercept_ : float or ndarray of shape (n_targets,)
        The bias b; 0 without ``fit_intercept``.
    scale_ : float or ndarray of shape (n_targets,)
        The most likely s^2, if f is a Gaussian process of covariance s^2 k: y'a / n, or y'a / (n - 1) with a bias.
    support_ : ndarray of shape (n_support,)
        The positions of the samples that span f: those of positive weight.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.
    X_fit_ : ndarray, sparse matrix or other samples
        The training data.

    References
    ----------
    Saunders, Gammerman, Vovk, "Ridge regression learning algorithm in dual variables", ICML 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = KernelRidge(alpha=0.01, kernel=Gaussian(1.0)).fit(X, np.sin(X).ravel())
    >>> machine.predict([[np.pi / 2]]).round(2)
    array([1.])
    >>> machine.certificate_.converged
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RidgeMachine._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
    }

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        verbose: bool | int = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.verbose = verbose

    def _chosen(self, posed: PosedRidge, begin: OnStage) -> Chosen:
        return Chosen(penalty_of(self.alpha, posed.targets), InvertibleGram(posed.gram, begin))
