"""Runs every benchmark, or those named: ``python -m benchmarks [kernels] [ridge]``."""

import sys

from benchmarks import kernels, ridge
from benchmarks.measure import save

NOUNS = {"kernels": kernels, "ridge": ridge}

for noun in sys.argv[1:] or NOUNS:
    rows = []
    for row in NOUNS[noun].rows():
        print(row, flush=True)
        rows.append(row)
    save(noun, rows)
