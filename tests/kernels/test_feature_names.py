"""Names of features say what their columns hold: checked against the values, column by column."""

import re
from collections import Counter
from math import prod

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    Cosine,
    EdgeHistogram,
    FeatureMap,
    FeaturesError,
    GappedKmer,
    Gaussian,
    GaussianBasis,
    Graphlet,
    Hellinger,
    Intersection,
    L1Normalized,
    Lift,
    Linear,
    Mismatch,
    Monomials,
    Polar,
    Polynomial,
    PolynomialBasis,
    PowerSeries,
    Quadratic,
    Segment,
    SetKernel,
    ShortestPath,
    SpatialPyramid,
    Spectrum,
    Squares,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
    repair,
)
from mercer.kernels.columns import LONGEST, MOST_NAMES

from ..names import named
from . import naive_graphs, naive_trees
from .cases import CASES, DATA
from .test_features import WITH_FEATURES
from .test_features import X as POINTS

_rng = np.random.default_rng(12)


def columns(kernel, X):
    """The kernel with its columns numbered, its features, and their names."""
    known = kernel.in_columns_of(X)
    F = known.features(X)
    return known, F.toarray() if sp.issparse(F) else F, known.feature_names(X).tolist()


def _with_features():
    for case in CASES:
        X = DATA[case.data][0]
        try:
            case.kernel.in_columns_of(X).features(X[:2])
        except ValueError:
            continue
        yield pytest.param(case.kernel, X, id=case.name)
    for kernel, _ in WITH_FEATURES:
        yield pytest.param(kernel, POINTS, id=repr(kernel))


EVERY = list(_with_features())


@pytest.mark.parametrize(("kernel", "X"), EVERY)
def test_every_column_has_a_name_of_its_own(kernel, X):
    known, F, names = columns(kernel, X)
    assert len(names) == F.shape[1]
    assert len(set(names)) == len(names)
    assert all(type(name) is str and name for name in names)
    assert known.feature_names(X[:1]).tolist() == names  # whatever samples are described in these columns
    assert (2.5 * known.normalized()).feature_names(X).tolist() == names
    assert known.feature_names(X).dtype == object


def test_many_kinds_of_kernels_are_among_them():
    assert len(EVERY) > 60


# -- columns of numbers -----------------------------------------------------------------------------------------------

NAMED = pd.DataFrame(np.abs(_rng.standard_normal((9, 3))) + 0.1, columns=["a", "b", "width of c"])
NUMBERS = [
    Linear(),
    Polynomial(3),
    Polynomial(2, c=0, gamma=0.5),
    PowerSeries((1, 0, 2, 1)),
    FeatureMap(Lift()),
    FeatureMap(Squares()),
    FeatureMap(Quadratic()),
    FeatureMap(Monomials(3)),
    FeatureMap(Monomials(3, redundant=True)),
    FeatureMap(PolynomialBasis(3)),
    Hellinger(),
    Linear() + Polynomial(2),
    2 * Linear() * (Linear() + 1),
    (Linear() + 1) ** 2,
    Linear().on(["b", "a"]) + 3,
    Polynomial(2).on(Squares()),
    Linear().on("width of c") * Polynomial(2).on(["a", "b"]),
]


def value(name, X):
    """What a product of columns is, as its name says."""
    name = re.sub(r"^\d+__", "", name)
    if " * " in name:
        return prod(value(factor, X) for factor in name.split(" * "))
    if (root := re.fullmatch(r"sqrt\((.*)\)", name)) is not None:
        return np.sqrt(value(root[1], X))
    plain = name.replace("width of c", "w").replace("^", "**")
    product = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", plain)
    return eval(product, {"a": X["a"], "b": X["b"], "w": X["width of c"]}) + np.zeros(len(X))


@pytest.mark.parametrize("kernel", NUMBERS, ids=repr)
def test_products_of_columns(kernel):
    _, F, names = columns(kernel, NAMED)
    for name, column in zip(names, F.T, strict=True):
        weight = column / value(name, NAMED)  # the weight of a monomial is not in its name
        np.testing.assert_allclose(weight, weight[0], rtol=1e-9, err_msg=name)


def test_names_are_those_of_scikit_learn():
    from sklearn.preprocessing import PolynomialFeatures

    peer = PolynomialFeatures(3).fit(NAMED)
    for kernel in Polynomial(3), FeatureMap(Monomials(3)), FeatureMap(PolynomialBasis(3)):
        assert kernel.feature_names(NAMED).tolist() == peer.get_feature_names_out().tolist()
        assert kernel.feature_names(NAMED.to_numpy()).tolist() == (
            PolynomialFeatures(3).fit(NAMED.to_numpy()).get_feature_names_out().tolist()
        )
        assert kernel.feature_names(sp.csr_array(NAMED)).tolist() == kernel.feature_names(NAMED.to_numpy()).tolist()
        assert kernel.feature_names(pl.from_pandas(NAMED)).tolist() == peer.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Cosine().on([2, 0]), ["x2", "x0"]),
        (Linear().on(Squares()).on([2, 0]), ["x2^2", "x0^2"]),
        (Intersection(levels=2).on([1]), ["x1 > 0", "x1 > 1"]),
        (FeatureMap(Polar()).on([0, 1]), ["r(x0, x1)", "theta(x0, x1)"]),
        (FeatureMap(np.tanh).on([0]), ["tanh0"]),
        (Linear().on(np.tanh).on([0]), ["tanh0"]),
        (FeatureMap(L1Normalized()), ["share of x0", "share of x1", "share of x2"]),
        (FeatureMap(GaussianBasis([[0.5], [2]])).on(1), ["bump at x1 = 0.5", "bump at x1 = 2"]),
        (Linear() + Linear().on(1) + 1, ["x0", "0__x1", "x2", "1__x1", "1"]),
        (Linear() ** 0, ["1"]),
        (0 * Linear().on(0), ["x0"]),
        (Linear().centered().on(1), ["x1"]),
    ],
    ids=repr,
)
def test_names(kernel, names):
    X = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    assert kernel.resolve(X).feature_names(X).tolist() == names


def test_cells_and_members():
    names = SpatialPyramid(1, Linear()).feature_names(np.ones((1, 8))).tolist()
    assert names[:3] == ["level 0 cell (0, 0): bin 0", "level 0 cell (0, 0): bin 1", "level 1 cell (0, 0): bin 0"]
    assert names[-1] == "level 1 cell (1, 1): bin 1"
    assert SetKernel(Linear(), "sum").feature_names([[[1.0, 2.0]]]).tolist() == ["sum of x0", "sum of x1"]


@pytest.mark.parametrize("kernel", [Gaussian(1), -1 * Linear(), Linear() + Gaussian(1), Polynomial(2, c=-1)], ids=repr)
def test_kernels_without_a_finite_map_have_no_names(kernel):
    with pytest.raises(FeaturesError, match="no finite explicit feature map"):
        kernel.feature_names(POINTS)


def test_what_a_repair_makes_has_numbers():
    kernel = repair(-1 * Linear() + Polynomial(2), "clip").resolve(POINTS)
    assert kernel.feature_names(POINTS).tolist() == [f"repaired{i}" for i in range(kernel.features(POINTS).shape[1])]


# -- sequences --------------------------------------------------------------------------------------------------------

TEXTS = ["GATTACA", "TACOCAT", "", "AAAA", "CATCATCATS"]


def occurrences(pattern, text):
    return len(re.findall(f"(?={pattern})", text))


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        (Spectrum(3), re.escape),
        (Spectrum(3, min_k=1), re.escape),
        (Spectrum(20, min_k=2), re.escape),  # whose words are told apart by hashes
        (Spectrum(2, alphabet="ACGTOS"), re.escape),
        (Spectrum(2, min_k=1, alphabet=("AG", "CT", "O")), lambda name: name),
        (Spectrum(2, alphabet="protein"), re.escape),
        (GappedKmer(4, 2), lambda name: name),
        (GappedKmer(4, 4), lambda name: name),
        (GappedKmer(3, 2, alphabet="ACGTOS"), lambda name: name),
    ],
    ids=named,
)
def test_words_are_counted_where_they_stand(kernel, written):
    _, F, names = columns(kernel, TEXTS)
    known = "[ACGTOS]" if isinstance(kernel, GappedKmer) else "."
    for name, column in zip(names, F.T, strict=True):
        pattern = written(name).replace(".", known)
        assert column.tolist() == [occurrences(pattern, text) for text in TEXTS], name
    if kernel.alphabet is None:
        assert len(names) == len({name for name in names if any(occurrences(name, text) for text in TEXTS)})


def test_words_of_tokens():
    texts = [["to", "be", "or"], ["not", "to", "be"]]
    assert Spectrum(2).in_columns_of(texts).feature_names(texts).tolist() == ["to be", "be or", "not to"]
    assert sorted(Spectrum(2, alphabet=("be", "to")).feature_names(texts)) == ["be be", "be to", "to be", "to to"]
    assert "to . or" in GappedKmer(3, 2).in_columns_of(texts).feature_names(texts)


def test_names_of_named_alphabets():
    assert Spectrum(1, alphabet="dna").feature_names(TEXTS).tolist() == ["A", "C", "G", "T"]
    assert Spectrum(1, alphabet="RNA").feature_names(TEXTS).tolist() == ["A", "C", "G", "U"]
    assert Mismatch(2, 1, alphabet="rna").feature_names(TEXTS).tolist()[-1] == "UU"
    assert len(GappedKmer(3, 2, alphabet="protein").feature_names(TEXTS)) == 3 * 400


def test_where_words_stand():
    table = pd.DataFrame({"dna": TEXTS, "rest": TEXTS[::-1], "age": range(5)})
    kernel = Spectrum(1).on("dna") + Spectrum(1).on("rest") + Linear().on("age")
    names = kernel.in_columns_of(table).feature_names(table).tolist()
    assert names[:2] + names[-2:] == ["dna: A", "dna: C", "rest: T", "age"]
    part = Spectrum(1).on(Segment(0, 2)).in_columns_of(TEXTS)
    assert part.feature_names(TEXTS)[0] == "Segment(start=0, stop=2): A"
    both = (Spectrum(1) + 2 * Spectrum(2, min_k=1)).in_columns_of(["AC"])
    assert both.feature_names(["AC"]).tolist() == ["0__A", "0__C", "1__A", "1__C", "AC"]
    sets = SetKernel(Spectrum(2)).in_columns_of([TEXTS[:2], TEXTS[3:]])
    assert "mean of GA" in sets.feature_names([TEXTS[:1]])


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (Spectrum(3), ["A", ""]),
        (GappedKmer(3, 2), ["A", ""]),
        (GappedKmer(3, 2).normalized(), ["AA"]),
        (EdgeHistogram(), [([], ["C"], [])]),
        (ShortestPath(), [([], ["C"], [])]),
        (Subtree(), ["(S)"]),
        (SetKernel(Spectrum(3)), [["A"], [""]]),
    ],
    ids=repr,
)
def test_where_there_are_no_features_one_column_says_so(kernel, X):
    known, F, names = columns(kernel, X)
    assert F.shape[1] == len(names) == 1
    assert not F.any()
    assert names[0].endswith("nothing")
    new = X if not isinstance(X[0], str) or X[0] == "(S)" else ["GATTACA"]
    assert known.features(new).shape == (len(new), 1)


def test_too_many_names_are_refused():
    kernel = Spectrum(6, alphabet="protein")
    assert kernel.features(["MKVLAA"]).shape[1] == 20**6 > MOST_NAMES
    with pytest.raises(ValueError, match=f"{20**6} columns, and names of at most {MOST_NAMES} are made"):
        kernel.feature_names(["MKVLAA"])


# -- graphs and trees -------------------------------------------------------------------------------------------------

GRAPHS = [naive_graphs.random_graph(_rng, 7, 0.4, 3, 2) for _ in range(12)]
PLAIN = [(edges, ["C"] * len(labels), ["-"] * len(edges)) for edges, labels, _ in GRAPHS]


def unfolded(graph, v, depth, bonds):
    """The tree of ``depth`` steps around a node."""
    if depth == 0:
        return str(graph[1][v])
    parts = (
        (f"{bond}:" if bonds else "") + unfolded(graph, u, depth - 1, bonds)
        for u, bond in naive_graphs.neighbours(graph)[v].items()
    )
    return f"{graph[1][v]}({', '.join(sorted(parts))})"


def relabelled(graph, depth, bonds):
    return graph[0], [unfolded(graph, v, depth, bonds) for v in range(len(graph[1]))], graph[2]


def paths(graph):
    counts = naive_graphs.shortest_path(graph).items()
    return Counter({f"{a} -{int(d)}- {b}": count for (a, b, d), count in counts})


def named_apart(rounds):
    """The counts of all rounds; parts with a name in common are told apart by the number of the round."""
    every = [{name for graph in counts for name in graph} for counts in rounds]
    times = Counter(name for names in every for name in names)
    return [
        Counter(
            {
                f"{i}__{name}" if times[name] > 1 else name: count
                for i, counts in enumerate(rounds)
                for name, count in counts[g].items()
            }
        )
        for g in range(len(rounds[0]))
    ]


def _rounds(graphs, depth, base, bonds):
    return named_apart([[base(relabelled(graph, i, bonds)) for graph in graphs] for i in range(depth + 1)])


GRAPH_CASES = [
    (VertexHistogram(), lambda graphs, bonds: [Counter(map(str, graph[1])) for graph in graphs]),
    (EdgeHistogram(), lambda graphs, bonds: [Counter(map(str, graph[2])) for graph in graphs]),
    (ShortestPath(), lambda graphs, bonds: [paths(graph) for graph in graphs]),
    *(
        (WeisfeilerLehman(h), lambda graphs, bonds, h=h: _rounds(graphs, h, lambda g: Counter(map(str, g[1])), bonds))
        for h in (1, 3)
    ),
    (WeisfeilerLehman(1, ShortestPath()), lambda graphs, bonds: _rounds(graphs, 1, paths, bonds)),
]


@pytest.mark.parametrize("graphs", [GRAPHS, PLAIN], ids=["labelled", "of one label"])
@pytest.mark.parametrize(("kernel", "expected"), GRAPH_CASES, ids=lambda value: named(value)[:40])
def test_parts_of_graphs_are_counted(kernel, expected, graphs):
    _, F, names = columns(kernel, graphs)
    for row, counts in zip(F, expected(graphs, bonds=graphs is GRAPHS), strict=True):
        short = {name if len(name) <= LONGEST else name[:LONGEST]: count for name, count in counts.items()}
        found = {name: count for name, count in zip(names, row, strict=True) if count}
        assert {name.partition("... #")[0] for name in found} == set(short)
        assert all(short[name] == count for name, count in found.items() if "... #" not in name)


def test_graphlets_are_drawn():
    for graphs in GRAPHS, PLAIN:
        _, F, names = columns(Graphlet(3), graphs)
        for name, column in zip(names, F.T, strict=True):
            labels, joined = re.fullmatch(r"(.*) \((.*)\)", name).groups()
            edges = [edge.split(" ") for edge in joined.split(", ")]
            pairs = [tuple(map(int, edge[0].split("-"))) for edge in edges]
            bonds = [edge[1] if len(edge) > 1 else "-" for edge in edges]
            (key,) = naive_graphs.graphlet((pairs, labels.split(", "), bonds), 3)
            text = [([(u, v) for u, v in g[0]], list(map(str, g[1])), list(map(str, g[2]))) for g in graphs]
            assert column.tolist() == [naive_graphs.graphlet(graph, 3)[key] for graph in text], name


def test_graphs_without_labels():
    path = [[(0, 1), (1, 2)]]
    assert WeisfeilerLehman(1).feature_names(path).tolist() == ["node", "node(node)", "node(node, node)"]
    assert EdgeHistogram().feature_names(path).tolist() == ["edge"]
    alone = [([], ["C"]), ([(0, 1)], ["C", 1])]
    assert WeisfeilerLehman(2).feature_names(alone).tolist() == [
        "C", "1", "1__C()", "C(1)", "1(C)", "2__C()", "C(1(C))", "1(C(1))",
    ]  # fmt: skip


def test_labels_that_are_written_alike_are_told_apart():
    graphs = [([], [1, "1", 2])]
    assert VertexHistogram().feature_names(graphs).tolist() == ["1 #0", "1 #1", "2"]


def test_long_names_are_cut():
    dense = [([(u, v) for u in range(14) for v in range(u)], list("ABCDEFGHIJKLMN"))]
    names = WeisfeilerLehman(3).feature_names(dense).tolist()
    assert max(map(len, names)) <= LONGEST + 20
    assert len(set(names)) == len(names) == 4 * 14


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), ShortestPath(), Graphlet(3), EdgeHistogram()], ids=repr)
def test_names_do_not_depend_on_the_order_of_samples(kernel):
    order = _rng.permutation(len(GRAPHS))
    _, F, names = columns(kernel, GRAPHS)
    _, G, others = columns(kernel, [GRAPHS[i] for i in order])
    if isinstance(kernel, Graphlet):  # of which one may be drawn in several ways
        assert len(names) == len(others)
        return
    assert set(names) == set(others)
    np.testing.assert_array_equal(F[order][:, np.argsort(names)], G[:, np.argsort(others)])


def test_parts_that_some_samples_lack_have_names():
    graphs = VertexHistogram().samples(GRAPHS)
    kernel = WeisfeilerLehman(2)
    F = kernel.features(graphs)
    some = graphs[2:4]
    assert kernel.features(some).shape[1] == F.shape[1]  # columns of the graphs they were taken from
    assert kernel.feature_names(some).tolist() == kernel.feature_names(graphs).tolist()


def bracketed(tree):
    if not naive_trees.children(tree):
        return str(naive_trees.label(tree))
    return f"({' '.join([str(tree[0]), *map(bracketed, tree[1:])])})"


def test_subtrees_are_bracketed_text():
    trees = [("S", *naive_trees.random_tree(_rng, 3, 3)) for _ in range(12)]
    known, F, names = columns(Subtree(), trees)
    for row, tree in zip(F, trees, strict=True):
        expected = Counter({bracketed(part): count for part, count in naive_trees.subtrees(tree).items()})
        assert {name: count for name, count in zip(names, row, strict=True) if count} == expected
    whole = [name for name in names if len(name) <= LONGEST]
    assert (known.features(whole).toarray()[np.arange(len(whole)), [names.index(name) for name in whole]] > 0).all()
