"""Which estimators are machines of ours, or end in one: of those alone can cells share what they compute.

The tools ask this before they build anything; what is not ours goes to scikit-learn's own code as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from sklearn.pipeline import Pipeline


@cache
def machine_classes() -> frozenset[type]:
    """The classes of our machines. Subclasses elsewhere may have changed anything, and are not among them."""
    from mercer import machines

    return frozenset(getattr(machines, name) for name in machines.__all__)


def last_step(estimator: Any) -> Any:
    """The estimator itself, or what stands last in a pipeline."""
    while type(estimator) is Pipeline and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def is_shareable(estimator: Any) -> bool:
    """Whether it is a machine of ours or a pipeline that ends in one.

    >>> from mercer import SVC
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> is_shareable(make_pipeline(StandardScaler(), SVC())), is_shareable(Ridge())
    (True, False)
    """
    return type(last_step(estimator)) in machine_classes()


def any_shareable(estimator: Any, space: Any = None) -> bool:
    """Whether the estimator is shareable, or one of the values that a search puts into it."""
    return is_shareable(estimator) or any(is_shareable(value) for value in values_of(space))


def values_of(space: Any) -> Iterator[Any]:
    """All values that are listed in a grid, or in several; distributions list none."""
    if isinstance(space, Mapping):
        for values in space.values():
            if isinstance(values, (list, tuple)):
                yield from values
    elif isinstance(space, Iterable) and not isinstance(space, str):
        for part in space:
            yield from values_of(part)
