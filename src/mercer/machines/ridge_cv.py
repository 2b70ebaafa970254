"""Kernel ridge regression with the penalty that predicts each sample best from the others."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array

from mercer.machines.base import warn_caller
from mercer.machines.fit import view
from mercer.machines.ridge import RidgeMachine
from mercer.machines.ridge_fit import Chosen, PosedRidge, RidgeFit
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.solvers.diagonalised import DiagonalisedGram
from mercer.solvers.progress import OnStage


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeCVFit(RidgeFit):
    """Kernel ridge regression, and the errors by which its penalty was found."""

    alphas: Vector
    errors: Vector
    best_score: Any
    #: The leave-one-out residuals, known from the spectrum.
    residuals: Vector

    @remembered
    def left_out(self) -> Vector:
        return self.residuals


class KernelRidgeCV(RidgeMachine):
    """Kernel ridge regression with the penalty of the smallest leave-one-out error, which is found exactly.

    For every alpha, minimises what :class:`KernelRidge` does, with every sample left out in turn, all by one
    eigendecomposition: with G = (K + alpha / w)^-1 and a = G y, sample i is missed by a_i / G_ii when it is left out.
    The machine is then that of the alpha with the smallest weighted mean of squared errors.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=100
        The penalties to choose from, greater than 0. A number asks for as many, in geometric progression, from 1e-9 to
        10 times the largest eigenvalue of the (weighted) Gram matrix; if it has negative ones, from twice their size.
    kernel, gamma, degree, coef0, kernel_params : as in :class:`KernelRidge`.
    fit_intercept : bool, default=False
        Whether to add a bias b, which is not penalised.
    alpha_per_target : bool, default=False
        Whether each target has a penalty of its own.
    verbose : bool, default=False
        As in :class:`KernelRidge`.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty found.
    best_score_ : float or ndarray of shape (n_targets,)
        Minus its leave-one-out error.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties tried.
    errors_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        The weighted mean of squared leave-one-out residuals of each; infinity where K + alpha is not positive definite.
    expansion_, certificate_, dual_coef_, intercept_, scale_, support_, kernel_, X_fit_ : as in :class:`KernelRidge`.

    References
    ----------
    Rifkin, Lippert, "Notes on regularized least squares", MIT-CSAIL-TR-2007-025.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X).ravel() + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> machine = KernelRidgeCV(kernel=Gaussian(1.0)).fit(X, y)
    >>> bool(np.sqrt(machine.errors_.min()) < 0.12)  # about as large as the noise
    True
    >>> bool(np.isclose(np.mean(machine.loo_residuals() ** 2), -machine.best_score_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RidgeMachine._parameter_constraints,
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas: Any = 100,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        alpha_per_target: bool = False,
        verbose: bool | int = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.verbose = verbose

    _keeps: ClassVar[type[RidgeFit]] = RidgeCVFit
    alpha_, best_score_, alphas_, errors_ = view(), view(), view(), view()

    def _chosen(self, posed: PosedRidge, begin: OnStage) -> Chosen:
        y, weight = posed.targets, posed.weight
        if len(y) < 2:
            raise ValueError("to leave out one sample takes at least 2 of positive weight, but there is 1 sample")
        given = None if isinstance(self.alphas, Integral) else self._given()  # before the long work
        spectrum = DiagonalisedGram(posed.gram, weight, begin)
        alphas = spaced(spectrum, int(self.alphas)) if given is None else given
        targets = y.reshape(len(y), -1)
        share = weight / weight.sum()
        begin(f"leave-one-out errors of {len(alphas)} alphas")
        paths = spectrum.leave_one_out(targets, alphas, bias=self.fit_intercept)
        errors = np.concatenate([np.einsum("i,aij->aj", share, path.residuals**2) for path in paths])
        best = self._best(spectrum, alphas, errors)
        residuals = np.empty(targets.shape)
        for number in np.unique(best):
            columns = np.flatnonzero(best == number)
            path = next(spectrum.leave_one_out(targets[:, columns], alphas[[number]], bias=self.fit_intercept))
            residuals[:, columns] = path.residuals[0]
        one = y.ndim == 1 or not self.alpha_per_target
        score = -errors[best, np.arange(len(best))]
        facts = {
            "alphas": alphas,
            "errors": errors.reshape(len(alphas), *y.shape[1:]),
            "best_score": float(score.mean()) if one else score,
            "residuals": residuals.reshape(y.shape),
        }
        return Chosen(float(alphas[best[0]]) if one else alphas[best], spectrum, facts)

    def _given(self) -> Vector:
        alphas = check_array(self.alphas, ensure_2d=False, dtype=np.float64, input_name="alphas")
        if alphas.ndim != 1 or not (alphas > 0).all():
            raise ValueError(
                f"alphas must be a list of numbers greater than 0, not {self.alphas!r}; without a penalty there is "
                "KernelRidge(alpha=0)"
            )
        return np.asarray(alphas)

    def _best(self, spectrum: DiagonalisedGram, alphas: Vector, errors: Vector) -> Any:
        """The position of the best alpha for each target."""
        refused = np.flatnonzero(np.isinf(errors[:, 0]))
        if len(refused):
            text = (
                f"K + alpha is not positive definite for {len(refused)} of {len(alphas)} alphas, up to "
                f"{alphas[refused].max():.3g}: the smallest eigenvalue of K is {spectrum.values[0]:.3g}"
            )
            remedy = "mercer.kernels.repair makes the kernel positive semi-definite, and larger alphas outweigh it."
            if len(refused) == len(alphas):
                raise ValueError(f"{text}; {remedy}")
            warn_caller(f"{text}; these were not considered. {remedy}", LinAlgWarning)
        if self.alpha_per_target:
            return np.argmin(errors, axis=0)
        return np.full(errors.shape[1], np.argmin(errors.mean(axis=1)))


def spaced(spectrum: DiagonalisedGram, count: int) -> Vector:
    """So many alphas in geometric progression, from almost no penalty to one that leaves almost nothing of f."""
    largest = float(np.abs(spectrum.values).max()) or 1.0
    least = max(1e-9 * largest, -2 * float(spectrum.values[0]))
    return np.geomspace(10 * largest, least, count)[::-1]
