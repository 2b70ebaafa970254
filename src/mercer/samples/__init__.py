"""The only door for data: whatever the user has becomes one of a few strict kinds of samples.

Behind this door arrays are two-dimensional, finite and of type float32 or float64, sparse rows are sorted,
and nothing asks again what it was given.
"""

from mercer.samples.base import Samples
from mercer.samples.door import as_samples
from mercer.samples.graph_forms import UnreadAttributesWarning, as_graphs
from mercer.samples.graphs import Graph, Graphs
from mercer.samples.objects import Objects
from mercer.samples.sequences import Sequences, as_sequences
from mercer.samples.sets import Sets, as_sets
from mercer.samples.similarities import Similarities
from mercer.samples.sparse import SparseVectors
from mercer.samples.table import Table
from mercer.samples.trees import Tree, Trees, as_trees
from mercer.samples.vectors import Features, Vectors

__all__ = [
    "Features",
    "Graph",
    "Graphs",
    "Objects",
    "Samples",
    "Sequences",
    "Sets",
    "Similarities",
    "SparseVectors",
    "Table",
    "Tree",
    "Trees",
    "UnreadAttributesWarning",
    "Vectors",
    "as_graphs",
    "as_samples",
    "as_sequences",
    "as_sets",
    "as_trees",
]
