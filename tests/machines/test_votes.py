"""Several classes told apart pair by pair: wins counted, as in scikit-learn, or distances to the hyperplanes summed."""

import math
import pickle
from itertools import combinations, product
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from mercer import SVC, Expansion, NuSVC
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid, Spectrum
from mercer.solvers import Certificate, Solution, SolverInterrupted
from mercer.solvers.smo import SMO
from tests.machines.support import digits, iris, wine

X, y = wine
X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.1
MANY = np.random.default_rng(0).standard_normal((600, 3))
KIND = np.digitize(MANY[:, 0] + np.random.default_rng(1).standard_normal(600), [-1.0, 0.0, 1.0])
LETTERS = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
WORDS = ["".join(np.random.default_rng(i).choice(list("abc"), 8, p=LETTERS[i % 3])) for i in range(90)]
#: name: kernel, samples, labels
CASES = {
    "linear": ("linear", X, y),
    "Gaussian": (Gaussian(3.0), X, y),
    "polynomial": (Polynomial(2), X, y),
    "digits": ("rbf", digits[0][:300], digits[1][:300]),
    "single precision": ("rbf", X.astype(np.float32), y),
    "sparse": ("linear", sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), y),
    "strings": (Spectrum(2), WORDS, np.arange(90) % 3),
    "matrix": ("precomputed", Gaussian(3.0)(X), y),
    "large matrix": ("precomputed", Gaussian(1.0)(MANY), KIND),  # the rows of the support vectors are not kept
    "function": (lambda A, B: Gaussian(3.0)(A, B), X, y),
}
MACHINES = [SVC(C=2.0), NuSVC(nu=0.3)]


def made(machine, kernel, **parameters):
    return clone(machine).set_params(kernel=kernel, votes="distance", **parameters)


def summed(machine, samples):
    """f / |w| of every pair, by its own expansion, added to its first class and taken from its second."""
    k = len(machine.classes_)
    scores = np.zeros((samples.shape[0] if hasattr(samples, "shape") else len(samples), k))
    f = machine.expansion_
    norms = f.norm()
    x = machine._new_samples(samples)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        alone = Expansion(f.kernel, f.samples, f.coefficients[:, p], f.bias[p])
        distance = alone(x) / norms[p]
        scores[:, i] += distance
        scores[:, j] -= distance
    return scores


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_distances_are_those_of_the_pairs_expansions(machine, name):
    kernel, samples, labels = CASES[name]
    machine = made(machine, kernel).fit(samples, labels)
    expected = summed(machine, samples)
    loose = 1e-4 if name == "single precision" else 1e-8
    np.testing.assert_allclose(machine.decision_function(samples), expected, rtol=loose, atol=loose)
    np.testing.assert_array_equal(machine.predict(samples), machine.classes_[expected.argmax(axis=1)])
    np.testing.assert_array_equal(machine.predict(samples), machine.fit(samples, labels).predict(samples))


@pytest.mark.parametrize("name", ["linear", "strings", "sparse", "matrix"])
def test_rows_alone_are_rows_among_others(name):
    kernel, samples, labels = CASES[name]
    machine = made(SVC(), kernel).fit(samples, labels)
    together, classes = machine.decision_function(samples), machine.predict(samples)
    for i in (0, 7, 50, 77):
        row = samples[i : i + 1]
        np.testing.assert_allclose(machine.decision_function(row)[0], together[i], rtol=1e-9, atol=1e-9)
        assert machine.predict(row)[0] == classes[i]


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_the_unit_of_the_data_does_not_matter(factor):
    """x -> s x with C -> C / s^2 leaves every f as it is, and all distances grow by s."""
    one = SVC(C=2.0, kernel="linear", votes="distance", tol=1e-10).fit(X, y)
    other = SVC(C=2.0 / factor**2, kernel="linear", votes="distance", tol=1e-10).fit(factor * X, y)
    np.testing.assert_allclose(other.decision_function(factor * X), factor * one.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(other.predict(factor * X), one.predict(X))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_other_names_of_the_classes_permute_the_columns(machine):
    machine = made(machine, Gaussian(3.0), tol=1e-9)
    before = clone(machine).fit(X, y).decision_function(X)
    for names in ([1, 2, 0], [2, 1, 0], [0, 2, 1]):
        renamed = clone(machine).fit(X, np.array(names)[y])
        np.testing.assert_allclose(renamed.decision_function(X)[:, names], before, atol=1e-5)
        np.testing.assert_array_equal(renamed.predict(X), np.array(names)[before.argmax(axis=1)])


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("votes", ["count", "distance"])
def test_shape_and_ties_mean_what_they_did(shape, ties, votes):
    given = dict(C=0.01, decision_function_shape=shape, break_ties=ties)
    machine = SVC(**given, votes=votes).fit(X, y)
    values = machine.decision_function(X)
    if shape == "ovo":
        np.testing.assert_allclose(values, machine.expansion_(X), rtol=1e-9)  # of the pairs, nothing put together
    if shape == "ovo" and ties:
        with pytest.raises(ValueError, match="break_ties must be False"):
            machine.predict(X)
        return
    if votes == "distance":
        np.testing.assert_array_equal(machine.predict(X), summed(machine, X).argmax(axis=1))
    else:
        peer = sklearn.svm.SVC(**given, tol=1e-6).fit(X, y)
        np.testing.assert_array_equal(SVC(**given, tol=1e-6).fit(X, y).predict(X), peer.predict(X))


@pytest.mark.parametrize(("labels", "strategy"), [(np.minimum(y, 1), "ovo"), (y, "ovr")], ids=["two", "rest"])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_without_pairs_there_are_no_votes(machine, labels, strategy):
    machine = clone(machine).set_params(strategy=strategy).fit(X, labels)
    for function in ("predict", "decision_function"):
        expected = getattr(machine.set_params(votes="count"), function)(X)
        np.testing.assert_array_equal(getattr(machine.set_params(votes="distance"), function)(X), expected)


def test_votes_may_be_chosen_after_the_fit():
    machine = SVC().fit(X, y)
    fitted = SVC(votes="distance").fit(X, y)
    assert fitted.get_params()["votes"] == "distance"
    assert repr(clone(fitted)) == "SVC(votes='distance')"
    machine.set_params(votes="distance")
    for one in (machine, pickle.loads(pickle.dumps(fitted)), clone(fitted).set_params(warm_start=True).fit(X, y)):
        np.testing.assert_array_equal(one.decision_function(X), fitted.decision_function(X))
        np.testing.assert_array_equal(one.predict(X), fitted.predict(X))
    other = fitted.set_params(warm_start=True).fit(X[::2], y[::2])  # no norm is left of the last fit
    np.testing.assert_allclose(other.decision_function(X), summed(other, X), rtol=1e-8)
    with pytest.raises(InvalidParameterError, match="'votes' parameter of SVC"):
        SVC(votes="sum").fit(X, y)


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
def test_probabilities_are_of_the_pairs():
    one, other = (SVC(probability=True, votes=votes).fit(*iris) for votes in ("count", "distance"))
    np.testing.assert_array_equal(one.predict_proba(iris[0]), other.predict_proba(iris[0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", Gaussian(2.0) * Linear(), "precomputed"])
@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize(("sizes", "shift"), product([(40, 40, 40), (40, 40, 20)], [0.0, 5.0]))
def test_a_pair_that_nothing_tells_apart_has_no_say(kernel, C, sizes, shift):
    """Two classes have the same points: w = 0, though rounding may leave something of it."""
    points = np.random.default_rng(3).standard_normal((40, 3)) + shift
    data = np.vstack([points[: sizes[0]] + 3, points[: sizes[1]], points[: sizes[2]]])
    labels = np.repeat([0, 1, 2], sizes)
    data = Polynomial(2)(data) if kernel == "precomputed" else data
    machine = SVC(C=C, kernel=kernel, gamma=1.0, votes="distance").fit(data, labels)
    scores = machine.decision_function(data)
    norms = machine.expansion_.norm()
    f = machine.expansion_(machine._new_samples(data))
    expected = f[:, :2] / norms[:2]
    np.testing.assert_allclose(scores[:, 0], expected.sum(axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scores[:, 1:], -expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("sizes", list({(10, 20, 15), (20, 10, 15), (10, 15, 20)}))
def test_where_no_pair_has_a_hyperplane_the_most_frequent_class_wins(sizes):
    data, labels = np.ones((sum(sizes), 2)), np.repeat([0, 1, 2], sizes)
    for kernel in ("rbf", "linear"):
        machine = SVC(kernel=kernel, votes="distance").fit(data, labels)
        assert (machine.predict(data) == np.argmax(sizes)).all()
        assert np.isfinite(machine.decision_function(data)).all()


def of_values(machine, samples):
    """The sums of f itself."""
    f, k = machine.expansion_(machine._new_samples(samples)), len(machine.classes_)
    scores = np.zeros((len(f), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        scores[:, i] += f[:, p]
        scores[:, j] -= f[:, p]
    return scores


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.parametrize("matrix", [False, True])
def test_without_a_geometry_values_are_summed(matrix):
    kernel = Sigmoid(1.0, -1.0)
    data = kernel(X) if matrix else X
    machine = SVC(kernel="precomputed" if matrix else kernel, votes="distance").fit(data, y)
    assert np.isnan(machine.expansion_.norm()).any()
    np.testing.assert_allclose(machine.decision_function(data), of_values(machine, data), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(machine.predict(data), of_values(machine, data).argmax(axis=1))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_an_interrupt_before_lengths_are_known_leaves_values_to_sum(kernel):
    data = Gaussian(3.0)(X) if kernel == "precomputed" else X
    machine = SVC(kernel=kernel, votes="distance", warm_start=True).fit(data, y)
    unknown = Certificate(np.inf, -np.inf, np.inf, np.inf, 0, False)
    solve = SMO.solve

    def interrupted(self, gram, problems, start, order):
        first, *others = solve(self, gram, problems, start, order)
        raise SolverInterrupted([first, *(Solution(s.coefficients, s.bias, unknown) for s in others)])

    with mock.patch.object(SMO, "solve", interrupted), pytest.raises(KeyboardInterrupt):
        machine.fit(data, y)
    assert math.isnan(machine._fit.lengths[1])
    np.testing.assert_allclose(machine.decision_function(data), of_values(machine, data), rtol=1e-9)
    assert machine.fit(data, y).score(data, y) > 0.95
    np.testing.assert_allclose(machine.decision_function(data), summed(machine, data), rtol=1e-8)
