"""Kernels of histograms, entry by entry: zeros, values far apart, empty histograms, and objects told apart."""

import numpy as np
import pytest

from mercer.kernels import (
    Chi2,
    Chi2Distance,
    Delta,
    Exponential,
    Hellinger,
    Intersection,
    JensenShannon,
    NegativeDistance,
)

ENTRIES = [0.0, 1e-150, 1e-30, 1e-8, 0.3, 1.0, 1 + 1e-9, 7.0, 1e8, 1e30, 1e100]


def pairs_of_entries():
    h, g = (a.ravel() for a in np.meshgrid(ENTRIES, ENTRIES))
    return h[:, None], g[:, None]


def entry_by_entry(k, h, g):
    return np.array([k(h[i : i + 1], g[i : i + 1])[0, 0] for i in range(len(h))])


def test_chi2_entries(instruction_set):
    h, g = pairs_of_entries()
    a, b = h[:, 0].astype(np.longdouble), g[:, 0].astype(np.longdouble)
    total = np.where(a + b > 0, a + b, 1)
    np.testing.assert_allclose(entry_by_entry(Chi2(), h, g), (2 * a * b / total).astype(float), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(
        entry_by_entry(NegativeDistance(Chi2Distance()), h, g),
        -((a - b) ** 2 / total).astype(float),
        rtol=1e-12,
        atol=1e-300,
    )


def test_jensen_shannon_entries(instruction_set):
    h, g = pairs_of_entries()
    a, b = h[:, 0].astype(np.longdouble), g[:, 0].astype(np.longdouble)
    x, z = np.where(a > 0, a, 1), np.where(b > 0, b, 1)
    expected = (a * np.log1p(b / x) + b * np.log1p(a / z)) / (2 * np.log(np.longdouble(2)))
    np.testing.assert_allclose(entry_by_entry(JensenShannon(), h, g), expected.astype(float), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("k", [Chi2(), JensenShannon(), Intersection(), Hellinger()], ids=repr)
def test_empty_histograms(k, instruction_set):
    for dtype in (np.float32, np.float64):
        H = np.zeros((3, 5), dtype)
        H[2] = 0.2
        np.testing.assert_allclose(k(H), [[0, 0, 0], [0, 0, 0], [0, 0, 1]], rtol=1e-6)
    assert (Exponential(Chi2Distance())(H[:2]) == 1).all()


def test_single_precision_of_histograms(instruction_set):
    rng = np.random.default_rng(2)
    H = (rng.gamma(0.3, size=(30, 50)) * (rng.random((30, 50)) < 0.5)).astype(np.float32)
    for k in (Chi2(), JensenShannon(), Intersection(), Hellinger()):
        np.testing.assert_allclose(k(H), k(H.astype(np.float64)), rtol=2e-6)


def test_objects_are_told_apart_by_equality_not_by_their_text():
    class Same:
        def __repr__(self):
            return "same"

    assert (Delta()([Same(), Same(), Same()]) == np.eye(3)).all()
