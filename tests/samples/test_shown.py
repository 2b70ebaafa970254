"""How samples are shown and looked at: summaries in text and HTML, graphs of networkx, trees as text."""

import html.parser
import pickle
import sys
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    Categorical,
    Custom,
    Gaussian,
    Linear,
    PartialTree,
    Precomputed,
    SetKernel,
    Spectrum,
    Subtree,
    WeisfeilerLehman,
)
from mercer.samples import Features, Graphs, as_graphs, as_samples, as_sequences, as_sets, as_trees
from tests.kernels.object_cases import OBJECT_CASES, OBJECTS

ODD = "<b>&"
SHOWN = {
    "vectors": (as_samples(np.eye(3)), "<3 vectors, 3 columns, 72 bytes>"),
    "named": (as_samples(pd.DataFrame({ODD: [1.0], "b": [2.0]})), "<1 vectors, 2 columns, 16 bytes>"),
    "features": (Features(np.eye(2)), "<2 points of a feature space, 2 columns, 32 bytes>"),
    "sparse": (as_samples(sp.csr_array(np.eye(3))), "<3 sparse vectors, 3 columns, 3 entries, 52 bytes>"),
    "table": (as_samples(pd.DataFrame({ODD: ["x", "y"], "n": [1, 2]})), "<a table of 2 rows, 2 columns>"),
    "text": (as_sequences(["GATTACA", ODD]), "<2 sequences, 11 letters, 68 bytes>"),
    "tokens": (as_sequences([["to", ODD]]), "<1 sequences, 2 tokens, 24 bytes>"),
    "graphs": (as_graphs([([(0, 1), (1, 1)], [ODD, "C"])]), "<1 graphs, 2 nodes, 2 edges, 72 bytes>"),
    "trees": (as_trees([("S", ODD)]), "<1 trees, 2 nodes, 52 bytes>"),
    "sets": (as_sets([np.eye(2)], Linear()), "<1 sets, 2 members, 48 bytes>"),
    "sets of strings": (as_sets([["GA", ODD]], Spectrum(1)), "<1 sets, 2 members, 64 bytes>"),
    "similarities": (Precomputed().samples(np.eye(2)), "<2 rows of a precomputed matrix, 2 columns, 32 bytes>"),
    "objects": (as_samples(["a", "b"]), "<2 objects of type str>"),
}


@pytest.mark.parametrize(("samples", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_samples_say_what_they_are(samples, text):
    assert repr(samples) == str(samples) == text

    seen = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.append(tag)
    parser.feed(samples._repr_html_())
    assert set(seen) <= {"table", "caption", "tr", "th", "td"}  # whatever the data say is text
    assert "<b>" not in samples._repr_html_()


@pytest.mark.parametrize("name", SHOWN)
def test_samples_of_every_kind_are_pickled(name):
    samples, text = SHOWN[name]
    again = pickle.loads(pickle.dumps(samples))
    assert again == samples
    assert type(again) is type(samples)
    assert repr(again) == text
    assert again.take(np.arange(len(again))) == samples


CONTENTS = {
    "vectors": (Gaussian(1), np.random.default_rng(0).standard_normal((7, 3))),
    "sparse": (Gaussian(1), sp.random(7, 5, 0.5, "csr", rng=np.random.default_rng(0))),
    "table": (Categorical(), pd.DataFrame({"a": list("xyxxyzx"), "n": [1, 2, 3, 4, 3, 2, 1]})),
    "text": (Spectrum(2), ["GATTACA", "TACO", "", "CAT", "naïve", "GA", "TA"]),
    "tokens": (Spectrum(1), [["to", "be"], [], ["or", 1], ["to"], ["be"], ["be", "be"], [2]]),
    "similarities": (Precomputed(), np.arange(49.0).reshape(7, 7) + np.arange(49.0).reshape(7, 7).T),
    "objects": (Custom(lambda a, b: float(len(a) * len(b)), pairwise=True), ["a", "bc", "d", "efg", "", "h", "i"]),
    "sets of strings": (SetKernel(Spectrum(1)), [["GA", "T"], ["C"], ["TT", "A", "G"], ["A"], ["GAT"], ["C"], ["T"]]),
}


@pytest.mark.parametrize(("kernel", "X"), CONTENTS.values(), ids=CONTENTS.keys())
def test_samples_are_what_they_contain(kernel, X):
    samples = kernel.samples(X)
    K = kernel(samples)
    np.testing.assert_allclose(kernel(samples.content()), K, rtol=1e-13)
    assert (kernel(pickle.loads(pickle.dumps(samples))) == K).all()
    order = np.array([3, 0, 6, 5, 1, 2, 4])
    np.testing.assert_allclose(kernel(samples.take(order)), K[np.ix_(order, order)], rtol=1e-13)


def _large():
    n = 150_000
    starts = np.arange(0, n + 1, 3)
    edges = np.stack([np.arange(0, n - 2, 3), np.arange(1, n - 1, 3)], axis=1)
    labels = np.arange(n, dtype=np.int32), tuple(range(n))
    yield Graphs.of_edges(starts, np.concatenate([edges, edges + 1]), node_labels=labels)
    yield as_trees([f"(S {i})" for i in range(10_000)])
    yield as_sequences(["GATTACA" * 10] * 20_000)
    yield as_samples(pd.DataFrame({f"c{i}": [1.0, 2.0] for i in range(2_000)}))
    yield as_samples(pd.DataFrame({f"c{i}": ["a", "b"] for i in range(1_000)}))
    yield as_samples(np.zeros((5_000, 1_000)))
    yield Precomputed().samples(np.eye(2_000))
    yield as_samples(["a" * 100] * 10_000)


def test_to_show_samples_takes_no_time_and_no_space():
    for samples in _large():
        times = []
        for _ in range(5):
            begun = time.thread_time()
            text = samples._repr_html_()
            repr(samples)
            times.append(time.thread_time() - begun)
        assert min(times) < 5e-3, (samples, times)
        assert len(text) < 5_000


@pytest.mark.parametrize(
    ("name", "kernel", "data"), [(n, k, d) for n, k, _, d in OBJECT_CASES], ids=lambda v: str(v)[:40]
)
def test_the_content_of_samples_is_the_samples(name, kernel, data):
    X = OBJECTS[data][0][:20]
    samples = kernel.samples(X)
    K = kernel(samples)
    again = samples.content()
    assert len(again) == len(samples)
    assert (kernel(again) == K).all()
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(kernel([again[i] for i in order]), K[np.ix_(order, order)], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "data"), [case[1::2] for case in OBJECT_CASES if "graphs" in case[3]], ids=lambda v: str(v)[:40]
)
def test_graphs_of_networkx_are_the_same_graphs(kernel, data):
    graphs = as_graphs(OBJECTS[data][0][:30])
    networks = graphs.to_networkx()
    assert as_graphs(networks) == graphs
    assert (kernel(networks) == kernel(graphs)).all()

    def renamed(network, rng):
        names = rng.permutation(len(network)).tolist()
        other = nx.Graph()
        other.add_nodes_from((names[v], network.nodes[v]) for v in rng.permutation(len(network)).tolist())
        other.add_edges_from((names[v], names[u], values) for u, v, values in network.edges(data=True))
        return other

    rng = np.random.default_rng(1)
    np.testing.assert_allclose(kernel([renamed(network, rng) for network in networks]), kernel(graphs), rtol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        ([(0, 1), (1, 1)], None),
        ([], ["C", "C"]),
        ([(0, 1)], [("a", 1), 2.5], ["x"], [[1.0], [1e-300]], [[0.1 + 0.2]]),
        (np.zeros((3, 3)),),
        ([], []),
    ],
    ids=["loop", "no edges", "everything", "nothing but nodes", "nothing"],
)
def test_a_graph_shows_what_it_was_given(given):
    graphs = as_graphs([given, given])
    graph = graphs[1]
    assert as_graphs([graph.to_networkx()] * 2) == graphs
    assert as_graphs([graph, given]) == graphs
    assert list(graph.nodes) == list(graph.to_networkx().nodes)
    assert graph.edges == list(graph.to_networkx().edges)
    parts = graph.edges, graph.node_labels, graph.edge_labels, graph.attributes, graph.edge_attributes
    if len(graph.nodes) and (graph.edges or graph.node_labels):
        assert as_graphs([parts, parts]) == graphs


def test_networkx_need_not_be_there(monkeypatch):
    graphs = as_graphs([([(0, 1)], ["C", "O"])])
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="pip install networkx"):
        graphs[0].to_networkx()
    assert WeisfeilerLehman(1)(graphs)[0, 0] == 4
    assert graphs[0].edges == [(0, 1)]


TREES = ["(S (NP he) (VP (V sees) (NP her)))", "(S)", "(NP (NP a) (NP a))"]


def test_a_tree_shows_as_text():
    trees = as_trees(TREES)
    assert [str(tree) for tree in trees] == [repr(tree) for tree in trees] == TREES
    assert as_trees([str(tree) for tree in trees]) == trees
    wide = as_trees([("S", *["leaf"] * 10_000)])[0]
    assert len(str(wide)) == 2 + 5 * 10_000 + 1
    assert len(repr(wide)) == 404


def test_drawn_trees_come_back_from_their_text():
    trees = as_trees(OBJECTS["trees"][0])
    again = as_trees([str(tree) for tree in trees])
    k = PartialTree(0.6, 0.7)
    assert (k(again) == k(trees)).all()


def test_a_deep_tree_shows_quickly():
    deep = "(N " * 100_000 + "leaf" + ")" * 100_000
    tree = as_trees([deep])[0]
    assert str(tree) == deep
    assert repr(tree).startswith("(N (N (N")


def test_functions_of_two_samples_take_trees_and_graphs_that_kernels_have_read():
    same = Custom(lambda a, b: float(str(a) == str(b)), pairwise=True)
    assert ((Subtree() + same)(TREES) == Subtree()(TREES) + np.eye(3)).all()
    assert Gaussian(1).on(lambda trees: np.array([[len(str(tree))] for tree in trees]))(as_trees(TREES)).shape == (3, 3)
