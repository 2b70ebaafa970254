"""Mercer's theorem: expansions, the empirical map and the integral condition against direct computation."""

import numpy as np
import pytest

from mercer.kernels import Custom, FeatureMap, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, repair
from mercer.validity import empirical_map, expansion, integral_condition, mercer_expansion

rng = np.random.default_rng(11)
X = rng.normal(size=(50, 3))
Z = rng.normal(size=(7, 3))
KERNELS = [Linear(), Polynomial(2), Gaussian(1.0), Gaussian("median"), Laplacian(0.5), repair(Sigmoid(1.0, -1.0))]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_all_terms_give_the_kernel_back(k):
    found = mercer_expansion(k, X, 50)
    K = k.resolve(X)(X)
    np.testing.assert_allclose(found.reconstruct(), K, atol=1e-10 * np.abs(K).max())
    assert found.error() < 1e-10


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_eigenvalues_and_eigenfunctions(k):
    found = mercer_expansion(k, X, 3)
    k = k.resolve(X)
    values, vectors = np.linalg.eigh(k(X))
    np.testing.assert_allclose(found.eigenvalues, values[::-1][:3] / 50)
    phi = found.eigenfunctions(X)
    np.testing.assert_allclose(phi.T @ phi / 50, np.eye(3), atol=1e-9)  # orthonormal in the mean
    new = found.eigenfunctions(Z)
    for j in range(3):
        naive = np.sqrt(50) / values[-1 - j] * k(Z, X) @ vectors[:, -1 - j]
        np.testing.assert_allclose(np.abs(new[:, j]), np.abs(naive), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.features(Z) @ found.features(X).T, found.reconstruct(Z, X))
    np.testing.assert_allclose(found.features(X), phi * np.sqrt(found.eigenvalues))


def test_the_error_is_what_the_missing_eigenvalues_say():
    K = Gaussian(1.0)(X)
    values = np.linalg.eigvalsh(K)[::-1]
    errors = [mercer_expansion(Gaussian(1.0), X, m).error() for m in (1, 5, 20)]
    assert errors == pytest.approx([np.sqrt((values[m:] ** 2).sum() / (values**2).sum()) for m in (1, 5, 20)])
    assert errors == pytest.approx(
        [
            np.linalg.norm(K - mercer_expansion(Gaussian(1.0), X, m).reconstruct()) / np.linalg.norm(K)
            for m in (1, 5, 20)
        ]
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200])
def test_the_error_of_a_kernel_of_any_size(scale):
    expected = mercer_expansion(Gaussian(1.0), X, 5).error()
    assert mercer_expansion(scale * Gaussian(1.0), X, 5).error() == pytest.approx(expected)


def test_a_kernel_of_finite_dimension_has_no_more_terms():
    assert len(mercer_expansion(Linear(), X, 10)) == 3
    assert len(mercer_expansion(Polynomial(2), X, 50)) == 10


def test_negative_eigenvalues_are_left_out_and_missed_in_the_error():
    found = mercer_expansion(Sigmoid(1.0, -1.0), X, 50)
    values = np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(X))
    assert (found.eigenvalues > 0).all()
    assert found.error() == pytest.approx(np.sqrt((values[values < 0] ** 2).sum() / (values**2).sum()), rel=1e-6)
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        mercer_expansion(-1 * Linear(), X, 2)


def test_many_samples_take_products_only(monkeypatch):
    exact = mercer_expansion(Gaussian(1.0), X, 4)
    monkeypatch.setattr(expansion, "DENSE_SAMPLES", 20)
    monkeypatch.setattr(expansion, "evaluated", None)
    found = mercer_expansion(Gaussian(1.0), X, 4)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues)
    np.testing.assert_allclose(found.reconstruct(Z, X), exact.reconstruct(Z, X), atol=1e-10)
    assert found.error() == pytest.approx(exact.error())


def test_float32_samples_are_expanded_in_float64():
    found = mercer_expansion(Gaussian(1.0), X.astype(np.float32), 50)
    assert found.eigenvalues.dtype == np.float64
    assert found.error() < 1e-10


@pytest.mark.parametrize("m", [0, -1, 2.5, 51, "all"])
def test_a_wrong_number_of_terms_is_refused(m):
    with pytest.raises(ValueError, match="eigenfunctions"):
        mercer_expansion(Linear(), X, m)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_the_empirical_map(k):
    phi = empirical_map(k, X)
    k = k.resolve(X)
    K = k(X)
    np.testing.assert_allclose(phi.R @ phi.R.T, K, atol=1e-11 * np.abs(K).max())
    off = phi.R.T @ phi.R
    np.testing.assert_allclose(off, np.diag(np.diag(off)), atol=1e-11 * off.max())  # R = U diag(l)^(1/2)
    np.testing.assert_allclose(phi(Z) @ phi.R.T, k(Z, X), atol=1e-8 * np.abs(K).max())
    assert phi.R.shape[1] == np.linalg.matrix_rank(K, tol=500 * np.finfo(float).eps * np.linalg.norm(K, 2))


def test_the_empirical_map_is_a_feature_map():
    phi = empirical_map(Gaussian(1.0), X)
    np.testing.assert_allclose(FeatureMap(phi)(X), Gaussian(1.0)(X), atol=1e-7)


def test_the_empirical_map_of_a_matrix_and_of_objects():
    K = Gaussian(1.0)(X)
    phi = empirical_map(Precomputed(), K)
    np.testing.assert_allclose(phi(Gaussian(1.0)(Z, X)) @ phi.R.T, Gaussian(1.0)(Z, X), atol=1e-8)
    words = ["ab", "bc", "abc"]
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
    np.testing.assert_allclose(
        empirical_map(shared, words)(["a"]) @ empirical_map(shared, words).R.T, [[1, 0, 1]], atol=1e-9
    )


def test_an_indefinite_kernel_has_no_empirical_map(monkeypatch):
    with pytest.raises(ValueError, match=r"not positive semi-definite.*repair"):
        empirical_map(Sigmoid(1.0, -1.0), X)
    monkeypatch.setattr(expansion, "MOST_EXACT", 20)
    with pytest.raises(ValueError, match="mercer_expansion"):
        empirical_map(Linear(), X)


@pytest.mark.parametrize("box", [(-1.0, 2.0), [(-1.0, 2.0), (0.0, 1.0)], [(0.0, 1.0)] * 3])
@pytest.mark.parametrize(
    ("k", "holds"),
    [
        (Linear(), True),
        (Gaussian(0.7), True),
        (Laplacian(1.0), True),
        (Polynomial(3), True),
        (Sigmoid(1.0, -1.0), False),
        (Gaussian(0.5) - Gaussian(1.0), False),
        (Linear() - 0.5, False),
    ],
    ids=repr,
)
def test_the_integral_condition(k, holds, box):
    found = integral_condition(k, box, nodes=10)
    assert found.satisfied is holds
    assert ("holds" if holds else "FAILS") in str(found)
    g, w = found.g, found.weights
    assert (w * g**2).sum() == pytest.approx(1.0)
    assert (w * g) @ k(found.nodes) @ (w * g) == pytest.approx(found.smallest, abs=1e-10)
    volume = np.prod(np.diff(np.atleast_2d(box)))
    assert w.sum() == pytest.approx(volume)
    assert (found.nodes >= np.atleast_2d(box)[:, 0]).all()
    assert (found.nodes <= np.atleast_2d(box)[:, 1]).all()


def test_the_integral_operator_of_a_linear_kernel_is_known():
    """xz on [0, 1] has the one eigenvalue 1/3; min(x, z) has 4 / (pi^2 (2j - 1)^2)."""
    assert integral_condition(Linear(), (0, 1)).largest == pytest.approx(1 / 3)
    brownian = Custom(lambda A, B: np.minimum(A, B.T))
    assert integral_condition(brownian, (0, 1)).largest == pytest.approx(4 / np.pi**2, rel=1e-4)
    assert integral_condition(brownian, (0, 1)).satisfied


@pytest.mark.parametrize(
    ("box", "nodes", "message"),
    [
        ((1.0, 0.0), None, "low < high"),
        ((0.0, np.inf), None, "low < high"),
        ((0.0, 1.0, 2.0), None, "low < high"),
        ([(0.0, 1.0)] * 4, None, "up to 3 dimensions but got 4"),
        ([(0.0, 1.0)] * 2, 100, "10000 in 2 dimensions"),
        ((0.0, 1.0), 0, "at least 1"),
    ],
)
def test_a_wrong_box_is_refused(box, nodes, message):
    with pytest.raises(ValueError, match=message):
        integral_condition(Linear(), box, nodes)


@pytest.mark.parametrize("function", [lambda k: mercer_expansion(k, X, 2), lambda k: empirical_map(k, X)])
def test_only_kernels_are_expanded(function):
    with pytest.raises(TypeError, match="Custom"):
        function(np.dot)
