"""Every machine on graphs, trees, sets and mixed tables, with the tools of scikit-learn."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import SVC, SVR, KernelRidge, NuSVC, OneClassSVM
from mercer.kernels import (
    EdgeAttributes,
    Gaussian,
    Linear,
    PartialTree,
    RandomWalk,
    SetKernel,
    ShortestPath,
    Spectrum,
    SubsetTree,
    WeisfeilerLehman,
)
from mercer.samples import as_graphs, as_trees

_rng = np.random.default_rng(5)
N = 40


def _graph(ring):
    n = int(_rng.integers(6, 10))
    edges = [(v, v - 1) for v in range(1, n)] + ([(0, n - 1)] if ring else [(0, 2)])
    return edges, [str(label) for label in _rng.integers(0, 2, n)]


def _tree(deep):
    words = "(NP (D {}) (N {}))".format(*_rng.choice(list("abcd"), 2))
    return f"(S {words} (VP (V x) {words}))" if deep else f"(S {words} (VP (V x)))"


y = np.arange(N) % 2
GRAPHS = [_graph(ring) for ring in y]
TREES = [_tree(deep) for deep in y]
SETS = [_rng.standard_normal((_rng.integers(2, 6), 2)) + label for label in y]
NETWORKS = []
for edges, labels in GRAPHS:
    NETWORKS.append(nx.Graph(edges))
    nx.set_node_attributes(NETWORKS[-1], dict(enumerate(labels)), "label")

for label, network in zip(y, NETWORKS, strict=True):
    nx.set_node_attributes(network, {v: _rng.standard_normal(2) + label for v in network}, "attributes")
    nx.set_edge_attributes(network, {e: _rng.standard_normal(2) + label for e in network.edges}, "attributes")
ATTRIBUTED = as_graphs(NETWORKS)
NODES = SetKernel(Gaussian("median"))
EDGES = NODES.on(EdgeAttributes())

DATA = {
    "graphs": (GRAPHS, WeisfeilerLehman(2)),
    "flat graphs": (as_graphs(GRAPHS), ShortestPath().normalized()),
    "networkx": (NETWORKS, WeisfeilerLehman(1).normalized()),
    "walks": (as_graphs(GRAPHS), RandomWalk(0.05).normalized()),
    "trees": (TREES, SubsetTree(0.5).normalized()),
    "flat trees": (as_trees(TREES), PartialTree(0.5, 0.5).normalized()),
    "sets": (SETS, SetKernel(Gaussian("median"))),
    "nodes of flat graphs": (ATTRIBUTED, NODES),
    "nodes of networkx": (NETWORKS, NODES.normalized()),
    "edges of networkx": (NETWORKS, EDGES),
    "edges and labels": (ATTRIBUTED, 0.1 * WeisfeilerLehman(1).normalized() + EDGES * NODES),
    "nodes first": (NETWORKS, NODES + 0.1 * WeisfeilerLehman(1).normalized()),
    "nodes last": (ATTRIBUTED, 0.1 * WeisfeilerLehman(1).normalized() + NODES),
    "nodes times labels": (ATTRIBUTED, ShortestPath().normalized() * NODES),
}
data = pytest.mark.parametrize(("X", "kernel"), DATA.values(), ids=DATA.keys())


@data
@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, KernelRidge, OneClassSVM], ids=lambda m: m.__name__)
@pytest.mark.slow("every machine on every kind of data")
def test_machines_agree_with_the_gram_matrix(X, kernel, machine):
    resolved = kernel.resolve(X)
    K = resolved(X)
    fitted = machine(kernel=kernel).fit(X, y)
    given = machine(kernel="precomputed").fit(K, y)
    new = X[10:25]

    def values(machine, data):
        return machine.decision_function(data) if hasattr(machine, "decision_function") else machine.predict(data)

    expected = values(given, K[10:25])
    np.testing.assert_allclose(values(fitted, new), expected, atol=0.02 * max(1.0, np.abs(expected).max()))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(values(again, new), values(fitted, new), atol=1e-9)


@data
@pytest.mark.slow("every machine is fitted again and again in a grid")
def test_tools_of_scikit_learn(X, kernel):
    machine = SVC(C=10, kernel=kernel)
    assert clone(machine).kernel == kernel
    scores = cross_val_score(machine, X, y, cv=4, error_score="raise")
    assert scores.shape == (4,)
    pipeline = make_pipeline(FunctionTransformer(), machine)
    assert (cross_val_score(pipeline, X, y, cv=4, error_score="raise") == scores).all()
    assert cross_val_predict(machine, X, y, cv=4).shape == (N,)
    search = GridSearchCV(machine, {"C": [0.1, 10]}, cv=3, error_score="raise").fit(X, y)
    assert search.predict(X).shape == (N,)
    machine.fit(X, y)
    assert len(machine.support_vectors_) == len(machine.support_)
    assert not hasattr(machine, "n_features_in_")


def test_grid_search_over_the_parameters_of_a_kernel():
    grid = {"kernel__inner__h": [0, 1, 2]}
    search = GridSearchCV(SVC(C=10, kernel=WeisfeilerLehman(0).normalized()), grid, cv=3).fit(NETWORKS, y)
    assert search.best_params_["kernel__inner__h"] > 0  # labels alone tell nothing here


def test_predictions_do_not_depend_on_how_many_are_made_at_once():
    machine = SVC(C=10, kernel=WeisfeilerLehman(2)).fit(GRAPHS[:20], y[:20])
    together = machine.decision_function(GRAPHS[20:])
    alone = [float(machine.decision_function([graph])[0]) for graph in GRAPHS[20:]]
    np.testing.assert_allclose(alone, together, rtol=1e-12)
    assert machine.score(GRAPHS[20:], y[20:]) > 0.9


def _frame(library, graphs):
    numbers = np.random.default_rng(1).standard_normal((N, 3))
    columns = {"age": numbers[:, 0], "income": numbers[:, 1], "dose": numbers[:, 2] + y}
    if library is pd:
        return pd.DataFrame(columns | {"molecule": pd.Series(list(graphs), dtype=object)})
    return pl.DataFrame(columns).with_columns(pl.Series("molecule", list(graphs), dtype=pl.Object))


MIXED = Gaussian("median").on(["age", "income"]) + 0.5 * WeisfeilerLehman(2).on("molecule") * Linear().on(["dose"])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("graphs", [NETWORKS, as_graphs(GRAPHS)], ids=["networkx", "flat"])
def test_mixed_tables(library, graphs):
    frame = _frame(library, graphs)
    machine = SVC(C=10, kernel=MIXED)
    numbers = frame[["age", "income", "dose"]].to_numpy()
    resolved = MIXED.resolve(frame)
    K = Gaussian("median").resolve(numbers[:, :2])(numbers[:, :2]) + 0.5 * WeisfeilerLehman(2)(GRAPHS) * np.outer(
        numbers[:, 2], numbers[:, 2]
    )
    np.testing.assert_allclose(resolved(frame), K, rtol=1e-12)
    fitted = clone(machine).fit(frame, y)
    given = SVC(C=10, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(fitted.decision_function(frame[5:15]), given.decision_function(K[5:15]), atol=0.05)
    assert fitted.feature_names_in_.tolist() == ["age", "income", "dose", "molecule"]
    assert cross_val_score(machine, frame, y, cv=4, error_score="raise").shape == (4,)
    regression = KernelRidge(alpha=0.1, kernel=MIXED).fit(frame, y.astype(float))
    assert regression.predict(frame[:3]).shape == (3,)


TEXTS = ["".join(_rng.choice(list("ACGT"), 9)) + "GATTACA" * label for label in y]
PLAIN = Gaussian("median").on(["age", "income"]) + 0.5 * Spectrum(3).on("sequence") * Linear().on(["dose"])
WHOLE = PLAIN + WeisfeilerLehman(1).normalized().on("molecule") * SubsetTree().normalized().on("tree")


def _full(library):
    frame = _frame(library, NETWORKS)
    if library is pd:
        return frame.assign(sequence=TEXTS, tree=TREES)
    return frame.with_columns(pl.Series("sequence", TEXTS), pl.Series("tree", TREES))


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("kernel", [PLAIN, WHOLE], ids=["numbers and strings", "graphs and trees, too"])
def test_tables_of_numbers_strings_graphs_and_trees(library, kernel):
    frame = _full(library)
    machine = SVC(C=10, kernel=kernel)
    fitted = clone(machine).fit(frame, y)
    assert fitted.score(frame, y) == 1
    assert cross_val_score(machine, frame, y, cv=4, error_score="raise").mean() > 0.7
    grid = GridSearchCV(machine, {"kernel__1__0__inner__inner__k": [2, 3]}, cv=3, error_score="raise").fit(frame, y)
    assert grid.predict(frame[:3]).shape == (3,)
    for model in (fitted, KernelRidge(kernel=kernel).fit(frame, y)):
        np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame), atol=1e-9)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_what_is_wrong_with_a_table_is_said(library):
    frame = _full(library)

    def changed(name, first):
        values = [first, *list(frame[name])[1:]]
        if library is pd:
            return frame.assign(**{name: pd.Series(values, dtype=object)})
        dtype = {"strict": False} if isinstance(first, str) else {"dtype": frame[name].dtype}
        return frame.with_columns(pl.Series(name, values, **dtype))

    fitted = SVC(kernel=WHOLE).fit(frame, y)
    for name in ("sequence", "molecule", "tree", "age"):
        for use in (lambda table: SVC(kernel=WHOLE).fit(table, y), fitted.predict):
            with pytest.raises(ValueError, match=f"column '{name}' has 1 missing values; fill or drop them first"):
                use(changed(name, None))
    with pytest.raises(ValueError, match=r"contains infinity .* at row 0, column 'dose'"):
        fitted.predict(changed("dose", np.inf))
    columns = [name for name in frame.columns if name != "dose"]
    with pytest.raises(ValueError, match="there is no column 'dose'; the columns are 'age', 'income', 'molecule'"):
        SVC(kernel=WHOLE).fit(frame[columns], y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[columns])
    with pytest.raises(TypeError, match=r"sample 0 is Graph with .* nodes and .* edges, a Graph"):
        Spectrum(1).on("molecule")(frame)
    with pytest.raises(TypeError, match=r"graph 0 is a str_?; a graph is given as"):
        WeisfeilerLehman(1).on("sequence")(frame)
    with pytest.raises(ValueError, match=r"tree 0: .* stands outside all brackets"):
        SubsetTree().on("sequence")(frame)
    with pytest.raises(ValueError, match="column 'sequence' does not hold numbers"):
        Linear().on("sequence")(frame)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("graphs", [NETWORKS, ATTRIBUTED], ids=["networkx", "flat"])
def test_sets_of_nodes_in_tables(library, graphs):
    frame = _frame(library, graphs)
    k = (NODES + WeisfeilerLehman(1)).on("molecule") * Gaussian(1).on(["age"])
    machine = SVC(kernel=k)
    assert cross_val_score(machine, frame, y, cv=4, error_score="raise").mean() > 0.7
    ages = frame[["age"]].to_numpy()
    K = (NODES.resolve(NETWORKS)(NETWORKS) + WeisfeilerLehman(1)(NETWORKS)) * Gaussian(1)(ages)
    np.testing.assert_allclose(k.resolve(frame)(frame), K, rtol=1e-12)


def test_sets_of_nodes_are_the_sets_of_their_attributes():
    members = [np.array([network.nodes[v]["attributes"] for v in network]) for network in NETWORKS]
    for how in ("sum", "mean", "max"):
        k = SetKernel(Gaussian(1), how)
        assert (k(ATTRIBUTED) == k(members)).all()
        assert (k(ATTRIBUTED[:9], NETWORKS[9:]) == k(members[:9], members[9:])).all()
        assert (k.diag(NETWORKS) == k.diag(members)).all()
    assert NODES.resolve(NETWORKS) == NODES.resolve(members)


def test_sums_with_kernels_of_other_things_are_refused_in_words():
    for labels in (WeisfeilerLehman(1), RandomWalk(0.01)):
        with pytest.raises(TypeError, match="expected graphs but got sets"):
            (SetKernel(Gaussian(1)) + labels)(SETS)
        with pytest.raises(ValueError, match="no attributes to form sets of"):
            (labels + SetKernel(Gaussian(1)))(GRAPHS)
    with pytest.raises(TypeError, match="expected sets, or graphs whose nodes have attributes, but got trees"):
        (SubsetTree() + SetKernel(Gaussian(1)))(TREES)


def test_objects_of_a_table_are_read_once(monkeypatch):
    frame = _frame(pd, NETWORKS)
    read = []
    import mercer.samples.graph_forms as door

    single = door._read
    monkeypatch.setattr(door, "_read", lambda graph, i, names: read.append(i) or single(graph, i, names))
    SVC(kernel=Gaussian(1).on(["age"]) + WeisfeilerLehman(1).normalized().on("molecule")).fit(frame, y)
    assert len(read) == N


def test_a_table_with_several_columns_needs_one_of_objects():
    with pytest.raises(ValueError, match=r'pick one with .on\("column"\)'):
        WeisfeilerLehman(1)(_frame(pd, NETWORKS)[["age", "molecule"]])


def test_explicit_features_are_sparse_and_compose():
    from mercer.kernels import FeaturesError, VertexHistogram

    k = 2 * WeisfeilerLehman(1).normalized() + ShortestPath() * VertexHistogram()
    F = k.features(GRAPHS)
    assert F.format == "csr"
    np.testing.assert_allclose((F @ F.T).toarray(), k(GRAPHS), rtol=1e-12)
    with pytest.raises(FeaturesError, match="would not be"):
        VertexHistogram().centered().resolve(GRAPHS).features(GRAPHS)
    S = SetKernel(Linear()).features(SETS)
    np.testing.assert_allclose(S @ S.T, SetKernel(Linear())(SETS), rtol=1e-12)
    words = [["ACGT", "AAC"], ["GGT"], ["TTACG", "C", "ACG"]]
    for how in ("mean", "sum"):
        k = SetKernel(Spectrum(2, alphabet="dna"), how)
        F = k.features(words)
        assert F.shape == (3, 16)
        np.testing.assert_allclose((F @ F.T).toarray(), k(words), rtol=1e-12)
