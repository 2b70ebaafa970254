"""Machines that find the directions in which data vary most, in the kernel's space: what they share, and KernelPCA."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_array, check_is_fitted

from mercer import preimages
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Kernel, named_kernel
from mercer.kernels.named import NAMES
from mercer.kernels.pairs import chunks
from mercer.machines.base import (
    KernelMachine,
    Stages,
    precise,
    tell,
    warn_caller,
    warn_indefinite,
    warn_of_zeros,
)
from mercer.samples import Samples, Similarities
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import Certificate, Witness
from mercer.solvers.convexity import along, by_construction, of_some_rows, refuted, rounding
from mercer.solvers.eigen import (
    Centred,
    EigenProgress,
    Map,
    centred,
    dense_eigenpairs,
    eigenpairs,
    is_small,
    multiplied,
    unchanged,
)
from mercer.solvers.lanczos import Eigenpairs, Float, spectrum_ends
from mercer.solvers.operator import Operator
from mercer.threads import limited

#: The residuals, relative to the largest eigenvalue, that are asked for if ``tol`` is 0.
TOLERANCE = 1e-6
#: Products by which the smallest eigenvalue is looked for.
ENDS = 20


class Watch(Stages):
    """Tells every pass over the matrix, or every stage where it is decomposed as a whole."""

    def __call__(self, step: EigenProgress) -> bool:
        text = f"float{step.bits}: {step.products} products, residual {step.residual:.1e}"
        return tell(self.machine, self.context, "solve", text, dataclasses.asdict(step))


class Decomposition(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):  # type: ignore[misc]
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

    def _training(self, X: Any) -> Samples:
        """The samples of X; sets the kernel, its data-dependent parameters found."""
        X = self._validated(X, reset=True)
        columns = getattr(self, "n_features_in_", 1)
        self.gamma_ = 1 / columns if self.gamma is None else self.gamma
        kernel = self._chosen_kernel(columns)
        samples = kernel.samples(X)
        self.kernel_ = kernel.resolve(samples)
        self.X_fit_ = X
        return samples

    def _fit(self, X: Any, y: Any, Z: Any = None) -> Samples:
        """Finds the components, between a begin and an end that scikit-learn's callbacks hear of."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        samples = self._training(X)
        with limited(self.n_jobs):
            self._decompose(samples, Z, Watch(self, context))
        self._warn_of_kernel()
        warn_of_zeros(self.kernel_, self.kernel_.gram(samples, budget=0).diag(), samples)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return samples

    def _warn_of_kernel(self) -> None:
        if self.certificate_.convex is False:
            warn_indefinite(
                self,
                self.certificate_.witness,
                "Components of positive eigenvalues are kept; distances along them are not those of the samples.",
            )

    def _decompose(self, samples: Samples, Z: Any, progress: Watch) -> None:
        """Sets the fitted attributes."""
        raise NotImplementedError

    def _dense(self, size: int, count: int) -> bool:
        return self.eigen_solver == "dense" or is_small(size, count)

    def _limits(self) -> tuple[float, int]:
        """The residuals to reach, relative to the largest eigenvalue, and the most products."""
        return float(self.tol) if self.tol > 0 else TOLERANCE, 100 if self.max_iter is None else int(self.max_iter)

    def _random(self) -> Any:
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _gram(self, samples: Samples) -> Gram:
        return self.kernel_.gram(samples, budget=int(self.cache_size * 2**20))

    def _count(self, size: int) -> int:
        return size if self.n_components is None else min(size, int(self.n_components))

    def _warn(self, pairs: Eigenpairs) -> None:
        if not pairs.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {pairs.iterations} products with a residual of "
                f"{pairs.residuals.max():.1e} for eigenvalues up to {pairs.values.max():.1e}; raise max_iter or tol",
                ConvergenceWarning,
            )

    def _eigenpairs(self, operator: Operator, count: int, progress: Watch, project: Map = unchanged) -> Eigenpairs:
        """The largest eigenpairs of a matrix, which sees of vectors what ``project`` leaves."""
        if self._dense(len(operator), count):
            return dense_eigenpairs(operator, count, progress.begin)
        pairs = eigenpairs(operator, count, *self._limits(), self._random(), progress, project)
        self._warn(pairs)
        return pairs

    def _judged(self, gram: Gram, pairs: Eigenpairs, trace: float, name: str, *, balanced: bool) -> Certificate:
        """The certificate of eigenpairs, and what is known of the matrix, which has this name."""
        if by_construction(self.kernel_, balanced=balanced):
            return replace(certified(pairs), convex=True)
        return refuted(certified(pairs), witness_of(gram, pairs, trace, name) or of_some_rows(gram))

    def transform(self, X: Any) -> Array:
        """The coordinates of X along the components, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        samples = self._seen(X)
        with limited(self.n_jobs):
            return np.asarray(self.expansion_(samples), dtype=samples.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.expansion_.coefficients.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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
    noise = rounding(gram) * float(np.abs(gram.diag()).sum()) + float(pairs.residuals.sum())
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


class KernelPCA(Decomposition):
    """Principal components in the kernel's space: the directions along which phi(x) varies most.

    With the centred matrix HKH = V diag(l) V', H = I - 11'/n, component j of x is
    ``sum_i V_ij / sqrt(l_j) (k(x_i, x) - mean_r k(x_r, x_i))``. With scikit-learn's parameters and defaults. For more
    than 500 samples and few components blocks of vectors are multiplied by K as it is computed, first in float32, then
    in float64 (``mercer.solvers.eigen``), and centred without a matrix.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for all with an eigenvalue other than zero.
    kernel : str, Kernel or callable, default="linear"
        A name, any kernel of ``mercer.kernels`` (of samples of any kind), or a function of two samples. Of a
        precomputed matrix that is not symmetric (K + K') / 2 is decomposed, which has the same variances v'HKHv.
    gamma, degree, coef0, kernel_params : for the names, as in scikit-learn.
    alpha : float, default=1.0
        The ridge of the learned inverse.
    fit_inverse_transform : bool, default=False
        Learn the inverse by kernel ridge regression of X on its components. Without it, ``inverse_transform`` finds
        pre-images of the Gaussian kernel by a fixed point.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" decomposes the stored matrix; the other names mean the choice described above. With "randomized" the
        components are those of the eigenvalues largest in modulus, as in scikit-learn: where a significant one among
        them is negative, which a kernel known to be positive semi-definite rules out, ValueError says so.
    tol : float, default=0
        The largest residual, relative to the largest eigenvalue; 0 for 1e-6. The error of an eigenvalue is about its
        square.
    max_iter : int or None, default=None
        The most products with blocks of vectors, in each precision; None for 100.
    iterated_power : ignored, as the solver stops when the residuals are small.
    remove_zero_eig : bool, default=False
        Leave out components whose eigenvalue is zero.
    random_state : int, RandomState or None, default=None
        Of the samples and the vectors that the solver starts from; None for always the same.
    cache_size : float, default=200
        Megabytes: a matrix that fits is computed once and kept, others as often as they are needed.
    copy_X : ignored, as X is never changed.
    n_jobs : int or None, default=None
        The number of threads.
    verbose : bool, default=False
        Write a line for each product, or for each stage where the whole matrix is decomposed. scikit-learn's callbacks
        (``set_callbacks``) are told the same, and may stop the products.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : of the centred matrix, the largest first.
    residuals_ : ndarray of shape (n_components,)
        |HKH v - l v| in float64: each eigenvalue is as close to one of the matrix.
    certificate_ : Certificate
        Of -(l_1 + ... + l_count), the least -tr V'HKHV of orthonormal V: ``gap`` is the sum of the residuals, and
        ``violation`` the largest; see ``mercer.machines.decompose.certified``.
    n_iter_ : int
        Products with blocks of vectors.
    expansion_ : Expansion
        The components as functions of x.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.
    dual_coef_, X_transformed_fit_, gamma_, X_fit_ : as in scikit-learn.

    References
    ----------
    Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelPCA
    >>> X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> first = KernelPCA(1, kernel="rbf", gamma=2.0).fit_transform(X)[:, 0]
    >>> bool(((first > 0) == y).all() or ((first < 0) == y).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Decomposition._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "copy_X": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        cache_size: float = 200,
        copy_X: bool = True,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.cache_size = cache_size
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the components of samples X; y is not used."""
        self._fit(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Finds the components of samples X, and returns the coordinates of X along them; y is not used."""
        samples = self._fit(X, y)
        return self._own().astype(samples.dtype, copy=False)

    def _own(self) -> Float:
        """The coordinates of the training samples."""
        return np.asarray(self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def _training(self, X: Any) -> Samples:
        if self.fit_inverse_transform and self._precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        samples = super()._training(X)
        return samples.symmetric_part() if isinstance(samples, Similarities) else samples

    def _decompose(self, samples: Samples, Z: Any, progress: Watch) -> None:
        if self.fit_inverse_transform:
            _refuse_objects(samples)
        count, gram = self._count(len(samples)), self._gram(samples)
        operator = Centred(multiplied(gram))
        pairs = self._eigenpairs(operator, count, progress, centred)
        self.n_iter_ = pairs.iterations
        self.certificate_ = self._judged(gram, pairs, float(operator.diag().sum()), "HKH", balanced=True)
        if self.eigen_solver == "randomized" and self.kernel_.validity != "psd":
            self._refuse_negative(operator, pairs.values)
        # What is left of a matrix by centring it is no more exact than the matrix was.
        rounding = 16 * np.finfo(np.float64).eps * float(np.abs(gram.diag()).sum())
        values = np.where(np.abs(pairs.values) > rounding, pairs.values, 0.0)
        values = without_negative(values)
        kept = values > 0 if self.remove_zero_eig or self.n_components is None else np.ones(count, dtype=bool)
        vectors, _ = svd_flip(u=pairs.vectors, v=None)
        self.eigenvalues_, self.eigenvectors_ = values[kept], vectors[:, kept]
        self.residuals_ = pairs.residuals[kept]
        roots = np.sqrt(self.eigenvalues_)
        # The vectors sum to zero, so of centring only the means of k(x_i, .) over the samples remain: a constant.
        coefficients = divided(centred(self.eigenvectors_), roots)
        known = samples.copy()
        if len(roots):
            known = precise(self.kernel_, known, coefficients, float(roots.max()) / np.sqrt(len(known)))
        self.expansion_ = Expansion(self.kernel_, known, coefficients, -(operator.means @ coefficients))
        if self.fit_inverse_transform:
            progress.begin(f"inverse of {len(samples)} samples")
            self._fit_inverse()

    def _refuse_negative(self, operator: Centred, values: Float) -> None:
        """Refuses a matrix with a negative eigenvalue that is larger in modulus than one of those found."""
        lowest = spectrum_ends(operator.__matmul__, len(operator), ENDS).smallest
        if -lowest > values[-1]:
            without_negative(np.append(values, lowest))

    def _fit_inverse(self) -> None:
        if hasattr(self.X_fit_, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        own = self._own()
        kernel = self._chosen_kernel(self.n_features_in_).resolve(own)
        self.inverse_ = preimages.learned(kernel, own, self.expansion_.samples, float(self.alpha))
        self.dual_coef_, self.X_transformed_fit_ = self.inverse_.coefficients, own

    def inverse_transform(self, X: Any) -> Array:
        """Points whose components are about X, of shape (n_samples, n_features).

        By the regression learned with ``fit_inverse_transform=True``. Without it, for a positive multiple of the
        Gaussian kernel of dense vectors, the z whose phi(z) is nearest to the point of the components, sought from the
        nearest sample on; see ``mercer.preimages``.
        """
        check_is_fitted(self)
        if self.fit_inverse_transform:
            return self.inverse_(X)
        _refuse_objects(self.expansion_.samples)
        gaussian = preimages.gaussian_of(self.kernel_)
        if gaussian is None or hasattr(self.X_fit_, "tocsr"):
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available: without it, it is for Gaussian kernels of dense vectors only"
            )
        T = check_array(in_memory(X), dtype=np.float64)
        out = np.empty((len(T), self.n_features_in_))
        own, samples = self._own(), self.expansion_.samples
        for some in chunks(len(T), 24 * len(samples)):
            # The point of components t is the mean of the phi(x_i) plus sum_j t_j times axis j.
            weights = T[some] @ self.expansion_.coefficients.T + 1 / len(samples)
            start = np.argmin(np.sum(own**2, axis=1) - 2 * T[some] @ own.T, axis=1)
            out[some] = preimages.nearest(gaussian, samples, weights, samples.take(start).dense())
        return out


def _refuse_objects(samples: Samples) -> None:
    """Refuses to look for pre-images where there are no columns of numbers to mix."""
    if samples.width is None:
        raise NotImplementedError(
            f"KernelPCA has no inverse transform for {samples.kind}: pre-images are mixtures of the samples, which "
            "only vectors have"
        )
