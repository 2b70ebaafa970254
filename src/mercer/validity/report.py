"""check_kernel: one report on a kernel with data, from "is it symmetric" to "does it see the target".

It is what to read before training: a kernel that is not positive semi-definite, that sees nothing but the diagonal,
or that drowns in irrelevant columns is cheaper to find here than in a score.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.shown import Shown
from mercer.solvers.lanczos import LANCZOS_STEPS
from mercer.validity.columns import others_matter, related
from mercer.validity.spectrum import (
    DENSE_SAMPLES,
    Float,
    checked_kernel,
    checked_tolerance,
    dense_ends,
    evaluated,
    gram_ends,
    tolerance,
)
from mercer.validity.target import SIGNIFICANCE, Target

#: Of more samples than DENSE_SAMPLES, this many are searched for a negative direction by products alone.
LANCZOS_SAMPLES = 5000
#: Samples this many times more like themselves than like any other make a diagonal matrix.
DOMINANT = 10.0
#: Columns are tested against the target up to this many of them.
MOST_COLUMNS = 5000


@dataclass(frozen=True, eq=False)
class KernelReport(Shown):
    """What ``check_kernel`` found; ``print`` it. Of K not symmetric, the spectrum is that of (K + K')/2.

    >>> from mercer.kernels import Linear
    >>> report = check_kernel(Linear(), [[1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> report.symmetric, report.psd, report.rank, report.dimension
    (True, True, 2, 2)
    """

    kernel: Kernel
    #: How many samples were given, how many the matrix was computed for, and how many the eigenvalues are of.
    samples: int
    dense_samples: int
    spectrum_samples: int
    #: max |k(x, z) - k(z, x)| / max |k|, and whether that is rounding only.
    asymmetry: float
    symmetric: bool
    smallest_eigenvalue: float
    largest_eigenvalue: float
    #: Eigenvalues are taken for zero below this times the largest |eigenvalue|.
    tolerance: float
    #: A unit vector z, one entry per sample given, with z'Kz < 0; None where none was found.
    witness: Float | None = field(repr=False)
    #: The numerical rank on ``dense_samples``, and the dimension of phi where it is finite and known.
    rank: int
    dimension: int | None
    #: How many times more the median sample resembles itself than its nearest other: |k(x,x)| / max |k(x,z)|.
    dominance: float
    #: With y: what it was taken for, <K, yy'>/(|K||yy'|), the same centred, and how probable that much would be by
    #: chance, a p-value.
    target: str | None
    alignment: float | None
    centred_alignment: float | None
    p_value: float | None
    #: With y, of vectors: columns without association with y, each looked at alone, and columns in all. If most are
    #: without but not all: whether these matter to the kernel all the same, together with the others.
    irrelevant: int | None
    columns: int | None
    others_matter: bool | None

    @property
    def psd(self) -> bool:
        """Symmetric, and no direction z with z'Kz < 0 on these samples."""
        return self.symmetric and self.witness is None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should not overlook."""
        found = []
        if not self.symmetric:
            found.append(f"k(x, z) and k(z, x) differ by up to {self.asymmetry:.2g} of the largest |k|")
        if self.witness is not None:
            found.append(_ADVICE[self.kernel.validity])
        elif self.kernel.validity != "psd":
            found.append("no negative direction on these samples is no proof; other samples may have one")
        if self.dominance > DOMINANT and self.samples > 1:
            found.append("every sample resembles only itself: classification is easy and useless; widen the kernel")
        if self.p_value is not None and (note := self._of_target(self.p_value <= SIGNIFICANCE)):
            found.append(note)
        return tuple(found)

    def _of_target(self, seen: bool) -> str:
        """What single columns, and what all of them as the kernel sees them, say of y."""
        if self.irrelevant is None or self.columns is None:
            return (
                ""
                if seen
                else "nothing was found with this kernel: no sign that samples of similar y are more alike to it"
            )
        if self.irrelevant == self.columns:
            if seen:
                return "no column has to do with y alone, but together, as this kernel sees them, they do: drop none"
            return "nothing was found with this kernel: no sign that columns have to do with y, alone or together"
        if self.others_matter:
            return "most columns have nothing to do with y alone, but together with the others they do: drop none"
        if self.others_matter is False:
            return "most columns have nothing to do with y, alone or with the others: select some, or weight them"
        return "" if seen else "single columns have to do with y, but this kernel does not see it; try another one"

    def __str__(self) -> str:
        """At most 12 lines: the kernel, up to seven findings, and up to four notes."""
        name = str(self.kernel)
        name = name if len(name) <= 72 else name[:69] + "..."
        spectrum = f"{self.smallest_eigenvalue:.3g} to {self.largest_eigenvalue:.3g}"
        if self.spectrum_samples > self.dense_samples:
            spectrum += f" ({LANCZOS_STEPS} Lanczos steps on {self.spectrum_samples} samples: bounds from inside)"
        number = f"{self.dense_samples} of {self.samples}" if self.dense_samples < self.samples else str(self.samples)
        sure = "by construction" if self.kernel.validity == "psd" else "as far as these samples show"
        dimension = "infinite or unknown" if self.dimension is None else str(self.dimension)
        lines = [
            f"{name} on {number} samples",
            f"  symmetric: {'yes' if self.symmetric else 'NO'}",
            f"  eigenvalues: {spectrum}",
            f"  positive semi-definite: {f'yes, {sure}' if self.psd else 'NO'}",
            f"  rank: {self.rank} of {self.dense_samples}; dimension of phi: {dimension}",
            f"  diagonal dominance: {self.dominance:.3g}",
        ]
        if self.target is not None:
            lines.append(
                f"  alignment with y ({self.target}): {self.alignment:.3f}, centred {self.centred_alignment:.3f} "
                f"(p = {self.p_value:.2g})"
            )
        if self.irrelevant is not None:
            lines.append(f"  columns without association with y, each alone: {self.irrelevant} of {self.columns}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


_ADVICE = {
    "psd": "PSD by construction, so the negative direction comes from rounding or from a mistake in the kernel",
    "cpd": "conditionally PSD: k.centered() and exp(k) are PSD",
    "indefinite": "not a Mercer kernel: mercer.kernels.repair(k) makes it one",
    "unknown": "not a Mercer kernel: mercer.kernels.repair(k) makes it one",
}


def check_kernel(k: Kernel, X: Any, y: Any = None, *, tol: float | None = None) -> KernelReport:
    """A report on k with these samples, and on how it suits the target y if there is one.

    Symmetry; the ends of the spectrum and a witness z with z'Kz < 0; the rank against the dimension of phi; the
    dominance of the diagonal; with y (class labels, or numbers), the alignment <K, yy'> / (|K| |yy'|), the same
    centred, with its p-value from 199 random orders of y, and the columns that have nothing to do with y, each looked
    at alone. Columns may matter together only; so dropping some is advised only if others have to do with y, and if
    the kernel is aligned no worse when these are shuffled. Eigenvalues count as zero below ``tol`` times the largest,
    10 n eps unless given.

    Of more than 2000 samples, a random 2000 are looked at in full, and 5000 of them by Lanczos for the ends of the
    spectrum. A witness among some samples, padded with zeros, is one among all; that none was found is no proof.

    >>> from mercer.kernels import Sigmoid
    >>> X = [[0.0], [1.0], [2.0]]
    >>> report = check_kernel(Sigmoid(1.0, c=-1.0), X)
    >>> z = report.witness
    >>> report.psd, bool(z @ Sigmoid(1.0, c=-1.0)(X) @ z < 0)
    (False, True)
    """
    given = checked_kernel(k).samples(X)
    k = k.resolve(given)
    n = len(given)
    target = None if y is None else Target.of(y, n)

    order = np.random.default_rng(0).permutation(n)
    some, more = np.sort(order[:DENSE_SAMPLES]), np.sort(order[:LANCZOS_SAMPLES])
    x = given.take(some)
    K = evaluated(k, x.astype(np.float64))
    asymmetry, symmetric = _asymmetry(K, given.dtype)
    S = (K + K.T) / 2
    ends, eigenvalues = dense_ends(S)
    looked_at = place = some
    if n > DENSE_SAMPLES and symmetric:  # by interlacing, the ends on more samples lie further out
        looked_at = more
        found = gram_ends(Gram(k, given.take(more).astype(np.float64)))
        if found.smallest < ends.smallest:
            ends, place = replace(found, largest=max(found.largest, ends.largest)), more
        else:
            ends = replace(ends, largest=max(found.largest, ends.largest))
    rounded = bool((S.astype(given.dtype) == S).all())  # a matrix given in float32 is no better than that
    tol = tolerance(len(looked_at), given.dtype if rounded else np.float64) if tol is None else checked_tolerance(tol)
    witness = None
    if ends.smallest < -tol * ends.magnitude:
        witness = np.zeros(n)
        witness[place] = ends.direction
    if target is not None:
        target = target.take(some)
    irrelevant, columns, others = _columns(k, x, target)
    return KernelReport(
        kernel=k,
        samples=n,
        dense_samples=len(some),
        spectrum_samples=len(looked_at),
        asymmetry=asymmetry,
        symmetric=symmetric,
        smallest_eigenvalue=ends.smallest,
        largest_eigenvalue=ends.largest,
        tolerance=tol,
        witness=witness,
        rank=int((np.abs(eigenvalues) > tol * np.abs(eigenvalues).max()).sum()),
        dimension=_dimension(k, given),
        dominance=_dominance(S),
        target=None if target is None else target.kind,
        alignment=None if target is None else target.alignment(S),
        centred_alignment=None if target is None else target.centred_alignment(S),
        p_value=None if target is None else target.chance(S),
        irrelevant=irrelevant,
        columns=columns,
        others_matter=others,
    )


def _asymmetry(K: Float, dtype: Any) -> tuple[float, bool]:
    size = float(np.abs(K).max())
    difference = float(np.abs(K - K.T).max()) / size if size > 0 else 0.0
    return difference, difference <= float(np.sqrt(np.finfo(dtype).eps))


def _dimension(k: Kernel, x: Samples) -> int | None:
    """The length of an explicit feature vector, from a single sample."""
    try:
        return int(k.features(x.take(np.arange(1))).shape[1])
    except ValueError:  # no finite map, or one that is too large or needs other data
        return None


def _dominance(S: Float) -> float:
    own = np.abs(np.diag(S))
    others = np.abs(S)
    np.fill_diagonal(others, 0.0)
    nearest = others.max(axis=1)
    known = (own > 0) | (nearest > 0)
    if not known.any():
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):  # a similarity of 1e-310 is as good as none
        return float(np.median(own[known] / nearest[known]))


def _columns(k: Kernel, x: Samples, target: Target | None) -> tuple[int | None, int | None, bool | None]:
    """Columns without association with the target, all columns, and whether most of them matter all the same."""
    if target is None or not isinstance(x, (Vectors, SparseVectors)) or x.width > MOST_COLUMNS:
        return None, None, None
    named = related(x.dense(), target)
    lost = int((~named).sum())
    asked = named.any() and lost > x.width / 2
    return lost, x.width, others_matter(k, x, target, named) if asked else None
