"""The singular value decomposition of a matrix of kernel values, square or not, as a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.extmath import svd_flip

from mercer import costs
from mercer.expansion import Expansion
from mercer.machines.decompose import Decomposition, Watch, certified, divided, without_negative
from mercer.samples import Samples
from mercer.solvers.eigen import multiplied, reported
from mercer.solvers.lanczos import Eigenpairs, largest
from mercer.solvers.lapack import interruptible


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
        self._fit(X, y, Z)
        return self

    def _decompose(self, samples: Samples, Z: Any, progress: Watch) -> None:
        others = samples if Z is None else self.kernel_.samples(Z)
        count = self._count(min(len(samples), len(others)))
        if Z is None:
            self._square(samples, count, progress)
        else:
            self._rectangular(samples, others, count, progress)
        factor = divided(self.right_, np.sqrt(self.singular_values_))
        self.expansion_ = Expansion(self.kernel_, others.copy(), factor, np.zeros(count))

    def _square(self, samples: Samples, count: int, progress: Watch) -> None:
        gram = self._gram(samples)
        pairs = self._eigenpairs(multiplied(gram), count, progress)
        vectors, _ = svd_flip(u=pairs.vectors, v=None)
        self.singular_values_ = without_negative(pairs.values)
        self.left_ = self.right_ = vectors
        self.residuals_, self.n_iter_ = pairs.residuals, pairs.iterations
        self.certificate_ = self._judged(gram, pairs, float(gram.diag().sum(dtype=np.float64)), "K", balanced=False)

    def _rectangular(self, x: Samples, z: Samples, count: int, progress: Watch) -> None:
        """Through the eigenvectors of A'A, A = k(X, Z), by products with A and A'."""
        x, z = x.astype(np.float64), z.astype(np.float64)
        A, B = self.kernel_.bind(x, z), self.kernel_.bind(z, x)
        if self._dense(min(A.shape), count):
            progress.begin(f"matrix of {len(x)} and {len(z)} samples")
            K = A.dense()
            progress.begin(f"singular vectors of {len(x)} x {len(z)}")
            U, s, V = interruptible(lambda: np.linalg.svd(K, full_matrices=False))
            U, V, self.n_iter_, converged = U[:, :count], V[:count].T, 1, True
            self.singular_values_ = s[:count]
        else:
            start = self._random().standard_normal(
                (A.shape[1], min(A.shape[1], max(count + costs.BLOCK_GUARDS, costs.BLOCK_WIDTH)))
            )
            both = lambda W: np.asarray(B.product(A.product(W)), dtype=np.float64)  # noqa: E731
            pairs = largest(both, start, count, *self._limits(), progress=reported(progress, 64))
            self._warn(pairs)
            V, converged = pairs.vectors, pairs.converged
            images = np.asarray(A.product(V), dtype=np.float64)
            self.singular_values_ = np.linalg.norm(images, axis=0)
            U, self.n_iter_ = divided(images, self.singular_values_), pairs.iterations + 1
        self.left_, flipped = svd_flip(u=U, v=V.T)
        self.right_ = flipped.T
        back = np.asarray(B.product(self.left_), dtype=np.float64)
        self.residuals_ = np.linalg.norm(back - self.right_ * self.singular_values_, axis=0)
        # Singular values are the largest eigenvalues of A beside A', whose vectors are u above v.
        found = Eigenpairs(self.singular_values_, V, self.residuals_, self.n_iter_, converged)
        self.certificate_ = replace(certified(found), convex=True)  # A'A is positive semi-definite
