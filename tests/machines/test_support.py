"""All five support vector machines beside scikit-learn's: its checks, its objective values, its attributes."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.machines.support import MACHINES, cancer, diabetes, digits, iris, weights, wine

KERNELS = ["linear", "poly", "rbf", "sigmoid"]
WEIGHTS = "weights change gamma='scale' and the path of the solver, which stops within tol, as in scikit-learn"


def expected_failures(estimator):
    if estimator.kernel == "precomputed":
        return {}
    failures = {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }
    if isinstance(estimator, NuSVC):
        failures["check_class_weight_classifiers"] = "class_weight has no effect, as in scikit-learn"
    return failures


@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks(
    [
        *(machine() for machine in MACHINES),
        SVC(kernel="precomputed"),
        SVR(kernel="precomputed"),
        SVC(strategy="ovr"),
        SVC(votes="distance"),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def objective(machine, X, y, weight):
    """The dual objective of two classes, numbers or one class that a fitted machine's coefficients attain."""
    K = machine_kernel(machine, X)
    a = np.zeros(len(X))
    a[machine.support_] = np.ravel(machine.dual_coef_)
    name = type(machine).__name__
    if name == "NuSVC":  # undo the division by the margin, which is known from the sum of the coefficients
        a *= machine.nu * weight.sum() / np.abs(a).sum()
    if name == "SVC":
        return np.abs(a).sum() - 0.5 * a @ K @ a
    if name == "SVR":
        return a @ y - machine.epsilon * np.abs(a).sum() - 0.5 * a @ K @ a
    return a @ y * (name == "NuSVR") - 0.5 * a @ K @ a


def machine_kernel(machine, X):
    gamma = 1 / (X.shape[1] * X.var()) if machine.gamma == "scale" else machine.gamma
    dot = X @ X.T
    match machine.kernel:
        case "linear":
            return dot
        case "poly":
            return (gamma * dot + machine.coef0) ** 3
        case "rbf":
            squares = np.diag(dot)
            return np.exp(-gamma * (squares[:, None] + squares - 2 * dot))
    return np.tanh(gamma * dot + machine.coef0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_objective_is_scikit_learns(machine, kernel, weighted):
    X, y = cancer if machine in (SVC, NuSVC) else diabetes
    if machine is OneClassSVM:
        X = X + 5  # away from the origin, or a linear function is zero
    parameters = dict(kernel=kernel, tol=1e-5, **({"nu": 0.1} if machine in (NuSVC, OneClassSVM) else {}))
    if kernel == "sigmoid":  # indefinite, but nearly linear for small arguments
        parameters |= dict(gamma=1e-3, **({"C": 100.0} if machine in (SVC, SVR, NuSVR) else {}))
    weight = weights(len(y)) if weighted else np.ones(len(y))
    ours = machine(**parameters).fit(X, y, sample_weight=weight)
    peer = getattr(sklearn.svm, machine.__name__)(**parameters).fit(X, y, sample_weight=weight)
    reached = objective(peer, X, y, weight)
    assert ours.certificate_.converged
    assert ours.certificate_.dual == pytest.approx(reached, rel=1e-5)
    assert ours.certificate_.gap <= 1e-4 * max(abs(reached), 1)
    assert ours.intercept_ == pytest.approx(peer.intercept_, rel=1e-3, abs=1e-3)
    function = "predict" if machine in (SVR, NuSVR) else "decision_function"
    np.testing.assert_allclose(getattr(ours, function)(X), getattr(peer, function)(X), atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
@pytest.mark.parametrize("data", [iris, wine, digits], ids=["iris", "wine", "digits"])
def test_many_classes_agree_with_scikit_learn(machine, data):
    X, y = data
    parameters = dict(tol=1e-6, decision_function_shape="ovo", **({"nu": 0.1} if machine is NuSVC else {}))
    ours = machine(**parameters).fit(X, y, sample_weight=weights(len(y)))
    exact = parameters | {"tol": 1e-9}  # a nu-machine is divided by its margin, and so is what tol leaves
    peer = getattr(sklearn.svm, machine.__name__)(**exact).fit(X, y, sample_weight=weights(len(y)))
    assert ours.dual_coef_.shape == (len(ours.classes_) - 1, len(ours.support_))
    assert len(ours.certificate_) == len(ours.intercept_) == ours.n_iter_.shape[0]
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    both = ours.set_params(decision_function_shape="ovr"), peer.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(both[0].decision_function(X), both[1].decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.expansion_(X), ours.set_params(decision_function_shape="ovo").decision_function(X))
    assert set(ours.support_) >= set(peer.support_[np.abs(peer.dual_coef_).max(axis=0) > 1e-3])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("kernel", "kind"),
    [("precomputed", np.asarray), *product(["linear", "rbf"], [np.asarray, sp.csr_matrix, sp.csr_array])],
)
def test_attributes_have_scikit_learns_names_shapes_and_types(machine, kernel, kind):
    X, y = iris
    X = kind(X @ X.T if kernel == "precomputed" else X)
    ours = machine(kernel=kernel).fit(X, y)
    peer = getattr(sklearn.svm, machine.__name__)(kernel=kernel).fit(X, y)
    public = [name for name in dir(peer) if name.endswith("_") and not name.startswith("_")]
    public = [name for name in public if not name.startswith("prob") and hasattr(peer, name)]
    assert {"support_", "dual_coef_", "n_support_", "shape_fit_", "fit_status_"} <= set(public)
    for name in public:
        mine, theirs = getattr(ours, name), getattr(peer, name)
        assert type(mine) is type(theirs), name
        if name not in ("support_", "support_vectors_", "dual_coef_"):
            assert np.shape(mine) == np.shape(theirs), name
        if hasattr(theirs, "dtype"):
            assert mine.dtype == theirs.dtype, name
    assert ours.support_vectors_.shape[1] == peer.support_vectors_.shape[1]
    assert (ours.shape_fit_, ours.fit_status_) == (peer.shape_fit_, peer.fit_status_)
    assert hasattr(ours, "coef_") == (kernel == "linear")


def test_constructors_are_scikit_learns():
    for machine in MACHINES:
        peer = getattr(sklearn.svm, machine.__name__)()
        ours = machine().get_params()
        assert peer.get_params().items() <= ours.items()
        added = {"n_jobs", "warm_start", "solver"} | ({"strategy", "votes"} if machine in (SVC, NuSVC) else set())
        assert ours.keys() - peer.get_params().keys() == added
