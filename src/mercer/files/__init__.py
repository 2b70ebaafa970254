"""Files: data in the formats of other fields."""

from mercer.files.fasta import read_fasta
from mercer.files.text import FormatError
from mercer.files.trees import read_trees
from mercer.files.tudataset import read_tudataset

__all__ = [
    "FormatError",
    "read_fasta",
    "read_trees",
    "read_tudataset",
]
