"""KernelPCA: the directions in the kernel's space along which data vary most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array

from mercer import preimages
from mercer.expansion import Expansion
from mercer.kernels.pairs import chunks
from mercer.machines.base import precise
from mercer.machines.decompose import (
    DecompositionFit,
    PosedDecomposition,
    SpectralMachine,
    SpectralStages,
    coordinates_in,
    divided,
    without_negative,
)
from mercer.machines.fit import as_kept, fit_of, view
from mercer.remembered import remembered
from mercer.samples import Samples, Similarities
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers.eigen import Centred, centred, multiplied
from mercer.solvers.lanczos import Float, spectrum_ends

#: Products by which the smallest eigenvalue is looked for.
ENDS = 20


def of_components(vectors: Float, roots: Float) -> Float:
    """The coefficients of components, from eigenvectors and roots of eigenvalues of a centred matrix."""
    return divided(centred(vectors), roots)


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


class KernelPCA(SpectralMachine):
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
        **SpectralMachine._parameter_constraints,
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
        return coordinates_in(samples.dtype, fit_of(self).coordinates)

    def _pose(self, X: Any) -> PosedDecomposition:
        if self.fit_inverse_transform and self._precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        posed = super()._pose(X)
        given = posed.samples
        return replace(posed, samples=given.symmetric_part()) if isinstance(given, Similarities) else posed

    def _decomposed(self, posed: PosedDecomposition, Z: Any, progress: SpectralStages) -> ComponentsFit:
        samples = posed.samples
        if self.fit_inverse_transform:
            _refuse_objects(samples)
        count, gram = self._count(len(samples)), self._gram(posed)
        operator = Centred(multiplied(gram))
        pairs = self._eigenpairs(operator, count, progress, centred)
        certificate = self._judged(gram, pairs, float(operator.diag().sum()), "HKH", balanced=True)
        if self.eigen_solver == "randomized" and posed.kernel.validity != "psd":
            self._refuse_negative(operator, pairs.values)
        # What is left of a matrix by centring it is no more exact than the matrix was.
        rounding = 16 * np.finfo(np.float64).eps * float(np.abs(gram.exact.diag()).sum())
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
        lowest = spectrum_ends(operator.__matmul__, len(operator), ENDS).smallest
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
