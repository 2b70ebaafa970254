"""The rows of the table: what is fitted to which data, and how many times faster than the best peer we mean to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.svm import data
from benchmarks.svm.data import Data

SIZES = {"2k": 2_000, "5k": 5_000, "10k": 10_000, "20k": 20_000, "50k": 50_000, "100k": 100_000, "200k": 200_000}


@dataclass(frozen=True, eq=False)
class Case:
    """One fit. The target is time of the faster peer / ours; None where there is nothing to reach.

    ``predict_target`` makes a second row of the time to predict the queries. ``alone`` leaves the peers out.
    """

    name: str
    family: str
    read: Callable[[], Data | None]
    target: float | None = None
    machine: str = "SVC"
    parameters: dict[str, Any] = field(default_factory=dict)
    predict_target: float | None = None
    alone: bool = False
    slow: bool = False  # left out by --quick

    def settings(self, gamma: float) -> dict[str, Any]:
        """The parameters of the machine, the same for everyone."""
        return {"kernel": "rbf", "gamma": gamma, "tol": 1e-3, "cache_size": 2000} | self.parameters


def small() -> list[Case]:
    goals = {500: 1.0, 1_000: 3.0, 2_000: 3.0}
    return [
        Case("iris", "small", data.iris, 1.0),
        Case("digits", "small", data.digits, 3.0),
        *(Case(f"synthetic-{n}x20", "small", partial(data.synthetic, n, 20), goal) for n, goal in goals.items()),
    ]


def binary() -> list[Case]:
    adult = partial(data.sparse, "a9a", dense=True, query_count=10_000)
    return [
        Case("a9a", "binary", adult, 4.0, predict_target=1.5, slow=True),
        Case("spambase", "binary", partial(data.standardised, "spambase"), 4.0),
        Case("synthetic-20kx50", "binary", partial(data.synthetic, 20_000, 50), 4.0, slow=True),
        Case("checkerboard-20k", "binary", partial(data.checkerboard, 20_000), 4.0, slow=True),
    ]


def wide() -> list[Case]:
    """d = 784; the grid of bytes has targets of its own."""
    rows = []
    for name, file in (("mnist", "mnist"), ("fashion", "fashion_mnist")):
        for size, n, target in (("20k", 20_000, 3.5), ("60k", 60_000, 2.5)):
            asked = 10_000 if (name, size) == ("fashion", "20k") else None
            read = partial(data.images, file, n, parity=True)
            rows += [
                Case(
                    f"{name}-{size}-bytes",
                    "d=784",
                    partial(read, query_count=asked),
                    target,
                    predict_target=1.5 if asked else None,
                    slow=True,
                ),
                Case(f"{name}-{size}-scaled", "d=784", partial(read, scaled=True), 2.0, slow=True),
            ]
    return rows


def multiclass() -> list[Case]:
    letters = partial(data.standardised, "letter", query_count=10_000)
    fashion = partial(data.images, "fashion_mnist", parity=False)
    return [
        Case("letter", "multi-class", letters, 4.0, predict_target=1.5, slow=True),
        Case("shuttle", "multi-class", partial(data.standardised, "shuttle"), 4.0),
        Case("optdigits", "multi-class", partial(data.standardised, "optdigits"), 2.5),
        Case("segment", "multi-class", partial(data.standardised, "segment"), 2.5),
        Case("fashion-10k", "multi-class", partial(fashion, 10_000), 4.0, slow=True),
        Case("fashion-60k", "multi-class", partial(fashion, 60_000), 4.0, slow=True),
        Case("mnist-60k", "multi-class", partial(data.images, "mnist", 60_000, parity=False), 4.0, slow=True),
    ]


def sparse() -> list[Case]:
    sector = partial(data.sparse, "sector")
    return [
        Case("a9a-csr", "sparse", partial(data.sparse, "a9a"), 3.0, slow=True),
        Case("sector-linear", "sparse", sector, 3.0, parameters={"kernel": "linear"}, slow=True),
        Case("sector-rbf", "sparse", sector, 3.0, parameters={"gamma": 1.0}, slow=True),
    ]


def large_c() -> list[Case]:
    synthetic, adult = partial(data.synthetic, 20_000, 50), partial(data.sparse, "a9a", 10_000, dense=True)
    board = partial(data.checkerboard, 5_000)
    return [
        Case("synthetic-20kx50-C100", "large C", synthetic, 3.0, parameters={"C": 100.0}, slow=True),
        Case("a9a-10k-C100", "large C", adult, 3.0, parameters={"C": 100.0}, slow=True),
        Case("checkerboard-5k-C1e4", "large C", board, 3.0, parameters={"C": 1e4}, slow=True),
        Case("spambase-C1000", "large C", partial(data.standardised, "spambase"), 3.0, parameters={"C": 1e3}),
    ]


def regression() -> list[Case]:
    rows = []
    sets = {"california": ("california_housing", 15_000), "cpusmall": ("cpusmall", None)}
    sets |= {"elevators": ("elevators", None), "casp": ("casp_protein", 20_000)}
    for name, (file, count) in sets.items():
        for C in (1.0, 10.0):
            read = partial(data.regression, file, count)
            slow = name != "cpusmall"
            rows.append(Case(f"svr-{name}-C{C:g}", "SVR", read, 4.0, "SVR", {"C": C, "epsilon": 0.1}, slow=slow))
    cpu, spam = partial(data.regression, "cpusmall"), partial(data.standardised, "spambase")
    digits = partial(data.images, "mnist", 10_000, parity=True)
    return [
        *rows,
        Case("nusvr-cpusmall", "SVR", cpu, 4.0, "NuSVR", {"C": 1.0, "nu": 0.5}),
        Case("nusvc-spambase", "SVR", spam, 4.0, "NuSVC", {"nu": 0.5}),
        Case("oneclass-mnist-10k", "SVR", digits, 4.0, "OneClassSVM", {"nu": 0.5}),
    ]


def growth() -> list[Case]:
    """Up to 50,000 rows with peers; beyond, alone."""
    return [
        Case(
            f"growth-{size}x{d}",
            "growth",
            partial(data.growing, n, d),
            alone=n > 50_000,
            slow=n > 5_000,
        )
        for d in (16, 50, 784)
        for size, n in SIZES.items()
    ]


def memory() -> list[Case]:
    read = partial(data.growing, 200_000, 50)
    return [Case("memory-200kx50", "memory", read, parameters={"cache_size": 1000}, alone=True, slow=True)]


def every_case() -> list[Case]:
    families = (small, binary, wide, multiclass, sparse, large_c, regression, growth, memory)
    return [case for family in families for case in family()]


def selected(words: list[str], *, quick: bool = False) -> list[Case]:
    """The cases that a word names, by name or family or else by a part of the name; all if there are no words."""
    cases = every_case()
    chosen = {name for word in words for name in named(word, cases)}
    return [case for case in cases if (not words or case.name in chosen) and not (quick and case.slow)]


def named(word: str, cases: list[Case]) -> list[str]:
    exact = [case.name for case in cases if word in (case.name, case.family)]
    return exact or [case.name for case in cases if word in case.name]
