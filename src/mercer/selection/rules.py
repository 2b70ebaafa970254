"""Rules by which a search chooses among its cells, other than the best mean score: one standard error.

They take what every search of scikit-learn's calls its ``refit`` with, so they serve theirs as well as ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.kernels import Kernel

#: By parameter, what its logarithm counts in the order of smoothness: a machine is the smoother, the smaller the sum.
#: For a Gaussian, C and gamma count alike, for as it widens it tends to the linear machine of C gamma; sigma is
#: 1 / sqrt(2 gamma), and alpha is 1 / (2 C).
SMOOTHER = {"C": 1, "alpha": -1, "gamma": 1, "sigma": -2, "length": -2, "beta": -1}
#: These decide between cells that are equally smooth by the sum.
NEXT = {
    "degree": 1,
    "epsilon": -1,
    "n_neighbors": -1,
    "max_depth": 1,
    "max_leaf_nodes": 1,
    "min_samples_leaf": -1,
    "min_samples_split": -1,
    "ccp_alpha": -1,
    "n_components": 1,
    "reg_lambda": -1,
    "l2_regularization": -1,
}


def one_standard_error(results: Mapping[str, Any], *, metric: str | None = None) -> int:
    """The number of the smoothest cell whose mean score is within one standard error of the best cell's.

    The rule is of Breiman and others (1984): give it as ``refit=one_standard_error``, and where there are several
    metrics as ``refit=functools.partial(one_standard_error, metric="accuracy")``. The standard error is that of the
    mean over the splits of the best cell, s / sqrt(k).

    Smoother are a smaller C, a larger alpha, a smaller gamma, a larger sigma or beta, all by their logarithms; then, if
    that leaves several, a smaller degree, a larger epsilon, more neighbours, shallower trees and the like. Compared
    with the best cell are only those which differ from it in nothing else: none is smoother for its class weights.

    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import SVC
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    >>> grid = {"C": [0.01, 1, 100]}
    >>> GridSearchCV(SVC(), grid, refit=one_standard_error).fit(X, y).best_params_
    {'C': 0.01}
    """
    metric = only_metric(results) if metric is None else metric
    means = np.asarray(results[f"mean_test_{metric}"], dtype=np.float64)
    if np.isnan(means).all():
        return 0
    best = int(np.nanargmax(means))
    scores = [
        column[best]
        for name, column in results.items()
        if name.startswith("split") and name.partition("_")[2] == f"test_{metric}"
    ]
    error = float(np.std(scores, ddof=1)) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
    near = np.flatnonzero(means >= means[best] - error)
    cells = [ordered_parts(results["params"][i]) for i in near]
    kept = ordered_parts(results["params"][best])[2]
    ranked = [
        (first, then, -means[i], int(i)) for i, (first, then, rest) in zip(near, cells, strict=True) if same(rest, kept)
    ]
    return min(ranked)[-1]


def only_metric(results: Mapping[str, Any]) -> str:
    names = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
    if len(names) == 1:
        return names[0]
    raise ValueError(
        f"the search has the metrics {', '.join(map(repr, names))}; say which one counts, as in "
        f"refit=functools.partial(one_standard_error, metric={names[0]!r})"
    )


def ordered_parts(params: Mapping[str, Any]) -> tuple[float, tuple[float, ...], dict[str, Any]]:
    """How far from smooth a cell is, what decides between equals, and all that has no order."""
    first, then = 0.0, dict.fromkeys(NEXT, 0.0)
    rest: dict[str, Any] = {}
    for name, value in flat(params).items():
        own = name.rpartition("__")[2]
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if number and own in SMOOTHER:
            # Zero is beyond every positive number, on the side where small ones are; its weight is finite so that
            # cells with several of them still have an order.
            first += SMOOTHER[own] * math.log(max(float(value), 1e-300))
            rest[name] = "a number"
        elif number and own in NEXT:
            then[own] += NEXT[own] * float(value)
            rest[name] = "a number"
        else:
            rest[name] = value
    return round(first, 9), tuple(then.values()), rest


def flat(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, those of a kernel of ours one by one.

    >>> from mercer.kernels import Gaussian
    >>> flat({"kernel": Gaussian(2), "C": 1})
    {'kernel': 'Gaussian', 'kernel__gamma': None, 'kernel__sigma': 2.0, 'C': 1}
    """
    from mercer.machines.base import kernel_parameters

    found: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, Kernel):
            found[name] = type(value).__name__
            inside = {f"{name}__{inner}": v for inner, v in sorted(kernel_parameters(value).items())}
            found |= {inner: type(v).__name__ if isinstance(v, Kernel) else v for inner, v in inside.items()}
        else:
            found[name] = value
    return found


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two cells agree in all of this; arrays and functions are the same where they are one object."""
    return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)


def alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(type(one) is type(other) and one == other)
