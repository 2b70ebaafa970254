"""What a search is going to do: its order, what its cells share, and the memory that takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import _num_samples

from mercer.selection.cells import Chain
from mercer.selection.matrices import Layout
from mercer.selection.views import Given
from mercer.shown import Shown

#: Bytes of a coefficient of one problem with all that is made of it, in Python and in the core.
EACH = 30 * 8


@dataclass(frozen=True)
class Plan(Shown):
    """The plan of a search; ``nbytes`` is what it takes at the most, beside the samples.

    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.selection import Trials
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) < 10
    >>> plan = Trials(SVC(), X, y, cv=2).plan([{"C": 1.0}, {"C": 2.0}, {"gamma": 0.1}])
    >>> plan.cells, plan.fits, plan.matrices
    (3, 6, 2)
    """

    cells: int
    splits: int
    #: Cells that share nothing.
    alone: int
    #: Chains of cells that differ in the price of errors alone, each of which needs one matrix, or one for each split.
    matrices: int
    per_split: bool
    reduction: str | None
    held: bool
    nbytes: int
    budget: int
    order: tuple[dict[str, Any], ...]

    @property
    def fits(self) -> int:
        return self.cells * self.splits

    @classmethod
    def of(
        cls, chains: list[Chain], along: list[Chain], alone: int, given: Given, budget: int, threads: int, train: bool
    ) -> Plan:
        every = [*along, *chains]
        cells = [cell for chain in every for cell in chain.cells]
        rows, splits = _num_samples(given.X), len(given.splits)
        per_split = any(cell.before is not None for cell in cells)
        layout = Layout.of(rows, budget, max(1, len(chains)))
        at_once = min(layout.threads(threads), len(chains) * splits) if chains else 1
        each = layout.bytes_of_reduction + layout.bytes_of_matrix
        if per_split and each:
            at_once = max(1, min(at_once, budget // each))
        views = at_once if per_split else 1
        nbytes = 0
        if chains:
            live = min(at_once, len(chains))
            nbytes = views * (layout.bytes_of_reduction + live * layout.bytes_of_matrix) + at_once * rows * EACH
        if along:
            nbytes = max(nbytes, 3 * 8 * rows * rows)
        reduction = None if layout.reduction is None or not chains else layout.reduction.name
        order = tuple(cell.params for cell in cells)
        held = bool(chains) and layout.held
        return cls(len(cells) + alone, splits, alone, len(every), per_split, reduction, held, nbytes, budget, order)

    def __str__(self) -> str:
        lines = [f"{self.cells} cells on {self.splits} splits: {self.fits} fits"]
        if self.matrices:
            each = ", each on the rows of every split" if self.per_split else " of all rows, for all splits"
            lines.append(
                f"{self.matrices} matrices{each}; cells that differ in the price of errors start from each other"
            )
        if self.reduction:
            lines.append(f"one reduction in {self.reduction} for all widths")
        if self.matrices and not self.held:
            lines.append("matrices do not fit the budget whole: rows are computed as they are asked for")
        if self.alone:
            lines.append(f"{self.alone} cells share nothing")
        lines.append(f"{self.nbytes / 2**20:.0f} MB of {self.budget / 2**20:.0f} MB")
        return "\n".join(lines)
