"""Kernels of vectors: inner products and what is made of them, and Gaussians and their relatives."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

from mercer._native import Op, Pair
from mercer.kernels.base import Kernel, Validity, number
from mercer.kernels.collapse import Collapsed, mapped
from mercer.kernels.leaf import (
    InnerProduct,
    Unit,
    VectorKernel,
    distance_pair,
    finite,
    integer,
    inverse_square,
    positive,
    vectors,
)
from mercer.kernels.maps import Map, homogeneous, monomials
from mercer.kernels.pairs import FunctionPairs, NativePairs, Pairs, Step, step
from mercer.samples import Features, Samples, SparseVectors, Vectors, as_samples
from mercer.samples.base import Array

#: ``resolve`` estimates medians from at most this many samples.
MEDIAN_SAMPLES = 2000


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
        if self.degree % 2 == 0 and 0 in (self.c, self.gamma):  # then the sign of the other does not matter
            return "psd"
        return "indefinite"

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        return Pair.dot, [step(Op.affine, self.gamma, self.c), step(Op.integer, self.degree)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray((self.gamma * vectors(x).squares() + self.c) ** self.degree)

    def features_of(self, x: Samples) -> Array:
        if self.validity != "psd":
            return super().features_of(x)
        return monomials(vectors(x).dense(), self.degree, self.c, self.gamma)

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

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        return Pair.dot, [step(Op.series, c=self.coefficients)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(vectors(x).squares(), self.coefficients))

    def features_of(self, x: Samples) -> Array:
        if self.validity != "psd":
            return super().features_of(x)
        X = vectors(x).dense()
        return np.hstack([np.sqrt(a) * homogeneous(X, j) for j, a in enumerate(self.coefficients) if a > 0])

    def __repr__(self) -> str:
        inside = ", ".join(number(a) for a in self.coefficients)
        return f"PowerSeries(({inside}{',' if len(self.coefficients) == 1 else ''}))"


@dataclass(frozen=True, repr=False)
class Gaussian(Unit):
    """The Gaussian: k(x, z) = exp(-|x - z|^2 / (2 sigma^2)) = exp(-gamma |x - z|^2), gamma = 1 / (2 sigma^2)

    Give ``sigma`` (one width, or one per column) or ``gamma``. Found from data by ``resolve``:
    ``Gaussian("median")``, sigma the median distance; ``Gaussian(gamma="scale")``, 1 / (columns x variance of X);
    ``Gaussian(gamma="auto")``, 1 / columns.

    >>> Gaussian(1)([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    >>> Gaussian(gamma=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    sigma: float | tuple[float, ...] | str | None = None
    gamma: float | str | None = None

    def __post_init__(self) -> None:
        if (self.sigma is None) == (self.gamma is None):
            raise ValueError(
                f"Gaussian takes sigma or gamma = 1/(2 sigma^2), exactly one of them, "
                f"but got sigma={self.sigma!r} and gamma={self.gamma!r}"
            )
        if isinstance(self.sigma, str) and self.sigma != "median":
            raise ValueError(f'sigma must be a positive number, one per column, or "median", not {self.sigma!r}')
        if isinstance(self.gamma, str) and self.gamma not in ("scale", "auto"):
            raise ValueError(f'gamma must be a non-negative number, "scale" or "auto", not {self.gamma!r}')
        if self.gamma is not None and not isinstance(self.gamma, str):
            object.__setattr__(self, "gamma", positive("gamma", self.gamma, zero=True))
        if self.sigma is not None and not isinstance(self.sigma, str):
            if np.ndim(self.sigma) == 0:
                object.__setattr__(self, "sigma", positive("sigma", self.sigma))
            else:
                widths = tuple(positive("every sigma", s) for s in np.ravel(np.asarray(self.sigma)))
                object.__setattr__(self, "sigma", widths)

    @property
    def validity(self) -> Validity:
        return "psd"

    @property
    def pending(self) -> str:
        if self.sigma == "median":
            return 'sigma="median"'
        return f'gamma="{self.gamma}"' if isinstance(self.gamma, str) else ""

    def resolve_own(self, x: Samples) -> Kernel:
        if self.sigma == "median":
            return Gaussian(sigma=median_distance(vectors(x)))
        if isinstance(self.gamma, str):
            return Gaussian(gamma=resolved_gamma(self.gamma, vectors(x)))
        return self

    def exponent(self) -> float:
        """The factor of the squared distance."""
        if isinstance(self.sigma, tuple):
            return 0.5
        if self.sigma is not None:
            return 0.5 * inverse_square(float(self.sigma))
        assert self.gamma is not None
        return float(self.gamma)

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        pair = Pair.squared_distance if isinstance(self.sigma, tuple) else distance_pair(width)
        return pair, [step(Op.exp, -self.exponent())]

    def rate(self, width: int) -> float:
        return self.exponent()

    def scale(self, width: int) -> NDArray[np.float64] | None:
        if not isinstance(self.sigma, tuple):
            return None
        if len(self.sigma) != width:
            raise ValueError(f"sigma has {len(self.sigma)} widths, one per column, but the data have {width} columns")
        return 1.0 / np.array(self.sigma)

    def __repr__(self) -> str:
        if isinstance(self.sigma, tuple):
            return f"Gaussian(sigma=({', '.join(number(s) for s in self.sigma)},))"
        return super().__repr__()


def resolved_gamma(rule: str, x: Vectors | SparseVectors) -> float:
    """scikit-learn's rules: "auto" is 1 / columns, "scale" is 1 / (columns x variance of all entries)."""
    if rule == "auto":
        return 1.0 / x.width
    variance = x.variance()
    return 1.0 / (x.width * variance) if variance > 0 else 1.0


def median_distance(x: Vectors | SparseVectors) -> float:
    """The median Euclidean distance between distinct samples, from at most MEDIAN_SAMPLES of them."""
    if len(x) > MEDIAN_SAMPLES:
        x = x.take(np.linspace(0, len(x) - 1, MEDIAN_SAMPLES).astype(np.int64))
    squared = NativePairs(x, x, distance_pair(x.width), []).dense()
    apart = squared[np.triu_indices(len(x), 1)]
    apart = apart[apart > 0]
    if not len(apart):
        raise ValueError('Gaussian("median") needs at least two different samples; give sigma as a number')
    return float(np.median(np.sqrt(apart)))


@dataclass(frozen=True, repr=False)
class Laplacian(Unit):
    """The Laplacian: k(x, z) = exp(-gamma sum |x_i - z_i|); ``gamma="auto"`` is 1 / columns, found by ``resolve``.

    >>> Laplacian(1)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    gamma: float | str

    def __post_init__(self) -> None:
        if self.gamma != "auto":
            object.__setattr__(self, "gamma", positive("gamma", self.gamma, zero=True))

    @property
    def validity(self) -> Validity:
        return "psd"

    @property
    def pending(self) -> str:
        return 'gamma="auto"' if self.gamma == "auto" else ""

    def resolve_own(self, x: Samples) -> Kernel:
        return Laplacian(1.0 / vectors(x).width) if self.gamma == "auto" else self

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        return Pair.l1, [step(Op.exp, -float(self.gamma))]


@dataclass(frozen=True, repr=False)
class Matern(Unit):
    """The Matern kernel: k = 2^(1-nu)/Gamma(nu) u^nu K_nu(u), u = sqrt(2 nu) |x - z| / length

    nu = 1/2 is exp(-u); 3/2 and 5/2 have closed forms; nu = inf is the Gaussian of width ``length``.

    >>> Matern(nu=1.5, length=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.4834]])
    """

    nu: float
    length: float = 1.0

    def __post_init__(self) -> None:
        nu = np.inf if self.nu == np.inf else positive("nu", self.nu)
        object.__setattr__(self, "nu", nu)
        object.__setattr__(self, "length", positive("length", self.length))

    @property
    def validity(self) -> Validity:
        return "psd"

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        pair = distance_pair(width)
        if self.nu == 0.5:
            return pair, [step(Op.power, 0.5), step(Op.exp, -1 / self.length)]
        if self.nu == 1.5:
            return pair, [step(Op.matern32, np.sqrt(3) / self.length)]
        if self.nu == 2.5:
            return pair, [step(Op.matern52, np.sqrt(5) / self.length)]
        if self.nu == np.inf:
            return pair, [step(Op.exp, -0.5 * inverse_square(self.length))]
        return pair, [step(Op.power, 0.5), step(Op.affine, np.sqrt(2 * self.nu) / self.length)]

    def rate(self, width: int) -> float:
        return 0.5 * inverse_square(self.length) if self.nu == np.inf else 0.0

    def bind(self, x: Samples, z: Samples) -> Pairs:
        inner = super().bind(x, z)
        if self.nu in (0.5, 1.5, 2.5, np.inf):
            return inner

        return FunctionPairs(
            inner.shape, inner.dtype, inner.same, lambda rows, columns: bessel(self.nu, inner.block(rows, columns))
        )


def bessel(nu: float, u: Array) -> Array:
    """2^(1-nu)/Gamma(nu) u^nu K_nu(u), in logarithms; where K_nu overflows, its series at 0 up to u^(2 nu)."""
    u = u.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = kve(nu, u)
        value = np.exp((1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(u) + np.log(scaled) - u)
    value = np.nan_to_num(value, nan=0.0, posinf=1.0)  # kve gives up where u is so large that K_nu is 0
    near = np.isinf(scaled)
    q = u[near] ** 2 / 4
    total = term = np.ones_like(q)
    for j in range(1, int(np.ceil(nu))):
        term = term * q / (j * (j - nu))
        total = total + term
    value[near] = total
    return np.asarray(np.minimum(value, 1.0))


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Unit):
    """A mixture of Gaussians of all widths: k = (1 + |x - z|^2 / (2 alpha length^2))^-alpha

    >>> RationalQuadratic(alpha=1.0, length=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    alpha: float
    length: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))
        object.__setattr__(self, "length", positive("length", self.length))
        product = self.alpha * self.length * self.length
        positive(f"alpha length^2 (of alpha={self.alpha:g} and length={self.length:g})", product)

    @property
    def validity(self) -> Validity:
        return "psd"

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        spread = 0.5 / (self.alpha * self.length * self.length)
        return distance_pair(width), [step(Op.decay, self.alpha, spread)]


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
        return "indefinite"

    @property
    def pending(self) -> str:
        return 'gamma="auto"' if self.gamma == "auto" else ""

    def resolve_own(self, x: Samples) -> Kernel:
        return Sigmoid(1.0 / vectors(x).width, self.c) if self.gamma == "auto" else self

    def formula(self, width: int) -> tuple[Pair, list[Step]]:
        return Pair.dot, [step(Op.affine, float(self.gamma), self.c), step(Op.tanh)]

    def diag_of(self, x: Samples) -> Array:
        return np.asarray(np.tanh(float(self.gamma) * vectors(x).squares() + self.c))


@dataclass(frozen=True, repr=False)
class FeatureMap(InnerProduct):
    """The inner product of an explicit map: k(x, z) = phi(x).phi(z); phi takes the whole array, one row per sample.

    >>> from mercer.kernels import Lift
    >>> FeatureMap(Lift())([[2.0]], [[3.0]])
    array([[42.]])
    """

    phi: Any

    def __post_init__(self) -> None:
        if not callable(self.phi):
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

    def __repr__(self) -> str:
        name = repr(self.phi) if isinstance(self.phi, Map) else getattr(self.phi, "__name__", repr(self.phi))
        return f"FeatureMap({name})"
