"""Machines that find the directions in which data vary most, in the kernel's space: what they share, and KernelPCA."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_array

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
from mercer.machines.fit import Fit, InputFeatures, as_given, as_kept, fit_of, view
from mercer.remembered import remembered
from mercer.samples import Samples, Similarities
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import Certificate, Witness
from mercer.solvers.convexity import along, by_construction, of_some_rows, refuted, rounding
from mercer.solvers.eigen import Centred, Operator, Pass, dense_eigenpairs, eigenpairs, is_small
from mercer.solvers.lanczos import Eigenpairs, Float, spectrum_ends
from mercer.threads import limited

#: The residuals, relative to the largest eigenvalue, that are asked for if ``tol`` is 0.
TOLERANCE = 1e-6
#: Products by which the smallest eigenvalue is looked for.
ENDS = 20


class Watch(Stages):
    """Tells every pass over the matrix, or every stage where it is decomposed as a whole."""

    def __call__(self, step: Pass) -> bool:
        text = f"float{step.bits}: {step.products} products, residual {step.residual:.1e}"
        return tell(self.machine, self.context, "solve", text, dataclasses.asdict(step))


@dataclass(frozen=True, eq=False)
class PosedDecomposition:
    """The samples whose matrix is decomposed, and their kernel; ``X`` are they as scikit-learn's checks let them."""

    kernel: Kernel
    samples: Samples
    gamma: float
    X: Any
    features: InputFeatures


@dataclass(frozen=True, eq=False, kw_only=True)
class DecompositionFit(Fit):
    """Directions in the kernel's space, as functions spanned by the samples."""

    kernel: Kernel
    samples: Samples
    residuals: Float
    certificate: Certificate
    n_iter: int
    gamma: Any
    #: The samples as the user gave them, where ``samples`` are not just these.
    X_given: Any

    @remembered
    def expansion(self) -> Expansion:
        raise NotImplementedError

    @property
    def X_fit(self) -> Any:  # noqa: N802
        return as_given(self.X_given, self.samples)

    @property
    def n_features_out(self) -> int:
        return int(self.expansion.coefficients.shape[1])


class Decomposition(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):  # type: ignore[misc]
    """What KernelPCA and KernelSVD share: parameters, data and the choice of a solver."""

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

    expansion_, certificate_, residuals_, n_iter_ = view(), view(), view(), view()
    gamma_, X_fit_, _n_features_out = view(), view(), view()

    def _pose(self, X: Any) -> PosedDecomposition:
        """The samples of X and their kernel, its data-dependent parameters found."""
        X, features = self._admitted(X)
        gamma = 1 / features.count if self.gamma is None else self.gamma
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(X)
        return PosedDecomposition(kernel.resolve(samples), samples, gamma, X, features)

    def _fitted_to(self, X: Any, y: Any, Z: Any = None) -> Samples:
        """Finds the components, between a begin and an end that scikit-learn's callbacks hear of."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        posed = self._pose(X)
        samples = posed.samples
        with limited(self.n_jobs):
            fit = self._decomposed(posed, Z, Watch(self, context))
        if fit.certificate.convex is False:
            warn_indefinite(
                fit.kernel,
                fit.certificate.witness,
                "Components of positive eigenvalues are kept; distances along them are not those of the samples.",
            )
        warn_of_zeros(fit.kernel, fit.kernel.gram(samples, budget=0).diag(), samples)
        self._fit = fit
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return samples

    def _decomposed(self, posed: PosedDecomposition, Z: Any, progress: Watch) -> DecompositionFit:
        """The components."""
        raise NotImplementedError

    def _dense(self, size: int, count: int) -> bool:
        return self.eigen_solver == "dense" or is_small(size, count)

    def _limits(self) -> tuple[float, int]:
        """The residuals to reach, relative to the largest eigenvalue, and the most products."""
        return float(self.tol) if self.tol > 0 else TOLERANCE, 100 if self.max_iter is None else int(self.max_iter)

    def _random(self) -> Any:
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _gram(self, posed: PosedDecomposition) -> Gram:
        return posed.kernel.gram(posed.samples, budget=int(self.cache_size * 2**20))

    def _count(self, size: int) -> int:
        return size if self.n_components is None else min(size, int(self.n_components))

    def _warn(self, pairs: Eigenpairs) -> None:
        if not pairs.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {pairs.iterations} products with a residual of "
                f"{pairs.residuals.max():.1e} for eigenvalues up to {pairs.values.max():.1e}; raise max_iter or tol",
                ConvergenceWarning,
            )

    def _eigenpairs(self, operator: Operator, count: int, progress: Watch) -> Eigenpairs:
        """The largest eigenpairs of a Gram matrix, centred or not."""
        if self._dense(len(operator.gram), count):
            return dense_eigenpairs(operator, count, progress.begin)
        pairs = eigenpairs(operator, count, *self._limits(), self._random(), progress)
        self._warn(pairs)
        return pairs

    def _judged(self, operator: Operator, pairs: Eigenpairs) -> Certificate:
        """The certificate of eigenpairs, and what is known of the matrix: positive semi-definite or not."""
        if by_construction(operator.given.kernel, balanced=operator.balanced):
            return replace(certified(pairs), convex=True)
        return refuted(certified(pairs), witness_of(operator, pairs) or of_some_rows(operator.given))

    def transform(self, X: Any) -> Array:
        """The coordinates of X along the components, of shape (n_samples, n_components)."""
        fit = fit_of(self)
        samples = self._new_samples(X, fit)
        with limited(self.n_jobs):
            return np.asarray(fit.expansion(samples), dtype=samples.dtype)

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


def witness_of(operator: Operator, pairs: Eigenpairs) -> Witness | None:
    """What eigenvalues tell of a matrix that may not be positive semi-definite: one below 0, or more than the trace."""
    noise = rounding(operator.given) * float(np.abs(operator.gram.diag()).sum()) + float(pairs.residuals.sum())
    lowest, rest = float(pairs.values.min(initial=0.0)), operator.trace() - float(pairs.values.sum())
    return along(lowest, noise, f"{operator.name} has the eigenvalue {{}}") or along(
        rest, noise, f"the eigenvalues of {operator.name} beside the {len(pairs.values)} largest add up to {{}}"
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


def of_components(vectors: Float, roots: Float) -> Float:
    """The coefficients of components, from eigenvectors and roots of eigenvalues of a centred matrix."""
    return divided(np.asarray(vectors - vectors.mean(axis=0)), roots)


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsFit(DecompositionFit):
    """Eigenpairs of the centred matrix."""

    eigenvalues: Float
    eigenvectors: Float
    bias: Float
    inverse: Expansion | None = None

    @remembered
    def expansion(self) -> Expansion:
        coefficients = of_components(self.eigenvectors, np.sqrt(self.eigenvalues))
        return Expansion(self.kernel, self.samples, coefficients, self.bias)

    @property
    def coordinates(self) -> Float:
        """The coordinates of the training samples."""
        return np.asarray(self.eigenvectors * np.sqrt(self.eigenvalues))

    @property
    def dual_coef(self) -> Any:
        return None if self.inverse is None else self.inverse.coefficients

    @property
    def X_transformed_fit(self) -> Any:  # noqa: N802
        return None if self.inverse is None else self.coordinates


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

    eigenvalues_, eigenvectors_, dual_coef_, X_transformed_fit_, inverse_ = view(), view(), view(), view(), view()

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
        self._fitted_to(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Finds the components of samples X, and returns the coordinates of X along them; y is not used."""
        samples = self._fitted_to(X, y)
        own: Array = fit_of(self).coordinates
        return own.astype(samples.dtype, copy=False)

    def _pose(self, X: Any) -> PosedDecomposition:
        if self.fit_inverse_transform and self._precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        posed = super()._pose(X)
        given = posed.samples
        return replace(posed, samples=given.symmetric_part()) if isinstance(given, Similarities) else posed

    def _decomposed(self, posed: PosedDecomposition, Z: Any, progress: Watch) -> ComponentsFit:
        samples = posed.samples
        if self.fit_inverse_transform:
            _refuse_objects(samples)
        count, operator = self._count(len(samples)), Centred(self._gram(posed))
        pairs = self._eigenpairs(operator, count, progress)
        certificate = self._judged(operator, pairs)
        if self.eigen_solver == "randomized" and posed.kernel.validity != "psd":
            self._refuse_negative(operator, pairs.values)
        # What is left of a matrix by centring it is no more exact than the matrix was.
        rounding = 16 * np.finfo(np.float64).eps * float(np.abs(operator.gram.diag()).sum())
        values = np.where(np.abs(pairs.values) > rounding, pairs.values, 0.0)
        values = without_negative(values)
        kept = values > 0 if self.remove_zero_eig or self.n_components is None else np.ones(count, dtype=bool)
        vectors, _ = svd_flip(u=pairs.vectors, v=None)
        # in one order of memory, so that what is made of them again has the same bits
        values, vectors = values[kept], np.ascontiguousarray(vectors[:, kept])
        roots = np.sqrt(values)
        # The vectors sum to zero, so of centring only the means of k(x_i, .) over the samples remain: a constant.
        coefficients = of_components(vectors, roots)
        known = samples.copy()
        if len(roots):
            known = precise(posed.kernel, known, coefficients, float(roots.max()) / np.sqrt(len(known)))
        fit = ComponentsFit(
            **posed.features.found(),
            kernel=posed.kernel,
            samples=known,
            eigenvalues=values,
            eigenvectors=vectors,
            bias=-(operator.means @ coefficients),
            residuals=pairs.residuals[kept],
            certificate=certificate,
            n_iter=pairs.iterations,
            gamma=posed.gamma,
            X_given=as_kept(posed.X, known, whole=True),
        )
        if self.fit_inverse_transform:
            progress.begin(f"inverse of {len(samples)} samples")
            fit = replace(fit, inverse=self._inverse(posed, fit))
        return fit

    def _refuse_negative(self, operator: Centred, values: Float) -> None:
        """Refuses a matrix with a negative eigenvalue that is larger in modulus than one of those found."""
        product = lambda v: operator(v[:, None])[:, 0]  # noqa: E731
        lowest = spectrum_ends(product, len(operator.gram), ENDS).smallest
        if -lowest > values[-1]:
            without_negative(np.append(values, lowest))

    def _inverse(self, posed: PosedDecomposition, fit: ComponentsFit) -> Expansion:
        if hasattr(posed.X, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        own = fit.coordinates
        kernel = self._chosen_kernel(posed.features.count).resolve(own)
        return preimages.learned(kernel, own, fit.samples, float(self.alpha))

    def inverse_transform(self, X: Any) -> Array:
        """Points whose components are about X, of shape (n_samples, n_features).

        By the regression learned with ``fit_inverse_transform=True``. Without it, for a positive multiple of the
        Gaussian kernel of dense vectors, the z whose phi(z) is nearest to the point of the components, sought from the
        nearest sample on; see ``mercer.preimages``.
        """
        fit = fit_of(self)
        if self.fit_inverse_transform:
            return np.asarray(fit.inverse(X))
        _refuse_objects(fit.samples)
        gaussian = preimages.gaussian_of(fit.kernel)
        if gaussian is None or hasattr(fit.X_fit, "tocsr"):
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available: without it, it is for Gaussian kernels of dense vectors only"
            )
        T = check_array(in_memory(X), dtype=np.float64)
        out = np.empty((len(T), fit.n_features_in))
        own, samples = fit.coordinates, fit.samples
        for some in chunks(len(T), 24 * len(samples)):
            # The point of components t is the mean of the phi(x_i) plus sum_j t_j times axis j.
            weights = T[some] @ fit.expansion.coefficients.T + 1 / len(samples)
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
