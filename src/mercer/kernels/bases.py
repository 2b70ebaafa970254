"""Basis functions: explicit maps whose weights are what a regression finds, f(x) = sum_j w_j phi_j(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.base import UnresolvedKernelError, number
from mercer.kernels.leaf import integer, inverse_square, positive
from mercer.kernels.maps import Map, monomial_names, products
from mercer.kernels.stationary import Gaussian
from mercer.samples import Vectors, as_samples
from mercer.samples.base import Array
from mercer.shown import too_many


@dataclass(frozen=True)
class PolynomialBasis(Map):
    """All monomials up to a degree, the constant included, unweighted: for one coordinate (1, x, x^2, ...).

    ``Monomials`` has the same entries, weighted so that their inner product is a polynomial kernel.

    >>> PolynomialBasis(2)([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    degree: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", integer("the degree of PolynomialBasis", self.degree, 0))

    def features(self, X: Array) -> Array:
        return np.hstack([products(X, j)[0] for j in range(self.degree + 1)])

    def names(self, columns: Sequence[str]) -> list[str]:
        return monomial_names(columns, range(self.degree + 1))


@dataclass(frozen=True, repr=False)
class GaussianBasis(Map):
    """One bump per centre c: exp(-|x - c|^2 / sigma^2).

    Mind the missing 2: the kernel ``Gaussian(s)``, exp(-|x - z|^2 / (2 s^2)), is as wide as the bumps of
    sigma = sqrt(2) s. With ``centres="data"``, the distinct samples that ``resolve``, which machines call at fit, is
    given.

    >>> GaussianBasis([[0.0], [1.0]], sigma=1.0)([[0.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    centres: Any = "data"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma of GaussianBasis", self.sigma))
        if isinstance(self.centres, str):
            if self.centres != "data":
                raise ValueError(f'the centres are points or "data", not {self.centres!r}')
        else:
            object.__setattr__(self, "centres", Vectors(as_samples(self.centres).dense().astype(np.float64)))

    @property
    def pending(self) -> str:
        return 'centres="data"' if isinstance(self.centres, str) else ""

    def resolve(self, X: Array) -> GaussianBasis:
        if not self.pending:
            return self
        _, first = np.unique(X, axis=0, return_index=True)
        return GaussianBasis(X[np.sort(first)], self.sigma)

    def features(self, X: Array) -> Array:
        if self.pending:
            raise UnresolvedKernelError(
                f"{self} depends on data: {self.pending} is not known yet. Call resolve(X) first, or give the basis to "
                "a machine, which does so at fit"
            )
        return np.asarray(Gaussian(gamma=inverse_square(self.sigma))(X, self.centres))

    def names(self, columns: Sequence[str]) -> list[str]:
        at = ", ".join(columns)
        return [f"bump at {at} = {', '.join(f'{c:g}' for c in centre)}" for centre in self.centres.dense()]

    def __repr__(self) -> str:
        if self.pending:
            centres = repr(self.centres)
        elif too_many(self.centres.dense().size):
            centres = f"<{' x '.join(map(str, self.centres.dense().shape))} numbers>"
        else:
            centres = repr(self.centres.dense().tolist())
        return f"GaussianBasis(centres={centres}, sigma={number(self.sigma)})"
