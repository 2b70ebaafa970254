"""KernelFeatures: linear machines behind it are kernel machines, also on samples that training has not seen."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelFeatures, KernelRidge, LinearSVC
from mercer.kernels import FeaturesError, Gaussian, Polynomial, ShortestPath, Spectrum, Subtree, WeisfeilerLehman

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


def test_the_kernel_is_searched():
    graphs, _ = DATA["graphs"]
    machine = make_pipeline(KernelFeatures(WeisfeilerLehman(0)), LinearSVC(C=0.1))
    search = GridSearchCV(machine, {"kernelfeatures__kernel__h": [0, 1]}, cv=3, error_score="raise").fit(graphs, y)
    assert search.best_params_ == {"kernelfeatures__kernel__h": 1}  # without labels, h = 0 counts only nodes
    assert search.best_score_ > 0.8


def test_a_kernel_without_features_says_so():
    with pytest.raises(FeaturesError, match="no finite explicit feature map"):
        KernelFeatures(Gaussian(1)).fit(DATA["vectors"][0])
