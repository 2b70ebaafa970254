"""Distances, and the kernels made of a distance: exp(-D^p / beta) and -D^p.

Each distance D gives D or D^2 as a formula of the native engine, and knows for which powers p the kernel
exp(-D^p / beta) is positive semi-definite: for p up to ``psd_power``, because then D^p is conditionally negative
definite (Schoenberg 1938), and for no larger p.

That nothing lies beyond: for p <= 2 the kernel of a norm is positive semi-definite exactly if the space embeds in L_p
(Bretagnolle, Dacunha-Castelle, Krivine 1966). For p > 1 the balls of L_p have no flat faces; those of L1 and Linf have,
from two columns on. In two columns Linf is L1, turned by 45 degrees; in three or more there is no p at all (Misiewicz
1989). For p > 2 three points of a line that lie near each other refute it, and so they do for every distance here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer._native import Op, Reduction
from mercer.kernels.base import Kernel, Validity, instance
from mercer.kernels.histograms import histograms
from mercer.kernels.leaf import Unit, VectorKernel, distance_reduction, positive, vectors
from mercer.kernels.pairs import Pairs, Step, UserPairs, step
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array, check_names
from mercer.samples.door import in_memory
from mercer.shown import too_many


class FrozenArray:
    """An array as an immutable value: compared and hashed by its contents."""

    def __init__(self, array: Any) -> None:
        self.array = np.array(array, dtype=np.float64)
        self.array.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenArray, (self.array,)  # NumPy forgets that an array was read-only

    def __repr__(self) -> str:
        if too_many(self.array.size):
            return f"<{' x '.join(map(str, self.array.shape))} numbers>"
        return repr(self.array.tolist())  # every digit: the text reads back as the same array


@dataclass(frozen=True)
class Distance:
    """A distance of two vectors. A subclass gives the reduction and what power of D that reduction is.

    >>> L1().psd_power, L2().psd_power, Linf().psd_power
    (1.0, 2.0, 0.0)
    """

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return vectors(x)

    def prepare_both(self, x: Samples, z: Samples) -> tuple[Vectors | SparseVectors, Vectors | SparseVectors]:
        """Both sides as the reduction wants them, the same object twice if ``x is z``."""
        a = self.prepare(x)
        return a, a if x is z else self.prepare(z)

    def reduction(self, width: int) -> Reduction:
        raise NotImplementedError(f"{type(self).__name__} must name its reduction")

    @property
    def order(self) -> int:
        """1 if the reduction gives D, 2 if it gives D squared."""
        return 2

    @property
    def psd_power(self) -> float | None:
        """exp(-D^p / beta) is PSD for 0 < p <= this, and in general for no larger p; None where that is not known."""
        return None

    def alike_in(self, columns: int) -> Distance:
        """A distance that is as good as this one on samples of ``columns`` columns, and of which more may be known."""
        return self


@dataclass(frozen=True)
class L1(Distance):
    """D = sum |x_i - z_i|

    >>> Exponential(L1(), power=1)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    def reduction(self, width: int) -> Reduction:
        return Reduction.l1

    @property
    def order(self) -> int:
        return 1

    @property
    def psd_power(self) -> float:
        return 1.0

    def alike_in(self, columns: int) -> Distance:
        return L2() if columns == 1 else self


@dataclass(frozen=True)
class L2(Distance):
    """D^2 = sum (x_i - z_i)^2

    >>> Exponential(L2(), beta=2.0)([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    def reduction(self, width: int) -> Reduction:
        return distance_reduction(width)

    @property
    def psd_power(self) -> float:
        return 2.0


@dataclass(frozen=True)
class Linf(Distance):
    """D = max |x_i - z_i|

    >>> Exponential(Linf(), power=1)([[0.0, 0.0]], [[1.0, 2.0]]).round(4)
    array([[0.1353]])
    """

    def reduction(self, width: int) -> Reduction:
        return Reduction.linf

    @property
    def order(self) -> int:
        return 1

    @property
    def psd_power(self) -> float:
        return 0.0

    def alike_in(self, columns: int) -> Distance:
        return {1: L2(), 2: L1()}.get(columns, self)


@dataclass(frozen=True)
class Chi2Distance(Distance):
    """D^2 = sum (h_i - h'_i)^2 / (h_i + h'_i), 0/0 = 0, of histograms.

    >>> Exponential(Chi2Distance())([[1.0, 0.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return histograms(x, self)

    def reduction(self, width: int) -> Reduction:
        return Reduction.chi2_distance

    @property
    def psd_power(self) -> float:
        return 2.0


@dataclass(frozen=True)
class HellingerDistance(Distance):
    """D^2 = sum (sqrt(h_i) - sqrt(h'_i))^2, of histograms.

    >>> Exponential(HellingerDistance())([[4.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return histograms(x, self).map(np.sqrt)

    def reduction(self, width: int) -> Reduction:
        return distance_reduction(width)

    @property
    def psd_power(self) -> float:
        return 2.0


@dataclass(frozen=True, init=False)
class Mahalanobis(Distance):
    """D^2 = (x - z)' S^-1 (x - z) with S positive definite, or ``factor=L`` where S = L L'.

    L may have fewer columns than rows; then S^-1 is the pseudo-inverse of S, and differences at right angles to the
    columns of L do not count.

    >>> import numpy as np
    >>> Exponential(Mahalanobis(np.diag([4.0, 1.0])))([[2.0, 0.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    >>> Exponential(Mahalanobis(factor=[[2.0], [0.0]]))([[2.0, 7.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    factor: FrozenArray

    def __init__(self, S: Any = None, *, factor: Any = None) -> None:
        if (S is None) == (factor is None):
            raise ValueError("Mahalanobis takes the matrix S or a factor L with S = L L', exactly one of them")
        S, factor = in_memory(S, "S"), in_memory(factor, "factor")
        L = lower_factor(S) if factor is None else np.asarray(factor, dtype=np.float64)
        if L.ndim != 2 or not 0 < L.shape[1] <= L.shape[0] or not np.isfinite(L).all():
            raise ValueError(
                "the factor L must be a finite matrix with a row for each feature and at most as many columns, "
                f"but it has shape {L.shape}"
            )
        if factor is not None and np.linalg.matrix_rank(L) < L.shape[1]:
            raise ValueError("the columns of the factor L must be linearly independent (a square L: invertible)")
        object.__setattr__(self, "factor", FrozenArray(L))

    def prepare_both(self, x: Samples, z: Samples) -> tuple[Vectors | SparseVectors, Vectors | SparseVectors]:
        """L^-1 (x - centre of z): Euclidean distances of these are the distances wanted, and nothing cancels."""
        origin = vectors(z).centre()
        a = self.whitened(vectors(x), origin)
        return a, a if x is z else self.whitened(vectors(z), origin)

    def whitened(self, x: Vectors | SparseVectors, origin: Array) -> Vectors:
        L = self.factor.array
        if x.width != len(L):
            raise ValueError(f"S is {len(L)} by {len(L)} but the data have {x.width} columns")
        centred = x.dense().T - origin[:, None]
        if L.shape[1] < L.shape[0]:
            white = np.linalg.pinv(L) @ centred
        elif (np.tril(L) == L).all():
            white = solve_triangular(L, centred, lower=True)
        else:
            white = np.linalg.solve(L, centred)
        return Vectors(np.ascontiguousarray(np.asarray(white).T, dtype=x.dtype))

    def reduction(self, width: int) -> Reduction:
        return distance_reduction(width)

    @property
    def psd_power(self) -> float:
        return 2.0


def lower_factor(S: Any) -> Array:
    """The lower triangular L with S = L L' of a positive definite S."""
    S = np.asarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise ValueError(f"S must be a finite square matrix, but it has shape {S.shape}")
    if not np.allclose(S, S.T):
        raise ValueError("S must be symmetric; give (S + S.T) / 2 if it is so up to rounding")
    try:
        return np.asarray(cholesky((S + S.T) / 2, lower=True))
    except np.linalg.LinAlgError:
        lowest = float(np.linalg.eigvalsh(S)[0])
        raise ValueError(
            f"S must be positive definite, but its smallest eigenvalue is {lowest:g}; "
            "a metric of lower rank is given by its factor"
        ) from None


class _OfDistance(VectorKernel):
    """A kernel that is a function of D^power; ``distance`` is a Distance or a user's function of two blocks."""

    distance: Any
    power: float
    at_zero: ClassVar[float]  #: the kernel at D = 0

    def check(self) -> None:
        object.__setattr__(self, "power", positive("power", self.power))
        if not isinstance(instance(self.distance, "distance"), Distance) and not callable(self.distance):
            raise TypeError(
                "the distance must be L1(), L2(), Linf(), Chi2Distance(), HellingerDistance(), Mahalanobis(S) "
                f"or a function of two arrays of samples, not {self.distance!r}"
            )

    def after(self) -> list[Step]:
        """The steps from D^power to the kernel."""
        raise NotImplementedError

    def prepare(self, x: Samples) -> Vectors | SparseVectors:
        return self.distance.prepare(x) if isinstance(self.distance, Distance) else vectors(x)

    def prepare_both(self, x: Samples, z: Samples) -> tuple[Vectors | SparseVectors, Vectors | SparseVectors]:
        both: tuple[Vectors | SparseVectors, Vectors | SparseVectors] = self.distance.prepare_both(x, z)
        return both

    def formula(self, width: int) -> tuple[Reduction, list[Step]]:
        exponent = self.power / self.distance.order
        raised = [] if exponent == 1 else [step(Op.power, exponent)]
        return self.distance.reduction(width), [*raised, *self.after()]

    def bind(self, x: Samples, z: Samples) -> Pairs:
        if isinstance(self.distance, Distance):
            return super().bind(x, z)
        check_names(x, z)
        dtype = np.result_type(x.dtype, z.dtype)
        return UserPairs(repr(self), x.dense(), z.dense(), dtype, self.raised).then(*self.after())

    def raised(self, some: Array, others: Array) -> Array:
        """The power of a user's distance; of a negative one it may be NaN, which is refused where it enters."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.asarray(self.distance(some, others), dtype=np.float64) ** self.power)

    def diag_of(self, x: Samples) -> Array:
        """The kernel at D = 0; a user's D(x, x) may be another and is computed."""
        if not isinstance(self.distance, Distance):
            return Kernel.diag_of(self, x)
        self.prepare(x)
        return np.full(len(x), self.at_zero)

    def known(self, below: Validity) -> Validity:
        """``below`` if D^power is known to be conditionally negative definite."""
        limit = self.distance.psd_power if isinstance(self.distance, Distance) else None
        if limit is None:
            return "unknown"
        return below if self.power <= limit else "indefinite"

    def alike_in(self, columns: int) -> Kernel:
        if not isinstance(self.distance, Distance):
            return self
        return dataclasses.replace(self, distance=self.distance.alike_in(columns))  # type: ignore[type-var]


@dataclass(frozen=True, repr=False)
class Exponential(_OfDistance, Unit):
    """The generalised Gaussian of a distance: k(x, z) = exp(-D(x, z)^power / beta)

    PSD for L2, chi-square, Hellinger and Mahalanobis distances with 0 < power <= 2 and for L1 with power <= 1, and in
    general for no larger power nor for Linf. Of one column L1 and Linf are L2; of two, Linf is as good as L1.

    >>> Exponential(L1(), power=1).validity, Exponential(L1(), power=2).validity
    ('psd', 'indefinite')
    >>> Exponential(L1(), power=2).on("age").validity, Exponential(Linf(), power=1).on([0, 1]).validity
    ('psd', 'psd')
    """

    distance: Any
    beta: float = 1.0
    power: float = 2.0
    at_zero: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        self.check()
        object.__setattr__(self, "beta", positive("beta", self.beta))

    @property
    def validity(self) -> Validity:
        return self.known("psd")

    def after(self) -> list[Step]:
        return [step(Op.exp, -1 / self.beta)]

    def rate(self, width: int) -> float:
        return 1 / self.beta if self.power == 2 else 0.0


@dataclass(frozen=True, repr=False)
class NegativeDistance(_OfDistance):
    """k(x, z) = -D(x, z)^power: conditionally positive definite where exp(-D^power) is PSD.

    >>> NegativeDistance(L2())([[0.0]], [[3.0]])
    array([[-9.]])
    >>> NegativeDistance(L2()).validity, exp(NegativeDistance(L2())).validity
    ('cpd', 'psd')
    """

    distance: Any
    power: float = 2.0
    at_zero: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        self.check()

    @property
    def validity(self) -> Validity:
        return self.known("cpd")

    def after(self) -> list[Step]:
        return [step(Op.affine, -1.0)]
