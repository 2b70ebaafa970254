"""Times contenders in turn, several rounds, the best of each: so a noisy machine is fair to all."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
DATA = os.environ.get("MERCER_DATA")


@dataclass(frozen=True)
class Row:
    """One comparison: seconds of ours and of the best peer, their ratio, and the ratio we are to reach."""

    name: str
    peer: str
    ours_seconds: float
    peer_seconds: float
    ratio: float  # ours / peer: below 1 is faster
    target: float
    error: float  # largest difference of the two results, where they compute the same thing
    peak_megabytes: float

    def __str__(self) -> str:
        verdict = "met" if self.ratio <= self.target else "MISSED"
        return (
            f"{self.name:42s} ours {self.ours_seconds:8.4f} s   {self.peer:26s} {self.peer_seconds:8.4f} s   "
            f"ratio {self.ratio:6.3f}   target {self.target:5.3f} {verdict:6s}  error {self.error:.1e}   "
            f"peak {self.peak_megabytes:.0f} MB"
        )


#: A contender's turn is two calls, as the first may pay for memory that the one before gave back (not that one of many
#: seconds would show it), and lasts at least TURN seconds: short calls are repeated ...
TURN, LONG = 0.2, 20.0
#: ... and begins after PAUSE seconds, as threads of the one before may still wait busily for more work.
PAUSE = 0.1


def best_in_turn(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            time.sleep(PAUSE)
            begun = now = time.perf_counter()
            times: list[float] = []
            while now - begun < (TURN if len(times) > 1 else LONG):
                call()
                before, now = now, time.perf_counter()
                times.append(now - before)
            best[i] = min(best[i], *times)
    return best


def with_peak(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the megabytes of memory it took at most, beside an array that it returned.

    They are those the system counts, native ones included; where it is not Linux, unknown.
    """
    reset, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")

    def kilobytes(word: str) -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(word))

    if not reset.exists():
        return call(), np.nan
    reset.write_text("5")  # the peak is counted from now on
    before = kilobytes("VmRSS")
    value = call()
    returned = value.nbytes if isinstance(value, np.ndarray) else 0
    return value, max(0.0, (1024 * (kilobytes("VmHWM") - before) - returned) / 1e6)


def compare(
    name: str,
    ours: Callable[[], Any],
    peer_name: str,
    peer: Callable[[], Any],
    target: float,
    *,
    reference: Callable[[], Any] | None = None,
    rounds: int = 5,
) -> Row:
    """``reference`` computes what ours computes, for the error; the peer itself if it does."""
    value, peak = with_peak(ours)
    expected = reference() if reference is not None else peer()
    error = (
        float(np.abs(np.asarray(value, dtype=np.float64) - np.asarray(expected)).max())
        if expected is not None
        else np.nan
    )
    del value, expected
    ours_seconds, peer_seconds = best_in_turn([ours, peer], rounds)
    return Row(name, peer_name, ours_seconds, peer_seconds, ours_seconds / peer_seconds, target, error, peak)


def load(file: str) -> Any:
    """The data set, or None where MERCER_DATA does not hold it."""
    if DATA is None or not (Path(DATA) / file).exists():
        return None
    return np.load(Path(DATA) / file, allow_pickle=False)


def save(noun: str, rows: list[Any]) -> None:
    write(RESULTS / f"{noun}.json", rows)


def run_cases(noun: str, cases: Mapping[str, Callable[[], Iterable[Any]]], only: str) -> None:
    """Runs the cases with one of the words of ``only``, by commas, in their names; all, if it is empty.

    Their rows take the place of those that were saved for the same cases, one case after the other, so a run that was
    stopped is taken up by naming what is missing.
    """
    path = RESULTS / f"{noun}.json"
    saved = json.loads(path.read_text())["rows"] if path.exists() else []
    for name, case in cases.items():
        if only and not any(word in name for word in only.split(",")):
            continue
        made = []
        for row in case():
            print(row, flush=True)
            made.append({"case": name, **asdict(row)})
        saved = [row for row in saved if row["case"] != name] + made
        write(path, sorted(saved, key=lambda row: [*cases].index(row["case"])))


def processor() -> str:
    """The processor by name, where the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def write(path: Path, rows: list[Any]) -> None:
    """The rows, each a dataclass or what was read of one, and the machine they were measured on."""
    from mercer import _native

    path.parent.mkdir(exist_ok=True)
    machine = {
        "processor": processor(),
        "instruction_set": _native.instruction_set(),
        "threads": _native.thread_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    path.write_text(
        json.dumps({"machine": machine, "rows": [r if isinstance(r, dict) else asdict(r) for r in rows]}, indent=1)
        + "\n"
    )
