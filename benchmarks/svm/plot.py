"""The picture: ratios against their goals on the left, growth with the floor of arithmetic on the right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.svm.report import curve, growth_exponents
from benchmarks.svm.rows import Row, order

COLOURS = {"mercer": "#b2182b", "intelex": "#2166ac", "scikit-learn": "#f4a029"}


def draw(rows: list[Row], file: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        print("SKIPPED: the picture needs matplotlib, which is not installed")
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    compared = [row for row in order(rows) if row.ratio is not None and row.target is not None]
    growth = [row for row in rows if row.family == "growth"]
    widths = sorted({row.columns for row in growth if row.columns})
    if not compared and not widths:
        return
    panels = (1 if compared else 0) + len(widths)
    height = max(4.5, 0.24 * len(compared))
    figure, axes = plt.subplots(1, panels, figsize=(5.2 * panels, height), layout="constrained", squeeze=False)
    left = list(axes[0])
    if compared:
        draw_ratios(left.pop(0), compared)
    if widths:
        for axis, d in zip(left, widths, strict=True):
            draw_growth(axis, growth, d)
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"wrote {file}")


def draw_ratios(axis: Any, rows: list[Row]) -> None:
    """A dot per row and a tick at its goal; the losing rows on top, in red."""
    for place, row in enumerate(reversed(rows)):
        colour = "#1b7837" if row.verdict == "met" else "#b2182b"
        axis.plot([1, row.ratio], [place, place], color=colour, linewidth=1)
        axis.plot(row.ratio, place, "<>"[row.bound == ">"] if row.bound else "o", color=colour, markersize=5)
        axis.plot(row.target, place, "|", color="black", markersize=8)
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set_yticks(range(len(rows)), [row.name for row in reversed(rows)], fontsize=7)
    axis.set_xscale("log")
    axis.set_xlabel("time of the faster peer / ours (tick: goal)")


def draw_growth(axis: Any, rows: list[Row], d: int) -> None:
    """Seconds against n with fitted exponents, and what 2 d n nSV operations take at the speed of a matrix product."""
    exponents = {name: p for columns, name, p, _ in growth_exponents(rows) if columns == str(d)}
    for name, colour in COLOURS.items():
        n, seconds = curve(rows, d, name)
        if len(n):
            fitted = f", n^{exponents[name]}" if name in exponents else ""
            axis.plot(n, seconds, "o-", color=colour, label=f"{name}{fitted}", markersize=4)
    ours = [(row.rows, row.entry("mercer")) for row in rows if row.columns == d]
    peak = max((row.peak_flops for row in rows if row.columns == d and row.peak_flops), default=np.inf)
    floor = sorted((n, 2 * d * n * e.support / peak) for n, e in ours if n and e is not None and e.support)
    if floor and np.isfinite(peak):
        points = np.array(floor)
        axis.plot(points[:, 0], points[:, 1], "--", color="black", label=f"floor: 2 d n nSV / {peak / 1e9:.0f} GFLOP/s")
    axis.set(xscale="log", yscale="log", title=f"d = {d}", xlabel="rows", ylabel="seconds")
    axis.tick_params(axis="x", which="minor", labelbottom=False)
    axis.legend(fontsize=8)
