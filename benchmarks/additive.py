"""Prediction with additive kernels, which does not ask how many samples there are, against the sum over all samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import RESULTS, Row, best_in_turn, compare, load
from mercer import SVC, Expansion
from mercer.kernels import Chi2, Intersection, Kernel

SHIRT = 6


def gradient_histograms(images: Any, cells: int = 4, orientations: int = 8) -> Any:
    """Histograms of the gradient's orientation, weighted by its length, over a grid of cells; the entries sum to 1."""
    side = int(np.sqrt(images.shape[1]))
    pixels = images.reshape(-1, side, side).astype(np.float32)
    dy, dx = np.gradient(pixels, axis=(1, 2))
    length = np.hypot(dx, dy)
    bins = ((np.arctan2(dy, dx) / (2 * np.pi) + 0.5) * orientations).astype(np.int64) % orientations
    width = side // cells
    out = np.zeros((len(images), cells, cells, orientations), dtype=np.float32)
    for b in range(orientations):
        kept = np.where(bins == b, length, 0)[:, : cells * width, : cells * width]
        out[..., b] = kept.reshape(-1, cells, width, cells, width).sum(axis=(2, 4))
    out = out.reshape(len(images), -1)
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1e-12)


def pair_by_pair(f: Expansion, X: Any) -> Any:
    """f through the engine's blocks of kernel values, as an expansion of any other kernel is evaluated."""
    pairs = f.kernel.bind(f.kernel.samples(X), f.samples)
    pairs.share(f._prepared)
    return pairs.by_segment(f.coefficients.reshape(len(f), -1), np.zeros(1, dtype=np.int64))[:, 0, 0]


def collapsed(f: Expansion) -> bool:
    """Whether f has forgotten its samples; else it is compared with them pair by pair."""
    f(f.samples.take(np.arange(1)))
    return next(iter(f._forms.values())) is not None


def by_numpy(kernel: Kernel, Z: Any, a: Any, X: Any) -> Any:
    """The same as one would write it in NumPy, a row at a time so that the block stays in the cache."""
    if isinstance(kernel, Intersection):
        return np.array([np.minimum(Z, x).sum(axis=1) @ a for x in X])
    return np.array([(2 * Z * x / np.maximum(Z + x, 1e-30)).sum(axis=1) @ a for x in X])


def rows() -> Iterator[Row]:
    data = load("fashion_mnist.npz")
    if data is None:
        yield Row(
            "SKIPPED: fashion_mnist.npz is not in MERCER_DATA", "", np.nan, np.nan, np.nan, np.nan, np.nan, np.nan
        )
        return
    Z, X = gradient_histograms(data["X"]), gradient_histograms(data["X_test"])
    y = np.where(data["y"] == SHIRT, 1, -1)
    for kernel, ours, numpy in ((Intersection(), 1 / 10, 1 / 50), (Chi2(), 1 / 10, 1 / 50)):
        for dtype in (np.float64, np.float32):
            z, x = Z[:30_000].astype(dtype), X.astype(dtype)
            f = SVC(kernel=kernel, C=10.0).fit(z, y[:30_000]).expansion_
            f = Expansion(f.kernel, f.samples.astype(dtype), f.coefficients, f.bias)
            name = f"{kernel} {np.dtype(dtype).name} {len(f)} samples, d={z.shape[1]}"
            yield compare(
                name, lambda f=f, x=x: f(x) - f.bias, "ours, pair by pair", lambda f=f, x=x: pair_by_pair(f, x), ours
            )
            some, own = x[:200], f.samples.dense()
            row = compare(
                name,
                lambda f=f, some=some: f(some) - f.bias,
                "NumPy, 200 rows",
                lambda f=f, own=own, some=some: by_numpy(f.kernel, own, f.coefficients, some),
                numpy,
                rounds=3,
            )
            yield row
    yield growth(Z, X)


def growth(Z: Any, X: Any) -> Row:
    """Seconds for the test set against the number of samples: the exponent of a power law fitted to them.

    Tables of many samples come from slower memory, so the exponent of the largest three sizes is told beside it.
    """
    rng = np.random.default_rng(0)
    functions = [Expansion.of(Intersection(), Z[:s], rng.standard_normal(s)) for s in 625 * 2 ** np.arange(7)]
    functions = [f for f in functions if collapsed(f)]
    counts = [len(f) for f in functions]
    seconds = best_in_turn([lambda f=f: f(X) for f in functions], 7)
    exponent, level = np.polyfit(np.log(counts), np.log(seconds), 1)
    last, _ = np.polyfit(np.log(counts[-3:]), np.log(seconds[-3:]), 1)
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed")
    else:
        figure, axes = plt.subplots(layout="constrained")
        axes.loglog(counts, seconds, "o", label="10,000 rows")
        axes.loglog(
            counts,
            np.exp(level) * np.array(counts) ** exponent,
            label=f"samples^{exponent:.2f} (of the last three: {last:.2f})",
        )
        axes.set(xlabel="samples", ylabel="seconds", title="Intersection: prediction against the number of samples")
        axes.set_ylim(min(seconds) / 3, 3 * max(seconds))
        axes.set_xticks(counts, [f"{s:,}" for s in counts])
        axes.minorticks_off()
        axes.legend()
        RESULTS.mkdir(exist_ok=True)
        figure.savefig(RESULTS / "additive.png")
    times = ", ".join(f"{s}: {t * 1e3:.0f} ms" for s, t in zip(counts, seconds, strict=True))
    name = f"growth with samples, exponent ({times}; of the last three {last:.2f})"
    return Row(name, "", seconds[-1], seconds[0], exponent, 0.2, np.nan, np.nan)
