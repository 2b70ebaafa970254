"""Remote homology after Liao and Noble (2003), on SCOPe domains below 20 % identity: is a domain of this superfamily?

A family of at least 5 domains, whose superfamily has at least 10 others, is held out. Positives to train on are the
others of its superfamily, positives to test on the family. Domains of other folds are negatives, half to train on and
half to test on (seed 0). A support vector machine with C = 10 and balanced class weights ranks the test domains. AUC50
is the area under the ROC curve up to the 50th false positive.

Kernels are chosen on other families (``homology-choice``), every fourth of those of 3 or 4 domains: ``best`` is that of
the largest AUC50 there, ``exp`` that of the largest AUC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.strings.data import Score, fasta
from mercer.kernels import GappedKmer, Kernel, Mismatch, Precomputed, Spectrum, exp
from mercer.problem import hinge
from mercer.solvers import SMO

C = 10.0
GAPPED = GappedKmer(7, 3, alphabet="protein").normalized()
#: Kernels to choose from.
CANDIDATES: dict[str, Kernel] = {"gapped": GAPPED, "exp-gapped": exp(2 * GAPPED).normalized()}
#: Kernels with the AUC and the AUC50 to be reached.
KERNELS: dict[str, tuple[Kernel, float | None, float | None]] = {
    "spectrum": (Spectrum(3, alphabet="protein").normalized(), None, None),
    "mismatch": (Mismatch(5, 1, alphabet="protein").normalized(), None, None),
    "best": (CANDIDATES["gapped"], 0.88, 0.22),
    "exp": (CANDIDATES["exp-gapped"], 0.88, 0.22),
}


def area50(y: Any, values: Any, most: int = 50) -> float:
    """The area under the ROC curve up to the 50th false positive, of 1; ties count as errors."""
    order = np.lexsort((y, -values))
    above = np.cumsum(y[order])[y[order] == 0][:most]
    return float(above.mean() / y.sum())


def families(headers: list[str], sizes: range) -> tuple[list[str], Any, Any, Any]:
    """The families to hold out, those whose number of domains is within ``sizes``; and the family, the superfamily and
    the fold of every domain."""
    family = np.array([header.split()[1] for header in headers])
    superfamily = np.array([name.rsplit(".", 1)[0] for name in family])
    fold = np.array([name.rsplit(".", 2)[0] for name in family])
    size, whole = Counter(family.tolist()), Counter(superfamily.tolist())
    held = [f for f in sorted(size) if size[f] in sizes and whole[f.rsplit(".", 1)[0]] - size[f] >= 10]
    return held, family, superfamily, fold


def ranked(K: Any, headers: list[str], names: list[str]) -> tuple[float, float]:
    """The mean AUC and AUC50 over these families. Their machines are problems on parts of one matrix."""
    _, family, superfamily, fold = families(headers, range(0))
    first_half = np.random.default_rng(0).permutation(len(headers)) % 2 == 0
    problems, tests = [], []
    for name in names:
        other_fold = fold != name.rsplit(".", 2)[0]
        inside = superfamily == name.rsplit(".", 1)[0]
        train = np.flatnonzero((inside & (family != name)) | (other_fold & first_half))
        y = np.where(inside[train], 1.0, -1.0)
        weight = len(y) / (2 * np.where(y > 0, (y > 0).sum(), (y < 0).sum()))
        problems.append(hinge(y, C * weight, train))
        tests.append((np.flatnonzero((family == name) | (other_fold & ~first_half)), inside))
    solutions = SMO(budget=2**30).solve(Precomputed().gram(K), problems)
    areas = []
    for problem, solution, (test, inside) in zip(problems, solutions, tests, strict=True):
        a = np.zeros(len(K), dtype=K.dtype)
        a[problem.sample] = solution.coefficients
        values, truth = (K @ a)[test], inside[test].astype(int)
        areas.append((roc_auc_score(truth, values), area50(truth, values)))
    auc, auc50 = np.mean(areas, axis=0)
    return float(auc), float(auc50)


def matrix(kernel: Kernel, X: list[str]) -> Any:
    return kernel(kernel.samples(X).astype(np.float32))


def homology(kernel: Kernel, targets: tuple[float | None, float | None]) -> Iterator[Score]:
    X, headers = fasta("protein_scope20.fasta.gz")
    names = families(headers, range(5, len(X)))[0]
    yield from _scores(kernel, ranked(matrix(kernel, X), headers, names), f"mean over {len(names)} families", targets)


def choice() -> Iterator[Score]:
    X, headers = fasta("protein_scope20.fasta.gz")
    names = families(headers, range(3, 5))[0][::4]
    for kernel in CANDIDATES.values():
        areas = ranked(matrix(kernel, X), headers, names)
        yield from _scores(kernel, areas, f"mean over {len(names)} families of 3 or 4", (None, None))


def _scores(kernel: Kernel, areas: tuple[float, float], protocol: str, targets: Any) -> Iterator[Score]:
    for measure, reached, target in zip(("AUC", "AUC50"), areas, targets, strict=True):
        yield Score("homology", repr(kernel), protocol, measure, reached, target)


CASES: dict[str, Callable[[], Iterator[Any]]] = {
    "homology-choice": choice,
    **{f"homology-{name}": partial(homology, kernel, targets) for name, (kernel, *targets) in KERNELS.items()},
}
