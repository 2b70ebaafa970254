"""Chooses the penalty of kernel ridge regression by leaving out every sample in turn, and says how sure it is."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian

X, y = load_diabetes(return_X_y=True)
X, X_test, y, y_test = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)

# 100 penalties, each with all 331 samples left out in turn: 33,100 regressions from one eigendecomposition.
kernel = Gaussian("median").resolve(X)
machine = KernelRidgeCV(kernel=kernel, fit_intercept=True).fit(X, y)
print(f"{len(machine.alphas_)} penalties from {machine.alphas_[0]:.1e} to {machine.alphas_[-1]:.1e}")
for alpha, error in list(zip(machine.alphas_, machine.errors_, strict=True))[40::12]:
    print(f"  alpha {alpha:9.3g}   leave-one-out error {np.sqrt(error):6.2f}")
print(f"best alpha {machine.alpha_:.3g}: leave-one-out error {np.sqrt(-machine.best_score_):.2f}")

# The same residual for sample 0, the slow way.
without = KernelRidge(machine.alpha_, kernel=kernel, fit_intercept=True).fit(X[1:], y[1:])
print(f"sample 0 left out: {machine.loo_residuals()[0]:.6f}, refitted: {y[0] - without.predict(X[:1])[0]:.6f}")

low, high = machine.interval(X_test, level=0.9)
held = np.mean((low <= y_test) & (y_test <= high))
print(f"90 % intervals hold {held:.0%} of {len(y_test)} new targets; R2 {machine.score(X_test, y_test):.2f}")
print(machine.certificate_)
