"""Kernels of sequences: how well machines do with them on public data (``accuracy``, ``homology``), and how fast they
are (``speed``). ``python -m benchmarks strings --only nfe2,splice`` runs some of them; all need MERCER_DATA.

Every split is made with a fixed seed; parameters are fixed beforehand or chosen by cross-validation inside the training
part alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from benchmarks.measure import DATA, RESULTS, write
from benchmarks.strings import accuracy, homology, speed

CASES = {**accuracy.CASES, **homology.CASES, **speed.CASES}


def run(chosen: argparse.Namespace) -> None:
    wanted = [name for name in CASES if not chosen.only or any(word in name for word in chosen.only.split(","))]
    if DATA is None:
        print("SKIPPED: set MERCER_DATA to the folder of the data sets")
        return
    found = list(_rows(wanted))
    if found:
        write((chosen.out or RESULTS) / "strings.json", found)


def _rows(names: list[str]) -> Iterator[Any]:
    for name in names:
        for row in CASES[name]():
            print(row, flush=True)
            yield row
