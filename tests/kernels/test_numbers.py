"""Hard numbers: data far from the origin, near-duplicates, values at the edges of the exponent's range."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    L1,
    L2,
    Chi2,
    Chi2Distance,
    Cosine,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Kernel,
    Laplacian,
    Linear,
    Linf,
    Mahalanobis,
    Matern,
    NegativeDistance,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from tests.pairs import pairs

WIDTHS = [1, 3, 16, 17, 100, 784]


def squared(X, Z, scale=1.0):
    """Squared distances from differences, in extended precision."""
    X, Z = (np.asarray(A).astype(np.longdouble) for A in (X, Z))
    return np.array([(((x - Z) / scale) ** 2).sum(axis=1) for x in X])


def data(shape, width, dtype, seed=0):
    """40 samples of unit spread, in an arrangement that is hard for formulas with cancellation."""
    rng = np.random.default_rng([seed, width])
    X = rng.standard_normal((40, width)) / np.sqrt(width)
    if shape == "common":  # most samples have the same value, and some of the others are near it
        common = 100 * rng.standard_normal(width)
        X = np.where(rng.random(X.shape) < 0.7, common, X + common * rng.integers(0, 2, width))
    X[20:24] = X[:4]  # duplicates
    X[24:28] = X[4:8] * (1 + 1e-7)  # and nearly
    if shape == "clusters":
        X[::2] += 1e4 * rng.standard_normal(width)
    elif shape == "outlier":
        X[7] *= 1e5
    elif shape != "common":
        X += float(shape) * rng.choice([-1, 1], width)
    return X.astype(dtype)


SHAPES = ["0", "1e3", "1e4", "1e5", "clusters", "outlier", "common"]


def relative(K, expected):
    """The largest error relative to the value itself, where the value is a normal number."""
    normal = expected > 1e-300
    assert (K[~normal] < 2e-300).all()
    return (np.abs(K - expected)[normal] / expected[normal]).max()


@pytest.mark.parametrize(("gamma", "width", "shape"), pairs([1e-4, 0.5, 30.0, 1e4, 1e8], WIDTHS, SHAPES))
class TestGaussian:
    def test_single_precision(self, width, shape, gamma):
        X = data(shape, width, np.float32)
        expected = np.exp(-gamma * squared(X, X))
        assert np.abs(Gaussian(gamma=gamma)(X) - expected).max() <= 2e-6
        assert np.abs(Gaussian(gamma=gamma)(X[:13], X[5:]) - expected[:13, 5:]).max() <= 2e-6

    def test_double_precision(self, width, shape, gamma):
        X = data(shape, width, np.float64)
        expected = np.exp(-gamma * squared(X, X))
        assert relative(Gaussian(gamma=gamma)(X), expected) <= 1e-12
        assert relative(Gaussian(gamma=gamma)(X[:13], X[5:]), expected[:13, 5:]) <= 1e-12

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_symmetric_with_ones_on_the_diagonal(self, width, shape, gamma, dtype):
        X = data(shape, width, dtype)
        K = Gaussian(gamma=gamma)(X)
        assert (np.diag(K) == 1).all()
        assert (K[range(20, 24), range(4)] == 1).all()
        assert (K == K.T).all()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rows_do_not_depend_on_their_company(self, width, shape, gamma, dtype):
        gram = Gaussian(gamma=gamma).gram(data(shape, width, dtype), budget=0)
        whole = gram.to_dense()
        alone = np.vstack([gram.rows([i]) for i in range(len(gram))])
        assert (alone == whole).all()


@pytest.mark.parametrize("width", [17, 100, 256, 320, 784])
@pytest.mark.parametrize("steepness", [0.3, 1.0, 1.4, 3.0])
def test_two_clusters_where_cancellation_begins_to_matter(width, steepness):
    """Rounding errors of long sums of equal terms have one sign: they grow with the length of the sum."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((120, width))
    X[::2] += 10
    X = (X / np.sqrt(width)).astype(np.float32)
    gamma = 0.04 * steepness
    assert np.abs(Gaussian(gamma=gamma)(X) - np.exp(-gamma * squared(X, X))).max() <= 2e-6


@pytest.mark.parametrize(("sigma", "width", "shape"), pairs([0.02, 1.0, 50.0], WIDTHS, SHAPES))
def test_gaussian_of_one_width_per_column(width, shape, sigma):
    sigmas = sigma * np.linspace(0.5, 2, width)
    k = Gaussian(sigmas)
    X = data(shape, width, np.float64)
    expected = np.exp(-squared(X, X, sigmas) / 2)
    assert relative(k(X), expected) <= 1e-12
    x = X.astype(np.float32)
    assert np.abs(k(x) - np.exp(-squared(x, x, sigmas) / 2)).max() <= 2e-6
    assert (np.diag(k(x)) == 1).all()
    assert (k(x) == k(x).T).all()


def sparse_data(dtype, offset=0.0, width=300):
    """Sparse rows so thin that the inverted index is used, a few columns apart; duplicates and near-duplicates."""
    rng = np.random.default_rng(5)
    X = (offset + rng.gamma(2.0, size=(60, width))) * (rng.random((60, width)) < 0.04)
    X[:, 0] = 1.0
    X[:, 20:26] = offset + rng.gamma(2.0, size=(60, 6))
    X[30:40] = X[:10]
    X[40:50] = X[10:20] * (1 + 1e-9 * rng.random((10, width)))
    return X.astype(dtype)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
@pytest.mark.parametrize(
    "k",
    [
        Linear(),
        Cosine(),
        Polynomial(2),
        Gaussian(gamma=0.01),
        Gaussian(gamma=10.0),
        Gaussian(np.linspace(0.5, 2, 300)),
        Laplacian(0.1),
        Laplacian(3.0),
        Exponential(L2(), power=1),
        Exponential(L1(), power=0.5),
        Exponential(Linf(), power=1),
        Exponential(Chi2Distance()),
        Exponential(Chi2Distance(), power=1),
        Exponential(Chi2Distance(), power=1.5),
        Matern(1.5),
        RationalQuadratic(1.0),
        Intersection(),
        Chi2(),
        Hellinger(),
        JensenShannon(),
        Sigmoid(1e-4),
    ],
    ids=repr,
)
def test_thin_sparse_rows_agree_with_dense_ones(k, offset):
    X = sparse_data(np.float64, offset)
    S = sp.csr_array(X)
    K, D = k(S), k(X)
    assert (np.isfinite(K)).all()
    assert (K == K.T).all()
    assert (np.abs(K - D) <= 1e-12 * np.abs(D) + 1e-300).all(), f"wrong by {np.abs(K - D).max():.3g}"
    np.testing.assert_allclose(k(S, S[5:9]), K[:, 5:9], rtol=1e-12)
    np.testing.assert_allclose(k(S.astype(np.float32)), k(X.astype(np.float32)), rtol=3e-5, atol=3e-6)
    if (k.diag(X) == 1).all() and k != Cosine():
        assert (np.diag(K) == 1).all()


@pytest.mark.parametrize("columns", [[2, 0, 5], [250, 3, 100, 7]])
def test_sparse_columns_in_any_order(columns):
    X = sparse_data(np.float64)
    for k in (Gaussian(1.0), Laplacian(1.0), Linear()):
        np.testing.assert_allclose(k.on(columns)(sp.csr_array(X)), k.on(columns)(X), rtol=1e-12)


# -- kernels that need the distance itself --------------------------------------------------------------------


def matern(nu, length):
    def value(D2):
        u = np.sqrt(2 * np.longdouble(nu) * D2) / length
        return np.exp(-u) * {0.5: 1, 1.5: 1 + u, 2.5: 1 + u + u**2 / 3}[nu]

    return value


OF_DISTANCE = [
    (Exponential(L2(), power=1), lambda D2: np.exp(-np.sqrt(D2))),
    (Exponential(L2(), power=0.5, beta=2.0), lambda D2: np.exp(-(D2 ** np.longdouble(0.25)) / 2)),
    (Matern(0.5, 0.7), matern(0.5, 0.7)),
    (Matern(1.5, 0.7), matern(1.5, 0.7)),
    (Matern(2.5, 0.7), matern(2.5, 0.7)),
    (RationalQuadratic(0.7, 0.5), lambda D2: (1 + D2 / (2 * np.longdouble(0.7) * np.longdouble(0.5) ** 2)) ** -0.7),
    (NegativeDistance(L2()), lambda D2: -D2),
    (NegativeDistance(L2(), power=1), lambda D2: -np.sqrt(D2)),
]


@pytest.mark.parametrize(
    ("k", "formula", "width", "apart", "offset"),
    [(*one, *rest) for one, *rest in pairs(OF_DISTANCE, [3, 17, 100, 784], [1.0, 1e-3, 1e-7], [0.0, 1e3])],
    ids=lambda v: repr(v) if not callable(v) or isinstance(v, Kernel) else "",
)
def test_near_duplicates(k, formula, width, apart, offset):
    rng = np.random.default_rng(width)
    base = rng.standard_normal((20, width)) / np.sqrt(width) + offset
    X = np.vstack([base, base + apart * rng.standard_normal((20, width)) / np.sqrt(width), base])
    expected = formula(squared(X, X))
    K = k(X)
    assert (np.abs(K - expected) <= 1e-12 * np.abs(expected)).all()
    assert (K == K.T).all()
    assert (np.diag(K) == k.diag(X)).all()
    assert (np.diag(K[:20, 40:]) == k.diag(X[:20])).all()
    x = X.astype(np.float32)
    expected = formula(squared(x, x))
    assert (np.abs(k(x) - expected) <= 1e-5 * np.maximum(1.0, np.abs(expected))).all()


@pytest.mark.parametrize("nu", [0.7, 3.2, 8.0, 20.0, 120.0])
@pytest.mark.parametrize("apart", [1e-15, 1e-8, 1e-2])
def test_matern_of_any_smoothness_is_one_at_duplicates(nu, apart):
    near = Matern(nu)([[0.0], [apart]])
    u = np.sqrt(2 * nu) * apart
    lowest = 1 - (2 * u if nu < 1 else u**2)  # 1 - k grows at most like u^(2 nu), or u^2
    assert (np.diag(near) == 1).all()
    assert (near <= 1 + 1e-12).all()
    assert (near >= min(lowest, 1 - 1e-12) if nu > 1 else near > 0).all()


@pytest.mark.parametrize("nu", [0.7, 3.2, 20.0, 120.0])
@pytest.mark.parametrize("apart", [1e3, 1e6, 1e200])
def test_matern_of_any_smoothness_vanishes_far_away(nu, apart):
    assert 0 <= Matern(nu)([[0.0]], [[apart]])[0, 0] < 1e-100


def test_matern_tends_to_the_gaussian():
    X = np.linspace(0, 3, 20)[:, None]
    assert np.abs(Matern(150.0)(X) - Matern(np.inf)(X)).max() < 5e-3


def test_rational_quadratic_tends_to_the_gaussian():
    A = np.random.default_rng(0).standard_normal((20, 4))
    np.testing.assert_allclose(RationalQuadratic(alpha=1e10)(A), Gaussian(1.0)(A), rtol=1e-8)
    np.testing.assert_allclose(RationalQuadratic(alpha=1e6)(A.astype("f4")), Gaussian(1.0)(A), atol=3e-6)


def test_mahalanobis_far_from_the_origin():
    X = data("1e5", 17, np.float64)
    k = Exponential(Mahalanobis(np.diag(np.linspace(0.3, 2, 17))), beta=2.0)
    expected = np.exp(-squared(X, X, np.sqrt(np.linspace(0.3, 2, 17).astype(np.longdouble))) / 2)
    assert relative(k(X), expected) <= 1e-12


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_gamma_scale_does_not_depend_on_the_origin(offset):
    X = np.random.default_rng(0).integers(-50, 50, (40, 3)) / 8.0
    resolved = Gaussian(gamma="scale").resolve(X + offset)
    assert resolved.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)


# -- the exponent's range --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_down_to_the_smallest_subnormal(dtype, instruction_set):
    x = np.linspace(0, 110 if dtype == np.float32 else 760, 5001).astype(dtype)[:, None]
    k = Laplacian(1.0)(x, np.zeros((1, 1), dtype))[:, 0]
    expected = np.exp(-x[:, 0].astype(np.longdouble))
    info = np.finfo(dtype)
    # float64 goes down to the smallest subnormal; float32 gives 0 below 2^-125, twice its smallest normal number
    lowest = 2 * info.tiny if dtype == np.float32 else info.tiny
    normal = expected > lowest
    assert (np.abs(k - expected)[normal] <= 4 * info.eps * expected[normal]).all()
    assert (np.abs(k - expected)[~normal] <= (lowest if dtype == np.float32 else 2 * info.smallest_subnormal)).all()
    assert (k >= 0).all()
    assert (np.diff(k) <= 0).all()
    assert k[-1] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("gamma", [1e30, 1e37])
def test_enormous_gamma_is_the_identity(dtype, width, gamma):
    X = np.random.default_rng(1).standard_normal((9, width)).astype(dtype)
    assert (Gaussian(gamma=gamma)(X) == np.eye(9)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [3, 40])
def test_width_below_the_range_of_single_precision(dtype, width):
    X = np.random.default_rng(1).standard_normal((9, width)).astype(dtype)
    assert (Gaussian(sigma=1e-25)(X) == np.eye(9)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("kernel", [Gaussian, lambda sigma: Matern(np.inf, sigma)])
def test_widths_whose_squares_leave_the_range_of_double_precision(dtype, width, kernel):
    X = np.random.default_rng(1).standard_normal((9, width)).astype(dtype)
    for sigma in (1e-200, 1e-300):
        assert (kernel(sigma)(X) == np.eye(9)).all()
    for sigma in (1e200, 1e300):
        assert (kernel(sigma)(X) == 1).all()
    assert (kernel(1e-200)(sp.csr_array(X)) == np.eye(9)).all()


@pytest.mark.parametrize("width", [3, 40])
def test_distances_beyond_the_range_of_single_precision(width):
    X = np.random.default_rng(1).standard_normal((9, width)).astype(np.float32) * np.float32(1e25)
    for kernel in (Gaussian(1.0), Matern(1.5)):
        if width == 3:  # differences reach infinity, and the kernel its limit 0
            assert (kernel(X) == np.eye(9)).all()
        else:  # centred dot products would be infinity minus infinity
            with pytest.raises(OverflowError, match="use float64"):
                kernel(X)
            assert (kernel(X.astype(np.float64)) == np.eye(9)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh(dtype, instruction_set):
    x = np.concatenate([np.geomspace(1e-30, 50, 400), [0.0]]).astype(dtype)
    x = np.concatenate([-x, x])[:, None]
    one = np.ones((1, 1), dtype)
    expected = np.tanh(x[:, 0].astype(np.longdouble))
    k = Sigmoid(1.0)(x, one)[:, 0]
    assert (np.abs(k - expected) <= 4 * np.finfo(dtype).eps * np.abs(expected)).all()
    assert (np.abs(k) <= 1).all()


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0, 1.3, 2.0])
def test_powers_of_distances(power, instruction_set):
    x = np.geomspace(1e-150, 1e3, 500)[:, None]
    k = NegativeDistance(L1(), power=power)
    expected = -(x[:, 0].astype(np.longdouble) ** np.longdouble(power))
    K = k(x, [[0.0]])[:, 0]
    assert (np.abs(K - expected) <= 1e-12 * np.abs(expected)).all()
    assert k([[0.0]], [[0.0]]) == 0


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 17])
def test_integer_powers_of_negative_numbers(degree, instruction_set):
    x = np.linspace(-2, 2, 41)[:, None]
    np.testing.assert_allclose(
        Polynomial(degree, c=0.0)(x, [[1.0]])[:, 0], (1.0 * x[:, 0]) ** degree, rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("size", [1e150, 1e200, 4e307])
def test_cosine_of_tiny_and_enormous_vectors(form, size):
    X = form(np.array([[3 / size, -4 / size], [3 * size, -4 * size], [0.0, 0.0], [4.0, -3.0]]))
    expected = [[1, 1, 0, 0.96], [1, 1, 0, 0.96], [0, 0, 0, 0], [0.96, 0.96, 0, 1]]
    np.testing.assert_allclose(Cosine()(X), expected, rtol=1e-12)
    phi = Cosine().features(X)
    assert sp.issparse(phi) == sp.issparse(X)
    phi = phi.toarray() if sp.issparse(phi) else phi
    np.testing.assert_allclose(phi @ phi.T, expected, rtol=1e-12)
    assert Cosine().diag(X).tolist() == [1, 1, 0, 1]


def test_a_scale_beyond_single_precision_is_not_nan():
    far = RationalQuadratic(1.0, 1e-25)(np.array([[0.0], [1.0]], dtype=np.float32))
    np.testing.assert_allclose(far, np.eye(2), atol=1e-30)
