"""The five support vector machines against scikit-learn's (LIBSVM's), by the objective they reach, on public data.

Both get the same rows, parameters and tolerance. One judge looks at the coefficients they end with: kernel matrices
are NumPy's in float64, and ``tests/naive.py`` finds dual and primal objective and the violation of the KKT conditions
of every problem. The objective of several classes is the sum over their pairs. Dual objectives must be equal. LIBSVM
keeps its matrix in float32, which moves its dual objective by a square of that rounding, but its primal by the rounding
itself; so of the primal, and of every pair, we ask that ours is not the worse one.

A sigmoid kernel is not positive semi-definite: its problems have many local solutions, and two solvers need not find
the same. There the objectives are not compared; what is left to ask is that each solution meets the KKT conditions.

The public sets are read from the folder MERCER_DATA, MERCER_ROWS rows of each (300 if it is not set). With
``-o junit_family=xunit1 --junitxml=FILE``, the report holds the relative difference of every test.
"""

import os
import warnings
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from tests.naive import judge
from tests.pairs import pairs

pytestmark = [
    pytest.mark.slow("the peer solves to a violation of 1e-7, for which it may need ten million steps"),
    pytest.mark.filterwarnings("ignore:record_property is incompatible"),
    pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning"),
]
FOLDER = os.environ.get("MERCER_DATA")
ROWS = int(os.environ.get("MERCER_ROWS", "300"))
#: Objectives are equal if they differ by no more, relatively.
EQUAL = 1e-5
#: The violation at which both stop.
TOL = 1e-7
#: Where LIBSVM gives up.
STEPS = 10**7
#: A coefficient this near to a bound, relatively, is at the bound; NuSVC's are divided by the margin and rounded.
SNAP = 1e-12

KERNELS = ["linear", "poly", "rbf", "sigmoid"]
EMBEDDED = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
#: Columns of these have one scale already; those of the others get mean 0 and variance 1.
LEFT_ALONE = {"mnist": 255.0, "fashion_mnist": 255.0, "a9a": 1.0, "sector": 1.0, "dna": 1.0, "isomap_faces": 1.0}
CLASSES = ["mnist", "fashion_mnist", "a9a", "sector", "letter", "shuttle", "dna", "phoneme", "optdigits", "spambase"]
CLASSES += ["segment", "vowel", "musk1", "ionosphere", "sonar", "pima"]
NUMBERS = ["california_housing", "cpusmall", "abalone", "casp_protein", "kin8nm", "elevators", "concrete"]
NUMBERS += ["energy_heating", "wine_quality_red", "isomap_faces"]
#: Pairs of classes grow with their square; of sector's 105 classes, the first ones are enough.
MOST_CLASSES = 26


# -- data ---------------------------------------------------------------------------------------------------------


@cache
def embedded(name):
    X, y = EMBEDDED[name](return_X_y=True)
    some = drawn(y)
    return scale(X[some]), y[some]


@cache
def public(name):
    """Some rows of a public set, scaled; labels, or a target of mean 0 and variance 1."""
    if FOLDER is None:
        pytest.skip("MERCER_DATA is not set: it names the folder with the public data sets")
    path = Path(FOLDER) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"MERCER_DATA ({FOLDER}) has no {path.name}")
    with np.load(path, allow_pickle=False) as file:
        y = file["y"]
        if "X_data" in file:
            parts = file["X_data"].astype(float), file["X_indices"].astype("i4"), file["X_indptr"]
            X = sp.csr_matrix(parts, shape=tuple(file["X_shape"]))
        else:
            X = file["X"]
    if name in NUMBERS:
        y = y[:, 0] if y.ndim == 2 else y  # of the faces, the pan
        known = np.flatnonzero(np.isfinite(X).all(axis=1))
        some = np.random.default_rng(0).permutation(known)[:ROWS]
        y = scale(y[some].astype(float))
    else:
        some = drawn(y)
        y = y[some]
    X = X[some].astype(float)
    return X / LEFT_ALONE[name] if name in LEFT_ALONE else scale(X), y


def drawn(y):
    """Positions of rows, as many of each class as there are, so that no class is missing."""
    rng = np.random.default_rng(0)
    classes = np.unique(y)[:MOST_CLASSES]
    members = [rng.permutation(np.flatnonzero(y == label))[: ROWS // len(classes)] for label in classes]
    return rng.permutation(np.concatenate(members))


def away_from_the_origin(X):
    """What a one-class machine needs: on centred data a linear function that separates them from 0 does not exist."""
    return X if sp.issparse(X) else X - X.min(axis=0)


# -- the judge ----------------------------------------------------------------------------------------------------


def matrix(machine, X):
    dot = X @ X.T
    dot = dot.toarray() if sp.issparse(dot) else dot
    match machine.kernel:
        case "linear":
            return dot
        case "poly":
            return (machine.gamma * dot + machine.coef0) ** machine.degree
        case "rbf":
            squares = dot.diagonal()
            return np.exp(-machine.gamma * np.maximum(squares[:, None] + squares - 2 * dot, 0))
        case "sigmoid":
            return np.tanh(machine.gamma * dot + machine.coef0)


def posed(machine, y, weight):
    """Every problem the machine has to solve, with the rows and the columns of its coefficients in ``dual_coef_``."""
    n = len(y)
    everything = np.arange(n), np.zeros(n, dtype=int)
    match type(machine).__name__:
        case "SVR":
            return [(epsilon_insensitive(y, machine.C * weight, machine.epsilon), *everything)]
        case "NuSVR":
            return [(nu_epsilon(y, machine.C * weight, machine.nu), *everything)]
        case "OneClassSVM":
            return [(one_class(weight, machine.nu), *everything)]
    found = []
    classes, codes = np.unique(y, return_inverse=True)
    for i, j in combinations(range(len(classes)), 2):
        rows = np.flatnonzero((codes == i) | (codes == j))
        first = codes[rows] == i
        sign = np.where(first == (len(classes) > 2), 1.0, -1.0)  # of two classes, the second is the positive one
        nu = isinstance(machine, (NuSVC, sklearn.svm.NuSVC))
        problem = nu_hinge(sign, machine.nu, weight[rows]) if nu else hinge(sign, machine.C * weight[rows])
        found.append((problem, rows, np.where(first, j - 1, i)))
    return found


def judged(machine, X, y, weight):
    """The certificates of a fitted machine's problems; its coefficients must meet their constraints."""
    K = matrix(machine, X)
    dual = machine.dual_coef_
    A = np.zeros((len(y), dual.shape[0]))
    A[machine.support_] = (dual.toarray() if sp.issparse(dual) else dual).T
    certificates = []
    for problem, rows, columns in posed(machine, y, weight):
        (problem,) = problem.columns()
        a = A[rows, columns]
        f = K[np.ix_(rows, rows)] @ a
        if problem.sample is not None:  # NuSVR's, one that rises and one that falls per sample
            a, f = both_halves(problem, a), problem.of_samples(f)
        if isinstance(machine, (NuSVC, sklearn.svm.NuSVC)):
            # Divided by the margin; a sum says by how much. LIBSVM's is negative where the kernel is indefinite enough.
            margin = problem.total[0] / a[problem.group == 0].sum()
            a, f = margin * a, margin * f
        size = np.abs(a).sum()
        assert (a >= problem.lower - SNAP * size).all()
        assert (a <= problem.upper + SNAP * size).all()
        for members, total in problem.groups():
            assert abs(a[members].sum() - total) <= 1e-10 * size
        a = np.where(np.abs(a - problem.upper) <= SNAP * np.abs(problem.upper), problem.upper, a)
        a = np.where(np.abs(a - problem.lower) <= SNAP * np.abs(problem.lower), problem.lower, a)
        certificates.append(judge(problem, a, f, 0, TOL)[1])
    return certificates


def both_halves(problem, a):
    """NuSVR's coefficients that rise and that fall, whose difference is known.

    Where the tube has no width, a sample may have both, and they sum to more than the difference shows: what is missing
    goes where there is room. That changes neither f nor the objective.
    """
    rising, falling = np.maximum(a, 0), np.minimum(a, 0)
    missing = problem.total[0] - rising.sum()
    if missing > 1e-10 * problem.total[0]:
        room = np.minimum(problem.upper[: len(a)] - rising, falling - problem.lower[len(a) :])
        added = np.diff(np.clip(np.concatenate([[0.0], np.cumsum(room)]), 0, missing))
        rising, falling = rising + added, falling - added
    return np.concatenate([rising, falling])


def values(certificates, name):
    return np.array([getattr(certificate, name) for certificate in certificates])


def excess(mine, theirs, name, sign):
    """How much larger (or, with sign -1, smaller) our objective of every problem is than the peer's, relatively."""
    return sign * (values(mine, name) - values(theirs, name)) / np.abs(values(theirs, name))


# -- the comparison -----------------------------------------------------------------------------------------------


def smallest_share(y, weight):
    """The largest nu that the weights of all pairs of classes allow."""
    sums = np.array([weight[y == label].sum() for label in np.unique(y)])
    return 2 * sums.min() / (sums.min() + sums.max())


def both(machine, X, y, weight, kernel):
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    parameters = dict(kernel=kernel, gamma=1 / (X.shape[1] * variance), tol=TOL)
    if machine is NuSVC:
        parameters["nu"] = 0.8 * smallest_share(y, weight)  # of less, not every pair of classes has a margin
    if machine is OneClassSVM:
        parameters["nu"] = 0.1
    peer = getattr(sklearn.svm, machine.__name__)(**parameters, max_iter=STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its violation says how far it came
        peer.fit(X, y, sample_weight=weight)
    return machine(**parameters).fit(X, y, sample_weight=weight), peer


def compare(machine, X, y, kernel, weighted, record):
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else np.ones(len(y))
    try:
        ours, peer = both(machine, X, y, weight, kernel)
    except ConvergenceWarning as warning:
        if str(warning).startswith("The margin is"):
            pytest.skip(
                "a margin of next to nothing, by which coefficients are divided, says nothing of either solution"
            )
        raise
    own = ours.certificate_ if isinstance(ours.certificate_, tuple) else (ours.certificate_,)
    mine, theirs = judged(ours, X, y, weight), judged(peer, X, y, weight)
    worse = max(excess(mine, theirs, "primal", 1).max(), excess(mine, theirs, "dual", -1).max())
    difference, primal = (abs(values(mine, name).sum() / values(theirs, name).sum() - 1) for name in ("dual", "primal"))
    record("difference", float(difference))
    record("difference of the primal objectives", float(primal))
    record("worse", float(worse))
    record("violation", float(values(mine, "violation").max()))
    record("violation of the peer", float(values(theirs, "violation").max()))
    assert all(certificate.converged and certificate.violation <= TOL for certificate in own)
    # Rows of K were float32, and so are the products that cannot change the violation.
    np.testing.assert_allclose(values(own, "dual"), values(mine, "dual"), rtol=1e-6)
    assert values(mine, "violation").max() <= 2 * TOL
    if kernel == "sigmoid":
        assert values(theirs, "violation").max() <= 1e-3
    else:
        assert difference <= EQUAL
        assert worse <= EQUAL


def each(names, machines):
    """Every machine, every kernel, and plain and weighted samples on every set, in pairs."""
    cases = pairs(names, machines, KERNELS, [False, True])
    ids = [f"{n}-{m.__name__}-{k}-{'weighted' if w else 'plain'}" for n, m, k, w in cases]
    return pytest.mark.parametrize(("name", "machine", "kernel", "weighted"), cases, ids=ids)


@each(list(EMBEDDED), [SVC, NuSVC])
def test_every_pair_of_classes(name, machine, kernel, weighted, record_property):
    compare(machine, *embedded(name), kernel, weighted, record_property)


@each(CLASSES, [SVC, NuSVC])
def test_classes(name, machine, kernel, weighted, record_property):
    compare(machine, *public(name), kernel, weighted, record_property)


@each(NUMBERS, [SVR, NuSVR])
def test_numbers(name, machine, kernel, weighted, record_property):
    compare(machine, *public(name), kernel, weighted, record_property)


@each(CLASSES + NUMBERS, [OneClassSVM])
def test_one_class(name, machine, kernel, weighted, record_property):
    X, y = public(name)
    compare(machine, away_from_the_origin(X), y, kernel, weighted, record_property)
