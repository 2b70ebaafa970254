"""Rows of a matrix that is given: looked at where they lie."""

import tracemalloc

import numpy as np
import pytest

from mercer import SVC
from mercer.samples import Similarities

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 3, 1500])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 3e-6, 1e-4, 1.0])
def test_symmetric_is_what_all_entries_together_say(n, dtype, noise):
    A = rng.standard_normal((n, n))
    A = (A + A.T + noise * rng.standard_normal((n, n))).astype(dtype)
    some = rng.permutation(n)[: n // 2 + 1]
    for samples in (Similarities(A), Similarities(A).take(some)):
        own = samples.matrix[:, samples.place]
        assert samples.symmetric == np.allclose(own, own.T, rtol=1e-5, atol=1e-6 * np.abs(own).max())


def test_nothing_is_symmetric_that_is_not_a_number():
    assert not Similarities(np.array([[1.0, np.nan], [np.nan, 1.0]])).symmetric
    assert not Similarities(np.array([[1.0, np.inf], [1.0, 1.0]])).symmetric
    assert Similarities(np.array([[1.0, np.inf], [np.inf, 1.0]])).symmetric


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["precomputed", "a function"])
@pytest.mark.alone("measures memory")
def test_a_given_matrix_is_not_copied(dtype, kernel):
    K = np.eye(2500, dtype=dtype)
    K[0, 1], K[1, 0] = 0.25, 0.25 + 1e-6  # not quite
    y, X = np.arange(len(K)) % 2, np.zeros((len(K), 1))
    C = np.where(np.arange(len(K)) < 40, 1.0, 0.0)
    machine = SVC(kernel=kernel if kernel == "precomputed" else lambda A, B: K)
    tracemalloc.start()
    machine.fit(K if kernel == "precomputed" else X, y, C)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6, peak  # temporary parts of 2 MB; K has 50 or 25 MB
