"""Kernels of sequences by words that need not be quite the same: some letters may differ, or stand for any.

Alphabets are those of ``mercer.kernels.strings``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.alphabets import between, letter_names, numbering
from mercer.kernels.base import FeaturesError
from mercer.kernels.collapse import Collapsed
from mercer.kernels.leaf import integer
from mercer.kernels.pairs import Pairs
from mercer.kernels.strings import MOST_COLUMNS, Spectrum, StringPairs, WordCounts, WordKernel
from mercer.samples import Samples, Sequences, as_sequences
from mercer.samples.base import Array

#: Counts of words near those of a sequence are made up to this many bytes for all; beyond, words are compared.
FEATURE_BYTES = 2**23
#: Gapped words have numbers up to this.
MOST_NUMBERS = 2**63 - 1
#: The alphabet of sequences that are all empty: of one letter, which no text has.
NO_LETTERS = ("",)


class DifferenceKernel(WordKernel):
    """k(x, z) = sum over the words u of x and v of z, of one length, of weight(number of letters that differ)."""

    def weights(self, letters: int) -> list[int]:
        """The weight of 0, 1, ... differing letters, for an alphabet of ``letters`` letters; zero beyond."""
        raise NotImplementedError(f"{type(self).__name__} must give its weights")

    def length(self) -> int:
        """The length of the words."""
        return self.words()[1]

    def plain(self, reverse_complement: bool) -> Spectrum:
        """The kernel that counts the words themselves."""
        return Spectrum(self.length(), alphabet=self.alphabet, reverse_complement=reverse_complement)

    def bags(
        self, x: Sequences, like: Sequences, reverse_complement: bool, strangers: bool = False
    ) -> tuple[Any, list[float]]:
        counts = self.plain(reverse_complement).counts(x, like, strangers)
        letters = max(counts.letters, 1)
        if not _native.fits_differences(letters, self.length()):
            raise ValueError(
                f"{self} needs words of at most 63 bits and 256 letters, but its words of {self.length()} letters are "
                f"over an alphabet of {letters}; take shorter words, or an alphabet of fewer letters"
            )
        # Reading both strands of both is twice reading one strand of x and both of z.
        weights = [float(w) * (2 if self.reverse_complement else 1) for w in self.weights(letters)]
        return _native.Bags(counts.keys, counts.values, counts.indptr, letters, self.length()), weights

    def compared(self, x: Sequences, z: Sequences) -> Pairs:
        return self.by_words(x, z)

    def by_words(self, x: Sequences, z: Sequences) -> StringPairs:
        """The matrix found from the words themselves, whatever features there are."""
        # A word that holds a letter that z lacks may still agree with words of z at its other places.
        strangers = self.alphabet is None and not set(x.letters) <= set(z.letters)

        def make(single: bool) -> Any:
            left, weights = self.bags(x, z, False, strangers)
            right, _ = self.bags(z, z, self.reverse_complement, strangers)
            return (_native.difference_pairs_f32 if single else _native.difference_pairs_f64)(left, right, weights)

        return StringPairs(x, z, make)

    def collapse(self, z: Samples, V: Array, starts: NDArray[np.int64]) -> Collapsed | None:
        return None  # the counts of all words that are near are too many to be kept

    def diag_of(self, x: Samples) -> Array:
        a = as_sequences(x)
        return self.by_words(a, a).diagonal()


@dataclass(frozen=True, repr=False)
class Mismatch(DifferenceKernel):
    """Counts of words with up to m wrong letters: k(x, z) = sum over words u of n_u(x) n_u(z).

    n_u(x) is the number of words of x that differ from u in at most m of their k letters. Leslie, Eskin, Cohen, Weston,
    Noble, "Mismatch string kernels for discriminative protein classification" (2004).

    u runs over all words of the alphabet. Without one, these are the letters of the samples: those a machine is fitted
    to, as ``resolve`` finds them, or those the kernel is called with, on both sides. So that a value be the same in
    every call, and for ``features``, give the alphabet.

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

    @property
    def by_call(self) -> bool:
        return self.alphabet is None

    def resolve_own(self, x: Samples) -> Mismatch:
        if self.alphabet is not None:
            return self
        return dataclasses.replace(self, alphabet=as_sequences(x).letters or NO_LETTERS)

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
            return self.resolve_own(z if x is z else z.joined(x)).compared(x, z)
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
    Memory: 16 bytes per distinct word of a sequence, 24 more for the tree, and some megabytes per thread. Explicit
    ``features`` have a column per gapped word, C(l, k) letters^k, and take 12 bytes for each of the C(l, k) of a word.

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

    def possible(self, letters: int) -> int:
        return int(comb(self.l, self.k) * letters**self.k)

    def listed(self, x: Sequences, like: Sequences) -> WordCounts:
        code, letters = numbering(self.alphabet, like)
        if self.possible(letters) > MOST_NUMBERS:
            raise FeaturesError(
                f"the features of {self} are told apart by numbers of 63 bits, but over {letters} letters there may be "
                f"{self.possible(letters)}; take a smaller k, or an alphabet of fewer letters"
            )
        coded, owner = x.coded(code), np.repeat(np.arange(len(x)), x.lengths)
        if len(coded) < self.l:  # with letters that nothing equals, as the array must have l places
            coded, owner = np.full(self.l, -1), np.arange(self.l)
        words, of = sliding_window_view(coded, self.l), owner[: len(owner) - self.l + 1]
        whole = of == owner[self.l - 1 :]
        if self.alphabet is not None:
            whole &= (words >= 0).all(axis=1)
        words, of = words[whole], of[whole]
        strands = [words, letters - 1 - words[:, ::-1]] if self.reverse_complement else [words]
        sets = self.places()
        narrow = self.possible(letters) <= MOST_COLUMNS
        table = np.empty((len(words), len(strands), len(sets)), dtype=np.int32 if narrow else np.int64)
        powers = letters ** np.arange(self.k)
        for i, strand in enumerate(strands):
            for j, places in enumerate(sets):
                table[:, i, j] = j * letters**self.k + strand[:, places] @ powers
                if self.alphabet is None:  # then a letter that nothing equals is no reason to leave the others out
                    table[(strand[:, places] < 0).any(axis=1), i, j] = -1
        numbers = table.ravel()
        starts = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(x)))]) * len(strands) * len(sets)
        if (numbers < 0).any():
            starts = np.concatenate([[0], np.cumsum(numbers >= 0)])[starts]
            numbers = numbers[numbers >= 0]
        shape = len(x), max(1, self.possible(letters))
        found = sp.csr_array((np.ones(numbers.size, dtype=x.dtype), numbers, starts), shape=shape)
        found.sum_duplicates()
        return WordCounts(found.indices, found.data, found.indptr, letters)

    def every_name(self, letters: list[str]) -> list[str]:
        return self.gapped(range(self.possible(len(letters))), letters)

    def numbers_of(self, z: Sequences) -> NDArray[np.uint64]:
        """The numbers of the gapped words that z has, ascending."""

        def find() -> NDArray[np.uint64]:
            numbers = np.sort(self.listed(z, z).keys).astype(np.uint64)
            first = np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(numbers)]
            return np.asarray(numbers[first])

        found: NDArray[np.uint64] = z.once((self, "numbers_of"), find)
        return found

    def features_among(self, x: Samples, reference: Samples) -> Any:
        known = as_sequences(reference)
        numbers, of_x = self.numbers_of(known), self.listed(as_sequences(x), known)
        keys = of_x.keys.astype(np.uint64)
        place = np.searchsorted(numbers, keys)
        place[np.append(numbers, np.uint64(MOST_NUMBERS + 1))[place] != keys] = -1
        return of_x.vectors(place, len(numbers), x.dtype).array

    def names_among(self, reference: Samples) -> list[str]:
        z = as_sequences(reference)
        return self.gapped(self.numbers_of(z).tolist(), letter_names(self.alphabet, z))

    def gapped(self, numbers: Iterable[int], letters: list[str]) -> list[str]:
        """The gapped words of these numbers, with a point at every gap."""
        join, sets, names = between(letters).join, self.places(), []
        for number in numbers:
            which, code = divmod(number, len(letters) ** self.k)
            word = ["."] * self.l
            for place in sets[which]:
                code, letter = divmod(code, len(letters))
                word[place] = letters[letter]
            names.append(join(word))
        return names

    def places(self) -> list[tuple[int, ...]]:
        """The sets of places at which a gapped word has letters."""
        return list(combinations(range(self.l), self.k))
