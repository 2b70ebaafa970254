"""Our classes in the places of scikit-learn's names: what we leave to scikit-learn's own must not come back to us."""

import subprocess
import sys

import pytest

CODE = """
import sys
import threading
import warnings

import numpy as np
import sklearn.decomposition, sklearn.kernel_ridge, sklearn.linear_model, sklearn.svm
import mercer

MACHINES = [
    "sklearn.svm.LinearSVC(penalty='l1', dual=False, random_state=0)",
    "sklearn.svm.LinearSVC(multi_class='crammer_singer', random_state=0)",
    "sklearn.svm.LinearSVC()",
    "sklearn.svm.LinearSVR(tol=1e-6, max_iter=100_000)",
    "sklearn.svm.SVC()",
    "sklearn.svm.NuSVC(nu=0.2)",
    "sklearn.svm.SVR(tol=1e-6)",
    "sklearn.svm.NuSVR(tol=1e-6)",
    "sklearn.svm.OneClassSVM()",
    "sklearn.kernel_ridge.KernelRidge(kernel='rbf')",
    "sklearn.decomposition.KernelPCA(2, kernel='rbf')",
]
warnings.simplefilter("ignore")
sys.setrecursionlimit(300)
X = np.random.default_rng(0).standard_normal((700, 4))
y = (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int) + (X[:, 0] > 1)


def said(expression):
    machine = eval(expression).fit(X, y)
    return type(machine).__module__, machine.predict(X) if hasattr(machine, "predict") else machine.transform(X)


theirs = [said(machine) for machine in MACHINES]
modules = (sklearn.svm, sklearn.svm._classes, sklearn.kernel_ridge, sklearn.decomposition, sklearn.linear_model)
for module in modules:
    for name in mercer.__all__:
        if hasattr(module, name):
            setattr(module, name, getattr(mercer, name))
sklearn.linear_model.Lasso = sklearn.linear_model.lars_path = None
ours = [said(machine) for machine in MACHINES]
for machine, (before, expected), (after, given) in zip(MACHINES, theirs, ours):
    assert before.startswith("sklearn.") and after.startswith("mercer."), machine
    np.testing.assert_allclose(np.abs(given), np.abs(expected), atol=1e-2, err_msg=machine)
mercer.BasisRidge(penalty="l1").fit(X, y)  # by the coordinate descent of scikit-learn
assert threading.active_count() < 10, threading.enumerate()
"""


@pytest.mark.slow("a process of its own")
def test_names_replaced_after_the_import():
    """Before the first fit of ours: whatever of scikit-learn we need was ours to keep when we were imported."""
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr[-2000:]
