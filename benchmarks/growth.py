"""How the time of a Gram matrix grows with the number of objects and with their size: a power law fitted to each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import RESULTS
from mercer.kernels import Kernel


@dataclass(frozen=True)
class Growth:
    """Seconds at every number, or size, of objects, and the exponent of the power law that fits them best."""

    name: str
    along: str
    at: tuple[int, ...]
    seconds: tuple[float, ...]
    exponent: float

    def __str__(self) -> str:
        times = ", ".join(f"{n}: {s * 1e3:.1f} ms" for n, s in zip(self.at, self.seconds, strict=True))
        return f"{self.name:42s} seconds ~ ({self.along})^{self.exponent:.2f}   {times}"


def measured(
    noun: str,
    kernels: Sequence[Kernel],
    read: Callable[[Any], Any],
    objects: Mapping[str, Mapping[int, Any]],
    rounds: int = 3,
) -> Iterator[Growth]:
    """``objects`` says along what they grow: then how many or how large, and a list of such objects.

    They are read anew for every call, so that no call finds what an earlier one has kept.
    """
    rows = [_row(kernel, read, along, lists, rounds) for kernel in kernels for along, lists in objects.items()]
    yield from rows
    plot(noun, rows)


def _row(kernel: Kernel, read: Callable[[Any], Any], along: str, lists: Mapping[int, Any], rounds: int) -> Growth:
    best = dict.fromkeys(lists, np.inf)
    for _ in range(rounds):
        for at, some in lists.items():
            samples = read(some)
            start = time.perf_counter()
            kernel(samples)
            best[at] = min(best[at], time.perf_counter() - start)
    exponent = float(np.polyfit(np.log(list(best)), np.log(list(best.values())), 1)[0])
    return Growth(f"{kernel} with the {along}", along, tuple(best), tuple(best.values()), exponent)


def plot(noun: str, rows: Sequence[Growth]) -> None:
    """One panel for each thing that grows, in results/``noun``.png."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    things = list(dict.fromkeys(row.along for row in rows))
    figure, panels = plt.subplots(1, len(things), figsize=(5.5 * len(things), 4.5), sharey=True, layout="constrained")
    for axes, along in zip(panels, things, strict=True):
        for row in rows:
            if row.along == along:
                label = f"{row.name.split(' with ')[0]}: exponent {row.exponent:.2f}"
                axes.loglog(row.at, row.seconds, "o-", label=label)
        ticks = sorted({at for row in rows if row.along == along for at in row.at})
        axes.set_xticks(ticks, [f"{at:,}" for at in ticks])
        axes.minorticks_off()
        axes.set_xlabel(along)
        axes.legend()
    panels[0].set_ylabel("seconds of the Gram matrix")
    figure.suptitle(f"{noun.capitalize()}: how the time grows")
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / f"{noun}.png")
    plt.close(figure)
