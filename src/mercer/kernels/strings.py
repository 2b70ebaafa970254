"""Kernels of sequences by the words they share: strings, bytes or lists of tokens, counted in the native core.

All of them take ``alphabet``: ``"dna"``, ``"rna"`` or ``"protein"`` (names and letters in upper or lower case; U and T
are one letter, any other letter matches nothing), a text of letters, or a tuple of letters, groups of letters
(``("AG", "CT")``), or tokens. Without it every letter is itself, also one that only one of two sequences has. A word
that holds a letter outside a given alphabet is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.alphabets import PAIRED, Alphabet, between, checked_alphabet, letter_names, numbering
from mercer.kernels.base import FeaturesError, Kernel, Validity
from mercer.kernels.collapse import Collapsed, weights
from mercer.kernels.columns import check_number
from mercer.kernels.explicit import InColumns, Numbering
from mercer.kernels.leaf import integer
from mercer.kernels.maps import Map
from mercer.kernels.native import BoundPairs, FeaturePairs
from mercer.kernels.pairs import Pairs
from mercer.remembered import remembered
from mercer.samples import Samples, Sequences, SparseVectors, as_sequences
from mercer.samples.base import Array

#: The most columns of explicit features: their numbers are 32-bit integers.
MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class Segment(Map):
    """A part of every sequence, as ``sequence[start:stop]``: ``Spectrum(2).on(Segment(0, 60))``.

    >>> Segment(0, 3)(["GATTACA", "TACO"])
    ['GAT', 'TAC']
    """

    start: int | None = None
    stop: int | None = None

    def samples(self, X: Any) -> Samples:
        return as_sequences(X)

    def __call__(self, X: Any) -> Any:
        return [sequence[self.start : self.stop] for sequence in as_sequences(X).content()]


class SequenceKernel(Kernel):
    """A kernel of sequences over an alphabet."""

    alphabet: Alphabet

    def samples(self, X: Any) -> Samples:
        return as_sequences(X)

    @property
    def validity(self) -> Validity:
        return "psd"

    def bind(self, x: Samples, z: Samples) -> Pairs:
        a = as_sequences(x)
        return self.compared(a, a if x is z else as_sequences(z))

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        """The matrix of two sets of sequences."""
        raise NotImplementedError(f"{type(self).__name__} must say how to compare sequences")


class StringPairs(BoundPairs):
    """A matrix of which the native core finds every entry by going through the sequences."""

    dear = True

    def __init__(self, x: Samples, z: Samples, make: Callable[[bool], Any]) -> None:
        super().__init__((len(x), len(z)), np.result_type(x.dtype, z.dtype), x is z)
        self.make = make

    @remembered
    def bound(self) -> Any:
        return self.make(self.dtype == np.float32)

    def native(self, dtype: Any) -> Any:
        return self.bound if dtype == self.dtype else self.make(dtype == np.float32)

    def diagonal(self) -> Array:
        """k(x_i, z_i) in float64."""
        out = np.empty(self.shape[0])
        self.bound.diagonal(out)
        return out


@dataclass(frozen=True)
class WordCounts:
    """How often each sequence has which words, in compressed rows; 16 bytes per distinct word of a sequence."""

    keys: NDArray[Any]
    values: NDArray[Any]
    indptr: NDArray[Any]
    letters: int

    def numbers(self) -> NDArray[Any]:
        """The keys as columns, which have a sign."""
        return self.keys if self.keys.dtype.kind == "i" else self.keys.astype(np.int64)

    def vectors(self, columns: NDArray[np.int32] | NDArray[np.int64], width: int, dtype: Any) -> SparseVectors:
        """Rows of counts at these columns; -1 for a word that has none."""
        kept = columns >= 0
        values, indptr = self.values, self.indptr
        if not kept.all():
            columns, values = columns[kept], values[kept]
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        shape = len(indptr) - 1, max(width, 1)
        return SparseVectors(sp.csr_array((values.astype(dtype, copy=False), columns, indptr), shape=shape))

    def squares(self) -> NDArray[np.float64]:
        sums = np.concatenate([[0.0], np.cumsum(self.values**2)])  # whole numbers: exact
        return np.asarray(np.diff(sums[self.indptr]))


class WordKernel(SequenceKernel, Numbering):
    """k(x, z) = sum over words u of c_x(u) c_z(u), with c_x(u) counts that a subclass describes."""

    reverse_complement: bool

    def words(self) -> tuple[int, int, bool, int]:
        """The shortest and the longest length, whether both strands are read, and how many letters may differ."""
        raise NotImplementedError(f"{type(self).__name__} must say which words it counts")

    def weighed(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a word adds that a sequence has so often."""
        return counts

    def check_strands(self) -> None:
        object.__setattr__(self, "alphabet", checked_alphabet(self.alphabet))
        if self.reverse_complement and self.alphabet not in PAIRED:
            raise ValueError(
                f'reverse_complement=True needs alphabet="dna" or "rna", whose letters pair, not {self.alphabet!r}'
            )

    def counts(self, x: Sequences, like: Sequences, strangers: bool = False) -> WordCounts:
        """The counts of x; without an alphabet, letters are numbered as in ``like``.

        Words with other letters are left out or, with ``strangers``, kept: these are then one letter more.
        """
        key = self, like.letters if self.alphabet is None else None, strangers

        def find() -> WordCounts:
            code, letters = numbering(self.alphabet, like)
            coded = x.coded(code, letters if strangers else -1)
            letters += strangers
            strings = _native.Strings(coded, x.offsets, max(letters, 1))
            keys, values, indptr = _native.count_words(strings, *self.words())
            return WordCounts(keys, self.weighed(values), indptr, letters)

        found: WordCounts = x.once(key, find)
        return found

    def words_of(self, z: Sequences) -> tuple[_native.Vocabulary, SparseVectors]:
        """The words of z, which number the columns, and their counts."""

        def number() -> tuple[_native.Vocabulary, SparseVectors]:
            of_z = self.counts(z, z)
            vocabulary = _native.Vocabulary(of_z.keys)
            return vocabulary, of_z.vectors(vocabulary.find(of_z.keys), len(vocabulary), z.dtype)

        found: tuple[_native.Vocabulary, SparseVectors] = z.once((self, "words_of"), number)
        return found

    def within(self, x: Sequences, z: Sequences) -> SparseVectors:
        """The counts of x in the columns of z."""
        vocabulary, of_x = self.words_of(z)[0], self.counts(x, z)
        return of_x.vectors(vocabulary.find(of_x.keys), len(vocabulary), x.dtype)

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        b = self.words_of(z)[1]
        return FeaturePairs(b if x is z else self.within(x, z), b)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        known = as_sequences(z)
        f = weights(self.words_of(known)[1], V, starts)
        return None if f is None else lambda x: f(self.within(as_sequences(x), known))

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        return self.counts(a, a).squares()

    # -- explicit features ------------------------------------------------------------------------------------

    def listed(self, x: Sequences, like: Sequences) -> WordCounts:
        """How often each sequence has which feature, by numbers below ``possible``; letters are those of ``like``."""
        return self.counts(x, like)

    def possible(self, letters: int) -> int:
        """The number of features there may be over an alphabet of ``letters`` letters."""
        shortest, longest, _, _ = self.words()
        return int(sum(letters**k for k in range(shortest, longest + 1)))

    def features_of(self, x: Samples) -> Any:
        """Sparse counts, one column per possible word: the same columns in every call."""
        x = as_sequences(x)
        width, listed = self.width_of(x), self.listed(x, x)
        return listed.vectors(listed.numbers(), width, x.dtype).array

    def width_of(self, x: Sequences) -> int:
        """The number of columns, if they have the same meaning in every call and are not too many."""
        if self.alphabet is None:
            number = "" if self.by_call else ", or number the words of some samples: k.in_columns_of(X).features(X)"
            raise FeaturesError(
                f"the features of {self} have a column per possible word, so the letters must be known; give an "
                f"alphabet, for example alphabet='protein' or a tuple of tokens{number}"
            )
        width = self.possible(numbering(self.alphabet, x)[1])
        if width > MOST_COLUMNS:
            raise FeaturesError(
                f"the features of {self} would have {width} columns, one per possible word; at most {MOST_COLUMNS} "
                "are made. Use the kernel itself, or an alphabet of fewer letters"
            )
        return width

    def names_of(self, x: Samples) -> list[str]:
        x = as_sequences(x)
        check_number(self.width_of(x))
        return self.every_name(letter_names(self.alphabet, x))

    def every_name(self, letters: list[str]) -> list[str]:
        """The words in the order of their numbers."""
        shortest, longest, _, _ = self.words()
        join = between(letters).join
        return [join(word) for k in range(shortest, longest + 1) for word in product(letters, repeat=k)]

    def in_columns_of(self, X: Any) -> Kernel:
        """Without an alphabet, the kernel with a column for each word that X has; else columns are fixed already."""
        return InColumns(self, as_sequences(X)) if self.alphabet is None and not self.by_call else self

    def features_among(self, x: Samples, reference: Samples) -> Any:
        return self.within(as_sequences(x), as_sequences(reference)).array

    def names_among(self, reference: Samples) -> list[str]:
        """Each word as it stands where it first occurs."""
        z = as_sequences(reference)
        shortest, longest, strands, _ = self.words()
        code, letters = numbering(self.alphabet, z)
        strings = _native.Strings(z.coded(code), z.offsets, max(letters, 1))
        _, first = np.unique(_native.list_words(strings, shortest, longest, strands), return_index=True)
        lengths = np.arange(shortest, longest + 1)
        of_each = np.maximum(z.lengths[:, None] - lengths + 1, 0).ravel()  # words of one sequence and one length
        ends = np.cumsum(of_each)
        run = np.searchsorted(ends, first, side="right")
        begin = z.offsets[run // len(lengths)] + first - (ends - of_each)[run]
        names, ids = letter_names(self.alphabet, z), z.ids.tolist()
        join = between(names).join
        pieces = zip(begin.tolist(), lengths[run % len(lengths)].tolist(), strict=True)
        return [join([names[i] for i in ids[b : b + k]]) for b, k in pieces]


@dataclass(frozen=True, repr=False)
class Spectrum(WordKernel):
    """The inner product of counts of words (k-mers): k(x, z) = sum over words u of k letters of n_u(x) n_u(z).

    n_u(x) is how often u stands in x or, with ``presence=True``, whether it does: 1 or 0. With ``min_k``, words of all
    lengths from ``min_k`` to ``k`` count. With ``reverse_complement=True`` (DNA, RNA), the words of both strands do.
    Leslie, Eskin, Noble, "The spectrum kernel" (2002).

    Memory: 28 bytes per distinct word of a sequence. Words of more than 63 bits are told apart by 64 bits of hash.

    >>> Spectrum(2)(["GATTACA", "TACO"], ["ATTA"])
    array([[3.],
           [1.]])
    >>> Spectrum(2, alphabet="dna").features(["GATTACA"]).shape
    (1, 16)
    >>> Spectrum(2, min_k=1)([["to", "be"]], [["or", "not", "to", "be"]])
    array([[3.]])
    """

    k: int
    min_k: int | None = None
    alphabet: Any = None
    reverse_complement: bool = False
    presence: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", integer("k of Spectrum", self.k, 1))
        if self.min_k is not None:
            object.__setattr__(self, "min_k", integer("min_k of Spectrum", self.min_k, 1))
            if self.min_k > self.k:
                raise ValueError(f"min_k of Spectrum must be at most k={self.k}, not {self.min_k}")
        self.check_strands()

    def words(self) -> tuple[int, int, bool, int]:
        return self.k if self.min_k is None else self.min_k, self.k, self.reverse_complement, 0

    def weighed(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones_like(counts) if self.presence else counts
