"""Machines of sequences: lists of strings and of tokens, with scikit-learn's tools around them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import SVC, SVR, KernelRidge, NuSVC, OneClassSVM
from mercer.gram import Gram
from mercer.kernels import (
    GappedKmer,
    Gaussian,
    LocalAlignment,
    Mismatch,
    Segment,
    Spectrum,
    Subsequence,
    WeightedDegree,
    repair,
)

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 16)
MOTIFS = ["GATTACA", "CCTGGCC", "AATTTTA"]


def sequence(label: int) -> str:
    noise = "".join(RNG.choice(list("ACGT"), RNG.integers(18, 26)))
    at = RNG.integers(0, 8)
    return noise[:at] + MOTIFS[label] + noise[at:]


X = [sequence(label) for label in Y]
KERNELS = [
    Spectrum(3),
    Spectrum(4, min_k=2).normalized(),
    Mismatch(4, 1),
    GappedKmer(5, 3, alphabet="dna").normalized(),
    WeightedDegree(5, shift=7),
    Subsequence(3, 0.5).normalized(),
    repair(LocalAlignment((2, -2), open=4, extend=1), "clip"),
    (Spectrum(2) + 2 * Spectrum(5).on(Segment(0, 15))).normalized(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_machine_takes_strings(kernel):
    classifier = SVC(C=10, kernel=kernel).fit(X, Y)
    assert classifier.score(X, Y) > 0.9
    assert all(c.converged for c in classifier.certificate_)
    assert len(classifier.support_vectors_) == len(classifier.support_)
    assert classifier.support_vectors_[0] == X[classifier.support_[0]]
    assert classifier.predict(["", "GATTACAGATTACA"]).shape == (2,)
    values = classifier.decision_function(X)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(classifier)).decision_function(X), values)
    np.testing.assert_array_equal(clone(classifier).fit(X, Y).predict(X), classifier.predict(X))
    ridge = KernelRidge(kernel=kernel, alpha=0.1).fit(X, Y.astype(float))
    assert ridge.score(X, Y) > 0.5
    for machine in (SVR(kernel=kernel), NuSVC(nu=0.3, kernel=kernel), OneClassSVM(kernel=kernel)):
        assert machine.fit(X, Y).predict(X[:3]).shape == (3,)


def test_the_model_is_that_of_the_matrix():
    k = Spectrum(3).normalized()
    K = k(X)
    of_strings, of_matrix = SVC(C=2, kernel=k).fit(X, Y), SVC(C=2, kernel="precomputed").fit(K, Y)
    for one, other in zip(of_strings.certificate_, of_matrix.certificate_, strict=True):
        assert abs(one.primal - other.primal) < 1e-3 * max(1, abs(other.primal))
    np.testing.assert_allclose(of_strings._values(of_strings._fit, X), of_matrix._values(of_matrix._fit, K), atol=1e-2)


def test_dear_matrices_are_kept_whole_or_not(monkeypatch):
    k = GappedKmer(5, 3).normalized()
    whole = SVC(kernel=k, tol=1e-6).fit(X, Y)
    monkeypatch.setattr(Gram, "to_dense", lambda gram: pytest.fail("the matrix is beyond cache_size"))
    small = 8 * len(X) ** 2 / 2**20  # the matrix, and nothing else
    by_rows = SVC(kernel=k, tol=1e-6, cache_size=small).fit(X, Y)
    np.testing.assert_allclose(by_rows._values(by_rows._fit, X), whole._values(whole._fit, X), atol=1e-5)


def test_tools_of_scikit_learn():
    assert cross_val_score(SVC(C=10, kernel=Spectrum(4).normalized()), X, Y, cv=4).mean() > 0.8
    grid = GridSearchCV(SVC(kernel=Spectrum(2)), {"kernel__k": [1, 4], "C": [0.1, 1]}, cv=4).fit(X, Y)
    assert grid.best_params_["kernel__k"] == 4
    upper = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(upper, SVC(kernel=Spectrum(4)))
    lower = [x.lower() for x in X]
    assert (pipeline.fit(lower, Y).predict(lower) == SVC(kernel=Spectrum(4)).fit(X, Y).predict(X)).all()
    for form in (np.array, pd.Series):
        assert cross_val_score(SVC(kernel=Spectrum(4)), form(X), Y, cv=4).mean() > 0.8


def test_tokens_of_any_number():
    texts = [["spam", "offer"] * n + ["x"] for n in range(1, 9)] + [["dear", "friend"] * n for n in range(1, 9)]
    labels = np.repeat(["bad", "good"], 8)
    machine = SVC(kernel=Spectrum(2, min_k=1).normalized()).fit(texts, labels)
    assert machine.predict([["offer"], ["friend", "of", "mine"]]).tolist() == ["bad", "good"]
    assert (machine.predict(texts) == labels).all()


def test_a_column_of_a_table():
    frame = pd.DataFrame({"sequence": X, "length": [float(len(x)) for x in X]})
    kernel = Spectrum(4).normalized().on("sequence") + 0.1 * Gaussian(3).on("length")
    machine = SVC(C=10, kernel=kernel).fit(frame, Y)
    assert machine.score(frame, Y) > 0.95
    assert list(machine.feature_names_in_) == ["sequence", "length"]


def test_an_indefinite_kernel_runs():
    kernel = LocalAlignment((2, -2), open=4, extend=1)
    try:
        machine = SVC(kernel=kernel).fit(X, Y)
    except ConvergenceWarning:
        pytest.skip("the problem is not convex")
    assert machine.score(X, Y) > 0.9
