"""What kernel ridge regression poses and keeps: the function, and the targets that its doubts are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.machines.fit import Fit, InputFeatures, as_given
from mercer.machines.training import Positions
from mercer.problem import Problem, Vector, squared
from mercer.remembered import remembered
from mercer.samples import Samples
from mercer.solvers import Certificate
from mercer.solvers.cholesky import Invertible
from mercer.solvers.posterior import Posterior


@dataclass(frozen=True, eq=False)
class PosedRidge:
    """The matrix, targets and weights of the samples of positive weight, and all that was given."""

    gram: Gram
    targets: Vector
    weight: Vector
    kept: Positions
    features: InputFeatures
    samples: Samples
    given: Vector
    X: Any


@dataclass(frozen=True, eq=False)
class Chosen:
    """A penalty, one for all targets or one each, by what the system is to be solved, and what else is to be kept."""

    alpha: Any
    system: Invertible
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeFit(Fit):
    """A function spanned by the samples of positive weight, and the targets that it and its doubts are made of."""

    expansion: Expansion
    certificate: Certificate | tuple[Certificate, ...]
    alpha: Any
    targets: Vector
    weight: Vector
    free_bias: bool
    #: Where the samples of positive weight stand among all.
    support: Positions
    #: y - f(x) of those of weight zero.
    absent: Vector
    #: The samples as the user gave them, where the expansion does not have them so.
    X_given: Any = None

    @property
    def kernel(self) -> Kernel:
        return self.expansion.kernel

    @property
    def intercept(self) -> Vector:
        return self.expansion.bias

    @property
    def dual_coef(self) -> Vector:
        """One row of coefficients per sample."""
        a = self.expansion.coefficients
        if not len(self.absent):
            return a
        out = np.zeros((len(a) + len(self.absent), *a.shape[1:]))
        out[self.support] = a
        return out

    @property
    def X_fit(self) -> Any:  # noqa: N802
        return as_given(self.X_given, self.expansion.samples)

    @property
    def scale(self) -> Any:
        return np.sum(self.targets * self.expansion.coefficients, axis=0) / self.freedom

    @property
    def freedom(self) -> int:
        return max(1, len(self.targets) - self.free_bias)

    def placed(self, values: Vector) -> Vector:
        """Values of the samples of positive weight and, of the others, y_i - f(x_i)."""
        out = np.empty((len(values) + len(self.absent), *values.shape[1:]))
        out[self.support] = values
        out[np.setdiff1d(np.arange(len(out)), self.support)] = self.absent
        return out

    @remembered
    def problem(self) -> Problem:
        return squared(self.targets, self.alpha, self.weight, bias=self.free_bias)

    @remembered
    def left_out(self) -> Vector:
        """y_i - f_-i(x_i) of the samples of positive weight."""
        if len(self.support) < 2:
            raise ValueError("to leave out one sample takes at least 2 of positive weight, but there is 1 sample")
        precision = self._by_target([posterior.precision() for _, posterior in self.posteriors])
        return np.asarray(self.expansion.coefficients / precision)

    @remembered
    def posteriors(self) -> list[tuple[Any, Posterior]]:
        """The Gaussian process of each alpha there is, with the targets it is of; factored once."""
        ridges = np.stack([one.ridge for one in self.problem.columns()], axis=1)
        patterns, which = np.unique(ridges, axis=1, return_inverse=True)
        gram = self.kernel.gram(self.expansion.samples, budget=0)
        return [
            (np.flatnonzero(np.ravel(which) == i), Posterior(gram, ridge, bias=self.free_bias))
            for i, ridge in enumerate(patterns.T)
        ]

    def variance(self, samples: Samples) -> Vector:
        """The variance of f at these samples."""
        return self._by_target([posterior.variance(samples) for _, posterior in self.posteriors])

    def _by_target(self, values: list[Vector]) -> Vector:
        """One column of values per target, from one per alpha."""
        if self.targets.ndim == 1:
            return values[0]
        out = np.empty((len(values[0]), self.targets.shape[1]))
        for (targets, _), column in zip(self.posteriors, values, strict=True):
            out[:, targets] = column[:, None]
        return out
