"""One judge for all: objective and true KKT violation, in float64, from the coefficients a contestant ended with.

Kernel values are made here with NumPy alone, so that nobody's kernel code is judged by itself; objective, bias and
violation come from ``mercer.solvers.certify``. Several classes: objectives are summed, the worst violation counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.problem import Problem, epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from mercer.solvers import certify

#: Kernel values held at once.
BLOCK = 2**24
#: A coefficient this near to a bound, relatively, is at the bound: two units in the last place, of whoever rounds to
#: float32 and of the rest. Nothing is near to zero.
SNAP = {"float32": 2.4e-7, "float64": 1e-14}


@dataclass(frozen=True)
class Judgement:
    """What a solution is worth: dual and primal objective, the worst violation, how far sums are off their totals."""

    dual: float
    primal: float
    violation: float
    imbalance: float
    support: int


def judge(machine: str, settings: dict[str, Any], X: Any, y: Any, support: Any, coefficients: Any) -> Judgement:
    """``coefficients`` in scikit-learn's layout of ``dual_coef_``, at the rows ``support`` of X."""
    X = X.astype(np.float64)
    coefficients = np.asarray(coefficients.toarray() if sp.issparse(coefficients) else coefficients, dtype=np.float64).T
    gamma = settings["gamma"] if settings["kernel"] == "rbf" else None
    rounded = np.array_equal(coefficients.astype(np.float32), coefficients)
    settings = settings | {"snap": SNAP["float32" if rounded else "float64"]}
    posed = classification if machine in ("SVC", "NuSVC") else single
    results = []
    imbalance = 0.0
    for problem, a, f in posed(machine, settings, X, y, np.asarray(support), coefficients, gamma):
        for members, total in problem.groups():
            imbalance = max(imbalance, abs(float(a[members].sum()) - total))
        results.append(certify(problem, a, f, 0, settings["tol"]).certificate)
    return Judgement(
        sum(c.dual for c in results),
        sum(c.primal for c in results),
        max(c.violation for c in results),
        imbalance,
        len(support),
    )


def blocks(X: Any, rows: Any, S: Any, gamma: float | None) -> Iterator[tuple[Any, Any]]:
    """Some of these rows at a time, and their kernel values with S: exp(-gamma |x - s|^2), or x's if gamma is None."""
    squares = squared_norms(S)
    step = max(1, BLOCK // max(1, S.shape[0]))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        K = X[some] @ S.T
        K = K.toarray() if sp.issparse(K) else K
        if gamma is not None:
            K *= -2
            K += squares
            K += squared_norms(X[some])[:, None]
            np.maximum(K, 0, out=K)
            K *= -gamma
            np.exp(K, out=K)
        yield some, K


def squared_norms(X: Any) -> Any:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def snapped(problem: Problem, a: Any, snap: float) -> Any:
    """a with what differs from a bound by rounding alone moved to it."""
    (one,) = problem.columns()
    a = np.where(np.abs(a - one.upper) <= snap * np.abs(one.upper), one.upper, a)
    return np.where(np.abs(a - one.lower) <= snap * np.abs(one.lower), one.lower, a)


def single(machine: str, settings: Any, X: Any, y: Any, support: Any, coefficients: Any, gamma: Any) -> Iterator[Any]:
    """Regression and one class: one problem on all rows."""
    n = X.shape[0]
    C = settings.get("C", 1.0)
    if machine == "SVR":
        problem = epsilon_insensitive(y, C, settings["epsilon"])
    elif machine == "NuSVR":
        problem = nu_epsilon(y, C, settings["nu"])
    else:
        problem = one_class(np.ones(n), settings["nu"])
    a = np.zeros(n)
    a[support] = coefficients[:, 0]
    a = snapped(
        problem, np.concatenate([np.maximum(a, 0), np.minimum(a, 0)]) if machine == "NuSVR" else a, settings["snap"]
    )
    yield problem, a, problem.of_samples(product(X, problem.by_sample(a, n), gamma))


def product(X: Any, a: Any, gamma: float | None) -> Any:
    """K a."""
    used = np.flatnonzero(a)
    f = np.zeros(len(a))
    for some, K in blocks(X, np.arange(len(a)), X[used], gamma):
        f[some] = K @ a[used]
    return f


def classification(
    machine: str, settings: Any, X: Any, y: Any, support: Any, coefficients: Any, gamma: Any
) -> Iterator[Any]:
    """Two classes, the second positive; or a problem per pair, the first positive."""
    classes, codes = np.unique(y, return_inverse=True)
    k, n = len(classes), X.shape[0]
    A = np.zeros((n, k - 1))
    A[support] = coefficients
    if k == 2:
        problem, a = posed_pair(machine, settings, np.where(codes == 1, 1.0, -1.0), A[:, 0])
        yield problem, a, product(X, a, gamma)
        return
    members = [np.flatnonzero(codes == c) for c in range(k)]
    pairs = {}
    for i, j in combinations(range(k), 2):
        a = np.concatenate([A[members[i], j - 1], A[members[j], i]])
        sign = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        pairs[i, j] = posed_pair(machine, settings, sign, a)
        A[members[i], j - 1], A[members[j], i] = np.split(pairs[i, j][1], [len(members[i])])
    F = pairwise_products(X, codes, members, A, gamma)
    for (i, j), (problem, a) in pairs.items():
        yield problem, a, np.concatenate([F[members[i], j - 1], F[members[j], i]])


def posed_pair(machine: str, settings: Any, sign: Any, a: Any) -> tuple[Problem, Any]:
    if machine == "SVC":
        problem = hinge(sign, settings.get("C", 1.0))
    else:  # coefficients have been divided by the margin; their sum says by how much
        problem = nu_hinge(sign, settings["nu"])
        a = a * (problem.groups()[0][1] / a[a > 0].sum())
    return problem, snapped(problem, a, settings["snap"])


def pairwise_products(X: Any, codes: Any, members: list[Any], A: Any, gamma: Any) -> Any:
    """K a of all pairs of classes at their own samples, in the layout of A: a column per other class."""
    k = len(members)
    used = np.flatnonzero(A.any(axis=1))
    used = used[np.argsort(codes[used], kind="stable")]
    S, own, V = X[used], codes[used], A[used]
    F = np.zeros_like(A)
    for c in range(k):
        others = own != c
        spread = np.zeros((len(used), k))  # what each sample of another class has against c, in the column of its class
        spread[others, own[others]] = V[others, c - (c > own[others])]
        columns = np.delete(np.arange(k), c)
        for some, K in blocks(X, members[c], S, gamma):
            F[some] = K[:, ~others] @ V[~others] + K @ spread[:, columns]
    return F
