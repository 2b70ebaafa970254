"""The algebra of kernels: what is printed, what is equal, what cannot be changed, and what is refused."""

import dataclasses
import pickle

import numpy as np
import pytest

import mercer.kernels
from mercer.kernels import (
    L1,
    L2,
    Categorical,
    Chi2Distance,
    Constant,
    Custom,
    Exponential,
    FeatureMap,
    Gaussian,
    GaussianBasis,
    Intersection,
    Laplacian,
    Lift,
    Linear,
    Mahalanobis,
    Matern,
    Monomials,
    Polynomial,
    PowerSeries,
    Sigmoid,
    Squares,
    exp,
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
    (Constant(2), "Constant(2)"),
    (Constant(2).normalized() ** 2, "Constant(2).normalized() ** 2"),
    (Constant(2) + 1, "Constant(2) + 1"),
    (1 + (2 + Linear()), "Constant(1) + 2 + Linear()"),
    (Constant(-1) * Linear(), "Constant(-1) * Linear()"),
    (exp(Constant(1)), "exp(Constant(1))"),
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
        Linear().on(np.array([0, 1])),
        Linear().on(np.int64(1)),
        Linear().on(np.array(["a", "b"])),
        Exponential(Mahalanobis(np.diag([1 / 3, np.pi]))),
        Exponential(Mahalanobis(np.diag(np.linspace(1, 2, 30) / 3))),
        FeatureMap(GaussianBasis([[1 / 3, np.pi]], sigma=2 / 3)),
    ],
    ids=lambda k: repr(k)[:60],
)
def test_repr_is_an_expression_for_the_same_kernel(k):
    assert _evaluated(repr(k)) == k


LEAVES = [Linear(), Gaussian(1), Polynomial(2), Constant(2), Constant(-1.5), Constant(0)]
OF_TWO = [lambda k, other: k + other, lambda k, other: k - other, lambda k, other: k * other]
OF_ONE = [
    *(lambda k: k + 1, lambda k: 0.5 + k, lambda k: k - 3, lambda k: 2 - k, lambda k: -k, lambda k: 2 * k),
    *(lambda k: k * -0.5, lambda k: 0 * k, lambda k: k**2, lambda k: k**0, exp, lambda k: k.normalized()),
    *(lambda k: k.centered(), lambda k: k.on(0), lambda k: k.on(["a", "b"]), lambda k: k.on(Lift()), repair),
]


@pytest.mark.parametrize("seed", range(300))
def test_repr_of_whatever_operations_make_is_an_expression_for_it(seed):
    """Operations in a random order, on what random operations made."""
    random = np.random.default_rng(seed)

    def made(depth):
        if depth == 0 or random.random() < 0.1:
            return LEAVES[random.integers(len(LEAVES))]
        if random.random() < 0.5:
            return OF_TWO[random.integers(len(OF_TWO))](made(depth - 1), made(depth - 1))
        return OF_ONE[random.integers(len(OF_ONE))](made(depth - 1))

    k = made(int(random.integers(1, 6)))
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
    S = np.eye(2)
    k = Exponential(Mahalanobis(factor=S))
    name = hash(k)
    S[0, 0] = 5
    assert hash(k) == name
    for distance in (k.distance, pickle.loads(pickle.dumps(k)).distance):
        with pytest.raises(ValueError, match="read-only"):
            distance.factor.array[0, 0] = 2


def test_messages_show_the_ends_of_a_long_expression():
    long = sum((Gaussian(i).on(i) for i in range(1, 30)), Linear())
    assert len(str(long)) < 500 < len(repr(long))
    assert str(long).startswith("Linear() + Gaussian(sigma=1).on(1) + ")
    assert str(long).endswith(" + Gaussian(sigma=29).on(29)")
    assert str(Linear() + 1) == "Linear() + 1"


def test_columns_are_plain_values():
    assert repr(Linear().on(np.array([0, 1]))) == "Linear().on([0, 1])"
    assert repr(Linear().on(np.array(["a"]))) == "Linear().on(['a'])"


def test_a_kernel_can_be_taken_off_a_number():
    assert 2 - Linear() == 2 + -1 * Linear()
    assert ((2 - Linear())(X) == 2 - Linear()(X)).all()
    with pytest.raises(TypeError, match="unsupported operand"):
        "2" - Linear()
