"""Which kernels call themselves psd, conditionally so or indefinite, and what the algebra makes of it."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from mercer.kernels import (
    L1,
    L2,
    Categorical,
    Chi2,
    Chi2Distance,
    Constant,
    Cosine,
    Custom,
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
    NegativeDistance,
    Polynomial,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    SetKernel,
    Sigmoid,
    SpatialPyramid,
    Squares,
    exp,
    repair,
)
from mercer.kernels.distances import Distance

from .cases import CASES, DATA, WIDTH

X = np.random.default_rng(4).standard_normal((12, 3))

INDEFINITE = Sigmoid(1.0)
UNKNOWN = Custom(np.dot)
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
    (Exponential(L1(), power=1.1), "indefinite"),
    (Exponential(L1(), power=2), "indefinite"),
    (Exponential(Linf(), 5, power=0.5), "indefinite"),
    (Exponential(Linf(), power=1), "indefinite"),
    (Exponential(Linf(), power=2), "indefinite"),
    *((Exponential(D, power=2.5), "indefinite") for D in (L1(), Linf(), Chi2Distance(), HellingerDistance())),
    (Exponential(Mahalanobis(np.eye(WIDTH)), power=2.5), "indefinite"),
    (Exponential(np.subtract.outer), "unknown"),
    (Exponential(Distance()), "unknown"),  # of a user's own nothing is known, whatever the power
    (Exponential(Distance(), power=3), "unknown"),
    (NegativeDistance(L2()), "cpd"),
    (NegativeDistance(L1(), power=1), "cpd"),
    (NegativeDistance(L1(), power=2), "indefinite"),
    (NegativeDistance(Linf(), power=1), "indefinite"),
    (Polynomial(2, c=-1, gamma=-1), "psd"),
    (Polynomial(3, c=-1, gamma=-1), "indefinite"),
    (Sigmoid(0.0, c=0.5), "psd"),
    (Sigmoid(0.0, c=-0.5), "cpd"),
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
    (-1 * CPD, "unknown"),  # minus a negative constant is PSD
    (-1 * INDEFINITE, "unknown"),
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
    # of one column, L1 and Linf are L2; of two, Linf is as good as L1
    (Exponential(L1(), power=2).on(0), "psd"),
    (Exponential(L1(), power=2).on("age"), "psd"),
    (Exponential(L1(), power=2).on(["age"]), "psd"),
    (Exponential(L1(), power=2).on([3, 3]), "psd"),
    (Exponential(L1(), power=2.5).on(0), "indefinite"),
    (Exponential(L1(), power=2).on([0, 1]), "indefinite"),
    (Exponential(Linf(), power=2).on(0), "psd"),
    (Exponential(Linf(), power=1).on([0, 1]), "psd"),
    (Exponential(Linf(), power=1).on([0, 1, 0]), "psd"),
    (Exponential(Linf(), power=1.5).on([0, 1]), "indefinite"),
    (Exponential(Linf(), power=1).on([0, 1, 2]), "indefinite"),
    (NegativeDistance(L1()).on(1), "cpd"),
    (exp(NegativeDistance(L1())).on(1), "psd"),
    ((2 * Exponential(L1()) + Exponential(Linf()).normalized() ** 2).on(1), "psd"),
    (Exponential(L1()).on(0) * Exponential(L1()).on(1), "psd"),
    (Exponential(L1()).centered().on(1), "psd"),
    (Exponential(L1()).on([0, 1]).on([2, 5]), "indefinite"),
    (SetKernel(Exponential(L1())).on(1), "unknown"),  # members of sets have columns of their own
    (SpatialPyramid(1, Exponential(L1())).on(1), "unknown"),
    # a map may leave nothing of what makes a kernel indefinite
    (INDEFINITE.on(Squares()), "unknown"),
    (CPD.on(Squares()), "cpd"),
    (repair(INDEFINITE), "psd"),
    (repair(INDEFINITE, "flip"), "psd"),
    (repair(INDEFINITE, "shift"), "unknown"),  # on other samples than those of resolve
    (repair(CPD, "shift"), "unknown"),
    (repair(PSD, "shift"), "psd"),
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


@cache
def data_sets(kind):
    """Samples of a kind, of which some are known to be awkward: grids, points of a line, small ones, large ones."""
    rng = np.random.default_rng(5)
    given = [DATA[kind][0][:60], DATA[kind][1]]
    if kind == "strings":
        short = ["".join(word) for length in range(5) for word in product("AC", repeat=length)]
        return [*given, short, ["".join(rng.choice(list("ACGT"), rng.integers(0, 9))) for _ in range(40)]]
    if kind == "sets":
        points = [rng.standard_normal((1, 3)) * 3 for _ in range(8)]
        return [*given, [*points, *(np.concatenate(pair) for pair in product(points, repeat=2))]]
    if not isinstance(given[0], np.ndarray):
        return given
    width = given[0].shape[1]
    plain = [rng.standard_normal((40, width)), 0.05 * rng.standard_normal((40, width)), rng.integers(0, 2, (60, width))]
    plain.append(rng.standard_normal((40, 1)) * rng.standard_normal(width))
    for columns in range(1, min(width, 4) + 1):
        grid = np.zeros((3**columns, width))
        grid[:, :columns] = list(product((-1, 0, 1), repeat=columns))
        plain += [grid, 0.4 * grid, 5 + 0.1 * grid, -grid[:, rng.permutation(width)]]
    line = np.zeros((13, width))
    line[:, 0] = np.linspace(0, 3, 13)
    far = line.copy()
    far[:, 0] += 20
    plain += [line, far]
    return [*given, *(some if kind == "vectors" else np.floor(np.abs(some)) for some in plain)] + (
        [np.abs(some) for some in plain] if kind == "histograms" else []
    )


def smallest(k, data):
    """The smallest eigenvalue, relative to the largest one."""
    values = np.linalg.eigvalsh(k(data))
    return values[0] / max(abs(values).max(), 1e-300)


def kind_of(k):
    return "histograms" if isinstance(getattr(k, "distance", None), (Chi2Distance, HellingerDistance)) else "vectors"


CLAIMS = [pytest.param(case.kernel, case.data, id=case.name) for case in CASES]
CLAIMS += [
    pytest.param(k, kind_of(k), id=repr(k)[:60])
    for k, validity in VALIDITY
    if validity == "indefinite" and not {"age"} & set(repr(k).split("'"))
]


@pytest.mark.parametrize(("k", "kind"), CLAIMS)
def test_claims_hold(k, kind):
    """No negative eigenvalue refutes "psd", and every "indefinite" has a witness."""
    if k.validity == "psd":
        for data in data_sets(kind):
            assert smallest(k, data) > -1e-12 * len(data), data
    elif k.validity == "indefinite":
        assert min(smallest(k, data) for data in data_sets(kind)) < -1e-6


@pytest.mark.parametrize("power", [0.3, 1, 1.4, 2, 2.5])
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("distance", [L1(), Linf(), L2()], ids=repr)
def test_powers_of_distances_by_columns(distance, columns, power):
    """What is said of some columns is so on grids of points in these columns."""
    steps = np.linspace(-1, 1, 5 if columns < 3 else 4)
    grid = np.array(list(product(steps, repeat=columns)))
    lowest = [smallest(Exponential(distance, beta, power), grid) for beta in (0.3, 1, 3, 10)]
    claim = Exponential(distance, power=power).on(list(range(columns))).validity
    assert claim in ("psd", "indefinite")
    if claim == "psd":
        assert min(lowest) > -1e-12
    elif power > 0.5:  # below, only large grids tell
        assert min(lowest) < -1e-5


@pytest.mark.parametrize(
    ("distance", "columns", "power", "beta", "expected"),
    [(L1(), 2, 2, 10, -0.1787), (Linf(), 2, 2, 10, -0.1394), (Linf(), 3, 1, 5, -0.1770)],
    ids=repr,
)
def test_witnesses_on_the_smallest_grids(distance, columns, power, beta, expected):
    grid = np.array(list(product((-1.0, 0.0, 1.0), repeat=columns)))
    assert np.linalg.eigvalsh(Exponential(distance, beta, power)(grid))[0] == pytest.approx(expected, abs=1e-4)
