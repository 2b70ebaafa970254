"""Tells mutagenic from harmless molecules by the neighbourhoods of their atoms (MUTAG, or molecules made up here)."""

import os
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from mercer import SVC
from mercer.files import read_tudataset
from mercer.kernels import ShortestPath, WeisfeilerLehman
from mercer.samples import as_graphs


def made_up(count: int = 100, seed: int = 0):
    """Carbon rings with a tail, one N and two O; in the second class these are a nitro group, NO2."""
    rng = np.random.default_rng(seed)
    molecules, y = [], np.arange(count) % 2
    for label in y:
        n = int(rng.integers(8, 14))
        nitrogen, one, other = n, n + 1, n + 2
        edges = [(v, v - 1) for v in range(1, n)] + [(0, 5), (nitrogen, 0)]
        edges += [(one, nitrogen), (other, nitrogen)] if label else [(one, 2), (other, 5)]
        molecules.append((edges, ["C"] * n + ["N", "O", "O"]))
    return as_graphs(molecules), y


file = Path(os.environ.get("MERCER_DATA", "")) / "graphs_MUTAG.zip"
graphs, y = read_tudataset(file) if file.is_file() else made_up()
print("data    ", graphs)

machine = SVC(C=10, kernel=WeisfeilerLehman(3).normalized())
folds = StratifiedKFold(10, shuffle=True, random_state=0)
search = GridSearchCV(machine, {"C": [1, 10, 100], "kernel__inner__h": [1, 2, 3]}, cv=5).fit(graphs, y)
print("chosen  ", search.best_params_)
for kernel in (search.best_estimator_.kernel, ShortestPath().normalized()):
    scores = cross_val_score(SVC(C=search.best_params_["C"], kernel=kernel), graphs, y, cv=folds)
    print(f"accuracy {100 * scores.mean():.1f} %  {kernel}")
