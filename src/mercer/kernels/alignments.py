"""Kernels of two sequences that go through both: words at the same place, subsequences with gaps, local alignments.

Alphabets are those of ``mercer.kernels.strings``; a letter outside the alphabet matches nothing, not even itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _native
from mercer.kernels.alphabets import NAMED, checked_alphabet, numbering
from mercer.kernels.base import Validity
from mercer.kernels.leaf import finite, integer, positive
from mercer.kernels.strings import SequenceKernel, StringPairs
from mercer.samples import Samples, Sequences, as_sequences
from mercer.samples.base import Array

#: Scores of pairs of amino acids in half bits, lower triangle in the order of ``BLOSUM_LETTERS``.
#: Henikoff, Henikoff, "Amino acid substitution matrices from protein blocks" (1992).
BLOSUM_LETTERS = "ARNDCQEGHILKMFPSTWYV"
BLOSUM62 = (
    (4,),
    (-1, 5),
    (-2, 0, 6),
    (-2, -2, 1, 6),
    (0, -3, -3, -3, 9),
    (-1, 1, 0, 0, -3, 5),
    (-1, 0, 0, 2, -4, 2, 5),
    (0, -2, 0, -1, -3, -2, -2, 6),
    (-2, 0, 1, -1, -3, 0, 0, -2, 8),
    (-1, -3, -3, -3, -1, -3, -3, -4, -3, 4),
    (-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4),
    (-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5),
    (-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5),
    (-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6),
    (-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7),
    (1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4),
    (0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5),
    (-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11),
    (-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7),
    (0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4),
)
#: The score of any letter with one that is no amino acid.
UNKNOWN = -1.0


class PairKernel(SequenceKernel):
    """A kernel whose value is found by a rule of the native core, one pair of sequences at a time."""

    def rule(self, letters: int) -> Any:
        """The rule, for an alphabet of ``letters`` letters."""
        raise NotImplementedError(f"{type(self).__name__} must give its rule")

    def strings(self, x: Sequences, like: Sequences) -> tuple[Any, int]:
        code, letters = numbering(self.alphabet, like)
        letters = max(letters, 1)
        return _native.Strings(x.coded(code), x.offsets, letters), letters

    def compared(self, x: Sequences, z: Sequences) -> StringPairs:
        def make(single: bool) -> Any:
            right, letters = self.strings(z, z)
            left = right if x is z else self.strings(x, z)[0]
            return (_native.string_pairs_f32 if single else _native.string_pairs_f64)(left, right, self.rule(letters))

        return StringPairs(x, z, make)

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        return self.compared(a, a).diagonal()


@dataclass(frozen=True, repr=False)
class WeightedDegree(PairKernel):
    """Words at the same places: k(x, z) = sum_{j=1}^d b_j sum_i [x and z have the same j letters from place i on]

    with b_j = 2 (d - j + 1) / (d (d + 1)). With a ``shift`` S, also words that are s = 1 ... S places apart count, each
    times 1 / (2 (s + 1)). Raetsch, Sonnenburg, "Accurate splice site prediction for Caenorhabditis elegans" (2004);
    Raetsch, Sonnenburg, Schoelkopf, "RASE" (2005). Places beyond the end of the shorter sequence match nothing.

    Time per pair: length * (2 S + 1).

    >>> WeightedDegree(2)(["GATTACA"], ["GATCACA"])
    array([[5.33333333]])
    """

    d: int
    shift: int = 0
    alphabet: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", integer("d of WeightedDegree", self.d, 1))
        object.__setattr__(self, "shift", integer("shift of WeightedDegree", self.shift, 0))
        object.__setattr__(self, "alphabet", checked_alphabet(self.alphabet))

    def rule(self, letters: int) -> Any:
        weights = [2 * (self.d - j) / (self.d * (self.d + 1)) for j in range(self.d)]
        return _native.WeightedDegree(weights, self.shift)


@dataclass(frozen=True, repr=False)
class Subsequence(PairKernel):
    """Common subsequences, gaps allowed: k(x, z) = sum over words u of n letters of phi_u(x) phi_u(z)

    with phi_u(x) the sum, over all ways to find u in x, of decay^(letters from the first to the last). Lodhi, Saunders,
    Shawe-Taylor, Cristianini, Watkins, "Text classification using string kernels" (2002), by dynamic programming in
    time n |x| |z| per pair. Long sequences want ``.normalized()``.

    >>> Subsequence(2, 0.5)(["cat"], ["car", "cat"])
    array([[0.0625  , 0.140625]])
    """

    n: int
    decay: float
    alphabet: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", integer("n of Subsequence", self.n, 1))
        object.__setattr__(self, "decay", positive("decay of Subsequence", self.decay))
        if self.decay > 1:
            raise ValueError(f"decay of Subsequence must be at most 1, not {self.decay:g}")
        object.__setattr__(self, "alphabet", checked_alphabet(self.alphabet))

    def rule(self, letters: int) -> Any:
        return _native.Subsequence(self.n, self.decay)


@dataclass(frozen=True, repr=False)
class LocalAlignment(PairKernel):
    """All local alignments: k(x, z) = ln(1 + sum over alignments p of exp(beta score(p))) / beta

    For a large ``beta`` this is the score of Smith and Waterman. The first letter of a gap costs ``open``, each further
    one ``extend``. Two letters score as in ``scores``: "blosum62" for proteins (what is no amino acid scores -1 with
    any), or (match, mismatch) for any letters. Saigo, Vert, Ueda, Akutsu, "Protein homology detection using string
    alignment kernels" (2004). The logarithm, which keeps the diagonal from outweighing all else, costs the kernel its
    positive semi-definiteness: see ``mercer.kernels.repair``. Time per pair: |x| |z|.

    >>> LocalAlignment((1, -1), open=2, extend=1, beta=5.0)(["GATTACA"], ["TTAC"]).round(2)
    array([[4.]])
    """

    scores: Any = "blosum62"
    open: float = 11.0
    extend: float = 1.0
    beta: float = 0.5
    alphabet: Any = None

    def __post_init__(self) -> None:
        for name in ("open", "extend"):
            object.__setattr__(self, name, positive(f"{name} of LocalAlignment", getattr(self, name), zero=True))
        object.__setattr__(self, "beta", positive("beta of LocalAlignment", self.beta))
        object.__setattr__(self, "alphabet", checked_alphabet(self.alphabet))
        if isinstance(self.scores, str):
            if self.scores != "blosum62" or self.alphabet not in (None, "protein"):
                raise ValueError(
                    'scores of LocalAlignment are "blosum62", with the alphabet "protein", or (match, mismatch); '
                    f"not {self.scores!r} with alphabet={self.alphabet!r}"
                )
            object.__setattr__(self, "alphabet", "protein")
        else:
            match, mismatch = (finite("a score of LocalAlignment", score) for score in self.scores)
            object.__setattr__(self, "scores", (match, mismatch))

    @property
    def validity(self) -> Validity:
        return "indefinite"

    def rule(self, letters: int) -> Any:
        if self.scores == "blosum62":
            table = np.full((letters + 1, letters + 1), UNKNOWN)
            place = [next(i for i, group in enumerate(NAMED["protein"]) if c in group) for c in BLOSUM_LETTERS]
            for i, row in enumerate(BLOSUM62):
                for j, score in enumerate(row):
                    table[place[i], place[j]] = table[place[j], place[i]] = score
        else:
            match, mismatch = self.scores
            table = np.full((letters + 1, letters + 1), mismatch)
            np.fill_diagonal(table[:letters, :letters], match)
        return _native.LocalAlignment(table.ravel().tolist(), self.open, self.extend, self.beta)
