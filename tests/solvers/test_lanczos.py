"""Block Lanczos against LAPACK: spectra that are spread, clustered, of low rank, and with a negative end."""

import numpy as np
import pytest

from mercer.solvers.lanczos import largest

rng = np.random.default_rng(0)
n = 300
Q = np.linalg.qr(rng.standard_normal((n, n)))[0]

SPECTRA = {
    "spread": 0.95 ** np.arange(n),
    "clustered": np.r_[np.ones(5), 0.99 * np.ones(5), 0.5 ** np.arange(n - 10)],
    "low rank": np.r_[5.0, 3.0, np.zeros(n - 2)],
    "negative end": np.r_[3.0, 2.0, 1.5, 1.2, 1.0, 0.9, rng.uniform(-4, 0.5, n - 6)],
}


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())
def test_finds_the_largest(spectrum):
    A = (Q * spectrum) @ Q.T
    found = largest(lambda V: A @ V, rng.standard_normal((n, 12)), 6, tol=1e-8, max_iterations=200)
    assert found.converged
    np.testing.assert_allclose(found.values, np.sort(spectrum)[::-1][:6], atol=1e-9 * abs(spectrum).max())
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-12)
    residuals = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-12)
    assert residuals.max() <= 1e-8 * abs(found.values).max()


def test_restarts_keep_the_basis_narrow():
    widest = 0
    A = (Q * SPECTRA["spread"]) @ Q.T

    def product(V):
        nonlocal widest
        widest = max(widest, V.shape[1])
        return A @ V

    found = largest(product, rng.standard_normal((n, 3)), 3, tol=1e-9, max_iterations=100)
    assert found.converged
    assert found.iterations > 12  # it has restarted
    assert widest == 3
    assert found.values[0] == pytest.approx(SPECTRA["spread"].max(), rel=1e-12)


def test_says_when_it_did_not_converge():
    A = (Q * SPECTRA["spread"]) @ Q.T
    found = largest(lambda V: A @ V, rng.standard_normal((n, 3)), 2, tol=1e-12, max_iterations=3)
    assert not found.converged
    assert found.iterations == 3
    assert found.residuals.max() > 1e-6


def test_stops_at_the_floor_of_rounding():
    A = ((Q * SPECTRA["spread"]) @ Q.T).astype(np.float32)
    product = lambda V: (A @ V.astype(np.float32)).astype(float)  # noqa: E731
    found = largest(product, rng.standard_normal((n, 12)), 6, tol=1e-12, max_iterations=100, floor=1e-4)
    assert found.iterations < 30
    assert found.residuals.max() < 1e-5
