"""Linear machines: scikit-learn's LinearSVC and LinearSVR, solved by ours and certified."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as ScikitLinearSVC  # kept: users put ours in the places of these
from sklearn.svm import LinearSVR as ScikitLinearSVR
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.expansion import Expansion
from mercer.kernels import Linear
from mercer.machines.base import warn_caller, watch
from mercer.machines.labels import class_factors, lost_classes
from mercer.machines.progress import linear_line
from mercer.machines.refit import Refittable
from mercer.machines.targets import positive_weights
from mercer.problem import (
    Problem,
    Vector,
    epsilon_insensitive,
    hinge,
    squared_epsilon_insensitive,
    squared_hinge,
)
from mercer.samples import as_samples
from mercer.samples.door import in_memory
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.lapack import interruptible
from mercer.solvers.linear import LinearSolution, LinearSolver, judge_l1
from mercer.solvers.operator import Factored
from mercer.solvers.smo import SolverInterrupted


class LinearMachine(Refittable, CallbackSupportMixin):  # type: ignore[misc]
    """A machine that knows its weights: f(x) = w'x + b is k(w, x) + b of the linear kernel, one sample w per output."""

    fit_intercept: bool
    coef_: Vector
    intercept_: Any
    n_iter_: int
    certificate_: Certificate | tuple[Certificate, ...]

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to rows X and labels or targets y; ``sample_weight`` multiplies C per row."""
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        self._fit(X, y, sample_weight, context)
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        raise NotImplementedError

    def _solve(self, solve: Callable[[], Sequence[Solution]]) -> None:
        """Keeps the solution, or what there is of it at Ctrl-C."""
        try:
            solution = LinearSolution.of(solve())
        except SolverInterrupted as interrupt:
            solution = LinearSolution.of(interrupt.solutions)
            with contextlib.suppress(ValueError):  # what there is may be too little for a model
                self._keep(solution)
            raise
        self._keep(solution)
        _report(self, solution)

    def _keep(self, solution: LinearSolution) -> None:
        """Sets the fitted attributes."""
        for certificate in solution.certificates:
            if not (np.isfinite(certificate.gap) and np.isfinite(solution.weights).all()):
                raise ValueError(
                    f"The weights or their objective are beyond float64: primal {certificate.primal:.3g}, dual "
                    f"{certificate.dual:.3g}. Scale the columns of X and the targets, or take a smaller C"
                )
        self.coef_ = solution.weights
        self.intercept_ = solution.intercepts if self.fit_intercept else 0.0
        self.n_iter_ = solution.iterations
        certificates = solution.certificates
        self.certificate_ = certificates[0] if len(certificates) == 1 else certificates

    @property
    def expansion_(self) -> Expansion:
        """The fitted function, one output per row of weights."""
        check_is_fitted(self, "coef_")
        weights = np.atleast_2d(self.coef_)
        coefficients = np.ones(1) if len(weights) == 1 else np.eye(len(weights))
        bias = np.broadcast_to(self.intercept_, len(weights))
        return Expansion(Linear(), as_samples(weights), coefficients, bias[0] if len(weights) == 1 else bias)


class LinearSVC(LinearMachine, ScikitLinearSVC):  # type: ignore[misc]
    """Linear support vector classification, for many rows or many columns.

    Minimises ``1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w'x_i + b))`` or the same with the loss squared, one class against
    the rest, the classes in parallel. Rows are extended by a constant s = ``intercept_scaling`` whose weight v is
    penalised too, ``1/2 v^2``, and b = s v. Many rows of few columns are solved by Newton's method on the primal,
    others by coordinate descent on the dual; both stop when the KKT violation of the dual is at most ``tol``, or the
    gap at most 1e-12 of the objective. Dense and CSR data of float32 and float64 are used as they are; dense rows that
    are mostly zeros are compressed.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        The norm of w that is penalised. "l1" is solved by scikit-learn's own class (liblinear).
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The loss. "hinge" with "l1" is not supported.
    dual : "auto" or bool, default="auto"
        Whether to solve the dual or the primal; "auto" looks at the shape. As in scikit-learn, "hinge" refuses False;
        which method solves it is then chosen by the shape too.
    tol : float, default=1e-4
        The KKT violation at which to stop, in units of the decision function.
    C : float, default=1.0
        The cost of an error, greater than 0; infinity is the hard margin.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One class against the rest, or one joint problem, solved by scikit-learn's own class (liblinear).
    fit_intercept : bool, default=True
        Whether there is a b.
    intercept_scaling : float, default=1
        The constant s; the larger, the less b is penalised.
    class_weight : dict or "balanced", default=None
        Factors of C, one per class; with more than two classes, that of a class applies to its own problem only.
    verbose : int, default=0
        Whether to write the progress of the solver and the certificates to the standard output.
    random_state : int, RandomState instance or None, default=None
        The seed of the order in which coordinate descent visits the rows; None is a seed like any other.
    max_iter : int, default=1000
        The largest number of sweeps or Newton steps.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The bias b; 0.0 without ``fit_intercept``.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    certificate_ : Certificate, or a tuple of one per class
        Primal and dual objective, gap and KKT violation, in float64. Where liblinear has solved the problem, no dual
        solution is known: for "l1" one is derived, for "crammer_singer" the dual is -inf, and neither is "converged".
    expansion_ : Expansion
        The fitted functions, spanned by the weights themselves: w'x + b = k(w, x) + b.
    n_iter_ : int
        The largest number of iterations among the classes.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML 2008.
    Galli, Lin, "A study on truncated Newton methods for linear classification", IEEE Trans. Neural Netw. Learn. Syst.
    33, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVC
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])
    >>> machine = LinearSVC(loss="hinge").fit(X, ["a", "a", "b", "b"])
    >>> machine.predict([[0.5, 0.0]])
    array(['b'], dtype='<U1')
    >>> machine.coef_.round(3)
    array([[ 0.5, -0.5]])
    >>> machine.certificate_.converged
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScikitLinearSVC._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        if self.penalty == "l1" or self.multi_class == "crammer_singer":
            self._delegate(X, y, sample_weight)
            return
        X, y = _validated(self, X, y)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        if self.loss == "hinge" and not self.dual:
            raise _unsupported(self.penalty, self.loss, self.dual)
        weight = positive_weights(sample_weight, len(y))
        factor = class_factors(self.class_weight, self.classes_, y, np.maximum(weight, 0.0))
        X, label, cost = _weighted(X, label, weight, self.C)
        problems = OneAgainstRest(label, cost, factor, squared_hinge if self.loss == "squared_hinge" else hinge)
        solver = _solver(self, self.loss == "squared_hinge", context)
        self._solve(lambda: solver.solve(Factored(X), problems))

    def decision_function(self, X: Any) -> Any:
        """The values w'x + b: positive for the second of two classes; of more, one column per class."""
        return super().decision_function(in_memory(X))

    def _delegate(self, X: Any, y: Any, sample_weight: Any) -> None:
        """What liblinear does as well: fitted by scikit-learn, certified as far as its result allows."""
        if np.isinf(self.C):
            raise ValueError("C=inf, a hard margin, needs penalty='l2' and multi_class='ovr'; others take a finite C")
        X, y = _validated(self, X, y)
        classes = np.unique(y)
        weight = positive_weights(sample_weight, len(y))
        X, y, weight = _weighted(X, y, weight, 1.0)  # liblinear would count the classes of what has no weight
        if len(left := np.unique(y)) < len(classes):
            raise lost_classes(classes, np.searchsorted(classes, left))
        seed = 0 if self.random_state is None else self.random_state
        peer = ScikitLinearSVC(**self.get_params() | {"random_state": seed})
        interruptible(lambda: peer.fit(X, y, weight))  # Ctrl-C leaves nothing of it
        self.coef_, self.intercept_, self.classes_, self.n_iter_ = (
            peer.coef_,
            peer.intercept_,
            peer.classes_,
            peer.n_iter_,
        )
        cost = self.C * weight
        factor = class_factors(self.class_weight, self.classes_, y, weight)
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        label = np.searchsorted(self.classes_, y)
        if self.multi_class == "crammer_singer":
            primal = self._joint_objective(X, label, cost * factor[label], constant)
            self.certificate_ = Certificate(primal, -np.inf, np.inf, np.inf, self.n_iter_, False, convex=True)
            return
        intercepts = np.broadcast_to(self.intercept_, len(self.coef_))
        certificates = []
        for k, (weights, intercept) in enumerate(zip(self.coef_, intercepts, strict=True)):
            positive = label == (1 if len(self.coef_) == 1 else k)
            rest = factor[0] if len(self.coef_) == 1 else 1.0
            costs = cost * np.where(positive, factor[1 if len(self.coef_) == 1 else k], rest)
            q = np.where(positive, 1.0, -1.0)
            certificate = judge_l1(X, weights, float(intercept), constant, q, costs)
            certificates.append(replace(certificate, iterations=self.n_iter_))
        self.certificate_ = certificates[0] if len(certificates) == 1 else tuple(certificates)

    def _joint_objective(self, X: Any, label: Any, cost: Vector, constant: float) -> float:
        """Crammer and Singer's: 1/2 sum_k |w_k|^2 + sum_i C_i max_k (f_k + [k is wrong] - f of the right one)."""
        coef, intercept = self.coef_, np.atleast_1d(self.intercept_)
        if len(self.classes_) == 2:  # kept as a difference; of all pairs of weights with it, half each is the shortest
            coef, intercept = np.vstack([-coef / 2, coef / 2]), np.append(-intercept / 2, intercept / 2)
        f = np.asarray(X @ coef.T) + intercept
        right = np.take_along_axis(f, label[:, None], axis=1).ravel()
        f += 1.0
        np.put_along_axis(f, label[:, None], right[:, None], axis=1)
        last = np.sum((intercept / constant) ** 2) if constant else 0.0
        return float(0.5 * (np.sum(coef**2) + last) + cost @ (f.max(axis=1) - right))


class LinearSVR(LinearMachine, ScikitLinearSVR):  # type: ignore[misc]
    """Linear support vector regression, for many rows or many columns.

    Minimises ``1/2 |w|^2 + sum_i C_i max(0, |y_i - w'x_i - b| - epsilon)`` or the same with the loss squared. The
    intercept b is penalised, and the problem is solved, as in :class:`LinearSVC`.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube in which errors are free.
    tol : float, default=1e-4
        The KKT violation at which to stop, in units of y.
    C : float, default=1.0
        The cost of an error, greater than 0; infinity is the hard tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss.
    fit_intercept : bool, default=True
        Whether there is a b.
    intercept_scaling : float, default=1.0
        The constant s by which rows are extended; the larger, the less b is penalised.
    dual : "auto" or bool, default="auto"
        Whether to solve the dual or the primal, as in :class:`LinearSVC`.
    verbose : int, default=0
        Whether to write the progress of the solver and the certificate to the standard output.
    random_state : int, RandomState instance or None, default=None
        The seed of the order in which coordinate descent visits the rows; None is a seed like any other.
    max_iter : int, default=1000
        The largest number of sweeps or Newton steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : ndarray of shape (1,)
        The bias b; 0.0 without ``fit_intercept``.
    certificate_ : Certificate
        Primal and dual objective, gap and KKT violation, in float64.
    expansion_ : Expansion
        The fitted function, spanned by the weights themselves: w'x + b = k(w, x) + b.
    n_iter_ : int
        The number of iterations.

    References
    ----------
    Ho, Lin, "Large-scale linear support vector regression", Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVR
    >>> X = np.arange(10.0)[:, None]
    >>> machine = LinearSVR(C=100.0, epsilon=0.1).fit(X, 2 * X.ravel() + 1)
    >>> machine.predict([[20.0]]).round(1)
    array([40.9])
    >>> machine.certificate_.converged
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScikitLinearSVR._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        X, y = _validated(self, X, y)
        squared = self.loss == "squared_epsilon_insensitive"
        if not squared and not self.dual:
            raise _unsupported("l2", self.loss, self.dual)
        y = np.asarray(y, dtype=np.float64)
        X, target, cost = _weighted(X, y, positive_weights(sample_weight, len(y)), self.C)
        posed = squared_epsilon_insensitive if squared else epsilon_insensitive
        problem = posed(target, cost, self.epsilon, bias=False)
        solver = _solver(self, squared, context)
        self._solve(lambda: solver.solve(Factored(X), [problem]))

    def _keep(self, solution: LinearSolution) -> None:
        super()._keep(solution)
        self.coef_ = solution.weights[0]

    def predict(self, X: Any) -> Any:
        """The values w'x + b."""
        return super().predict(in_memory(X))


@dataclass(frozen=True, eq=False)
class OneAgainstRest(Sequence[Problem]):
    """One problem per class, or a single one of two classes; a class has its factor of the costs in its own alone.

    Each is made when it is asked for, as together they may take more memory than the rows.
    """

    label: Any
    cost: Vector
    factor: Vector
    loss: Callable[..., Problem]

    def __len__(self) -> int:
        return 1 if len(self.factor) == 2 else len(self.factor)

    def __getitem__(self, k: Any) -> Any:
        only = len(self) == 1
        own = self.label == (1 if only else k)
        cost = self.cost * np.where(own, self.factor[1 if only else k], self.factor[0] if only else 1.0)
        return self.loss(np.where(own, 1.0, -1.0), cost, bias=False)


def _validated(machine: Any, X: Any, y: Any) -> tuple[Any, Any]:
    X, y = in_memory(X), in_memory(y, "y")
    X, y = validate_data(machine, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    return X, y


def _unsupported(penalty: str, loss: str, dual: Any) -> ValueError:
    """In scikit-learn's words."""
    return ValueError(
        f"Unsupported set of arguments: The combination of penalty='{penalty}' and loss='{loss}' are not supported "
        f"when dual={dual}, Parameters: penalty={penalty!r}, loss={loss!r}, dual={dual!r}"
    )


def _weighted(X: Any, y: Any, weight: Vector, C: float) -> tuple[Any, Any, Vector]:
    """Rows and targets that have a weight, and their costs: a row without is as good as absent."""
    if (weight > 0).all():
        return X, y, C * weight
    kept = np.flatnonzero(weight > 0)
    return X[kept], y[kept], C * weight[kept]


def _solver(machine: Any, squared: bool, context: Any) -> LinearSolver:
    seed = 0 if machine.random_state is None else int(check_random_state(machine.random_state).randint(2**31 - 1))
    return LinearSolver(
        tol=machine.tol,
        max_iter=machine.max_iter,
        primal=None if machine.dual == "auto" or not squared else not machine.dual,
        intercept=machine.intercept_scaling if machine.fit_intercept else 0.0,
        seed=seed,
        progress=watch(machine, context, linear_line),
    )


def _report(machine: Any, solution: LinearSolution) -> None:
    if machine.verbose:
        for certificate in solution.certificates:
            sys.stdout.write(f"[{type(machine).__name__}] {certificate}\n")
    worst = max(solution.certificates, key=lambda certificate: (not certificate.converged, certificate.violation))
    if worst.converged:
        return
    reached = (
        f"after {worst.iterations} iterations the KKT violation is {worst.violation:.3g}, more than tol={machine.tol}"
    )
    if np.isinf(machine.C):  # the gap is that of a soft margin
        reached += ". The hard constraints may contradict each other: give a finite C."
    else:
        reached += f", and the objective is within {worst.gap:.3g} of its optimum."
    text = f"The solver stopped before it converged: {reached}"
    if worst.iterations >= machine.max_iter:
        text = (
            "Liblinear failed to converge, increase the number of iterations. (It is mercer's own solver that says so, "
            f"in scikit-learn's words: {reached})"
        )
    warn_caller(text, ConvergenceWarning)
