"""What ``fit`` of a support vector machine is given, and what it poses: between the user's data and the solver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._sparse import _align_api_if_sparse

from mercer.gram import Gram
from mercer.kernels import Kernel, Precomputed
from mercer.machines.fit import InputFeatures, UserFunction
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Samples, Similarities, SparseVectors, Vectors, as_samples
from mercer.samples.base import Array
from mercer.samples.door import numeric
from mercer.solvers import Certificate, Solution

Positions = NDArray[np.int64]
#: Of a given matrix the block of the support vectors, which ``mercer.inspection`` asks for, is kept up to this size.
KEPT_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class Targets:
    """One target per sample: a number or, of labels, the position of its class; then each class has a weight."""

    value: Array
    classes: Array | None = None
    class_weight: Vector | None = None


@dataclass(frozen=True, eq=False)
class Training:
    """What ``fit`` was given: the user's samples and, in the order of the problems, those of positive weight.

    ``place`` is where each of these stands among the samples. ``target`` is a number or, of a class, its position.
    ``given`` are the samples in the user's own form; ``function`` is the kernel, if it is a function of blocks.
    """

    kernel: Kernel
    samples: Samples
    place: Positions
    target: Array
    weight: Vector
    given: Any
    features: InputFeatures
    function: UserFunction | None = None
    classes: Any = None
    class_weight: Any = None

    def __len__(self) -> int:
        return len(self.place)

    @remembered
    def order(self) -> Positions | None:
        """``place``, if it is another order than that of the samples."""
        return None if np.array_equal(self.place, np.arange(len(self.samples))) else self.place

    def take(self, index: Positions) -> Samples:
        """Some of the samples of positive weight."""
        return self.samples.take(self.place[index])

    def kept(self, index: Positions) -> Samples:
        """Some of them as a machine keeps them: of a given matrix not the rows."""
        if (given := self._matrix) is not None:
            return given.among(self.place[index], KEPT_BYTES)
        return self.take(index)

    @property
    def _matrix(self) -> Similarities | None:
        """The samples, if they are rows of the matrix itself: then new samples ask for their places only."""
        plain = isinstance(self.kernel, Precomputed) and isinstance(self.samples, Similarities)
        return self.samples if plain else None  # type: ignore[return-value]

    def bytes_of(self, count: int) -> int:
        """The memory of ``count`` samples as a machine keeps them."""
        size = self.samples.nbytes * count // len(self.samples)
        return size if self._matrix is None else min(size, KEPT_BYTES)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what the user gave, as far as it has one."""
        if hasattr(self.given, "shape"):
            return tuple(self.given.shape)
        width = self.features.found()["n_features_in"]
        return (len(self.samples),) if width is None else (len(self.samples), width)


@dataclass(frozen=True, eq=False)
class Posed:
    """What is to be solved, and from where on: ``starts`` are coefficients of every problem, if any are known."""

    training: Training
    gram: Gram
    problems: list[Any]
    starts: list[Vector | None] | None


@dataclass(frozen=True, eq=False)
class Combined:
    """All solutions as one function: a row of coefficients per sample of positive weight, and the biases.

    ``facts`` are what else is to be kept of them, by the names that the Fit has for it. ``norms`` are |w|, where known.
    """

    coefficients: Vector
    bias: Vector
    facts: dict[str, Any] = field(default_factory=dict)
    norms: Vector | None = None


def certificate_of(solution: Solution) -> Certificate:
    """The certificate of a solution with one output."""
    assert isinstance(solution.certificate, Certificate)
    return solution.certificate


def vectors(X: Any) -> Vectors | SparseVectors:
    """What scikit-learn's checks have let pass, as samples."""
    if isinstance(X, np.ndarray):
        return numeric(X, None)
    samples = as_samples(X)
    assert isinstance(samples, SparseVectors)
    return samples


def finite(matrix: Array) -> bool:
    """Whether all entries are; where their sum overflows, one by one."""
    # not by a product of BLAS, whose threads would go on waiting in a loop, and in the way of ours
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(matrix.sum()) or bool(np.isfinite(matrix).all())


def dense(matrix: Any) -> Any:
    """A matrix that may be sparse, as an array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def stored(a: Vector) -> Any:
    """A matrix as a sparse one with all its entries stored, in the sparse interface scikit-learn is set to."""
    rows, columns = a.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    indptr = np.arange(rows + 1, dtype=np.int32) * columns
    return _align_api_if_sparse(sp.csr_array((np.ascontiguousarray(a).ravel(), indices, indptr), shape=a.shape))
