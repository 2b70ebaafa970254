"""Least mean squares: regression by gradient steps, for weights of an explicit map or coefficients of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine, precise, tell, warn_caller, warn_of_kernel, warn_of_zeros
from mercer.machines.fit import Fit, InputFeatures, fit_of, view
from mercer.machines.targets import Regressor, weights_at_least_zero
from mercer.problem import Vector
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import Certificate, SolverInterrupted, lms
from mercer.solvers.landmarks import choose_by_rest
from mercer.solvers.lms import Descent, LeastSquares
from mercer.solvers.operator import Factored, Operator, Positions
from mercer.solvers.preconditioner import landmarks_for
from mercer.solvers.stage import rough


@dataclass(frozen=True, eq=False)
class PosedDescent:
    """What is to be descended from the zero function on, by what, and the data it was made of."""

    kernel: Kernel
    samples: Samples
    y: Vector
    features: InputFeatures
    space: Any
    problem: LeastSquares
    solver: lms.GradientDescent


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentFit(Fit):
    """A function found by gradient steps, and the path to it."""

    expansion: Expansion
    samples_seen: int
    support: Positions
    certificate: Certificate | tuple[Certificate, ...]
    step: float
    largest_step: float
    errors: Vector
    validation_errors: Vector
    n_iter: int
    #: The weights of an explicit map.
    coef: Vector | None = None

    @property
    def kernel(self) -> Kernel:
        return self.expansion.kernel

    @property
    def dual_coef(self) -> Vector:
        """One row of coefficients per sample."""
        a = self.expansion.coefficients
        out = np.zeros((self.samples_seen, *a.shape[1:]))
        out[self.support] = a[: len(self.support)]
        return out


class LeastMeanSquares(MultiOutputMixin, Regressor, CallbackSupportMixin, KernelMachine):  # type: ignore[misc]
    """What LMS and KernelLMS share: parameters, the held-out rows, and the fitted attributes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "step": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        alpha: float = 0.0,
        step: float | str = "auto",
        batch_size: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.step = step
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.verbose = verbose

    expansion_, dual_coef_, support_, certificate_, n_iter_ = view(), view(), view(), view(), view()
    step_, largest_step_, errors_, validation_errors_ = view(), view(), view(), view()

    def _space(self, kernel: Kernel, samples: Samples) -> Any:
        """The matrix of the kernel at these samples: a ``mercer.solvers.operator.Operator``."""
        raise NotImplementedError

    def _landmarks(self, kernel: Kernel, space: Any, rows: Positions, random: Any) -> Positions | None:
        """Those of the rows learned from that set the pace of all, if any are to."""
        return None

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X and targets y, of shape (n_samples,) or (n_samples, n_targets)."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        context = self._init_callback_context(max_subtasks=self.max_iter)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        posed = self._pose(X, y, sample_weight, context)
        try:
            (descent,) = posed.solver.solve(posed.space, [posed.problem])
        except SolverInterrupted as interrupt:
            (solution,) = interrupt.solutions
            self._fit = self._keep(posed, cast(Descent, solution))
            raise
        fit = self._keep(posed, descent)
        self._warn(descent)
        warn_of_kernel(self, fit, X, posed.y)
        warn_of_zeros(posed.kernel, posed.space.diag(), posed.samples)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _pose(self, X: Any, y: Any, sample_weight: Any, context: Any) -> PosedDescent:
        """What is to be descended, and how."""
        X, features = self._admitted(X)
        y = check_array(in_memory(y, "y"), ensure_2d=False, dtype=np.float64, input_name="y")
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(X)
        check_consistent_length(y, range(len(samples)))
        weight = np.ones(len(samples))
        if sample_weight is not None:
            weight = weights_at_least_zero(sample_weight, y)
        random = check_random_state(0 if self.random_state is None else self.random_state)
        held = self._held(np.flatnonzero(weight), random) if self.early_stopping else None
        if held is not None:
            weight = weight.copy()
            weight[held] = 0.0  # not learned from, but f is known there from the same products
        used = np.flatnonzero(weight)
        kernel = kernel.resolve(samples if len(used) == len(samples) else samples.take(used))
        problem = LeastSquares(y.reshape(len(y), -1), weight, float(self.alpha), held)
        solver = lms.GradientDescent(
            step=None if self.step == "auto" else float(self.step),
            batch=None if self.batch_size is None or self.batch_size >= len(used) else int(self.batch_size),
            max_iter=self.max_iter,
            tol=float(self.tol),
            patience=self.n_iter_no_change,
            seed=int(random.randint(2**31 - 1)),
            progress=lambda number, error, judged: self._tell(context, number, error, judged),
        )
        space = self._space(kernel, samples)
        solver = replace(solver, landmarks=self._landmarks(kernel, space, used, random))
        return PosedDescent(kernel, samples, y, features, space, problem, solver)

    def _held(self, rows: Positions, random: Any) -> Positions:
        count = int(np.ceil(self.validation_fraction * len(rows)))
        if count >= len(rows):
            raise ValueError(
                f"early_stopping holds out {count} of {len(rows)} samples, which leaves none to learn from; give more "
                "samples, a smaller validation_fraction, or early_stopping=False"
            )
        return np.sort(random.permutation(rows)[:count])

    def _tell(self, context: Any, number: int, error: float, judged: float | None) -> bool:
        text = f"pass {number}: mean squared error {error:.6g}"
        if judged is not None:
            text += f", {judged:.6g} of held-out samples"
        return tell(self, context, "pass", text, {"error": error, "held_out_error": judged})

    def _keep(self, posed: PosedDescent, descent: Descent) -> DescentFit:
        a, y = descent.coefficients.reshape(posed.y.shape), posed.y
        known = precise(posed.kernel, posed.samples, a, float(np.abs(y).max()))
        return DescentFit(
            **posed.features.found(),
            expansion=Expansion.of(posed.kernel, known, a, np.zeros(y.shape[1:])),
            samples_seen=len(y),
            support=np.flatnonzero(descent.coefficients.any(axis=1)),
            certificate=descent.certificate if y.ndim > 1 else descent.certificate[0],
            step=descent.step,
            largest_step=descent.limit,
            errors=np.array(descent.errors),
            validation_errors=np.array(descent.held),
            n_iter=descent.iterations,
            coef=self._weights(posed, descent),
        )

    def _weights(self, posed: PosedDescent, descent: Descent) -> Vector | None:
        """The weights of an explicit map, if there is one."""
        return None

    def _warn(self, descent: Descent) -> None:
        if descent.stopped or all(certificate.converged for certificate in descent.certificate):
            return
        unit = float(self.alpha) or 1.0
        worst = max(descent.certificate, key=lambda certificate: (not certificate.converged, certificate.gap))
        why = (
            f"stopped after {self.max_iter} passes (max_iter)"
            if descent.iterations >= self.max_iter
            else "was stopped by the rounding of its products"
        )
        warn_caller(
            f"{type(self).__name__} {why} before it came within tol={self.tol:g} of the optimum: its objective is "
            f"{unit * worst.primal:.6g}, and may be {unit * worst.gap:.3g} above the least. Give more passes, a larger "
            "tol or alpha, or early_stopping=True.",
            ConvergenceWarning,
        )

    def predict(self, X: Any) -> Array:
        """The values of the fitted function at X."""
        return self._predict(fit_of(self), X)

    def _predict(self, fit: DescentFit, X: Any) -> Array:
        return fit.expansion(self._new_samples(X, fit))


class LMS(LeastMeanSquares):
    """Least mean squares in the primal: weights theta of an explicit feature map, by gradient steps.

    Minimises ``1/2 sum_i w_i (y_i - theta'phi(x_i))^2 + 1/2 alpha |theta|^2`` by
    ``theta <- theta + step (sum_i w_i (y_i - theta'phi(x_i)) phi(x_i) - alpha theta)``, with phi the map of a kernel
    that has one: ``Linear()`` for the features themselves, ``Polynomial(2)``, ``FeatureMap(phi)`` for any map ...
    With the same parameters, :class:`KernelLMS` makes the same functions, step by step, without the map.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="linear"
        A kernel with a finite explicit map, ``kernel.features``.
    alpha : float, default=0.0
        The penalty of ``KernelRidge``.
    step : "auto" or float, default="auto"
        The size of every step. It must be below 2 over the largest eigenvalue, which Lanczos' method finds from a few
        products; else an error says how large it may be. "auto": with batches, half of that limit; with all rows, the
        step and momentum that together lower the objective most, which is the method of conjugate gradients.
    batch_size : int, default=None
        How many rows a step uses; all if None.
    max_iter : int, default=1000
        The most passes over the data.
    tol : float, default=1e-3
        Ends when the fitted values are known to be this close to those of the optimum: as root mean squares, relative
        to y. Without a penalty, when the gradient has fallen to this part of its first length.
    early_stopping : bool, default=False
        Whether to hold out samples, and to return to the pass at which their error was least.
    validation_fraction : float, default=0.1
        The part that is held out.
    n_iter_no_change : int, default=5
        Passes without a lower error of held-out samples after which to stop.
    random_state : int, RandomState instance or None, default=None
        For the held-out samples and the batches; None is a seed like any other.
    verbose : bool, default=False
        Whether to write the error of every pass to the standard output.

    Attributes
    ----------
    coef_ : ndarray of shape (n_map,) or (n_targets, n_map)
        The weights theta, one per column of ``kernel_.features`` of the training samples. Of graphs and trees these
        are the parts that the training samples have; others, which only new samples have, weigh nothing.
    expansion_ : Expansion
        The same function, spanned by kernels at the training samples.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Its coefficients: theta = sum_i dual_coef_i phi(x_i).
    support_ : ndarray of shape (n_support,)
        The positions of the samples with a coefficient other than zero, which span it.
    certificate_ : Certificate, or a tuple of one per target
        How far from the optimum of ridge regression it ended, in float64; ``primal`` is that of ``KernelRidge``, the
        objective divided by alpha, and ``violation`` the range of its slopes in single coefficients. ``converged``
        means what ``tol`` says. Without a penalty it is the objective itself, and the bound of its minimum is 0. After
        Ctrl-C it is of the last pass that was looked at, or infinite if that was in float32: nothing was certified.
    errors_, validation_errors_ : ndarray of shape (n_iter_,)
        The mean squared error after every pass, of the training samples and, if some were, of those held out.
    step_, largest_step_ : float
        The step, and what it must be below; 0 and infinite where it varies from pass to pass.
    n_iter_ : int
        The number of passes.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Widrow, Hoff, "Adaptive switching circuits", IRE WESCON 1960. Hestenes, Stiefel, "Methods of conjugate gradients for
    solving linear systems", 1952.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LMS
    >>> from mercer.kernels import FeatureMap, Quadratic
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> machine = LMS(FeatureMap(Quadratic()), tol=1e-9).fit(X, 3 + 2 * X[:, 0] - X[:, 0] ** 2)
    >>> machine.coef_.round(3)
    array([ 3.,  2., -1.])
    >>> LMS(step=1.0).fit(X, X[:, 0])
    Traceback (most recent call last):
    ...
    mercer.solvers.lms.StepError: step=1 is too large: the iteration diverges unless it is below 0.187097 = 2 / ...
    """

    coef_ = view()

    def _space(self, kernel: Kernel, samples: Samples) -> Factored:
        return Factored(kernel.in_columns_of(samples).features(samples).astype(np.float64, copy=False))

    def _weights(self, posed: PosedDescent, descent: Descent) -> Vector | None:
        theta = posed.space.weights(descent.coefficients)
        return np.asarray(theta[:, 0] if posed.y.ndim == 1 else theta.T)


class KernelLMS(LeastMeanSquares):
    """Least mean squares in the dual: coefficients of kernels at the training samples, by gradient steps.

    For f(x) = sum_i a_i k(x_i, x) it minimises ``1/2 sum_i w_i (y_i - f(x_i))^2 + 1/2 alpha |f|^2`` by
    ``a <- a + step (w (y - K a) - alpha a)``, which for alpha = 0 and unit weights is ``a <- a + step (y - K a)``: the
    path leads to the solution of ``KernelRidge``, and stopping early on it is a penalty of its own. K is used through
    products only.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf", "poly" ... with scikit-learn's defaults), any kernel of ``mercer.kernels``, or a
        function of two samples.
    alpha, step, batch_size, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, random_state, verbose
        As in :class:`LMS`. A batch needs the memory of batch_size rows of K.
    precondition : "auto" or int, default="auto"
        The number of landmarks, samples in whose span all directions are made to learn at the same pace; then ten to
        thirty passes come as close to the optimum as is of use. "auto": none for fewer than 2,000 samples, for
        batches, for a given step or for a kernel not known to be positive semi-definite; else ten times the root of
        their number, or fewer if cache_size is small.
    cache_size : float, default=200
        Megabytes within which the whole kernel matrix is kept. Beyond, it is computed anew for every product.

    Attributes
    ----------
    expansion_, dual_coef_, support_, certificate_, errors_, validation_errors_, step_, largest_step_, n_iter_, kernel_
        As in :class:`LMS`.

    References
    ----------
    Yao, Rosasco, Caponnetto, "On early stopping in gradient descent learning", Constructive Approximation 26, 2007.
    Ma, Belkin, "Kernel machines that adapt to GPUs for effective large batch training", MLSys 2019. Rudi, Carratino,
    Rosasco, "FALKON: an optimal large scale kernel method", NIPS 2017. Diaz, Epperly, Frangella, Tropp, Webber,
    "Robust, randomized preconditioning for kernel ridge regression", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLMS
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = KernelLMS(Gaussian(1.0), alpha=0.01, tol=1e-9).fit(X, np.sin(X).ravel())
    >>> machine.predict([[np.pi / 2]]).round(2)
    array([1.])
    >>> machine.n_iter_ < 50
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LeastMeanSquares._parameter_constraints,
        "precondition": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        alpha: float = 0.0,
        step: float | str = "auto",
        batch_size: int | None = None,
        precondition: int | str = "auto",
        cache_size: float = 200,
        max_iter: int = 1000,
        tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            kernel,
            alpha=alpha,
            step=step,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            random_state=random_state,
            verbose=verbose,
        )
        self.precondition = precondition
        self.cache_size = cache_size

    def _space(self, kernel: Kernel, samples: Samples) -> Operator:
        return kernel.gram(samples, self._budget)

    @property
    def _budget(self) -> int:
        return int(self.cache_size * 2**20)

    def _landmarks(self, kernel: Kernel, space: Operator, rows: Positions, random: Any) -> Positions | None:
        if isinstance(self.precondition, str):  # "auto": the rule as it is, where a step or batches are asked for
            plain = self.step != "auto" or self.batch_size is not None or kernel.validity != "psd"
            count = 0 if plain else landmarks_for(len(rows), self._budget)
        else:
            count = int(self.precondition)
        return choose_by_rest(rough(space), rows, count, random) if count else None
