"""Levels of samples by size, and bounds on float32 that few large samples do not spoil for all others."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.kernels.levels import FACTOR, MOST, Levels

rng = np.random.default_rng(5)


def test_a_level_ends_at_so_many_times_the_size_of_the_one_below():
    sizes = np.array([1.0, 1.0, 1.0, 1.0, 1e-9, FACTOR, 1.01 * FACTOR, FACTOR**3, np.inf, 0.0])
    levels = Levels.by(None, sizes, samples=10)
    assert levels.of.tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 3, 0]
    assert levels.count == 4
    assert levels.largest(np.arange(10.0)).tolist() == [9, 6, 7, 8]
    assert levels.ordered(np.array([7, 0, 7])).tolist() == [2, 0, 2]
    assert levels.ordered(None) is levels.of


def test_there_are_no_more_levels_than_may_be():
    levels = Levels.by(np.concatenate([np.ones(1000), np.geomspace(1, 1e300, 900)]), samples=1900)
    assert levels.count <= MOST
    assert levels.of[-1] == levels.of[-700] == levels.count - 1


@pytest.mark.parametrize("sizes", [np.ones(5), np.zeros(5), np.full(5, np.nan), np.array([]), np.array([0, 0, 0, 1.0])])
def test_samples_that_cannot_be_told_apart_are_of_one_level(sizes):
    levels = Levels.by(sizes, samples=len(sizes))
    assert levels.count == 1
    assert (levels.of == 0).all()


def test_of_several_sizes_the_largest_counts():
    levels = Levels.by(np.array([1.0, 1.0, 1.0, 2 * FACTOR]), np.array([10 * FACTOR**4, 10.0, 10.0, 10.0]), samples=4)
    assert levels.of.tolist() == [2, 0, 0, 1]
    assert Levels.by(None, samples=3).of.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(3.0) * Polynomial(2), Gaussian(3.0) + Linear()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_known_of_the_others_does_not_suffer_from_a_large_sample(kernel, dtype):
    x = rng.standard_normal((300, 10)).astype(dtype)
    plain = kernel.gram(x).matrices(None).errors
    x[7] *= 1e3
    large = kernel.gram(x).matrices(None).errors
    assert large.largest > 1e3 * plain.largest
    ordinary = max(large.between(i, j) for i in range(0, 300, 11) for j in range(0, 300, 13))
    assert ordinary <= 20 * plain.largest  # the centre moves with it, so distances from there are longer
