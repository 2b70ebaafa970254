"""Machines that tell classes apart."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from mercer.machines.base import warn_caller
from mercer.machines.support_classifier import SupportClassifier
from mercer.machines.targets import priced
from mercer.machines.training import Positions, Training, certificate_of
from mercer.problem import Problem, Vector, hinge, nu_hinge
from mercer.samples.base import Array
from mercer.solvers import Solution

#: A margin of less than this many violations cannot be told from none.
UNCERTAIN = 2
EPS = float(np.finfo(np.float64).eps)


class SVC(SupportClassifier):
    """Support vector classification: the hyperplane in the kernel's space with the widest margin, errors at a price.

    Minimises ``1/2 |w|^2 + C sum_i w_i max(0, 1 - y_i f(x_i))`` with an unpenalised bias, y_i = -1 or 1. ``C=inf`` is
    the hard margin; if no hyperplane separates the classes, ``NotSeparableError`` says so. More than two classes are
    told apart pair by pair. With scikit-learn's parameters, attributes and defaults, and any kernel.

    Parameters
    ----------
    C : float, default=1.0
        The price of an error of size 1.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        f(X, Z) that returns a matrix.
    degree : int, default=3
        For "poly".
    gamma : "scale", "auto" or float, default="scale"
        For "rbf", "poly" and "sigmoid"; "scale" is 1 / (columns x variance of X), "auto" 1 / columns.
    coef0 : float, default=0.0
        For "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether problems of more than 32,768 samples may be solved active set by active set.
    probability : bool, default=False
        Whether to fit sigmoids to values of a 5-fold cross-validation; deprecated as in scikit-learn.
    tol : float, default=1e-3
        The largest violation of the KKT conditions that counts as converged.
    cache_size : float, default=200
        Megabytes the solver may use beside the data: for packed samples, kernel values and vectors.
    class_weight : dict or "balanced", default=None
        Factors of C per class; "balanced" is n / (classes x samples of the class).
    verbose : bool, default=False
        Whether to write the solver's progress to the standard output.
    max_iter : int, default=-1
        The most steps of two coefficients the solver may take for a pair of classes; -1 for no limit.
    decision_function_shape : "ovr" or "ovo", default="ovr"
        One column per class, or per pair of classes.
    break_ties : bool, default=False
        Whether equal votes are decided by the values of ``decision_function``.
    random_state : int, RandomState instance or None, default=None
        For the folds of ``probability=True``. None is a seed like any other.
    strategy : "ovo" or "ovr", default="ovo"
        Train one problem per pair of classes, or per class against the rest; then the largest distance f / |w| decides.
    votes : "count" or "distance", default="count"
        Of three classes and more with ``strategy="ovo"``: the class that wins the most pairs, as in scikit-learn, or
        the one with the largest sum of distances f / |w| to its pairs' hyperplanes, negative on the other side. A pair
        with w = 0 adds nothing. f itself is summed where distances do not exist: a'Ka is negative for a pair, as only
        of an indefinite kernel, or a fit was interrupted before |w| was known, or w = 0 for all pairs.
    n_jobs : int, default=None
        Threads; -1 for all processors, None for the number mercer is set to.
    warm_start : bool, default=False
        Whether to begin with the coefficients of the last fit, if that was to as many samples.
    solver : {"smo", "qp"}, default="smo"
        "qp" is a general interior-point method, a reference for small data (``pip install mercer[qp]``).

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, n_iter_, \
    fit_status_, shape_fit_, probA_, probB_
        As in scikit-learn; of two classes f(x) = sum_i dual_coef_i k(x_i, x) + intercept_ is positive for the second.
        With ``strategy="ovr"`` and more than two classes, ``dual_coef_`` and ``intercept_`` have a row per class.
    certificate_ : Certificate, or a tuple of one per problem of two classes
        Primal and dual objective, gap and KKT violation of the solution, in float64.
    expansion_ : Expansion
        The fitted functions, one output per problem of two classes.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.

    References
    ----------
    Cortes, Vapnik, "Support-vector networks", Machine Learning 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC().fit(X, y)
    >>> machine.n_support_, round(machine.score(X, y), 2)
    (array([ 7, 29, 24], dtype=int32), 0.97)
    >>> [certificate.converged for certificate in machine.certificate_]
    [True, True, True]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportClassifier._parameter_constraints,
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
        shrinking: bool = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        strategy: str = "ovo",
        votes: str = "count",
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "smo",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.strategy = strategy
        self.votes = votes
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    def _weights(self, training: Training) -> Vector:
        """What an error of each sample costs where C is 1."""
        weight = training.weight
        return weight if self.class_weight is None else weight * training.class_weight[training.target]

    def _costs(self, training: Training) -> Vector:
        weight = self._weights(training)
        return np.where(weight > 0, np.inf, 0.0) if np.isinf(self.C) else priced(self.C, weight)

    def _problem(self, sign: Vector, cost: Vector, sample: Positions | None) -> Problem:
        return hinge(sign, cost, sample)

    def _of_a_constant(self, problem: Problem) -> float:
        smaller = min(float(problem.upper.sum()), -float(problem.lower.sum()))
        return 2 * smaller * (1 - len(problem) * EPS)  # f = 1 or -1 misses those of the other side by 2


class NuSVC(SupportClassifier):
    """Support vector classification with a share of errors instead of a price for them.

    Minimises ``1/2 |w|^2 - nu (sum w) rho + sum_i w_i max(0, rho - y_i f(x_i))`` over f, its bias and the margin rho,
    then divides f by rho. At most a share nu of the weight is on the wrong side of the margin, at least as much is in
    support vectors. With scikit-learn's parameters, attributes and defaults.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        The share of margin errors; it must leave both classes enough support vectors, else it is infeasible.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        f(X, Z) that returns a matrix.
    degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter, decision_function_shape, \
    break_ties, random_state, strategy, votes, n_jobs, warm_start : as in ``SVC``.
    class_weight : dict or "balanced", default=None
        Accepted and, as in scikit-learn, without effect: there is no C to multiply.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, n_iter_, \
    fit_status_, shape_fit_, probA_, probB_, expansion_, kernel_
        As in ``SVC``.
    certificate_ : Certificate, or a tuple of one per problem of two classes
        Of the problem before the division by rho.

    References
    ----------
    Schoelkopf, Smola, Williamson, Bartlett, "New support vector algorithms", Neural Computation 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NuSVC(nu=0.1).fit(X, y).score(X, y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        strategy: str = "ovo",
        votes: str = "count",
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "smo",
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.strategy = strategy
        self.votes = votes
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver

    _weighs_classes = False

    def _refuse_lost_classes(self, classes: Array, left: Any) -> None:
        raise ValueError("specified nu is infeasible: a class has no sample of positive weight")

    def _problems(self, training: Training) -> list[Problem]:
        problems = super()._problems(training)
        if any(feasible_nu(-problem.lower.sum(), problem.upper.sum()) < self.nu for problem in problems):
            raise ValueError("specified nu is infeasible")
        return problems

    def _problem(self, sign: Vector, cost: Vector, sample: Positions | None) -> Problem:
        positive = cost[sign > 0].sum()
        most = feasible_nu(cost.sum() - positive, positive)  # of folds; fit itself refuses
        return nu_hinge(sign, min(self.nu, most), cost, sample)

    def _margin(self, solution: Solution) -> tuple[float, float]:
        positive, negative = solution.bias  # what f lacks to be zero at the margins of the two classes
        margin = float(negative - positive) / 2
        certificate = certificate_of(solution)
        if not margin and not certificate.converged:  # where nothing is known, there is no margin to divide by
            return 1.0, 0.0
        if margin < 0 and not certificate.dual > 0:  # -a'Ka / 2: at the optimum of a kernel no margin is below zero,
            margin = -margin  # so this is not the optimum yet
        if not margin:
            raise ValueError(
                "the margin is 0: to this kernel the classes are so alike that no function has a share of margin "
                f"errors as small as nu={self.nu:g}; use a larger nu, or another kernel"
            )
        return margin, float(positive + negative) / 2

    def _warn(self, training: Training, solutions: Sequence[Solution]) -> None:
        super()._warn(training, solutions)
        margins = [(abs(self._margin(solution)[0]), certificate_of(solution)) for solution in solutions]
        # What is left of a slope in the end may be taken for a margin of that size.
        left = [UNCERTAIN * certificate.violation * certificate.converged for _, certificate in margins]
        lost = [margin for (margin, _), v in zip(margins, left, strict=True) if margin <= max(v, self.tol * 1e-3)]
        if lost:
            warn_caller(
                f"The margin is {min(lost):.1e}, next to nothing: these classes overlap so much that no function has a "
                f"share of margin errors as small as nu={self.nu:g}, or tol={self.tol:g} is too large to find one. "
                "Predictions may be arbitrary; use a larger nu, or a smaller tol.",
                ConvergenceWarning,
            )

    def _start_of_each(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        starts = super()._start_of_each(training, problems, coefficients)
        sizes = [a[p.upper > 0].sum() or 1.0 for a, p in zip(starts, problems, strict=True)]
        return [a * (p.groups()[0][1] / size) for a, p, size in zip(starts, problems, sizes, strict=True)]


def feasible_nu(negative: float, positive: float) -> float:
    """The largest nu for which both classes, of these weights, have enough."""
    return 2 * float(min(negative, positive)) / float(negative + positive)
