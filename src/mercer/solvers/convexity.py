"""Whether what was solved is convex: known from the kernel, or refuted by what the solver came across anyway.

The problem of ``mercer.problem`` is convex if z'Kz >= 0 for every direction z that its equalities leave. A positive
semi-definite kernel has that by construction, a conditionally positive one where every sum of coefficients is fixed.
Of other kernels a solver sees some directions for nothing: its own coefficients, whose z'Kz is a'f, and the pairs of
samples it moves along. One that is negative beyond rounding is a witness, which anybody can check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mercer.problem import Problem, Vector
from mercer.solvers.certificate import NO_WITNESS, Certificate, Convex, Solution, Witness

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.solvers.operator import Operator

#: The number of samples, from first to last, that are compared with all where no solver moves along pairs.
PROBED = 20
#: Roundings of a sum of terms of both signs, in units of its precision, and of what was found in float32.
ROUNDINGS, SINGLE = 64, 4e-6


def by_construction(kernel: Kernel, *, balanced: bool) -> bool:
    """Whether every problem of this kernel is convex; ``balanced`` if its equalities fix all sums of coefficients.

    >>> from mercer.kernels import L2, NegativeDistance
    >>> [by_construction(NegativeDistance(L2()), balanced=balanced) for balanced in (True, False)]
    [True, False]
    """
    return kernel.validity == "psd" or (balanced and kernel.validity == "cpd")


def certified(
    solution: Solution, K: Operator, problem: Problem, product: Vector, witness: Witness | None = None
) -> Solution:
    """The solution with what is known of convexity; ``product`` is K times its coefficients.

    ``witness`` is what its solver knows already.
    """
    columns = problem.columns()
    a = solution.coefficients.reshape(len(problem), -1).T
    f = product.reshape(len(problem), -1).T
    found = solution.certificate
    if isinstance(found, Certificate):
        return replace(solution, certificate=judged(found, K, columns[0], a[0], f[0], known=witness))
    each = zip(found, columns, a, f, strict=True)
    judgements = tuple(judged(c, K, one, own, at, known=witness) for c, one, own, at in each)
    return replace(solution, certificate=judgements)


def judged(
    certificate: Certificate,
    K: Operator,
    problem: Problem,
    a: Vector,
    f: Vector,
    pair: tuple[int, int] | None = None,
    order: NDArray[np.int64] | None = None,
    known: Witness | None = None,
) -> Certificate:
    """The certificate of coefficients a with f = K a, and what is known of convexity.

    ``pair`` are two samples of the matrix, in this order, whose squared distance a solver found to be negative.
    """
    if by_construction(K.kernel, balanced=problem.total is not None):
        return replace(certificate, convex=True)
    witness = known or of_solution(K, problem, a, f, order)
    if witness is None and pair is not None:
        witness = of_pair(K, *(pair if order is None else order[list(pair)].tolist()))
    return refuted(certificate, witness)


def refuted(certificate: Certificate, witness: Witness | None) -> Certificate:
    """The certificate of a kernel of which nothing is known by construction."""
    convex: Convex = NO_WITNESS if witness is None else False
    return replace(certificate, convex=convex, witness=witness)


def of_pair(K: Operator, i: int, j: int) -> Witness | None:
    """The squared distance of two samples, if it is negative in float64."""
    own = among(K, i, j)
    curvature = float(own[0, 0] + own[1, 1] - 2 * own[0, 1])
    return Witness(curvature, (i, j)) if curvature < -rounding(K) * float(np.abs(own.diagonal()).sum()) else None


def among(K: Operator, *positions: int) -> Vector:
    """The matrix of some of the samples in float64; all of them in float64 may not fit beside them."""
    some = K.samples.take(np.array(positions)).astype(np.float64)
    return np.asarray(K.kernel.bind(some, some).dense())


def diagonal(K: Operator) -> Vector:
    return K.diag().astype(np.float64)


def of_some_rows(K: Operator) -> Witness | None:
    """The most negative squared distance between one of a few samples and any other, if there is one."""
    own = diagonal(K)
    rows = np.unique(np.linspace(0, len(K) - 1, PROBED).astype(np.int64))
    squared = own[rows, None] + own - 2 * K.block(rows, slice(None))
    i, j = np.unravel_index(np.argmin(squared), squared.shape)
    return of_pair(K, int(rows[i]), int(j))


def of_solution(
    K: Operator, problem: Problem, a: Vector, f: Vector, order: NDArray[np.int64] | None = None
) -> Witness | None:
    """a'Ka, if it is negative; where the coefficients of a group have a sum, less the sample for which it is least."""
    sample = np.arange(len(a)) if problem.sample is None else problem.sample
    place = sample if order is None else order[sample]
    own = diagonal(K)[place]
    curvature, size = float((a * f).sum()), float(np.sqrt(np.abs(own)) @ np.abs(a)) ** 2
    moved: list[tuple[float, int]] = []
    for members, total in problem.groups():
        if total:
            gain = total * (total * own[members] - 2 * f[members])
            least = int(members[np.argmin(gain)])
            curvature += float(gain.min())
            size += total**2 * float(np.abs(own[least]))
            moved.append((total, int(place[least])))
    if len(moved) == 2:
        (s, i), (t, j) = moved
        curvature += 2 * s * t * float(among(K, i, j)[0, 1])
    less = "".join(f" {-total:+.3g} e_{i}" for total, i in moved)
    direction = f"z'Kz = {{}} for z = a{less}, a the coefficients found" if moved else Witness.direction
    return along(curvature, rounding(K) * size + SINGLE * float(np.abs(a * f).sum()), direction)


def of_columns(K: Operator, V: Vector, KV: Vector, direction: str = Witness.direction) -> Witness | None:
    """v'Kv of a column v of V, if one is negative; K V was computed in the precision of the matrix."""
    curvature = np.einsum("ij,ij->j", V, KV)
    noise = rounding(K) * (np.sqrt(np.abs(diagonal(K))) @ np.abs(V)) ** 2
    refuting = np.flatnonzero(curvature < -noise)
    return Witness(float(curvature[refuting].min()), direction=direction) if len(refuting) else None


def along(curvature: float, noise: float, direction: str = Witness.direction) -> Witness | None:
    """The witness of a curvature, if it is below zero by more than rounding."""
    return Witness(curvature, direction=direction) if curvature < -noise else None


def rounding(K: Operator) -> float:
    """What a sum of entries may lose of the size of its terms."""
    return ROUNDINGS * float(np.finfo(K.given).eps)


def first_refuted(certificates: Iterable[Certificate]) -> Certificate | None:
    """The first certificate of a problem that is not convex."""
    return next((certificate for certificate in certificates if certificate.convex is False), None)
