"""Perceptrons: classifiers that learn on-line, from one example at a time, and only from their mistakes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.expansion import ROUNDED, Expansion
from mercer.kernels import Kernel, Linear
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine, warn_indefinite, warn_of_zeros
from mercer.machines.online import OnlineClassifier
from mercer.machines.training import vectors
from mercer.samples import Samples, Vectors
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers.certificate import Witness
from mercer.solvers.operator import Positions
from mercer.solvers.perceptron import Classification, DualLearner, PrimalLearner, largest

#: Rows of a stream that are looked at together: what ``partial_fit`` copies of its data at most.
PART = 4096


class Perceptron(OnlineClassifier, BaseEstimator):  # type: ignore[misc]
    """Rosenblatt's perceptron: weights of the features, changed by every example on the wrong side, and only by those.

    Example by example, for labels y = -1 or 1: if ``y (w'x + b) <= 0`` then ``w <- w + y x`` and ``b <- b + y R^2``,
    R the largest |x|. If some hyperplane separates the classes, with all examples at least gamma away from it, the rule
    finds one after at most ``(2 R / gamma)^2`` mistakes (Novikoff); else it never ends, and ``max_iter`` stops it.
    Of more than two classes each is told from the rest, and the largest value decides. Dense and CSR data are used as
    they are.

    Parameters
    ----------
    max_iter : int, default=1000
        The most passes over the data.
    shuffle : bool, default=False
        Whether every pass takes the examples in a new random order.
    random_state : int, RandomState instance or None, default=None
        The seed of these orders; None is a seed like any other.
    verbose : bool, default=False
        Whether to write the mistakes of every pass to the standard output.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The bias b.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    mistakes_ : ndarray of shape (n_iter_,)
        The mistakes of every pass, those of all classes together.
    n_iter_ : int
        The number of passes.
    radius_ : float
        R. Of data that come in parts it is the largest |x| so far.
    expansion_ : Expansion
        The same function: the linear kernel at w, with coefficient 1.

    References
    ----------
    Rosenblatt, "The perceptron: a probabilistic model for information storage and organization in the brain",
    Psychological Review 65, 1958. Novikoff, "On convergence proofs for perceptrons", 1963.
    Cristianini, Shawe-Taylor, "An Introduction to Support Vector Machines", 2000, table 2.1 and theorem 2.3.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> machine = Perceptron().fit([[2.0], [3.0], [-1.0]], ["b", "b", "a"])
    >>> machine.mistakes_, machine.coef_, machine.intercept_
    (array([2, 0]), array([[3.]]), array([0.]))
    >>> machine.predict([[4.0], [-4.0]])
    array(['b', 'a'], dtype='<U1')
    """

    def __init__(
        self, *, max_iter: int = 1000, shuffle: bool = False, random_state: Any = None, verbose: bool | int = False
    ) -> None:
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        context = self._init_callback_context(max_subtasks=self.max_iter)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        x = self._vectors(X, reset=True)
        codes = self._codes(y, len(x), reset=True)
        weight = self._weights(sample_weight, codes)
        self._more_than_one(np.unique(codes[weight > 0]))
        lesson = Classification(codes, weight, len(self.classes_), largest(x.squares()[weight > 0]))
        learner = PrimalLearner(lesson.outputs, x.width)
        try:
            self._epochs(len(x), lambda order: learner.learn(x, lesson, order), context)
        finally:  # what was learned before Ctrl-C is kept
            self._keep(learner, lesson)
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _continue(self, X: Any, y: Any, sample_weight: Any, first: bool) -> int:
        x = self._vectors(X, reset=first)
        codes = self._codes(y, len(x), reset=False)
        weight = self._weights(sample_weight, codes)
        radius = max(largest(x.squares()[weight > 0]), 0.0 if first else self.radius_**2)
        lesson = Classification(codes, weight, len(self.classes_), radius)
        learner = PrimalLearner(lesson.outputs, x.width)
        if not first:
            learner.weights = np.column_stack([self.coef_, self.intercept_])
        mistakes = learner.learn(x, lesson, np.arange(len(x)))
        self._keep(learner, lesson)
        return int(mistakes.sum())

    def _vectors(self, X: Any, *, reset: bool) -> Any:
        own = in_memory(X)
        return vectors(
            validate_data(self, own, reset=reset, accept_sparse="csr", dtype=["float64", "float32"], order="C")
        )

    def _keep(self, learner: PrimalLearner, lesson: Classification) -> None:
        self.coef_ = learner.weights[:, :-1].copy()
        self.intercept_ = learner.weights[:, -1].copy()
        self.radius_ = float(np.sqrt(lesson.radius))

    @property
    def expansion_(self) -> Expansion:
        check_is_fitted(self)
        if len(self.coef_) == 1:
            return Expansion(Linear(), Vectors(self.coef_), np.ones(1), self.intercept_[0])
        return Expansion(Linear(), Vectors(self.coef_), np.eye(len(self.coef_)), self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """The value w'x + b of every row: positive for the second of two classes; of more, one column per class."""
        check_is_fitted(self)
        return self.expansion_(self._vectors(X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelPerceptron(OnlineClassifier, KernelMachine):
    """The perceptron in the space of a kernel: its function is spanned by the examples it was wrong about.

    Example by example, for labels y = -1 or 1: if ``y f(x_i) <= 0`` then ``a_i <- a_i + y`` and ``b <- b + y R^2``,
    where f(x) = sum_j a_j k(x_j, x) + b and R^2 is the largest k(x, x). With the linear kernel it makes the mistakes of
    ``Perceptron``. Of more than two classes each is told from the rest; all share the kernel values.

    Memory: the support vectors, and blocks of kernel values of 16 MiB, or of 64 rows where that is more; the matrix of
    all examples only if it fits 256 MiB. ``partial_fit`` keeps nothing of its data but the support vectors, at most one
    per mistake; with ``budget``, there are never more than that.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf", "poly" ... with scikit-learn's defaults), any kernel of ``mercer.kernels``, or a
        function of two samples.
    averaged : bool, default=False
        Whether the result is the mean of the functions after every example, instead of the last one.
    budget : int, default=None
        The most support vectors. When there is one too many, the one whose removal changes f least, of least
        ``sum_c a_ic^2 k(x_i, x_i)``, is dropped with its steps of the bias; of equals the oldest. It excludes
        ``averaged``: a mean over time needs the support vectors of all times.
    max_iter : int, default=100
        The most passes over the data.
    shuffle, random_state, verbose : as in :class:`Perceptron`.

    Attributes
    ----------
    expansion_ : Expansion
        The fitted functions, one output for two classes, else one per class.
    support_, n_support_ : ndarray
        The positions of the support vectors among the samples, the oldest first, and how many each class has.
    n_samples_seen_ : int
        The samples so far: those that came in parts are numbered from the first to the last.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    mistakes_ : ndarray of shape (n_iter_,)
        The mistakes of every pass, those of all classes together.
    n_iter_ : int
        The number of passes.
    radius_ : float
        R. Of data that come in parts it is the largest root of k(x, x) so far.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found: by ``partial_fit`` from the samples of its first call.

    References
    ----------
    Aizerman, Braverman, Rozonoer, "Theoretical foundations of the potential function method in pattern recognition
    learning", Automation and Remote Control 25, 1964. Freund, Schapire, "Large margin classification using the
    perceptron algorithm", Machine Learning 37, 1999. Wang, Crammer, Vucetic, "Breaking the curse of kernelization:
    budgeted stochastic gradient descent for large-scale SVM training", Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> from mercer import KernelPerceptron
    >>> from mercer.kernels import Polynomial
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> machine = KernelPerceptron(Polynomial(2)).fit(X, y)
    >>> machine.predict(X), int(machine.mistakes_[-1])
    (array([0, 1, 1, 0]), 0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "averaged": ["boolean"],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        averaged: bool = False,
        budget: int | None = None,
        max_iter: int = 100,
        shuffle: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.kernel = kernel
        self.averaged = averaged
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        context = self._init_callback_context(max_subtasks=self.max_iter)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        X = self._validated(X, reset=True)
        kernel = self._chosen_kernel(getattr(self, "n_features_in_", 1))
        samples = kernel.samples(X)
        codes = self._codes(y, len(samples), reset=True)
        weight = self._weights(sample_weight, codes)
        self._more_than_one(np.unique(codes[weight > 0]))
        kept = np.flatnonzero(weight)
        self.kernel_ = kernel.resolve(samples if len(kept) == len(samples) else samples.take(kept))
        gram = self.kernel_.gram(samples)
        lesson = Classification(codes, weight, len(self.classes_), largest(gram.diag()[weight > 0]))
        learner = self._nothing_learnt(len(samples), lesson.outputs)
        gram = gram.held() if self.max_iter > 1 else gram
        try:
            self._epochs(len(samples), lambda order: learner.learn(gram, lesson, order), context)
        finally:  # what was learned before Ctrl-C is kept
            self.n_samples_seen_ = len(samples)
            self._keep(samples, np.arange(len(samples)), learner, lesson)
        warn_of_zeros(self.kernel_, gram.diag(), samples)
        self._warn_of_kernel()
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _nothing_learnt(self, pool: int, outputs: int) -> DualLearner:
        if self.averaged and self.budget is not None:
            raise ValueError(
                f"averaged=True needs the support vectors of all times, but budget={self.budget} drops some; "
                "use one or the other"
            )
        return DualLearner.empty(pool, outputs, self.budget or 0)

    def _takes_parts(self) -> bool:
        if self._precomputed():
            raise AttributeError("partial_fit needs samples, but a precomputed matrix gives only their similarities")
        return True

    def _continue(self, X: Any, y: Any, sample_weight: Any, first: bool) -> int:
        X = self._validated(X, reset=first)
        samples = self._chosen_kernel(getattr(self, "n_features_in_", 1)).samples(X)
        codes = self._codes(y, len(samples), reset=False)
        weight = self._weights(sample_weight, codes)
        if first:
            self.kernel_ = self._chosen_kernel(getattr(self, "n_features_in_", 1)).resolve(samples)
            outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
            self.radius_, self._learner = 0.0, self._nothing_learnt(0, outputs)
            self._pool: Samples | None = None
            self.support_ = self._support_codes = np.empty(0, dtype=np.int64)
            self.n_samples_seen_ = 0
        mistakes = 0
        for start in range(0, len(samples), PART):
            part = np.arange(start, min(start + PART, len(samples)))
            mistakes += self._part(samples.take(part), codes[part], weight[part])
        if not samples.numeric:  # of vectors, those of one part may well be zero
            warn_of_zeros(self.kernel_, self.kernel_.diag_of(samples), samples)
        return mistakes

    def _part(self, samples: Samples, codes: Positions, weight: Array) -> int:
        """One pass over a part of a stream: a pool of the support so far and of this part."""
        known = 0 if self._pool is None else len(self._pool)
        pool = samples if self._pool is None else self._pool.joined(samples)
        gram = self.kernel_.gram(pool, budget=0)
        radius = max(largest(gram.diag()[known:][weight > 0]), self.radius_**2)
        labels = np.concatenate([self._support_codes, codes])
        lesson = Classification(labels, np.concatenate([np.zeros(known), weight]), len(self.classes_), radius)
        places = np.concatenate([self.support_, self.n_samples_seen_ + np.arange(len(samples))])
        learner = self._learner.widened(len(samples))
        mistakes = learner.learn(gram, lesson, np.arange(known, len(pool)))
        self.n_samples_seen_ += len(samples)
        self._keep(pool, places, learner, lesson)
        if len(self.expansion_) <= len(samples):  # then it costs less than what was computed anyway
            self._warn_of_kernel()
        return int(mistakes.sum())

    def _warn_of_kernel(self) -> None:
        """Says that the kernel is none, if a'Ka of the coefficients tells."""
        if self.kernel_.validity == "psd":
            return
        squared, size = self.expansion_.energy()
        lowest = float(np.min(squared + ROUNDED * size**2))
        if lowest < 0:
            witness = Witness(float(np.min(squared)))
            warn_indefinite(self, witness, "Mistakes need not come to an end, nor need f be right where it made none.")

    def _keep(self, pool: Samples, places: Positions, learner: DualLearner, lesson: Classification) -> None:
        """The support, from which ``partial_fit`` goes on, and the function; the pool has these places in the data."""
        self._learner = learner.kept()
        self.support_, self._support_codes = places[learner.support], lesson.label[learner.support]
        self.n_support_ = np.bincount(self._support_codes, minlength=len(self.classes_)).astype(np.int32)
        self._pool = pool.take(learner.support) if len(learner.support) else None
        self.radius_ = float(np.sqrt(lesson.radius))
        a, b = self._learner.averaged() if self.averaged else (self._learner.coefficients, self._learner.bias)
        spanning = pool.take(np.arange(1)) if self._pool is None else self._pool
        a = a if len(a) else np.zeros((1, len(b)))  # the zero function, too, has samples
        self.expansion_ = (
            Expansion(self.kernel_, spanning, a[:, 0], np.asarray(b[0]))
            if len(b) == 1
            else Expansion(self.kernel_, spanning, a, b.copy())
        )

    def decision_function(self, X: Any) -> Array:
        """The value f(x) of every sample: positive for the second of two classes; of more, one column per class."""
        check_is_fitted(self)
        return self.expansion_(self._validated(X, reset=False))
