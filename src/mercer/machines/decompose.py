"""Machines that find the directions in which data vary most, in the kernel's space."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_array, check_is_fitted

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Gaussian, Kernel, named_kernel
from mercer.kernels.named import NAMES
from mercer.kernels.pairs import chunks
from mercer.machines.base import KernelMachine, precise
from mercer.problem import squared
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.lanczos import GUARDS, Eigenpairs, Float, largest
from mercer.threads import limited

#: Up to this many samples the matrix is stored and decomposed as a whole ...
DENSE_SAMPLES = 500
#: ... and where more than one in so many of its eigenvectors are wanted.
DENSE_SHARE = 5
#: The residuals, relative to the largest eigenvalue, that are asked for if ``tol`` is 0.
TOLERANCE = 1e-6
#: Products in float32 may not give residuals below this.
SINGLE_FLOOR = 1e-4
#: Steps of a fixed point towards a pre-image, and the move of it, relative to the data, that counts as none.
STEPS, MOVE = 200, 1e-7


class Operator:
    """V -> K V in float64, or V -> HKH V with H = I - 11'/n, of a Gram matrix that is never stored."""

    def __init__(self, gram: Gram, centred: bool) -> None:
        self.gram, self.centred = gram.exact, centred
        #: K 1/n, known after the first product of a centred operator.
        self.means: Float = np.empty(0)

    def single(self) -> Operator:
        """The same in float32."""
        operator = Operator(self.gram, self.centred)
        operator.gram = Gram(self.gram.kernel, self.gram.samples.astype(np.float32), 0)
        return operator

    def about_zero(self, V: Float) -> Float:
        """HV: every column less its mean; V itself if not centred."""
        return np.asarray(V - V.mean(axis=0)) if self.centred else V

    def __call__(self, V: Float) -> Float:
        V = self.about_zero(V)
        first = self.centred and not len(self.means)
        if first:  # the column of means comes along with the first block, which costs hardly more for it
            V = np.hstack([V, np.full((len(V), 1), 1 / len(V))])
        out = np.asarray(self.gram @ V.astype(self.gram.dtype, copy=False), dtype=np.float64)
        if first:
            self.means, out = out[:, -1], out[:, :-1]
        return self.about_zero(out)

    def dense(self) -> Float:
        """The matrix itself, in memory."""
        K = np.asarray(self.gram.to_dense(), dtype=np.float64)
        if self.centred:
            self.means = K.mean(axis=0)
            K -= self.means
            K -= (self.means - self.means.mean())[:, None]
        return K


class Decomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):  # type: ignore[misc]
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

    def _dense(self, size: int, count: int) -> bool:
        small = size <= DENSE_SAMPLES or count * DENSE_SHARE > size
        return self.eigen_solver == "dense" or small

    def _iterations(self) -> int:
        return 100 if self.max_iter is None else int(self.max_iter)

    def _start(self, size: int, count: int) -> Float:
        state = check_random_state(0 if self.random_state is None else self.random_state)
        return np.asarray(state.standard_normal((size, min(size, count + GUARDS))))

    def _report(self, stage: str) -> Any:
        if not self.verbose:
            return None

        def line(products: int, values: Float, residuals: Float) -> None:
            worst = float(residuals.max() / np.abs(values).max()) if values.any() else 0.0
            sys.stdout.write(f"{type(self).__name__} {stage}: {products} products, residual {worst:.1e}\n")

        return line

    def _warn(self, pairs: Eigenpairs) -> None:
        if not pairs.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {pairs.iterations} products with a residual of "
                f"{pairs.residuals.max():.1e} for eigenvalues up to {pairs.values.max():.1e}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _eigenpairs(self, operator: Operator, count: int) -> Eigenpairs:
        """The largest eigenpairs of a Gram matrix, centred or not."""
        n = len(operator.gram)
        if self._dense(n, count):
            values, V = eigh(operator.dense(), subset_by_index=(n - count, n - 1), overwrite_a=True)
            values, V = values[::-1], np.ascontiguousarray(V[:, ::-1])
            return Eigenpairs(values, V, np.linalg.norm(operator(V) - V * values, axis=0), 1, True)
        tol, most = float(self.tol) if self.tol > 0 else TOLERANCE, self._iterations()
        start, steps = operator.about_zero(self._start(n, count)), 0
        if operator.gram.pairs.fits_single():
            single = operator.single()
            found = largest(single, start, count, tol, most, SINGLE_FLOOR, self._report("float32"))
            start, steps = operator.about_zero(found.vectors), found.iterations
        # A product in float64 gives the eigenvalues to the square of what the vectors of float32 lack.
        found = largest(operator, start, count, tol, most, 0.0, self._report("float64"))
        return dataclasses.replace(found, iterations=steps + found.iterations)

    def transform(self, X: Any) -> Array:
        """The coordinates of X along the components, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        samples = self.kernel_.samples(self._validated(X, reset=False))
        with limited(self.n_jobs):
            return np.asarray(self.expansion_(samples), dtype=samples.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.expansion_.coefficients.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def divided(V: Float, by: Float) -> Float:
    """Every column divided by a number of its own; 0 where that is 0."""
    return np.asarray(V * np.divide(1.0, by, out=np.zeros_like(by), where=by > 0))


class KernelPCA(Decomposition):
    """Principal components in the kernel's space: the directions along which phi(x) varies most.

    With the centred matrix HKH = V diag(l) V', H = I - 11'/n, component j of x is
    ``sum_i V_ij / sqrt(l_j) (k(x_i, x) - mean_r k(x_r, x_i))``. With scikit-learn's parameters and defaults. For more
    than 500 samples and few components K is never stored: blocks of vectors are multiplied by it as it is computed,
    first in float32, then in float64 (``mercer.solvers.lanczos``), and centred without a matrix.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for all with an eigenvalue other than zero.
    kernel : str, Kernel or callable, default="linear"
        A name, any kernel of ``mercer.kernels`` (of samples of any kind), or a function of two samples.
    gamma, degree, coef0, kernel_params : for the names, as in scikit-learn.
    alpha : float, default=1.0
        The ridge of the learned inverse.
    fit_inverse_transform : bool, default=False
        Learn the inverse by kernel ridge regression of X on its components. Without it, ``inverse_transform`` finds
        pre-images of the Gaussian kernel by a fixed point.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" decomposes the stored matrix; the other names mean the choice described above.
    tol : float, default=0
        The largest residual, relative to the largest eigenvalue; 0 for 1e-6. The error of an eigenvalue is about its
        square.
    max_iter : int or None, default=None
        The most products with blocks of vectors, in each precision; None for 100.
    iterated_power : ignored, as the solver stops when the residuals are small.
    remove_zero_eig : bool, default=False
        Leave out components whose eigenvalue is zero.
    random_state : int, RandomState or None, default=None
        Of the first block of vectors; None for always the same.
    copy_X : ignored, as X is never changed.
    n_jobs : int or None, default=None
        The number of threads.
    verbose : bool, default=False
        Write a line for each product.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : of the centred matrix, the largest first.
    residuals_ : ndarray of shape (n_components,)
        |HKH v - l v| in float64: each eigenvalue is as close to one of the matrix.
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
    Pre-images: Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 1999; Bakir, Weston, Schoelkopf,
    "Learning to find pre-images", NIPS 2004.

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
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the components of samples X; y is not used."""
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Finds the components of samples X, and returns the coordinates of X along them; y is not used."""
        samples = self._fit(X)
        return self._own().astype(samples.dtype, copy=False)

    def _own(self) -> Float:
        """The coordinates of the training samples."""
        return np.asarray(self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def _fit(self, X: Any) -> Samples:
        if self.fit_inverse_transform and self._precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        samples = self._training(X)
        n = len(samples)
        count = n if self.n_components is None else min(n, int(self.n_components))
        operator = Operator(self.kernel_.gram(samples, budget=0), centred=True)
        with limited(self.n_jobs):
            pairs = self._eigenpairs(operator, count)
        self._warn(pairs)
        self.n_iter_ = pairs.iterations
        values = _check_psd_eigenvalues(pairs.values, enable_warnings=False)
        kept = values > 0 if self.remove_zero_eig or self.n_components is None else np.ones(count, dtype=bool)
        vectors, _ = svd_flip(u=pairs.vectors, v=None)
        self.eigenvalues_, self.eigenvectors_ = values[kept], vectors[:, kept]
        self.residuals_ = pairs.residuals[kept]
        roots = np.sqrt(self.eigenvalues_)
        # The vectors sum to zero, so of centring only the means of k(x_i, .) over the samples remain: a constant.
        coefficients = divided(operator.about_zero(self.eigenvectors_), roots)
        known = samples.copy()
        if len(roots):
            known = precise(self.kernel_, known, coefficients, float(roots.max()) / np.sqrt(n))
        self.expansion_ = Expansion(self.kernel_, known, coefficients, -(operator.means @ coefficients))
        if self.fit_inverse_transform:
            self._fit_inverse()
        return samples

    def _fit_inverse(self) -> None:
        """Kernel ridge regression of X on its components."""
        if hasattr(self.X_fit_, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        own = self._own()
        kernel = self._chosen_kernel(self.n_features_in_).resolve(own)
        targets = np.asarray(self.expansion_.samples.dense(), dtype=np.float64)
        solution = Cholesky().solve(kernel.gram(own, budget=0), squared(targets, float(self.alpha)))
        self.dual_coef_, self.X_transformed_fit_ = solution.coefficients, own
        self.inverse_ = Expansion.of(kernel, own, solution.coefficients, solution.bias)

    def inverse_transform(self, X: Any) -> Array:
        """Points whose components are about X, of shape (n_samples, n_features).

        By the regression learned with ``fit_inverse_transform=True``. Without it, for the Gaussian kernel of dense
        vectors, the z whose phi(z) is nearest to the point P = sum_i c_i phi(x_i) of the components, a fixed point of
        ``z = sum_i c_i k(z, x_i) x_i / sum_i c_i k(z, x_i)``, reached from the nearest sample.
        """
        check_is_fitted(self)
        if self.fit_inverse_transform:
            return self.inverse_(X)
        if not isinstance(self.kernel_, Gaussian) or hasattr(self.X_fit_, "tocsr"):
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available: without it, it is for Gaussian kernels of dense vectors only"
            )
        T = check_array(X, dtype=np.float64)
        out = np.empty((len(T), self.expansion_.samples.dense().shape[1]))
        for some in chunks(len(T), 24 * len(self.expansion_)):
            out[some] = self._pre_images(T[some])
        return out

    def _pre_images(self, T: Float) -> Float:
        known = self.expansion_.samples.astype(np.float64)
        X, own = known.dense(), self._own()
        weights = T @ self.expansion_.coefficients.T + 1 / len(X)
        nearest = np.argmin(np.sum(own**2, axis=1) - 2 * T @ own.T, axis=1)
        Z: Float = np.array(X[nearest])
        moving, size = np.arange(len(T)), float(np.abs(X).max())
        for _ in range(STEPS):
            pull = weights[moving] * self.kernel_(Z[moving], known)
            total = pull.sum(axis=1)
            # Where weights of either sign cancel there is no attraction to follow, and the point stays.
            held = np.abs(total) <= 1e-9 * np.abs(pull).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = np.where(held[:, None], Z[moving], (pull @ X) / total[:, None])
            move = np.abs(new - Z[moving]).max(axis=1)
            Z[moving] = new
            moving = moving[move > MOVE * size]
            if not len(moving):
                break
        return Z


class KernelSVD(Decomposition):
    """Singular vectors of a matrix of kernel values, k(X, Z) = U diag(s) V', without centring; Z = X unless given.

    The features L(x) = k(x, Z) V s^(-1/2) of x, and R(z) = V s^(1/2) of the samples of Z, give the best approximation
    k(X, Z) = L(X) R(Z)' of its rank (Eckart and Young 1936). With Z = X both are the coordinates of phi(x) along the
    principal axes of the uncentred data.

    Parameters
    ----------
    n_components : int, default=2
        How many singular vectors.
    kernel : str, Kernel or callable, default="linear"
        A name, any kernel of ``mercer.kernels`` (of samples of any kind), or a function of two samples.
    gamma, degree, coef0, kernel_params, eigen_solver, tol, max_iter, random_state, n_jobs, verbose
        As in ``KernelPCA``.

    Attributes
    ----------
    singular_values_ : ndarray of shape (n_components,), the largest first.
    left_, right_ : U and V.
    residuals_ : ndarray of shape (n_components,)
        |k(Z, X) u - s v| in float64, and of K v - s v if Z = X.
    expansion_ : Expansion
        L as a function of x.
    kernel_, n_iter_, gamma_, X_fit_ : as in ``KernelPCA``.

    References
    ----------
    Golub, Van Loan, "Matrix Computations", chapter 8.6.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelSVD
    >>> X, Z = np.eye(3), np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> machine = KernelSVD(2).fit(X, Z=Z)
    >>> machine.singular_values_.round(6)
    array([2., 1.])
    >>> (machine.transform(X) @ (machine.right_ * np.sqrt(machine.singular_values_)).T).round(6)
    array([[2., 0.],
           [0., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, Z: Any = None) -> Self:
        """Finds the singular vectors of k(X, Z), of k(X, X) if Z is None; y is not used."""
        samples = self._training(X)
        others = samples if Z is None else self.kernel_.samples(Z)
        size = min(len(samples), len(others))
        count = size if self.n_components is None else min(size, int(self.n_components))
        with limited(self.n_jobs):
            if Z is None:
                self._square(samples, count)
            else:
                self._rectangular(samples, others, count)
        factor = divided(self.right_, np.sqrt(self.singular_values_))
        self.expansion_ = Expansion(self.kernel_, others.copy(), factor, np.zeros(count))
        return self

    def _square(self, samples: Samples, count: int) -> None:
        pairs = self._eigenpairs(Operator(self.kernel_.gram(samples, budget=0), centred=False), count)
        self._warn(pairs)
        vectors, _ = svd_flip(u=pairs.vectors, v=None)
        self.singular_values_ = _check_psd_eigenvalues(pairs.values, enable_warnings=False)
        self.left_ = self.right_ = vectors
        self.residuals_, self.n_iter_ = pairs.residuals, pairs.iterations

    def _rectangular(self, x: Samples, z: Samples, count: int) -> None:
        """Through the eigenvectors of A'A, A = k(X, Z), by products with A and A'."""
        x, z = x.astype(np.float64), z.astype(np.float64)
        A, B = self.kernel_.bind(x, z), self.kernel_.bind(z, x)
        if self._dense(min(A.shape), count):
            U, s, V = svd(A.dense(), full_matrices=False)
            U, V, self.n_iter_ = U[:, :count], V[:count].T, 1
            self.singular_values_ = s[:count]
        else:
            start = self._start(A.shape[1], count)
            tol = float(self.tol) if self.tol > 0 else TOLERANCE
            both = lambda W: np.asarray(B.product(A.product(W)), dtype=np.float64)  # noqa: E731
            pairs = largest(both, start, count, tol, self._iterations(), 0.0, self._report("float64"))
            self._warn(pairs)
            V = pairs.vectors
            images = np.asarray(A.product(V), dtype=np.float64)
            self.singular_values_ = np.linalg.norm(images, axis=0)
            U, self.n_iter_ = divided(images, self.singular_values_), pairs.iterations + 1
        self.left_, flipped = svd_flip(u=U, v=V.T)
        self.right_ = flipped.T
        back = np.asarray(B.product(self.left_), dtype=np.float64)
        self.residuals_ = np.linalg.norm(back - self.right_ * self.singular_values_, axis=0)
