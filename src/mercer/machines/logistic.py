"""Kernel logistic regression: classes with probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax
from sklearn.utils._param_validation import Interval

from mercer.likelihood import Likelihood
from mercer.machines.fit import fit_of, view
from mercer.machines.labels import LabelledMachine
from mercer.machines.support_fit import LabelledFit, SupportFit
from mercer.machines.training import Combined, Posed, Training
from mercer.problem import Vector
from mercer.samples.base import Array
from mercer.solvers import Solution
from mercer.solvers.import_vectors import ImportVectors, gradient
from mercer.solvers.newton import Newton


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticFit(LabelledFit):
    """Functions of the log-odds; of some samples only, with what all could lower the objective by."""

    basis_gap: float | None = None


class KernelLogistic(LabelledMachine):
    """Kernel logistic regression: the probabilities of classes as a soft maximum of functions of small norm.

    Minimises ``1/2 sum_k |w_k|^2 + C sum_i w_i (-log p(y_i | x_i))`` over one function per class with an unpenalised
    bias, p(k | x) proportional to exp(f_k(x)); of two classes, over one function with p(second | x) =
    1 / (1 + exp(-f(x))). The scale of C is that of ``SVC`` and of scikit-learn's ``LogisticRegression``, to which this
    is equal for ``kernel="linear"``. The probabilities are fitted as such, so no calibration is needed afterwards.

    Parameters
    ----------
    C : float, default=1.0
        The price of one unit of negative log-likelihood.
    kernel, degree, gamma, coef0 : as in ``SVC``.
    tol : float, default=1e-4
        The largest violation that counts as converged: the change of log-odds, up to a constant, that one more
        exchange of coefficients and probabilities would make.
    cache_size : float, default=200
        Megabytes within which the whole kernel matrix is kept. Beyond, it is computed anew for every product.
    class_weight : dict or "balanced", default=None
        Factors of C per class; "balanced" is n / (classes x samples of the class).
    verbose : bool, default=False
        Whether to write the solver's progress to the standard output.
    max_iter : int, default=100
        The most Newton steps; -1 for no limit.
    n_jobs : int, default=None
        Threads; -1 for all processors, None for the number mercer is set to.
    warm_start : bool, default=False
        Whether to begin with the coefficients of the last fit, if that was to as many samples.
    max_basis : int, default=None
        The most samples, chosen greedily, that span the functions (an import vector machine); all if None. Their
        rows of the kernel matrix are kept in memory, and a fit from a warm start chooses anew.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    expansion_ : Expansion
        The fitted functions: of two classes one, the log-odds of the second; of more, one each.
    certificate_ : Certificate
        Primal and dual objective, gap and violation of the solution, in float64; see ``mercer.likelihood``. With
        ``max_basis``, of the problem on the samples that were chosen.
    basis_gap_ : float
        Only with ``max_basis``: by how much, at most, all samples could lower the objective further.
    dual_coef_, intercept_, support_, support_vectors_, n_support_, n_iter_, fit_status_, shape_fit_, class_weight_
        As in ``SVC``; a row of ``dual_coef_`` and an entry of ``intercept_`` per function. Without ``max_basis`` every
        sample is a support vector.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Zhu, Hastie, "Kernel logistic regression and the import vector machine", JCGS 2005.
    Keerthi, Duan, Shevade, Poo, "A fast dual algorithm for kernel logistic regression", Machine Learning 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLogistic
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelLogistic(C=10).fit(X, y)
    >>> machine.predict_proba(X[100:101]).round(2)
    array([[0., 0., 1.]])
    >>> machine.certificate_.converged, machine.certificate_.gap < 1e-6
    (True, True)
    >>> len(KernelLogistic(C=10, max_basis=8).fit(X, y).expansion_)
    8
    """

    _bounded: ClassVar[bool] = False
    _keeps: ClassVar[type[SupportFit]] = LogisticFit
    basis_gap_ = view()

    _takes_less = "max_basis=500 takes the rows of 500 samples only; fewer samples take less, too"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: allowed
            for name, allowed in LabelledMachine._parameter_constraints.items()
            if name not in ("shrinking", "solver")
        },
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "max_basis": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = 100,
        n_jobs: int | None = None,
        warm_start: bool = False,
        max_basis: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.max_basis = max_basis

    # -- fit --------------------------------------------------------------------------------------------------

    def _problems(self, training: Training) -> list[Any]:
        cost = self.C * training.weight * training.class_weight[training.target]
        return [Likelihood.of(training.target, len(training.classes), cost)]

    def _solver(self, training: Training, context: Any = None) -> Any:
        newton = Newton(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            progress=self._watch(context),
        )
        return newton if self.max_basis is None else ImportVectors(int(self.max_basis), newton)

    def _functions(self, training: Training, problems: list[Any], solutions: list[Solution]) -> Combined:
        (solution,) = solutions
        return Combined(solution.coefficients, solution.bias)

    def _start_of_each(self, training: Training, problems: list[Any], coefficients: Vector) -> list[Vector]:
        (problem,) = problems
        return [coefficients if coefficients.shape == problem.target.shape else np.zeros(problem.target.shape)]

    def _completed(self, fit: Any, posed: Posed) -> Any:
        if self.max_basis is None:
            return fit
        (problem,), training = posed.problems, posed.training
        coefficients = np.zeros((len(training.samples), problem.outputs))
        coefficients[fit.support] = fit.coefficients
        coefficients = coefficients[training.place]
        gram = posed.gram.ordered(training.order)
        F = fit.expansion(gram.samples).reshape(coefficients.shape)
        r = gradient(problem, coefficients, F)
        return replace(fit, basis_gap=0.5 * float((r * (gram.exact @ r)).sum()))

    # -- decisions --------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """The values of the fitted functions: (n_samples,) of two classes, else (n_samples, n_classes)."""
        return self._value(fit_of(self), X)

    def predict(self, X: Any) -> Array:
        """The most probable class of every row."""
        return self._predict(fit_of(self), X)

    def _predict(self, fit: Any, X: Any) -> Array:
        return labels_of(fit.classes, self._value(fit, X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of ``predict_proba``, without loss where those are next to 0."""
        return log_probabilities(self.decision_function(X))

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, in the order of ``classes_``."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


def labels_of(classes: Array, values: Array) -> Array:
    """The most probable classes, given the values of all functions, or of two classes of one."""
    return np.asarray(classes.take(values >= 0 if values.ndim == 1 else values.argmax(axis=1)))


def log_probabilities(values: Array) -> Array:
    """Of every class, given such values."""
    if values.ndim == 1:
        values = np.stack([np.zeros(len(values)), values], axis=1)
    return np.asarray(log_softmax(values, axis=1))
