"""A process of its own for one contestant on one case: it loads, warms up, and then fits whenever it is told to.

So nobody's threads, memory or failure touch the others, rounds can go in turn, and a fit can be ended at its limit.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
import warnings
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import DATA
from benchmarks.svm.cases import selected
from benchmarks.svm.contestants import BY_NAME, THREADS, AbsentError, Fallbacks
from benchmarks.svm.data import scale_gamma
from benchmarks.svm.judge import judge

#: Short calls are repeated for this many seconds within a round, and the best counts.
ROUND = 0.2
#: Whatever is not timed (loading, judging) may take so long.
PATIENCE = 3600
NO_DATA = f"its data are not in MERCER_DATA ({DATA})"


class Worker:
    """The inside: what the process does at a word from outside."""

    def __init__(self, case_name: str, contestant_name: str) -> None:
        (self.case,) = selected([case_name])
        self.contestant = BY_NAME[contestant_name]
        data = self.case.read()
        if data is None:
            raise AbsentError(NO_DATA)
        self.settings = self.case.settings(scale_gamma(data.X))
        self.machine = self.contestant.make(self.case.machine, self.settings)  # AbsentError comes before any work
        dtype = self.contestant.dtype or data.X.dtype
        self.X, self.y = data.X.astype(dtype, copy=False), data.y
        self.exact = None if self.X.dtype == data.X.dtype else data.X  # judged on the data as given
        self.queries = None if data.queries is None else data.queries.astype(dtype, copy=False)
        some = np.random.default_rng(0).permutation(self.X.shape[0])[:300]
        small = self.X[np.sort(some)], self.y[np.sort(some)]
        self._prepare(*small)
        with Fallbacks() as self.fallbacks:
            self.machine.fit(*small)
        self._prepare(self.X, self.y)
        self.base = resident("VmRSS") - megabytes(self.X)  # the interpreter and the libraries
        reset_peak()

    def _prepare(self, X: Any, y: Any) -> None:
        if hasattr(self.machine, "prepare"):
            self.machine.prepare(X, y)

    def fit(self) -> dict[str, float]:
        return {"seconds": best(lambda: self.machine.fit(self.X, self.y)), "peak": resident("VmHWM")}

    def predict(self) -> dict[str, float]:
        return {"seconds": best(lambda: self.machine.predict(self.queries))}

    def judge(self) -> dict[str, Any]:
        X = self.X if self.exact is None else self.exact
        parts = self.machine.support_, self.machine.dual_coef_
        found = asdict(judge(self.case.machine, self.settings, X, self.y, *parts))
        found["data_megabytes"] = megabytes(self.X)
        found["base_megabytes"] = self.base
        found["fell_back"] = self.fallbacks.seen
        certificates = getattr(self.machine, "certificate_", None)
        if certificates is not None:
            several = certificates if isinstance(certificates, tuple) else (certificates,)
            found["claimed_violation"] = max(c.violation for c in several)
        return found


def best(call: Any) -> float:
    seconds, began = np.inf, time.perf_counter()
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        seconds = min(seconds, now - start)
        if now - began >= ROUND:
            return float(seconds)


def megabytes(X: Any) -> float:
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(part.nbytes for part in parts) / 1e6


def resident(field: str) -> float:
    """Megabytes of this process in memory: now (VmRSS) or at most so far (VmHWM)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS
    (line,) = [line for line in status.read_text().splitlines() if line.startswith(field)]
    return int(line.split()[1]) * 1024 / 1e6


def reset_peak() -> None:
    """Forgets the peak of loading, where the system can."""
    reset = Path("/proc/self/clear_refs")
    if os.access(reset, os.W_OK):
        reset.write_text("5")


def serve(connection: Connection, case_name: str, contestant_name: str) -> None:
    """The loop inside: an answer for the start, then one for each word; either a dict, or a text that says why not."""
    warnings.simplefilter("ignore")
    worker: Worker | None = None
    while True:
        try:
            if worker is None:
                worker = Worker(case_name, contestant_name)
                answer = {"rows": worker.X.shape[0], "columns": worker.X.shape[1]}
            else:
                answer = getattr(worker, connection.recv())()
        except EOFError:
            return
        except AbsentError as absence:
            answer = str(absence)
        except Exception as failure:
            answer = f"{type(failure).__name__}: {failure}"
        connection.send(answer)
        if worker is None:
            return


class Session:
    """The outside: a contestant that can be asked to fit, predict or be judged; ``problem`` says why not any more."""

    def __init__(self, case_name: str, contestant_name: str) -> None:
        os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS)))
        context = multiprocessing.get_context("spawn")
        self.name = contestant_name
        self.problem: str | None = None
        self.connection, inside = context.Pipe()
        self.process = context.Process(target=serve, args=(inside, case_name, contestant_name), daemon=True)
        self.process.start()
        inside.close()
        self.opened = self._answer(PATIENCE)

    def ask(self, word: str, limit: float = PATIENCE) -> dict[str, Any] | None:
        """The answer, or None if there is none, and then ``problem`` says why."""
        if self.problem is not None:
            return None
        self.connection.send(word)
        return self._answer(limit)

    def _answer(self, limit: float) -> dict[str, Any] | None:
        if not self.connection.poll(limit):
            self.problem = f"> {limit:g} s"
            self.close()
            return None
        try:
            answer = self.connection.recv()
        except EOFError:
            self.process.join()
            answer = f"died with exit code {self.process.exitcode}"
        if isinstance(answer, dict):
            return answer
        self.problem = answer
        return None

    @property
    def late(self) -> bool:
        return self.problem is not None and self.problem.startswith(">")

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()
