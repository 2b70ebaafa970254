"""Runs every benchmark, or those named: ``python -m benchmarks [kernels] [linear] [metric] ... [svm [options]]``."""

import argparse

from benchmarks import kernels, linear, metric, ridge, svm
from benchmarks.measure import save

NOUNS = {"kernels": kernels, "linear": linear, "metric": metric, "ridge": ridge}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("nouns", nargs="*", help="kernels, linear, metric, ridge, svm; all if none is named")
    svm.options(parser)
    chosen = parser.parse_args()
    for noun in chosen.nouns or [*NOUNS, "svm"]:
        if noun == "svm":
            svm.run(chosen)
            continue
        rows = []
        for row in NOUNS[noun].rows():
            print(row, flush=True)
            rows.append(row)
        save(noun, rows)


main()
