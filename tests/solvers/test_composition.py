"""Compositions reach the solvers as programs of the core, and are solved as their matrices written out are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import SVC
from mercer.kernels import Categorical, Cosine, Gaussian, Intersection, Laplacian, Linear, Matern, Polynomial, Spectrum
from mercer.kernels.native import BoundPairs
from mercer.kernels.pairs import Pairs
from mercer.problem import hinge
from mercer.solvers import SMO

rng = np.random.default_rng(3)
N = 2500
X = rng.standard_normal((N, 18))
Y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(N) > 0, 1, -1)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "city": rng.choice(["Ulm", "Kiel", "Bonn"], N)})
KERNELS = [
    (Gaussian(3.0) + 0.001 * Linear(), X),
    (Gaussian(3.0) * Polynomial(2, gamma=0.1), X),
    (Polynomial(3, gamma=0.1).normalized(), X),
    (Gaussian(2.0).on([0, 1]) + Gaussian(3.0).on(list(range(2, 18))), X),
    (Gaussian(3.0).centered(), X[:1500]),
    ((Matern(1.5, length=3.0) + 0.5 * Laplacian(0.1)) ** 2, X.astype(np.float32)),
    (Gaussian(1.0) + 0.1 * Linear(), sp.csr_array(np.where(rng.random(X.shape) < 0.1, X, 0.0))),
    (Intersection() * Gaussian(1.0), np.abs(X[:1500])),
    (Gaussian(1.0).on(["a", "b"]) * (0.5 + Categorical().on("city")), TABLE),
]


@pytest.mark.parametrize(("kernel", "x"), KERNELS, ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "")
def test_no_block_is_filled_by_python(kernel, x, monkeypatch):
    count = x.shape[0]

    def forbidden(self, *_):
        raise AssertionError(f"{type(self).__name__} was asked for a block by Python")

    made = SVC(kernel=kernel, C=1.0)
    with monkeypatch.context() as patch:
        for owner in (Pairs, BoundPairs):
            if "fill" in vars(owner):
                patch.setattr(owner, "fill", forbidden)
        made.fit(x, Y[:count])
    gram = kernel.resolve(x).gram(x)
    given = SVC(kernel="precomputed", C=1.0).fit(gram.exact.to_dense(), Y[:count])
    found, expected = made.certificate_, given.certificate_
    assert found.converged
    assert found.violation <= 1e-3
    assert found.dual == pytest.approx(expected.dual, rel=2e-4)
    assert found.primal == pytest.approx(expected.primal, rel=2e-4)


def test_strings_and_their_sums_are_one_matrix_product():
    words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    kernel = Spectrum(2) + 0.5 * Spectrum(3) + 1
    labels = np.arange(60) % 2
    made = SVC(kernel=kernel).fit(words, labels)
    given = SVC(kernel="precomputed").fit(kernel(words), labels)
    assert made.certificate_.dual == pytest.approx(given.certificate_.dual, rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "shift"),
    [
        (Gaussian(1.0) + 100, 0.0),
        (Cosine() + 2, 10.0),
        (0.01 * Linear() + 2, 10.0),
        (Polynomial(2, gamma=0.01).normalized() + 1, 30.0),
    ],
    ids=repr,
)
def test_the_optimum_lies_within_the_certificate_where_a_constant_is_most_of_the_kernel(kernel, shift):
    for seed in range(4):
        draw = np.random.default_rng(seed)
        x = draw.standard_normal((600, 10)) + shift
        y = np.where(x[:, 0] - shift + draw.standard_normal(600) > 0, 1, -1)
        for C in (0.1, 0.5):
            found = SVC(kernel=kernel, C=C).fit(x, y).certificate_
            optimum = SVC(kernel="precomputed", C=C, tol=1e-9).fit(kernel(x), y).certificate_
            assert optimum.gap <= 1e-9 * optimum.dual
            assert found.dual <= optimum.primal
            assert optimum.dual <= found.primal


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0) + Linear(), Gaussian(2.0) * Polynomial(2, gamma=0.1), Polynomial(2, gamma=0.1), Linear()],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [10.0, 1e2, 1e4])
def test_certificates_hold_where_one_in_two_hundred_samples_is_large(kernel, dtype, scale):
    draw = np.random.default_rng(8)
    x = draw.standard_normal((1200, 5))
    x[::200] *= scale * draw.random((6, 1))
    y = np.where(np.tanh(x[:, 0]) > 0.6 * draw.standard_normal(1200), 1.0, -1.0)
    gram = kernel.gram(x.astype(dtype))
    K = gram.exact.to_dense()
    (found,) = SMO(max_iter=300_000).solve(gram, [hinge(y, 0.3)])
    a, f = found.coefficients, K @ found.coefficients
    rises, falls = a < 0.3 * np.maximum(0, y), a > 0.3 * np.minimum(0, y)
    true = (y - f)[rises].max() - (y - f)[falls].min()
    rounding = 1e-15 * (np.abs(K) @ np.abs(a)).max()
    assert true <= found.certificate.violation + rounding
    dual = y @ a - 0.5 * a @ f
    assert found.certificate.dual <= dual + 1e-6 * abs(dual) + rounding * np.abs(a).sum()


@pytest.mark.parametrize("kernel", [Gaussian(1.0) + Linear(), (Gaussian(1.0) + Linear()).normalized()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_certificates_hold_where_few_samples_are_much_larger_than_the_others(kernel, dtype):
    x, y = X[:400, :5].copy(), np.where(X[:400, 0] > 0.3 * X[:400, 6], 1.0, -1.0)
    x[:8] *= 1e8
    gram = kernel.gram(x.astype(dtype))
    expected = gram.exact.to_dense()
    np.testing.assert_array_equal(gram.matrices(None).dense(), expected)
    (found,) = SMO().solve(gram, [hinge(y, 1.0)])
    a, f = found.coefficients, expected @ found.coefficients
    rises, falls = a < np.maximum(0, y), a > np.minimum(0, y)
    assert found.certificate.converged
    assert (y - f)[rises].max() - (y - f)[falls].min() <= 1.1e-3
