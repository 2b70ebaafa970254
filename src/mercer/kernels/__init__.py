"""Kernels and their algebra: immutable values that compare samples.

>>> k = 2 * Gaussian(sigma=1) + Linear() ** 2
>>> k
2 * Gaussian(sigma=1) + Linear() ** 2
>>> k.validity
'psd'
"""

from mercer.kernels.algebra import Constant, Exp, Power, Product, Scaled, Sum, exp
from mercer.kernels.alignments import LocalAlignment, Subsequence, WeightedDegree
from mercer.kernels.base import (
    FeaturesError,
    IndefiniteKernelWarning,
    Kernel,
    UnresolvedKernelError,
    ZeroKernelWarning,
)
from mercer.kernels.bases import GaussianBasis, PolynomialBasis
from mercer.kernels.differences import GappedKmer, Mismatch
from mercer.kernels.distances import (
    L1,
    L2,
    Chi2Distance,
    Distance,
    Exponential,
    HellingerDistance,
    Linf,
    Mahalanobis,
    NegativeDistance,
)
from mercer.kernels.feature_space import Centered, Normalized
from mercer.kernels.given import Custom, Precomputed
from mercer.kernels.graphs import (
    EdgeAttributes,
    EdgeHistogram,
    GraphLabels,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from mercer.kernels.histograms import Categorical, Chi2, Delta, Hellinger, Intersection, JensenShannon
from mercer.kernels.images import SetKernel, SpatialPyramid
from mercer.kernels.maps import L1Normalized, Lift, Map, Monomials, Polar, Quadratic, Squares
from mercer.kernels.named import named_kernel
from mercer.kernels.on import OnColumns, OnMap
from mercer.kernels.repair import Repaired, repair
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.strings import Segment, Spectrum
from mercer.kernels.trees import PartialTree, SubsetTree, Subtree
from mercer.kernels.vectors import Cosine, FeatureMap, Linear, Polynomial, PowerSeries, Sigmoid

__all__ = [
    "L1",
    "L2",
    "Categorical",
    "Centered",
    "Chi2",
    "Chi2Distance",
    "Constant",
    "Cosine",
    "Custom",
    "Delta",
    "Distance",
    "EdgeAttributes",
    "EdgeHistogram",
    "Exp",
    "Exponential",
    "FeatureMap",
    "FeaturesError",
    "GappedKmer",
    "Gaussian",
    "GaussianBasis",
    "GraphLabels",
    "Graphlet",
    "Hellinger",
    "HellingerDistance",
    "IndefiniteKernelWarning",
    "Intersection",
    "JensenShannon",
    "Kernel",
    "L1Normalized",
    "Laplacian",
    "Lift",
    "Linear",
    "Linf",
    "LocalAlignment",
    "Mahalanobis",
    "Map",
    "Matern",
    "Mismatch",
    "Monomials",
    "NegativeDistance",
    "Normalized",
    "OnColumns",
    "OnMap",
    "PartialTree",
    "Polar",
    "Polynomial",
    "PolynomialBasis",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "Quadratic",
    "RandomWalk",
    "RationalQuadratic",
    "Repaired",
    "Scaled",
    "Segment",
    "SetKernel",
    "ShortestPath",
    "Sigmoid",
    "SpatialPyramid",
    "Spectrum",
    "Squares",
    "Subsequence",
    "SubsetTree",
    "Subtree",
    "Sum",
    "UnresolvedKernelError",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "ZeroKernelWarning",
    "exp",
    "named_kernel",
    "repair",
]
