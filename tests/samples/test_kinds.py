"""Data of one kind for kernels of another, one sample instead of a list, and letters in objects of other libraries."""

import tracemalloc
from collections import UserString

import networkx as nx
import nltk
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import SVC, KernelLogistic, KernelNeighborsClassifier, KernelPCA, KernelPerceptron, KernelRidge, OneClassSVM
from mercer.kernels import (
    Categorical,
    Chi2,
    Cosine,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Mismatch,
    PartialTree,
    Polynomial,
    RandomWalk,
    SetKernel,
    ShortestPath,
    SpatialPyramid,
    Spectrum,
    Squares,
    SubsetTree,
    Subtree,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)
from mercer.samples import Sequences, as_graphs, as_samples, as_sequences, as_trees

STRINGS = ["GATTACA", "TACO", "CAT", "GAT"]
NETWORKS = [nx.path_graph(n) for n in (2, 3, 3, 5)]
GRAPHS = [([(0, 1), (1, 2)], ["C", "C", "O"])] * 4
TREES = [("S", ("NP", "he"), ("VP", "runs"))] * 4
X, Y = np.random.default_rng(0).standard_normal((4, 3)), np.array([0, 1, 0, 1])
NOT_VECTORS = {
    "strings": (STRINGS, "Spectrum"),
    "array of strings": (np.array(STRINGS), "Spectrum"),
    "series of strings": (pd.Series(STRINGS), "Spectrum"),
    "polars": (pl.Series(STRINGS), "Spectrum"),
    "sequences": (as_sequences(STRINGS), "Spectrum"),
    "networkx": (NETWORKS, "WeisfeilerLehman"),
    "graphs in tuples": (GRAPHS, "WeisfeilerLehman"),
    "series of graphs": (pd.Series(NETWORKS, dtype=object), "WeisfeilerLehman"),
    "flat graphs": (as_graphs(GRAPHS), "WeisfeilerLehman"),
    "list of flat graphs": (list(as_graphs(GRAPHS)), "WeisfeilerLehman"),
    "trees in tuples": (TREES, "SubsetTree"),
    "nltk": ([nltk.Tree("S", ["he"])] * 4, "SubsetTree"),
    "flat trees": (as_trees(TREES), "SubsetTree"),
}
not_vectors = pytest.mark.parametrize(("given", "remedy"), NOT_VECTORS.values(), ids=NOT_VECTORS.keys())
OF_VECTORS = [
    Linear(),
    Gaussian(1),
    Gaussian("median"),
    2 * Polynomial(2) + Laplacian(1.0),
    Cosine() * Linear(),
    Intersection(),
    Chi2(),
    SpatialPyramid(0),
    Gaussian(1).normalized().centered(),
    Linear().on(Squares()),
]


@not_vectors
@pytest.mark.parametrize("kernel", OF_VECTORS[:-1], ids=repr)
def test_kernels_of_vectors_say_which_kernel_compares_other_data(kernel, given, remedy):
    def calls():
        yield lambda: kernel.resolve(given)(given)
        yield lambda: SVC(kernel=kernel).fit(given, Y)

    for call in calls():
        with pytest.raises(
            TypeError, match=rf"expected vectors \(one row of numbers per sample\).* but got .*{remedy}"
        ):
            call()


MACHINES = [SVC, KernelRidge, KernelLogistic, KernelPCA, KernelNeighborsClassifier, KernelPerceptron, OneClassSVM]


@not_vectors
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_machines_with_kernels_by_name_do_so_too(machine, given, remedy):
    with pytest.raises((TypeError, ValueError), match=rf"expected vectors .* but got .*{remedy}"):
        machine().fit(given, Y)
    fitted = machine().fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=rf"expected vectors .* but got .*{remedy}"):
        (fitted.transform if machine is KernelPCA else fitted.predict)(given)


VECTORS = {"array": X, "frame": pd.DataFrame(X), "sparse": sp.csr_array(X), "samples": as_samples(X)}
OF_OBJECTS = {
    "sequences": [Spectrum(2), Mismatch(3, 1), WeightedDegree(2), Spectrum(2).normalized()],
    "graphs": [
        VertexHistogram(),
        ShortestPath(),
        WeisfeilerLehman(1),
        RandomWalk(0.01),
        WeisfeilerLehman(1).normalized(),
    ],
    "trees": [Subtree(), SubsetTree(), PartialTree(), SubsetTree() + Subtree()],
    "sets": [SetKernel(Gaussian(1))],
}


@pytest.mark.parametrize("given", VECTORS.values(), ids=VECTORS.keys())
@pytest.mark.parametrize(
    ("kind", "kernel"), [(kind, k) for kind, kernels in OF_OBJECTS.items() for k in kernels], ids=str
)
def test_kernels_of_objects_say_which_kernel_compares_vectors(kind, kernel, given):
    for call in (kernel, lambda X: SVC(kernel=kernel).fit(X, Y)):
        with pytest.raises(TypeError, match=rf"expected {kind}.* but got .*vectors are compared by kernels of vectors"):
            call(given)


@pytest.mark.parametrize("kernel", [Spectrum(2), SubsetTree()], ids=repr)
def test_rows_of_numbers_in_lists_are_vectors_too(kernel):
    with pytest.raises(TypeError, match=r"of floats; vectors are compared by kernels of vectors, such as Gaussian"):
        kernel(X.tolist())


ONE = {
    "networkx": (as_graphs, NETWORKS[0], "one graph; write \\[graph\\]"),
    "tuple": (as_graphs, GRAPHS[0], "one graph; write \\[graph\\]"),
    "edges": (as_graphs, [(0, 1), (1, 2)], "one graph; write \\[graph\\]"),
    "matrix and labels": (as_graphs, (np.eye(3), list("CCO")), "one graph; write \\[graph\\]"),
    "sample": (as_graphs, as_graphs(GRAPHS)[0], "one graph; write \\[graph\\]"),
    "matrix": (as_graphs, np.eye(3), "if it is one graph, write \\[graph\\]"),
    "sparse matrix": (as_graphs, sp.csr_array(np.eye(3)), "write \\[graph\\]"),
    "nltk": (as_trees, nltk.Tree.fromstring("(S (NP he) (VP runs))"), "one tree; write \\[tree\\]"),
    "nested": (as_trees, TREES[0], "one tree; write \\[tree\\]"),
    "text": (as_trees, "(S he)", "a list of trees but got a str; of a single tree, write \\[tree\\]"),
    "flat tree": (as_trees, as_trees(TREES)[0], "one tree; write \\[tree\\]"),
    "a graph for trees": (as_trees, NETWORKS[0], "a list of trees but got one graph; write \\[graph\\]"),
    "string": (as_sequences, "GATTACA", "a list of sequences but got a single str; write \\[sequence\\]"),
    "bytes": (as_sequences, b"GATTACA", "a list of sequences but got a single bytes; write \\[sequence\\]"),
}


@pytest.mark.parametrize(("read", "one", "message"), ONE.values(), ids=ONE.keys())
def test_one_sample_is_no_list_of_samples(read, one, message):
    with pytest.raises(TypeError, match=message):
        read(one)
    kernel = {as_graphs: VertexHistogram(), as_trees: Subtree(), as_sequences: Spectrum(1)}[read]
    with pytest.raises(TypeError, match=message):
        SVC(kernel=kernel).fit(one, [0, 1])


class Letters:
    """A sequence as those of Biopython are: it has letters, and its text is the sequence."""

    def __init__(self, text):
        self.text = text

    def __len__(self):
        return len(self.text)

    def __getitem__(self, which):
        return self.text[which] if isinstance(which, int) else Letters(self.text[which])

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"Letters({self.text!r})"


class Record:
    def __init__(self, seq):
        self.seq = seq


@pytest.mark.parametrize("kind", [Letters, UserString], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "column", [list, tuple, lambda items: pd.Series(items, dtype=object)], ids=["list", "tuple", "series"]
)
def test_objects_with_letters_are_sequences(kind, column):
    texts = ["GATTACA", "", "TACO"]
    given = column([kind(text) for text in texts])
    assert as_sequences(given).content() == texts
    assert as_sequences([kind("GA"), "TACO"]).content() == ["GA", "TACO"]
    for kernel in (Spectrum(2), Mismatch(3, 1)):
        assert (kernel(given) == kernel(texts)).all()
    machine = SVC(kernel=Spectrum(1)).fit([kind(text) for text in STRINGS], Y)
    assert (machine.decision_function([kind("CAT")]) == machine.decision_function(["CAT"])).all()
    with pytest.raises(TypeError, match=rf"got a single {kind.__name__}; write \[sequence\]"):
        as_sequences(kind("GATTACA"))
    with pytest.raises(TypeError, match=r"a Record; give its sequence, item\.seq"):
        as_sequences([Record(kind("GAT"))])
    with pytest.raises(TypeError, match="a single Record"):
        as_sequences(Record(kind("GAT")))


def test_other_things_with_a_length_are_no_text():
    assert as_sequences([range(3), range(2)]).content() == [[0, 1, 2], [0, 1]]
    assert as_sequences([pd.Series(["a", "b"]), ["b"]]).content() == [["a", "b"], ["b"]]
    with pytest.raises(TypeError, match="a dict"):
        as_sequences([{}, {}])
    assert isinstance(as_sequences([[], []]), Sequences)
    assert Categorical()(as_samples(["a", "b"]))[0, 1] == 0


@pytest.mark.alone("measures memory")
def test_a_long_text_does_not_lengthen_the_others():
    texts = ["a"] * 1000 + ["b" * 100_000]
    tracemalloc.start()
    assert as_samples(texts).content() == texts
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


BIG = 10**400


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    "call",
    [
        as_samples,
        Gaussian(1),
        Gaussian(1).on("b"),
        lambda X: SVC().fit(X, [0, 1]),
        lambda X: KernelRidge().fit(X, [0, 1]),
    ],
    ids=["samples", "kernel", "column", "machine by name", "ridge"],
)
def test_integers_beyond_floats_are_named_with_their_column(library, call):
    kind = object if library is pd.DataFrame else pl.Object
    series = pd.Series if library is pd.DataFrame else pl.Series
    frame = library({"a": [1.0, 2.0], "b": series([BIG, 1], dtype=kind)})
    with pytest.raises(ValueError, match=r"an integer beyond the range of float64, .* in column 'b'; rescale it"):
        call(frame)


def test_integers_beyond_floats_in_arrays_and_attributes():
    with pytest.raises(ValueError, match="in column 1; rescale it"):
        Gaussian(1)(np.array([[1, BIG], [2, 3]], dtype=object))
    with pytest.raises(ValueError, match="in column 1; rescale it"):
        SVC().fit([[1, BIG], [2, 3]], [0, 1])
    with pytest.raises(ValueError, match="in column 'b'"):
        Gaussian(1).on("b")(pd.DataFrame({"a": ["x", "y"], "b": [BIG, 1]}))
    with pytest.raises(ValueError, match="`attributes` of the nodes of graph 0 have an integer beyond the range"):
        as_graphs([([(0, 1)], None, None, [[BIG], [1]])])


@pytest.mark.parametrize("machine", [SVC(), SVC(kernel="linear"), KernelRidge(), KernelPCA()], ids=repr)
def test_graphs_and_trees_are_no_vectors_of_what_they_are_made_of(machine):
    """NumPy takes a graph for the list of its nodes, and a machine fitted that without a word."""
    for made, kind in ((nx.path_graph(3), "graphs"), (nltk.Tree("S", ["a", "b"]), "trees")):
        with pytest.raises(TypeError, match=rf"expected vectors .* but got {kind}; .* kernels of {kind}"):
            machine.fit([made] * 4, [0, 1, 0, 1])


@pytest.mark.parametrize("library", [pd, pl])
def test_named_kernels_name_the_column_that_is_not_of_numbers(library):
    frame = library.DataFrame({"city": ["Bonn", "Kiel"] * 5, "age": range(10)})
    with pytest.raises(ValueError, match=r"column 'city' does not hold numbers but text.*\.on\("):
        SVC().fit(frame, [0, 1] * 5)
