"""Remote homology after Liao and Noble (2003), on SCOPe domains below 20 % identity: is a domain of this superfamily?

A family of at least 5 domains, whose superfamily has at least 10 others, is held out. Positives to train on are the
others of its superfamily, positives to test on the family. Domains of other folds are negatives, half to train on and
half to test on (seed 0). SVC with C = 10 and balanced class weights ranks the test domains. AUC50 is the area under the
ROC curve up to the 50th false positive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.strings.data import Score, fasta
from mercer import SVC
from mercer.kernels import GappedKmer, Kernel, Mismatch, Spectrum

#: Kernels with the AUC and the AUC50 to be reached.
KERNELS: dict[str, tuple[Kernel, float | None, float | None]] = {
    "spectrum": (Spectrum(3, alphabet="protein").normalized(), None, None),
    "mismatch": (Mismatch(5, 1, alphabet="protein").normalized(), None, None),
    "gapped": (GappedKmer(7, 3, alphabet="protein").normalized(), 0.88, 0.22),
}


def area50(y: Any, values: Any, most: int = 50) -> float:
    """The area under the ROC curve up to the 50th false positive, of 1; ties count as errors."""
    order = np.lexsort((y, -values))
    above = np.cumsum(y[order])[y[order] == 0][:most]
    return float(above.mean() / y.sum())


def families(headers: list[str]) -> tuple[list[str], Any, Any, Any]:
    """The families to hold out, and of every domain its family, superfamily and fold."""
    family = np.array([header.split()[1] for header in headers])
    superfamily = np.array([name.rsplit(".", 1)[0] for name in family])
    fold = np.array([name.rsplit(".", 2)[0] for name in family])
    size, whole = Counter(family), Counter(superfamily)
    held = [f for f in sorted(size) if size[f] >= 5 and whole[f.rsplit(".", 1)[0]] - size[f] >= 10]
    return held, family, superfamily, fold


def ranked(K: Any, headers: list[str]) -> tuple[float, float, int]:
    """The mean AUC and AUC50 over all families, and their number."""
    held, family, superfamily, fold = families(headers)
    random = np.random.default_rng(0)
    first_half = random.permutation(len(headers)) % 2 == 0
    areas = []
    for name in held:
        other_fold = fold != name.rsplit(".", 2)[0]
        inside = superfamily == name.rsplit(".", 1)[0]
        train = np.flatnonzero((inside & (family != name)) | (other_fold & first_half))
        test = np.flatnonzero((family == name) | (other_fold & ~first_half))
        machine = SVC(C=10, kernel="precomputed", class_weight="balanced")
        machine.fit(np.ascontiguousarray(K[np.ix_(train, train)]), inside[train])
        support = train[machine.support_]
        values = K[np.ix_(test, support)] @ machine.dual_coef_[0]
        truth = inside[test].astype(int)
        areas.append((roc_auc_score(truth, values), area50(truth, values)))
    auc, auc50 = np.mean(areas, axis=0)
    return float(auc), float(auc50), len(held)


def homology() -> Iterator[Score]:
    X, headers = fasta("protein_scope20.fasta.gz")
    for kernel, *targets in KERNELS.values():
        auc, auc50, count = ranked(kernel(X).astype(np.float32), headers)
        protocol = f"mean over {count} families"
        yield Score("homology", repr(kernel), protocol, "AUC", auc, targets[0])
        yield Score("homology", repr(kernel), protocol, "AUC50", auc50, targets[1])


CASES: dict[str, Callable[[], Iterator[Any]]] = {"homology": homology}
