"""What support vector machines keep of a matrix that was given: the places of the support vectors, and little more."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import mercer.machines.training
from mercer import SVC, KernelLogistic, KernelPCA, KernelRidge
from mercer.inspection import margins, support_report
from mercer.kernels import Gaussian, Precomputed
from tests.machines.support import MACHINES, iris, small, values

K = Gaussian(2.0)(iris[0])


@pytest.fixture(params=["matrix", "function"])
def given(request):
    """The parameter ``kernel`` and the training data."""
    return ("precomputed", K) if request.param == "matrix" else (lambda A, B: Gaussian(2.0)(A, B), iris[0])


def fitted_twice(machine, X, y, monkeypatch):
    """With the block of the support vectors, and without."""
    known = clone(machine).fit(X, y)
    monkeypatch.setattr(mercer.machines.training, "KEPT_BYTES", 8)
    return known, clone(machine).fit(X, y)


@pytest.mark.parametrize("cls", MACHINES)
def test_values_and_norms_need_no_rows(cls, given, monkeypatch):
    machine, _, y, function = small(cls)
    kernel, X = given
    y = np.sort(np.resize(y, len(X)))  # as the samples are: without a margin this takes millions of steps
    known, places = fitted_twice(machine.set_params(kernel=kernel), X, y, monkeypatch)
    assert known.expansion_.samples.matrix.shape == (len(known.support_), len(known.support_))
    assert places.expansion_.samples.matrix.size == 0
    np.testing.assert_array_equal(values(places, function, X), values(known, function, X))
    np.testing.assert_allclose(places.expansion_.norm(), known.expansion_.norm(), rtol=1e-9)
    assert places.expansion_.norm().shape == known.expansion_.norm().shape


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_machines_need_no_rows(classes, given, monkeypatch):
    kernel, X = given
    known, places = fitted_twice(KernelLogistic(kernel=kernel), X, np.minimum(iris[1], classes - 1), monkeypatch)
    np.testing.assert_array_equal(places.predict_proba(X), known.predict_proba(X))
    np.testing.assert_allclose(places.expansion_.norm(), known.expansion_.norm(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.alone("measures memory")
def test_probabilities_need_few_rows(monkeypatch):
    X = np.random.default_rng(0).standard_normal((1200, 3))
    K, y = Gaussian(1.0)(X), X[:, 0] > X[:, 1] ** 2
    expected = SVC(kernel="precomputed", probability=True, random_state=0).fit(K, y).predict_proba(K)
    monkeypatch.setattr("mercer.machines.support_classifier.HELD_BYTES", 2**20)
    tracemalloc.start()
    machine = SVC(kernel="precomputed", probability=True, random_state=0).fit(K, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(machine.predict_proba(K), expected, rtol=1e-9)
    assert peak < 0.4 * K.nbytes


@pytest.mark.parametrize("strategy", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_of_classes_can_be_read(strategy, classes, given, monkeypatch):
    kernel, X = given
    y = np.minimum(iris[1], classes - 1)
    known, places = fitted_twice(SVC(kernel=kernel, strategy=strategy, tol=1e-6), X, y, monkeypatch)
    np.testing.assert_array_equal(places.decision_function(X), known.decision_function(X))
    np.testing.assert_allclose(margins(places, X, y).geometric, margins(known, X, y).geometric, rtol=1e-9)
    reports = [support_report(machine, X) for machine in (known, places)]
    assert str(reports[0]) == str(reports[1])
    assert str(support_report(known))
    with pytest.raises(ValueError, match="give the matrix it was fitted to"):
        support_report(places)


def test_the_matrix_is_not_part_of_a_pickle():
    X = np.random.default_rng(0).standard_normal((1000, 3))
    machine = SVC(kernel=Precomputed()).fit(Gaussian(1.0)(X), X[:, 0] > X[:, 1] ** 2)
    large = SVC(kernel="precomputed", C=1e-3).fit(Gaussian(1.0)(X), X[:, 0] > 0)
    assert len(large.support_) > 500
    for some in (machine, large):
        assert len(pickle.dumps(some)) < 2**20 + 100 * len(some.support_)
    assert len(pickle.dumps(large)) < 100_000
    again = pickle.loads(pickle.dumps(large))
    np.testing.assert_array_equal(again.predict(Gaussian(1.0)(X)), large.predict(Gaussian(1.0)(X)))
    np.testing.assert_array_equal(again.expansion_.norm(), large.expansion_.norm())


def test_kernels_made_of_a_matrix_keep_its_rows():
    machine = SVC(kernel=2 * Precomputed().centered() + 1).fit(K, iris[1])
    assert machine.score(K, iris[1]) > 0.9
    assert machine.expansion_.samples.matrix.shape == (len(machine.support_), len(K))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), "rbf"])
@pytest.mark.parametrize("make", [SVC, KernelLogistic, KernelRidge, KernelPCA])
def test_a_gram_matrix_is_given_as_precomputed_alone(make, kernel):
    X, y = iris
    gram = Gaussian(2.0).gram(X)
    with pytest.raises(TypeError, match=r"X is a Gram matrix, .* give kernel='precomputed', or"):
        make(kernel=kernel).fit(gram, y)
    with pytest.raises(TypeError, match="X is a Gram matrix"):
        SVC(kernel=kernel).fit(X, y).predict(gram)
    make(kernel="precomputed").fit(gram, y)
    make(kernel=Precomputed()).fit(gram, y)
