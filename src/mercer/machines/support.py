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
from sklearn.utils.validation import _num_samples

from mercer.expansion import Expansion, root
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
from mercer.machines.fit import AsGiven, InputFeatures, UserFunction, fit_of, view
from mercer.machines.progress import line, summary
from mercer.machines.support_fit import SupportFit
from mercer.machines.targets import positive_weights
from mercer.machines.training import (
    Combined,
    Posed,
    Positions,
    Targets,
    Training,
    certificate_of,
    dense,
    finite,
    vectors,
)
from mercer.memory import keep_at_most
from mercer.problem import Problem, Vector
from mercer.samples import Samples, Similarities, SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import QP, SMO, Progress, Solution, SolverInterrupted
from mercer.threads import limited

NOT_FINITE = "The dual coefficients or intercepts are not finite. The input data may contain large values and need to \
be preprocessed."


class SupportMachine(CallbackSupportMixin, KernelMachine):  # type: ignore[misc]
    """A machine whose function is spanned by its support vectors, found by ``SMO``."""

    #: Whether coefficients may be at the ends of an interval, so that samples have none, a free or the largest one.
    _bounded: ClassVar[bool] = True
    #: What it keeps.
    _keeps: ClassVar[type[SupportFit]] = SupportFit

    support_, support_vectors_, n_support_, dual_coef_, intercept_ = view(), view(), view(), view(), view()
    certificate_, expansion_, n_iter_, fit_status_, shape_fit_ = view(), view(), view(), view(), view()

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

    def _targets(self, y: Any, samples: int) -> Targets:
        """One target per sample, checked."""
        raise NotImplementedError

    def _arranged(self, targets: Targets, weight: Vector) -> Positions:
        """The positions of the samples to train on, in the order the problems shall have."""
        return np.flatnonzero(weight > 0)

    def _problems(self, training: Training) -> list[Problem]:
        raise NotImplementedError

    def _combined(self, training: Training, problems: list[Problem], solutions: list[Solution]) -> Combined:
        """All solutions as one function."""
        (solution,) = solutions
        return Combined(solution.coefficients[:, None], np.atleast_1d(solution.bias))

    def _start_of_each(self, training: Training, problems: list[Problem], coefficients: Vector) -> list[Vector]:
        """The coefficients of each problem, as far as the combined ones tell: where a warm start begins."""
        return [coefficients[:, 0]]

    def _size(self, training: Training) -> float:
        """The size of the values of f against which errors are measured."""
        return 1.0

    def _predict(self, fit: Any, X: Any) -> Array:
        """What ``predict`` says by this fit."""
        raise NotImplementedError

    # -- fit --------------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the machine to samples X and targets y; ``sample_weight`` multiplies C, or the weight 1, per sample."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        return self._fitted_to(X, y, sample_weight)

    def _fitted_to(self, X: Any, y: Any, sample_weight: Any) -> Self:
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        context.call_on_fit_task_begin(estimator=self, **given)
        posed = self._pose(X, y, sample_weight)
        training, gram = posed.training, posed.gram
        try:
            with limited(self.n_jobs):
                solutions = self._solver(training, context).solve(gram, posed.problems, posed.starts, training.order)
        except SolverInterrupted as interrupt:
            with contextlib.suppress(ValueError):  # what there is may be too little for a model
                self._fit = self._keep(posed, interrupt.solutions, precisely=False)
            raise
        self._refuse_overflow(training, solutions)
        # Of vectors only a matrix of zeros counts, and then no function has a norm, where norms are known.
        if not training.samples.numeric or not any(abs(solution.squared_norm) > 0 for solution in solutions):
            warn_of_zeros(training.kernel, gram.diag()[training.place], training.samples)
        fit = self._keep(posed, solutions)
        if self.verbose:
            tell(self, None, "solve", summary(list(map(certificate_of, solutions)), float(self.tol)), {})
        self._warn(training, solutions)
        warn_of_kernel(self, fit, X, None if is_outlier_detector(self) else y)
        try:
            fit = self._completed(fit, posed)
        except SolverInterrupted:
            self._fit = fit
            raise
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> Posed:
        """What is to be solved, and from where on."""
        training = self._training(X, y, sample_weight)
        problems = self._problems(training)
        gram = training.kernel.gram(training.samples, self._budget(), lasting=False)
        return Posed(training, gram, problems, self._starts(training, problems))

    def _completed(self, fit: Any, posed: Posed) -> Any:
        """The fit with whatever a machine adds to the solutions."""
        return fit

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
        kernel, samples, features, function = self._kernel_and_samples(X)
        n = len(samples)
        targets = self._targets(y, n)
        given = in_memory(sample_weight, "sample_weight")
        none = np.asarray(given).size == 0  # which scikit-learn takes for no weights
        weight = positive_weights(None if none else given, n)
        place = self._arranged(targets, weight)
        dropped = len(place) < n and (kernel.pending or kernel.by_call)
        resolved = kernel.resolve(samples.take(np.sort(place)) if dropped else samples)
        return Training(
            resolved,
            samples,
            place,
            targets.value[place],
            weight[place],
            given=X,
            features=features,
            function=function,
            classes=targets.classes,
            class_weight=targets.class_weight,
        )

    def _kernel_and_samples(self, X: Any) -> tuple[Kernel, Samples, InputFeatures, UserFunction | None]:
        """The kernel that the parameters name, and X as its samples."""
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            # called once for the whole matrix, as scikit-learn does
            function = UserFunction(self.kernel, in_memory(X))
            similar = Similarities(matrix_of(function, X, _num_samples(X)))
            if not similar.symmetric:
                raise ValueError("the kernel function must be symmetric, but f(X, X) and its transpose differ")
            return Precomputed(), similar, InputFeatures(self), function
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        checked, features = self._admitted(X)
        if isinstance(self.kernel, Kernel):
            return self.kernel, self.kernel.samples(checked), features, None
        samples = vectors(checked)
        if self.kernel == "precomputed":
            if len(samples) != samples.width:
                raise ValueError(
                    f"Precomputed matrix must be a square matrix. Input is a {len(samples)}x{samples.width} matrix."
                )
            return Precomputed(), Precomputed().samples(samples), features, None
        gamma = resolved_gamma(self.gamma, samples) if isinstance(self.gamma, str) else self.gamma
        if self.gamma == "scale" and not (0 < gamma < np.inf):
            raise ValueError(NOT_FINITE)  # the variance of X, or its inverse, is beyond float64
        kernel = named_kernel(self.kernel, columns=samples.width, gamma=gamma, degree=self.degree, coef0=self.coef0)
        return kernel, samples, features, None

    def _new_samples(self, X: Any, fit: Any = None) -> Samples:
        fit = fit_of(self) if fit is None else fit
        if fit.function is not None:
            return Similarities(matrix_of(fit.function, in_memory(X), fit.shape_fit[0]))
        X = self._checked(X, InputFeatures(self, fit))
        if fit.by_kernel:
            known: Samples = fit.kernel.samples(X)
            return known
        if isinstance(fit.expansion.samples, SparseVectors):
            X = X if sp.issparse(X) else sp.csr_array(X)
        elif sp.issparse(X):
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        samples: Samples = fit.kernel.samples(vectors(X))
        return samples

    def _value(self, fit: Any, X: Any) -> Array:
        """The value of the expansion at new data."""
        samples = self._new_samples(X, fit)
        with limited(self.n_jobs):
            return np.asarray(fit.expansion(samples))

    def _starts(self, training: Training, problems: list[Problem]) -> list[Vector | None] | None:
        """Where the solver begins: with ``warm_start``, at the coefficients of the last fit to as many samples."""
        last, rows = self._fit, len(training.samples)
        if not (self.warm_start and last is not None and last.shape_fit[0] == rows):
            return None
        coefficients = np.zeros((rows, last.coefficients.shape[1]))
        coefficients[last.support] = last.coefficients
        return list(self._start_of_each(training, problems, coefficients[training.place]))

    # -- what is kept -----------------------------------------------------------------------------------------

    def _keep(self, posed: Posed, solutions: list[Solution], *, precisely: bool = True) -> SupportFit:
        """The solutions as a Fit; without ``precisely`` the samples are copied as they are, which is sooner done."""
        training = posed.training
        combined = self._combined(training, posed.problems, solutions)
        coefficients, bias = combined.coefficients, combined.bias
        if not (np.isfinite(coefficients).all() and np.isfinite(bias).all()):
            raise ValueError(NOT_FINITE)
        support, counts = self._support(training, np.flatnonzero(coefficients.any(axis=1)))
        spanning = support if len(support) else np.zeros(1, dtype=np.int64)  # the zero function, too, has samples
        coefficients = coefficients[spanning]
        # Their memory is taken from what the core keeps for the next fit.
        times = 3 if precisely and training.samples.dtype != np.float64 else 1
        keep_at_most(max(0, self._budget() - times * training.bytes_of(len(spanning))))
        samples = training.kept(spanning)
        precision = samples.dtype.name
        if precisely and not isinstance(training.kernel, Precomputed):  # of which nothing is computed in float32
            samples = precise(training.kernel, samples, coefficients, self._size(training))
        f = Expansion(
            training.kernel,
            samples,
            coefficients[:, 0] if coefficients.shape[1] == 1 else coefficients,
            bias[0] if len(bias) == 1 else bias,
        )
        if isinstance(samples, Similarities) and not samples.acquainted:
            f = replace(f, length=self._length(f, training, spanning, combined))
        certificates = tuple(certificate_of(solution) for solution in solutions)
        place = training.place[support].astype(np.int32)
        plain = isinstance(samples, (Vectors, SparseVectors, Similarities))
        return self._keeps(
            **training.features.found(),
            expansion=f,
            support=place,
            support_weight=training.weight[support],
            n_support=counts,
            certificate=certificates[0] if len(certificates) == 1 else certificates,
            n_iter=self._iterations([certificate.iterations for certificate in certificates]),
            shape_fit=training.shape,
            precision=precision,
            given=None if plain else AsGiven(_safe_indexing(training.given, place)),
            function=training.function,
            **combined.facts,
        )

    def _refuse_overflow(self, training: Training, solutions: Sequence[Solution]) -> None:
        """No function comes of a kernel that is not finite, though its coefficients, as far as they go, may be."""
        if all(certificate_of(solution).converged for solution in solutions):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            own = training.kernel.diag_of(training.samples)
        # It bounds the other entries of a kernel that is positive semi-definite; those of any other are seen in f.
        products = (solution.f for solution in solutions if solution.f is not None)
        if not (np.isfinite(own[training.place]).all() and all(np.isfinite(f).all() for f in products)):
            raise ValueError(NOT_FINITE)

    def _length(self, f: Expansion, training: Training, spanning: Positions, combined: Combined) -> Vector:
        """|w| of the function of some samples of a given matrix: the root of sum_i a_i (f(x_i) - b)."""
        squared = np.zeros(np.shape(f.bias))
        for some in chunks(len(spanning), 8 * len(training.samples)):
            squared += np.sum(f.coefficients[some] * (f(training.take(spanning[some])) - f.bias), axis=0)
        size = np.sqrt(np.abs(training.kernel.diag_of(training.take(spanning)))) @ np.abs(f.coefficients)
        return root(squared, size)

    def _support(self, training: Training, nonzero: Positions) -> tuple[Positions, Array]:
        """The positions of the support vectors, in the order of the attributes, and how many there are of each kind."""
        return nonzero, np.array([len(nonzero)], dtype=np.int32)

    def _iterations(self, steps: list[int]) -> Any:
        return steps[0]

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
    def coef_(self) -> Any:
        """The weights of the features, if the kernel is linear; read-only."""
        if not (self.kernel == "linear" or isinstance(self.kernel, Linear)):
            raise AttributeError("coef_ is only available when using a linear kernel")
        return fit_of(self).weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


def matrix_of(function: UserFunction, X: Any, columns: int) -> Array:
    """The values of a user's function between X and the ``columns`` training samples."""
    K = np.asarray(dense(function.call(X, function.data)))
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
