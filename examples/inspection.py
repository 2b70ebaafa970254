"""Reads a fitted support vector machine: margins, support vectors, and the space it was chosen from."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.inspection import margins, support_report, version_space

iris = load_iris()
X, y = StandardScaler().fit_transform(iris.data), iris.target_names[iris.target]
machine = SVC(C=10, tol=1e-6).fit(X, y)
print(margins(machine, X, y))
print()
print(support_report(machine, X))
print()

points, side = make_blobs(30, 2, centers=[[-3, 0], [1.5, 1]], random_state=1)
hard = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(points, side)
rows = support_report(hard).essential
alone = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(points[rows], side[rows])
print(f"{len(rows)} of {len(points)} points determine the hyperplane: {hard.coef_[0].round(4)} from all of them,")
print(f"{alone.coef_[0].round(4)} from points {', '.join(map(str, rows))} alone")
print()

space = version_space(points, side)
print(space)
try:
    picture = Path(tempfile.gettempdir()) / "version_space.png"
    space.plot().figure.savefig(picture)
    print("picture:", picture)
except ImportError:
    print("for a picture: pip install mercer[plots]")
