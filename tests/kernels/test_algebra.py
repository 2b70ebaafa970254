"""The algebra of kernels: what is printed, what is valid, what depends on data, and what is refused."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    L1,
    L2,
    Categorical,
    Centered,
    Chi2,
    Chi2Distance,
    Constant,
    Cosine,
    Custom,
    Delta,
    Exponential,
    FeatureMap,
    Gaussian,
    Hellinger,
    HellingerDistance,
    Intersection,
    JensenShannon,
    Laplacian,
    Lift,
    Linear,
    Linf,
    Mahalanobis,
    Matern,
    Monomials,
    NegativeDistance,
    Polynomial,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Squares,
    UnresolvedKernelError,
    exp,
    named_kernel,
    repair,
)

X = np.random.default_rng(4).standard_normal((12, 3))

TEXTS = [
    (2 * Gaussian(sigma=1) + Linear() ** 2, "2 * Gaussian(sigma=1) + Linear() ** 2"),
    (Gaussian(0.5), "Gaussian(sigma=0.5)"),
    (Gaussian(gamma=2), "Gaussian(gamma=2)"),
    (Gaussian([1, 2.5]), "Gaussian(sigma=(1, 2.5,))"),
    (Gaussian("median"), "Gaussian(sigma='median')"),
    (Polynomial(3), "Polynomial(degree=3)"),
    (Polynomial(2, c=0, gamma=0.1), "Polynomial(degree=2, c=0, gamma=0.1)"),
    (PowerSeries((1, 0.5)), "PowerSeries((1, 0.5))"),
    (PowerSeries((1,)), "PowerSeries((1,))"),
    (Exponential(L1(), power=1), "Exponential(distance=L1(), power=1)"),
    (Exponential(Chi2Distance(), beta=3), "Exponential(distance=Chi2Distance(), beta=3)"),
    (Intersection(), "Intersection()"),
    (Intersection(levels=3), "Intersection(levels=3)"),
    (Matern(1.5), "Matern(nu=1.5)"),
    (Linear() + 1, "Linear() + 1"),
    (1 + Linear(), "1 + Linear()"),
    (Linear() - 1, "Linear() - 1"),
    (Linear() - Gaussian(1), "Linear() - Gaussian(sigma=1)"),
    (Linear() - 2 * Gaussian(1), "Linear() - 2 * Gaussian(sigma=1)"),
    (Linear() - (Linear() + Gaussian(1)), "Linear() - (Linear() + Gaussian(sigma=1))"),
    (-Linear(), "-1 * Linear()"),
    (2 * (Linear() + 1), "2 * (Linear() + 1)"),
    ((Linear() + 1) * Gaussian(1), "(Linear() + 1) * Gaussian(sigma=1)"),
    ((Linear() + 1) ** 2, "(Linear() + 1) ** 2"),
    ((2 * Linear()) ** 2, "(2 * Linear()) ** 2"),
    ((Linear() ** 2) ** 3, "(Linear() ** 2) ** 3"),
    (2 * Linear() ** 2, "2 * Linear() ** 2"),
    (Linear() * Gaussian(1) + 1, "Linear() * Gaussian(sigma=1) + 1"),
    (exp(0.5 * Linear()), "exp(0.5 * Linear())"),
    (exp(Linear()) ** 2, "exp(Linear()) ** 2"),
    (Linear().normalized(), "Linear().normalized()"),
    ((Linear() + 1).normalized(), "(Linear() + 1).normalized()"),
    (Linear().centered(), "Linear().centered()"),
    (Gaussian(1).on("age"), "Gaussian(sigma=1).on('age')"),
    (Gaussian(1).on(["a", "b"]), "Gaussian(sigma=1).on(['a', 'b'])"),
    (Gaussian(1).on(0) * Categorical().on("city"), "Gaussian(sigma=1).on(0) * Categorical().on('city')"),
    ((Linear() + 1).on([0, 1]), "(Linear() + 1).on([0, 1])"),
    (Linear().on(Lift()), "Linear().on(Lift())"),
    (FeatureMap(Monomials(2)), "FeatureMap(Monomials(degree=2, redundant=False))"),
    (repair(Sigmoid(1.0), "clip"), 'repair(Sigmoid(gamma=1), "clip")'),
]


@pytest.mark.parametrize(("k", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_repr(k, text):
    assert repr(k) == text


def _evaluated(text):
    import mercer.kernels

    return eval(text, {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__})


@pytest.mark.parametrize(
    "k",
    [
        *(k for k, _ in TEXTS),
        2 * (Linear() * Gaussian(1)),
        Linear() * (2 * Gaussian(1)),
        Linear() * (-Gaussian(1)),
        Linear() * (Linear() * Gaussian(1)),
        Linear() + -1,
        Linear() + 0.1 * (Gaussian(1) - 2 * Linear() * Laplacian(1)),
        (2 * Linear()) * Gaussian(1),
        ((Linear() + 1) ** 2).normalized().on([0, 1]) * 3,
        Gaussian(1e-300),
        Gaussian(1e22),
        Gaussian(1 / 3),
    ],
    ids=repr,
)
def test_repr_is_an_expression_for_the_same_kernel(k):
    assert _evaluated(repr(k)) == k


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2 * (3 * Linear()), 6 * Linear()),
        (Linear() * 2, 2 * Linear()),
        (np.float64(2) * Linear(), 2 * Linear()),
        (Linear() + (Gaussian(1) + Linear()), (Linear() + Gaussian(1)) + Linear()),
        (Linear() * (Gaussian(1) * Linear()), (Linear() * Gaussian(1)) * Linear()),
        (Linear() - 1, Linear() + (-1)),
        (Gaussian(1), Gaussian(1.0)),
        (Gaussian([1, 2]), Gaussian(np.array([1.0, 2.0]))),
        (PowerSeries([1, 2]), PowerSeries((1.0, 2.0))),
        (Polynomial(2.0), Polynomial(2)),
        (Linear().on([0, 1]), Linear().on((0, 1))),
        (Linear().on(np.array([0, 1])), Linear().on([0, 1])),
        (Exponential(Mahalanobis(np.eye(2))), Exponential(Mahalanobis(factor=np.eye(2)))),
    ],
    ids=repr,
)
def test_equal(left, right):
    assert left == right
    assert hash(left) == hash(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Gaussian(1), Gaussian(2)),
        (Gaussian(1), Laplacian(1)),
        (Linear() + Gaussian(1), Linear() * Gaussian(1)),
        (Linear() + Gaussian(1), Gaussian(1) + Linear()),
        (Linear().on(0), Linear().on(1)),
        (Linear().on(Lift()), Linear().on(Squares())),
        (Exponential(L1()), Exponential(L2())),
        (Exponential(Mahalanobis(np.eye(2))), Exponential(Mahalanobis(2 * np.eye(2)))),
        (Linear().centered(), Linear().centered().resolve(X)),
        (Linear().centered().resolve(X), Linear().centered().resolve(X + 1)),
        (Linear(), "Linear()"),
    ],
    ids=repr,
)
def test_different(left, right):
    assert left != right


INDEFINITE = Sigmoid(1.0)
UNKNOWN = Exponential(L1(), power=2)
CPD = NegativeDistance(L2())
PSD = Gaussian(1)

VALIDITY = [
    (Linear(), "psd"),
    (Polynomial(3), "psd"),
    (Polynomial(3, c=0), "psd"),
    (Polynomial(3, c=-1), "indefinite"),
    (Polynomial(3, gamma=-1), "indefinite"),
    (PowerSeries((1, 0, 2)), "psd"),
    (PowerSeries((1, -1)), "indefinite"),
    (Gaussian(1), "psd"),
    (Gaussian("median"), "psd"),
    (Laplacian(1), "psd"),
    (Matern(0.3), "psd"),
    (RationalQuadratic(1.0), "psd"),
    (Cosine(), "psd"),
    (Sigmoid(1.0), "indefinite"),
    (Categorical(), "psd"),
    (Intersection(), "psd"),
    (Chi2(), "psd"),
    (Hellinger(), "psd"),
    (JensenShannon(), "psd"),
    (FeatureMap(Lift()), "psd"),
    (Precomputed(), "unknown"),
    (Custom(np.dot), "unknown"),
    *((Exponential(D, power=p), "psd") for D in (L2(), Chi2Distance(), HellingerDistance()) for p in (0.5, 1, 2)),
    (Exponential(Mahalanobis(np.eye(2)), power=2), "psd"),
    (Exponential(L2(), power=2.1), "indefinite"),
    (Exponential(L1(), power=1), "psd"),
    (Exponential(L1(), power=0.5), "psd"),
    (Exponential(L1(), power=2), "unknown"),
    (Exponential(Linf(), power=1), "unknown"),
    (Exponential(Linf(), power=2), "unknown"),
    (Exponential(np.subtract.outer), "unknown"),
    (NegativeDistance(L2()), "cpd"),
    (NegativeDistance(L1(), power=1), "cpd"),
    (NegativeDistance(L1(), power=2), "unknown"),
    (Constant(1.0), "psd"),
    (Constant(-1.0), "cpd"),
    # sums
    (PSD + Linear(), "psd"),
    (PSD + 1, "psd"),
    (PSD - 1, "cpd"),
    (PSD + CPD, "cpd"),
    (CPD + CPD, "cpd"),
    (PSD + UNKNOWN, "unknown"),
    (PSD + INDEFINITE, "unknown"),
    (PSD - Linear(), "unknown"),
    # products
    (PSD * Linear(), "psd"),
    (PSD * CPD, "unknown"),
    (PSD * UNKNOWN, "unknown"),
    (INDEFINITE * INDEFINITE, "unknown"),
    # scales
    (2 * PSD, "psd"),
    (0 * PSD, "psd"),
    (0 * INDEFINITE, "psd"),
    (2 * CPD, "cpd"),
    (2 * INDEFINITE, "indefinite"),
    (2 * UNKNOWN, "unknown"),
    (-1 * PSD, "indefinite"),
    (-1 * UNKNOWN, "unknown"),
    # powers
    (PSD**3, "psd"),
    (PSD**0, "psd"),
    (CPD**1, "cpd"),
    (CPD**2, "unknown"),
    (INDEFINITE**2, "unknown"),
    # limits
    (exp(PSD), "psd"),
    (exp(CPD), "psd"),
    (exp(2 * CPD), "psd"),
    (exp(PSD - 3), "psd"),
    (exp(UNKNOWN), "unknown"),
    (exp(INDEFINITE), "unknown"),
    # the rest
    (PSD.normalized(), "psd"),
    (UNKNOWN.normalized(), "unknown"),
    (PSD.centered(), "psd"),
    (CPD.centered(), "psd"),
    (UNKNOWN.centered(), "unknown"),
    (PSD.on([0]), "psd"),
    (INDEFINITE.on([0]), "indefinite"),
    (PSD.on(Squares()), "psd"),
    (repair(INDEFINITE), "psd"),
]


@pytest.mark.parametrize(("k", "validity"), VALIDITY, ids=lambda v: repr(v)[:60])
def test_validity(k, validity):
    assert k.validity == validity


@pytest.mark.parametrize(
    "k", [Polynomial(2, c=0, gamma=-1), Polynomial(4, c=0, gamma=-2), Polynomial(2, c=-1, gamma=0)]
)
def test_an_even_power_of_a_negative_multiple_is_not_called_indefinite(k):
    """(-x.z)^2 = (x.z)^2 is positive semi-definite, whatever the sign of gamma."""
    assert np.linalg.eigvalsh(k(X))[0] > -1e-10
    assert k.validity != "indefinite"


@pytest.mark.parametrize("k", [k for k, validity in VALIDITY if validity == "cpd"], ids=repr)
def test_conditionally_positive(k):
    H = np.abs(X)
    P = np.eye(len(H)) - 1 / len(H)
    assert np.linalg.eigvalsh(P @ k(H) @ P)[0] > -1e-10


# -- what depends on data -----------------------------------------------------------------------------------------

UNRESOLVED = [
    Gaussian("median"),
    Gaussian(gamma="scale"),
    Gaussian(gamma="auto"),
    Laplacian("auto"),
    Sigmoid("auto"),
    Linear().centered(),
    Linear() + 2 * Gaussian("median"),
    Linear() * Gaussian(gamma="scale").on([0, 1]),
    exp(Gaussian("median")),
    Gaussian("median").normalized(),
    Gaussian("median").centered(),
    Gaussian("median") ** 2,
    Gaussian("median").on(Squares()),
    repair(Sigmoid("auto")),
]


@pytest.mark.parametrize("k", UNRESOLVED, ids=repr)
def test_an_unresolved_kernel_says_so(k):
    for use in (k, k.diag, k.gram, k.features, lambda A: k(A, A)):
        with pytest.raises(UnresolvedKernelError, match="resolve") as info:
            use(X)
        assert repr(k) in str(info.value)
    resolved = k.resolve(X)
    assert resolved(X).shape == (12, 12)
    assert resolved.resolve(X + 1) == resolved
    with pytest.raises(UnresolvedKernelError):
        k(X)  # the original has not changed


def test_median():
    from scipy.spatial.distance import pdist

    assert Gaussian("median").resolve(X).sigma == pytest.approx(np.median(pdist(X)), rel=1e-12)
    duplicated = np.repeat(X, 2, axis=0)
    assert Gaussian("median").resolve(duplicated).sigma == pytest.approx(np.median(pdist(X)), rel=1e-12)
    with pytest.raises(ValueError, match="two different samples"):
        Gaussian("median").resolve(np.ones((4, 2)))


def test_scale_and_auto():
    import scipy.sparse as sp

    S = np.where(X > 0.5, X, 0.0)
    assert Gaussian(gamma="scale").resolve(X).gamma == pytest.approx(1 / (3 * X.var()), rel=1e-12)
    assert Gaussian(gamma="scale").resolve(sp.csr_array(S)).gamma == pytest.approx(1 / (3 * S.var()), rel=1e-12)
    assert Gaussian(gamma="scale").resolve(np.ones((3, 2))).gamma == 1.0
    assert Gaussian(gamma="auto").resolve(X).gamma == pytest.approx(1 / 3)
    assert Laplacian("auto").resolve(X).gamma == pytest.approx(1 / 3)


def test_parts_are_resolved_from_what_they_see():
    k = Gaussian("median").on([0]) + Gaussian("median").on(Squares())
    assert k.resolve(X) == Gaussian("median").resolve(X[:, :1]).on([0]) + Gaussian("median").resolve(X**2).on(Squares())


def test_centered_rows_sum_to_zero():
    k = Gaussian(1).centered().resolve(X)
    assert np.abs(k(X).sum(axis=0)).max() < 1e-12
    assert isinstance(k, Centered)
    A = X + 0.5
    np.testing.assert_allclose(k.diag(A), np.diag(k(A)), rtol=1e-12)
    np.testing.assert_allclose(k(A, X), k(X, A).T, rtol=1e-12, atol=1e-15)


def test_the_means_of_centered_are_found_once():
    evaluated = []

    def f(A, B):
        evaluated.append(len(A) * len(B))
        return A @ B.T

    k = Custom(f).centered().resolve(X)
    expected = Linear().centered().resolve(X)
    np.testing.assert_allclose(k(X), expected(X), atol=1e-12)
    evaluated.clear()
    np.testing.assert_allclose(k(X[:1] + 1, X.copy()), expected(X[:1] + 1, X), atol=1e-12)
    assert sum(evaluated) == 2 * len(X)  # k(x, X), and the mean of k(x, .)


def test_centered_tables_may_hold_anything():
    def f(a, b):
        return float(a[0] @ b[0])

    def table(values):
        return pd.DataFrame({"x": list(values), "n": range(len(values))})

    k = Custom(f, pairwise=True).on(["x", "n"]).centered().resolve(table(X))
    expected = Linear().centered().resolve(X)
    np.testing.assert_allclose(k(table(X)), expected(X), atol=1e-12)
    np.testing.assert_allclose(k(table(X + 1), table(X)), expected(X + 1, X), atol=1e-12)


def test_a_resolved_kernel_does_not_change_when_the_data_do():
    A = X.copy()
    k = Linear().centered().resolve(A)
    before, name = k(X), hash(k)
    A += 100
    assert (k(X) == before).all()
    assert hash(k) == name


def test_normalized():
    k = Polynomial(2, c=0).normalized()
    A = np.vstack([X, np.zeros(3)])
    K = k(A)
    assert (np.diag(K) == [1.0] * 12 + [0.0]).all()
    assert (K[-1] == 0).all()
    assert (k.diag(A) == np.diag(K)).all()
    with pytest.raises(ValueError, match="needs k") as info:
        (-1 * Linear()).normalized()(X)
    assert "not positive semi-definite" in str(info.value)


# -- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables(frame):
    ages, cities = np.array([20.0, 30.0, 40.0]), ["Oslo", "Rome", "Oslo"]
    people = frame({"age": ages, "city": cities, "height": [1.5, 1.75, 2.0]})
    k = Gaussian(10).on("age") * Categorical().on("city") + Linear().on(["height", "age"])
    same = np.equal.outer(np.array(cities), np.array(cities))
    age = np.exp(-(np.subtract.outer(ages, ages) ** 2) / 200)
    height = np.array([1.5, 1.75, 2.0])
    np.testing.assert_allclose(k(people), age * same + np.outer(height, height) + np.outer(ages, ages), rtol=1e-12)
    np.testing.assert_allclose(k.diag(people), np.diag(k(people)), rtol=1e-12)
    new = frame({"age": [25.0], "city": ["Bern"], "height": [2.0]})
    np.testing.assert_allclose(k(people, new)[:, 0], height * 2 + ages * 25, rtol=1e-12)
    np.testing.assert_allclose(k.gram(people).rows([2]), k(people)[[2]], rtol=1e-12)
    assert k.validity == "psd"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_of_new_tables_are_matched_by_value(frame):
    train, test = frame({"c": ["b", "a", "c"]}), frame({"c": ["z", "c", "a"]})
    assert Categorical().on("c")(train, test).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert Categorical()(train).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_categories_of_any_pandas_type(dtype):
    column = pd.Series(["x", "y", "x"], dtype=dtype)
    assert Categorical().on("c")(pd.DataFrame({"c": column, "n": [1, 2, 3]}))[0].tolist() == [1, 0, 1]


def test_numeric_categories():
    table = pd.DataFrame({"c": [1, 2, 1], "s": ["x", "y", "x"]})
    assert Categorical().on("c")(table)[0].tolist() == [1, 0, 1]
    assert Categorical()(table)[0].tolist() == [1, 0, 1]


def test_parts_of_on_have_their_names():
    assert Linear().on([0, 1]).columns == (0, 1)
    assert Linear().on(Squares()).map == Squares()


def test_on_columns():
    A = pd.DataFrame(X, columns=["a", "b", "c"])
    assert (Linear().on("b")(A) == Linear()(X[:, 1:2])).all()
    assert (Linear().on(["c", "a"])(A) == Linear()(X[:, [2, 0]])).all()
    assert (Linear().on(1)(A) == Linear().on(1)(X)).all()
    assert (Linear().on(-1)(X) == Linear().on(2)(X)).all()
    assert (Linear().on(lambda B: B**2)(X) == Linear()(X**2)).all()


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(), ["sigma", "gamma", "exactly one"]),
        (lambda: Gaussian(1, gamma=1), ["sigma", "gamma", "exactly one"]),
        (lambda: Gaussian(0), ["sigma", "positive", "0"]),
        (lambda: Gaussian(-1), ["sigma", "positive", "-1"]),
        (lambda: Gaussian(np.nan), ["sigma", "positive", "nan"]),
        (lambda: Gaussian(np.inf), ["sigma", "positive", "inf"]),
        (lambda: Gaussian(1e-310), ["sigma", "1e-310", "inverse overflows"]),
        (lambda: Gaussian([1, -2]), ["every sigma", "positive", "-2"]),
        (lambda: Gaussian("mean"), ["median", "mean"]),
        (lambda: Gaussian(gamma=-1), ["gamma", "non-negative", "-1"]),
        (lambda: Gaussian(gamma="scael"), ["scale", "auto", "scael"]),
        (lambda: Polynomial(1.5), ["degree", "integer", "1.5"]),
        (lambda: Polynomial(-1), ["degree", "at least 0", "-1"]),
        (lambda: Polynomial(True), ["degree", "integer"]),
        (lambda: Polynomial(np.inf), ["degree", "integer", "inf"]),
        (lambda: Polynomial(np.nan), ["degree", "integer", "nan"]),
        (lambda: Polynomial("2"), ["degree", "integer"]),
        (lambda: Polynomial(2, c=np.nan), ["c must be", "finite"]),
        (lambda: Polynomial(2, gamma=np.inf), ["gamma", "finite"]),
        (lambda: PowerSeries(()), ["at least one"]),
        (lambda: PowerSeries((1, np.nan)), ["finite"]),
        (lambda: Laplacian(-1), ["gamma", "non-negative"]),
        (lambda: Matern(0), ["nu", "positive"]),
        (lambda: Matern(1.5, length=0), ["length", "positive"]),
        (lambda: RationalQuadratic(0), ["alpha", "positive"]),
        (lambda: RationalQuadratic(1.0, 1e-200), ["alpha length^2", "length=1e-200", "positive"]),
        (lambda: RationalQuadratic(1.0, 1e200), ["alpha length^2", "length=1e+200", "finite"]),
        (lambda: named_kernel("chi2", columns=2, gamma=0), ["gamma", "chi2", "positive", "0"]),
        (lambda: named_kernel("chi2", columns=2, gamma="scale"), ["gamma", "chi2", "positive", "scale"]),
        (lambda: Monomials(2.5), ["degree of Monomials", "integer", "2.5"]),
        (lambda: Monomials(-1), ["degree of Monomials", "at least 0", "-1"]),
        (lambda: Exponential(L2(), beta=0), ["beta", "positive"]),
        (lambda: Exponential(L2(), power=0), ["power", "positive"]),
        (lambda: Mahalanobis(), ["S", "factor", "exactly one"]),
        (lambda: Mahalanobis(np.eye(2), factor=np.eye(2)), ["exactly one"]),
        (lambda: Mahalanobis(np.ones((2, 3))), ["square", "(2, 3)"]),
        (lambda: Mahalanobis(np.array([[1.0, 0.5], [0.0, 1.0]])), ["symmetric"]),
        (lambda: Mahalanobis(np.diag([1.0, -1.0])), ["positive definite", "-1"]),
        (lambda: Mahalanobis(factor=np.zeros((2, 2))), ["invertible"]),
        (lambda: Mahalanobis(factor=np.ones((3, 2))), ["columns", "independent"]),
        (lambda: Mahalanobis(factor=np.ones((2, 3))), ["at most as many columns", "(2, 3)"]),
        (lambda: Exponential(Mahalanobis(np.eye(2)))(X), ["2 by 2", "3 columns"]),
        (lambda: Intersection(levels=0), ["levels", "at least 1"]),
        (lambda: Linear() ** -1, ["integer power", "-1"]),
        (lambda: Linear() ** 0.5, ["integer power", "0.5"]),
        (lambda: repair(Linear(), "clipp"), ["clip", "flip", "shift", "clipp"]),
        (lambda: np.nan * Linear(), ["nan"]),
        (lambda: Linear() + np.inf, ["inf"]),
    ],
)
def test_refused_values(make, words):
    with pytest.raises(ValueError) as info:  # noqa: PT011 - the words are checked below
        make()
    for word in words:
        assert word in str(info.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Linear() + "1",
        lambda: "2" * Linear(),
        lambda: Linear() * None,
        lambda: Linear() - [1],
        lambda: exp(2.0),
        lambda: Exponential(L2),
        lambda: Exponential("l2"),
        lambda: repair(2.0),
        lambda: FeatureMap("phi"),
        lambda: Custom(None),
        lambda: Linear().on(1.5),
        lambda: Linear().on(None),
    ],
)
def test_refused_types(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("k", [Gaussian(1), Linear() + 1, Linear().on(0), Polynomial(2), exp(Linear())], ids=repr)
def test_kernels_do_not_change(k):
    for field in dataclasses.fields(k):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(k, field.name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        k.anything = 1


def test_the_matrix_of_a_distance_cannot_be_changed():
    import pickle

    S = np.eye(2)
    k = Exponential(Mahalanobis(factor=S))
    name = hash(k)
    S[0, 0] = 5
    assert hash(k) == name
    for distance in (k.distance, pickle.loads(pickle.dumps(k)).distance):
        with pytest.raises(ValueError, match="read-only"):
            distance.factor.array[0, 0] = 2


def test_columns_of_sparse_rows_in_any_order():
    """Thin rows, so that the inverted index is used; close in pairs, so that rows are merged, which needs an order."""
    rng = np.random.default_rng(0)
    A = np.zeros((40, 400))
    for i, row in enumerate(A):
        row[i // 2] = 1e6
        row[rng.choice(np.arange(20, 400), 3, replace=False)] = rng.gamma(2.0, size=3)
    columns = list(range(400))[::-1]
    for kernel in (Laplacian(0.3), Gaussian(1.0)):
        expected = kernel(A[:, columns])
        assert (expected[::2, 1::2].diagonal() > 0).all()
        np.testing.assert_allclose(kernel.on(columns)(sp.csr_array(A)), expected, atol=1e-12)


def test_objects_are_told_apart_by_equality_not_by_their_text():
    class Same:
        def __repr__(self):
            return "same"

    assert (Delta()([Same(), Same(), Same()]) == np.eye(3)).all()


def test_rational_quadratic_tends_to_the_gaussian():
    A = np.random.default_rng(0).standard_normal((20, 4))
    np.testing.assert_allclose(RationalQuadratic(alpha=1e10)(A), Gaussian(1.0)(A), rtol=1e-8)
    np.testing.assert_allclose(RationalQuadratic(alpha=1e6)(A.astype("f4")), Gaussian(1.0)(A), atol=3e-6)
