"""Runs every benchmark, or those named: ``python -m benchmarks [kernels] [linear] [ridge]``."""

import sys

from benchmarks import kernels, linear, ridge
from benchmarks.measure import save

NOUNS = {"kernels": kernels, "linear": linear, "ridge": ridge}

for noun in sys.argv[1:] or NOUNS:
    rows = []
    for row in NOUNS[noun].rows():
        print(row, flush=True)
        rows.append(row)
    save(noun, rows)
