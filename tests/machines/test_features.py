"""KernelFeatures: linear machines behind it are kernel machines, also on samples that training has not seen."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelFeatures, KernelRidge, LinearSVC
from mercer.kernels import (
    FeaturesError,
    GappedKmer,
    Gaussian,
    Linear,
    Polynomial,
    ShortestPath,
    Spectrum,
    Subtree,
    WeisfeilerLehman,
)

_rng = np.random.default_rng(2)
N, TRAINING = 60, slice(40)
y = np.arange(N) % 2
DATA = {
    "graphs": (
        [nx.gnp_random_graph(8, 0.3 + 0.3 * label, seed=i) for i, label in enumerate(y)],
        WeisfeilerLehman(2).normalized() + 0.01 * ShortestPath(),
    ),
    "trees": ([f"(S (A {a}) (B {b} {c}))" for a, b, c in zip(*_rng.integers(0, 4, (2, N)), y, strict=True)], Subtree()),
    "strings": (["".join(_rng.choice(list("ACGT"), 12)) for _ in y], Spectrum(2, alphabet="dna")),
    "vectors": (_rng.standard_normal((N, 3)), Polynomial(2)),
}
data = pytest.mark.parametrize(("X", "kernel"), DATA.values(), ids=DATA.keys())


@parametrize_with_checks([KernelFeatures()])
def test_is_an_estimator(estimator, check):
    check(estimator)


@data
def test_ridge_of_the_features_is_kernel_ridge(X, kernel):
    """Primal and dual of one problem, so they agree on new samples."""
    new = X[40:]
    linear = make_pipeline(KernelFeatures(kernel), Ridge(alpha=0.5, fit_intercept=False, solver="lsqr", tol=1e-12))
    dual = KernelRidge(alpha=0.5, kernel=kernel).fit(X[TRAINING], y[TRAINING])
    np.testing.assert_allclose(linear.fit(X[TRAINING], y[TRAINING]).predict(new), dual.predict(new), atol=1e-6)


@data
def test_tools_of_scikit_learn(X, kernel):
    machine = make_pipeline(KernelFeatures(kernel), LinearSVC(C=0.1))
    assert clone(machine)[0].kernel == kernel
    assert cross_val_score(machine, X, y, cv=3, error_score="raise").shape == (3,)
    machine.fit(X[TRAINING], y[TRAINING])
    together = machine.decision_function(X[40:])
    np.testing.assert_allclose(machine.decision_function(X[40:43]), together[:3], rtol=1e-12)
    assert machine[0].transform(X[40:]).shape == (20, len(machine[0].get_feature_names_out()))


@data
def test_columns_have_the_names_of_the_kernel(X, kernel):
    features = KernelFeatures(kernel).fit(X[TRAINING])
    names = features.get_feature_names_out()
    assert names.dtype == object
    assert names.tolist() == kernel.in_columns_of(X[TRAINING]).feature_names(X[TRAINING]).tolist()
    assert len(set(names)) == features.transform(X[40:]).shape[1]
    assert pickle.loads(pickle.dumps(features)).get_feature_names_out().tolist() == names.tolist()


def test_names_of_columns():
    frame = pd.DataFrame({"age": [1.0, 2.0], "height": [3.0, 4.0]})
    assert KernelFeatures().fit(frame).get_feature_names_out().tolist() == ["age", "height"]
    square = KernelFeatures(Polynomial(2, c=0)).fit(frame)
    assert square.get_feature_names_out().tolist() == ["age^2", "age height", "height^2"]
    assert square.get_feature_names_out(["age", "height"]).tolist() == square.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        square.get_feature_names_out(["a", "b"])
    plain = KernelFeatures(Polynomial(2, c=0)).fit(frame.to_numpy())
    assert plain.get_feature_names_out().tolist() == ["x0^2", "x0 x1", "x1^2"]
    assert plain.get_feature_names_out(["a", "b"]).tolist() == ["a^2", "a b", "b^2"]
    for form in (sp.csr_array(frame), frame.to_numpy().astype(np.float32)):
        assert KernelFeatures(Linear().on(1)).fit(form).get_feature_names_out().tolist() == ["x1"]


MIXED = pd.DataFrame({"dna": DATA["strings"][0], "age": np.arange(N) / 10}, index=[f"row {i}" for i in range(N)])
OUTPUT = {
    **DATA,
    "words": (DATA["strings"][0], Spectrum(3)),
    "table": (MIXED, Spectrum(2).on("dna") + Linear().on("age")),
}


@pytest.mark.parametrize("container", ["pandas", "polars", "default"])
@pytest.mark.parametrize(("X", "kernel"), OUTPUT.values(), ids=OUTPUT.keys())
def test_output_is_the_container_that_was_asked_for(X, kernel, container):
    """Also of sparse features, which scikit-learn by itself refuses to put into one."""
    features = KernelFeatures(kernel).fit(X[TRAINING])
    expected = features.transform(X[40:])
    expected = expected.toarray() if sp.issparse(expected) else expected
    found = features.set_output(transform=container).transform(X[40:])
    if container == "default":
        assert not hasattr(found, "columns")
        return
    assert type(found).__module__.split(".")[0] == container
    assert list(found.columns) == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), expected)
    if container == "pandas":
        assert list(found.index) == (list(X.index[40:]) if isinstance(X, pd.DataFrame) else list(range(20)))
    machine = make_pipeline(KernelFeatures(kernel), LinearSVC(C=0.1)).fit(X[TRAINING], y[TRAINING])
    framed = make_pipeline(KernelFeatures(kernel), LinearSVC(C=0.1)).set_output(transform=container)
    framed.fit(X[TRAINING], y[TRAINING])
    np.testing.assert_allclose(framed.decision_function(X[40:]), machine.decision_function(X[40:]), atol=1e-3)
    assert framed[1].feature_names_in_.tolist() == features.get_feature_names_out().tolist()


def test_sparse_features_stay_sparse_in_pandas():
    X, _ = DATA["strings"]
    frame = KernelFeatures(Spectrum(3)).set_output(transform="pandas").fit_transform(X)
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes)
    np.testing.assert_array_equal(frame.sparse.to_coo().toarray(), Spectrum(3).in_columns_of(X).features(X).toarray())


@pytest.mark.parametrize("kernel", [Spectrum(3), Spectrum(8, min_k=2), GappedKmer(5, 3)], ids=repr)
def test_words_without_an_alphabet_have_a_column_each(kernel):
    """There were 16.7 million, or a message that there would be more."""
    X, _ = DATA["strings"]
    features = KernelFeatures(kernel).fit(X[TRAINING])
    F = features.transform(X[TRAINING])
    assert F.shape[1] == features._n_features_out == np.count_nonzero(F.sum(axis=0)) < 3000
    np.testing.assert_allclose((features.transform(X[40:]) @ F.T).toarray(), kernel(X[40:], X[TRAINING]))


def test_the_kernel_is_searched():
    graphs, _ = DATA["graphs"]
    machine = make_pipeline(KernelFeatures(WeisfeilerLehman(0)), LinearSVC(C=0.1))
    search = GridSearchCV(machine, {"kernelfeatures__kernel__h": [0, 1]}, cv=3, error_score="raise").fit(graphs, y)
    assert search.best_params_ == {"kernelfeatures__kernel__h": 1}  # without labels, h = 0 counts only nodes
    assert search.best_score_ > 0.8


def test_a_kernel_without_features_says_so():
    with pytest.raises(FeaturesError, match="no finite explicit feature map"):
        KernelFeatures(Gaussian(1)).fit(DATA["vectors"][0])
