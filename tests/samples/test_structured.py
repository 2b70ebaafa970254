"""Graphs, trees and sets: every way to give them, what is refused and with which words, and what subsets keep."""

import pickle

import networkx as nx
import nltk
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    EdgeAttributes,
    EdgeHistogram,
    Gaussian,
    Graphlet,
    Mismatch,
    PartialTree,
    RandomWalk,
    SetKernel,
    ShortestPath,
    Spectrum,
    SubsetTree,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
)
from mercer.samples import as_graphs, as_sets, as_trees

EDGES, LABELS = [(0, 1), (1, 2), (2, 0), (2, 3)], ["C", "C", "N", "O"]
LENGTHS = [1.5, 1.2, 1.5, 1.4]
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
    assert as_graphs([graph]).joined(as_graphs([molecule()])).attributes is None
    graph.nodes["atom 0"]["attributes"] = [1.0]
    with pytest.raises(ValueError, match="`attributes` of the nodes of graph 0 must be equally many numbers"):
        as_graphs([graph])
    graph.nodes["atom 0"]["attributes"] = [1.0, np.nan]
    with pytest.raises(ValueError, match=r"contains NaN\. .* at row 0, column 1"):
        SetKernel(Gaussian(1))([graph])


def with_lengths(reverse=False):
    graph = molecule()
    pairs = [(f"atom {v}", f"atom {u}") if reverse else (f"atom {u}", f"atom {v}") for u, v in EDGES]
    nx.set_edge_attributes(graph, {pair: [x] for pair, x in zip(pairs, LENGTHS, strict=True)}, "attributes")
    return graph


WEIGHTS = np.zeros((4, 4))
for (u, v), x in zip(EDGES, LENGTHS, strict=True):
    WEIGHTS[u, v] = WEIGHTS[v, u] = x


@pytest.mark.parametrize(
    "graph",
    [
        with_lengths(),
        with_lengths(reverse=True),
        (EDGES, LABELS, None, None, np.array(LENGTHS)),
        (np.array(EDGES)[:, ::-1], LABELS, None, None, [[x] for x in LENGTHS]),
        ([*EDGES, (1, 0)], LABELS, None, None, [*LENGTHS, 9.0]),
        (WEIGHTS, LABELS, None, None, WEIGHTS),
        (sp.csr_matrix(WEIGHTS), LABELS, None, None, sp.coo_array(WEIGHTS)),
        (ADJACENCY, LABELS, None, None, WEIGHTS[:, :, None]),
    ],
    ids=["networkx", "reversed", "edges", "array", "again", "matrix", "sparse", "deep"],
)
def test_attributes_of_edges_are_the_same_however_they_are_given(graph):
    expected = as_graphs([(EDGES, LABELS, None, None, LENGTHS)] * 2)
    assert as_graphs([graph, graph]) == expected
    assert as_graphs([as_graphs([graph])[0], graph]) == expected
    assert as_graphs([graph, graph]) != as_graphs([(EDGES, LABELS)] * 2)
    assert sorted(EdgeAttributes()([graph])[0].ravel()) == sorted(LENGTHS)


def test_labels_of_edges_beside_a_matrix():
    bonds = np.full((4, 4), "single", dtype=object)
    bonds[1, 2] = bonds[2, 1] = "double"
    assert as_graphs([(ADJACENCY, LABELS, bonds)]) == as_graphs(
        [(EDGES, LABELS, ["single", "double"] + 2 * ["single"])]
    )


def test_an_edge_that_is_given_again_keeps_its_first_label():
    graphs = as_graphs([([(0, 1), (1, 0)], None, ["a", "b"])])
    assert [graphs.edge_vocabulary[k] for k in graphs.arc_labels] == ["a", "a"]
    assert EdgeHistogram()(graphs, [([(0, 1)], None, ["a"])])[0, 0] == 1


def test_sets_of_the_attributes_of_edges():
    k = SetKernel(Gaussian(1), "sum").on(EdgeAttributes())
    short, long = (EDGES, LABELS, None, None, LENGTHS), ([(0, 1)], ["C", "C"], None, None, [3.0])
    expected = np.exp(-((np.array(LENGTHS) - 3.0) ** 2) / 2).sum()
    np.testing.assert_allclose(k([short, long])[0, 1], expected, rtol=1e-12)
    both = k + VertexHistogram()
    np.testing.assert_allclose(both([short, long])[0, 1], expected + 4, rtol=1e-12)
    assert (both([short, long]) == (VertexHistogram() + k)([short, long])).all()
    with pytest.raises(ValueError, match="edges of these graphs have no attributes to form sets of"):
        k([molecule()])
    with pytest.raises(ValueError, match="set 1 is empty"):
        k([short, ([], ["C"])])
    with pytest.raises(TypeError, match="expected graphs but got trees"):
        (SubsetTree() + k)([TEXT])
    with pytest.raises(TypeError, match="but got objects of type ndarray"):
        Gaussian(1).on(EdgeAttributes())([short, long])


def test_attributes_and_labels_are_given_to_all_nodes_and_edges_or_to_none():
    graph = molecule()
    graph.add_node("atom 4")
    with pytest.raises(ValueError, match="1 of the 5 nodes of graph 0 have no `label`, but others have"):
        as_graphs([graph])
    graph = with_lengths()
    graph.add_edge("atom 0", "atom 3")
    with pytest.raises(ValueError, match="1 of the 5 edges of graph 0 have no `attributes`, but others have"):
        as_graphs([graph])


@pytest.mark.parametrize("kernel", [VertexHistogram(), WeisfeilerLehman(1).normalized(), RandomWalk(0.1)], ids=repr)
def test_labelled_graphs_are_not_compared_with_unlabelled_ones(kernel):
    named, plain, bonds = (EDGES, LABELS), (EDGES, None), (EDGES, LABELS, "sdss")
    with pytest.raises(ValueError, match=r"nodes of these graphs have no labels, and those .* compared with have some"):
        kernel([plain], [named])
    with pytest.raises(ValueError, match=r"nodes of these graphs have labels, and those .* compared with have none"):
        kernel([named], [plain])
    with pytest.raises(ValueError, match="label the edges of all graphs, or of none"):
        kernel([named], [bonds])
    with pytest.raises(ValueError, match="label the edges of all graphs, or of none"):
        as_graphs([named]).joined(as_graphs([bonds]))
    atom = [([], ["C"])]  # has no edges that could have labels
    assert kernel(atom, [bonds]).shape == kernel([bonds], atom).shape == (1, 1)
    assert as_graphs([bonds]).joined(as_graphs(atom)).joined(as_graphs([bonds]))[:2] == as_graphs([bonds, *atom])


@pytest.mark.parametrize(
    "kernel",
    [
        VertexHistogram(),
        EdgeHistogram(),
        ShortestPath(),
        Graphlet(3),
        WeisfeilerLehman(2),
        WeisfeilerLehman(1, EdgeHistogram()),
        RandomWalk(0.1),
    ],
    ids=repr,
)
def test_graphs_without_edges_or_nodes(kernel):
    nothing, node, path = ([], []), ([], ["C"]), ([(0, 1), (1, 2)], ["C", "C", "C"])
    K = kernel([nothing, node, path])
    assert (K[0] == 0).all()
    for k in (kernel, kernel.normalized()):
        K = k([nothing, node, path])
        assert np.isfinite(K).all()
        np.testing.assert_allclose(k.diag([nothing, node, path]), K.diagonal())
        for i, one in enumerate((nothing, node, path)):
            np.testing.assert_allclose(k([one], [nothing, node, path]), K[i : i + 1])
            np.testing.assert_allclose(k([nothing, node, path], [one]), K[:, i : i + 1])


def test_matrices_may_be_stacked():
    stack = np.stack([ADJACENCY, np.zeros((4, 4))])
    assert as_graphs(stack) == as_graphs(list(stack))


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
        ([np.full((3, 3), np.nan)], ValueError, "adjacency matrix of graph 0 has NaN among its entries"),
        ([sp.csr_array([[0, np.nan], [np.nan, 0]])], ValueError, "adjacency matrix of graph 0 has NaN among its"),
        ([nx.path_graph(2), None], TypeError, "graph 1 is a NoneType; a graph is given as"),
        ([(EDGES, LABELS), (EDGES, ["C"])], ValueError, "graph 1 has an edge to node 3, but its nodes are 0 to 0"),
        ([(ADJACENCY, ["C"])], ValueError, "graph 0 has 4 nodes but 1 labels of nodes"),
        ([(EDGES, LABELS, ["single"])], ValueError, "graph 0 has 4 edges but 1 labels of edges"),
        ([([(0, 1, 2)], None)], ValueError, "edges of graph 0 are no list of pairs"),
        ([[("a", "b")]], ValueError, "edges of graph 0 are no list of pairs"),
        ([[[(0, 1), (1, 2)], [(1, 2), (2, 3)]]], ValueError, "edges of graph 0 are no list of pairs"),
        ([(EDGES, LABELS, *[None] * 4)], ValueError, "graph 0 is a tuple of 6; a graph is given as"),
        ([(EDGES, LABELS, None, [1.0])], ValueError, r"graph 0 has 4 nodes but attributes of shape \(1,\)"),
        ([(EDGES, LABELS, None, None, ["a"] * 4)], ValueError, "`attributes` of the edges of graph 0 must be"),
        ([(ADJACENCY, LABELS, ["single"] * 4)], ValueError, "labels of its edges are given as a matrix of 4 rows"),
        ([(ADJACENCY, None, None, None, np.triu(ADJACENCY))], ValueError, "attributes of edges of graph 0 is not symm"),
        ([(EDGES, LABELS), ADJACENCY], ValueError, "nodes of graph 0 have labels, but those of graph 1 have none"),
        ([EDGES, (EDGES, None, "abcd")], ValueError, "edges of graph 1 have labels, but those of graph 0 have none"),
        ([([(0, 1), (0.5, 1)], None)], ValueError, r"graph 0 has the edge \(0.5, 1.0\), but nodes are named by"),
        ([([(0, np.nan)], None)], ValueError, r"graph 0 has the edge \(0.0, nan\)"),
        ([([(0, 1), (0, -1)], ["C", "C"])], ValueError, "graph 0 has an edge to node -1, but its nodes are 0 to 1"),
        ([(EDGES, [["C"]] * 4)], TypeError, "labels must be hashable"),
        ([(EDGES, ["C", None, "C", "C"])], ValueError, "1 of the 4 nodes of graph 0 have the label None"),
        ([(EDGES, None, [None, 1, 1, None])], ValueError, "2 of the 4 edges of graph 0 have the label None"),
        ([(EDGES, LABELS), (EDGES, [None] * 4)], ValueError, "nodes of graph 0 have labels, but those of graph 1"),
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


@pytest.mark.parametrize(
    "column", [pd.Series, pl.Series, pa.array, np.array, lambda trees: pd.DataFrame({"tree": trees})],
    ids=["pandas", "polars", "arrow", "numpy", "frame"],
)  # fmt: skip
def test_columns_of_bracketed_text(column):
    texts = [TEXT, "(S)", "(S (NP \u65e5\u672c) (VP \u2615))"]
    assert as_trees(column(texts)) == as_trees(texts)
    for kernel in (Subtree(), SubsetTree(0.4), PartialTree(0.4, 0.4)):
        assert kernel(column(texts))[1, 2] == (PartialTree(0.4, 0.4)(["(S)"])[0, 0] if kernel == PartialTree() else 0)


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
        (["(S he)", None], TypeError, "tree 1 is a NoneType; a tree is given as"),
        ([b"(S he)"], TypeError, "tree 0 is a bytes; a tree is given as"),
        ([""], ValueError, "tree 0 is 0 trees: ''; expected one"),
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
    "read",
    [
        lambda: as_graphs([(EDGES, LABELS), (ADJACENCY, LABELS[::-1])]),
        lambda: as_graphs([(EDGES, LABELS, "sdss", LENGTHS, LENGTHS), ([], ["N"], None, [[1.0]])]),
        lambda: as_trees([TEXT, "(S (NP he))"]),
    ],
    ids=["graphs", "attributes", "trees"],
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
    assert samples[:1].joined(samples[1:]) == samples
    assert samples[1:].joined(samples[:1]) == samples[::-1]
    with pytest.raises(IndexError, match="there is no sample 2"):
        samples[2]


def test_sets_can_be_joined():
    A, B = [["ACGT", "AAC"], ["GGT"]], [["TTACG", "C", "ACG"], ["AN"]]
    for kernel in (SetKernel(Mismatch(2, 1)), SetKernel(Mismatch(2, 1), "sum").normalized()):
        np.testing.assert_allclose(kernel(A, B), kernel(A + B)[:2, 2:], rtol=1e-12)
    x, z = as_sets(A, Mismatch(2, 1)), as_sets(B, Mismatch(2, 1))
    assert x.joined(z).members.content() == ["ACGT", "AAC", "GGT", "TTACG", "C", "ACG", "AN"]
    with pytest.raises(TypeError, match="sets cannot be joined with trees"):
        x.joined(as_trees([TEXT]))


@pytest.mark.parametrize("kernel", [SubsetTree(), PartialTree(), Subtree()], ids=repr)
def test_kernels_of_trees_refuse_what_other_kernels_have_read(kernel):
    graph = [(0, 1)], ["C", "C"]
    for other, X in ((Spectrum(2), ["ab"]), (WeisfeilerLehman(1), [graph]), (Gaussian(1), np.eye(2))):
        for k in (other + kernel, other * kernel.normalized()):
            with pytest.raises(TypeError, match=r"expected trees but got (sequences|graphs|vectors)"):
                k(X)
            with pytest.raises(TypeError, match=r"expected trees but got (sequences|graphs|vectors)"):
                k.diag(X)


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
