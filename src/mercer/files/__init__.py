"""Readers of the formats that data of this field come in."""

from mercer.files.trees import read_trees
from mercer.files.tudataset import read_tudataset

__all__ = ["read_trees", "read_tudataset"]
