"""Runs every benchmark, or those named: ``python -m benchmarks [graphs] [kernels] [linear] ... [svm [options]]``."""

import argparse

from benchmarks import graphs, kernels, linear, ridge, svm, trees
from benchmarks.measure import save

NOUNS = {"graphs": graphs, "kernels": kernels, "linear": linear, "ridge": ridge, "trees": trees}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("nouns", nargs="*", help="graphs, kernels, linear, ridge, trees, svm; all if none is named")
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
