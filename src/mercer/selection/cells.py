"""The cells of a search as estimators, and the chains in which they are solved.

Cells of a chain have all in common but the price of errors, so that they share a matrix and each begins where the last
one ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.machines import SVC, SVR, KernelLogistic, KernelRidge, NuSVC, NuSVR, OneClassSVM
from mercer.remembered import remembered

#: The parameter along which the problems of a machine change little.
ALONG: dict[type, str] = {
    KernelRidge: "alpha",
    KernelLogistic: "C",
    SVC: "C",
    SVR: "C",
    NuSVC: "nu",
    NuSVR: "C",
    OneClassSVM: "nu",
}


@dataclass(eq=False)
class Cell:
    """One setting of parameters: its number in the search, the machine, and the steps that stand before it."""

    number: int
    params: dict[str, Any]
    estimator: Any
    machine: Any
    #: A pipeline without its last step; None if there is none.
    before: Pipeline | None
    #: The name by which parameters of the machine begin, in a pipeline.
    prefix: str

    @classmethod
    def of(cls, number: int, params: Mapping[str, Any], estimator: Any) -> Cell:
        whole = clone(estimator)
        if params:
            whole.set_params(**clone(dict(params), safe=False))
        if type(whole) is not Pipeline:
            return cls(number, dict(params), whole, whole, None, "")
        before = Pipeline(whole.steps[:-1]) if len(whole.steps) > 1 else None
        return cls(number, dict(params), whole, whole.steps[-1][1], before, f"{whole.steps[-1][0]}__")

    @remembered
    def params_key(self) -> str:
        """Equal for cells with the same parameters."""
        key: str = joblib.hash(sorted(self.params.items(), key=lambda item: item[0]))
        return key

    def before_key(self) -> str | None:
        """Equal for cells with the same steps before the machine."""
        return None if self.before is None else joblib.hash(self.before)

    def chain_key(self) -> tuple[Any, ...]:
        """Equal for cells that differ only along their chain."""
        machine = self.machine
        along = ALONG.get(type(machine))
        rest = {name: value for name, value in machine.get_params(deep=False).items() if name != along}
        return type(machine), tuple((name, hashable(value)) for name, value in rest.items())


@dataclass(eq=False)
class Chain:
    """Cells that are solved one after the other, in this order, on one split."""

    cells: list[Cell]

    @classmethod
    def all_of(cls, cells: Iterable[Cell]) -> list[Chain]:
        """All cells in chains, those with equal steps before the machine together."""
        groups: dict[Any, dict[Any, list[Cell]]] = {}
        keys: dict[int, Any] = {}
        for cell in cells:
            before = keys.setdefault(cell.number, cell.before_key())
            groups.setdefault(before, {}).setdefault(cell.chain_key(), []).append(cell)
        return [cls(ascending(chain)) for chains in groups.values() for chain in chains.values()]


def ascending(cells: Sequence[Cell]) -> list[Cell]:
    """Along the chain: small prices first, whose solutions most samples have a part in, at their bounds."""
    along = ALONG.get(type(cells[0].machine))
    if along is None:
        return list(cells)
    try:
        return sorted(cells, key=lambda cell: float(getattr(cell.machine, along)))
    except (TypeError, ValueError):  # one for each target, or no number: the fit will say so
        return list(cells)


def hashable(value: Any) -> Any:
    """The value, or what stands for it in a key."""
    try:
        hash(value)
    except TypeError:
        return joblib.hash(value)
    return type(value), value
