"""What the support vector machines share: parameters, the way from data to problems, and the fitted attributes.

A machine says how its targets are read, which problems they pose and how the solutions become one expansion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context, is_outlier_detector
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._sparse import _align_api_if_sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer.expansion import Expansion, root
from mercer.gram import Gram
from mercer.kernels import Kernel, Linear, Precomputed, named_kernel
from mercer.kernels.named import NAMES
from mercer.kernels.pairs import chunks
from mercer.kernels.vectors import resolved_gamma
from mercer.machines.base import (
    FLOATS,
    KernelMachine,
    precise,
    tell,
    warn_caller,
    warn_of_kernel,
    warn_of_zeros,
    watch,
)
from mercer.machines.progress import line, summary
from mercer.machines.targets import positive_weights
from mercer.machines.training import Positions, Training, certificate_of, dense, finite, stored, vectors
from mercer.memory import keep_at_most
from mercer.problem import Problem, Vector
from mercer.samples import Samples, Similarities, SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import QP, SMO, Progress, Solution, SolverInterrupted
from mercer.threads import limited

NOT_FINITE = "The dual coefficients or intercepts are not finite. The input data may contain large values and need to \
be preprocessed."
#: The attributes of a solution.
FOUND = (
    *("_expansion", "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "offset_"),
    *("certificate_", "fit_status_", "n_iter_", "shape_fit_"),
)


class SupportMachine(CallbackSupportMixin, KernelMachine):  # type: ignore[misc]
    """A machine whose function is spanned by its support vectors, found by ``SMO``."""

    #: Whether coefficients may be at the ends of an interval, so that samples have none, a free or the largest one.
    _bounded: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "solver": [StrOptions({"smo", "qp"})],
    }

    # -- what a machine says ----------------------------------------------------------------------------------

    def _targets(self, y: Any, samples: int) -> Array:
        """One target per sample, checked."""
        raise NotImplementedError

    def _arranged(self, target: Array, weight: Vector) -> Positions:
        """The positions of the samples to train on, in the order the problems shall have."""
        return np.flatnonzero(weight > 0)

    def _problems(self, training: Training) -> list[Problem]:
        raise NotImplementedError

    def _combined(
        self, training: Training, problems: list[Problem], solutions: list[Solution]
    ) -> tuple[Vector, Vector]:
        """The coefficients, one row per sample of positive weight, and the biases of all solutions."""
        (solution,) = solutions
        return solution.coefficients[:, None], np.atleast_1d(solution.bias)

    def _separated(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        """The coefficients of each problem, as far as the combined ones tell: where a warm start begins."""
        return [coefficients[:, 0]]

    def _size(self, training: Training) -> float:
        """The size of the values of f against which errors are measured."""
        return 1.0

    # -- fit --------------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X and targets y; ``sample_weight`` multiplies C, or the weight 1, per sample."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        training, gram, problems, start = self._posed_anew(X, y, sample_weight)
        self._forget()
        try:
            with limited(self.n_jobs):
                solutions = self._solver(training, context).solve(gram, problems, start, training.order)
        except SolverInterrupted as interrupt:
            with contextlib.suppress(ValueError):  # what there is may be too little for a model
                self._keep(X, training, problems, interrupt.solutions, precisely=False)
            raise
        self._refuse_overflow(training, solutions)
        # Of vectors only a matrix of zeros counts, and then no function has a norm, where norms are known.
        if not training.samples.numeric or not any(abs(solution.squared_norm) > 0 for solution in solutions):
            warn_of_zeros(training.kernel, gram.diag()[training.place], training.samples)
        self._keep(X, training, problems, solutions)
        if self.verbose:
            tell(self, None, "solve", summary(list(map(certificate_of, solutions)), float(self.tol)), {})
        self._warn(training, solutions)
        warn_of_kernel(self, X, None if is_outlier_detector(self) else y)
        self._complete(training, gram)
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _posed_anew(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Training, Gram, list[Problem], list[Vector | None] | None]:
        """What is to be solved, and from where on; data that are refused leave the machine as it was."""
        before = dict(self.__dict__)
        try:
            training = self._training(X, y, sample_weight)
            problems = self._problems(training)
            gram = training.kernel.gram(training.samples, self._budget(), lasting=False)
            return training, gram, problems, self._start(training, problems)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget(self) -> None:
        """Lets go of the function of an earlier fit: it is of other data, and its memory is wanted."""
        for name in FOUND:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_expansion")

    def _complete(self, training: Training, gram: Gram) -> None:
        """Whatever a machine adds to the solutions."""

    def _solver(self, training: Training, context: Any = None) -> SMO | QP:
        if self.solver == "qp":
            return QP(tol=float(self.tol))
        return SMO(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            shrinking=bool(self.shrinking),
            progress=self._watch(context),
        )

    def _budget(self) -> int:
        """The bytes that a fit may take beside the user's data."""
        return int(self.cache_size * 2**20)

    def _watch(self, context: Any) -> Callable[[Progress], bool | None] | None:
        """What tells scikit-learn's callbacks, and with ``verbose`` the user, how far the solver has come."""
        return watch(self, context, line)

    # -- data -------------------------------------------------------------------------------------------------

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        kernel, samples = self._opened(X)
        n = len(samples)
        target = self._targets(y, n)
        given = in_memory(sample_weight, "sample_weight")
        none = np.asarray(given).size == 0  # which scikit-learn takes for no weights
        weight = positive_weights(None if none else given, n)
        place = self._arranged(target, weight)
        dropped = len(place) < n and (kernel.pending or kernel.by_call)
        resolved = kernel.resolve(samples.take(np.sort(place)) if dropped else samples)
        return Training(resolved, samples, place, target[place], weight[place])

    def _opened(self, X: Any) -> tuple[Kernel, Samples]:
        """The kernel that the parameters name, and X as its samples."""
        self._function: Any = None
        self._X_fit = None
        if isinstance(self.kernel, Kernel):
            return self.kernel, self.kernel.samples(self._validated(X, reset=True))
        if callable(self.kernel):  # called once for the whole matrix, as scikit-learn does
            self._function, self._X_fit = self.kernel, in_memory(X)
            known = Similarities(self._matrix(X, _num_samples(X)))
            if not known.symmetric:
                raise ValueError("the kernel function must be symmetric, but f(X, X) and its transpose differ")
            return Precomputed(), known
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        samples = vectors(self._validated(X, reset=True))
        if self.kernel == "precomputed":
            if len(samples) != samples.width:
                raise ValueError(
                    f"Precomputed matrix must be a square matrix. Input is a {len(samples)}x{samples.width} matrix."
                )
            return Precomputed(), Precomputed().samples(samples)
        gamma = resolved_gamma(self.gamma, samples) if isinstance(self.gamma, str) else self.gamma
        if self.gamma == "scale" and not (0 < gamma < np.inf):
            raise ValueError(NOT_FINITE)  # the variance of X, or its inverse, is beyond float64
        kernel = named_kernel(self.kernel, columns=samples.width, gamma=gamma, degree=self.degree, coef0=self.coef0)
        return kernel, samples

    def _matrix(self, X: Any, columns: int) -> Array:
        """The values of a user's function between X and the training data, which are so many."""
        K = self._function(X, self._X_fit)
        K = np.asarray(dense(K))
        K = K if K.dtype in FLOATS else K.astype(np.float64)
        expected = len(X) if type(X) is np.ndarray else _num_samples(X), columns
        if K.shape != expected:
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {expected[0]} samples and {expected[1]} training "
                "samples; it takes two blocks of samples and returns the matrix of all pairs"
            )
        flat = K.T if K.flags.f_contiguous else K
        if not all(finite(flat[some]) for some in chunks(len(flat), flat[:1].nbytes)):
            raise ValueError("the kernel function returned NaN or infinity")
        return K

    def _seen(self, X: Any) -> Samples:
        """New data as samples of the fitted kernel."""
        if not hasattr(self, "_expansion"):
            check_is_fitted(self)
        if self._function is not None:
            return Similarities(self._matrix(in_memory(X), self.shape_fit_[0]))
        if isinstance(self.kernel, Kernel):
            return self.kernel_.samples(self._validated(X, reset=False))
        X = self._validated(X, reset=False)
        if sp.issparse(self.support_vectors_):
            X = X if sp.issparse(X) else sp.csr_array(X)
        elif sp.issparse(X):
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        return self.kernel_.samples(vectors(X))

    def _value(self, X: Any) -> Array:
        """The value of the expansion at new data."""
        samples = self._seen(X)
        with limited(self.n_jobs):
            return self._expansion(samples)

    def _start(self, training: Training, problems: list[Problem]) -> list[Vector | None] | None:
        """Where the solver begins: with ``warm_start``, at the coefficients of the last fit to as many samples."""
        rows = len(training.samples)
        if not (self.warm_start and hasattr(self, "dual_coef_") and self.shape_fit_[0] == rows):
            return None
        old = dense(self.dual_coef_)
        coefficients = np.zeros((rows, len(old)))
        coefficients[self.support_] = old.T
        return list(self._separated(training, problems, coefficients[training.place]))

    # -- fitted attributes ------------------------------------------------------------------------------------

    def _keep(
        self, X: Any, training: Training, problems: list[Problem], solutions: list[Solution], *, precisely: bool = True
    ) -> None:
        """Sets the fitted attributes, the function last: Ctrl-C while samples are copied leaves all but that.

        Without ``precisely`` they are copied as they are, which is sooner done.
        """
        coefficients, bias = self._combined(training, problems, solutions)
        if not (np.isfinite(coefficients).all() and np.isfinite(bias).all()):
            raise ValueError(NOT_FINITE)
        support = self._support(training, np.flatnonzero(coefficients.any(axis=1)))
        spanning = support if len(support) else np.zeros(1, dtype=np.int64)  # the zero function, too, has samples
        coefficients = coefficients[spanning]
        self.kernel_ = training.kernel
        self.shape_fit_ = tuple(X.shape) if hasattr(X, "shape") else self._shape(training)
        self.support_ = training.place[support].astype(np.int32)
        self._support_weight = training.weight[support]
        self.dual_coef_ = np.ascontiguousarray(coefficients[: len(support)].T)
        if isinstance(training.samples, SparseVectors):
            self.dual_coef_ = stored(self.dual_coef_)
        self.intercept_ = np.array(bias)
        certificates = [certificate_of(solution) for solution in solutions]
        self.certificate_ = certificates[0] if len(certificates) == 1 else tuple(certificates)
        self.fit_status_ = int(not all(certificate.converged for certificate in certificates))
        self.n_iter_ = self._iterations([certificate.iterations for certificate in certificates])
        # Their memory is taken from what the core keeps for the next fit.
        times = 3 if precisely and training.samples.dtype != np.float64 else 1
        keep_at_most(max(0, self._budget() - times * training.bytes_of(len(spanning))))
        samples = training.kept(spanning)
        self.support_vectors_ = self._vectors(X, samples if len(support) else samples.take(support))
        if precisely and not isinstance(training.kernel, Precomputed):  # of which nothing is computed in float32
            samples = precise(training.kernel, samples, coefficients, self._size(training))
        f = Expansion(
            training.kernel,
            samples,
            coefficients[:, 0] if coefficients.shape[1] == 1 else coefficients,
            bias[0] if len(bias) == 1 else bias,
        )
        known = not isinstance(samples, Similarities) or samples.acquainted
        self._expansion = f if known else replace(f, length=self._length(f, training, spanning))

    def _refuse_overflow(self, training: Training, solutions: Sequence[Solution]) -> None:
        """No function comes of a kernel that is not finite, though its coefficients, as far as they go, may be."""
        if all(certificate_of(solution).converged for solution in solutions):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            own = training.kernel.diag_of(training.samples)
        if not np.isfinite(own[training.place]).all():
            raise ValueError(NOT_FINITE)

    def _length(self, f: Expansion, training: Training, spanning: Positions) -> Vector:
        """|w| of the function of some samples of a given matrix: the root of sum_i a_i (f(x_i) - b)."""
        squared = np.zeros(np.shape(f.bias))
        for some in chunks(len(spanning), 8 * len(training.samples)):
            squared += np.sum(f.coefficients[some] * (f(training.take(spanning[some])) - f.bias), axis=0)
        size = np.sqrt(np.abs(training.kernel.diag_of(training.take(spanning)))) @ np.abs(f.coefficients)
        return root(squared, size)

    def _support(self, training: Training, nonzero: Positions) -> Positions:
        """The positions of the support vectors, in the order of the attributes."""
        self.n_support_ = np.array([len(nonzero)], dtype=np.int32)
        return nonzero

    def _shape(self, training: Training) -> tuple[int, ...]:
        columns = (self.n_features_in_,) if hasattr(self, "n_features_in_") else ()
        return len(training.samples), *columns

    def _iterations(self, steps: list[int]) -> Any:
        return steps[0]

    def _vectors(self, X: Any, samples: Samples) -> Any:
        """The support vectors as the user gave them; of a given matrix there are none."""
        if isinstance(samples, Similarities):
            return np.empty((0, 0))
        if isinstance(samples, SparseVectors):
            return _align_api_if_sparse(samples.array)
        return samples.array if isinstance(samples, Vectors) else _safe_indexing(X, self.support_)

    def _warn(self, training: Training, solutions: Sequence[Solution]) -> None:
        """Says how far the solver got where that is not far enough."""
        certificates = list(map(certificate_of, solutions))
        open_ends = [c for c in certificates if not c.converged]
        if not open_ends:
            return
        reached = f"the KKT conditions are violated by {max(c.violation for c in open_ends):.3g}, tol is {self.tol:g}."
        if any(c.iterations >= self.max_iter >= 0 for c in open_ends):
            text = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler. At the end {reached}"
            )
        else:
            text = f"The solver stopped before it converged: {reached} Columns of one scale, or a smaller C, may help."
        warn_caller(text, ConvergenceWarning)

    @property
    def expansion_(self) -> Expansion:
        """The fitted function."""
        check_is_fitted(self)
        return self._expansion

    @property
    def coef_(self) -> Any:
        """The weights of the features, if the kernel is linear; read-only."""
        if not (self.kernel == "linear" or isinstance(self.kernel, Linear)):
            raise AttributeError("coef_ is only available when using a linear kernel")
        a = self.expansion_.coefficients[: len(self.support_)].reshape(len(self.support_), -1).T
        if sp.issparse(self.support_vectors_):
            coef = _align_api_if_sparse(sp.csr_array(stored(a) @ self.support_vectors_))
            coef.data.flags.writeable = False
            return coef
        coef = a @ self.support_vectors_
        coef.flags.writeable = False
        return coef

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
