"""The one problem behind every machine with a quadratic dual, and the functions that fill it in.

    minimise over a   1/2 a'(K + diag(ridge)) a - q'a + l1'|a|
    subject to        lower <= a <= upper   and   sum of a = total   (in each group; no such constraint if None)

K is the plain Gram matrix: the labels live in q and in the bounds. So ``a`` is the answer itself,
f(x) = sum_i a_i k(x_i, x) + b, and b is the multiplier of the equality. Its Lagrangian dual, the primal problem of
the machine, is to minimise over w and b

    1/2 |w|^2 + sum_i loss_i(q_i - f_i - b) + b total,
    loss_i(u) = max over lower <= a <= upper of u a - l1|a| - ridge a^2/2

(see Steinwart and Christmann, "Support Vector Machines", 2008, and the Shark library for the signed form).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.samples.base import Array

__all__ = [
    "Problem",
    "epsilon_insensitive",
    "hinge",
    "nu_epsilon",
    "nu_hinge",
    "one_class",
    "squared",
    "squared_epsilon_insensitive",
    "squared_hinge",
    "svdd",
]

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """One dual problem of n coefficients; with a two-dimensional ``q``, one problem per column, on the same K.

    ``lower``, ``upper``, ``l1`` and ``ridge`` are numbers, one per coefficient, or of the shape of ``q``.
    ``group`` numbers the equality constraint each coefficient belongs to; by default there is one for all.
    ``sample`` says which row of the Gram matrix each coefficient belongs to; by default they are the rows, in order.
    So a problem may live on some of the samples, and a sample may have several coefficients.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import Cholesky
    >>> squares = Problem(np.array([1.0, 2.0]), ridge=1.0)  # kernel ridge regression of q with alpha = 1
    >>> Cholesky().solve(Linear().gram([[1.0], [0.0]]), [squares])[0].coefficients
    array([0.5, 2. ])
    """

    q: Vector
    lower: Any = -np.inf
    upper: Any = np.inf
    l1: Any = 0.0
    ridge: Any = 0.0
    total: float | tuple[float, ...] | None = None
    group: NDArray[np.int64] | None = None
    sample: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.q.ndim not in (1, 2):
            raise ValueError(f"q must have one or two dimensions, not shape {self.q.shape}")
        if (self._aligned(self.lower) > self._aligned(self.upper)).any():
            raise ValueError("some lower bound exceeds its upper bound")
        if any(v < 0 if type(v) is float else (np.asarray(v) < 0).any() for v in (self.ridge, self.l1)):
            raise ValueError("ridge and l1 must not be negative")
        self._check_samples()

    def _check_samples(self) -> None:
        if self.sample is not None and self.sample.shape != (len(self),):
            raise ValueError(f"sample must number {len(self)} samples, not have shape {self.sample.shape}")
        if self.sample is not None and self.sample.dtype.kind not in "iu":
            raise TypeError(f"sample must hold positions of samples, which are integers, not {self.sample.dtype}")

    def _aligned(self, value: Any) -> Array:
        array = np.asarray(value, dtype=np.float64)
        return array[:, None] if array.ndim == 1 and self.q.ndim == 2 else array

    def _spread(self, value: Any) -> Array:
        # Several times faster than to broadcast, and there may be thousands of small problems.
        if type(value) is float:
            return np.full(self.q.shape, value) if value else np.zeros(self.q.shape)
        array = self._aligned(value)
        return array if array.shape == self.q.shape else np.broadcast_to(array, self.q.shape)

    def __len__(self) -> int:
        return int(self.q.shape[0])

    @property
    def outputs(self) -> int:
        return 1 if self.q.ndim == 1 else int(self.q.shape[1])

    @property
    def bounded(self) -> bool:
        """Whether there is anything that makes this more than a linear system."""
        finite = np.isfinite(self._spread(self.lower)) | np.isfinite(self._spread(self.upper))
        return bool(finite.any() or self._spread(self.l1).any())

    def columns(self) -> list[Problem]:
        """The problems of the single outputs, each with arrays of one entry per coefficient."""
        arrays = {name: self._spread(getattr(self, name)) for name in ("q", "lower", "upper", "l1", "ridge")}
        if self.q.ndim == 1:
            return [unchecked(**(self.__dict__ | arrays))]
        return [
            replace(self, **{name: array[:, j] for name, array in arrays.items()})  # type: ignore[arg-type]
            for j in range(self.outputs)
        ]

    def groups(self) -> list[tuple[NDArray[np.int64], float]]:
        """The members and the total of each equality constraint."""
        if self.total is None:
            return []
        if self.group is None:
            assert not isinstance(self.total, tuple)
            return [(np.arange(len(self)), self.total)]
        assert isinstance(self.total, tuple)
        return [(np.flatnonzero(self.group == g), total) for g, total in enumerate(self.total)]

    def by_sample(self, a: Vector, samples: int) -> Vector:
        """The coefficient of every row of a Gram matrix of ``samples`` samples: the sum of those that belong to it."""
        if self.sample is None:
            return a
        return np.bincount(self.sample, weights=a, minlength=samples).astype(np.float64)

    def of_samples(self, f: Vector) -> Vector:
        """The value at every coefficient, given one per row of the Gram matrix."""
        return f if self.sample is None else f[self.sample]


def unchecked(**fields: Any) -> Problem:
    """The problem of fields whose bounds are right beyond doubt, in a third of the time that a check takes."""
    problem = object.__new__(Problem)
    problem.__dict__.update(fields)
    problem._check_samples()
    return problem


def squared(y: Vector, alpha: Any, weight: Vector | None = None, *, bias: bool = False) -> Problem:
    """Kernel ridge: minimise sum_i w_i (y_i - f(x_i) - b)^2 + alpha |w|^2; alpha a number or one per column of y.

    >>> import numpy as np
    >>> squared(np.array([1.0, 2.0]), 0.5).ridge
    array([0.5, 0.5])
    """
    inverse = np.ones(len(y)) if weight is None else 1 / weight
    ridge = np.multiply.outer(inverse, np.asarray(alpha, dtype=np.float64))
    return Problem(q=np.asarray(y, dtype=np.float64), ridge=ridge, total=0.0 if bias else None)


def hinge(y: Vector, C: Any, sample: NDArray[np.int64] | None = None, *, bias: bool = True) -> Problem:
    """Soft margin SVM with labels -1 and 1: minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)).

    >>> import numpy as np
    >>> p = hinge(np.array([1.0, -1.0]), 10.0)
    >>> p.lower, p.upper
    (array([  0., -10.]), array([10.,  0.]))
    """
    q = np.asarray(y, dtype=np.float64)
    end = q * C
    total = 0.0 if bias else None
    return unchecked(q=q, lower=np.minimum(end, 0.0), upper=np.maximum(end, 0.0), total=total, sample=sample)


def squared_hinge(y: Vector, C: Any, *, bias: bool = True) -> Problem:
    """Minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i))^2, the bias not penalised.

    >>> import numpy as np
    >>> squared_hinge(np.array([1.0, -1.0]), 10.0).ridge
    array([0.05, 0.05])
    """
    q = np.asarray(y, dtype=np.float64)
    bound, ridge = of_squares(C, q.shape)
    lower, upper = np.where(q > 0, 0.0, -bound), np.where(q > 0, bound, 0.0)
    return Problem(q, lower, upper, ridge=ridge, total=0.0 if bias else None)


def epsilon_insensitive(y: Vector, C: Any, epsilon: float, *, bias: bool = True) -> Problem:
    """Support vector regression: minimise 1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon).

    >>> import numpy as np
    >>> epsilon_insensitive(np.array([3.0]), 2.0, 0.1).lower
    array([-2.])
    """
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), y.shape)
    total = 0.0 if bias else None
    return Problem(q=np.asarray(y, dtype=np.float64), lower=-bound, upper=bound, l1=epsilon, total=total)


def squared_epsilon_insensitive(y: Vector, C: Any, epsilon: float, *, bias: bool = True) -> Problem:
    """Minimise 1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon)^2.

    >>> import numpy as np
    >>> squared_epsilon_insensitive(np.array([3.0]), 2.0, 0.1).ridge
    array([0.25])
    """
    q = np.asarray(y, dtype=np.float64)
    bound, ridge = of_squares(C, q.shape)
    return Problem(q, -bound, bound, l1=epsilon, ridge=ridge, total=0.0 if bias else None)


def of_squares(C: Any, shape: tuple[int, ...]) -> tuple[Vector, Vector]:
    """The bounds and ridges of squared losses: no bounds and 1 / (2 C); without a cost, a coefficient is zero.

    >>> import numpy as np
    >>> of_squares(np.array([2.0, 0.0]), (2,))
    (array([inf,  0.]), array([0.25, 0.  ]))
    """
    cost = np.broadcast_to(np.asarray(C, dtype=np.float64), shape)
    bound = np.where(cost > 0, np.inf, 0.0)
    return bound, np.divide(0.5, cost, out=np.zeros(shape), where=cost > 0)


def one_class(weight: Vector, nu: float) -> Problem:
    """The one-class machine: minimise 1/2 |w|^2 - nu (sum w) rho + sum_i w_i max(0, rho - f(x_i)), with b = -rho.

    >>> import numpy as np
    >>> one_class(np.ones(4), 0.5).total
    2.0
    """
    return Problem(q=np.zeros(len(weight)), lower=0.0, upper=weight, total=float(nu * weight.sum()))


def svdd(y: Vector, C: Any, own: Vector) -> Problem:
    """The smallest ball in the kernel's space around targets, y = 1, and not around outliers, y = -1; own is k(x, x).

    Minimise R^2 + sum_i C_i max(0, y_i (|phi(x_i) - c|^2 - R^2)), of which the problem is half. The centre is
    c = sum_i a_i phi(x_i), and R^2 = 2 b + |c|^2 (Tax and Duin, "Support vector data description", 2004).

    >>> import numpy as np
    >>> svdd(np.array([1.0, 1.0, -1.0]), 0.8, np.ones(3)).lower
    array([ 0. ,  0. , -0.8])
    """
    end = y * np.asarray(C, dtype=np.float64)
    lower, upper = np.minimum(end, 0.0), np.maximum(end, 0.0)
    most = float(upper.sum())
    if not most >= 1 - 1e-9:
        raise ValueError(
            f"the prices C of n_samples={int((y > 0).sum())} targets sum to {most:g}, less than 1, so that no ball is "
            "worth it; raise C"
        )
    return Problem(np.asarray(own, dtype=np.float64) / 2, lower, upper, total=min(most, 1.0))


def nu_hinge(y: Vector, nu: float, weight: Any = 1.0, sample: NDArray[np.int64] | None = None) -> Problem:
    """nu-SVC before the division of a and b by the margin: each class has coefficients of total nu (sum w) / 2.

    The multipliers b of the two classes give margin and bias: (b_- - b_+) / 2 and (b_- + b_+) / 2 (Schoelkopf et al.,
    "New support vector algorithms", 2000; Chang and Lin, "Training nu-support vector classifiers", 2001).

    >>> import numpy as np
    >>> nu_hinge(np.array([1.0, -1.0, 1.0, -1.0]), 0.5).total
    (1.0, -1.0)
    """
    end = y * np.asarray(weight, dtype=np.float64)
    half = float(nu * np.abs(end).sum() / 2)
    group = (y < 0).astype(np.int64)
    lower, upper = np.minimum(end, 0), np.maximum(end, 0)
    return Problem(np.zeros(len(y)), lower, upper, total=(half, -half), group=group, sample=sample)


def nu_epsilon(y: Vector, C: Any, nu: float) -> Problem:
    """nu-SVR: minimise 1/2 |w|^2 + sum_i C_i (nu epsilon + max(0, |y_i - f(x_i)| - epsilon)), epsilon included.

    Its dual bounds the sum of |a|, so each sample has two coefficients: n that rise from 0, then n that fall from 0.
    The multipliers of the two groups are b + epsilon and b - epsilon (Schoelkopf et al., 2000).

    >>> import numpy as np
    >>> nu_epsilon(np.array([3.0, 4.0]), 2.0, 0.5).total
    (1.0, -1.0)
    """
    n = len(y)
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), (n,))
    half = float(nu * bound.sum() / 2)
    zero = np.zeros(n)
    return Problem(
        q=np.concatenate([y, y]).astype(np.float64),
        lower=np.concatenate([zero, -bound]),
        upper=np.concatenate([bound, zero]),
        total=(half, -half),
        group=np.repeat([0, 1], n),
        sample=np.tile(np.arange(n), 2),
    )
