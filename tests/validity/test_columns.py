"""What check_kernel says of columns: alone, together, and when it advises to drop some."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from mercer.validity import check_kernel
from mercer.validity.columns import probabilities, related
from mercer.validity.target import ORDERS, Target

TOGETHER, NOTHING = "but together, as this kernel sees them, they do: drop none", "nothing was found with this kernel"
SELECT, KEEP = "select some, or weight them", "but together with the others they do: drop none"


def noisy(seed, n, noise, matter):
    """Columns that matter, then noise; and the random numbers for the target."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, matter + noise)), rng


def exclusive(seed, n=400, noise=2, task="classes"):
    data, rng = noisy(seed, n, noise, 2)
    product = data[:, 0] * data[:, 1]
    return data, (np.where(product > 0, "yes", "no") if task == "classes" else product + 0.1 * rng.standard_normal(n))


def linear(seed, n=300, noise=10, task="classes"):
    data, rng = noisy(seed, n, noise, 2)
    score = data[:, 0] + data[:, 1] + 0.5 * rng.standard_normal(n)
    return data, (score > 0 if task == "classes" else score)


@pytest.mark.parametrize("task", ["classes", "regression"])
@pytest.mark.parametrize(("kernel", "noise"), [(Gaussian, 0), (Gaussian, 2), (Gaussian, 5), (Laplacian, 1)])
def test_an_exclusive_or_is_no_reason_to_drop_columns(kernel, noise, task):
    """No column of it says anything alone, and noise never does."""
    k = kernel(np.sqrt(2 + noise)) if kernel is Gaussian else kernel(1 / (2 + noise))
    said = []
    for seed in range(3):
        data, y = exclusive(seed, noise=noise, task=task)
        for samples in (data, sp.csr_array(data)):
            report = check_kernel(k, samples, y)
            assert report.p_value <= 0.01
            assert SELECT not in str(report)
            assert f"each alone: {report.irrelevant} of {2 + noise}" in str(report)
            said.append(TOGETHER in str(report) or KEEP in str(report) or report.irrelevant <= (2 + noise) / 2)
    assert all(said)


def test_a_kernel_that_sees_no_products_finds_nothing_in_an_exclusive_or():
    for seed in range(3):
        assert NOTHING in str(check_kernel(Linear(), *exclusive(seed)))
        assert TOGETHER in str(check_kernel(Polynomial(2), *exclusive(seed)))


@pytest.mark.parametrize("task", ["classes", "many classes", "regression", "outputs"])
@pytest.mark.parametrize("width", [1, 6, 20])
@pytest.mark.slow("a rate of errors needs many draws")
def test_of_noise_hardly_anything_is_found(width, task):
    """False alarms are near one in a hundred of single columns, as of all together."""
    alarms = advised = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        data = rng.standard_normal((80, width))
        y = {
            "classes": rng.random(80) > 0.7,
            "many classes": rng.integers(0, 5, 80),
            "regression": rng.standard_t(2, 80),
            "outputs": rng.standard_normal((80, 3)),
        }[task]
        report = check_kernel(Gaussian(np.sqrt(width)), data, y)
        alarms += NOTHING not in str(report)
        advised += SELECT in str(report)
    assert alarms <= 4
    assert advised <= 2


@pytest.mark.parametrize("task", ["classes", "regression"])
@pytest.mark.parametrize("k", [Gaussian(3.0), Linear(), Cosine()], ids=repr)
def test_noise_beside_a_linear_target_is_to_be_dropped(k, task):
    advised = 0
    for seed in range(5):
        data, y = linear(seed, n=200, task=task)
        report = check_kernel(k, data, y)
        assert 9 <= report.irrelevant <= 10
        assert report.p_value <= 0.01
        advised += SELECT in str(report)
        assert NOTHING not in str(report)
        assert TOGETHER not in str(report)
    assert advised >= 3  # where chance has it that the others seem to add something, none are to be dropped


def test_columns_that_matter_with_another_one_are_kept():
    """The first says something alone, two more only together."""
    for seed in range(4):
        data, _ = noisy(seed, 400, 1, 3)
        y = 2 * data[:, 0] + 3 * np.sign(data[:, 1] * data[:, 2])
        report = check_kernel(Gaussian(1.5), data, y)
        assert report.irrelevant == 3
        assert report.others_matter
        assert KEEP in str(report)


def test_widths_that_hide_the_noise_bring_the_others_out():
    data, y = exclusive(1, noise=30)
    assert NOTHING in str(check_kernel(Gaussian(np.sqrt(32)), data, y))
    weighted = np.r_[1.0, 1.0, np.full(30, 50.0)]
    assert TOGETHER in str(check_kernel(Gaussian(weighted), data, y))


def test_a_kernel_that_is_blind_to_what_single_columns_say():
    data, y = linear(0, noise=1)
    report = check_kernel(Gaussian(1e-3), data, y)
    assert report.irrelevant == 1
    assert "this kernel does not see it" in str(report)
    assert report.p_value > 0.01


def test_samples_without_columns_are_judged_by_the_kernel_alone():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), 12, p=[p, 1 - p])) for p in np.repeat([0.2, 0.8], 30)]
    seen = check_kernel(Spectrum(2), words, np.repeat(["x", "y"], 30))
    assert seen.p_value == 1 / (1 + ORDERS)
    assert seen.irrelevant is seen.others_matter is None
    assert NOTHING not in str(seen)
    assert "columns" not in str(seen)
    blind = check_kernel(Spectrum(2), words, rng.permutation(60) % 2)
    assert NOTHING in str(blind)
    assert "columns" not in str(blind)
    assert check_kernel(Spectrum(2), words).p_value is None
    data, y = exclusive(0)
    assert check_kernel(Precomputed(), Gaussian(2.0)(data), y).p_value == seen.p_value


def test_chance_is_the_share_of_orders_that_are_aligned_as_well():
    data, y = exclusive(3, n=40, noise=0)
    K = Gaussian(1.0)(data)
    for values in (y, data[:, 0] ** 3, np.arange(40) % 3, data):
        target = Target.of(values, 40)
        observed, rng = target.centred_alignment(K), np.random.default_rng(5)
        orders = [target.take(rng.permutation(40)).centred_alignment(K) for _ in range(2000)]
        exact = np.mean(np.array(orders) >= observed)
        assert abs(target.chance(K) - exact) <= 4 * np.sqrt(exact * (1 - exact) / ORDERS) + 1 / ORDERS
    assert Target.of(y, 40).chance(np.eye(40)) == 1.0  # every order is aligned as well
    assert Target.of(y, 40).chance(np.ones((40, 40))) == 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_numbers_of_any_size(scale):
    data, y = linear(0, n=60, noise=2, task="regression")
    K = Gaussian(2.0)(data)
    one = check_kernel(Precomputed(), K, y)
    for other in (check_kernel(Precomputed(), scale * K, y), check_kernel(Precomputed(), K, scale * y)):
        assert other.alignment == pytest.approx(one.alignment)
        assert other.centred_alignment == pytest.approx(one.centred_alignment)
        assert other.p_value == one.p_value
        assert other.rank == one.rank
        assert other.psd


def test_named_columns_are_those_of_benjamini_and_hochberg():
    data, y = linear(2, noise=20)
    target = Target.of(y, len(y))
    chances = probabilities(data, target)
    best = max((i for i in range(22) if np.sort(chances)[i] <= 0.01 * (i + 1) / 22), default=-1)
    expected = chances <= np.sort(chances)[best] if best >= 0 else np.zeros(22, dtype=bool)
    np.testing.assert_array_equal(related(data, target), expected)
    assert expected[:2].all()
