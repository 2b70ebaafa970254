"""KernelNeighborsClassifier and -Regressor: scikit-learn's checks, its answers, and what kernels add."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.kernels import Categorical, Custom, Gaussian, Linear, Polynomial
from tests.interrupt import interrupted

digits, labels = load_digits(return_X_y=True)
X, X_new, y, y_new = digits[:1200], digits[1200:1500], labels[:1200], labels[1200:1500]
diabetes, target = load_diabetes(return_X_y=True)


#: Some of its matrices are random.
@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [
        KernelNeighborsClassifier(),
        KernelNeighborsRegressor(),
        KernelNeighborsClassifier(kernel="precomputed"),
    ]
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- scikit-learn's answers ---------------------------------------------------------------------------------------


def rates(distances):
    """scikit-learn's Euclidean distances as those of the Gaussian of width 1."""
    return np.sqrt(2 - 2 * np.exp(-(distances**2) / 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.slow("enough samples for every way to find neighbours")
def test_neighbours_are_scikit_learns(k, dtype):
    noise = np.random.default_rng(0).standard_normal(digits.shape) / 100  # so that there are no ties
    z, x = ((digits + noise)[rows].astype(dtype) / 20 for rows in (slice(1200), slice(1200, 1500)))
    ours = KernelNeighborsClassifier(k, kernel=Gaussian(1.0)).fit(z, y)
    peer = KNeighborsClassifier(k, algorithm="brute").fit(z, y)
    (distances, index), (expected, same) = ours.kneighbors(x), peer.kneighbors(x)
    np.testing.assert_array_equal(index, same)
    np.testing.assert_allclose(distances, rates(expected), atol=1e-6 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(ours.predict(x), peer.predict(x))
    np.testing.assert_array_equal(ours.predict_proba(x), peer.predict_proba(x))
    np.testing.assert_array_equal(ours.kneighbors(return_distance=False), peer.kneighbors(return_distance=False))
    assert ours.score(x, y_new) == peer.score(x, y_new) > 0.9


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_weights(weights):
    def theirs(distances):  # the same weights, of the distances that the Gaussian makes
        return weights(rates(distances)) if callable(weights) else 1 / np.maximum(rates(distances), 1e-300)

    peer_weights = weights if weights == "uniform" else theirs
    for Ours, Peer, data, new, goal in (
        (KernelNeighborsClassifier, KNeighborsClassifier, X / 30, X_new / 30, y),
        (KernelNeighborsRegressor, KNeighborsRegressor, diabetes[:300] * 9, diabetes[300:] * 9, target[:300]),
        (
            KernelNeighborsRegressor,
            KNeighborsRegressor,
            diabetes[:300] * 9,
            diabetes[300:] * 9,
            np.stack([target[:300], -(target[:300] ** 2)], axis=1),
        ),
    ):
        ours = Ours(4, kernel=Gaussian(1.0), weights=weights).fit(data, goal)
        peer = Peer(4, algorithm="brute", weights=peer_weights).fit(data, goal)
        np.testing.assert_allclose(ours.predict(new), peer.predict(new), rtol=1e-7)


def test_a_neighbour_at_no_distance_decides():
    z = np.array([[0.0], [0.0], [1.0], [1.1], [1.2]])
    machine = KernelNeighborsRegressor(5, kernel=Gaussian(1.0), weights="distance").fit(z, [1, 3, 50, 60, 70])
    np.testing.assert_allclose(machine.predict([[0.0], [1.1]]), [2, 60])


def test_ties_go_to_the_smaller_position():
    z = np.array([[1.0], [0.0], [2.0], [1.0], [0.0], [2.0]])
    machine = KernelNeighborsClassifier(3).fit(z, np.arange(6))
    assert machine.kneighbors([[1.0]], return_distance=False).tolist() == [[0, 3, 1]]
    assert machine.kneighbors([[1.0]], 6, return_distance=False).tolist() == [[0, 3, 1, 2, 4, 5]]
    assert machine.kneighbors(n_neighbors=1, return_distance=False).ravel().tolist() == [3, 4, 5, 0, 1, 2]
    assert machine.predict([[1.0]]).tolist() == [0]  # of equal votes the first class


def test_many_equals_are_no_neighbours_of_themselves():
    machine = KernelNeighborsRegressor(2).fit(np.zeros((6, 1)), np.arange(6))
    distances, index = machine.kneighbors()
    assert (distances == 0).all()
    assert index.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]


# -- any kernel, any data -----------------------------------------------------------------------------------------


def test_every_kind_of_data():
    z, labels = load_iris(return_X_y=True)
    z = z + np.random.default_rng(0).standard_normal(z.shape) / 100
    kernel = Polynomial(2)
    expected = KernelNeighborsClassifier(kernel=kernel).fit(z, labels).predict(z)
    for machine, given in (
        (KernelNeighborsClassifier(kernel=kernel), sp.csr_array(z)),
        (KernelNeighborsClassifier(kernel=kernel), pd.DataFrame(z)),
        (KernelNeighborsClassifier(kernel="precomputed"), kernel(z)),
        (KernelNeighborsClassifier(kernel=Custom(lambda a, b: kernel(a, b))), z),
        (KernelNeighborsClassifier(kernel=lambda a, b: (a @ b + 1) ** 2), z),
        (KernelNeighborsClassifier(kernel="poly", degree=2, gamma=1.0, coef0=1.0), z),
    ):
        np.testing.assert_array_equal(machine.fit(given, labels).predict(given), expected)
    table = pd.DataFrame({"word": np.array(["red", "green", "blue"])[labels], "number": z[:, 0]})
    mixed = KernelNeighborsClassifier(kernel=5 * Categorical().on("word") + Gaussian(1.0).on("number"))
    assert mixed.fit(table, labels).score(table, labels) == 1


def test_a_linear_kernel_is_euclidean():
    ours = KernelNeighborsClassifier(kernel="linear").fit(X + 0.1, y)
    peer = KNeighborsClassifier(algorithm="brute").fit(X + 0.1, y)
    np.testing.assert_allclose(ours.kneighbors(X_new)[0], peer.kneighbors(X_new)[0], rtol=1e-9)


def test_names_find_their_gamma():
    scaled = KernelNeighborsClassifier().fit(X, y)
    assert scaled.kernel_ == Gaussian(gamma=1 / (X.shape[1] * X.var()))
    assert KernelNeighborsClassifier(gamma="auto").fit(X, y).kernel_ == Gaussian(gamma=1 / X.shape[1])
    assert KernelNeighborsClassifier(gamma=0.5).fit(X, y).kernel_ == Gaussian(gamma=0.5)
    assert KernelNeighborsClassifier(kernel=Gaussian("median")).fit(X, y).kernel_.sigma > 0


def test_estimator_manners(capsys):
    machine = KernelNeighborsClassifier(3, kernel=Gaussian(2.0), n_jobs=1).fit(X, y)
    expected = machine.predict(X_new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).predict(X_new), expected)
    assert clone(machine).get_params() == machine.get_params()
    search = GridSearchCV(KernelNeighborsClassifier(kernel=Linear().normalized()), {"n_neighbors": [1, 5]}, cv=3)
    assert search.fit(X[:300], y[:300]).best_score_ > 0.9
    machine.set_params(verbose=True).predict(X_new)
    assert "KernelNeighborsClassifier 300 of 300 queries" in capsys.readouterr().out


def test_the_training_data_are_a_copy():
    data = X.copy()
    machine = KernelNeighborsClassifier().fit(data, y)
    expected = machine.predict(X_new)
    data[:] = 0
    np.testing.assert_array_equal(machine.predict(X_new), expected)


def test_queries_in_parts(monkeypatch):
    machine = KernelNeighborsClassifier().fit(X, y)
    distances, index = machine.kneighbors(X_new)
    monkeypatch.setattr("mercer.machines.neighbors.QUERIES", 64)
    again = machine.kneighbors(X_new)
    np.testing.assert_array_equal(again[1], index)
    np.testing.assert_array_equal(again[0], distances)


# -- refusals -----------------------------------------------------------------------------------------------------


def test_refusals():
    machine = KernelNeighborsClassifier(5).fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="n_neighbors = 6, n_samples_fit = 5"):
        machine.kneighbors(X_new, 6)
    with pytest.raises(ValueError, match="n_neighbors < n_samples_fit"):
        machine.kneighbors()
    with pytest.raises(ValueError, match="n_neighbors > 0"):
        machine.kneighbors(X_new, 0)
    with pytest.raises(TypeError, match="integer"):
        machine.kneighbors(X_new, 2.5)
    with pytest.raises(ValueError, match="inconsistent"):
        KernelNeighborsClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="positive sum"):
        KernelNeighborsRegressor(weights=np.zeros_like).fit(X, y).predict(X_new)
    with pytest.raises(ValueError, match="shape"):
        KernelNeighborsRegressor(weights=lambda d: d[0]).fit(X, y).predict(X_new)
    precomputed = KernelNeighborsClassifier(kernel="precomputed", weights="distance").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="known only for the samples"):
        precomputed.predict(X_new @ X.T)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(3.0), Polynomial(3), Custom(lambda a, b: np.exp(a @ b.T / 60))],
    ids=["vectors", "kernel", "function"],
)
@pytest.mark.parametrize("cls", [KernelNeighborsClassifier, KernelNeighborsRegressor])
@pytest.mark.stress("sends Ctrl-C into a long prediction")
def test_ctrl_c_is_heard_and_breaks_nothing(cls, kernel):
    many = np.random.default_rng(0).standard_normal((40_000, 60))
    machine = cls(3, kernel=kernel).fit(many, np.arange(len(many)) % 7)
    before = machine.predict(many[:20])
    assert interrupted(lambda: machine.predict(np.tile(many, (5, 1)))) < 2
    np.testing.assert_array_equal(machine.predict(many[:20]), before)
