"""Which columns have to do with a target: each looked at alone, then what the others add for a kernel that sees all.

Columns may matter only together, as in an exclusive or, so that a test of single columns is no reason to drop any.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import chi2

from mercer.kernels.base import Kernel
from mercer.samples import SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.validity.spectrum import Float, evaluated
from mercer.validity.target import SIGNIFICANCE, Target

MOST_BINS = 8
#: How often the other columns are shuffled, and among how many samples: no more values than the report itself takes.
SHUFFLES, SHUFFLED = 19, 450
#: The standard deviations by which an alignment above that with shuffled columns is no chance.
DEVIATIONS = 3.0


def related(X: Array, target: Target) -> NDArray[np.bool_]:
    """Which columns of X are associated with the target, each looked at alone.

    If none is, none is named but in one of a hundred cases; else about one in a hundred of those named is by chance
    (Benjamini, Hochberg, "Controlling the false discovery rate", 1995).
    """
    chances = probabilities(X, target)
    order = np.argsort(chances)
    small = np.flatnonzero(chances[order] <= SIGNIFICANCE * np.arange(1, len(order) + 1) / len(order))
    found = np.zeros(len(order), dtype=bool)
    found[order[: small.max(initial=-1) + 1]] = True
    return found


def probabilities(X: Array, target: Target) -> Float:
    """How probable so much association of a column with the target is, of each column, if there is none.

    A column is cut into bins of about equal size. With W the target (its ranks, for numbers) whitened to WW'/n = I
    over its q dimensions, sum_b n_b |mean_b W|^2 is about chi-square with (bins - 1) q degrees of freedom if the
    column says nothing: Pearson's test for classes, Kruskal and Wallis' for numbers.
    """
    W = target.whitened()
    n, q = W.shape
    chances = np.ones(X.shape[1])
    if q == 0:
        return chances
    bins = max(2, min(MOST_BINS, n // (5 * (q + 1))))
    cuts = np.quantile(X, np.arange(1, bins) / bins, axis=0)
    for j, (column, edges) in enumerate(zip(X.T, cuts.T, strict=True)):
        _, place, sizes = np.unique(np.searchsorted(edges, column), return_inverse=True, return_counts=True)
        sums = (place == np.arange(len(sizes))[:, None]) @ W
        freedom = (len(sizes) - 1) * q
        if freedom:
            chances[j] = chi2.sf(float((sums**2 / sizes[:, None]).sum()), freedom)
    return chances


def others_matter(k: Kernel, x: Vectors | SparseVectors, target: Target, named: NDArray[np.bool_]) -> bool:
    """Whether the kernel is better aligned with the target than if the columns that are not named were noise.

    They are made noise by shuffling their rows, all in the same order: so each keeps its distribution, and what they
    say of each other, and only what they say together with the named ones or with the target is lost.
    """
    random = np.random.default_rng(0)
    rows = np.sort(random.permutation(len(x))[:SHUFFLED])
    X, target = x.take(rows).dense(), target.take(rows)

    def aligned(values: Array) -> float:
        samples = SparseVectors(sp.csr_array(values)) if isinstance(x, SparseVectors) else Vectors(values, x.names)
        K = evaluated(k, samples.astype(np.float64))
        return target.centred_alignment((K + K.T) / 2)

    shuffled = []
    for _ in range(SHUFFLES):
        values = X[random.permutation(len(X))]
        values[:, named] = X[:, named]
        shuffled.append(aligned(values))
    gain = aligned(X) - float(np.mean(shuffled))
    return gain > DEVIATIONS * float(np.std(shuffled, ddof=1)) + 1e-12
