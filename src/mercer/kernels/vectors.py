"""Kernels of vectors by inner products: x.z itself, functions of it, and the inner product of an explicit map.

Those of the difference x - z are in ``mercer.kernels.stationary``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._native import Op, Reduction
from mercer.kernels.base import Kernel, Validity, instance, number
from mercer.kernels.collapse import Collapsed, mapped
from mercer.kernels.columns import column_names
from mercer.kernels.leaf import InnerProduct, VectorKernel, finite, integer, vectors
from mercer.kernels.maps import Map, homogeneous, map_names, map_text, monomial_names, monomials
from mercer.kernels.pairs import Step, step
from mercer.samples import Features, Samples, SparseVectors, Vectors, as_samples
from mercer.samples.base import Array
from mercer.shown import too_many


@dataclass(frozen=True, repr=False)
class Linear(InnerProduct):
    """The inner product: k(x, z) = x.z

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    @property
    def validity(self) -> Validity:
        return "psd"

    def diag_of(self, x: Samples) -> Array:
        return vectors(x).squares()

    def features_of(self, x: Samples) -> Any:
        return vectors(x).array

    def names_of(self, x: Samples) -> list[str]:
        return column_names(x)


@dataclass(frozen=True, repr=False)
class Polynomial(VectorKernel):
    """Polynomials of bounded degree: k(x, z) = (gamma x.z + c)^degree

    The features are the weighted monomials of degree up to ``degree``, C(d + degree, degree) of them; with c = 0,
    only those of exactly that degree, C(d + degree - 1, degree).

    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    >>> Polynomial(2).features([[1.0, 2.0]]).shape
    (1, 6)
    """

    degree: int
    c: float = 1.0
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", integer("the degree of a polynomial kernel", self.degree, 0))
        object.__setattr__(self, "c", finite("c", self.c))
        object.__setattr__(self, "gamma", finite("gamma", self.gamma))

    @property
    def validity(self) -> Validity:
        if self.degree == 0 or (self.c >= 0 and self.gamma >= 0):
            return "psd"
        if self.degree % 2 == 0 and self.c * self.gamma >= 0:  # then that of -c and -gamma is the same kernel
            return "psd"
        return "indefinite"

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.dot, [step(Op.affine, self.gamma, self.c), step(Op.integer, self.degree)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray((self.gamma * vectors(x).squares() + self.c) ** self.degree)

    def features_of(self, x: Samples) -> Array:
        if self.validity != "psd":
            return super().features_of(x)
        return monomials(vectors(x).dense(), self.degree, self.c, self.gamma)

    def names_of(self, x: Samples) -> list[str]:
        if self.validity != "psd":
            return super().names_of(x)
        return monomial_names(column_names(x), range(self.degree if self.c == 0 else 0, self.degree + 1))

    def collapsed(self, z: Vectors | SparseVectors, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        if self.validity != "psd":
            return None
        count = comb(z.width + self.degree - (self.c == 0), self.degree)
        return mapped(lambda x: self.features_of(x.astype(np.float64)), count, z, V, starts)


@dataclass(frozen=True, repr=False)
class PowerSeries(VectorKernel):
    """A power series of the inner product: k(x, z) = sum_j a_j (x.z)^j; PSD exactly when all a_j >= 0.

    >>> PowerSeries((1, 1, 1, 1))([[2.0]], [[1.0]])
    array([[15.]])
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        values = tuple(finite("a coefficient of a power series", a) for a in self.coefficients)
        if not values:
            raise ValueError("a power series needs at least one coefficient")
        object.__setattr__(self, "coefficients", values)

    @property
    def validity(self) -> Validity:
        return "psd" if min(self.coefficients) >= 0 else "indefinite"

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.dot, [step(Op.series, c=self.coefficients)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(vectors(x).squares(), self.coefficients))

    def features_of(self, x: Samples) -> Array:
        if self.validity != "psd":
            return super().features_of(x)
        X = vectors(x).dense()
        return np.hstack([np.sqrt(self.coefficients[j]) * homogeneous(X, j) for j in self.terms()])

    def terms(self) -> list[int]:
        """The exponents; of k = 0, the number 0, that of a constant."""
        return [j for j, a in enumerate(self.coefficients) if a > 0] or [0]

    def names_of(self, x: Samples) -> list[str]:
        return monomial_names(column_names(x), self.terms()) if self.validity == "psd" else super().names_of(x)

    def __repr__(self) -> str:
        if too_many(len(self.coefficients)):
            return f"PowerSeries(<{len(self.coefficients)} numbers>)"
        inside = ", ".join(number(a) for a in self.coefficients)
        return f"PowerSeries(({inside}{',' if len(self.coefficients) == 1 else ''}))"


@dataclass(frozen=True, repr=False)
class Cosine(InnerProduct):
    """The cosine of the angle: k(x, z) = x.z / (|x| |z|), 0 where a sample is zero.

    >>> Cosine()([[1.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.7071]])
    """

    @property
    def validity(self) -> Validity:
        return "psd"

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        v = vectors(x)
        v = v.divided(v.peaks())  # so that no square overflows or vanishes
        return v.divided(v.norms())

    def diag_of(self, x: Samples) -> Array:
        return (vectors(x).peaks() > 0).astype(np.float64)

    def features_of(self, x: Samples) -> Any:
        return self.prepare(x).array

    def names_of(self, x: Samples) -> list[str]:
        return column_names(x)


@dataclass(frozen=True, repr=False)
class Sigmoid(VectorKernel):
    """tanh(gamma x.z + c): not a Mercer kernel, but people use it; ``gamma="auto"`` is 1 / columns.

    >>> Sigmoid(gamma=1.0, c=0.0)([[1.0]], [[0.5]]).round(4)
    array([[0.4621]])
    """

    gamma: float | str
    c: float = 0.0

    def __post_init__(self) -> None:
        if self.gamma != "auto":
            object.__setattr__(self, "gamma", finite("gamma", self.gamma))
        object.__setattr__(self, "c", finite("c", self.c))

    @property
    def validity(self) -> Validity:
        if self.gamma == 0:  # a constant
            return "psd" if self.c >= 0 else "cpd"
        return "indefinite"

    @property
    def pending(self) -> str:
        return 'gamma="auto"' if self.gamma == "auto" else ""

    def resolve_own(self, x: Samples) -> Kernel:
        return Sigmoid(resolved_gamma(self.gamma, vectors(x)), self.c) if isinstance(self.gamma, str) else self

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.dot, [step(Op.affine, float(self.gamma), self.c), step(Op.tanh)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(np.tanh(float(self.gamma) * vectors(x).squares() + self.c))


def resolved_gamma(rule: str, x: Vectors | SparseVectors) -> float:
    """scikit-learn's rules: "auto" is 1 / columns, "scale" is 1 / (columns x variance of all entries)."""
    if rule == "auto":
        return 1.0 / x.width
    variance = x.variance()
    return 1.0 / (x.width * variance) if variance > 0 else 1.0


@dataclass(frozen=True, repr=False)
class FeatureMap(InnerProduct):
    """The inner product of an explicit map: k(x, z) = phi(x).phi(z); phi takes the whole array, one row per sample.

    >>> from mercer.kernels import Lift
    >>> FeatureMap(Lift())([[2.0]], [[3.0]])
    array([[42.]])
    """

    phi: Any

    def __post_init__(self) -> None:
        if not callable(instance(self.phi, "map")):
            raise TypeError(f"FeatureMap takes a function of an array of samples but got a {type(self.phi).__name__}")

    @property
    def validity(self) -> Validity:
        return "psd"

    @property
    def pending(self) -> str:
        return self.phi.pending if isinstance(self.phi, Map) else ""

    def resolve_own(self, x: Samples) -> FeatureMap:
        return FeatureMap(self.phi.resolve(x.dense())) if self.pending else self

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        if isinstance(x, Features):
            return x
        values = vectors(as_samples(self.phi(x.content())))
        if len(values) != len(x):
            raise ValueError(
                f"the map of {self} turned {len(x)} samples into {len(values)} rows; expected one row each"
            )
        return values

    def diag_of(self, x: Samples) -> Array:
        return self.prepare(x).squares()

    def features_of(self, x: Samples) -> Any:
        return self.prepare(x).array

    def names_of(self, x: Samples) -> list[str]:
        return map_names(self.phi, x, self.prepare(x.take(np.arange(1))).width)

    def __repr__(self) -> str:
        return f"FeatureMap({map_text(self.phi)})"
