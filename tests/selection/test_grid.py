"""The default grid: it follows the units of the data, for every machine and any kernel that has a width."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.kernels import L2, Exponential, Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from mercer.selection.grid import AXES, default_grid, spread_of, width_places

from .cases import CASES, TWO, WAVE, X


@pytest.mark.parametrize("name", CASES)
def test_every_machine_has_a_grid_that_fits_it(name):
    case = CASES[name]
    machine = clone(case.machine)
    kind = type(machine).__name__
    if kind in ("OneClassSVM", "KernelPerceptron"):
        with pytest.raises(ValueError, match=f"no default grid for {kind}"):
            default_grid(machine, case.X, case.y)
        return
    cells = list(ParameterGrid(default_grid(machine, case.X, case.y)))
    assert 5 < len(cells) <= 50
    assert {type(machine).__name__} <= {*AXES, "Pipeline"}
    for cell in (cells[0], cells[-1]):
        machine.set_params(**cell).fit(case.X, case.y)


def test_widths_follow_the_distances():
    grid = default_grid(SVC(kernel=Gaussian(1)), X, TWO)
    distances = pdist(X)
    widths = grid["kernel__sigma"]
    assert widths[0] == pytest.approx(np.quantile(distances, 0.05) / 3, rel=0.01)
    assert widths[-1] == pytest.approx(3 * np.median(distances), rel=0.01)
    np.testing.assert_allclose(np.array(default_grid(SVC(), X, TWO)["gamma"]), 0.5 / np.square(widths), rtol=0.02)
    np.testing.assert_allclose(
        default_grid(SVC(kernel=Gaussian(1)), 7 * X, TWO)["kernel__sigma"], 7 * np.array(widths), rtol=0.01
    )


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Laplacian(1), "kernel__gamma"),
        (Matern(1.5), "kernel__length"),
        (RationalQuadratic(1), "kernel__length"),
        (Exponential(L2()), "kernel__beta"),
        (Gaussian("median"), "kernel__sigma"),
        (Gaussian(gamma="scale"), "kernel__gamma"),
        (2 * Gaussian(1) + Linear(), "kernel__0__inner__sigma"),
        (Gaussian(1).on([0, 1]).normalized(), "kernel__inner__inner__sigma"),
    ],
)
def test_widths_of_other_kernels(kernel, name):
    grid = default_grid(SVC(kernel=kernel), X, TWO)
    assert set(grid) == {name, "C"}
    assert len(ParameterGrid(grid)) == 49
    machine = SVC(kernel=kernel)
    machine.set_params(**{name: grid[name][3]}).fit(X, TWO)
    assert machine.get_params()[name] == grid[name][3]


def test_several_widths_go_together():
    grid = default_grid(SVC(kernel=Gaussian(1).on([0]) + Laplacian(1).on([1, 2])), X, TWO)
    assert set(grid) == {"kernel", "C"}
    places = [place for place, _ in width_places(grid["kernel"][0], SVC(kernel=grid["kernel"][0]).kernel.samples(X))]
    assert places == ["0__inner__sigma", "1__inner__gamma"]
    assert len(set(grid["kernel"])) == 7


def test_C_and_alpha_follow_the_spread():
    wide, narrow = (default_grid(SVC(kernel=Linear()), scale * X, TWO)["C"] for scale in (10, 1))
    np.testing.assert_allclose(np.array(narrow) / wide, 100, rtol=0.02)
    wide, narrow = (default_grid(KernelRidge(kernel="linear"), scale * X, WAVE)["alpha"] for scale in (10, 1))
    np.testing.assert_allclose(np.array(wide) / narrow, 100, rtol=0.02)
    samples = Linear().samples(X)
    assert spread_of(Linear(), samples) == pytest.approx(np.square(X - X.mean(axis=0)).sum(axis=1).mean())


def test_pipelines_are_gone_through():
    plain = default_grid(SVC(), StandardScaler().fit_transform(X), TWO)
    piped = default_grid(make_pipeline(StandardScaler(), SVC()), 100 * X + 5, TWO)
    assert set(piped) == {"svc__gamma", "svc__C"}
    np.testing.assert_allclose(piped["svc__gamma"], plain["gamma"], rtol=0.01)


def test_samples_that_are_all_the_same_have_no_width():
    grid = default_grid(SVC(), np.ones((10, 2)), np.arange(10) % 2)
    assert set(grid) == {"C"}
    assert np.isfinite(grid["C"]).all()
