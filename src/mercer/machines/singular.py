"""The singular value decomposition of a matrix of kernel values, square or not, as a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.extmath import svd_flip

from mercer import costs
from mercer.expansion import Expansion
from mercer.machines.base import precise
from mercer.machines.decompose import (
    DecompositionFit,
    PosedDecomposition,
    SpectralMachine,
    SpectralStages,
    certified,
    divided,
    without_negative,
)
from mercer.machines.fit import as_kept, view
from mercer.remembered import remembered
from mercer.samples import Samples
from mercer.solvers import Certificate
from mercer.solvers.eigen import multiplied, reported
from mercer.solvers.lanczos import Eigenpairs, Float, largest
from mercer.solvers.lapack import interruptible


@dataclass(frozen=True, eq=False)
class Singular:
    """Singular vectors and values, with what is known of them."""

    left: Float
    values: Float
    right: Float
    residuals: Float
    iterations: int
    certificate: Certificate


@dataclass(frozen=True, eq=False, kw_only=True)
class SingularFit(DecompositionFit):
    """Singular vectors; those on the right are of ``samples``, and so are those on the left if there are no others."""

    singular_values: Float
    right: Float
    own_left: Float | None

    @property
    def left(self) -> Float:
        return self.right if self.own_left is None else self.own_left

    @remembered
    def expansion(self) -> Expansion:
        factor = divided(self.right, np.sqrt(self.singular_values))
        return Expansion(self.kernel, self.samples, factor, np.zeros(len(self.singular_values)))


class KernelSVD(SpectralMachine):
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
    gamma, degree, coef0, kernel_params, eigen_solver, tol, max_iter, random_state, cache_size, n_jobs, verbose
        As in ``KernelPCA``.

    Attributes
    ----------
    singular_values_ : ndarray of shape (n_components,), the largest first.
    left_, right_ : U and V.
    residuals_ : ndarray of shape (n_components,)
        |k(Z, X) u - s v| in float64, and of K v - s v if Z = X.
    certificate_ : Certificate
        Of minus the sum of the singular values, as in ``KernelPCA``.
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
        cache_size: float = 200,
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
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, Z: Any = None) -> Self:
        """Finds the singular vectors of k(X, Z), of k(X, X) if Z is None; y is not used."""
        self._fitted_to(X, y, Z)
        return self

    singular_values_, left_, right_ = view(), view(), view()

    def _decomposed(self, posed: PosedDecomposition, Z: Any, progress: SpectralStages) -> SingularFit:
        others = posed.samples if Z is None else posed.kernel.samples(Z)
        count = self._count(min(len(posed.samples), len(others)))
        find = self._square if Z is None else self._rectangular
        found, known = find(posed, others, count, progress), others.copy()
        roots = np.sqrt(found.values)
        if len(roots):
            size = float(roots.max()) / np.sqrt(len(known))
            known = precise(posed.kernel, known, divided(found.right, roots), size)
        return SingularFit(
            **posed.features.found(),
            kernel=posed.kernel,
            samples=known,
            singular_values=found.values,
            right=found.right,
            own_left=None if Z is None else found.left,
            residuals=found.residuals,
            certificate=found.certificate,
            n_iter=found.iterations,
            gamma=posed.gamma,
            X_given=as_kept(posed.X, known, whole=Z is None),
        )

    def _square(self, posed: PosedDecomposition, others: Samples, count: int, progress: SpectralStages) -> Singular:
        gram = self._gram(posed)
        pairs = self._eigenpairs(multiplied(gram), count, progress)
        V, _ = svd_flip(u=pairs.vectors, v=None)
        trace = float(gram.exact.diag().sum(dtype=np.float64))
        values, certificate = without_negative(pairs.values), self._judged(gram, pairs, trace, "K", balanced=False)
        return Singular(V, values, V, pairs.residuals, pairs.iterations, certificate)

    def _rectangular(
        self, posed: PosedDecomposition, others: Samples, count: int, progress: SpectralStages
    ) -> Singular:
        """Through the eigenvectors of A'A, A = k(X, Z), by products with A and A'."""
        x, z = posed.samples.astype(np.float64), others.astype(np.float64)
        A, B = posed.kernel.bind(x, z), posed.kernel.bind(z, x)
        if self._dense(min(A.shape), count):
            progress.begin(f"matrix of {len(x)} and {len(z)} samples")
            K = A.dense()
            progress.begin(f"singular vectors of {len(x)} x {len(z)}")
            U, s, V = interruptible(lambda: np.linalg.svd(K, full_matrices=False))
            U, s, V, iterations, converged = U[:, :count], s[:count], V[:count].T, 1, True
        else:
            width = min(A.shape[1], max(count + costs.BLOCK_GUARDS, costs.BLOCK_WIDTH))
            start = self._random().standard_normal((A.shape[1], width))
            both = lambda W: np.asarray(B.product(A.product(W)), dtype=np.float64)  # noqa: E731
            pairs = largest(both, start, count, *self._limits(), progress=reported(progress, 64))
            self._warn(pairs)
            V, converged = pairs.vectors, pairs.converged
            images = np.asarray(A.product(V), dtype=np.float64)
            s = np.linalg.norm(images, axis=0)
            U, iterations = divided(images, s), pairs.iterations + 1
        left, flipped = svd_flip(u=U, v=V.T)
        right = flipped.T
        residuals = np.linalg.norm(np.asarray(B.product(left), dtype=np.float64) - right * s, axis=0)
        # Singular values are the largest eigenvalues of A beside A', whose vectors are u above v.
        found = Eigenpairs(s, V, residuals, iterations, converged)
        certificate = replace(certified(found), convex=True)  # A'A is positive semi-definite
        return Singular(left, s, right, residuals, iterations, certificate)
