"""Runs the chosen cases, contestants in turn, and writes svm.json, svm.md and svm.png after every case."""

from __future__ import annotations

import argparse
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import RESULTS, best_in_turn, processor
from benchmarks.svm import report
from benchmarks.svm.cases import Case, selected
from benchmarks.svm.contestants import CONTESTANTS, REFERENCES, THREADS
from benchmarks.svm.rows import Entry, Row, order
from benchmarks.svm.worker import NO_DATA, Session
from mercer import _native

#: Contestants of the growth curves; the others would double the hours.
GROWING = ("mercer", "intelex", "scikit-learn")
#: A fit of the memory row must stay below this, besides data + cache_size + 5 %.
CEILING = 2000.0


def options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("svm")
    group.add_argument("--only", default="", help="words, by commas: cases with one in the name, or of that family")
    group.add_argument("--contestants", default="", help="by commas; all that are installed but intelex-f32, if none")
    group.add_argument("--limit", type=float, help="seconds a single fit may take (300; 60 if quick)")
    group.add_argument("--quick", action="store_true", help="one round, without the slow cases; saves only to --out")
    group.add_argument("--out", type=Path, help="folder for the results instead of benchmarks/results")
    group.add_argument("--list", action="store_true", help="the names of the cases, and nothing else")
    group.add_argument("--render", action="store_true", help="tables and picture of the saved results again")


def run(chosen: argparse.Namespace) -> None:
    folder = chosen.out or (None if chosen.quick else RESULTS)
    words = [word for word in chosen.only.split(",") if word]
    cases = selected(words, quick=chosen.quick and not words)
    if chosen.list:
        for case in cases:
            print(f"{case.name:26s} {case.family:12s} {case.machine:12s} target {case.target or '-'}")
        return
    kept = report.load(folder) if folder else []
    if chosen.render:
        report.save(folder, kept, picture=True)
        return
    names = contestants(chosen.contestants)
    limit = chosen.limit or (60.0 if chosen.quick else 300.0)
    fresh: list[Row] = []
    tired: set[tuple[str, str]] = set()
    for case in cases:
        print(f"{case.name} ({case.family})", flush=True)
        rows = compete(case, lineup(case, names, tired), limit, rounds=1 if chosen.quick else 3)
        note_tired(case, rows, tired)
        fresh += rows
        if folder and rows:
            report.save(folder, merged(kept, fresh))
    print("\n" + report.text(order(fresh)))
    if folder and fresh:
        report.save(folder, merged(kept, fresh), picture=True)


def contestants(words: str) -> list[str]:
    """The names asked for, or all but the extra run in float32; those not installed are named and left out."""
    asked = [word for word in words.split(",") if word] or [c.name for c in CONTESTANTS if c.name != "intelex-f32"]
    for contestant in CONTESTANTS:
        if contestant.name in asked and not contestant.installed():
            print(f"SKIPPED: {contestant.name} is not installed")
            asked.remove(contestant.name)
    return [c.name for c in CONTESTANTS if c.name in asked]


def lineup(case: Case, names: list[str], tired: set[tuple[str, str]]) -> list[str]:
    if case.alone:
        return [name for name in names if name == "mercer"]
    if case.family == "growth":
        return [name for name in names if name in GROWING and (name, columns_of(case)) not in tired]
    return names


def note_tired(case: Case, rows: list[Row], tired: set[tuple[str, str]]) -> None:
    """Who met the limit at one size does not try a larger one."""
    if case.family == "growth":
        tired |= {(e.contestant, columns_of(case)) for row in rows for e in row.entries if e.late()}


def columns_of(case: Case) -> str:
    return case.name.rpartition("x")[2]


def compete(case: Case, names: list[str], limit: float, rounds: int) -> list[Row]:
    """The row of the fits and, if the case has one, the row of the predictions."""
    limit *= 10 if case.alone else 1  # there is nobody to compare with, and something to learn
    sessions: list[Session] = []
    try:
        for name in names:
            sessions.append(Session(case.name, name))
            if sessions[-1].problem == NO_DATA:
                print(f"  SKIPPED: {NO_DATA}", flush=True)
                return []
        shape = next((s.opened["rows"], s.opened["columns"]) for s in sessions if s.opened)
        row = Row(case.name, case.family, case.machine, {"tol": 1e-3} | case.parameters, case.target, limit, *shape)
        row.peak_flops = peak_flops() if case.family == "growth" else None
        row.load, row.processor = os.getloadavg()[0], f"{processor()}, {_native.instruction_set()}"
        row.entries = timed(sessions, "fit", limit, rounds)
        if case.family == "memory":
            row.allowed_megabytes = CEILING
        for session, entry in zip(sessions, row.entries, strict=True):
            judged(session, entry, row)
            print("  " + report.line(entry), flush=True)
        row.compare()
        results = [row]
        # A reference that was not fitted in time might still be the faster one to predict.
        if case.predict_target is not None and not any(e.late() and e.contestant in REFERENCES for e in row.entries):
            again = Row(f"{case.name} predict", "predict", case.machine, row.parameters, case.predict_target, limit)
            again.rows, again.columns, again.load, again.processor = *shape, os.getloadavg()[0], row.processor
            again.entries = timed(sessions, "predict", limit, rounds)
            for entry, before in zip(again.entries, row.entries, strict=True):
                for name in ("dual", "primal", "violation", "support"):
                    setattr(entry, name, getattr(before, name))
                print("  predict " + report.line(entry), flush=True)
            again.compare()
            results.append(again)
        for row in results:
            print("  " + report.headline(row), flush=True)
        return results
    finally:
        for session in sessions:
            session.close()


@cache
def peak_flops() -> float:
    """Multiplications and additions per second of a product of float32 matrices."""
    A = np.ones((4096, 4096), dtype=np.float32)
    with threadpool_limits(THREADS):
        (seconds,) = best_in_turn([lambda: A @ A], 3)
    return 2 * 4096**3 / seconds


def timed(sessions: list[Session], word: str, limit: float, rounds: int) -> list[Entry]:
    """The best of several rounds, in turn: fewer for whoever takes more than 20 s, one for more than 60 s."""
    entries = [Entry(session.name) for session in sessions]
    for turn in range(rounds):
        for session, entry in zip(sessions, entries, strict=True):
            first = entry.seconds or 0.0
            if turn >= (1 if first > 60 else 2 if first > 20 else rounds):
                continue
            answer = session.ask(word, limit if turn == 0 else 10 * limit)
            if answer is None:
                entry.note = session.problem or ""
                continue
            entry.seconds = min(entry.seconds or np.inf, answer["seconds"])
            entry.peak_megabytes = answer.get("peak")
            entry.rounds += 1
    return entries


def judged(session: Session, entry: Entry, row: Row) -> None:
    found: dict[str, Any] | None = session.ask("judge")
    if found is None:
        entry.note = session.problem or ""
        return
    for name in ("dual", "primal", "violation", "imbalance", "support", "claimed_violation"):
        setattr(entry, name, found.get(name))
    if found["fell_back"]:
        entry.note = "fell back to scikit-learn"
    if row.allowed_megabytes is not None:
        budget = found["base_megabytes"] + 1.05 * (found["data_megabytes"] + row.parameters["cache_size"] * 1.048576)
        row.allowed_megabytes = min(CEILING, budget)


def merged(kept: list[Row], fresh: list[Row]) -> list[Row]:
    """Old rows stay until there are new ones of the same name."""
    new = {row.name: row for row in fresh}
    known = {row.name for row in kept}
    return [new.get(row.name, row) for row in kept] + [row for row in fresh if row.name not in known]
