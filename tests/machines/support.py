"""What the tests of support vector machines share: the machines, scaled data, and small problems solved to the end."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


def data(loader, rows=None):
    X, y = loader(return_X_y=True)
    X = scale(X)[:rows]
    return X, y[:rows]


cancer = data(load_breast_cancer)
iris = data(load_iris)
wine = data(load_wine)
digits = data(load_digits, 500)
diabetes = data(load_diabetes)
diabetes = diabetes[0], scale(diabetes[1])


def weights(n):
    return np.random.default_rng(0).uniform(0.2, 2.0, n)


def small(machine):
    """A machine that stops at the optimum, its data, and the name of its function."""
    X, y = (cancer[0][:150, :6], cancer[1][:150]) if machine in (SVC, NuSVC, OneClassSVM) else diabetes
    nu = {"nu": 0.2} if machine in (NuSVC, NuSVR, OneClassSVM) else {}
    function = "predict" if machine in (SVR, NuSVR) else "decision_function"
    return machine(kernel=Gaussian(2.0), tol=1e-9, **nu), X[:150], y[:150], function


def large(machine):
    """A machine that stops at tol=1e-4, and data beyond one block: solved by working sets, of a matrix in float32."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2600, 4))
    y = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(2600)
    plain, *_, function = small(machine)
    if machine is NuSVC:
        plain.set_params(nu=0.5)  # the classes overlap
    return plain.set_params(tol=1e-4), X, y if machine in (SVR, NuSVR) else (y > 0).astype(int), function


def values(machine, function, X):
    return getattr(machine, function)(X)
