"""Features that are parts of objects: in the columns of some samples, those of others give the kernel, too."""

import pickle

import numpy as np
import pytest

from mercer.kernels import (
    EdgeHistogram,
    Gaussian,
    Graphlet,
    Linear,
    SetKernel,
    ShortestPath,
    Spectrum,
    Subtree,
    VertexHistogram,
    WeisfeilerLehman,
)

from .object_cases import OBJECTS

GRAPHS = [
    VertexHistogram(),
    EdgeHistogram(),
    ShortestPath(),
    Graphlet(3),
    Graphlet(4),
    WeisfeilerLehman(2),
    WeisfeilerLehman(1, ShortestPath()),
    2 * WeisfeilerLehman(2).normalized() + ShortestPath() * VertexHistogram() + 1,
    WeisfeilerLehman(1).normalized() ** 2,
]
TREES = [Subtree(), Subtree().normalized()]
CASES = [(k, *OBJECTS["graphs"]) for k in GRAPHS] + [(k, *OBJECTS["trees"]) for k in TREES]


@pytest.mark.parametrize(("k", "X", "Z"), CASES, ids=lambda value: repr(value) if not isinstance(value, list) else "")
def test_features_of_other_samples_in_the_same_columns(k, X, Z):
    known = k.in_columns_of(X)
    F, G = known.features(X), known.features(Z)
    assert F.shape[1] == G.shape[1]
    assert (k.features(X) != F).nnz == 0
    np.testing.assert_allclose((G @ F.T).toarray(), k(Z, X), rtol=1e-12, atol=1e-12)
    assert (known.features(Z[:7]) != G[:7]).nnz == 0
    assert (known(X, Z) == k(X, Z)).all()
    assert (known.diag(Z) == k.diag(Z)).all()
    assert known.validity == k.validity
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert hash(again) == hash(known)
    assert (again.features(Z) != G).nnz == 0
    assert known.in_columns_of(Z) == known


def test_parts_without_a_column_count_in_the_norm():
    known, new = [([(0, 1)], ["C", "C"])], [([(0, 1)], ["C", "Xe"])]
    features = VertexHistogram().normalized().in_columns_of(known).features(new)
    np.testing.assert_allclose(features.toarray(), [[np.sqrt(0.5)]], rtol=1e-15)


def test_columns_are_numbered_where_graphs_are_members_of_something():
    X, Z = OBJECTS["graphs"]
    pairs, others = [X[i : i + 2] for i in range(20)], [Z[i : i + 3] for i in range(9)]
    k = SetKernel(WeisfeilerLehman(1), "sum")
    known = k.in_columns_of(pairs)
    np.testing.assert_allclose((known.features(others) @ known.features(pairs).T).toarray(), k(others, pairs))


def test_other_kernels_have_the_same_columns_anyway():
    A = np.random.default_rng(0).standard_normal((5, 3))
    for k, X in (Linear() + 1, A), (Gaussian(1).on([0]) * Linear(), A), (Spectrum(2, alphabet="dna"), ["ACG"]):
        assert k.in_columns_of(X) == k
