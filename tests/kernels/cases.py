"""The kernels on which the contract is run, each with its naive reference and the data it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import inf

from mercer.kernels import (
    L1,
    L2,
    Categorical,
    Chi2,
    Chi2Distance,
    Cosine,
    Custom,
    Delta,
    Exponential,
    FeatureMap,
    GappedKmer,
    Gaussian,
    Hellinger,
    HellingerDistance,
    Intersection,
    JensenShannon,
    Kernel,
    L1Normalized,
    Laplacian,
    Lift,
    Linear,
    Linf,
    LocalAlignment,
    Mahalanobis,
    Matern,
    Mismatch,
    Monomials,
    NegativeDistance,
    Polar,
    Polynomial,
    PowerSeries,
    Quadratic,
    RationalQuadratic,
    Segment,
    Sigmoid,
    SpatialPyramid,
    Spectrum,
    Squares,
    Subsequence,
    WeightedDegree,
    exp,
)

from . import naive, naive_strings
from .object_cases import OBJECT_CASES, OBJECTS

WIDTH = 20
_rng = np.random.default_rng(20)
#: Rows for the first and the second argument: more than one macro block of the engine, and a ragged end.
DATA = {
    "vectors": (0.6 * _rng.standard_normal((150, WIDTH)), 0.6 * _rng.standard_normal((71, WIDTH))),
    "histograms": (
        _rng.gamma(0.5, size=(150, WIDTH)) * (_rng.random((150, WIDTH)) < 0.7),
        _rng.gamma(0.5, size=(71, WIDTH)) * (_rng.random((71, WIDTH)) < 0.7),
    ),
    "strings": naive_strings.data(_rng),
    "codes": (_rng.integers(0, 3, (150, 4)).astype(float), _rng.integers(0, 3, (71, 4)).astype(float)),
}
#: Of the second argument's labels some are unknown to the first.
DATA["labels"] = tuple(
    [tuple(str(label) for label in row) for row in first + _rng.integers(0, 4, (rows, 2))]
    for rows, first in ((150, 0), (71, 1))
)
X, Z = DATA["vectors"]
WIDTHS = tuple(float(s) for s in np.linspace(1, 3, WIDTH))
FACTOR = np.tril(0.2 * _rng.standard_normal((WIDTH, WIDTH)), -1) + np.diag(np.linspace(1, 2, WIDTH))
MIXED = FACTOR @ np.linalg.qr(_rng.standard_normal((WIDTH, WIDTH)))[0]


@dataclass(frozen=True)
class Case:
    """A kernel, its reference, and what else the contract must know of it."""

    name: str
    kernel: Kernel
    naive: Callable[[Any, Any], Any]
    data: str = "vectors"
    signed: bool = False  # terms of both signs cancel: errors are relative to the largest entry
    expression: bool = True  # its repr can be evaluated: not of a user's function, nor of samples it has seen
    loose32: float = 1e-5  # what float32 may be wrong by, relative to the largest entry
    dtype32: Any = np.float32  # of the matrix of float32 samples
    users: bool = False  # computed by a user's function, which may round differently from block to block

    @property
    def objects(self) -> bool:
        """Whether it compares a list of objects rather than rows of numbers."""
        return isinstance(DATA[self.data][0], list)


def blockwise(A, B):
    return (A * 0.5) @ B.T + 1.0


def one_pair(a, b):
    return float(a @ b)


def user_distance(A, B):
    return np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)


def _gaussian(sigma):
    return lambda A, B: naive.gaussian(A, B, sigma=sigma)


def _of_distance(distance, beta=1.0, power=2.0):
    return lambda A, B: naive.exponential(distance(A, B), beta, power)


_vectors = [
    Case("linear", Linear(), naive.linear, signed=True),
    Case("cubic polynomial", Polynomial(3), lambda A, B: naive.polynomial(A, B, 3), signed=True),
    Case("homogeneous", Polynomial(2, c=0, gamma=0.5), lambda A, B: naive.polynomial(A, B, 2, 0.0, 0.5), signed=True),
    Case("degree 0", Polynomial(0), lambda A, B: naive.polynomial(A, B, 0)),
    Case("series", PowerSeries((1, 1, 1, 1)), lambda A, B: naive.power_series(A, B, (1, 1, 1, 1)), signed=True),
    Case("series with gaps", PowerSeries((0.5, 0, 2)), lambda A, B: naive.power_series(A, B, (0.5, 0, 2)), signed=True),
    Case("gaussian", Gaussian(1.3), _gaussian(1.3), loose32=2e-6),
    Case("gaussian gamma", Gaussian(gamma=0.05), lambda A, B: naive.gaussian(A, B, gamma=0.05), loose32=2e-6),
    Case("gaussian gamma 0", Gaussian(gamma=0), lambda A, B: np.ones((len(A), len(B))), loose32=2e-6),
    Case("gaussian widths", Gaussian(WIDTHS), _gaussian(np.array(WIDTHS)), loose32=2e-6),
    Case("exponential l2", Exponential(L2(), beta=4.0), _of_distance(naive.l2, 4.0), loose32=2e-6),
    Case("exponential l2 power 1", Exponential(L2(), power=1), _of_distance(naive.l2, power=1)),
    Case("exponential l2 power 0.7", Exponential(L2(), power=0.7), _of_distance(naive.l2, power=0.7)),
    Case("exponential l1 power 1", Exponential(L1(), beta=3.0, power=1), _of_distance(naive.l1, 3.0, 1)),
    Case("exponential l1 power 2", Exponential(L1(), beta=50.0), _of_distance(naive.l1, 50.0)),
    Case("exponential linf", Exponential(Linf(), power=1), _of_distance(naive.linf, power=1)),
    Case("exponential linf power 2", Exponential(Linf(), beta=2.0), _of_distance(naive.linf, 2.0)),
    Case(
        "mahalanobis",
        Exponential(Mahalanobis(FACTOR @ FACTOR.T), beta=8.0),
        _of_distance(lambda A, B: naive.mahalanobis(A, B, FACTOR @ FACTOR.T), 8.0),
    ),
    Case(
        "mahalanobis factor",
        Exponential(Mahalanobis(factor=FACTOR), power=1),
        _of_distance(lambda A, B: naive.mahalanobis(A, B, FACTOR @ FACTOR.T), power=1),
    ),
    Case(
        "mahalanobis full factor",
        Exponential(Mahalanobis(factor=MIXED), beta=8.0),
        _of_distance(lambda A, B: naive.mahalanobis(A, B, MIXED @ MIXED.T), 8.0),
    ),
    Case(
        "mahalanobis thin factor",
        Exponential(Mahalanobis(factor=MIXED[:, :2]), beta=8.0),
        _of_distance(lambda A, B: naive.mahalanobis(A, B, MIXED[:, :2] @ MIXED[:, :2].T), 8.0),
    ),
    Case(
        "user's distance",
        Exponential(user_distance, beta=5.0, power=1),
        _of_distance(naive.l1, 5.0, 1),
        expression=False,
        users=True,
    ),
    Case("minus squared l2", NegativeDistance(L2()), lambda A, B: -(naive.l2(A, B) ** 2)),
    Case("minus l1", NegativeDistance(L1(), power=1), lambda A, B: -naive.l1(A, B)),
    Case("laplacian", Laplacian(0.1), lambda A, B: naive.laplacian(A, B, 0.1)),
    *(
        Case(f"matern {nu}", Matern(nu, length=2.0), lambda A, B, nu=nu: naive.matern(A, B, nu, 2.0))
        for nu in (0.5, 0.7, 1.5, 2.5, 3.2, inf)
    ),
    Case(
        "rational quadratic",
        RationalQuadratic(alpha=0.8, length=1.5),
        lambda A, B: naive.rational_quadratic(A, B, 0.8, 1.5),
    ),
    Case("cosine", Cosine(), naive.cosine, signed=True),
    Case("sigmoid", Sigmoid(gamma=0.2, c=-0.5), lambda A, B: naive.sigmoid(A, B, 0.2, -0.5), signed=True),
    Case("lift", FeatureMap(Lift()), lambda A, B: naive.feature_map(A, B, naive.lift), signed=True),
    Case("squares", FeatureMap(Squares()), lambda A, B: naive.feature_map(A, B, naive.squares)),
    Case("quadratic", FeatureMap(Quadratic()), lambda A, B: naive.feature_map(A, B, naive.quadratic), signed=True),
    Case("monomials", FeatureMap(Monomials(2)), lambda A, B: naive.polynomial(A, B, 2), signed=True),
    Case(
        "custom",
        Custom(blockwise),
        lambda A, B: naive.linear(A, B) / 2 + 1,
        signed=True,
        expression=False,
        users=True,
    ),
    Case("custom pairs", Custom(one_pair, pairwise=True), naive.linear, signed=True, expression=False, users=True),
]

_histograms = [
    Case("intersection", Intersection(), naive.intersection, "histograms"),
    Case("chi2", Chi2(), naive.chi2, "histograms"),
    Case("hellinger", Hellinger(), naive.hellinger, "histograms"),
    Case("jensen-shannon", JensenShannon(), naive.jensen_shannon, "histograms"),
    Case("exponential chi2", Exponential(Chi2Distance()), _of_distance(naive.chi2_distance), "histograms"),
    Case(
        "exponential chi2 power 1",
        Exponential(Chi2Distance(), power=1),
        _of_distance(naive.chi2_distance, power=1),
        "histograms",
    ),
    Case(
        "exponential hellinger",
        Exponential(HellingerDistance(), beta=3.0),
        _of_distance(naive.hellinger_distance, 3.0),
        "histograms",
    ),
    Case(
        "intersection of shares",
        Intersection().on(L1Normalized()),
        lambda A, B: naive.intersection(*(np.array([naive.l1_normalized(h) for h in H]) for H in (A, B))),
        "histograms",
    ),
    Case("pyramid", SpatialPyramid(1), lambda A, B: naive.spatial_pyramid(A, B, 1, naive.intersection), "histograms"),
    Case(
        "pyramid of gaussians",
        SpatialPyramid(1, Gaussian(1)),
        lambda A, B: naive.spatial_pyramid(A, B, 1, _gaussian(1.0)),
        "histograms",
    ),
    Case("categorical", Categorical(), naive.categorical, "codes"),
    Case("delta", Delta(), naive.delta, "codes"),
]

_composed = [
    Case(
        "weighted sum",
        2 * Gaussian(1) + Linear() ** 2,
        lambda A, B: 2 * naive.gaussian(A, B, sigma=1.0) + naive.linear(A, B) ** 2,
    ),
    Case("product", Linear() * Gaussian(1.5), lambda A, B: naive.linear(A, B) * naive.gaussian(A, B, 1.5), signed=True),
    Case("plus a constant", 1 + Linear(), lambda A, B: 1 + naive.linear(A, B), signed=True),
    Case(
        "difference",
        Linear() - 3 * Gaussian(2),
        lambda A, B: naive.linear(A, B) - 3 * naive.gaussian(A, B, 2.0),
        signed=True,
    ),
    Case(
        "one reduction for several",
        Gaussian(2) + 0.001 * Linear() + Gaussian(3) * Polynomial(2),
        lambda A, B: (
            naive.gaussian(A, B, 2.0)
            + 0.001 * naive.linear(A, B)
            + naive.gaussian(A, B, 3.0) * naive.polynomial(A, B, 2)
        ),
        signed=True,
    ),
    Case(
        "power of a sum",
        (Gaussian(2) + 0.5 * Laplacian(0.1) + 1) ** 2,
        lambda A, B: (naive.gaussian(A, B, 2.0) + 0.5 * naive.laplacian(A, B, 0.1) + 1) ** 2,
    ),
    Case(
        "exp of a sum",
        exp(0.1 * Linear() - 0.5 * Gaussian(2)),
        lambda A, B: np.exp(0.1 * naive.linear(A, B) - 0.5 * naive.gaussian(A, B, 2.0)),
    ),
    Case(
        "norms within norms",
        ((Gaussian(2) * Polynomial(2)).normalized() + Polynomial(3).normalized()).normalized(),
        lambda A, B: naive.normalized(
            A,
            B,
            lambda C, D: (
                naive.normalized(C, D, lambda E, F: naive.gaussian(E, F, 2.0) * naive.polynomial(E, F, 2))
                + naive.normalized(C, D, lambda E, F: naive.polynomial(E, F, 3))
            ),
        ),
        signed=True,
    ),
    Case(
        "with a user's function",
        Gaussian(2) * Custom(blockwise) + 1,
        lambda A, B: naive.gaussian(A, B, 2.0) * (naive.linear(A, B) / 2 + 1) + 1,
        signed=True,
        expression=False,
        users=True,
    ),
    Case("negative", -Linear(), lambda A, B: -naive.linear(A, B), signed=True),
    Case("scaled power", (0.5 * Linear() + 1) ** 3, lambda A, B: (naive.linear(A, B) / 2 + 1) ** 3, signed=True),
    Case("exp of psd", exp(0.1 * Linear()), lambda A, B: np.exp(0.1 * naive.linear(A, B))),
    Case("exp of cpd", exp(0.1 * NegativeDistance(L1(), power=1)), lambda A, B: naive.laplacian(A, B, 0.1)),
    Case(
        "normalized",
        Polynomial(2).normalized(),
        lambda A, B: naive.normalized(A, B, lambda C, D: naive.polynomial(C, D, 2)),
        signed=True,
    ),
    Case(
        "normalized sum",
        (Linear() + Gaussian(1)).normalized(),
        lambda A, B: naive.normalized(A, B, lambda C, D: naive.linear(C, D) + naive.gaussian(C, D, 1.0)),
        signed=True,
    ),
    Case(
        "centered",
        Linear().centered().resolve(Z),
        lambda A, B: naive.centered(A, B, naive.linear, Z),
        signed=True,
        expression=False,
    ),
    Case(
        "centered gaussian",
        Gaussian(2).centered().resolve(X),
        lambda A, B: naive.centered(A, B, _gaussian(2.0), X),
        signed=True,
        expression=False,
    ),
    Case(
        "centered and normalized",
        Linear().centered().normalized().resolve(Z),
        lambda A, B: naive.normalized(A, B, lambda C, D: naive.centered(C, D, naive.linear, Z)),
        signed=True,
        expression=False,
    ),
    Case("on a column", Laplacian(1).on(3), lambda A, B: naive.laplacian(A[:, 3:4], B[:, 3:4], 1)),
    Case("on columns", Gaussian(1).on([7, 0, 2]), lambda A, B: naive.gaussian(A[:, [7, 0, 2]], B[:, [7, 0, 2]], 1.0)),
    Case("on a map", Gaussian(2).on(Squares()), lambda A, B: naive.gaussian(A**2, B**2, 2.0), loose32=1e-5),
    Case(
        "polar",
        FeatureMap(Polar()).on([0, 1]),
        lambda A, B: naive.feature_map(A[:, :2], B[:, :2], naive.polar),
        signed=True,
    ),
    Case(
        "columns times columns",
        Gaussian(1).on([0, 1]) * Linear().on(2) + 2 * Matern(1.5).on([3, 4]),
        lambda A, B: (
            naive.gaussian(A[:, :2], B[:, :2], 1.0) * naive.linear(A[:, 2:3], B[:, 2:3])
            + 2 * naive.matern(A[:, 3:5], B[:, 3:5], 1.5, 1.0)
        ),
        signed=True,
    ),
    Case(
        "histograms composed",
        0.5 * Intersection() + Exponential(Chi2Distance()) * Hellinger().normalized(),
        lambda A, B: (
            0.5 * naive.intersection(A, B)
            + naive.exponential(naive.chi2_distance(A, B)) * naive.normalized(A, B, naive.hellinger)
        ),
        "histograms",
    ),
]


def _equal(A, B):
    return np.array(A)[:, None] == np.array(B)[None]


_labels = [
    Case("labels", Categorical(), lambda A, B: _equal(A, B).mean(axis=2), "labels", dtype32=np.float64),
    Case("labels alike", Delta(), lambda A, B: _equal(A, B).all(axis=2), "labels", dtype32=np.float64),
    Case(
        "labels scaled",
        2 * Categorical() + 1,
        lambda A, B: 2 * _equal(A, B).mean(axis=2) + 1,
        "labels",
        dtype32=np.float64,
    ),
    Case(
        "labels squared", Categorical() ** 2, lambda A, B: _equal(A, B).mean(axis=2) ** 2, "labels", dtype32=np.float64
    ),
    Case(
        "exp of labels",
        exp(Categorical()),
        lambda A, B: np.exp(_equal(A, B).mean(axis=2)),
        "labels",
        dtype32=np.float64,
    ),
    Case("a column of labels", Categorical().on(1), lambda A, B: _equal(A, B)[:, :, 1], "labels", dtype32=np.float64),
    Case(
        "columns of labels",
        Categorical().on(1) * (0.5 + Delta().on([0])),
        lambda A, B: _equal(A, B)[:, :, 1] * (0.5 + _equal(A, B)[:, :, 0]),
        "labels",
        dtype32=np.float64,
    ),
]

_strings = [
    Case("spectrum", Spectrum(3), naive_strings.spectrum(3), "strings"),
    Case("spectrum of lengths", Spectrum(4, min_k=2), naive_strings.spectrum(2, 3, 4), "strings"),
    Case(
        "spectrum present",
        Spectrum(2, min_k=1, presence=True),
        naive_strings.features(lambda x: dict.fromkeys(naive_strings.windows(x, 1) + naive_strings.windows(x, 2), 1)),
        "strings",
    ),
    Case("spectrum hashed", Spectrum(40, min_k=3), naive_strings.spectrum(*range(3, 41)), "strings"),
    Case(
        "spectrum of both strands",
        Spectrum(3, alphabet="dna", reverse_complement=True),
        naive_strings.spectrum(3, dna=True, strands=True),
        "strings",
    ),
    Case("spectrum of groups", Spectrum(3, alphabet=("AG", "CT")), naive_strings.spectrum(3, groups="AGCT"), "strings"),
    Case("mismatch", Mismatch(3, 1, alphabet="dna"), naive_strings.mismatch(3, 1), "strings"),
    Case("mismatch 2", Mismatch(4, 2, alphabet="ACGT"), naive_strings.mismatch(4, 2), "strings"),
    Case(
        "mismatch of both strands",
        Mismatch(3, 1, alphabet="dna", reverse_complement=True),
        naive_strings.mismatch(3, 1, strands=True),
        "strings",
    ),
    Case("gapped", GappedKmer(5, 3, alphabet="dna"), naive_strings.gapped(5, 3), "strings"),
    Case(
        "gapped of both strands",
        GappedKmer(4, 2, alphabet="dna", reverse_complement=True),
        naive_strings.gapped(4, 2, strands=True),
        "strings",
    ),
    Case("gapped without gaps", GappedKmer(3, 3), naive_strings.spectrum(3), "strings"),
    Case("weighted degree", WeightedDegree(4), naive_strings.weighted_degree(4, 0), "strings"),
    Case("weighted degree, shifted", WeightedDegree(3, shift=2), naive_strings.weighted_degree(3, 2), "strings"),
    Case("subsequence", Subsequence(3, 0.7), naive_strings.subsequence(3, 0.7), "strings"),
    Case("subsequence of letters", Subsequence(1, 1.0), naive_strings.subsequence(1, 1.0), "strings"),
    Case(
        "local alignment",
        LocalAlignment((2, -1), open=2, extend=0.5, beta=0.8),
        naive_strings.local_alignment(2, -1, 2, 0.5, 0.8),
        "strings",
        loose32=2e-6,
    ),
    Case(
        "strings composed",
        (Spectrum(2) + 3 * Mismatch(3, 1, alphabet="dna").on(Segment(0, 6))).normalized() * GappedKmer(3, 2) + 1,
        naive_strings.composed,
        "strings",
        dtype32=np.float64,  # what a map makes of objects has a precision of its own
    ),
    Case(
        "strings normalized",
        (Spectrum(3) + Spectrum(2).normalized() + 0.5 * Spectrum(1)).normalized(),
        naive_strings.normalized_sum,
        "strings",
    ),
]

DATA |= OBJECTS
_objects = [Case(name, kernel, reference, data, dtype32=np.float64) for name, kernel, reference, data in OBJECT_CASES]

CASES = [*_vectors, *_histograms, *_composed, *_labels, *_strings, *_objects]
