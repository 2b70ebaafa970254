"""Kernels of sequences: how well machines do with them on public data (``accuracy``, ``homology``), and how fast they
are (``speed``). ``python -m benchmarks strings`` runs everything; all of it needs MERCER_DATA.

Every split is made with a fixed seed; parameters are fixed beforehand or chosen by cross-validation inside the training
part alone. The results are written after every case, and those of other cases are kept: so what was interrupted is
taken up again with ``--only nfe2,splice``, and ``--list`` says what there is.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measure import DATA, RESULTS, write
from benchmarks.strings import accuracy, homology, speed

CASES = {**accuracy.CASES, **homology.CASES, **speed.CASES}


def run(chosen: argparse.Namespace) -> None:
    wanted = [name for name in CASES if not chosen.only or any(word in name for word in chosen.only.split(","))]
    if chosen.list:
        print("\n".join(wanted))
        return
    if DATA is None:
        print("SKIPPED: set MERCER_DATA to the folder of the data sets")
        return
    file = Path(chosen.out or RESULTS) / "strings.json"
    for name in wanted:
        found = []
        for row in CASES[name]():
            print(row, flush=True)
            found.append({"case": name, **asdict(row)})
        write(file, merged(kept(file), name, found))
    speed.plot(file.with_suffix(".png"), kept(file))


def kept(file: Path) -> list[dict[str, Any]]:
    """The rows of earlier runs."""
    return list(json.loads(file.read_text())["rows"]) if file.exists() else []


def merged(rows: list[dict[str, Any]], case: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with those of one case replaced, in the order of the cases."""
    order = list(CASES)
    all_of_them = [row for row in rows if row["case"] != case and row["case"] in CASES] + found
    return sorted(all_of_them, key=lambda row: order.index(row["case"]))
