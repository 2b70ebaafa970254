"""Fits kernel ridge regression to the diabetes data, and shows the proof of the optimum and a check of the kernel."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.validity import check_kernel

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)

kernel = Gaussian("median") + 0.1 * Linear()
machine = KernelRidge(alpha=3.0, kernel=kernel, fit_intercept=True).fit(X, y)

print("data         diabetes,", X.shape[0], "patients,", X.shape[1], "measurements")
print("machine     ", machine)
print("kernel      ", machine.kernel_)
print("certificate ", machine.certificate_)
scores = cross_val_score(make_pipeline(StandardScaler(), machine), X, y, cv=5)
print(f"R2           {machine.score(X, y):.3f} on the training data, {scores.mean():.3f} in 5-fold cross-validation")
print()
print(check_kernel(machine.kernel_, X, y))
