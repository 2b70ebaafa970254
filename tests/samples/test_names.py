"""Labels and attributes of networkx graphs under names of the user's, and what is said of those that are not read."""

import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels import (
    EdgeAttributes,
    EdgeHistogram,
    Gaussian,
    GraphLabels,
    SetKernel,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from mercer.samples import UnreadAttributesWarning, as_graphs

_rng = np.random.default_rng(2)


def network(names, rng=None):
    """A path of five nodes, whatever its labels and attributes are called; those of no name are left out."""
    rng = np.random.default_rng(3) if rng is None else rng
    graph = nx.path_graph(5)
    values = {
        "label": dict(enumerate(rng.choice(list("CNO"), 5).tolist())),
        "attributes": {v: rng.standard_normal(2) for v in graph},
        "edge_label": {edge: "sd"[rng.integers(2)] for edge in graph.edges},
        "edge_attributes": {edge: [float(rng.standard_normal())] for edge in graph.edges},
    }
    for what, name in names.items():
        set_all = nx.set_edge_attributes if what.startswith("edge") else nx.set_node_attributes
        set_all(graph, values[what], name)
    return graph


PLAIN = {"label": "label", "attributes": "attributes", "edge_label": "label", "edge_attributes": "attributes"}
OTHER = {"label": "element", "attributes": "position", "edge_label": "bond", "edge_attributes": "length"}


@pytest.mark.parametrize(
    "given", [["label"], ["edge_label"], ["attributes"], ["edge_attributes"], list(OTHER)], ids=str
)
def test_names_change_nothing_but_the_names(given):
    rng, again = np.random.default_rng(1), np.random.default_rng(1)
    plain = [network({what: PLAIN[what] for what in given}, rng) for _ in range(4)]
    other = [network({what: OTHER[what] for what in given}, again) for _ in range(4)]
    names = {what: OTHER[what] for what in given}
    assert as_graphs(other, **names) == as_graphs(plain)
    for kernel in (WeisfeilerLehman(2).normalized(), ShortestPath(), EdgeHistogram() + VertexHistogram()):
        assert (kernel.on(GraphLabels(**names))(other) == kernel(plain)).all()
    if "attributes" in given:
        assert (SetKernel(Gaussian(1)).on(GraphLabels(**names))(other) == SetKernel(Gaussian(1))(plain)).all()
    if "edge_attributes" in given:
        k = SetKernel(Gaussian(1)).on(EdgeAttributes())
        assert (k.on(GraphLabels(**names))(other) == k(plain)).all()


def test_machines_take_kernels_with_names():
    names = GraphLabels("element", edge_label="bond")
    y = np.arange(24) % 2
    graphs = [network({"label": "element", "edge_label": "bond"}, _rng) for _ in y]
    for graph, ring in zip(graphs, y, strict=True):
        if ring:
            graph.add_edge(0, 4, bond="s")
    kernel = WeisfeilerLehman(2).normalized()
    machine = SVC(kernel=kernel.on(names)).fit(graphs, y)
    plain = SVC(kernel=kernel).fit(as_graphs(graphs, label="element", edge_label="bond"), y)
    assert (machine.decision_function(graphs[:5]) == plain.decision_function(machine.kernel_.samples(graphs[:5]))).all()
    assert clone(machine).kernel == machine.kernel
    assert repr(machine.kernel).endswith(".on(GraphLabels(label='element', edge_label='bond'))")
    assert cross_val_score(machine, graphs, y, cv=3, error_score="raise").shape == (3,)
    frame = pd.DataFrame({"molecule": pd.Series(graphs, dtype=object), "mass": np.arange(24.0)})
    mixed = kernel.on(names).on("molecule") + Gaussian(5).on("mass")
    assert SVC(kernel=mixed).fit(frame, y).score(frame, y) > 0.5


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"label": "element"}, "the nodes of these graphs have `element`, which is not read: .*as_graphs(X, label="),
        ({"label": "label", "attributes": "position"}, "`position`, which is not read.*GraphLabels(attributes="),
        ({"edge_label": "bond"}, "the edges of these graphs have `bond`.*as_graphs(X, edge_label='bond')"),
        ({"edge_attributes": "length"}, "the edges of these graphs have `length`.*(X, edge_attributes='length')"),
        ({"label": "b", "attributes": "a"}, "nodes of these graphs have `a`, `b`, which are not read"),
    ],
    ids=str,
)
def test_what_is_not_read_is_named_once_in_every_call(names, message):
    graphs = [nx.path_graph(3), *(network(names) for _ in range(3))]
    if names.get("label") == "label":
        graphs = graphs[1:]
    pattern = re.escape(message).replace(r"\.\*", ".*")
    for call in (as_graphs, VertexHistogram(), WeisfeilerLehman(1).normalized().gram):
        with pytest.warns(UnreadAttributesWarning, match=pattern) as met:
            call(graphs)
        assert len(met) == 1
        assert met[0].filename == __file__
    with pytest.warns(UnreadAttributesWarning, match=pattern) as met:
        SVC(kernel=VertexHistogram()).fit(graphs, np.arange(len(graphs)) % 2)
    assert len(met) == 1


def test_a_name_that_is_given_says_that_the_rest_is_left_out():
    graph = network({"label": "element", "attributes": "position", "edge_label": "bond"})
    with pytest.warns(UnreadAttributesWarning, match="`bond`") as met:
        as_graphs([graph], label="element")
    assert len(met) == 1
    assert as_graphs([graph], label="element", edge_label="bond").attributes is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadAttributesWarning)
        assert as_graphs([graph]) == as_graphs([nx.path_graph(5)])


def test_names_that_no_graph_has_are_refused():
    graph = network({"label": "element", "edge_label": "bond"})
    with pytest.raises(ValueError, match="none of the nodes of these graphs has `symbol`; they have `element`"):
        as_graphs([graph], label="symbol")
    with pytest.raises(ValueError, match="none of the edges of these graphs has `label`; they have `bond`"):
        VertexHistogram().on(GraphLabels("element", edge_label="label"))([graph])
    with pytest.raises(ValueError, match="none of the edges of these graphs has `bond`; they have no attributes"):
        as_graphs([nx.path_graph(3)], edge_label="bond")
    graph.add_node(9)
    with pytest.raises(ValueError, match="1 of the 6 nodes of graph 0 have no `element`, but others have"):
        as_graphs([graph], label="element", edge_label="bond")
    assert len(as_graphs([nx.empty_graph(0)], label="element", edge_label="bond")) == 1
