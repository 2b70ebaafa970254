"""The results as text, as Markdown for the README, and as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import processor
from benchmarks.svm.contestants import CONTESTANTS
from benchmarks.svm.rows import Entry, Row, order

#: What the full table shows of an entry, and how.
FORMS = {
    "seconds": ".4g",
    "dual": ".8g",
    "primal": ".8g",
    "violation": ".2e",
    "imbalance": ".0e",
    "support": "d",
    "peak_megabytes": ".0f",
}
PREFACE = """\
Seconds of a warm fit on two threads, best of three in turn with the others (two beyond 20 s, one beyond 60 s), and in
brackets the true KKT violation, recomputed in float64 by one judge for all (tol is 1e-3). The ratio is the time of the
faster of scikit-learn and scikit-learn-intelex / ours; the rows that miss their goal come first.
"""


def line(entry: Entry) -> str:
    """One contestant, for the terminal."""
    if entry.seconds is None:
        return f"{entry.contestant:12s} {entry.note}"
    parts = [f"{entry.contestant:12s} {entry.seconds:10.4f} s"]
    if entry.violation is not None:
        parts.append(f"dual {entry.dual:.8g}  violation {entry.violation:.2e}  {entry.support} support vectors")
    if entry.peak_megabytes:
        parts.append(f"peak {entry.peak_megabytes:.0f} MB")
    return "   ".join([*parts, entry.note])


def headline(row: Row) -> str:
    """The verdict on a row, for the terminal."""
    if row.allowed_megabytes is not None:
        return f"{row.name:24s} peak {peak(row)} of {row.allowed_megabytes:.0f} MB allowed: {row.verdict}"
    goal = "" if row.target is None else f"   goal {row.target:g}: {row.verdict or 'no comparison'}"
    return f"{row.name:24s} ratio {ratio(row):>8s} to {row.peer or 'nobody':12s}{goal}"


def text(rows: list[Row]) -> str:
    """The whole table, losing rows first, for the terminal."""
    lines = []
    for row in rows:
        lines.append(headline(row))
        lines += [f"    {line(entry)}" for entry in row.entries]
        lines += [f"    LOOK: {doubt}" for doubt in row.doubts()]
    return "\n".join(lines)


def ratio(row: Row) -> str:
    return "-" if row.ratio is None else f"{row.bound}{row.ratio:.2f}"


def peak(row: Row) -> str:
    ours = row.entry("mercer")
    return "unknown" if ours is None or ours.peak_megabytes is None else f"{ours.peak_megabytes:.0f} MB"


def cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.seconds is None:
        return entry.note if entry.late() else "-"
    seconds = f"{entry.seconds:.3g}" if entry.seconds < 100 else f"{entry.seconds:.0f}"
    proof = "" if entry.violation is None else f" ({entry.violation:.0e})"
    return seconds + proof


def markdown(rows: list[Row], exponents: list[Any]) -> str:
    """Three tables: ratios, growth, and everything that was measured."""
    present = {e.contestant for row in rows for e in row.entries if e.seconds is not None}
    names = [c.name for c in CONTESTANTS if c.name in present]
    compared = [row for row in order(rows) if row.family not in ("growth", "memory")]
    out = ["# Support vector machines", "", PREFACE]
    processors = sorted({row.processor for row in rows})
    if len(processors) > 1:
        out += [f"{name}: {', '.join(row.name for row in rows if row.processor == name)}.\n" for name in processors]
    out += table(
        ["problem", "n x d", *names, "ratio", "goal", ""],
        [
            [
                *(row.name, f"{row.rows:,} x {row.columns:,}"),
                *(cell(row.entry(name)) for name in names),
                *(ratio(row), number(row.target, "g"), row.verdict),
            ]
            for row in compared
        ],
    )
    for row in rows:
        if row.allowed_megabytes is not None:
            ours = row.entry("mercer")
            out += ["", f"Peak memory of {row.name}: {peak(row)} of {row.allowed_megabytes:.0f} MB allowed "]
            out[-1] += (
                f"(cache_size {row.parameters['cache_size']} MB; seconds: {cell(ours)}): {row.verdict or 'not known'}."
            )
    growth = [row for row in rows if row.family == "growth"]
    if growth:
        out += ["", "## Growth", "", "Exponents p of time = n^p, fitted to all sizes from 5,000 rows on:", ""]
        out += table(["d", "contestant", "p", "sizes"], exponents)
        out += [""]
        out += table(
            ["n x d", *names], [[f"{r.rows:,} x {r.columns}", *(cell(r.entry(n)) for n in names)] for r in growth]
        )
    out += ["", "## Everything", ""]
    out += table(
        ["problem", "contestant", *FORMS, "note"],
        [
            [row.name, e.contestant, *(number(getattr(e, name), form) for name, form in FORMS.items()), e.note]
            for row in order(rows)
            for e in row.entries
        ],
    )
    doubts = [f"- {row.name}: {doubt}" for row in order(rows) for doubt in row.doubts()]
    if doubts:
        out += ["", "## To look at", "", *doubts]
    return "\n".join(out) + "\n"


def number(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def table(head: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)]


def growth_exponents(rows: list[Row]) -> list[list[str]]:
    """Least squares of log seconds on log n, per number of columns and contestant, from 5,000 rows on."""
    found = []
    growth = [row for row in rows if row.family == "growth"]
    for d in sorted({row.columns for row in growth if row.columns}):
        for contestant in CONTESTANTS:
            n, seconds = curve(growth, d, contestant.name)
            late = n >= 5_000
            if late.sum() >= 2:
                p = np.polyfit(np.log(n[late]), np.log(seconds[late]), 1)[0]
                found.append([str(d), contestant.name, f"{p:.2f}", f"{n[late].min():,} to {n[late].max():,}"])
    return found


def curve(rows: list[Row], d: int, contestant: str) -> tuple[Any, Any]:
    """Sizes and seconds of one contestant."""
    timed = [(row.rows, row.entry(contestant)) for row in rows if row.columns == d]
    points = sorted((n, e.seconds) for n, e in timed if n and e is not None and e.seconds)
    return np.array([n for n, _ in points], dtype=np.int64), np.array([s for _, s in points])


def load(folder: Path) -> list[Row]:
    """The rows saved there."""
    file = folder / "svm.json"
    if not file.exists():
        return []
    saved = json.loads(file.read_text())["rows"]
    return [Row(**row | {"entries": [Entry(**entry) for entry in row["entries"]]}) for row in saved]


def save(folder: Path, rows: list[Row], *, picture: bool = False) -> None:
    """svm.json and svm.md, and svm.png if asked for."""
    from benchmarks.svm.plot import draw

    folder.mkdir(parents=True, exist_ok=True)
    body = json.dumps({"machine": setting(), "rows": [asdict(row) for row in rows]}, indent=1)
    (folder / "svm.json").write_text(body + "\n")
    (folder / "svm.md").write_text(markdown(rows, growth_exponents(rows)))
    if picture:
        draw(rows, folder / "svm.png")


def setting() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    from mercer import _native

    found = {
        "processor": processor(),
        "instruction_set": _native.instruction_set(),
        "threads": _native.thread_count(),
        "python": platform.python_version(),
    }
    for package in ("numpy", "scikit-learn", "scikit-learn-intelex", "thundersvm-cpu", "libsvm-official"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
