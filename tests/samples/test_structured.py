"""Graphs, trees and sets: every way to give them, what is refused and with which words, and what subsets keep."""

import pickle

import networkx as nx
import nltk
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    EdgeHistogram,
    Gaussian,
    PartialTree,
    RandomWalk,
    SetKernel,
    ShortestPath,
    SubsetTree,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
)
from mercer.samples import as_graphs, as_trees

EDGES, LABELS = [(0, 1), (1, 2), (2, 0), (2, 3)], ["C", "C", "N", "O"]
ADJACENCY = np.zeros((4, 4))
for u, v in EDGES:
    ADJACENCY[u, v] = ADJACENCY[v, u] = 1


def molecule(labels=LABELS, edge_labels=None):
    graph = nx.Graph()
    graph.add_nodes_from((f"atom {i}", {"label": label}) for i, label in enumerate(labels))
    for i, (u, v) in enumerate(EDGES):
        graph.add_edge(f"atom {u}", f"atom {v}", **({"label": edge_labels[i]} if edge_labels else {}))
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        molecule(),
        (EDGES, LABELS),
        ([(v, u) for u, v in EDGES] + EDGES, LABELS),
        (np.array(EDGES).tolist(), np.array(LABELS)),
        (ADJACENCY, LABELS),
        (2.5 * ADJACENCY, LABELS),
        (ADJACENCY.astype(bool), LABELS),
        (np.repeat(np.repeat(ADJACENCY, 2, axis=0), 3, axis=1)[::2, ::3], LABELS),
        (sp.csr_matrix(ADJACENCY), LABELS),
        (sp.coo_array(ADJACENCY), LABELS),
        (np.array(EDGES), LABELS),
        (np.array(EDGES, dtype=float), LABELS),
        as_graphs([(EDGES, LABELS)])[0],
    ],
    ids=[
        "networkx",
        "edges",
        "both ways",
        "lists",
        "dense",
        "weighted",
        "bool",
        "strided",
        "csr",
        "coo",
        "array",
        "whole floats",
        "sample",
    ],
)
def test_a_graph_is_the_same_however_it_is_given(graph):
    expected = as_graphs([(EDGES, LABELS)] * 2)
    assert as_graphs([graph, graph]) == expected
    assert as_graphs(pd.Series([graph, graph], dtype=object)) == expected


def test_a_matrix_of_zeros_has_no_edges_and_ones_on_the_diagonal_are_loops():
    graphs = as_graphs([(np.zeros((3, 3)), None), (np.eye(2), None)])
    assert np.diff(graphs.arcs).tolist() == [0, 0, 0, 1, 1]
    assert graphs.neighbours.tolist() == [0, 1]


@pytest.mark.parametrize(
    "graph",
    [EDGES, [list(edge) for edge in EDGES], (EDGES,), (EDGES, None, None), np.array(EDGES), (np.array(EDGES),)],
    ids=["pairs", "lists", "tuple of one", "no labels", "array", "array in a tuple"],
)
def test_labels_are_optional(graph):
    assert as_graphs([graph, graph]) == as_graphs([ADJACENCY, ADJACENCY])
    assert as_graphs(pd.Series([graph, graph], dtype=object)) == as_graphs([ADJACENCY, ADJACENCY])
    assert as_graphs([np.array([[0, 1], [1, 0]])]) == as_graphs([[(0, 1)]])  # square arrays are adjacency matrices
    assert VertexHistogram()([[]], [graph])[0, 0] == 0  # no edges, no nodes


def test_labels_of_edges_and_attributes():
    bonds = ["single", "double", "single", "single"]
    assert as_graphs([molecule(edge_labels=bonds)]) == as_graphs([(EDGES, LABELS, bonds)])
    assert EdgeHistogram()([molecule(edge_labels=bonds)])[0, 0] == 10
    graph = molecule()
    for i, node in enumerate(graph.nodes):
        graph.nodes[node]["attributes"] = [i, 1.0]
    assert as_graphs([graph]).attributes.tolist() == [[0, 1], [1, 1], [2, 1], [3, 1]]
    assert as_graphs([graph, nx.Graph()]).attributes.shape == (4, 2)
    assert as_graphs([graph, molecule()]).attributes is None
    graph.nodes["atom 0"]["attributes"] = [1.0]
    with pytest.raises(ValueError, match="`attributes` of the nodes of graph 0 must be equally many numbers"):
        as_graphs([graph])
    graph.nodes["atom 0"]["attributes"] = [1.0, np.nan]
    with pytest.raises(ValueError, match="found NaN at row 0, column 1"):
        SetKernel(Gaussian(1))([graph])


def test_unlabelled_graphs_have_one_label():
    assert VertexHistogram()([ADJACENCY, nx.path_graph(3)])[0].tolist() == [16, 12]
    assert as_graphs([(EDGES, None)]) == as_graphs([ADJACENCY])
    assert VertexHistogram()([([], [])], [ADJACENCY])[0, 0] == 0  # a graph without nodes


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ([nx.DiGraph([(0, 1)])], ValueError, "graph 0 is directed"),
        ([np.ones((2, 3))], ValueError, "adjacency matrix of graph 0 must be square"),
        ([np.array([[0, 1], [0, 0]])], ValueError, "graph 0 is not symmetric"),
        ([(EDGES, LABELS), (EDGES, ["C"])], ValueError, "graph 1 has an edge to node 3, but its nodes are 0 to 0"),
        ([(ADJACENCY, ["C"])], ValueError, "graph 0 has 4 nodes but 1 labels of nodes"),
        ([(EDGES, LABELS, ["single"])], ValueError, "graph 0 has 4 edges but 1 labels of edges"),
        ([([(0, 1, 2)], None)], ValueError, "edges of graph 0 are no list of pairs"),
        ([[("a", "b")]], ValueError, "edges of graph 0 are no list of pairs"),
        ([(0, 1), (1, 2)], ValueError, "edges of graph 0 are no list of pairs"),
        ([(EDGES, LABELS, None, None)], ValueError, "graph 0 is a tuple of 4; a graph is given as"),
        ([([(0, 1), (0.5, 1)], None)], ValueError, r"graph 0 has the edge \(0.5, 1.0\), but nodes are named by"),
        ([([(0, np.nan)], None)], ValueError, r"graph 0 has the edge \(0.0, nan\)"),
        ([([(0, 1), (0, -1)], ["C", "C"])], ValueError, "graph 0 has an edge to node -1, but its nodes are 0 to 1"),
        ([(EDGES, [["C"]] * 4)], TypeError, "labels must be hashable"),
        (["CCO"], TypeError, "graph 0 is a str; a graph is given as"),
        ([], ValueError, "there are no graphs"),
        (np.eye(3), TypeError, "expected graphs but got an array of float64"),
        ("CCO", TypeError, "expected a list of graphs but got a str"),
    ],
)
def test_what_is_no_graph_is_refused(graphs, error, message):
    with pytest.raises(error, match=message):
        as_graphs(graphs)


NESTED = ("S", ("NP", "he"), ("VP", ("V", "sees"), ("NP", "her")))
TEXT = "(S (NP he) (VP (V sees) (NP her)))"


@pytest.mark.parametrize(
    "tree",
    [TEXT, "(S(NP(he))(VP(V(sees))(NP(her))))", NESTED, nltk.Tree.fromstring(TEXT), as_trees([TEXT])[0]],
    ids=["penn", "brackets", "tuples", "nltk", "sample"],
)
def test_a_tree_is_the_same_however_it_is_given(tree):
    assert as_trees([tree, tree]) == as_trees([NESTED, NESTED])
    assert as_trees([NESTED, tree]) == as_trees([NESTED, NESTED])
    assert as_trees(pd.Series([tree, tree], dtype=object)) == as_trees([NESTED, NESTED])


def test_deep_trees():
    deep = "leaf"
    for _ in range(20_000):
        deep = ("N", deep)
    trees = as_trees(["(N " * 20_000 + "leaf" + ")" * 20_000])
    assert len(trees.labels) == 20_001
    assert as_trees([deep]) == trees
    assert Subtree().diag(trees)[0] == 20_000


@pytest.mark.parametrize(
    ("trees", "error", "message"),
    [
        (["(S he)", "(S he) (S she)"], ValueError, "tree 1 is 2 trees"),
        (["(S he"], ValueError, r"tree 0: the bracket of '\(S' is not closed"),
        (["he"], ValueError, "tree 0: 'he' stands outside all brackets"),
        ([("S", ())], ValueError, "tree 0 has an empty tuple"),
        ([3.5], TypeError, "tree 0 is a float; a tree is given as"),
    ],
)
def test_what_is_no_tree_is_refused(trees, error, message):
    with pytest.raises(error, match=message):
        as_trees(trees)


def test_what_is_no_set_is_refused():
    kernel = SetKernel(Gaussian(1))
    with pytest.raises(ValueError, match="set 1 is empty"):
        kernel([np.ones((2, 2)), np.ones((0, 2))])
    with pytest.raises(ValueError, match="equally many columns"):
        kernel([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(TypeError, match="set 0 is a float"):
        kernel(np.array([1.5, None], dtype=object))
    with pytest.raises(ValueError, match="no attributes"):
        kernel(as_graphs([ADJACENCY]))
    with pytest.raises(ValueError, match="how must be one of"):
        SetKernel(Gaussian(1), "median")


def test_sets_of_graphs_and_of_equal_size():
    pair = [(EDGES, LABELS), (EDGES, LABELS)]
    assert SetKernel(VertexHistogram(), "sum")([pair])[0, 0] == 4 * VertexHistogram()([pair[0]])[0, 0]
    cube = np.random.default_rng(0).standard_normal((4, 3, 2))
    assert (SetKernel(Gaussian(1))(cube) == SetKernel(Gaussian(1))(list(cube))).all()


@pytest.mark.parametrize(
    "read", [lambda: as_graphs([(EDGES, LABELS), ADJACENCY]), lambda: as_trees([TEXT, "(S (NP he))"])]
)
def test_samples_are_values(read):
    samples = read()
    assert samples == read()
    assert hash(samples) == hash(read())
    assert samples != samples[::-1]
    assert samples[::-1][::-1] == samples
    assert pickle.loads(pickle.dumps(samples)) == samples
    assert pickle.loads(pickle.dumps(samples[1])) == samples[1]
    assert samples[-1] == samples[1] != samples[0]
    assert list(samples) == [samples[0], samples[1]]
    assert samples.nbytes > 0
    with pytest.raises(IndexError, match="there is no sample 2"):
        samples[2]


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.05)], ids=repr)
def test_subsets_keep_what_is_known_of_the_whole(kernel):
    rng = np.random.default_rng(3)
    graphs = as_graphs([([(v, int(rng.integers(v))) for v in range(1, 9)], rng.integers(0, 3, 9)) for _ in range(12)])
    K = kernel(graphs)
    left, right = graphs[:5], graphs[[7, 5, 6]]
    assert (kernel(left, right) == K[:5][:, [7, 5, 6]]).all()
    fresh = [pickle.loads(pickle.dumps(part)) for part in (left, right)]
    assert not fresh[1].descriptions
    assert bool(right.descriptions) == (not isinstance(kernel, RandomWalk))
    np.testing.assert_allclose(kernel(*fresh), kernel(left, right), rtol=1e-13)


def test_labels_that_training_has_not_seen_do_not_match():
    known, new = [(EDGES, LABELS)], [(EDGES, ["C", "C", "Xe", "O"])]
    assert VertexHistogram()(new, known)[0, 0] == 5
    assert VertexHistogram().diag(new)[0] == 6
    assert WeisfeilerLehman(3)(new, known)[0, 0] == 5
    assert SubsetTree(1.0)(["(S (NP he) (VP flies))"], ["(S (NP he) (VP runs))"])[0, 0] == 3
    assert PartialTree(1.0, 1.0)(["(X it)"], ["(S it)"])[0, 0] == 1


def test_walks_that_never_end_are_refused():
    with pytest.raises(ValueError, match=r"sample 0 of X and sample 1 of Z.*decay below 0.25"):
        RandomWalk(0.3)([nx.cycle_graph(3)], [nx.path_graph(2), nx.cycle_graph(4)])
