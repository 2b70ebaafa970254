"""Learns which measurements matter, and compares a Gaussian kernel with and without that knowledge."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, MahalanobisLearner
from mercer.kernels import Exponential

wine = load_wine()
rng = np.random.default_rng(0)
noise = rng.standard_normal((len(wine.data), 20))  # measurements that say nothing
X, y = StandardScaler().fit_transform(np.hstack([wine.data, noise])), wine.target

learner = MahalanobisLearner().fit(X, y)
print("chosen:", learner.structure_, "from held-out errors", {k: round(v, 3) for k, v in learner.errors_.items()})
weights = (learner.factor_**2).sum(axis=1)
names = [*wine.feature_names, *["noise"] * 20]
for column in np.argsort(-weights)[:6]:
    print(f"  {names[column]:30s} {weights[column] / weights.mean():.2f} times the average weight")

kernel = Exponential(learner.distance_, beta=2)
print("SVC with the learnt kernel:", SVC(C=10, kernel=kernel).fit(X, y).n_support_.sum(), "support vectors")
for name, steps in {"isotropic": [], "learnt": [MahalanobisLearner()]}.items():
    scores = cross_val_score(make_pipeline(StandardScaler(), *steps, SVC(C=10)), X, y, cv=5)
    print(f"{name:10s} accuracy in 5-fold cross-validation: {scores.mean():.3f}")
