"""Explicit feature maps: their inner product is the kernel, and they have as many columns as they say."""

import tracemalloc
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    L2,
    Chi2,
    Constant,
    Cosine,
    Exponential,
    FeatureMap,
    FeaturesError,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Lift,
    Linear,
    Matern,
    Monomials,
    Polar,
    Polynomial,
    PowerSeries,
    Quadratic,
    Sigmoid,
    Squares,
    exp,
)

from . import naive

D = 4
_rng = np.random.default_rng(8)
X, Z = _rng.standard_normal((9, D)), _rng.standard_normal((6, D))

WITH_FEATURES = [
    (Linear(), D),
    (Polynomial(3), comb(D + 3, 3)),
    (Polynomial(3, c=2.5, gamma=0.3), comb(D + 3, 3)),
    (Polynomial(3, c=0), comb(D + 2, 3)),
    (Polynomial(1, c=0), D),
    (Polynomial(0), 1),
    (Polynomial(0, c=0), 1),
    (PowerSeries((1, 1, 1, 1)), 1 + D + comb(D + 1, 2) + comb(D + 2, 3)),
    (PowerSeries((0, 0, 2)), comb(D + 1, 2)),
    (Cosine(), D),
    (FeatureMap(Lift()), 2 * D),
    (FeatureMap(Squares()), D),
    (FeatureMap(Quadratic()), 1 + 2 * D),
    (FeatureMap(Monomials(2)), comb(D + 2, 2)),
    (FeatureMap(Monomials(3, redundant=True)), 1 + D + D**2 + D**3),
    (FeatureMap(np.tanh), D),
    (FeatureMap(Polar()).on([1, 3]), 2),
    (Constant(2.0), 1),
    (Linear() + 3, D + 1),
    (Linear() + Polynomial(2), D + comb(D + 2, 2)),
    (Linear() * Polynomial(2), D * comb(D + 2, 2)),
    (2.5 * Linear(), D),
    (0 * Linear(), D),
    (PowerSeries((0,)), 1),
    (2 * Linear() * (Linear() + 1), D * (D + 1)),
    (Linear() ** 2, D**2),
    (Linear() ** 0, 1),
    ((Linear() + 1) ** 3, (D + 1) ** 3),
    (Polynomial(2).normalized(), comb(D + 2, 2)),
    (Polynomial(2).centered().resolve(Z), comb(D + 2, 2)),
    (Linear().on([2, 0]), 2),
    (Linear().on(1) + Polynomial(2).on([0, 3]), 1 + comb(4, 2)),
    (Polynomial(2).on(Squares()), comb(D + 2, 2)),
]


@pytest.mark.parametrize(("k", "dimension"), WITH_FEATURES, ids=lambda v: repr(v))
def test_inner_product_of_the_features_is_the_kernel(k, dimension):
    F, G = k.features(X), k.features(Z)
    assert F.shape == (len(X), dimension)
    assert G.shape == (len(Z), dimension)
    np.testing.assert_allclose(F @ G.T, k(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose((F**2).sum(axis=1), k.diag(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("k", "dimension"), WITH_FEATURES, ids=lambda v: repr(v))
def test_features_of_single_precision_and_of_sparse_rows(k, dimension):
    x = X.astype(np.float32)
    assert k.features(x).dtype == np.float32
    np.testing.assert_allclose(k.features(x), k.features(X), rtol=1e-4, atol=1e-5)
    F = k.features(sp.csr_array(X))
    np.testing.assert_allclose(F.toarray() if sp.issparse(F) else F, k.features(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [Linear(), Cosine(), 2 * Linear(), Linear() + Cosine(), Linear() ** 2])
def test_features_of_sparse_rows_stay_sparse_where_the_map_keeps_zeros(k):
    assert sp.issparse(k.features(sp.csr_array(X)))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_dimensions(d, r):
    A = np.ones((2, d))
    assert Polynomial(r).features(A).shape[1] == comb(d + r, r)
    assert Polynomial(r, c=0).features(A).shape[1] == comb(d + r - 1, r)
    assert Monomials(r)(A).shape[1] == comb(d + r, r)
    assert Monomials(r, redundant=True)(A).shape[1] == sum(d**j for j in range(r + 1))


def test_the_cubic_kernel_has_a_redundant_map():
    F, G = (Monomials(3, redundant=True)(A) for A in (X, Z))
    assert F.shape[1] == 1 + D + D**2 + D**3
    np.testing.assert_allclose(F @ G.T, PowerSeries((1, 1, 1, 1))(X, Z), rtol=1e-12, atol=1e-12)


def test_monomials_match_the_polynomial_kernel():
    for r in range(5):
        np.testing.assert_allclose(
            Monomials(r)(X) @ Monomials(r)(Z).T, naive.polynomial(X, Z, r), rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize("phi", [Lift(), Squares(), Quadratic(), Monomials(2), Monomials(2, redundant=True)], ids=repr)
@pytest.mark.parametrize("dtype", [int, np.uint8, bool])
def test_maps_of_whole_numbers_do_not_round_or_wrap(phi, dtype):
    A = np.array([[200, 3], [1, 0]]).astype(dtype)
    np.testing.assert_allclose(phi(A), phi(A.astype(np.float64)), rtol=0)
    assert phi(A.tolist()).dtype == np.float64


def test_intersection_has_a_unary_code():
    H = _rng.integers(0, 6, (8, 3))
    k = Intersection(levels=5)
    F = k.features(H)
    assert F.shape == (8, 15)
    assert set(np.unique(F)) <= {0.0, 1.0}
    assert (k(H) == F @ F.T).all()
    with pytest.raises(ValueError, match="levels"):
        Intersection().features(H)
    with pytest.raises(ValueError, match="fractions"):
        k.features(H + 0.5)
    with pytest.raises(ValueError, match="0 to 5"):
        k.features(H + 3)


def test_hellinger_is_the_square_root_map():
    H = np.abs(X)
    np.testing.assert_allclose(Hellinger().features(H), np.sqrt(H))


@pytest.mark.parametrize(
    "k",
    [
        Gaussian(1),
        Laplacian(1),
        Matern(1.5),
        Exponential(L2()),
        Sigmoid(1.0),
        exp(Linear()),
        Linear() + Gaussian(1),
        Linear() * Gaussian(1),
        2 * Gaussian(1),
        -1 * Linear(),
        Gaussian(1) ** 2,
        Gaussian(1).normalized(),
        Gaussian(1).on([0]),
        Gaussian(1).centered().resolve(X),
        Constant(-1.0),
        Polynomial(2, c=-1),
        PowerSeries((1, -1)),
        Chi2().on(np.abs),
        JensenShannon().on(np.abs),
    ],
    ids=repr,
)
def test_kernels_without_a_finite_map_say_so(k):
    with pytest.raises(FeaturesError, match="no finite explicit feature map"):
        k.features(X)


def test_an_enormous_map_is_refused():
    for phi in (
        Polynomial(6).features,
        Polynomial(10**9).features,
        Polynomial(6, c=0).features,
        Monomials(6),
        Monomials(4, redundant=True),
        Monomials(10**9, redundant=True),
    ):
        with pytest.raises(ValueError, match="in 200 columns has more than 10000000 features"):
            phi(np.ones((1, 200)))


def test_a_map_must_keep_the_number_of_rows():
    with pytest.raises(ValueError, match="expected one row each"):
        FeatureMap(lambda A: A[:2])(X)
    with pytest.raises(TypeError, match="function"):
        FeatureMap(3)


def test_a_map_of_objects():
    k = FeatureMap(lambda words: np.array([[len(w), w.count("a")] for w in words], dtype=float))
    assert (k(["aa", "b"]) == [[8, 2], [2, 1]]).all()


def test_polar_takes_points_of_the_plane():
    with pytest.raises(ValueError, match="2 columns"):
        Polar()(X)


def test_centred_features_of_sparse_rows_are_those_of_dense_ones():
    dense = np.where(np.abs(X) < 0.5, 0, X)
    k = Linear().centered().resolve(Z)
    np.testing.assert_allclose(k.features(sp.csr_array(dense)), k.features(dense), rtol=1e-12, atol=1e-15)
    sparse = Linear().centered().resolve(sp.csr_array(np.abs(Z)))
    np.testing.assert_allclose(sparse.features(dense), dense - np.abs(Z).mean(axis=0), rtol=1e-12, atol=1e-15)


@pytest.mark.alone("measures memory")
def test_monomials_are_made_in_blocks():
    """So Ctrl-C is heard between them, and there are no more than two copies of the features at a time."""
    x = np.random.default_rng(0).standard_normal((6000, 40))
    tracemalloc.start()
    F = Polynomial(2).features(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.3 * F.nbytes
