"""Machines that find the directions in which data vary most, in the kernel's space: what they share, and KernelPCA."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_psd_eigenvalues

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Kernel, named_kernel
from mercer.kernels.named import NAMES
from mercer.machines.base import (
    KernelMachine,
    Stages,
    tell,
    warn_caller,
    warn_indefinite,
    warn_of_zeros,
)
from mercer.machines.fit import Fit, InputFeatures, as_given, fit_of, view
from mercer.remembered import remembered
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.solvers import Certificate, Witness
from mercer.solvers.convexity import along, by_construction, of_some_rows, refuted, rounding
from mercer.solvers.eigen import EigenProgress, Map, dense_eigenpairs, eigenpairs, is_small, unchanged
from mercer.solvers.lanczos import Eigenpairs, Float
from mercer.solvers.operator import Operator
from mercer.threads import limited

#: The residuals, relative to the largest eigenvalue, that are asked for if ``tol`` is 0.
TOLERANCE = 1e-6


class SpectralStages(Stages):
    """Tells every pass over the matrix, or every stage where it is decomposed as a whole."""

    def __call__(self, step: EigenProgress) -> bool:
        text = f"float{step.bits}: {step.products} products, residual {step.residual:.1e}"
        return tell(self.machine, self.context, "solve", text, dataclasses.asdict(step))


@dataclass(frozen=True, eq=False)
class PosedDecomposition:
    """The samples whose matrix is decomposed, and their kernel; ``X`` are they as scikit-learn's checks let them."""

    kernel: Kernel
    samples: Samples
    gamma: float
    X: Any
    features: InputFeatures


@dataclass(frozen=True, eq=False, kw_only=True)
class DecompositionFit(Fit):
    """Directions in the kernel's space, as functions spanned by the samples."""

    kernel: Kernel
    samples: Samples
    residuals: Float
    certificate: Certificate
    n_iter: int
    gamma: Any
    #: The samples as the user gave them, where ``samples`` are not just these.
    X_given: Any

    @remembered
    def expansion(self) -> Expansion:
        raise NotImplementedError

    @property
    def X_fit(self) -> Any:  # noqa: N802
        return as_given(self.X_given, self.samples)

    @property
    def n_features_out(self) -> int:
        return int(self.expansion.coefficients.shape[1])


class SpectralMachine(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):  # type: ignore[misc]
    """What KernelPCA and KernelSVD share: parameters, data and the choice of a solver."""

    _takes_less = "Few components (n_components=20) of many samples need no matrix; fewer samples take less, too"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def _chosen_kernel(self, columns: int) -> Kernel:
        return named_kernel(
            self.kernel,
            columns=columns,
            gamma=self.gamma,
            degree=int(self.degree),
            coef0=self.coef0,
            parameters=self.kernel_params,
        )

    expansion_, certificate_, residuals_, n_iter_ = view(), view(), view(), view()
    gamma_, X_fit_, _n_features_out = view(), view(), view()

    def _pose(self, X: Any) -> PosedDecomposition:
        """The samples of X and their kernel, its data-dependent parameters found."""
        X, features = self._admitted(X)
        gamma = 1 / features.count if self.gamma is None else self.gamma
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(X)
        return PosedDecomposition(kernel.resolve(samples), samples, gamma, X, features)

    def _fitted_to(self, X: Any, y: Any, Z: Any = None) -> Samples:
        """Finds the components, between a begin and an end that scikit-learn's callbacks hear of."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        posed = self._pose(X)
        samples = posed.samples
        with limited(self.n_jobs):
            fit = self._decomposed(posed, Z, SpectralStages(self, context))
        if fit.certificate.convex is False:
            warn_indefinite(
                fit.kernel,
                fit.certificate.witness,
                "Components of positive eigenvalues are kept; distances along them are not those of the samples.",
            )
        warn_of_zeros(fit.kernel, fit.kernel.gram(samples, budget=0).diag(), samples)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return samples

    def _decomposed(self, posed: PosedDecomposition, Z: Any, progress: SpectralStages) -> DecompositionFit:
        """The components."""
        raise NotImplementedError

    def _dense(self, size: int, count: int) -> bool:
        return self.eigen_solver == "dense" or is_small(size, count)

    def _limits(self) -> tuple[float, int]:
        """The residuals to reach, relative to the largest eigenvalue, and the most products."""
        return float(self.tol) if self.tol > 0 else TOLERANCE, 100 if self.max_iter is None else int(self.max_iter)

    def _random(self) -> Any:
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _gram(self, posed: PosedDecomposition) -> Gram:
        return posed.kernel.gram(posed.samples, budget=int(self.cache_size * 2**20))

    def _count(self, size: int) -> int:
        return size if self.n_components is None else min(size, int(self.n_components))

    def _warn(self, pairs: Eigenpairs) -> None:
        if not pairs.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {pairs.iterations} products with a residual of "
                f"{pairs.residuals.max():.1e} for eigenvalues up to {pairs.values.max():.1e}; raise max_iter or tol",
                ConvergenceWarning,
            )

    def _eigenpairs(
        self, operator: Operator, count: int, progress: SpectralStages, project: Map = unchanged
    ) -> Eigenpairs:
        """The largest eigenpairs of a matrix, which sees of vectors what ``project`` leaves."""
        if self._dense(len(operator), count):
            return dense_eigenpairs(operator, count, progress.begin)
        pairs = eigenpairs(operator, count, *self._limits(), self._random(), progress, project)
        self._warn(pairs)
        return pairs

    def _judged(self, gram: Gram, pairs: Eigenpairs, trace: float, name: str, *, balanced: bool) -> Certificate:
        """The certificate of eigenpairs, and what is known of the matrix, which has this name."""
        if by_construction(gram.kernel, balanced=balanced):
            return replace(certified(pairs), convex=True)
        return refuted(certified(pairs), witness_of(gram, pairs, trace, name) or of_some_rows(gram))

    def transform(self, X: Any) -> Array:
        """The coordinates of X along the components, of shape (n_samples, n_components)."""
        fit = fit_of(self)
        samples = self._new_samples(X, fit)
        with limited(self.n_jobs):
            return coordinates_in(samples.dtype, fit.expansion(samples))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def coordinates_in(dtype: Any, values: Array) -> Array:
    """Coordinates in the precision of the samples, if it can hold them."""
    with np.errstate(over="ignore"):
        told: Array = values.astype(dtype, copy=False)
    if not np.isfinite(told).all():
        raise ValueError(
            f"coordinates of up to {np.abs(values).max():.2g} are beyond {told.dtype}; scale the data first"
            f"{', or give them in float64' if told.dtype == np.float32 else ''}"
        )
    return told


def certified(pairs: Eigenpairs) -> Certificate:
    """How good eigenpairs are as those that minimise -tr V'AV over orthonormal V: -(l_1 + ... + l_count).

    A matrix E with A + E = V diag(l) V' on the span of V exists whose eigenvalues' moduli add up to at most twice the
    residuals' sum, one half of them positive. So, if the l are the largest of A + E, the optimum is at most that sum
    below (Ky Fan 1949). Residuals cannot show that no larger eigenvalue was missed; blocks of random vectors make it
    as good as impossible.

    >>> pairs = Eigenpairs(np.array([3.0, 1.0]), np.eye(2), np.array([0.002, 0.001]), 4, True)
    >>> print(certified(pairs))
    converged after 4 iterations: primal -4, dual -4.003, gap 0.003, violation 0.002
    """
    primal, gap = -float(pairs.values.sum()), float(pairs.residuals.sum())
    violation = float(pairs.residuals.max(initial=0.0))
    return Certificate(primal, primal - gap, gap, violation, pairs.iterations, pairs.converged)


def witness_of(gram: Gram, pairs: Eigenpairs, trace: float, name: str) -> Witness | None:
    """What eigenvalues tell of a matrix that may not be positive semi-definite: one below 0, or more than the trace."""
    noise = rounding(gram) * float(np.abs(gram.exact.diag()).sum()) + float(pairs.residuals.sum())
    lowest, rest = float(pairs.values.min(initial=0.0)), trace - float(pairs.values.sum())
    return along(lowest, noise, f"{name} has the eigenvalue {{}}") or along(
        rest, noise, f"the eigenvalues of {name} beside the {len(pairs.values)} largest add up to {{}}"
    )


def without_negative(values: Float) -> Float:
    """Eigenvalues of which those that rounding made negative are 0; others below 0 are refused, as by scikit-learn."""
    try:
        with np.errstate(divide="ignore"):
            return np.asarray(_check_psd_eigenvalues(values, enable_warnings=False))
    except ValueError as error:
        raise ValueError(
            f"{error} mercer.kernels.repair makes the kernel positive semi-definite; fewer components may do without "
            "such eigenvalues."
        ) from None


def divided(V: Float, by: Float) -> Float:
    """Every column divided by a number of its own; 0 where that is 0."""
    return np.asarray(V * np.divide(1.0, by, out=np.zeros_like(by), where=by > 0))
