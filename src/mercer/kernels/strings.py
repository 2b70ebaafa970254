"""Kernels of sequences by the words they share: strings, bytes or lists of tokens, counted in the native core.

All of them take ``alphabet``: ``"dna"`` or ``"protein"`` (upper and lower case are the same, U is T in "dna", any other
letter matches nothing), a text of letters, or a tuple of letters, groups of letters (``("AG", "CT")``), or tokens.
Without it every letter is itself. A word that holds a letter outside the alphabet is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.alphabets import Alphabet, checked_alphabet, numbering
from mercer.kernels.base import FeaturesError, Kernel, Validity
from mercer.kernels.collapse import Collapsed, weights
from mercer.kernels.leaf import integer
from mercer.kernels.maps import Map
from mercer.kernels.native import BoundPairs, FeaturePairs
from mercer.kernels.pairs import Pairs
from mercer.samples import Samples, Sequences, SparseVectors, as_sequences
from mercer.samples.base import Array

#: Counts of words near those of a sequence are made up to this many bytes for all; beyond, words are compared.
FEATURE_BYTES = 2**23
#: Explicit features have at most so many columns.
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

    @cached_property
    def bound(self) -> Any:
        return self.make(self.dtype == np.float32)


@dataclass(frozen=True)
class Counts:
    """How often each sequence has which words, in compressed rows; 16 bytes per distinct word of a sequence."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    indptr: NDArray[np.int64]
    letters: int

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


class WordKernel(SequenceKernel):
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
        if self.reverse_complement and self.alphabet != "dna":
            raise ValueError(f'reverse_complement=True needs alphabet="dna", whose letters pair, not {self.alphabet!r}')

    def counts(self, x: Sequences, like: Sequences) -> Counts:
        """The counts of x; without an alphabet, letters are numbered as in ``like``."""
        key = self, like.letters if self.alphabet is None else None

        def find() -> Counts:
            code, letters = numbering(self.alphabet, like)
            strings = _native.strings(x.coded(code), x.offsets, max(letters, 1))
            keys, values, indptr = _native.count_words(strings, *self.words())
            return Counts(keys, self.weighed(values), indptr, letters)

        found: Counts = x.once(key, find)
        return found

    def numbered(self, z: Sequences) -> tuple[_native.Vocabulary, SparseVectors]:
        """The words of z, which number the columns, and their counts."""

        def number() -> tuple[_native.Vocabulary, SparseVectors]:
            of_z = self.counts(z, z)
            vocabulary = _native.Vocabulary(of_z.keys)
            return vocabulary, of_z.vectors(vocabulary.find(of_z.keys), len(vocabulary), z.dtype)

        found: tuple[_native.Vocabulary, SparseVectors] = z.once((self, "numbered"), number)
        return found

    def within(self, x: Sequences, z: Sequences) -> SparseVectors:
        """The counts of x in the columns of z."""
        vocabulary, of_x = self.numbered(z)[0], self.counts(x, z)
        return of_x.vectors(vocabulary.find(of_x.keys), len(vocabulary), x.dtype)

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        b = self.numbered(z)[1]
        return FeaturePairs(b if x is z else self.within(x, z), b)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        known = as_sequences(z)
        f = weights(self.numbered(known)[1], V, starts)
        return None if f is None else lambda x: f(self.within(as_sequences(x), known))

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        return self.counts(a, a).squares()

    def features_of(self, x: Samples) -> Any:
        """Sparse counts, one column per possible word: the same columns in every call."""
        x = as_sequences(x)
        latin = tuple(map(chr, range(256)))
        if self.alphabet is None and not set(x.letters) <= set(latin):
            raise FeaturesError(
                f"the features of {self} have a column per possible word, so the letters must be known; "
                "give an alphabet, for example alphabet='protein' or a tuple of tokens"
            )
        fixed = self if self.alphabet is not None else dataclasses.replace(self, alphabet=latin)  # type: ignore[type-var]
        shortest, longest, _, _ = self.words()
        width = sum(numbering(fixed.alphabet, x)[1] ** k for k in range(shortest, longest + 1))
        if width > MOST_COLUMNS:
            raise FeaturesError(
                f"the features of {self} would have {width} columns, one per possible word; at most {MOST_COLUMNS} "
                "are made. Use the kernel itself, or an alphabet of fewer letters"
            )
        counts = fixed.counts(x, x)
        return counts.vectors(counts.keys.astype(np.int64), width, x.dtype).array


@dataclass(frozen=True, repr=False)
class Spectrum(WordKernel):
    """The inner product of counts of words (k-mers): k(x, z) = sum over words u of k letters of n_u(x) n_u(z).

    n_u(x) is how often u stands in x or, with ``presence=True``, whether it does: 1 or 0. With ``min_k``, words of all
    lengths from ``min_k`` to ``k`` count. With ``reverse_complement=True`` (DNA), the words of both strands do. Leslie,
    Eskin, Noble, "The spectrum kernel" (2002).

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


class DifferenceKernel(WordKernel):
    """k(x, z) = sum over the words u of x and v of z, of one length, of weight(number of letters that differ)."""

    def weights(self, letters: int) -> list[int]:
        """The weight of 0, 1, ... differing letters, for an alphabet of so many; zero beyond."""
        raise NotImplementedError(f"{type(self).__name__} must give its weights")

    def length(self) -> int:
        """The length of the words."""
        return self.words()[1]

    def plain(self, reverse_complement: bool) -> Spectrum:
        """The kernel that counts the words themselves."""
        return Spectrum(self.length(), alphabet=self.alphabet, reverse_complement=reverse_complement)

    def bags(self, x: Sequences, like: Sequences, reverse_complement: bool) -> tuple[Any, list[float]]:
        counts = self.plain(reverse_complement).counts(x, like)
        letters = max(counts.letters, 1)
        if not _native.fits_differences(letters, self.length()):
            raise ValueError(
                f"{self} needs words of at most 63 bits and 256 letters, but its words of {self.length()} letters are "
                f"over an alphabet of {letters}; take shorter words, or an alphabet of fewer letters"
            )
        # Reading both strands of both is twice reading one strand of x and both of z.
        weights = [float(w) * (2 if self.reverse_complement else 1) for w in self.weights(letters)]
        return _native.bag(counts.keys, counts.values, counts.indptr, letters, self.length()), weights

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        def make(single: bool) -> Any:
            left, weights = self.bags(x, z, False)
            right, _ = self.bags(z, z, self.reverse_complement)
            return (_native.difference_pairs_f32 if single else _native.difference_pairs_f64)(left, right, weights)

        return StringPairs(x, z, make)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return None  # the counts of all words that are near are too many to be kept

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        left, weights = self.bags(a, a, False)
        right, _ = self.bags(a, a, self.reverse_complement)
        return np.asarray(_native.differences_diagonal(left, right, weights))


@dataclass(frozen=True, repr=False)
class Mismatch(DifferenceKernel):
    """Counts of words with up to m wrong letters: k(x, z) = sum over words u of n_u(x) n_u(z).

    n_u(x) is the number of words of x that differ from u in at most m of their k letters. Leslie, Eskin, Cohen, Weston,
    Noble, "Mismatch string kernels for discriminative protein classification" (2004).

    u runs over all words of the alphabet. Without one, these are the letters of the samples: those a machine is fitted
    to, as ``resolve`` finds them, or those the kernel is called with.

    Where they fit into 8 MiB, the counts themselves are made (sum over i <= m of C(k, i) (letters - 1)^i per word, 16
    bytes each). Else words are compared as those of ``GappedKmer`` are.

    >>> Mismatch(3, 1, alphabet="dna")(["GAT", "GTT"], ["GAT"])
    array([[10.],
           [ 4.]])
    """

    k: int
    m: int
    alphabet: Any = None
    reverse_complement: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", integer("k of Mismatch", self.k, 1))
        object.__setattr__(self, "m", integer("m of Mismatch", self.m, 0))
        if self.m >= self.k:
            raise ValueError(f"m of Mismatch must be below k={self.k}, not {self.m}")
        self.check_strands()

    def words(self) -> tuple[int, int, bool, int]:
        return self.k, self.k, self.reverse_complement, self.m

    def resolve_own(self, x: Samples) -> Kernel:
        return self if self.alphabet is not None else dataclasses.replace(self, alphabet=as_sequences(x).letters)

    def weights(self, letters: int) -> list[int]:
        """How many words differ in at most m letters from both of two that differ in d letters themselves."""
        return [
            sum(
                _ways(d, a, b) * max(letters - 2, 0) ** (d - a - b) * comb(self.k - d, e) * (letters - 1) ** e
                for a in range(d + 1)  # places where it is as the first
                for b in range(d - a + 1)  # as the second
                for e in range(min(self.k - d, self.m - (d - min(a, b))) + 1)  # wrong where both agree
            )
            for d in range(min(2 * self.m, self.k) + 1)
        ]

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        if self.alphabet is None:
            both = tuple(dict.fromkeys((*z.letters, *x.letters)))
            return dataclasses.replace(self, alphabet=both).compared(x, z)
        return WordKernel.compared(self, x, z) if self.counted(x, z) else super().compared(x, z)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        known = as_sequences(z)
        f = WordKernel.collapse(self, known, V, starts) if self.alphabet and self.counted(known, known) else None
        if f is None:
            return None
        # Where the counts of all of x would be too many, the tree is walked.
        return lambda x: f(x) if self.counted(as_sequences(x), known) else self.bind(x, z).by_segment(V, starts)

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        return WordKernel.diag_of(self, a) if self.counted(a, a) else super().diag_of(a)

    def counted(self, x: Sequences, z: Sequences) -> bool:
        """Whether the counts of all words near those of the sequences are few enough to be made."""
        letters = numbering(self.alphabet, z)[1]
        near = sum(comb(self.k, i) * (letters - 1) ** i for i in range(self.m + 1)) * (1 + self.reverse_complement)
        words = len(z.ids) if x is z else len(x.ids) + len(z.ids)
        return bool(16 * near * words <= FEATURE_BYTES and letters**self.k < 2**63)


def _ways(d: int, a: int, b: int) -> int:
    return factorial(d) // (factorial(a) * factorial(b) * factorial(d - a - b))


@dataclass(frozen=True, repr=False)
class GappedKmer(DifferenceKernel):
    """Words with gaps, the kernel of gkm-SVM: k(x, z) = sum over gapped words u of n_u(x) n_u(z).

    A gapped word is k letters at k of l places; n_u(x) counts the words of x that have them there. Two words of l
    letters that differ in d share C(l - d, k) of these, so k(x, z) = sum of C(l - d(u, v), k) over the words u of x and
    v of z. Ghandi, Lee, Mohammad-Noori, Beer, "Enhanced regulatory sequence prediction using gapped k-mer features"
    (2014). With ``.normalized()`` and both strands, this is the gapped k-mer kernel of LS-GKM (Lee, 2016).

    Many rows go through tables of gapped words, a few through a tree of all words, whichever is foreseen to be faster.
    Memory: 16 bytes per distinct word of a sequence, 24 more for the tree, and some megabytes per thread.

    >>> GappedKmer(3, 2)(["GAT", "GTT"], ["GAT"])
    array([[3.],
           [1.]])
    """

    l: int  # noqa: E741
    k: int
    alphabet: Any = None
    reverse_complement: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", integer("l of GappedKmer", self.l, 1))
        object.__setattr__(self, "k", integer("k of GappedKmer", self.k, 1))
        if self.k > self.l:
            raise ValueError(f"k of GappedKmer must be at most l={self.l}, not {self.k}")
        self.check_strands()

    def words(self) -> tuple[int, int, bool, int]:
        return self.l, self.l, self.reverse_complement, 0

    def weights(self, letters: int) -> list[int]:
        return [comb(self.l - d, self.k) for d in range(self.l - self.k + 1)]

    def features_of(self, x: Samples) -> Any:
        return Kernel.features_of(self, x)
