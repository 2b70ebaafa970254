"""The search for the nearest samples against sorting all distances, where ties and rounding are worst."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import _native
from mercer.kernels import (
    L1,
    Chi2Distance,
    Custom,
    Exponential,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Mahalanobis,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    exp,
)
from mercer.kernels.pairs import step
from mercer.neighbors import ByDistance, ByKernel, ByVectors, falls, search

rng = np.random.default_rng(0)


def sorted_all(squared, k):
    """Positions and values of the k smallest of every row, of equal ones the first."""
    index = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return index, np.take_along_axis(squared, index, axis=1)


def euclidean(x, z):
    x, z = x.astype(np.float64), z.astype(np.float64)
    return np.array([((row - z) ** 2).sum(axis=1) for row in x])


def found(kernel, x, z, k):
    nearest = search(kernel, kernel.samples(z))
    return nearest, *nearest.rank(kernel.samples(x), k)


def check_euclidean(x, z, k, kernel=None, exact=False):
    kernel = Gaussian(1.0) if kernel is None else kernel
    nearest, index, values = found(kernel, x, z, k)
    assert type(nearest) is ByVectors
    squared = euclidean(x, z)
    _, expected = sorted_all(squared, k)
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=0)
    np.testing.assert_allclose(np.take_along_axis(squared, index, axis=1), expected, rtol=1e-13, atol=0)
    assert all(len(set(row)) == k for row in index)
    if exact:
        np.testing.assert_array_equal(index, sorted_all(squared, k)[0])
    ties = values[:, 1:] == values[:, :-1]
    assert (np.diff(index, axis=1)[ties] > 0).all()
    return nearest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 16, 17, 70])
@pytest.mark.parametrize(("rows", "k"), [(1, 1), (7, 7), (200, 1), (500, 5), (500, 200)])
def test_random_vectors(rows, k, columns, dtype, instruction_set):
    z, x = rng.standard_normal((rows, columns)).astype(dtype), rng.standard_normal((37, columns)).astype(dtype)
    check_euclidean(x, z, k, exact=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("low", "high", "columns"), [(0, 3, 4), (0, 255, 30), (-100, 100, 17), (1000, 1200, 300)])
def test_whole_numbers_are_exact_ties_by_position(low, high, columns, dtype, instruction_set):
    z, x = (rng.integers(low, high + 1, (n, columns)).astype(dtype) for n in (400, 50))
    nearest = check_euclidean(x, z, 7, exact=True)
    assert nearest.columns.integers is not None


def test_queries_off_the_grid_of_the_samples():
    z = rng.integers(0, 10, (300, 20)).astype(np.float64)
    for x in (z[:40] + 0.5, z[:40] + 1e-12, z[:40] * 1e3, z[:40] - 1, z[:40] + 2.0**60):
        check_euclidean(x, z, 5)


def test_whole_numbers_whose_distances_float32_cannot_tell():
    z = rng.integers(0, 2, (300, 2000)) * 255.0
    x = z[:20] + 0.0
    x[:, :3] = 255.0 - x[:, :3]
    check_euclidean(x, z, 5, exact=True)


def test_neighbours_that_float32_cannot_tell_apart():
    """Clusters far from each other and tiny: the bounds of the first pass overlap, so float64 must decide."""
    centres = 1e3 * rng.standard_normal((5, 20))
    z = np.concatenate([c + 1e-4 * rng.standard_normal((60, 20)) for c in centres])
    x = np.concatenate([c + 1e-4 * rng.standard_normal((10, 20)) for c in centres])
    nearest = check_euclidean(x, z, 5, exact=True)
    index, values = np.empty((50, 5), dtype=np.int64), np.empty((50, 5))
    assert not nearest.columns.by_bounds(x, 13, index, values).any()


@pytest.mark.parametrize("scale", [1e-145, 1e-30, 1e30, 1e145])
@pytest.mark.parametrize("columns", [5, 40])
def test_any_scale(scale, columns):
    z, x = scale * rng.standard_normal((300, columns)), scale * rng.standard_normal((20, columns))
    check_euclidean(x, z, 5, Gaussian(scale), exact=True)


def test_outliers_and_far_queries():
    z = rng.standard_normal((400, 30))
    z[7] = 1e12
    x = rng.standard_normal((20, 30))
    x[3] = 1e14
    x[4] = -1e25
    check_euclidean(x, z, 5)


def test_bounds_are_true():
    """What the first pass believes is never farther from the truth than it says."""
    z, x = rng.standard_normal((300, 100)) * np.exp(rng.standard_normal(300))[:, None], rng.standard_normal((40, 100))
    columns = search(Gaussian(1.0), Gaussian(1.0).samples(z)).columns
    single = columns.single(x)
    pairs, offset = columns.bounded
    index, lower = np.empty((40, 300), dtype=np.int64), np.empty((40, 300), dtype=np.float32)
    pairs.with_rows(_native.dense_rows(single)).nearest(1.0, offset, index, lower)
    squares = (single.astype(np.float64) ** 2).sum(axis=1)
    bound = (lower - columns.share * squares[:, None]) * columns.unit**2
    exact = np.take_along_axis(euclidean(x, z), index, axis=1)
    assert (bound <= exact).all()
    assert (bound >= exact - 3 * columns.share * (squares.max() + 1) * columns.unit**2 * 100).all()
    proven = columns.by_bounds(x, 13, np.empty((40, 5), dtype=np.int64), np.empty((40, 5)))
    assert proven.mean() > 0.9


@pytest.mark.parametrize("sigma", [(1.0, 2.0, 30.0), 0.01])
def test_widths_of_columns_and_kernels_that_vanish(sigma):
    z, x = rng.standard_normal((300, 3)), rng.standard_normal((20, 3))
    by = np.atleast_1d(np.array(sigma))
    nearest, index, values = found(Gaussian(sigma), x, z, 5)
    expected, squared = sorted_all(euclidean(x / by, z / by), 5)
    np.testing.assert_array_equal(index, expected)
    distances = nearest.squared(Gaussian(1.0).samples(x), values)
    np.testing.assert_allclose(distances, 2 - 2 * np.exp(-squared / 2), atol=1e-12)


KERNELS = [
    Linear(),
    Polynomial(3, c=0.5),
    Intersection(),
    Sigmoid(0.1, 0.0),
    Gaussian(1.0) + Linear(),
    Laplacian(0.5),
    Matern(1.5, 2.0),
    Matern(0.5, 2.0),
    RationalQuadratic(1.5, 2.0),
    Exponential(Chi2Distance(), beta=3.0),
    Exponential(L1(), power=1),
    Exponential(Mahalanobis(np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))),
    2 * Gaussian(1.0) ** 2,
    exp(Gaussian(1.0)),
    Gaussian(2.0).on([0, 2]),
    Linear().normalized(),
    Custom(lambda a, b: a @ b.T),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_any_kernel(kernel):
    z, x = rng.random((150, 6)) + 0.1, rng.random((20, 6)) + 0.1
    nearest, index, values = found(kernel, x, z, 6)
    squared = kernel.diag(x)[:, None] - 2 * kernel(x, z) + kernel.diag(z)
    expected, smallest = sorted_all(squared, 6)
    np.testing.assert_allclose(nearest.squared(kernel.samples(x), values), np.maximum(smallest, 0), atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(squared, index, axis=1), smallest, atol=1e-12)
    assert (index == expected).mean() > 0.99


def test_the_search_that_fits_the_kernel():
    z = rng.random((20, 6))
    kinds = [
        (Gaussian(1.0), z, ByVectors),
        (Gaussian(1.0), sp.csr_array(z), ByDistance),
        (Matern(2.5), z, ByVectors),
        (Laplacian(1.0), z, ByDistance),
        (Exponential(Chi2Distance()), z, ByDistance),
        (Linear(), z, ByKernel),
        (-Gaussian(1.0), z, ByKernel),
    ]
    for kernel, samples, kind in kinds:
        assert type(search(kernel, kernel.samples(samples))) is kind


def test_falling_steps():
    Op = _native.Op
    assert falls((step(Op.power, 0.5), step(Op.affine, 2.0, 1.0), step(Op.exp, -3)))
    assert falls((step(Op.matern32, 1.0), step(Op.integer, 3), step(Op.affine, 5.0, -1.0)))
    assert falls((step(Op.decay, 1.0, 0.5),))
    assert not falls(())
    assert not falls((step(Op.affine, -1.0), step(Op.integer, 2)))
    assert not falls((step(Op.exp, -1.0), step(Op.affine, 0.0, 1.0)))
    assert not falls((step(Op.exp, -1.0), step(Op.series, c=[1, 2])))


def test_sparse_vectors():
    z, x = sp.random_array((200, 50), density=0.1, rng=1), sp.random_array((20, 50), density=0.1, rng=2)
    _, index, values = found(Gaussian(1.0), sp.csr_array(x), sp.csr_array(z), 5)
    expected, squared = sorted_all(euclidean(x.toarray(), z.toarray()), 5)
    np.testing.assert_allclose(values, squared, rtol=1e-12)
    assert (index == expected).mean() > 0.99


def test_a_precomputed_matrix():
    z, x = rng.standard_normal((100, 4)), rng.standard_normal((20, 4))
    kernel = Polynomial(2)
    nearest = search(Precomputed(), Precomputed().samples(kernel(z)))
    index, _ = nearest.rank(Precomputed().samples(kernel(x, z)), 5)
    np.testing.assert_array_equal(index, found(kernel, x, z, 5)[1])
    with pytest.raises(ValueError, match="known only for the samples"):
        nearest.squared(Precomputed().samples(kernel(x, z)), np.zeros((20, 5)))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Laplacian(1.0), Custom(lambda a, b: a @ b.T)], ids=repr)
def test_the_number_of_threads_changes_nothing(kernel, set_threads):
    z, x = rng.integers(0, 4, (700, 20)) / 3, rng.integers(0, 4, (333, 20)) / 3  # full of ties
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(found(kernel, x, z, 9)[1:])
    for index, values in results[1:]:
        np.testing.assert_array_equal(index, results[0][0])
        np.testing.assert_array_equal(values, results[0][1])
