"""Rosenblatt's perceptron, on-line and driven by mistakes: for weights of vectors, and for coefficients of a kernel.

    if y f(x) <= 0:   w <- w + s y x         b <- b + s y R^2     f(x) = w'x + b
    the same in a kernel's space:   a_i <- a_i + s y              f(x) = sum_i a_i k(x_i, x) + b

with s the weight of the example and R^2 the largest k(x, x). One function per output, one class against the rest, all
from the same examples. The loops over examples are in ``native/solvers/perceptron.cpp``. Kernel values reach them in
blocks: those of some examples against the support and among themselves, which is all that the rule asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import _native, costs
from mercer.problem import Vector
from mercer.samples import SparseVectors, Vectors
from mercer.solvers.operator import Operator, Positions


@dataclass(frozen=True, eq=False)
class Classification:
    """What is to be learned: per row the number of its class, and its weight, by which steps are multiplied.

    Of two classes there is one output, positive for class 1; of more, one for each. Rows without weight are skipped.
    ``radius`` is R^2.
    """

    label: Positions
    weight: Vector
    classes: int
    radius: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.radius):
            raise ValueError("the largest k(x, x), R^2, is not finite on these samples; scale the data first")

    @property
    def outputs(self) -> int:
        return 1 if self.classes == 2 else self.classes


class PrimalLearner:
    """The functions w'x + b, as they learn: one row of ``weights`` per output, the bias last.

    >>> import numpy as np
    >>> X = Vectors(np.array([[2.0], [3.0], [-1.0]]))
    >>> problem, learner = Classification(np.array([1, 1, 0]), np.ones(3), 2, 9.0), PrimalLearner(1, 1)
    >>> [int(learner.learn(X, problem, np.arange(3)).sum()) for _ in range(2)], learner.weights
    ([2, 0], array([[3., 0.]]))
    """

    def __init__(self, outputs: int, columns: int) -> None:
        self.weights = np.zeros((outputs, columns + 1))

    def learn(self, x: Vectors | SparseVectors, problem: Classification, order: Positions) -> Positions:
        """One pass over rows in this order; returns the mistakes of every output."""
        mistakes = np.zeros(problem.outputs, dtype=np.int64)
        order = order[problem.weight[order] > 0]
        _native.perceptron_pass(x.rows(), order, problem.label, problem.weight, problem.radius, self.weights, mistakes)
        return mistakes


@dataclass(eq=False)
class DualLearner:
    """The functions sum_i a_i k(x_i, x) + b, as they learn: coefficients of a pool of samples, one column per output.

    ``support`` numbers the samples whose coefficients are not all zero, the oldest first; if ``budget`` is not 0, there
    are never more than that: the one whose removal changes f least, of least sum_c a_ic^2 k(x_i, x_i), makes room for
    the next. ``late`` holds what the average over all functions so far needs, ``clock`` how many these are.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> problem = Classification(np.array([1, 1, 0]), np.ones(3), 2, 9.0)
    >>> learner = DualLearner.empty(3, 1)
    >>> K = Linear().gram([[2.0], [3.0], [-1.0]])
    >>> [int(learner.learn(K, problem, np.arange(3)).sum()) for _ in range(2)], learner.coefficients.ravel()
    ([2, 0], array([ 1.,  0., -1.]))
    """

    coefficients: Vector
    late: Vector
    bias: Vector
    late_bias: Vector
    support: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    clock: int = 0
    budget: int = 0

    @classmethod
    def empty(cls, pool: int, outputs: int, budget: int = 0) -> DualLearner:
        """The zero functions on a pool of ``pool`` samples."""
        a, b = np.zeros((pool, outputs)), np.zeros(outputs)
        return cls(a, a.copy(), b, b.copy(), budget=budget)

    def kept(self) -> DualLearner:
        """The same functions on a pool of their support alone."""
        some = self.support
        return replace(self, coefficients=self.coefficients[some], late=self.late[some], support=np.arange(len(some)))

    def widened(self, samples: int) -> DualLearner:
        """The same functions on a pool that has ``samples`` more."""
        more = np.zeros((samples, len(self.bias)))
        return replace(
            self, coefficients=np.concatenate([self.coefficients, more]), late=np.concatenate([self.late, more])
        )

    def averaged(self) -> tuple[Vector, Vector]:
        """Coefficients and bias of the mean of the functions after every example so far."""
        time = max(self.clock, 1)
        return self.coefficients - self.late / time, self.bias - self.late_bias / time

    def learn(self, K: Operator, problem: Classification, order: Positions) -> Positions:
        """One pass over samples of the pool, whose matrix is ``K``, in this order; the mistakes of every output."""
        mistakes = np.zeros(problem.outputs, dtype=np.int64)
        diagonal = K.diag().astype(np.float64)
        order = order[problem.weight[order] > 0]
        start = 0
        while start < len(order):
            height = costs.EXAMPLE_BYTES // (K.dtype.itemsize * (len(self.support) + costs.MOST_EXAMPLES))
            chunk = order[start : start + min(max(height, costs.FEWEST_EXAMPLES), costs.MOST_EXAMPLES)]
            self._learn(K, problem, chunk, diagonal, mistakes)
            start += len(chunk)
        return mistakes

    def _learn(
        self, K: Operator, problem: Classification, chunk: Positions, diagonal: Vector, mistakes: Positions
    ) -> None:
        known = len(self.support)
        columns = np.concatenate([self.support, chunk])
        place = np.full(len(self.coefficients), -1)
        place[self.support] = np.arange(known)
        own = np.where(place[chunk] >= 0, place[chunk], known + np.arange(len(chunk)))
        a, late = np.zeros((len(columns), problem.outputs)), np.zeros((len(columns), problem.outputs))
        a[:known], late[:known] = self.coefficients[self.support], self.late[self.support]
        block = np.ascontiguousarray(K.block(chunk, columns))
        if not np.isfinite(block).all():  # of a kernel that is not positive semi-definite R^2 does not bound it
            raise ValueError(f"{K.kernel} is not finite on these samples in {block.dtype}; scale the data first")
        _native.kernel_perceptron_pass(
            block,
            own,
            diagonal[columns],
            problem.label[chunk],
            problem.weight[chunk],
            problem.radius,
            self.budget,
            self.clock,
            a,
            late,
            self.bias,
            self.late_bias,
            mistakes,
        )
        self.clock += len(chunk)
        self.coefficients[self.support], self.late[self.support] = a[:known], late[:known]
        added = known + np.flatnonzero(a[known:].any(axis=1))
        self.coefficients[columns[added]], self.late[columns[added]] = a[added], late[added]
        self.support = columns[np.flatnonzero(a.any(axis=1))]


def largest(squares: Any) -> float:
    """R^2 from the values of k(x, x), which an indefinite kernel may make negative."""
    return max(float(np.max(squares, initial=0.0)), 0.0)
