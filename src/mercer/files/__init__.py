"""Files: data in the formats of other fields."""

from mercer.files.fasta import read_fasta

__all__ = ["read_fasta"]
