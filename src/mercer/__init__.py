"""mercer: kernel machines that are exact, certified and fast, on vectors, histograms, tables and your own data."""

from mercer import kernels
from mercer.gram import Gram

__all__ = ["Gram", "kernels"]
__version__ = "0.1.0"
