"""The grid of a search whose user gave none, made from the samples, and the edges of a grid, beyond which it may grow.

Widths follow the distances between samples, C and alpha the spread of the samples in feature space, epsilon the spread
of the targets; so a grid of at most 50 cells has the best ones within it, whatever the units.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from mercer.caller import warn_caller
from mercer.errors import MercerWarning
from mercer.kernels import Exponential, Gaussian, Kernel, Laplacian, Linear, Matern, RationalQuadratic
from mercer.problem import Vector
from mercer.samples import Samples
from mercer.selection.rules import alike

#: Widths and spreads are found from at most this number of samples, taken evenly.
SAMPLES = 400
#: At the smallest width the quantile of similarities, at the largest their median, is this. Of a Gaussian that is a
#: third of the distance below which 5 % of the pairs lie, and three times the median distance.
NARROW, WIDE = (0.95, float(np.exp(-4.5))), (0.5, float(np.exp(-1 / 18)))
#: An axis grows by this many values at a time, and in at most so many rounds.
GROWTH, ROUNDS = 2, 4
#: The parameters along which a grid can grow, from one value to the next by a factor.
GROWING = frozenset({"C", "alpha", "beta", "epsilon", "gamma", "length", "sigma"})
#: The fields of kernels that are a width; gamma is one over it.
WIDTHS: dict[type, tuple[str, ...]] = {
    Gaussian: ("sigma", "gamma"),
    Laplacian: ("gamma",),
    Matern: ("length",),
    RationalQuadratic: ("length",),
    Exponential: ("beta",),
}


class GridEdgeWarning(MercerWarning, UserWarning):
    """The best cell of a search lies on the edge of its grid, so that a better one may lie beyond."""


def default_grid(estimator: Any, X: Any, y: Any = None) -> dict[str, list[Any]]:
    """A grid of at most 50 cells for a machine of ours, or a pipeline that ends in one.

    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> grid = default_grid(SVC(), X, X[:, 0] > 0)
    >>> sorted(grid), len(ParameterGrid(grid))
    (['C', 'gamma'], 49)
    """
    prefix, machine = "", estimator
    while type(machine) is Pipeline:
        if len(machine.steps) > 1:
            X = clone(machine[:-1]).fit_transform(X, y)
        name, machine = machine.steps[-1]
        prefix += f"{name}__"
    kind = type(machine).__name__
    if kind not in AXES:
        why = UNLABELLED if kind in ("OneClassSVM", "SVDD") else ""
        raise ValueError(
            f"there is no default grid for {kind}{why}; give param_grid. There is one for {', '.join(AXES)}"
        )
    return {f"{prefix}{name}": values for name, values in AXES[kind](machine, X, y).items()}


UNLABELLED = ", which learns without labels, so that nothing says which of two settings is better"


def support_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    width, spread = widths_and_spread(machine, X, 7)
    return width | {"C": geometric(2.0**-4 / spread, 2.0**8 / spread, 7 if width else 13)}


def nu_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    """nu can be no larger than twice the share of the smaller of two classes; that of all pairs is the limit."""
    counts = np.sort(np.unique(np.asarray(y), return_counts=True)[1])
    limit = 2 * counts[0] / (counts[0] + counts[-1])
    return widths_and_spread(machine, X, 7)[0] | {"nu": geometric(0.02 * limit, 0.9 * limit, 7)}


def tube_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    width, spread = widths_and_spread(machine, X, 4)
    unit = float(np.std(np.asarray(y, dtype=np.float64))) or 1.0
    C = geometric(unit / 4 / spread, unit * 128 / spread, 4 if width else 10)
    return width | {"C": C, "epsilon": geometric(unit / 50, unit * 0.32, 3)}


def nu_tube_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    axes = tube_axes(machine, X, y)
    del axes["epsilon"]
    return axes | {"nu": [0.25, 0.5, 0.75]}


def ridge_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    width, spread = widths_and_spread(machine, X, 7)
    return width | {"alpha": geometric(1e-5 * spread, 10 * spread, 7 if width else 13)}


def basis_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    return {"alpha": geometric(1e-6, 1e6, 25)}


def linear_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    spread = spread_of(Linear(), evenly(Linear().samples(X)))
    unit = 1.0 if type(machine).__name__ == "LinearSVC" else float(np.std(np.asarray(y, dtype=np.float64))) or 1.0
    axes = {"C": geometric(unit * 2.0**-12 / spread, unit * 2.0**8 / spread, 11)}
    return axes if unit == 1.0 else axes | {"epsilon": geometric(unit / 50, unit * 0.32, 3)}


def neighbour_axes(machine: Any, X: Any, y: Any) -> dict[str, list[Any]]:
    return {"n_neighbors": [1, 2, 3, 5, 7, 10, 15, 20, 30], "weights": ["uniform", "distance"]}


#: By the class of a machine, what makes the axes of its grid.
AXES: dict[str, Callable[[Any, Any, Any], dict[str, list[Any]]]] = {
    "SVC": support_axes,
    "NuSVC": nu_axes,
    "SVR": tube_axes,
    "NuSVR": nu_tube_axes,
    "KernelRidge": ridge_axes,
    "KernelLogistic": support_axes,
    "BasisRidge": basis_axes,
    "LinearSVC": linear_axes,
    "LinearSVR": linear_axes,
    "KernelNeighborsClassifier": neighbour_axes,
    "KernelNeighborsRegressor": neighbour_axes,
}


def geometric(first: float, last: float, count: int) -> list[float]:
    return [float(f"{value:.3g}") for value in np.geomspace(first, last, count)]


# -- widths and spread ----------------------------------------------------------------------------------------


def evenly(samples: Samples) -> Samples:
    n = len(samples)
    return samples if n <= SAMPLES else samples.take(np.linspace(0, n - 1, SAMPLES).astype(np.int64))


def widths_and_spread(machine: Any, X: Any, count: int) -> tuple[dict[str, list[Any]], float]:
    """The axis of widths, if the kernel has any, and the spread of the samples at the middle one."""
    if machine._precomputed():
        return {}, spread_of_matrix(np.asarray(X[:, :] if hasattr(X, "shape") else X, dtype=np.float64))
    checked, features = machine._admitted(X)
    kernel = machine._chosen_kernel(features.count)
    samples = evenly(kernel.samples(checked))
    kernels = at_widths(kernel.resolve(samples), samples, count)
    if not kernels:
        return {}, spread_of(kernel.resolve(samples), samples)
    spread = spread_of(kernels[count // 2], samples)
    if not isinstance(machine.kernel, Kernel):
        return {"gamma": [width_of(k) for k in kernels]}, spread
    places = [place for place, _ in width_places(kernels[0], samples)]
    if len(places) > 1:  # as many widths at once: the kernels themselves are the axis
        return {"kernel": kernels}, spread
    return {f"kernel__{places[0]}": [value_at(k, places[0]) for k in kernels]}, spread


def spread_of(kernel: Kernel, samples: Samples) -> float:
    """The mean square of the distance from the mean in feature space."""
    return spread_of_matrix(kernel.bind(samples, samples).dense())


def spread_of_matrix(K: Vector) -> float:
    spread = float(np.mean(np.diag(K)) - np.mean(K))
    return spread if np.isfinite(spread) and spread > 0 else 1.0


def width_places(kernel: Kernel, samples: Samples, place: str = "") -> list[tuple[str, Samples]]:
    """The names of all widths in a kernel, as ``kernel_parameters`` has them, with the samples that their part sees."""
    for field in WIDTHS.get(type(kernel), ()):
        if isinstance(getattr(kernel, field), float):
            return [(f"{place}{field}", samples)]
    found = []
    names = [field.name for field in dataclasses.fields(kernel) if field.init]  # type: ignore[arg-type]
    for number, child in enumerate(kernel.children):
        name = str(number) if names == ["parts"] else next(n for n in names if getattr(kernel, n) is child)
        found += width_places(child, kernel.seen_by(child, samples), f"{place}{name}__")
    return found


def at_widths(kernel: Kernel, samples: Samples, count: int) -> list[Kernel]:
    """The kernel at widths from narrow to wide, all of its widths at once; none if it has no width to be found."""
    from mercer.machines.base import with_parameter

    kernels = [kernel] * count
    for place, seen in width_places(kernel, samples):
        part = part_at(kernel, place)
        ends = [width_at(part, seen, quantile, similarity) for quantile, similarity in (NARROW, WIDE)]
        if None in ends:
            return []
        values = geometric(ends[0], ends[1], count)  # type: ignore[arg-type]
        kernels = [with_parameter(k, place, value) for k, value in zip(kernels, values, strict=True)]
    return kernels if kernels[0] is not kernel else []


def part_at(kernel: Kernel, place: str) -> Kernel:
    """The part of a kernel whose width has this name."""
    own, _, rest = place.partition("__")
    if not rest:
        return kernel
    return part_at(kernel.children[int(own)] if own.isdigit() else getattr(kernel, own), rest)


def value_at(kernel: Kernel, place: str) -> float:
    return float(getattr(part_at(kernel, place), place.rpartition("__")[2]))


def width_of(kernel: Kernel) -> float:
    """gamma, of a kernel that was named by a word."""
    return float(getattr(kernel, "gamma"))  # noqa: B009 - only some kernels have it


def width_at(kernel: Kernel, samples: Samples, quantile: float, similarity: float) -> float | None:
    """The width at which this quantile of the similarities of distinct samples has this value; None if none has."""
    field = width_places(kernel, samples)[0][0]
    pairs = np.triu_indices(len(samples), 1)
    at_all = np.asarray(dataclasses.replace(kernel, **{field: 1.0}).bind(samples, samples).dense())[pairs]  # type: ignore[type-var]
    apart = at_all < 1
    if not apart.any():
        return None

    def found(exponent: float) -> float:
        matrix = dataclasses.replace(kernel, **{field: 10.0**exponent}).bind(samples, samples).dense()  # type: ignore[type-var]
        return float(np.quantile(np.asarray(matrix)[pairs][apart], quantile))

    low, high = -8.0, 8.0
    rises = found(low) < found(high)
    if not min(found(low), found(high)) < similarity < max(found(low), found(high)):
        return None
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if (found(middle) < similarity) == rises else (low, middle)
    return float(10.0**low)


# -- edges ----------------------------------------------------------------------------------------------------


class Edges:
    """The axes of a grid along which it can grow, and whether the best cell lies at the end of one."""

    def __init__(self, grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        self.parts = [dict(part) for part in ([grid] if isinstance(grid, Mapping) else grid)]

    def ends(
        self, cells: Sequence[Mapping[str, Any]], scores: Any, best: int
    ) -> list[tuple[dict[str, Any], str, bool]]:
        """The axes at whose end the best cell lies, each with its part of the grid and whether that is the upper end.

        Where the score is the same one value further in, the end is no edge: nothing says that it gets better there.
        """
        found = []
        for part in self.parts:
            if part.keys() != cells[best].keys():
                continue
            for name, values in part.items():
                if not grows(name, values):
                    continue
                ordered, value = sorted(values), cells[best][name]
                if value not in (ordered[0], ordered[-1]):
                    continue
                upper = value == ordered[-1]
                inward = {**cells[best], name: ordered[-2] if upper else ordered[1]}
                beside = [i for i, cell in enumerate(cells) if all(alike(cell.get(n), v) for n, v in inward.items())]
                if not beside or scores[beside[0]] != scores[best]:
                    found.append((part, name, upper))
        return found

    def beyond(self, cells: Sequence[Mapping[str, Any]], scores: Any, best: int) -> list[dict[str, Any]]:
        """The cells beyond the ends at which the best cell lies; from now on they belong to the grid."""
        new: list[dict[str, Any]] = []
        for part, name, upper in self.ends(cells, scores, best):
            ordered = sorted(part[name], reverse=not upper)
            factor = ordered[-1] / ordered[-2]
            values = [float(f"{ordered[-1] * factor**power:.3g}") for power in range(1, GROWTH + 1)]
            new += ParameterGrid({**{n: list(v) for n, v in part.items()}, name: values})
            part[name] = [*part[name], *values]
        return new

    def warn(self, cells: Sequence[Mapping[str, Any]], scores: Any, best: int) -> None:
        """Says where the best cell lies at an end."""
        ends = self.ends(cells, scores, best)
        if not ends:
            return
        where = " and ".join(
            f"{name}={cells[best][name]:g} is the {'largest' if upper else 'smallest'} of "
            f"{len(part[name])} values from {min(part[name]):g} to {max(part[name]):g}"
            for part, name, upper in ends
        )
        warn_caller(
            f"The best cell lies on the edge of the grid: {where}. A better one may lie beyond: extend=True lets the "
            f"grid grow there, in up to {ROUNDS} rounds; or give a param_grid that reaches further.",
            GridEdgeWarning,
        )


def grows(name: str, values: Any) -> bool:
    """Whether an axis of a grid is of positive numbers that can go on by a factor."""
    if name.rpartition("__")[2] not in GROWING:
        return False
    numbers = [v for v in values if isinstance(v, (int, float, np.integer, np.floating)) and v > 0]
    return len(numbers) == len(values) and len(set(numbers)) > 1
