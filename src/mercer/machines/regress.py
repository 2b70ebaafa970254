"""Machines that predict numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length, check_is_fitted

from mercer.expansion import Expansion
from mercer.kernels import Kernel, named_kernel
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine
from mercer.problem import squared
from mercer.samples import Samples
from mercer.solvers import Cholesky


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelMachine):  # type: ignore[misc]
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
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "fit_intercept": ["boolean"],
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
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept

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
        X = self._validated(X, reset=True)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        kernel = self._chosen_kernel(getattr(self, "n_features_in_", 1))
        samples = kernel.samples(X)
        check_consistent_length(targets, range(len(samples)))
        weight = np.ones(len(samples))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, targets, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weight)  # a sample of weight zero is as good as absent
        some = samples if len(kept) == len(samples) else samples.take(kept)
        kernel = kernel.resolve(some)
        problem = squared(targets[kept], self._alpha(targets), weight[kept], bias=self.fit_intercept)
        solution = Cholesky().solve(kernel.gram(some, budget=0), problem)
        self.dual_coef_ = np.zeros(targets.shape)
        self.dual_coef_[kept] = solution.coefficients
        self.intercept_ = solution.bias
        self.certificate_ = solution.certificate
        self.kernel_ = kernel
        self.expansion_ = Expansion.of(kernel, self._precise(samples, targets), self.dual_coef_, solution.bias)
        self.X_fit_ = X
        return self

    def _precise(self, samples: Samples, targets: Any) -> Samples:
        """The samples in float64 if the terms of f are so large that float32 would lose more than 1e-5 of y."""
        largest = np.sqrt(np.abs(self.kernel_.diag(samples)).max())
        terms = np.abs(self.dual_coef_).sum(axis=0).max() * float(largest) ** 2
        lost = float(np.finfo(samples.dtype).eps) * terms
        return samples.astype(np.float64) if lost > 1e-5 * np.abs(targets).max() else samples

    def _alpha(self, targets: Any) -> Any:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        outputs = 1 if targets.ndim == 1 else targets.shape[1]
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) not in (1, outputs)):
            raise ValueError(
                f"alpha must be a number or one number for each of {outputs} targets, not shape {alpha.shape}"
            )
        if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ValueError(f"alpha must be finite and at least 0, not {self.alpha!r}")
        if targets.ndim == 1 or alpha.ndim == 0 or len(alpha) == 1:
            return float(alpha.ravel()[0])
        return alpha

    def predict(self, X: Any) -> Any:
        """The values of the fitted function at X."""
        check_is_fitted(self)
        return self.expansion_(self._validated(X, reset=False))
