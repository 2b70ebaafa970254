"""A search of 10 x 10 cells (C x gamma) on 5 folds against the same search of others, on five data sets.

All search the same grid on the same stratified folds with 2 threads and without the last fit: scikit-learn's
``GridSearchCV(n_jobs=2)`` over its own SVC, and over scikit-learn-intelex's, by two processes or by its own two threads
(the faster one counts). *Plain* cases are of columns that were standardised beforehand; in a *pipeline* each fold is
standardised by itself. liquidSVM stands beside the plain ones with the same widths, costs and number of folds, but its
machines have no bias, its folds are its own, and of each pair of classes it chooses the best cell separately, so its
scores are not comparable. It is on PyPI and compiles (``pip install liquidSVM``); its Python part asks for a name that
Python dropped, which is why ``liquid`` says it. Contestants that are not installed are left out.

Every run is a process of its own that imports and warms up by a small search before the clock starts; contestants go
in turn, and the best of the rounds counts. What takes longer than ``--limit`` seconds (1800) is reported as "> limit".
Peak memory is that of a process and of those it started, each at its own peak. A unit is one fit of scikit-learn's SVC
at the best cell on all rows. How long Python and scoring take is found in a run of one thread, in which calls of the
native solver and the making of matrices are timed: the rest, per cell and split.

``python -m benchmarks selection --only segment`` runs some cases; a case is saved as soon as it is done.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn import svm as peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import load, run_cases
from benchmarks.svm.contestants import THREADS, Fallbacks
from benchmarks.svm.data import csr
from benchmarks.svm.worker import best, reset_peak

#: Data sets, and how many of their rows, drawn at random, where not all.
SETS = {"segment": None, "optdigits": None, "spambase": None, "letter": 5000, "a9a": 5000}
COSTS, GAMMAS, FOLDS = np.logspace(-1, 3, 10), np.logspace(-4, 0.5, 10), 5
#: How many times faster a search is to be than each peer's, how many units it may take on two classes, with and without
#: cuts, and the milliseconds of Python and scoring.
TARGETS = {"plain": {"scikit-learn": 25.0, "intelex": 10.0, "liquidSVM": 8.0}, "pipeline": {"scikit-learn": 15.0}}
UNITS = {"mercer": 12.0, "mercer, safe cuts": 6.0}
MILLISECONDS = 0.2
LIMIT, ROUNDS = 1800.0, 3
#: One round is enough of a run that takes so many seconds, and two of a third of it.
LONG = 120.0


def read(name: str) -> tuple[Any, Any] | None:
    file = load(f"{name}.npz")
    if file is None:
        return None
    X = csr(file, "X").toarray() if "X_data" in file else file["X"].astype(np.float64)
    y = file["y"].astype(np.int64)
    rows = np.random.default_rng(0).permutation(len(y))[: SETS[name]]
    return X[rows], y[rows]


def standardised(X: Any) -> Any:
    return StandardScaler().fit_transform(X)


# -- contestants: each runs one search and says what it found ------------------------------------------------------


def searched(kind: Any, machine: Any, X: Any, y: Any, way: str, *, warm: bool = True, **options: Any) -> dict[str, Any]:
    """What a search finds; ``way`` is plain or pipeline."""
    prefix = "" if way == "plain" else "svc__"
    estimator = machine if way == "plain" else make_pipeline(StandardScaler(), machine)
    folds = model_selection.StratifiedKFold(FOLDS, shuffle=True, random_state=0)

    def search(X: Any, y: Any, costs: Any, gammas: Any) -> Any:
        grid = {f"{prefix}C": costs, f"{prefix}gamma": gammas}
        return kind(estimator, grid, cv=folds, refit=False, **options).fit(X, y)

    if warm:
        some = np.random.default_rng(0).permutation(len(y))[:300]
        search(X[some], y[some], COSTS[4:6], GAMMAS[4:6])
        reset_peak()
    begun = time.perf_counter()
    found = search(X, y, COSTS, GAMMAS)
    seconds = time.perf_counter() - begun
    means = found.cv_results_["mean_test_score"]
    chosen = found.cv_results_["params"][int(np.nanargmax(means))]
    evidence = found.cv_results_.get("evidence", np.full(len(means), "exact"))
    return {
        "seconds": seconds,
        "best": [float(chosen[f"{prefix}C"]), float(chosen[f"{prefix}gamma"])],
        "means": [None if np.isnan(mean) else float(mean) for mean in means],
        "exact_cells": int(np.sum(np.asarray(evidence) == "exact")),
    }


def ours(X: Any, y: Any, way: str, **options: Any) -> dict[str, Any]:
    from mercer import SVC
    from mercer.selection import GridSearchCV

    return searched(GridSearchCV, SVC(), X, y, way, **options)


def scikit(X: Any, y: Any, way: str) -> dict[str, Any]:
    return searched(model_selection.GridSearchCV, peer.SVC(), X, y, way, n_jobs=THREADS)


def intelex(X: Any, y: Any, way: str, n_jobs: int | None = None) -> dict[str, Any]:
    import daal4py
    import sklearnex.svm

    daal4py.daalinit(THREADS if n_jobs is None else 1)
    with Fallbacks() as fallbacks:
        sklearnex.svm.SVC().fit(standardised(X[:300]), y[:300])
    found = searched(model_selection.GridSearchCV, sklearnex.svm.SVC(), X, y, way, n_jobs=n_jobs)
    return found | {"note": "fell back to scikit-learn" if fallbacks.seen else ""}


def liquid(X: Any, y: Any, way: str) -> dict[str, Any]:
    sysconfig.get_config_vars()["SO"] = sysconfig.get_config_var("EXT_SUFFIX")
    from liquidSVM import mcSVM

    settings = {"threads": THREADS, "folds": FOLDS, "random_seed": 1}
    mcSVM(X[:300], y[:300], gammas=[1.0, 2.0], c_values=[1.0, 10.0], **settings)
    reset_peak()
    begun = time.perf_counter()
    mcSVM(X, y, gammas=(1 / np.sqrt(GAMMAS)).tolist(), c_values=COSTS.tolist(), **settings)
    return {"seconds": time.perf_counter() - begun}


def told_apart(X: Any, y: Any, way: str) -> dict[str, Any]:
    """Our search by one thread, with the seconds of solves and of matrices."""
    from mercer import _native
    from mercer.selection.matrices import Shared

    spent = {"solves": 0.0, "matrices": 0.0}

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                spent[name] += time.perf_counter() - begun

        return run

    ours(X, y, way, n_jobs=1)
    for name in dir(_native):
        if name.startswith("solve"):
            setattr(_native, name, timed("solves", getattr(_native, name)))
    Shared.gram = timed("matrices", Shared.gram)  # type: ignore[method-assign]
    found = ours(X, y, way, n_jobs=1, warm=False)
    rest = found["seconds"] - sum(spent.values())
    each = len(COSTS) * len(GAMMAS) * FOLDS
    return {"seconds": found["seconds"], **spent, "milliseconds": 1000 * rest / each}


def one_fit(X: Any, y: Any, way: str) -> dict[str, Any]:
    C, gamma = (float(os.environ[name]) for name in ("BENCHMARK_C", "BENCHMARK_GAMMA"))
    return {"seconds": best(lambda: peer.SVC(C=C, gamma=gamma).fit(X, y))}


#: Contestants by name: what runs, and what must be installed.
CONTESTANTS: dict[str, tuple[Callable[..., dict[str, Any]], str]] = {
    "mercer": (ours, "mercer"),
    "mercer, safe cuts": (partial(ours, cut="safe"), "mercer"),
    "scikit-learn": (scikit, "sklearn"),
    "intelex, processes": (partial(intelex, n_jobs=THREADS), "sklearnex"),
    "intelex, threads": (intelex, "sklearnex"),
    "liquidSVM": (liquid, "liquidSVM"),
}
APART: dict[str, Callable[..., dict[str, Any]]] = {"told apart": told_apart, "one fit": one_fit}


# -- a process for every run ---------------------------------------------------------------------------------------


def inside(name: str, way: str, contestant: str) -> None:
    """What the process of a run does; its last line says what it found."""
    warnings.simplefilter("ignore")
    data = read(name)
    assert data is not None
    X, y = data
    if way == "plain" or contestant == "one fit":
        X = standardised(X)
    call = APART[contestant] if contestant in APART else CONTESTANTS[contestant][0]
    found = call(X, y, way)
    print(json.dumps(found | {"peak_megabytes": peak_of_family()}))


def peak_of_family() -> float | None:
    """Megabytes that this process and those it started took, each at its own peak; None where it is not Linux."""
    peak, left = 0, [os.getpid()]
    while left:
        pid = left.pop()
        status = Path(f"/proc/{pid}/status")
        if not status.exists():
            if pid == os.getpid():
                return None
            continue
        told = dict(line.split(":", 1) for line in status.read_text().splitlines())
        peak += int(told.get("VmHWM", "0 kB").split()[0])
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            left += [int(child) for child in children.read_text().split()]
    return 1024 * peak / 1e6


def outside(name: str, way: str, contestant: str, limit: float, **more: float) -> dict[str, Any]:
    """What a run in a fresh process found, or a ``note`` that says why there is nothing."""
    threads = str(1 if contestant in ("told apart", "intelex, processes") else THREADS)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, threads) | {k: repr(float(v)) for k, v in more.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.selection", name, way, contestant],
        cwd=Path(__file__).parents[1],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
        process.communicate()
        return {"note": f"> {limit:g} s"}
    if process.returncode != 0:
        return {"note": (complaint.strip().splitlines() or [f"exit code {process.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return found


# -- a case --------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """All contestants on one case: seconds and peaks by name, what they found, and how it compares with the goals."""

    name: str
    rows: int
    columns: int
    classes: int
    limit: float
    load: float
    #: Of each contestant: seconds, rounds, peak_megabytes, best (C, gamma), note.
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: How many times faster ours is; where a peer was ended at its limit, at least so many times.
    ratios: dict[str, float] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)
    #: Of one fit of scikit-learn's at the best cell on all rows, and our searches in units of it.
    unit_seconds: float | None = None
    units: dict[str, float] = field(default_factory=dict)
    #: By one thread: the seconds of solves and matrices, and the milliseconds of all else per cell and split.
    told_apart: dict[str, Any] = field(default_factory=dict)
    #: With scikit-learn's search: the same best cell, by how much its mean of our best cell is below that of its own,
    #: and the largest and the mean difference of the mean scores. Of the one with cuts: has it our best cell.
    agreement: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.rows} x {self.columns}, {self.classes} classes)"]
        for name, entry in self.entries.items():
            seconds = f"{entry['seconds']:9.2f} s" if "seconds" in entry else f"{entry['note']:>11s}"
            peak = f"{entry['peak_megabytes']:6.0f} MB" if entry.get("peak_megabytes") else ""
            lines.append(f"    {name:20s} {seconds} {peak}  best {entry.get('best', '-')}")
        for name, ratio in self.ratios.items():
            bound = ">" if self.late(name) else ""
            lines.append(
                f"    times faster than {name:13s} {bound}{ratio:.1f} {verdict(ratio, self.targets.get(name), 1)}"
            )
        for name, units in self.units.items():
            goal = UNITS[name] if self.classes == 2 and self.name.endswith("plain") else None
            lines.append(f"    {name} in fits of {self.unit_seconds:.3f} s: {units:.1f} {verdict(units, goal, -1)}")
        if "milliseconds" in self.told_apart:
            took = self.told_apart
            lines.append(
                f"    by one thread {took['seconds']:.2f} s: solves {took['solves']:.2f} s, matrices "
                f"{took['matrices']:.2f} s, the rest {took['milliseconds']:.3f} ms per cell and split "
                f"{verdict(took['milliseconds'], MILLISECONDS, -1)}"
            )
        return "\n".join([*lines, f"    agreement {self.agreement}"])

    def late(self, peer_name: str) -> bool:
        own = [entry for name, entry in self.entries.items() if name.startswith(peer_name)]
        return not any("seconds" in entry for entry in own)


def verdict(value: float, target: float | None, sign: int) -> str:
    if target is None:
        return ""
    return f"(target {target:g}: {'met' if sign * value >= sign * target else 'MISSED'})"


def compared(name: str, way: str, limit: float, rounds: int, wanted: list[str]) -> Iterator[Row]:
    data = read(name)
    if data is None:
        print(f"SKIPPED: {name}.npz is not in MERCER_DATA")
        return
    X, y = data
    row = Row(f"{name} {way}", *X.shape, len(np.unique(y)), limit, os.getloadavg()[0], targets=TARGETS[way])
    names = [
        contestant
        for contestant, (_, module) in CONTESTANTS.items()
        if find_spec(module) is not None and not (contestant == "liquidSVM" and way == "pipeline")
        if not wanted or any(contestant.startswith(word) for word in wanted)
    ]
    found = timed_in_turn(row, name, way, names, limit, rounds)
    first = next((found[who] for who in ("scikit-learn", "mercer") if "best" in found.get(who, {})), None)
    if first is not None:
        row.unit_seconds = fastest_fit(name, first["best"], limit)
        fits = {who: found[who]["seconds"] for who in UNITS if "seconds" in found.get(who, {})}
        row.units = {who: seconds / row.unit_seconds for who, seconds in fits.items()} if row.unit_seconds else {}
    if "mercer" in names:
        row.told_apart = outside(name, way, "told apart", limit)
    row.ratios = ratios(row.entries, limit)
    row.agreement = agreement(found)
    yield row


def timed_in_turn(
    row: Row, name: str, way: str, names: list[str], limit: float, rounds: int
) -> dict[str, dict[str, Any]]:
    """What each contestant found in its best round; their seconds and peaks go to the row."""
    found: dict[str, dict[str, Any]] = {}
    for turn in range(rounds):
        for who in names:
            before = found.get(who, {})
            seconds = before.get("seconds", np.inf if turn else 0.0)
            if turn >= (1 if seconds > LONG else 2 if seconds > LONG / 3 else rounds):
                continue
            now = outside(name, way, who, limit)
            if "seconds" not in now and turn:
                continue
            if now.get("seconds", 0.0) <= before.get("seconds", np.inf):
                found[who] = now
            told = {key: value for key, value in found[who].items() if key != "means"}
            row.entries[who] = told | {"rounds": turn + 1}
    return found


def fastest_fit(name: str, cell: list[float], limit: float) -> float | None:
    fits = [outside(name, "plain", "one fit", limit, BENCHMARK_C=cell[0], BENCHMARK_GAMMA=cell[1]) for _ in range(3)]
    return min((fit["seconds"] for fit in fits if "seconds" in fit), default=None)


def ratios(entries: dict[str, dict[str, Any]], limit: float) -> dict[str, float]:
    """Seconds of each peer, at its best, over ours; of one that was ended, its limit."""
    if "seconds" not in entries.get("mercer", {}):
        return {}
    found = {}
    for who in ("scikit-learn", "intelex", "liquidSVM"):
        runs = [entry for name, entry in entries.items() if name.startswith(who)]
        seconds = [entry.get("seconds", limit) for entry in runs if "seconds" in entry or entry["note"].startswith(">")]
        if seconds:
            found[who] = min(seconds) / entries["mercer"]["seconds"]
    return found


def agreement(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Of our search with scikit-learn's, and with cuts with that without."""
    mine, cut, theirs = (found.get(who, {}) for who in ("mercer", "mercer, safe cuts", "scikit-learn"))
    answer: dict[str, Any] = {}
    if "means" in mine and "means" in theirs:
        one, other = (np.array(one["means"], dtype=np.float64) for one in (mine, theirs))
        answer = {
            "same_best": mine["best"] == theirs["best"],
            "best_falls_short_by": float(np.nanmax(other) - other[int(np.nanargmax(one))]),
            "largest_difference": float(np.nanmax(np.abs(one - other))),
            "mean_difference": float(np.nanmean(np.abs(one - other))),
        }
    if "best" in mine and "best" in cut:
        answer["same_best_with_cuts"] = mine["best"] == cut["best"]
    return answer


def run(chosen: argparse.Namespace) -> None:
    wanted = [word for word in chosen.contestants.split(",") if word]
    rounds = 1 if chosen.quick else ROUNDS
    cases = {
        f"{name} {way}": partial(compared, name, way, chosen.limit or LIMIT, rounds, wanted)
        for name in SETS
        for way in TARGETS
    }
    run_cases("selection", cases, chosen.only)


if __name__ == "__main__":
    inside(*sys.argv[1:])
