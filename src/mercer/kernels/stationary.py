"""Stationary kernels, functions of the difference x - z alone: Gaussians and their relatives.

The Euclidean ones are functions of |x - z|^2; the Laplacian is one of the sum of |x_i - z_i|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

from mercer._native import Op, Reduction
from mercer.kernels.base import Kernel, Validity, number
from mercer.kernels.leaf import Unit, distance_reduction, inverse_square, positive, vectors
from mercer.kernels.native import NativePairs
from mercer.kernels.pairs import FunctionPairs, Pairs, Step, step
from mercer.kernels.vectors import resolved_gamma
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.shown import too_many

#: ``resolve`` estimates medians from at most this many samples.
MEDIAN_SAMPLES = 2000


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

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        reduction = Reduction.squared_distance if isinstance(self.sigma, tuple) else distance_reduction(width)
        return reduction, [step(Op.exp, -self.exponent())]

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
            if too_many(len(self.sigma)):
                return f"Gaussian(sigma=<{len(self.sigma)} numbers>)"
            return f"Gaussian(sigma=({', '.join(number(s) for s in self.sigma)},))"
        return super().__repr__()


def median_distance(x: Vectors | SparseVectors) -> float:
    """The median Euclidean distance between distinct samples, from at most MEDIAN_SAMPLES of them."""
    if len(x) > MEDIAN_SAMPLES:
        x = x.take(np.linspace(0, len(x) - 1, MEDIAN_SAMPLES).astype(np.int64))
    squared = NativePairs(x, x, distance_reduction(x.width), []).dense()
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
        return Laplacian(resolved_gamma(self.gamma, vectors(x))) if isinstance(self.gamma, str) else self

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        return Reduction.l1, [step(Op.exp, -float(self.gamma))]


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

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        reduction = distance_reduction(width)
        if self.nu == 0.5:
            return reduction, [step(Op.power, 0.5), step(Op.exp, -1 / self.length)]
        if self.nu == 1.5:
            return reduction, [step(Op.matern32, np.sqrt(3) / self.length)]
        if self.nu == 2.5:
            return reduction, [step(Op.matern52, np.sqrt(5) / self.length)]
        if self.nu == np.inf:
            return reduction, [step(Op.exp, -0.5 * inverse_square(self.length))]
        return reduction, [step(Op.power, 0.5), step(Op.affine, np.sqrt(2 * self.nu) / self.length)]

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

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        spread = 0.5 / (self.alpha * self.length * self.length)
        return distance_reduction(width), [step(Op.decay, self.alpha, spread)]
