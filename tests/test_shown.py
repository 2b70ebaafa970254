"""How things show themselves: short, escaped, at once, and without computing anything."""

import time
from html import unescape

import numpy as np
import pandas as pd
import pytest

from mercer import SVC, BasisRidge, Expansion, KernelRidge, LinearSVC
from mercer.inspection import margins, support_report, version_space
from mercer.kernels import (
    Categorical,
    Custom,
    Exponential,
    FeatureMap,
    Gaussian,
    GaussianBasis,
    Linear,
    Mahalanobis,
    Polynomial,
    PowerSeries,
)
from mercer.validity import check_kernel, empirical_map, integral_condition, mercer_expansion

from .kernels.cases import CASES
from .names import named

EVIL = "<script>alert('1')</script>"
rng = np.random.default_rng(0)
X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
TABLE = pd.DataFrame({EVIL: X[:, 0], "city": ["Oslo", "Rome"] * 20})
ON_EVIL = Gaussian(1).on(EVIL) * Categorical().on("city")
FACTOR = np.eye(300) + np.tril(rng.random((300, 300)), -1)
LARGE = {
    "mahalanobis": Exponential(Mahalanobis(factor=FACTOR)),
    "widths": Gaussian(tuple(rng.random(10_000) + 1)),
    "series": PowerSeries(tuple(rng.random(10_000))),
    "centres": FeatureMap(GaussianBasis(rng.random((1000, 50)))),
    "sum": sum((Gaussian(i + 1).on(i) for i in range(300)), Linear()),
}


def html(value):
    text = value._repr_html_()
    assert "<script" not in text
    assert str(value) in unescape(text)
    return text


@pytest.mark.parametrize("kernel", [case.kernel for case in CASES], ids=named)
def test_kernels_show_their_algebra(kernel):
    assert html(kernel).startswith("<code title=")
    assert str(kernel) == repr(kernel) or len(repr(kernel)) > 200


def test_what_is_known_before_any_data():
    for kernel, known in (
        (Linear(), "positive semi-definite by construction"),
        (-Linear(), "not positive semi-definite in general"),
        (Linear() - Gaussian(1), "not known to be positive semi-definite"),
    ):
        assert f'title="{known}"' in kernel._repr_html_()


def test_names_of_columns_are_no_markup():
    assert "&lt;script&gt;" in html(ON_EVIL)
    machine = SVC(kernel=ON_EVIL, C=10).fit(TABLE, y)
    for shown in (machine.expansion_, check_kernel(ON_EVIL, TABLE, y), empirical_map(ON_EVIL, TABLE)):
        assert "&lt;script&gt;" in html(shown)
    machine = SVC(kernel=Linear(), C=10).fit(X, np.where(y, EVIL, "b"))
    for shown in (margins(machine, X, np.where(y, EVIL, "b")), support_report(machine, X)):
        assert "&lt;script&gt;" in html(shown)


@pytest.mark.parametrize("made", [SVC, KernelRidge], ids=lambda made: made.__name__)
def test_kernels_in_the_pages_of_machines(made):
    """scikit-learn's own pages, which cut long values to 30 characters."""
    for machine in (made(kernel=ON_EVIL), made(kernel=ON_EVIL).fit(TABLE, y)):
        page = machine._repr_html_()
        assert "<script>alert" not in page
        assert "Gaussian(" in page
    assert "Gaussian(sigma=1)" in made(kernel=Gaussian(1))._repr_html_()


@pytest.mark.parametrize("kernel", LARGE.values(), ids=LARGE)
@pytest.mark.alone("measures milliseconds")
def test_what_is_large_is_told_by_its_size(kernel):
    def fastest(call):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    assert len(html(kernel)) < 1200
    assert fastest(kernel._repr_html_) < 0.005
    assert len(repr(kernel)) > 5000  # the whole, which reads back as the same


def test_large_arrays():
    assert str(LARGE["mahalanobis"]) == "Exponential(distance=Mahalanobis(factor=<300 x 300 numbers>))"
    assert str(LARGE["widths"]) == "Gaussian(sigma=<10000 numbers>)"
    assert "1000 x 50 numbers" in str(LARGE["centres"])
    assert (
        str(Exponential(Mahalanobis(factor=np.eye(2))))
        == "Exponential(distance=Mahalanobis(factor=[[1.0, 0.0], [0.0, 1.0]]))"
    )


def test_nothing_is_computed():
    calls = []

    def counted(A, B):
        calls.append(None)
        return A @ B.T

    kernel = Custom(counted)
    machine = SVC(kernel=kernel, C=10).fit(X, y)
    several = KernelRidge(kernel=kernel).fit(X, X[:, :2])
    shown = [
        kernel,
        machine.expansion_,
        machine.certificate_,
        several.expansion_,
        *several.certificate_,
        check_kernel(kernel, X, y),
        margins(machine, X, y),
        support_report(machine, X),
        mercer_expansion(kernel, X, 2),
        empirical_map(kernel, X),
        integral_condition(Gaussian(1), [(0, 1)]),
        version_space(X[:6], (X[:6, 0] > 0).astype(int)),
        BasisRidge().fit(X, X[:, 0]).expansion_,
        LinearSVC().fit(X, y).expansion_,
    ]
    before = len(calls)
    for one in shown:
        assert len(html(one)) < 4000
    assert len(calls) == before


@pytest.mark.parametrize(
    ("coefficients", "bias", "text"),
    [
        ([2.0], 0.0, "f(x) = a_1 k(x_1, x) with vectors x_i and k = Polynomial(degree=2)"),
        ([2.0, 1.0], -0.25, "f(x) = a_1 k(x_1, x) + ... + a_2 k(x_2, x) - 0.25 with vectors x_i and k ="),
        ([[2.0, 1.0], [0.0, 1.0]], [1.0, 2.0], "a_2 k(x_2, x) + b with vectors x_i, 2 outputs and k ="),
    ],
)
def test_expansions(coefficients, bias, text):
    f = Expansion.of(Polynomial(2), X[: len(coefficients)], np.array(coefficients), np.array(bias))
    assert text in str(f)
