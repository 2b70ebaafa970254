"""Perceptrons: classifiers that learn on-line, from one example at a time, and only from their mistakes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from mercer.expansion import ROUNDED, Expansion
from mercer.kernels import Kernel, Linear
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine, warn_indefinite, warn_of_zeros
from mercer.machines.fit import InputFeatures, view
from mercer.machines.online import OnlineClassifier, OnlineFit, PosedPasses, codes_of, more_than_one
from mercer.machines.targets import weights_at_least_zero
from mercer.machines.training import vectors
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Samples, Vectors
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers.certificate import Witness
from mercer.solvers.operator import Positions
from mercer.solvers.perceptron import Classification, DualLearner, PrimalLearner, largest

#: Rows of a stream that are looked at together: what ``partial_fit`` copies of its data at most.
PART = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class PerceptronFit(OnlineFit):
    """The weights of the features."""

    coef: Vector
    intercept: Vector

    @remembered
    def expansion(self) -> Expansion:
        if len(self.coef) == 1:
            return Expansion(Linear(), Vectors(self.coef), np.ones(1), self.intercept[0])
        return Expansion(Linear(), Vectors(self.coef), np.eye(len(self.coef)), self.intercept)


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

    coef_, intercept_, expansion_ = view(), view(), view()

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> PosedPasses:
        features = InputFeatures(self)
        x = self._vectors(X, features)
        classes, codes = codes_of(y, len(x))
        weight = weights_at_least_zero(sample_weight, codes)
        more_than_one(np.unique(codes[weight > 0]))
        examples = Classification(codes, weight, len(classes), largest(x.squares()[weight > 0]))
        learner = PrimalLearner(examples.outputs, x.width)
        return PosedPasses(features, classes, x, examples, learner, lambda order: learner.learn(x, examples, order))

    def _keep(self, posed: PosedPasses, mistakes: Any) -> PerceptronFit:
        return PerceptronFit(
            **posed.features.found(),
            classes=posed.classes,
            mistakes=np.array(mistakes, dtype=np.int64),
            radius=float(np.sqrt(posed.examples.radius)),
            coef=posed.learner.weights[:, :-1].copy(),
            intercept=posed.learner.weights[:, -1].copy(),
        )

    def _continued(self, last: Any, classes: Array, X: Any, y: Any, sample_weight: Any) -> PerceptronFit:
        features = InputFeatures(self, last)
        x = self._vectors(X, features)
        _, codes = codes_of(y, len(x), classes)
        weight = weights_at_least_zero(sample_weight, codes)
        radius = max(largest(x.squares()[weight > 0]), 0.0 if last is None else last.radius**2)
        examples = Classification(codes, weight, len(classes), radius)
        learner = PrimalLearner(examples.outputs, x.width)
        if last is not None:
            learner.weights = np.column_stack([last.coef, last.intercept])
        mistakes = int(learner.learn(x, examples, np.arange(len(x))).sum())
        posed = PosedPasses(features, classes, x, examples, learner, lambda order: learner.learn(x, examples, order))
        return self._keep(posed, np.append([] if last is None else last.mistakes, mistakes))

    def _vectors(self, X: Any, features: InputFeatures) -> Any:
        accepted = dict(accept_sparse="csr", dtype=["float64", "float32"], order="C")
        return vectors(validate_data(features, in_memory(X), reset=not features.known, **accepted))

    def _decided(self, fit: PerceptronFit, X: Any) -> Array:
        return fit.expansion(self._vectors(X, InputFeatures(self, fit)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelPerceptronFit(OnlineFit):
    """Functions spanned by the samples they were wrong about, with what it takes to go on learning."""

    kernel: Kernel
    #: The support, or one sample if there is none; its places among all samples, and the positions of its classes.
    samples: Samples
    support: Positions
    support_codes: Positions
    #: The learner; see ``mercer.solvers.perceptron.DualLearner``.
    coefficients: Vector
    late: Vector
    bias: Vector
    late_bias: Vector
    clock: int
    budget: int
    averaged: bool
    n_samples_seen: int

    @property
    def n_support(self) -> Array:
        return np.bincount(self.support_codes, minlength=len(self.classes)).astype(np.int32)

    @property
    def learner(self) -> DualLearner:
        """What goes on learning, in memory of its own."""
        a, late, b, late_b = (v.copy() for v in (self.coefficients, self.late, self.bias, self.late_bias))
        return DualLearner(a, late, b, late_b, np.arange(len(self.support)), self.clock, self.budget)

    @remembered
    def expansion(self) -> Expansion:
        a, b = self.learner.averaged() if self.averaged else (self.coefficients, self.bias)
        a = a if len(a) else np.zeros((1, len(b)))
        if len(b) == 1:
            return Expansion(self.kernel, self.samples, a[:, 0], np.asarray(b[0]))
        return Expansion(self.kernel, self.samples, a, b)


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

    expansion_, support_, n_support_, n_samples_seen_ = view(), view(), view(), view()

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> PosedPasses:
        X, features = self._admitted(X)
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(X)
        classes, codes = codes_of(y, len(samples))
        weight = weights_at_least_zero(sample_weight, codes)
        more_than_one(np.unique(codes[weight > 0]))
        kept = np.flatnonzero(weight)
        kernel = kernel.resolve(samples if len(kept) == len(samples) else samples.take(kept))
        gram = kernel.gram(samples)
        examples = Classification(codes, weight, len(classes), largest(gram.diag()[weight > 0]))
        learner = self._nothing_learnt(len(samples), examples.outputs)
        held = gram.held() if self.max_iter > 1 else gram
        return PosedPasses(
            features, classes, samples, examples, learner, lambda order: learner.learn(held, examples, order), gram
        )

    def _keep(self, posed: PosedPasses, mistakes: list[int]) -> KernelPerceptronFit:
        assert posed.gram is not None
        n = len(posed.samples)
        return KernelPerceptronFit(
            **posed.features.found(),
            **self._learned(posed.gram.kernel, posed.samples, np.arange(n), posed.learner, posed.examples),
            classes=posed.classes,
            mistakes=np.array(mistakes, dtype=np.int64),
            n_samples_seen=n,
        )

    def _warn(self, posed: PosedPasses, fit: KernelPerceptronFit) -> None:
        assert posed.gram is not None
        warn_of_zeros(fit.kernel, posed.gram.diag(), posed.samples)
        warn_of_no_kernel(fit)

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

    def _continued(self, last: Any, classes: Array, X: Any, y: Any, sample_weight: Any) -> KernelPerceptronFit:
        features = InputFeatures(self, last)
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(self._checked(X, features))
        _, codes = codes_of(y, len(samples), classes)
        weight = weights_at_least_zero(sample_weight, codes)
        if last is None:
            last = self._empty(features, classes, self._chosen_kernel(features.count).resolve(samples), samples)
        fit, mistakes = last, 0
        for start in range(0, len(samples), PART):
            part = np.arange(start, min(start + PART, len(samples)))
            fit, wrong = self._after(fit, samples.take(part), codes[part], weight[part])
            mistakes += wrong
        if not samples.numeric:  # of vectors, those of one part may well be zero
            warn_of_zeros(fit.kernel, fit.kernel.diag_of(samples), samples)
        learned: KernelPerceptronFit = replace(fit, mistakes=np.append(last.mistakes, mistakes))
        return learned

    def _empty(self, features: InputFeatures, classes: Array, kernel: Kernel, samples: Samples) -> KernelPerceptronFit:
        """The fit to no samples, with one of these to tell their kind."""
        none = np.empty(0, dtype=np.int64)
        learner = self._nothing_learnt(0, 1 if len(classes) == 2 else len(classes))
        found = self._learned(kernel, samples, none, learner, Classification(none, np.empty(0), len(classes), 0.0))
        return KernelPerceptronFit(**features.found(), **found, classes=classes, mistakes=none, n_samples_seen=0)

    def _after(
        self, fit: KernelPerceptronFit, samples: Samples, codes: Positions, weight: Array
    ) -> tuple[KernelPerceptronFit, int]:
        """The fit after one pass over a part of a stream: a pool of the support so far and of this part."""
        known = len(fit.support)
        pool = fit.samples.joined(samples) if known else samples
        gram = fit.kernel.gram(pool, budget=0)
        radius = max(largest(gram.diag()[known:][weight > 0]), fit.radius**2)
        labels = np.concatenate([fit.support_codes, codes])
        examples = Classification(labels, np.concatenate([np.zeros(known), weight]), len(fit.classes), radius)
        places = np.concatenate([fit.support, fit.n_samples_seen + np.arange(len(samples))])
        learner = fit.learner.widened(len(samples))
        mistakes = int(learner.learn(gram, examples, np.arange(known, len(pool))).sum())
        found = self._learned(fit.kernel, pool, places, learner, examples)
        fit = replace(fit, n_samples_seen=fit.n_samples_seen + len(samples), **found)
        if len(fit.expansion) <= len(samples):  # then it costs less than what was computed anyway
            warn_of_no_kernel(fit)
        return fit, mistakes

    def _learned(
        self, kernel: Kernel, pool: Samples, places: Positions, learner: DualLearner, examples: Classification
    ) -> dict[str, Any]:
        """The fields of a fit that hold what a learner has learned; the pool has these places in the data."""
        kept, own = learner.kept(), examples.label[learner.support]
        return dict(
            kernel=kernel,
            # the zero function, too, has samples
            samples=pool.take(learner.support if len(learner.support) else np.arange(1)),
            support=places[learner.support],
            support_codes=own,
            coefficients=kept.coefficients,
            late=kept.late,
            bias=kept.bias.copy(),
            late_bias=kept.late_bias.copy(),
            clock=kept.clock,
            budget=kept.budget,
            averaged=bool(self.averaged),
            radius=float(np.sqrt(examples.radius)),
        )

    def _decided(self, fit: KernelPerceptronFit, X: Any) -> Array:
        return fit.expansion(self._new_samples(X, fit))


def warn_of_no_kernel(fit: KernelPerceptronFit) -> None:
    """Says that the kernel is none, if a'Ka of the coefficients tells."""
    if fit.kernel.validity == "psd":
        return
    squared, size = fit.expansion.energy()
    lowest = float(np.min(squared + ROUNDED * size**2))
    if lowest < 0:
        witness = Witness(float(np.min(squared)))
        warn_indefinite(
            fit.kernel, witness, "Mistakes need not come to an end, nor need f be right where it made none."
        )
