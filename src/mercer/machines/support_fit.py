"""What the machines that ``SMO`` solves keep: the expansion and, as views of it, scikit-learn's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._sparse import _align_api_if_sparse

from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.machines.fit import AsGiven, Fit, UserFunction
from mercer.machines.training import Positions, stored
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Similarities, SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.solvers import Certificate


@dataclass(frozen=True, eq=False, kw_only=True)
class SupportFit(Fit):
    """A function spanned by its support vectors; if there are none, by one sample with the coefficient 0."""

    expansion: Expansion
    #: Where the support vectors stand among the samples, their weights, and how many each class has.
    support: Array
    support_weight: Vector
    n_support: Array
    certificate: Certificate | tuple[Certificate, ...]
    n_iter: Any
    shape_fit: tuple[int, ...]
    #: The name of the type of the user's numbers; the expansion may hold them in float64.
    precision: str
    #: The support vectors, where they are not vectors.
    given: AsGiven | None = None
    function: UserFunction | None = None

    @property
    def kernel(self) -> Kernel:
        return self.expansion.kernel

    @property
    def functions(self) -> Expansion:
        """One output per function."""
        return self.expansion

    @property
    def coefficients(self) -> Vector:
        """One row per support vector."""
        n = len(self.support)
        return self.expansion.coefficients[:n].reshape(n, -1 if n else self.intercept.size)

    @property
    def dual_coef(self) -> Any:
        a = self.coefficients.T
        return stored(a) if isinstance(self.expansion.samples, SparseVectors) else a

    @property
    def intercept(self) -> Vector:
        return np.atleast_1d(self.expansion.bias)

    @property
    def fit_status(self) -> int:
        found = self.certificate if isinstance(self.certificate, tuple) else (self.certificate,)
        return int(not all(certificate.converged for certificate in found))

    @property
    def support_vectors(self) -> Any:
        """As the user gave them; of a given matrix there are none."""
        samples, n = self.expansion.samples, len(self.support)
        if isinstance(samples, Similarities):
            return np.empty((0, 0))
        if isinstance(samples, (Vectors, SparseVectors)):
            array = samples.array if n == len(samples) else samples.array[:n]
            array = array.astype(self.precision, copy=False)
            return _align_api_if_sparse(array) if isinstance(samples, SparseVectors) else array
        assert self.given is not None
        return self.given.data

    @property
    def weights(self) -> Any:
        """The weights of the features, if the kernel is linear; read-only."""
        a, x = self.functions.coefficients[: len(self.support)], self.support_vectors
        a = a.reshape(len(self.support), -1).T
        if sp.issparse(x):
            coef = _align_api_if_sparse(sp.csr_array(stored(a) @ x))
            coef.data.flags.writeable = False
            return coef
        coef = a @ x
        coef.flags.writeable = False
        return coef


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledFit(SupportFit):
    """Functions that tell classes apart; support vectors are sorted by class."""

    classes: Array
    class_weight: Vector

    @remembered
    def first_support(self) -> Positions:
        """Where the support vectors of each class begin."""
        return np.asarray(np.cumsum(self.n_support) - self.n_support, dtype=np.int64)
