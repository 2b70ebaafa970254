"""Linear machines: scikit-learn's LinearSVC and LinearSVR, solved by ours and certified."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mercer.expansion import Expansion
from mercer.kernels import Linear
from mercer.machines.base import warn_caller, watch
from mercer.machines.fit import Fit, Fitted, InputFeatures, fit_of, view
from mercer.machines.labels import class_factors, lost_classes
from mercer.machines.liblinear import joint_objective, judged_l1
from mercer.machines.progress import linear_line
from mercer.machines.targets import Classifier, Regressor, positive_weights
from mercer.machines.training import dense
from mercer.problem import (
    Problem,
    Vector,
    epsilon_insensitive,
    hinge,
    squared_epsilon_insensitive,
    squared_hinge,
)
from mercer.remembered import remembered
from mercer.samples import as_samples
from mercer.samples.door import in_memory
from mercer.solvers.certificate import Certificate
from mercer.solvers.lapack import interruptible
from mercer.solvers.linear import LinearSolution, LinearSolver
from mercer.solvers.operator import Factored
from mercer.solvers.smo import SolverInterrupted


@dataclass(frozen=True, eq=False)
class PosedLinear:
    """Problems of rows, and what solves them."""

    features: InputFeatures
    X: Any
    problems: Sequence[Problem]
    solver: LinearSolver
    classes: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearFit(Fit):
    """The weights, one row per output or, of one target, a single one; sparse if the user asked for it."""

    coef: Any
    intercept: Any
    n_iter: Any
    certificate: Certificate | tuple[Certificate, ...]
    classes: Any = None

    @remembered
    def expansion(self) -> Expansion:
        """The fitted function, one output per row of weights."""
        weights = np.atleast_2d(dense(self.coef))
        coefficients = np.ones(1) if len(weights) == 1 else np.eye(len(weights))
        bias = np.broadcast_to(self.intercept, len(weights))
        return Expansion(Linear(), as_samples(weights), coefficients, bias[0] if len(weights) == 1 else bias)


class LinearMachine(Fitted, CallbackSupportMixin):  # type: ignore[misc]
    """A machine that knows its weights: f(x) = w'x + b is k(w, x) + b of the linear kernel, one sample w per output."""

    fit_intercept: bool

    coef_, intercept_, n_iter_, certificate_, expansion_ = view(), view(), view(), view(), view()

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to rows X and labels or targets y; ``sample_weight`` multiplies C per row."""
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        self._fit = self._solved(X, y, sample_weight, context)
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _solved(self, X: Any, y: Any, sample_weight: Any, context: Any) -> LinearFit:
        """Poses problems, solves them and keeps the solution."""
        posed = self._pose(X, y, sample_weight, context)
        try:
            solution = LinearSolution.of(posed.solver.solve(Factored(posed.X), posed.problems))
        except SolverInterrupted as interrupt:
            solution = LinearSolution.of(interrupt.solutions)
            with contextlib.suppress(ValueError):  # what there is may be too little for a model
                self._fit = self._keep(posed, solution)
            raise
        fit = self._keep(posed, solution)
        _report(self, solution)
        return fit

    def _pose(self, X: Any, y: Any, sample_weight: Any, context: Any) -> PosedLinear:
        """Problems of rows, and what solves them."""
        raise NotImplementedError

    def _keep(self, posed: PosedLinear, solution: LinearSolution) -> LinearFit:
        for certificate in solution.certificates:
            if not (np.isfinite(certificate.gap) and np.isfinite(solution.weights).all()):
                raise ValueError(
                    f"The weights or their objective are beyond float64: primal {certificate.primal:.3g}, dual "
                    f"{certificate.dual:.3g}. Scale the columns of X and the targets, or take a smaller C"
                )
        certificates = solution.certificates
        return LinearFit(
            **posed.features.found(),
            coef=solution.weights if posed.classes is not None else solution.weights[0],
            intercept=solution.intercepts if self.fit_intercept else 0.0,
            n_iter=solution.iterations,
            certificate=certificates[0] if len(certificates) == 1 else certificates,
            classes=posed.classes,
        )

    def _decided(self, fit: LinearFit, X: Any) -> Any:
        """The values w'x + b."""
        X = validate_data(InputFeatures(self, fit), in_memory(X), accept_sparse="csr", reset=False)
        values = safe_sparse_dot(X, fit.coef.T, dense_output=True) + fit.intercept
        return values.ravel() if values.ndim > 1 and values.shape[1] == 1 else values


class LinearSVC(Classifier, LinearMachine, ScikitLinearSVC):  # type: ignore[misc]
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

    classes_ = view()

    def _solved(self, X: Any, y: Any, sample_weight: Any, context: Any) -> LinearFit:
        if self.penalty == "l1" or self.multi_class == "crammer_singer":
            return self._delegated(X, y, sample_weight)
        return super()._solved(X, y, sample_weight, context)

    def _pose(self, X: Any, y: Any, sample_weight: Any, context: Any) -> PosedLinear:
        X, y, features = _validated(self, X, y)
        check_classification_targets(y)
        classes, label = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{classes[0]!r}"
            )
        if self.loss == "hinge" and not self.dual:
            raise _unsupported(self.penalty, self.loss, self.dual)
        weight = positive_weights(sample_weight, len(y))
        factor = class_factors(self.class_weight, classes, y, np.maximum(weight, 0.0))
        X, label, cost = _weighted(X, label, weight, self.C)
        problems = OneAgainstRest(label, cost, factor, squared_hinge if self.loss == "squared_hinge" else hinge)
        return PosedLinear(features, X, problems, _solver(self, self.loss == "squared_hinge", context), classes)

    def decision_function(self, X: Any) -> Any:
        """The values w'x + b: positive for the second of two classes; of more, one column per class."""
        return self._decided(fit_of(self), X)

    def predict(self, X: Any) -> Any:
        """The class of every row: by the sign, or the largest, of the values of ``decision_function``."""
        fit = fit_of(self)
        values = self._decided(fit, X)
        return fit.classes.take(values > 0 if values.ndim == 1 else values.argmax(axis=1))

    def _delegated(self, X: Any, y: Any, sample_weight: Any) -> LinearFit:
        """What liblinear does as well: fitted by scikit-learn, certified as far as its result allows."""
        if np.isinf(self.C):
            raise ValueError("C=inf, a hard margin, needs penalty='l2' and multi_class='ovr'; others take a finite C")
        X, y, features = _validated(self, X, y)
        classes = np.unique(y)
        weight = positive_weights(sample_weight, len(y))
        X, y, weight = _weighted(X, y, weight, 1.0)  # liblinear would count the classes of what has no weight
        if len(left := np.unique(y)) < len(classes):
            raise lost_classes(classes, np.searchsorted(classes, left))
        seed = 0 if self.random_state is None else self.random_state
        peer = ScikitLinearSVC(**self.get_params() | {"random_state": seed})
        interruptible(lambda: peer.fit(X, y, weight))  # Ctrl-C leaves nothing of it
        cost = self.C * weight
        factor = class_factors(self.class_weight, peer.classes_, y, weight)
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        label = np.searchsorted(peer.classes_, y)
        if self.multi_class == "crammer_singer":
            primal = joint_objective(peer, X, label, cost * factor[label], constant)
            certificates = [Certificate(primal, -np.inf, np.inf, np.inf, peer.n_iter_, False, convex=True)]
        else:
            certificates = judged_l1(peer, X, label, cost, factor, constant)
        return LinearFit(
            **features.found(),
            coef=peer.coef_,
            intercept=peer.intercept_,
            n_iter=peer.n_iter_,
            certificate=certificates[0] if len(certificates) == 1 else tuple(certificates),
            classes=peer.classes_,
        )


class LinearSVR(Regressor, LinearMachine, ScikitLinearSVR):  # type: ignore[misc]
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

    def _pose(self, X: Any, y: Any, sample_weight: Any, context: Any) -> PosedLinear:
        X, y, features = _validated(self, X, y)
        squared = self.loss == "squared_epsilon_insensitive"
        if not squared and not self.dual:
            raise _unsupported("l2", self.loss, self.dual)
        y = np.asarray(y, dtype=np.float64)
        X, target, cost = _weighted(X, y, positive_weights(sample_weight, len(y)), self.C)
        posed = squared_epsilon_insensitive if squared else epsilon_insensitive
        problem = posed(target, cost, self.epsilon, bias=False)
        return PosedLinear(features, X, [problem], _solver(self, squared, context))

    def predict(self, X: Any) -> Any:
        """The values w'x + b."""
        return self._decided(fit_of(self), X)


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


def _validated(machine: Any, X: Any, y: Any) -> tuple[Any, Any, InputFeatures]:
    X, y, features = in_memory(X), in_memory(y, "y"), InputFeatures(machine)
    X, y = validate_data(features, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    return X, y, features


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
