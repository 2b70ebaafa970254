"""Kernels of sequences, one pair at a time and straight from their definitions; each pair is computed once."""

from collections import Counter
from functools import cache
from itertools import combinations, product
from math import exp, log

import numpy as np

PAIRS = {"A": "T", "C": "G", "G": "C", "T": "A"}


def data(rng):
    """Few distinct sequences, so that the references are quick; some too short, some with a letter that is none."""
    some = [
        "",
        "AC",
        "GATTACA",
        "ACGTNACGT",
        *("".join(rng.choice(list("ACGT"), rng.integers(3, 13))) for _ in range(18)),
    ]
    return tuple([some[i] for i in rng.integers(0, len(some), n)] for n in (150, 71))


def matrix(pair):
    """The matrix of a function of two sequences."""
    pair = cache(pair)

    def values(A, B):
        A, B = (C.content() if hasattr(C, "content") else C for C in (A, B))
        return np.array([[float(pair(a, b)) for b in B] for a in A])

    return values


def features(phi):
    """The matrix of inner products of features, given as dictionaries."""
    phi = cache(phi)
    return matrix(lambda a, b: sum(count * phi(b).get(word, 0) for word, count in phi(a).items()))


def windows(x, k, dna=False, strands=False):
    if strands:
        other = "".join(PAIRS.get(c, c) for c in reversed(x))
        return windows(x, k, dna) + windows(other, k, dna)
    every = [x[i : i + k] for i in range(len(x) - k + 1)]
    return [word for word in every if not dna or set(word) <= set("ACGT")]


def spectrum(*lengths, dna=False, strands=False, groups=None):
    def phi(x):
        if groups is not None:
            x = "".join("ab"[groups.index(c) // 2] if c in groups else "N" for c in x)
            return Counter(word for k in lengths for word in windows(x, k) if "N" not in word)
        return Counter(word for k in lengths for word in windows(x, k, dna, strands))

    return features(phi)


def differences(u, v):
    return sum(a != b for a, b in zip(u, v, strict=True))


def mismatch(k, m, strands=False):
    words = ["".join(word) for word in product("ACGT", repeat=k)]
    near = cache(lambda v: [u for u in words if differences(u, v) <= m])
    return features(lambda x: Counter(u for v in windows(x, k, True, strands) for u in near(v)))


def gapped(length, k, strands=False):
    def phi(x):
        places = list(combinations(range(length), k))
        return Counter((p, tuple(v[i] for i in p)) for v in windows(x, length, True, strands) for p in places)

    return features(phi)


def weighted_degree(d, shift):
    def pair(x, z):
        total = 0.0
        for j in range(1, d + 1):
            weight = 2 * (d - j + 1) / (d * (d + 1))
            for s in range(-shift, shift + 1):
                places = range(max(0, -s), min(len(z), len(x) - s) - j + 1)
                total += (
                    weight / (2 * (abs(s) + 1) if s else 1) * sum(x[i + s : i + s + j] == z[i : i + j] for i in places)
                )
        return total

    return matrix(pair)


def subsequence(n, decay):
    def phi(x):
        found = Counter()
        for places in combinations(range(len(x)), n):
            found["".join(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return found

    return features(phi)


def local_alignment(match, mismatch, opening, extend, beta):
    def gap(length):
        return exp(-beta * (opening + extend * (length - 1))) if length else 1.0

    def pair(x, z):
        ending = np.zeros((len(x), len(z)))  # the sum over alignments whose last pair is x[i], z[j]
        for i in range(len(x)):
            for j in range(len(z)):
                before = sum(ending[a, b] * gap(i - a - 1) * gap(j - b - 1) for a in range(i) for b in range(j))
                ending[i, j] = exp(beta * (match if x[i] == z[j] else mismatch)) * (1 + before)
        return log(1 + ending.sum()) / beta

    return matrix(pair)


def normalized(A, B, kernel):
    def norms(C):
        squares = np.diag(kernel(C, C))
        return np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1)), 0)

    return norms(A)[:, None] * kernel(A, B) * norms(B)


def _listed(function):
    def values(A, B):
        return function(*(C.content() if hasattr(C, "content") else C for C in (A, B)))

    return values


@_listed
def composed(A, B):
    near = mismatch(3, 1)

    def inner(C, D):
        return spectrum(2)(C, D) + 3 * near([x[:6] for x in C], [x[:6] for x in D])

    return normalized(A, B, inner) * gapped_anywhere(A, B) + 1


#: Without an alphabet, N is a letter as any other.
gapped_anywhere = features(
    lambda x: Counter((p, v[p[0]], v[p[1]]) for v in windows(x, 3) for p in combinations(range(3), 2))
)


@_listed
def normalized_sum(A, B):
    return normalized(
        A,
        B,
        lambda C, D: spectrum(3)(C, D) + normalized(C, D, spectrum(2)) + 0.5 * spectrum(1)(C, D),
    )
