"""What holds for all five support vector machines: scikit-learn's checks, its objective values, and symmetries."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Categorical, Custom, Gaussian, Linear, Polynomial, Precomputed
from mercer.problem import epsilon_insensitive, hinge, nu_epsilon, nu_hinge, one_class
from mercer.solvers import SMO, SolverInterrupted, certify
from tests.machines.watcher import Watcher

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]
KERNELS = ["linear", "poly", "rbf", "sigmoid"]
WEIGHTS = "weights change gamma='scale' and the path of the solver, which stops within tol, as in scikit-learn"


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


@parametrize_with_checks(
    [*(machine() for machine in MACHINES), SVC(kernel="precomputed"), SVR(kernel="precomputed"), SVC(strategy="ovr")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def weights(n):
    return np.random.default_rng(0).uniform(0.2, 2.0, n)


# -- the same problems, the same optima ---------------------------------------------------------------------------


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
    peer = getattr(sklearn.svm, machine.__name__)(**parameters).fit(X, y, sample_weight=weights(len(y)))
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
        added = {"n_jobs", "warm_start", "solver"} | ({"strategy"} if machine in (SVC, NuSVC) else set())
        assert ours.keys() - peer.get_params().keys() == added


# -- symmetries ---------------------------------------------------------------------------------------------------


def small(machine):
    """A machine that stops at the optimum, its data, and the name of its function."""
    X, y = (cancer[0][:150, :6], cancer[1][:150]) if machine in (SVC, NuSVC, OneClassSVM) else diabetes
    nu = {"nu": 0.2} if machine in (NuSVC, NuSVR, OneClassSVM) else {}
    function = "predict" if machine in (SVR, NuSVR) else "decision_function"
    return machine(kernel=Gaussian(2.0), tol=1e-9, **nu), X[:150], y[:150], function


def values(machine, function, X):
    return getattr(machine, function)(X)


@pytest.mark.parametrize("cls", MACHINES)
def test_the_order_of_samples_does_not_matter(cls):
    machine, X, y, function = small(cls)
    order = np.random.default_rng(1).permutation(len(y))
    before = values(machine.fit(X, y), function, X)
    after = values(machine.fit(X[order], y[order]), function, X)
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_weight_two_is_a_sample_twice_and_weight_zero_none(cls):
    machine, X, y, function = small(cls)
    times = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = values(machine.fit(X, y, sample_weight=times), function, X)
    repeated = values(machine.fit(np.repeat(X, times, axis=0), np.repeat(y, times)), function, X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, SVR, NuSVR])
def test_weights_multiply_C(cls):
    machine, X, y, function = small(cls)
    scaled = values(machine.set_params(C=5.0).fit(X, y, sample_weight=np.full(len(y), 0.4)), function, X)
    plain = values(machine.set_params(C=2.0).fit(X, y), function, X)
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_a_constant_added_to_the_kernel_changes_nothing(cls):
    machine, X, y, function = small(cls)
    before = values(machine.fit(X, y), function, X)
    after = values(machine.set_params(kernel=Gaussian(2.0) + 3.0).fit(X, y), function, X)
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR])
def test_flipped_targets_flip_the_function(cls):
    machine, X, y, function = small(cls)
    before = values(machine.fit(X, y), function, X)
    after = values(machine.fit(X, 1 - y if cls in (SVC, NuSVC) else -y), function, X)
    np.testing.assert_allclose(after, -before, atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_coefficients_are_certified_by_another_route(cls):
    machine, X, y, _ = small(cls)
    machine.set_params(tol=1e-6).fit(X, y)
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    problem = {
        SVC: lambda: hinge(sign, 1.0),
        NuSVC: lambda: nu_hinge(sign, 0.2),
        SVR: lambda: epsilon_insensitive(y, 1.0, 0.1),
        NuSVR: lambda: nu_epsilon(y, 1.0, 0.2),
        OneClassSVM: lambda: one_class(np.ones(len(y)), 0.2),
    }[cls]()
    if cls is NuSVC:
        a = np.clip(a * (0.2 * len(y) / np.abs(a).sum()), -1, 1)
    if cls is NuSVR:
        a = np.concatenate([np.maximum(a, 0), np.minimum(a, 0)])
    f = problem.of_samples(Gaussian(2.0)(X) @ problem.by_sample(a, len(y)))
    certificate = certify(problem, a, f, 0, 1e-5).certificate
    assert certificate.dual == pytest.approx(machine.certificate_.dual, rel=1e-6)
    assert certificate.primal == pytest.approx(machine.certificate_.primal, rel=1e-5)


# -- kernels and data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", MACHINES)
def test_a_kernel_by_name_as_object_as_function_and_as_matrix(cls):
    machine, X, y, function = small(cls)
    named = machine.set_params(kernel="rbf", gamma=0.125).fit(X, y)
    expected = values(named, function, X)
    assert named.kernel_ == Gaussian(gamma=0.125)
    for kernel in (Gaussian(2.0), lambda A, B: Gaussian(2.0)(A, B), Custom(Gaussian(2.0))):
        other = clone(machine).set_params(kernel=kernel).fit(X, y)
        np.testing.assert_allclose(values(other, function, X), expected, atol=1e-6)
    K = Gaussian(2.0)(X)
    for kernel in ("precomputed", Precomputed()):
        other = clone(machine).set_params(kernel=kernel).fit(K, y)
        np.testing.assert_allclose(values(other, function, K), expected, atol=1e-6)
        np.testing.assert_allclose(values(other, function, K[:7]), expected[:7], atol=1e-6)


@pytest.mark.parametrize("cls", MACHINES)
def test_float32_is_kept_and_sparse_agrees(cls):
    machine, X, y, function = small(cls)
    expected = values(machine.set_params(tol=1e-5).fit(X, y), function, X)
    single = machine.fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(values(single, function, X.astype(np.float32)), expected, atol=1e-3)
    for dtype in (np.float32, np.float64):
        sparse = machine.set_params(kernel="rbf", gamma=0.125).fit(sp.csr_array(X.astype(dtype)), y)
        assert sparse.support_vectors_.dtype == dtype
        np.testing.assert_allclose(values(sparse, function, sp.csr_matrix(X.astype(dtype))), expected, atol=1e-3)


@pytest.mark.parametrize("cls", MACHINES)
def test_frames_and_words(cls):
    X, y = iris
    frame = pd.DataFrame({"length": X[:100, 0], "kind": np.where(X[:100, 1] > 0, "wide", "slim")})
    mixed = cls(kernel=Gaussian(1.0).on("length") * (1 + Categorical().on("kind"))).fit(frame, y[:100])
    np.testing.assert_array_equal(mixed.feature_names_in_, ["length", "kind"])
    assert list(mixed.support_vectors_.columns) == ["length", "kind"]
    assert mixed.predict(frame[:3]).shape == (3,)
    words = ["spam", "spa", "ham", "hamlet", "sparse", "shame"]
    shared = Custom(lambda s, t: len(set(s) & set(t)), pairwise=True)
    assert len(cls(kernel=shared).fit(words, [1, 1, 0, 0, 1, 0]).predict(["spas"])) == 1


def test_parameters_of_kernels_can_be_searched():
    X, y = iris
    search = GridSearchCV(SVC(kernel=Gaussian(1.0)), {"kernel__sigma": [0.5, 2.0], "C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.kernel == Gaussian(search.best_params_["kernel__sigma"])
    assert cross_val_score(SVC(kernel=Precomputed()), Gaussian(1.0)(X), y, cv=3).mean() > 0.9


@pytest.mark.parametrize("cls", MACHINES)
def test_pickles(cls):
    machine, X, y, function = small(cls)
    again = pickle.loads(pickle.dumps(machine.fit(X, y)))
    np.testing.assert_array_equal(values(again, function, X), values(machine, function, X))


@pytest.mark.parametrize("cls", MACHINES)
def test_a_fitted_machine_does_not_change_when_the_data_do(cls):
    machine, X, y, function = small(cls)
    changing = X.copy()
    before = values(machine.fit(changing, y), function, X)
    changing[:] = 0
    np.testing.assert_array_equal(values(machine, function, X), before)


def test_linear_kernel_objects_have_weights():
    X, y = iris
    machine = SVC(kernel=Linear(), decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(X @ machine.coef_.T + machine.intercept_, machine.decision_function(X), atol=1e-10)
    assert not hasattr(SVC(kernel=Polynomial(2)).fit(X, y), "coef_")


# -- stopping, continuing, telling --------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", MACHINES)
def test_max_iter_stops_and_warm_start_continues(cls):
    machine, X, y, _ = small(cls)
    full = clone(machine).set_params(tol=1e-5).fit(X, y)
    machine.set_params(tol=1e-5, max_iter=5, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5.*violated by"):
        machine.fit(X, y)
    assert machine.fit_status_ == 1
    assert not machine.certificate_.converged
    first = machine.certificate_.dual
    machine.set_params(max_iter=-1).fit(X, y)
    assert machine.fit_status_ == 0
    assert machine.certificate_.dual > first
    assert machine.certificate_.dual == pytest.approx(full.certificate_.dual, rel=1e-5)
    again = machine.fit(X, y)
    assert np.max(again.n_iter_) <= 0.2 * np.max(full.n_iter_)


def test_warm_start_of_many_classes():
    X, y = wine
    machine = SVC(tol=1e-6, warm_start=True).fit(X, y)
    steps = machine.n_iter_.copy()
    assert (machine.fit(X, y).n_iter_ < 0.2 * steps).all()
    machine.set_params(C=0.1).fit(X, y)
    cold = SVC(tol=1e-6, C=0.1).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), cold.decision_function(X), atol=1e-4)
    assert machine.fit(X[:100], y[:100]).score(X[:100], y[:100]) > 0.9  # other samples, other classes: from scratch


@pytest.mark.parametrize("cls", MACHINES)
def test_callbacks_are_told(cls):
    _, X, y, _ = small(cls)
    watcher = Watcher()
    machine = cls().set_callbacks(watcher).fit(X, y)
    assert {"violation", "gap", "iterations", "active"} <= watcher.seen[-1].keys()
    np.testing.assert_array_equal(watcher.ended[0].predict(X), machine.predict(X))


def test_callbacks_stop_the_solver():
    X, y = cancer
    machine = SVC(C=1e3, tol=1e-8).set_callbacks(Watcher(stop=True))
    with pytest.warns(ConvergenceWarning, match="stopped before it converged"):
        machine.fit(X, y)
    assert not machine.certificate_.converged


def test_verbose_writes_what_happens(capsys):
    SVC(verbose=True).fit(*cancer)
    assert "violation" in capsys.readouterr().out


@pytest.mark.parametrize("cls", MACHINES)
def test_an_interrupt_leaves_a_machine(cls, monkeypatch):
    machine, X, y, function = small(cls)

    def interrupted(self, gram, problems, start=None):
        raise SolverInterrupted(solve(SMO(max_iter=3), gram, problems, start))

    solve = SMO.solve
    monkeypatch.setattr(SMO, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    monkeypatch.undo()
    assert not machine.certificate_.converged
    assert np.isfinite(values(machine, function, X)).all()
    assert machine.set_params(warm_start=True).fit(X, y).certificate_.converged


@pytest.mark.parametrize("cls", MACHINES)
def test_threads_do_not_change_the_result(cls):
    machine, X, y, function = small(cls)
    one, two = (values(clone(machine).set_params(n_jobs=n).fit(X, y), function, X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", MACHINES)
def test_wrong_weights_are_refused_and_negative_ones_warn(cls):
    machine, X, y, function = small(cls)
    with pytest.raises(ValueError, match="incompatible shapes"):
        machine.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(X, y, sample_weight=np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        machine.fit(X, y, sample_weight=np.zeros(len(y)))
    weight = np.ones(len(y))
    weight[::7] = 0
    expected = values(machine.fit(X, y, sample_weight=weight), function, X)
    weight[::14] = -1
    with pytest.warns(UserWarning, match="negative weight"):
        machine.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(values(machine, function, X), expected)


@pytest.mark.parametrize("cls", MACHINES)
def test_wrong_data_are_refused(cls):
    X, y = iris
    machine = cls(kernel="linear")
    with pytest.raises(NotFittedError):
        machine.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.where(X > 2, np.nan, X), y)
    if cls is not OneClassSVM:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            machine.fit(X, y[:-1])
    machine.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="trained on dense data"):
        machine.predict(sp.csr_array(X))
    with pytest.raises(TypeError, match="Sparse precomputed"):
        cls(kernel="precomputed").fit(sp.csr_array(X @ X.T), y)
    with pytest.raises(ValueError, match="square"):
        cls(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="returned shape"):
        cls(kernel=lambda A, B: A).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        cls(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)
