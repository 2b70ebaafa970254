"""Runs every benchmark, or those named: ``python -m benchmarks [kernels] [linear] ... [svm [options]]``."""

import argparse

from benchmarks import (
    additive,
    composition,
    decompose,
    graphs,
    kernels,
    linear,
    logistic,
    metric,
    neighbors,
    online,
    ridge,
    selection,
    strings,
    svm,
    trees,
)
from benchmarks.measure import save

#: Tables of rows that are measured one after the other.
TABLES = {
    "additive": additive,
    "composition": composition,
    "decompose": decompose,
    "kernels": kernels,
    "neighbors": neighbors,
    "online": online,
    "ridge": ridge,
}
#: Those that run by rules of their own.
STUDIES = {
    "graphs": graphs,
    "linear": linear,
    "logistic": logistic,
    "metric": metric,
    "selection": selection,
    "strings": strings,
    "svm": svm,
    "trees": trees,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("nouns", nargs="*", help=f"{', '.join([*TABLES, *STUDIES])}; all if none is named")
    svm.options(parser)
    chosen = parser.parse_args()
    for noun in chosen.nouns or [*TABLES, *STUDIES]:
        if noun in STUDIES:
            STUDIES[noun].run(chosen)
            continue
        rows = []
        for row in TABLES[noun].rows():
            print(row, flush=True)
            rows.append(row)
        save(noun, rows)


main()
