"""Programs over pairs: what shares a reduction, bounds on float32, and parts of every kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import _native
from mercer.kernels import (
    L2,
    Chi2,
    Cosine,
    Custom,
    Exponential,
    Gaussian,
    JensenShannon,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    exp,
)
from mercer.kernels.composition import ComposedPairs, shared
from mercer.kernels.native import NativePairs
from mercer.samples import as_samples

rng = np.random.default_rng(7)
X = rng.standard_normal((90, 20))


def plan(kernel, x=X, *, products_too=True):
    samples = kernel.samples(x)
    pairs = kernel.bind(samples, samples)
    assert isinstance(pairs, ComposedPairs)
    return shared(pairs, products_too=products_too)


def test_parts_on_the_same_columns_share_a_reduction():
    (one,) = plan(Gaussian(1.0) + 0.001 * Linear()).parts
    assert one.reduction == _native.Reduction.squared_distance
    assert one.rate == pytest.approx(0.5)
    (several,) = plan(Gaussian(1.0) + Gaussian(2.0) * Polynomial(2) + Linear()).parts
    assert several.rate == 0  # accurate for both widths
    assert len(plan(Gaussian(1.0).on([0, 1]) + Gaussian(1.0).on([2, 3])).parts) == 2
    assert len(plan(Gaussian(1.0) + Laplacian(1.0)).parts) == 2
    assert len(plan(Gaussian((2.0,) * 20) + Linear()).parts) == 2  # scaled columns and others
    assert len(plan(Gaussian(1.0) + Linear(), products_too=False).parts) == 2
    assert len(plan(Linear() + Polynomial(2), products_too=False).parts) == 1


def test_constants_are_steps():
    samples = as_samples(X)
    assert isinstance((Linear() + 1).bind(samples, samples), NativePairs)
    assert (0 * Linear() + 2 + 3).bind(samples, samples).dense()[3, 4] == 5


# Samples far apart in size, far from zero, in clusters, and equal ones.
NASTY = {
    "plain": X,
    "duplicates": np.repeat(X[:9], 10, axis=0),
    "scales": X * np.geomspace(1e-3, 1e2, 90)[:, None],
    "columns of scales": X * np.geomspace(1e-2, 10, 20),
    "far clusters": X * 0.01 + 30 * np.eye(3)[rng.integers(0, 3, 90)][:, rng.integers(0, 3, 20)],
    "far from zero": X + 1e3,
    "histograms": np.abs(X),
}
BOUNDED = [
    Gaussian(1.0),
    Gaussian(30.0) + Gaussian(0.3),
    Gaussian(1.0) + 0.001 * Linear(),
    Gaussian(3.0) * Polynomial(2, gamma=0.1),
    Polynomial(3, gamma=0.01).normalized(),
    (Polynomial(2, gamma=0.01) + Gaussian(2.0)).normalized(),
    Matern(0.5, length=3.0),
    Matern(1.5, length=3.0),
    Matern(2.5, length=0.5) * Matern(0.5),
    RationalQuadratic(alpha=0.7, length=2.0),
    RationalQuadratic(alpha=20.0, length=1.0) + Linear(),
    PowerSeries((1, 0.5, 0.25)),
    Exponential(L2(), power=1),
    Exponential(L2(), power=0.7),
    Exponential(L2(), beta=5.0, power=1.5),
    Laplacian(0.1) * Linear(),
    Sigmoid(gamma=0.01) + 1,
    exp(-0.1 * Gaussian(2.0)),
    (Gaussian(2.0) - 0.5 * Laplacian(0.1)) ** 2,
]
OF_HISTOGRAMS = [Chi2(), JensenShannon() + Chi2(), Chi2().normalized()]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rounded", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("data", NASTY)
def test_the_bounds_hold(data, rounded, sparse):
    x = NASTY[data].astype(np.float32) if rounded else NASTY[data]
    x = sp.csr_array(x) if sparse else x
    for kernel in (*BOUNDED, *(OF_HISTOGRAMS if data == "histograms" else ())):
        off, bound = by_the_core(kernel, as_samples(x))
        if bound is not None:
            assert (off <= bound).all(), kernel


@pytest.mark.parametrize("kernel", [*BOUNDED[:-3], *OF_HISTOGRAMS], ids=repr)
def test_the_bounds_are_of_use(kernel):
    off, bound = by_the_core(kernel, as_samples(NASTY["histograms"]))
    assert bound is not None
    assert bound.max() <= 1e4 * max(off.max(), 1e-7)


def by_the_core(kernel, samples):
    """How far the entries of the core in float32 are from float64, and the bounds on that, or None, None."""
    gram = kernel.gram(samples)
    matrices = gram.pairs.matrices(gram, None, 2**30, single=True)
    single = matrices.dense_single()
    if single is None:
        return None, None
    return np.abs(single - kernel.gram(samples.astype(np.float64)).to_dense()), bounds_of(matrices, len(samples))


def bounds_of(matrices, count):
    return np.array([[matrices.errors.between(i, j) for j in range(count)] for i in range(count)])


PARTS = {
    "given": (Precomputed() * 2 + Precomputed() ** 2, X @ X.T, lambda K: 2 * K + K**2),
    "a user's function": (
        Gaussian(5.0) * Custom(lambda A, B: A @ B.T) + 0.5 * Linear(),
        X,
        lambda x: np.exp(-np.square(x[:, None] - x[None]).sum(axis=2) / 50) * (x @ x.T) + 0.5 * x @ x.T,
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_exist_or_that_python_fills(name):
    kernel, x, naive = PARTS[name]
    gram = kernel.gram(x)
    np.testing.assert_allclose(gram.to_dense(), naive(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram @ np.ones(len(x)), naive(x).sum(axis=1), rtol=1e-12, atol=1e-10)
    order = rng.permutation(len(x))[:50]
    matrices = gram.pairs.matrices(gram, order, 2**30, single=True)
    np.testing.assert_allclose(matrices.dense(), naive(x)[np.ix_(order, order)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [Precomputed() ** 2, 0.5 * Precomputed() + 1, Precomputed().normalized()], ids=repr)
def test_of_a_given_matrix_that_is_symmetric_up_to_rounding(kernel):
    given = X @ X.T
    given *= 1 + 1e-15 * rng.standard_normal(given.shape)
    gram = kernel.gram(np.tile(given, (5, 5)) + 500 * np.eye(450))
    for found in gram.to_dense(), gram.matrices(None).dense():
        np.testing.assert_array_equal(found, found.T)


SMALL = 1e-22 * X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("kernel", "x"),
    [
        (Matern(1.5, length=1e-22), SMALL),  # squares that float32 does not hold
        (Exponential(L2(), beta=0.006, power=0.1), SMALL),
        (Exponential(L2(), power=0.1), np.hstack([np.ones((90, 1)), SMALL])),
        (Linear() + Gaussian(1e-22), SMALL),  # 1 / sigma^2, neither
        (2 * Linear() * Linear(), 1e12 * X),
        (Linear() ** 3 * Gaussian(1.0) ** 4, X * 10.0 ** rng.integers(-14, 14, (90, 1))),
        (Polynomial(40, gamma=0.5), 5 * X),
        (PowerSeries((1, 1, 1)), 1e11 * X),
    ],
    ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "",
)
def test_what_float32_cannot_hold_has_no_bound(kernel, x, dtype):
    matrices = kernel.gram(x.astype(dtype)).matrices(None)
    single = matrices.dense_single()
    assert single is None or (np.abs(single - matrices.dense()) <= bounds_of(matrices, len(x))).all()


def test_features_are_laid_side_by_side_whatever_stands_before_them():
    words = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(9)]
    first = Custom(lambda a, b: float(a[0] == b[0]), pairwise=True)
    kernel = first + Spectrum(1) + Spectrum(2) + first
    x, z = kernel.samples(words), kernel.samples(words[:4])
    assert len(kernel.bind(x, x).parts) == len(kernel.bind(x, z).parts) == 3


@pytest.mark.parametrize("scale", [1.0, 1e-12])
@pytest.mark.parametrize("kind", ["cosine", "scaled", "polynomial", "power"])
def test_bounds_of_sparse_samples(kind, scale):
    for seed in range(20):
        data = np.random.default_rng(seed)
        x = sp.random_array((120, 400), density=(0.02, 0.1)[seed % 2], format="csr", rng=data) * scale
        size = (8 / 3, 40 / 3)[seed % 2] * scale**2
        kernel = {
            "cosine": Cosine(),
            "scaled": 3 * Linear(),
            "polynomial": Polynomial(9, c=0.3, gamma=0.77 / size),
            "power": Exponential(L2(), beta=1.3 * size**0.85, power=1.7),
        }[kind]
        matrices = kernel.gram(x).matrices(None)
        assert (np.abs(matrices.dense_single() - matrices.dense()) <= bounds_of(matrices, 120)).all()
