"""The one model type: f(x) = sum_i a_i k(x_i, x) + b, with one column of coefficients per output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.collapse import Collapsed
from mercer.kernels.pairs import Pairs
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Samples
from mercer.samples.door import in_memory
from mercer.shown import Shown

#: What rounding may leave of a'Ka, relative to the square of the sum of its terms' norms.
ROUNDED = 1e-6
#: The one segment of all samples.
ALL = np.zeros(1, dtype=np.int64)
#: What an expansion makes of its fields when it is first called, and does not take along.
MADE = ("_columns", "_forms", "_prepared")


@dataclass(frozen=True, eq=False)
class Expansion(Shown):
    """A function spanned by kernels at samples. ``Expansion.of`` keeps only samples with a coefficient other than zero.

    >>> f = Expansion.of(Linear(), [[1.0], [5.0], [2.0]], np.array([3.0, 0.0, -1.0]), 0.5)
    >>> len(f), f([[2.0]]), float(f.norm())
    (2, array([2.5]), 1.0)
    """

    kernel: Kernel
    samples: Samples
    coefficients: Vector
    bias: Vector
    #: The norm, where the samples no longer tell it.
    length: Vector | None = field(default=None, repr=False)

    @classmethod
    def of(cls, kernel: Kernel, X: Any, coefficients: Any, bias: Any = 0.0) -> Expansion:
        """The expansion with these coefficients, one row per sample of X."""
        samples = kernel.samples(X)
        a = np.asarray(in_memory(coefficients, "coefficients"), dtype=np.float64)
        if a.ndim not in (1, 2) or len(a) != len(samples):
            raise ValueError(
                f"expected one row of coefficients for each of {len(samples)} samples but got shape {a.shape}"
            )
        kept = np.flatnonzero(a if a.ndim == 1 else a.any(axis=1))
        kept = kept if len(kept) else np.arange(1)  # the zero function still needs to know its kind of samples
        return cls(kernel, samples.take(kept), a[kept], np.asarray(bias, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.samples)

    def __str__(self) -> str:
        """A line: the sum, and the kernel.

        >>> print(Expansion.of(Linear(), [[1.0], [5.0]], np.array([3.0, 1.0]), -0.5))
        f(x) = a_1 k(x_1, x) + ... + a_2 k(x_2, x) - 0.5 with vectors x_i and k = Linear()
        """
        outputs = 1 if self.coefficients.ndim == 1 else self.coefficients.shape[1]
        terms = "a_1 k(x_1, x)" + (f" + ... + a_{len(self)} k(x_{len(self)}, x)" if len(self) > 1 else "")
        bias = float(self.bias) if np.ndim(self.bias) == 0 else None
        last = " + b" if bias is None else f" {'-' if bias < 0 else '+'} {abs(bias):.4g}" if bias else ""
        several = f", {outputs} outputs" if outputs > 1 else ""
        return f"f(x) = {terms}{last} with {self.samples.kind} x_i{several} and k = {self.kernel}"

    def __call__(self, X: Any) -> Vector:
        """f at every sample of X; kernel values are computed in blocks and forgotten."""
        values = self._sums(X, ALL)[:, 0]
        return np.asarray((values[:, 0] if self.coefficients.ndim == 1 else values) + self.bias)

    def by_segment(self, X: Any, starts: Any) -> Vector:
        """The sums over consecutive segments of the samples, of shape (rows of X, segments, outputs), without the bias.

        Segment s begins at ``starts[s]`` and ends where the next begins. A machine that decides between many pairs of
        classes thus computes every kernel value once.

        >>> f = Expansion.of(Linear(), [[1.0], [5.0], [2.0]], np.array([[3.0], [1.0], [-1.0]]))
        >>> f.by_segment([[1.0]], [0, 2])
        array([[[ 8.],
                [-2.]]])
        """
        return self._sums(X, np.asarray(starts, dtype=np.int64))

    def _sums(self, X: Any, starts: Any) -> Vector:
        """By the kernel's own form of f where it has a cheaper one (``Kernel.collapse``), else pair by pair."""
        self.kernel.check_resolved()
        V, forms, key = self._columns, self._forms, starts.tobytes()
        if key not in forms:
            forms[key] = self.kernel.collapse(self.samples, V, starts)
        x, form = self.kernel.samples(X).arranged_as(self.samples), forms[key]
        if form is not None:
            return form(x)
        pairs = self.kernel.bind(x, self.samples)
        if pairs.shares:
            pairs.share(self._prepared)
        return pairs.by_segment(V, starts)

    @remembered
    def _columns(self) -> Vector:
        """The coefficients, one column per output, as the core reads them."""
        return np.ascontiguousarray(self.coefficients.reshape(len(self), -1))

    @remembered
    def _forms(self) -> dict[bytes, Collapsed | None]:
        return {}

    @remembered
    def _prepared(self) -> Pairs:
        """The kernel bound to the samples, which are packed for it once."""
        return self.kernel.bind(self.samples, self.samples)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in MADE}

    def norm(self) -> Vector:
        """The norm of f - b in the kernel's space: sqrt(a' K a), one per output; NaN where a' K a is negative."""
        if self.length is not None:
            return self.length.copy()
        return root(*self.energy())

    def energy(self) -> tuple[Vector, Vector]:
        """a'Ka of every output, and the sum of the norms of its terms |a_i| k(x_i, x_i)^1/2."""
        product = self._prepared.product(self.coefficients)
        squared = np.sum(self.coefficients * product, axis=0)
        own = np.abs(self.kernel.diag_of(self.samples).astype(np.float64))
        return squared, np.sqrt(own) @ np.abs(self.coefficients)


def root(squared: Any, size: Any) -> Vector:
    """The norm of which this is the square; NaN if that is negative by more than rounding, as of no real function.

    ``size`` is the sum of the norms of the terms.

    >>> root(np.array([4.0, -1e-18, -4.0]), np.array([2.0, 1.0, 2.0]))
    array([ 2.,  0., nan])
    """
    rounding = ROUNDED * np.square(size)
    return np.asarray(np.sqrt(np.where(squared < -rounding, np.nan, np.maximum(squared, 0.0))))
