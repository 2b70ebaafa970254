"""Chooses C and gamma of an SVC in a pipeline: the grid from the data, the smoothest machine as good as the best."""

from time import perf_counter

from sklearn import model_selection, svm
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.selection import GridSearchCV, cross_val_score, one_standard_error

X, y = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), SVC())

# Without a grid, it is made from the distances between the samples; all cells share what they have in common.
start = perf_counter()
search = GridSearchCV(pipeline, cv=10).fit(X, y)
ours = perf_counter() - start
print(f"{len(search.cv_results_['params'])} cells, 10 splits, {ours:.2f} s: best {search.best_params_}")
print(f"mean accuracy {search.best_score_:.4f}; certificates of its fits:")
print(f"  all converged: {all(certificate.converged for certificate in search.certificates_)}")

# The same search by one fit after the other.
peer = make_pipeline(StandardScaler(), svm.SVC())
start = perf_counter()
other = model_selection.GridSearchCV(peer, search.param_grid_, cv=10).fit(X, y)
print(f"one by one {perf_counter() - start:.2f} s: best {other.best_params_}, {other.best_score_:.4f}")

# Many cells are as good as the best within its standard error; of them, the smoothest.
smooth = GridSearchCV(pipeline, search.param_grid_, cv=10, refit=one_standard_error).fit(X, y)
print(f"smoothest within one standard error: {smooth.best_params_}")
for name, chosen in (("best", search), ("smoothest", smooth)):
    machine = chosen.best_estimator_
    score = cross_val_score(machine, X, y, cv=10).mean()
    print(f"  {name:10s} accuracy {score:.4f}, {len(machine[-1].support_)} support vectors")
