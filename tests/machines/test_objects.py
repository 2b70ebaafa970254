"""Every machine with every kernel of strings, trees, graphs and sets, and with scikit-learn's tools around it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import (
    SVC,
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
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.inspection import margins, support_report, version_space
from mercer.kernels import (
    EdgeAttributes,
    EdgeHistogram,
    GappedKmer,
    Gaussian,
    Graphlet,
    LocalAlignment,
    Mismatch,
    PartialTree,
    RandomWalk,
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
    repair,
)
from mercer.samples import as_graphs
from mercer.validity import check_kernel, empirical_map, mercer_expansion

_rng = np.random.default_rng(0)
N = 24
y = np.arange(N) % 2


def _graph(ring):
    """A ring or a path that carries one, of two labels; attributes differ between the classes."""
    n = int(_rng.integers(5, 8))
    edges = [(v, v - 1) for v in range(1, n)] + ([(0, n - 1)] if ring else [(0, 2)])
    bonds = ["ring" if ring and u == 0 else "chain" for u, _ in edges]
    labels = ["N" if ring else "O", *_rng.choice(["C", "H"], n - 1)]
    return edges, labels, bonds, _rng.standard_normal((n, 2)) + ring, _rng.standard_normal((len(edges), 1)) + 3 * ring


STRINGS = ["".join(_rng.choice(list("ACGT"), 8)) + ("GATTACA" if label else "CCTGGCC") for label in y]
TREES = [
    "(S (NP (D {}) (N {})) (VP (V x){}))".format(*_rng.choice(list("abcd"), 2), " (NP y)" if label else "")
    for label in y
]
GRAPHS = [_graph(label) for label in y]
SETS = [_rng.standard_normal((_rng.integers(2, 6), 2)) + 2 * label for label in y]
WORDS = [[text[:4], text[4:9], text[9:]] for text in STRINGS]
ATTRIBUTES = SetKernel(Gaussian("median"))

#: name: samples, kernel, a parameter of the kernel to be chosen in a grid, and its values
CASES = {
    "spectrum": (STRINGS, Spectrum(3), "k", [2, 3]),
    "mismatch": (STRINGS, Mismatch(3, 1), "k", [3, 4]),
    "gapped": (STRINGS, GappedKmer(4, 2), "k", [2, 3]),
    "subsequence": (STRINGS, Subsequence(2, 0.5).normalized(), "inner__decay", [0.3, 0.5]),
    "degree": (STRINGS, WeightedDegree(3, shift=2), "d", [2, 3]),
    "alignment": (STRINGS, repair(LocalAlignment((2, -2), open=4, extend=1), "clip"), "inner__beta", [0.3, 0.5]),
    "segment": (STRINGS, Spectrum(2).on(Segment(6, None)).normalized(), "inner__inner__k", [1, 2]),
    "tokens": ([list(text) for text in STRINGS], Spectrum(2, min_k=1).normalized(), "inner__k", [1, 2]),
    "vertices": (GRAPHS, VertexHistogram(), None, None),
    "edges": (GRAPHS, EdgeHistogram().normalized(), None, None),
    "weisfeiler-lehman": (GRAPHS, WeisfeilerLehman(2), "h", [1, 2]),
    "paths": (GRAPHS, ShortestPath().normalized(), None, None),
    "graphlets": (GRAPHS, Graphlet(3), "k", [2, 3]),
    "walks": (GRAPHS, RandomWalk(0.05), "decay", [0.02, 0.05]),
    "attributes of nodes": (as_graphs(GRAPHS), ATTRIBUTES, "base__sigma", ["median", 1.0]),
    "attributes of edges": (GRAPHS, ATTRIBUTES.on(EdgeAttributes()), "inner__base__sigma", ["median", 1.0]),
    "subtrees": (TREES, Subtree(), None, None),
    "subset trees": (TREES, SubsetTree(0.4).normalized(), "inner__decay", [0.2, 0.4]),
    "partial trees": (TREES, PartialTree(0.4, 0.4).normalized(), "inner__mu", [0.2, 0.4]),
    "sets": (SETS, ATTRIBUTES, "how", ["mean", "sum"]),
    "sets of strings": (WORDS, SetKernel(Mismatch(2, 1)).normalized(), "inner__base__m", [0, 1]),
}
MACHINES = [
    SVC(C=10),
    NuSVC(nu=0.2),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    KernelRidge(alpha=0.1),
    KernelRidgeCV(),
    KernelLogistic(),
    KernelPerceptron(),
    KernelLMS(),
    KernelNeighborsClassifier(),
    KernelNeighborsRegressor(),
    KernelPCA(n_components=2),
    KernelSVD(n_components=2),
]
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def said(machine, X):
    return (machine.predict if hasattr(machine, "predict") else machine.transform)(X)


def nothing(machine, X, y=None):
    """A score for machines that have none."""
    return float(said(machine, X).sum())


machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
no_end = pytest.mark.filterwarnings("ignore:KernelPerceptron stopped:sklearn.exceptions.ConvergenceWarning")
#: Every kernel with one machine, every machine with a kernel of each kind of samples.
PAIRS = [(name, MACHINES[0]) for name in CASES]
PAIRS += [(name, machine) for name in ("tokens", "walks", "subset trees", "sets") for machine in MACHINES[1:]]


def tools(machine):
    return {"cv": 2, "error_score": "raise", "scoring": None if hasattr(machine, "score") else nothing}


@cases
@machines
@no_end
@pytest.mark.slow("every machine on every kernel of objects")
def test_machines(case, machine):
    X, kernel = case[:2]
    machine = clone(machine).set_params(kernel=kernel)
    assert clone(machine).kernel == kernel
    machine.fit(X, y)
    expected = said(machine, X[3:9])
    assert len(expected) == 6
    np.testing.assert_allclose(said(pickle.loads(pickle.dumps(machine)), X[3:9]), expected, atol=1e-9)
    assert np.isfinite(cross_val_score(machine, X, y, **tools(machine))).all()


@pytest.mark.parametrize(
    ("name", "machine"), PAIRS, ids=[f"{name}-{type(machine).__name__}" for name, machine in PAIRS]
)
@no_end
@pytest.mark.slow("every machine is fitted again and again in a grid")
def test_pipelines_and_grids(name, machine):
    X, kernel, parameter, values = CASES[name]
    machine = clone(machine).set_params(kernel=kernel)
    scores = cross_val_score(machine, X, y, **tools(machine))
    pipeline = make_pipeline(FunctionTransformer(), machine)
    np.testing.assert_allclose(cross_val_score(pipeline, X, y, **tools(machine)), scores)
    if parameter:
        grid = GridSearchCV(machine, {f"kernel__{parameter}": values}, **tools(machine)).fit(X, y)
        assert grid.best_params_[f"kernel__{parameter}"] in values
        assert len(said(grid, X[:2])) == 2


@cases
def test_streams(case):
    X, kernel = case[0], case[1].resolve(case[0]).normalized()  # equal norms: the step of the bias is theirs
    parts = KernelPerceptron(kernel=kernel)
    for some in (slice(0, 10), slice(10, 11), slice(11, N)):
        parts.partial_fit(X[some], y[some], classes=[0, 1])
    once = KernelPerceptron(kernel=kernel).partial_fit(X, y, classes=[0, 1])
    assert parts.n_samples_seen_ == N
    np.testing.assert_allclose(parts.decision_function(X), once.decision_function(X), atol=1e-9)


@cases
def test_inspection(case):
    X, kernel = case[:2]
    machine = SVC(C=10, kernel=kernel).fit(X, y)
    assert machine.score(X, y) == 1
    assert margins(machine, X, y).margin > 0
    assert str(support_report(machine, X)).startswith(f"SVC keeps {len(machine.support_)} of {N} samples")
    assert "hyperplanes sampled" in str(version_space(X, y, kernel.resolve(X), samples=20))
    report = check_kernel(kernel.resolve(X), X, y)
    assert report.psd
    resolved = kernel.resolve(X)
    R = empirical_map(resolved, X)
    np.testing.assert_allclose(R(X) @ R(X).T, resolved(X), atol=1e-6 * resolved.diag(X).max())
    assert len(mercer_expansion(resolved, X, 2)) == 2


@cases
def test_there_are_no_pre_images_of_objects(case):
    X, kernel = case[:2]
    machine = KernelPCA(n_components=2, kernel=kernel).fit(X)
    with pytest.raises(NotImplementedError, match="KernelPCA has no inverse transform for"):
        machine.inverse_transform(machine.transform(X))
    with pytest.raises(NotImplementedError, match="KernelPCA has no inverse transform for"):
        KernelPCA(n_components=2, kernel=kernel, fit_inverse_transform=True).fit(X)


EXPLICIT = [(STRINGS, Spectrum(3, alphabet="dna")), (STRINGS, GappedKmer(4, 2, alphabet="dna"))]
EXPLICIT += [CASES[name][:2] for name in ("weisfeiler-lehman", "paths", "graphlets", "subtrees")]


@pytest.mark.parametrize(("X", "kernel"), EXPLICIT, ids=[repr(kernel) for _, kernel in EXPLICIT])
def test_linear_machines_on_explicit_features(X, kernel):
    pipeline = make_pipeline(KernelFeatures(kernel), LinearSVC())
    assert pipeline.fit(X, y).score(X, y) == 1
    assert cross_val_score(pipeline, X, y, cv=3, error_score="raise").shape == (3,)
    assert (pickle.loads(pickle.dumps(pipeline)).predict(X) == y).all()
