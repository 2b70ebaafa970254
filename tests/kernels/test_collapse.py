"""Forms of an expansion that do not need its samples: the same values as the sum over samples, and cheaper."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, Expansion
from mercer.kernels import (
    Chi2,
    Cosine,
    FeatureMap,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    L1Normalized,
    Lift,
    Linear,
    Polynomial,
)
from mercer.kernels import collapse as forms
from mercer.samples import as_samples
from mercer.threads import limited

rng = np.random.default_rng(0)
STARTS = np.array([0, 700, 700, 1500])  # the second is empty


def histograms(n, d=12, zeros=0.3, dtype=np.float64):
    return ((0.01 + rng.random((n, d))) ** 2 * (rng.random((n, d)) > zeros)).astype(dtype)


Z, X = histograms(5000), np.vstack([histograms(90), np.zeros((1, 12)), 10 * histograms(9)])
X[3] = Z[5]  # entries that are knots
V = rng.standard_normal((5000, 3))

EXACT = [
    Intersection(),
    Linear(),
    Cosine(),
    Hellinger(),
    FeatureMap(Lift()),
    2 * Intersection() + Hellinger() + 1,
    Intersection().normalized(),
    Intersection().on([1, 4, 5]) + 0.5 * Linear(),
    Intersection().on(L1Normalized()),
    Polynomial(2, c=0.5, gamma=0.3).on([0, 1]),
    Polynomial(3, c=0).on([0, 1]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_equals_the_sum_over_samples(kernel, dtype):
    z, x = Z.astype(dtype), X.astype(dtype)
    f = kernel.collapse(kernel.samples(z), V, STARTS)
    assert f is not None
    direct = kernel.bind(kernel.samples(x.astype(np.float64)), kernel.samples(z.astype(np.float64)))
    expected, scale = direct.by_segment(V, STARTS), direct.by_segment(np.abs(V), STARTS)
    own = 1e-10 if dtype == np.float64 else 3e-7  # entries divided or rooted in float32 are rounded so
    assert (np.abs(f(kernel.samples(x)) - expected) <= own * scale + 1e-300).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Intersection(), Linear(), Hellinger(), Chi2(), JensenShannon()], ids=repr)
def test_sparse_rows(kernel, dtype):
    z, x = (sp.csr_array(histograms(n, 30, 0.6, dtype)) for n in (4000, 50))
    a = rng.standard_normal((4000, 1))
    starts = np.array([0, 1500])
    f = kernel.collapse(as_samples(z), a, starts)
    assert f is not None
    expected = kernel(x.toarray().astype(float), z.toarray().astype(float))
    tolerance = 3e-6 if kernel in (Chi2(), JensenShannon()) else 3e-7 if dtype == np.float32 else 1e-10
    for s, part in enumerate((slice(0, 1500), slice(1500, 4000))):
        error = np.abs(f(as_samples(x))[:, s] - expected[:, part] @ a[part])
        assert (error <= tolerance * (expected[:, part] @ np.abs(a[part])) + 1e-300).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon(), 2 * Chi2() + Intersection()], ids=repr)
def test_tables_err_no_more_than_they_say(kernel, dtype):
    a, starts = np.abs(V[:, :1]), np.array([0, 1500])  # nothing cancels, so the error is the largest there can be
    f = kernel.collapse(as_samples(Z.astype(dtype)), a, starts)
    assert f is not None
    x = np.vstack([X, X * 1e-3, X * 1e3]).astype(dtype)  # within the range of the samples' entries, and beyond
    direct = kernel.bind(as_samples(x.astype(float)), as_samples(Z.astype(dtype).astype(float))).by_segment(a, starts)
    below = direct - f(as_samples(x))
    rounding = 2e-6 if dtype == np.float32 else 1e-12
    assert (below <= (forms.STEP**2 / 8 + rounding) * direct).all()
    assert (below >= -rounding * direct).all()  # chords of concave functions lie below them
    assert below.max() > 1e-8 * direct.max()  # or there was no table


@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon()], ids=repr)
def test_float32_samples_have_the_table_of_their_equals_in_float64(kernel):
    z, x, zero = Z.astype(np.float32), X[:90].astype(np.float32), np.zeros(1, dtype=np.int64)
    single = kernel.collapse(as_samples(z), V[:, :1], zero)
    double = kernel.collapse(as_samples(z.astype(float)), V[:, :1], zero)
    assert single is not None
    assert double is not None
    np.testing.assert_array_equal(single(as_samples(x)), double(as_samples(x.astype(float))))


def test_no_table_where_coefficients_cancel():
    zero = np.zeros(1, dtype=np.int64)
    near = Z[0] + 1e-4 * rng.random((5000, 12))  # nearly equal samples with coefficients of either sign
    a = rng.standard_normal((5000, 1))
    a -= a.mean()
    assert Chi2().collapse(as_samples(near), np.abs(a), zero) is not None
    assert Chi2().collapse(as_samples(near), a, zero) is None


def test_the_cost_model_decides():
    """Few samples are compared with directly; many are not; and so are they if the form would be too large."""
    some = as_samples(Z[:200])
    zero = np.zeros(1, dtype=np.int64)
    assert Intersection().collapse(some, V[:200], zero) is None
    assert Intersection().collapse(as_samples(Z), V, zero) is not None
    assert Chi2().collapse(some, V[:200], zero) is None
    assert JensenShannon().collapse(as_samples(Z[:1500]), V[:1500], zero) is not None  # each pair costs more
    assert Polynomial(3).collapse(as_samples(np.tile(Z, 4)), V, zero) is None  # 20,000 features
    assert Linear().collapse(some, V[:200], np.arange(200)) is None  # more sums than samples
    assert Gaussian(1.0).collapse(as_samples(Z), V, zero) is None
    assert (Intersection() + Gaussian(1.0)).collapse(as_samples(Z), V, zero) is None
    wide = sp.csr_array((np.ones(9000), (np.arange(9000) % 3000, np.arange(9000))), shape=(3000, 90_000))
    assert Linear().collapse(as_samples(wide), np.ones((3000, 500)), zero) is None  # 360 megabytes of weights


@pytest.mark.parametrize("kernel", [Intersection(), Chi2(), Linear()], ids=repr)
def test_a_row_alone_and_among_others(kernel):
    f = Expansion.of(kernel, Z, V[:, :1])
    assert f._forms == {}
    together = f(np.tile(X, (30, 1)))
    assert next(iter(f._forms.values())) is not None
    with limited(1):
        np.testing.assert_array_equal(together, f(np.tile(X, (30, 1))))
    alone = np.vstack([f(x[None]) for x in X])
    np.testing.assert_allclose(together[: len(X)], alone, rtol=1e-13, atol=1e-13)


def test_machines_predict_through_it():
    y = rng.integers(0, 4, 5000) + 4 * (Z[:, 0] > 0.1)
    machine = SVC(kernel=Intersection(), C=10).fit(Z, y)
    values = machine.decision_function(X)
    assert next(iter(machine._fit.expansion._forms.values())) is not None
    wide = machine.expansion_
    K = Intersection()(X, Z[machine.support_])
    votes = SVC(kernel=Intersection(), C=10, decision_function_shape="ovo").fit(Z, y).decision_function(X)
    np.testing.assert_allclose(votes, K @ wide.coefficients + wide.bias, atol=1e-9 * np.abs(wide.coefficients).sum())
    assert values.shape == (100, 8)


def test_what_pairs_refuse_is_refused():
    f = Expansion.of(Intersection(), Z, V)
    with pytest.raises(ValueError, match="X has 3 columns and Z has 12"):
        f(np.ones((2, 3)))
    with pytest.raises(ValueError, match="Negative values"):
        f(-X)
