"""What a run yields: for every case what each contestant reached, and who was faster by how much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.svm.contestants import REFERENCES

#: A contestant whose true violation is beyond this multiple of what was asked, or of ours, has not solved the problem.
LENIENCE = 2.0


@dataclass
class Entry:
    """One contestant: ``seconds`` is None where there is no time, and ``note`` says why."""

    contestant: str
    seconds: float | None = None
    rounds: int = 0
    dual: float | None = None
    primal: float | None = None
    violation: float | None = None
    imbalance: float | None = None
    support: int | None = None
    claimed_violation: float | None = None  # what our own certificate says
    peak_megabytes: float | None = None
    note: str = ""

    def late(self) -> bool:
        return self.seconds is None and self.note.startswith(">")


@dataclass
class Row:
    """One comparison. ``ratio`` is time of the faster peer / ours, above 1 if ours is faster; ``bound`` is > or < where
    somebody met the time limit. In the family of large C only peers count that solved the problem."""

    name: str
    family: str
    machine: str
    parameters: dict[str, Any]
    target: float | None
    limit: float
    rows: int | None = None
    columns: int | None = None
    entries: list[Entry] = field(default_factory=list)
    ratio: float | None = None
    bound: str = ""
    peer: str = ""
    allowed_megabytes: float | None = None
    load: float | None = None
    processor: str = ""
    peak_flops: float | None = None  # of that processor, where growth is compared with it

    def entry(self, contestant: str) -> Entry | None:
        return next((e for e in self.entries if e.contestant == contestant), None)

    def compare(self) -> None:
        """Fills in ratio, bound and peer."""
        ours = self.entry("mercer")
        peers = [e for e in self.entries if e.contestant in REFERENCES and self._counts(e)]
        timed = [e for e in peers if e.seconds is not None]
        if ours is None or not (ours.seconds or ours.late()):
            return
        if timed:
            best = min(timed, key=lambda e: e.seconds or 0.0)
            self.peer, reached = best.contestant, best.seconds or 0.0
        elif any(e.late() for e in peers):
            self.peer, reached, self.bound = "all", self.limit, ">"
        else:
            return
        if ours.seconds is None:
            self.bound = "<"
        self.ratio = reached / (ours.seconds or self.limit)

    def _counts(self, peer: Entry) -> bool:
        ours = self.entry("mercer")
        if self.family != "large C" or peer.violation is None or ours is None or ours.violation is None:
            return True
        return peer.violation <= LENIENCE * max(float(self.parameters["tol"]), ours.violation)

    @property
    def score(self) -> float:
        """Ratio / target: below 1 is lost; rows without a comparison count as neither."""
        ours = self.entry("mercer")
        if self.allowed_megabytes is not None and ours is not None and ours.peak_megabytes is not None:
            return self.allowed_megabytes / ours.peak_megabytes
        if self.target is None or self.ratio is None:
            return float("inf")
        if self.bound == "<":
            return min(self.ratio / self.target, 0.999)
        return self.ratio / self.target

    @property
    def verdict(self) -> str:
        if self.score == float("inf"):
            return ""
        return "met" if self.score >= 1 else ("not shown" if self.bound == ">" else "MISSED")

    def doubts(self) -> list[str]:
        """What a reader should look at: solutions that are none, objectives that differ, certificates that flatter."""
        found = []
        ours = self.entry("mercer")
        tol = float(self.parameters["tol"])
        for e in self.entries:
            if e.violation is not None and e.violation > LENIENCE * tol:
                found.append(f"{e.contestant}: true violation {e.violation:.1e}")
            if ours is not None and ours.dual is not None and e.dual is not None:
                difference = (e.dual - ours.dual) / max(abs(ours.dual), 1e-300)
                if abs(difference) > 1e-4:
                    found.append(f"{e.contestant}: dual objective differs from ours by {difference:+.1e}")
            if e.violation is not None and e.violation > (e.claimed_violation or np.inf) + 0.01 * tol:
                found.append(f"{e.contestant}: claims {e.claimed_violation:.2e}, judged {e.violation:.2e}")
        return found


def order(rows: list[Row]) -> list[Row]:
    """The losing rows first."""
    return sorted(rows, key=lambda row: row.score)
