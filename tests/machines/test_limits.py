"""A limit of time is heard by every machine wherever it is, and leaves what was found by then, or nothing."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    BasisRidge,
    KernelLMS,
    KernelLogistic,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    LinearSVC,
    LinearSVR,
    MahalanobisLearner,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.callbacks import TimeLimit, TimeLimitError
from mercer.deadline import look
from mercer.kernels import Custom, FeatureMap, Gaussian

pytestmark = pytest.mark.slow("limits of time are waited for")

rng = np.random.default_rng(0)
X, y = rng.standard_normal((700, 3)), np.arange(700) % 2
SOON = 0.01


def endless(*blocks):
    """A user's function that never comes to an end, unless something is raised in it."""
    while True:
        look()


ENDLESS = Custom(endless)
#: Within the kernel or the basis, at the first number that is asked for.
SILENT = [
    *(made(kernel=ENDLESS) for made in (SVC, SVR, NuSVC, NuSVR, OneClassSVM, SVDD)),
    *(made(kernel=ENDLESS) for made in (KernelRidge, KernelRidgeCV, KernelLogistic, KernelLMS, KernelPerceptron)),
    *(KernelLogistic(kernel=ENDLESS, max_basis=5), KernelLMS(ENDLESS, batch_size=50)),
    *(KernelPCA(kernel=ENDLESS), KernelPCA(2, kernel=ENDLESS), KernelSVD(kernel=ENDLESS), KernelSVD(2, kernel=ENDLESS)),
    *(LMS(FeatureMap(endless)), BasisRidge(endless), KernelPCA(2, kernel=ENDLESS, fit_inverse_transform=True)),
]
#: Within passes of their own, which tell of themselves.
TELLING = [
    *(LinearSVC(C=1e9, tol=1e-300, max_iter=10**9), LinearSVR(C=1e9, tol=1e-300, max_iter=10**9)),
    *(Perceptron(max_iter=10**9), KernelPerceptron(Gaussian(9.0), max_iter=10**9)),
    *(LMS(max_iter=10**9, tol=0.0, step=1e-9), KernelLMS(Gaussian(1.0), max_iter=10**9, tol=0.0, step=1e-9)),
]
#: Which tell of nothing for long.
OTHERS = [MahalanobisLearner(steps=10**6)]


def test_all_machines_are_here():
    limited = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "set_callbacks")}
    assert {type(machine).__name__ for machine in [*SILENT, *TELLING, *OTHERS]} == limited


@pytest.mark.parametrize("machine", SILENT, ids=lambda machine: type(machine).__name__)
def test_what_is_silent_is_interrupted(machine):
    """A kernel that hangs: with nothing to keep, the machine is as it was."""
    before = dict(vars(machine.set_callbacks(TimeLimit(SOON))))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            machine.fit(X, y)
        except TimeLimitError as error:
            refused = str(error)
        else:
            refused = ""
    if refused:
        assert f"the limit of 0.01 s ended the fit of {type(machine).__name__} before it had found" in refused
        assert vars(machine).keys() == before.keys()
        return
    assert not machine.certificate_.converged
    assert [one.category for one in said if issubclass(one.category, ConvergenceWarning)]


@pytest.mark.parametrize("machine", TELLING, ids=lambda machine: type(machine).__name__)
def test_what_goes_on_for_ever_leaves_what_it_has(machine):
    noise = np.random.default_rng(1).standard_normal((len(X), 3)) + 1e-3 * y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = clone(machine).set_callbacks(TimeLimit(1.0)).fit(noise, y)
    assert machine.predict(noise).shape == y.shape


@pytest.mark.parametrize("machine", OTHERS, ids=lambda machine: type(machine).__name__)
def test_what_cannot_be_left_half_done_is_refused(machine):
    before = dict(vars(machine.set_callbacks(TimeLimit(SOON))))
    with pytest.raises(TimeLimitError, match="before it had found anything to keep"):
        machine.fit(X, y)
    assert vars(machine).keys() == before.keys()


class Hanging:
    """A callback that never comes back from the first report of a pass."""

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "fit":
            endless()

    def teardown(self, estimator, context): ...


@pytest.mark.parametrize(
    "machine",
    [
        *TELLING,
        *(SVC(), KernelLogistic(kernel=Gaussian(1.0)), KernelLogistic(kernel=Gaussian(1.0), max_basis=5)),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_what_is_interrupted_amid_a_report_leaves_what_it_has(machine):
    """Also where one solver works for another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = clone(machine).set_callbacks(Hanging(), TimeLimit(1.0)).fit(X, y)
    assert machine.predict(X).shape == y.shape


def test_a_descent_that_has_not_begun_is_where_it_was_to_start():
    machine = KernelLMS(ENDLESS).set_callbacks(TimeLimit(SOON))
    with pytest.warns(ConvergenceWarning, match=r"KernelLMS was ended by its limit of time amid a step: NOT converged"):
        machine.fit(X, y)
    assert machine.n_iter_ == 0
    assert not machine.dual_coef_.any()
    assert machine.certificate_.gap == np.inf


def test_what_has_ended_is_kept_though_its_callback_hangs():
    class HangingAtTheEnd(Hanging):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "fit":
                endless()

    machine = SVC().set_callbacks(HangingAtTheEnd(), TimeLimit(1.0)).fit(X, y)
    assert machine.certificate_.converged


def test_a_machine_within_another_is_ended_with_it():
    """The limit is that of the outer one, and the inner one keeps what it has."""
    inner = SVC(kernel=ENDLESS)

    def learned(A, B):
        inner.fit(X, y)
        return Gaussian(1.0)(A, B)

    machine = KernelRidge(kernel=Custom(learned)).set_callbacks(TimeLimit(SOON))
    with pytest.raises(TimeLimitError, match="ended the fit of KernelRidge"):
        machine.fit(X, y)


def test_a_fit_amid_a_pass_leaves_what_was_found_before_it():
    """The matrix is asked for row by row; from some row on nothing comes any more."""
    asked = []

    def slow(A, B):
        asked.append(len(A))
        return Gaussian(1.0)(A, B) if sum(asked) < 300 else endless()

    machine = SVC(kernel=Custom(slow), C=100).set_callbacks(TimeLimit(SOON))
    with pytest.warns(ConvergenceWarning, match=r"SVC was ended by its limit of time amid a step: NOT converged"):
        machine.fit(X, y)
    assert machine.fit_status_ == 1
    assert not machine.certificate_.converged


@pytest.mark.parametrize("machine", [SVC(), KernelRidge(kernel=Gaussian(1.0))], ids=lambda m: type(m).__name__)
def test_a_limit_far_away_changes_nothing(machine):
    expected = machine.fit(X, y).predict(X)
    limited = machine.set_callbacks(TimeLimit(1e9)).fit(X, y)
    np.testing.assert_array_equal(limited.predict(X), expected)


def test_a_refit_that_is_ended_leaves_the_function_of_before():
    machine = KernelRidge(kernel=Gaussian(1.0)).fit(X, y)
    before = machine.predict(X)
    with pytest.raises(TimeLimitError):
        machine.set_params(kernel=ENDLESS).set_callbacks(TimeLimit(SOON)).fit(X, y)
    np.testing.assert_array_equal(machine.predict(X), before)


def test_a_fit_on_few_samples_that_is_ended_has_not_converged():
    """Its certificates are of the samples chosen so far, whose optimum is not what was asked for."""
    asked = []

    def slow(A, B):
        asked.append(A.shape)
        return Gaussian(1.0)(A, B) if len(asked) < 40 else endless()

    machine = KernelLogistic(kernel=Custom(slow), max_basis=300).set_callbacks(TimeLimit(SOON))
    with pytest.warns(ConvergenceWarning, match=r"amid a step"):
        machine.fit(X, y)
    assert not machine.certificate_.converged
