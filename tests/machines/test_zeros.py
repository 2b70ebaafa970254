"""Every machine says of how many samples its kernel knows nothing: those that it is zero for, with themselves too."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    KernelFeatures,
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.kernels import (
    L2,
    Custom,
    EdgeHistogram,
    FeaturesError,
    GappedKmer,
    Gaussian,
    Graphlet,
    Kernel,
    Linear,
    LocalAlignment,
    Mismatch,
    NegativeDistance,
    Segment,
    SetKernel,
    ShortestPath,
    Spectrum,
    Subsequence,
    SubsetTree,
    Subtree,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
    ZeroKernelWarning,
)
from tests.pairs import pairs

_rng = np.random.default_rng(7)
N = 12
CLASS = np.arange(N) % 2
#: Where the samples that a kernel knows nothing of stand: nowhere, at some places, everywhere.
EXTENTS = {"none": [], "some": [3, 4, 8], "all": list(range(N))}


def _dna():
    return "".join(_rng.choice(list("ACGT"), 9))


def _graph():
    return [(0, 1), (1, 2), (2, 3), (0, 2)], list(_rng.choice(["C", "N", "O"], 4)), list(_rng.choice(["-", "="], 4))


def _tree():
    return "(S (A {}) (B {} (C {})))".format(*_rng.choice(list("abcd"), 3))


def _common(a, b):
    return float(len(set(a) & set(b)))


#: name: makes a sample, one of which nothing is known, and the kernel
KINDS = {
    "spectrum": (_dna, "NNNNN", Spectrum(3, alphabet="DNA")),
    "words that are too long": (_dna, "AC", Spectrum(3)),
    "spectrum of both strands": (_dna, "MKVL", Spectrum(2, alphabet="rna", reverse_complement=True).normalized()),
    "mismatch": (_dna, "NN", Mismatch(3, 1, alphabet="dna")),
    "gapped": (_dna, "ACG", GappedKmer(4, 2)),
    "subsequence": (_dna, "", Subsequence(2, 0.5)),
    "degree": (_dna, "NNNNN", WeightedDegree(2, alphabet="dna")),
    "alignment": (_dna, "", LocalAlignment((2, -2), open=4, extend=1)),
    "a part": (_dna, "NNNGATTACA", Spectrum(2, alphabet="dna").on(Segment(0, 3))),
    "a sum": (_dna, "NNN", 2 * Spectrum(2, alphabet="dna").normalized() + GappedKmer(2, 1, alphabet="dna")),
    "a product": (_dna, "NAAN", Spectrum(1, alphabet="dna") * Spectrum(3, alphabet="dna")),
    "tokens": (lambda: ["to", _dna()], [], Spectrum(1)),
    "sets of strings": (lambda: [_dna(), _dna()], ["N", "NN"], SetKernel(Spectrum(2, alphabet="dna"))),
    "edges": (_graph, ([], ["C"], []), EdgeHistogram()),
    "paths": (_graph, ([], ["C"], []), ShortestPath().normalized()),
    "graphlets": (_graph, ([(0, 1)], ["C", "N"], ["-"]), Graphlet(3)),
    "vertices": (_graph, ([], [], []), VertexHistogram()),
    "weisfeiler-lehman": (_graph, ([], [], []), WeisfeilerLehman(1)),
    "subtrees": (_tree, "(S)", Subtree()),
    "subset trees": (_tree, "(S)", SubsetTree(0.5).normalized()),
    "a user's kernel": (_dna, "", Custom(_common, pairwise=True)),
}
MACHINES = [
    SVC(),
    SVC(decision_function_shape="ovo", class_weight="balanced"),
    NuSVC(nu=0.5),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
    KernelRidge(alpha=0.1),
    KernelRidge(alpha=0.1, fit_intercept=True),
    KernelRidgeCV(),
    KernelLogistic(),
    KernelLogistic(max_basis=3),
    KernelLMS(),
    KernelLMS(batch_size=3, max_iter=5),
    LMS(),
    KernelPerceptron(max_iter=2),
    KernelPerceptron(max_iter=2, budget=3),
    KernelNeighborsClassifier(2),
    KernelNeighborsRegressor(2),
    KernelPCA(2),
    KernelSVD(2),
    KernelFeatures(),
]


def samples(kind, where):
    make, empty, kernel = KINDS[kind]
    return [empty if i in where else make() for i in range(N)], kernel


def said(fit):
    """What was warned of zeros."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(ValueError):  # NuSVC has no margin to divide by
            fit()
    return [str(one.message) for one in caught if issubclass(one.category, ZeroKernelWarning)]


def fitted(machine, kernel: Kernel, X):
    return said(lambda: clone(machine).set_params(kernel=kernel).fit(X, CLASS))


def check(found, where):
    if not where:
        assert found == []
        return
    (text,) = found
    which = "all" if len(where) == N else f"{len(where)} of"
    assert f" is zero for {which} {N} samples (the first is number {where[0]}), so that nothing can be learned" in text


def explicit(kernel, X):
    try:
        return kernel.in_columns_of(X).features(X) is not None
    except FeaturesError:
        return False


extents = pytest.mark.parametrize("where", EXTENTS.values(), ids=EXTENTS.keys())
machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: repr(m).replace("\n", ""))


@pytest.mark.parametrize(
    ("kind", "machine", "where"),
    pairs(list(KINDS), MACHINES, list(EXTENTS.values())),
    ids=lambda value: value if isinstance(value, str) else repr(value).replace("\n", ""),
)
@pytest.mark.slow("every machine on every kind of data")
def test_machines_say_how_many_samples_are_zero(kind, machine, where):
    X, kernel = samples(kind, where)
    if isinstance(machine, (LMS, KernelFeatures)) and not explicit(kernel, X):
        pytest.skip("the kernel has no explicit features")
    check(fitted(machine, kernel, X), where)


NUMBERS = [machine for machine in MACHINES if not isinstance(machine, (LMS, KernelFeatures))]
numbers = pytest.mark.parametrize("machine", NUMBERS, ids=lambda m: repr(m).replace("\n", ""))


@extents
@numbers
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.slow("every machine on every kind of data")
def test_zeros_in_columns_of_tables(frame, machine, where):
    X, _ = samples("spectrum", where)
    table = frame({"dna": X, "age": np.arange(N) - 3.0})
    words = Spectrum(3, alphabet="dna").on("dna")
    check(fitted(machine, words, table), where)
    check(fitted(machine, words * Gaussian(1.0).on("age"), table), where)
    check(fitted(machine, words + Gaussian(1.0).on("age"), table), [])  # what is known of the age is something
    check(fitted(machine, Linear().on("age"), table), [])  # an age of 0 is an age


@extents
@numbers
def test_zeros_in_a_given_matrix(machine, where):
    X, kernel = samples("mismatch", where)
    check(fitted(machine, "precomputed", kernel(X)), where)


@machines
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)], ids=["", "sparse", "32"])
def test_some_vectors_may_be_zero_but_not_all(form, machine):
    X = _rng.standard_normal((N, 3))
    X[[2, 5]] = 0
    check(fitted(machine, Linear(), form(X)), [])
    check(fitted(machine, 2 * Linear().normalized(), form(X)), [])
    check(fitted(machine, Linear(), form(np.zeros((N, 3)))), list(range(N)))


@numbers
def test_distances_of_zero_are_no_zeros(machine):
    """k(x, x) = 0 means nothing unless the kernel is positive semi-definite."""
    if isinstance(machine, (KernelLMS, KernelPCA, KernelSVD)):
        pytest.skip("which have no use for such kernels")
    X = _rng.standard_normal((N, 3))
    check(fitted(machine, NegativeDistance(L2()), X), [])
    check(fitted(machine, "precomputed", NegativeDistance(L2())(X)), [])
    check(fitted(machine, Custom(_different, pairwise=True), [_dna() for _ in X]), [])


def _different(a, b):
    return -float(a != b)


def test_streams_say_so_of_every_part():
    X, kernel = samples("spectrum", [0, 1, 2, 7])
    machine = KernelPerceptron(kernel)
    found = [said(lambda i=i: machine.partial_fit(X[i : i + 4], CLASS[i : i + 4], [0, 1])) for i in (0, 4, 8)]
    assert [len(texts) for texts in found] == [1, 1, 0]
    assert "zero for 3 of 4 samples (the first is number 0)" in found[0][0]
    assert "zero for 1 of 4 samples (the first is number 3)" in found[1][0]
    vectors = KernelPerceptron(Linear())
    assert not said(lambda: vectors.partial_fit(np.zeros((1, 2)), [0], [0, 1]))


@pytest.mark.parametrize("alphabet", ["dna", "DNA", "Dna", "rna", "RNA", "protein", "Protein"])
def test_names_of_alphabets_are_no_letters(alphabet):
    """The names in capitals were read as the letters D, N and A, of which no sequence has words."""
    protein = alphabet.lower() == "protein"
    X = ["".join(_rng.choice(list("MKVLAEWY" if protein else "ACGT"), 9)) for _ in range(N)]
    assert not fitted(SVC(), Spectrum(2, alphabet=alphabet), X)
    wrong = Spectrum(2, alphabet="dna" if protein else tuple("DN"))
    check(fitted(SVC(), wrong, [x.replace("A", "M").replace("C", "K") for x in X] if protein else X), list(range(N)))
