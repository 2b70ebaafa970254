"""Gradient steps towards kernel ridge regression: the plain rule, the best steps, and stopping early."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from mercer import LMS, KernelLMS, KernelRidge
from mercer.kernels import Gaussian, Polynomial
from mercer.solvers.lms import StepError

X, y = load_diabetes(return_X_y=True)
X, X_test, y, y_test = train_test_split(scale(X), scale(y), random_state=0)
kernel = Gaussian(4.0)

ridge = KernelRidge(alpha=1.0, kernel=kernel).fit(X, y)
print(f"kernel ridge: R2 {ridge.score(X_test, y_test):.4f}")

try:
    KernelLMS(kernel, alpha=1.0, step=1.0).fit(X, y)
except StepError as error:
    print(error)

for name, step in (("a fixed step", 0.005), ("the best steps", "auto")):
    machine = KernelLMS(kernel, alpha=1.0, step=step, tol=1e-4, max_iter=5000).fit(X, y)
    print(f"{name}: R2 {machine.score(X_test, y_test):.4f} after {machine.n_iter_} passes; {machine.certificate_}")

primal = LMS(Polynomial(2, gamma=0.1), alpha=1.0, tol=1e-4).fit(X, y)
print(f"weights of {len(primal.coef_)} monomials: R2 {primal.score(X_test, y_test):.4f} after {primal.n_iter_} passes")

early = KernelLMS(kernel, step=0.005, tol=0.0, early_stopping=True, max_iter=10_000).fit(X, y)
print(f"no penalty, stopped early: R2 {early.score(X_test, y_test):.4f} after {early.n_iter_} passes")
