"""Nine noisy points, fitted by polynomials and by bumps: what the penalty does, and which points a value blends."""

import numpy as np

from mercer import BasisRidge
from mercer.kernels import GaussianBasis, PolynomialBasis

rng = np.random.default_rng(0)
X = np.linspace(0, 1, 9)[:, None]
y = np.sin(2 * np.pi * X).ravel() + 0.1 * rng.standard_normal(9)
new = np.linspace(0.05, 0.95, 50)[:, None]
truth = np.sin(2 * np.pi * new).ravel()

for basis in (PolynomialBasis(7), GaussianBasis(sigma=0.334)):
    machine = BasisRidge(basis).fit(X, y)
    print(machine.basis_)
    alphas = [0.0, 1e-8, 1e-4, 1e-2, 1.0, 100.0]
    path = machine.path(alphas)  # all from one decomposition
    for alpha, coef, trace in zip(alphas, path.coef, path.trace, strict=True):
        error = np.sqrt(np.mean((machine.basis_(new) @ coef - truth) ** 2))
        size = np.linalg.norm(coef)
        print(f"  alpha {alpha:7.1e}: {trace:5.2f} parameters in effect, |w| {size:9.2e}, error {error:.3f}")

machine = BasisRidge(GaussianBasis(sigma=0.334), alpha=0.01).fit(X, y)
b = machine.smoother([[0.5]]).weights[0]
print("f(0.5) =", machine.predict([[0.5]]).round(4)[0], "= b'y with b =", b.round(2))

lasso = BasisRidge(GaussianBasis(sigma=0.334), alpha=0.01, penalty="l1").fit(X, y)
print("lasso keeps", np.count_nonzero(lasso.coef_), "of", len(lasso.coef_), "functions;", lasso.certificate_)
