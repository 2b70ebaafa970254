"""How fits of linear machines stop, tell what happens and are interrupted."""

import ctypes
import re
import time

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer import LinearSVC, LinearSVR
from mercer.solvers import SolverInterrupted
from mercer.solvers.linear import LinearSolution, LinearSolver
from tests.interrupt import interrupted
from tests.machines.watcher import Watcher

X, y = make_classification(400, 30, n_informative=8, flip_y=0.1, random_state=3)
wide, labels = make_classification(80, 300, n_informative=20, n_classes=3, random_state=4)
D, t = load_diabetes(return_X_y=True)
D = D * 20


def certificates_of(machine):
    return machine.certificate_ if isinstance(machine.certificate_, tuple) else (machine.certificate_,)


def test_not_converged_says_so():
    with pytest.warns(ConvergenceWarning, match="KKT violation is"):
        machine = LinearSVC(max_iter=1).fit(X, y)
    assert not machine.certificate_.converged
    assert machine.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge, increase the number of iterations."):
        machine = LinearSVR(max_iter=2).fit(D, t)
    assert machine.n_iter_ == 2


def test_verbose_writes_progress_and_the_certificate(capsys):
    LinearSVC(verbose=1).fit(X, y)
    said = capsys.readouterr().out
    assert re.match(r"LinearSVC problem 0: violation \S+, gap \S+, 0 iterations, 0 iterations/s, \d+ active", said)
    assert "[LinearSVC] converged after" in said


# Coordinate descent, Newton's method and the proximal point method.
WAYS = [
    pytest.param(LinearSVC(loss="hinge", tol=1e-6), labels, id="three hinges"),
    pytest.param(LinearSVC(dual=True, C=10.0, tol=1e-9, max_iter=10**5), y, id="descent"),
    pytest.param(LinearSVC(dual=False, tol=1e-9), y, id="Newton"),
    pytest.param(LinearSVR(tol=1e-6, epsilon=0.1), X[:, 0] + X[:, 1] ** 2, id="proximal"),
]


@pytest.mark.parametrize(("machine", "target"), WAYS)
def test_callbacks_are_told_and_change_nothing(machine, target):
    rows = wide if target is labels else X
    watcher = Watcher()
    plain, watched = clone(machine).fit(rows, target), clone(machine).set_callbacks(watcher).fit(rows, target)
    np.testing.assert_array_equal(plain.coef_, watched.coef_)
    first = watcher.seen[0]
    assert {"violation", "gap", "iterations", "active", "problem", "seconds"} <= first.keys()
    assert {told["problem"] for told in watcher.seen} == set(range(len(np.atleast_2d(plain.coef_))))
    certificates = certificates_of(plain)
    assert first["iterations"] == 0
    assert first["gap"] > max(c.gap for c in certificates)
    np.testing.assert_array_equal(watcher.ended[0].predict(rows), plain.predict(rows))


@pytest.mark.parametrize(("machine", "target"), WAYS)
def test_callbacks_stop_the_solver(machine, target):
    rows = wide if target is labels else X
    watcher = Watcher(stop=True)
    machine = clone(machine).set_callbacks(watcher)
    with pytest.warns(ConvergenceWarning, match="stopped before it converged"):
        machine.fit(rows, target)
    assert len(watcher.seen) == 1  # for all outputs
    certificates = certificates_of(machine)
    assert not any(c.converged or c.iterations for c in certificates)
    assert all(np.isfinite([c.primal, c.dual, c.violation]).all() for c in certificates)
    if isinstance(machine, LinearSVC):  # else it goes on to where its first stage begins
        told, reached = watcher.seen[0], certificates[watcher.seen[0]["problem"]]
        assert (told["violation"], told["gap"]) == pytest.approx((reached.violation, reached.gap), rel=1e-9)


@pytest.mark.parametrize(("machine", "target"), WAYS)
def test_an_interrupt_leaves_a_machine(machine, target, monkeypatch):
    """As Ctrl-C does while the user is told."""
    rows = wide if target is labels else X
    report = LinearSolver._reporter
    monkeypatch.setattr(LinearSolver, "_reporter", lambda solver, begun: interrupting(report(solver, begun)))
    machine = clone(machine).set_callbacks(Watcher())
    with pytest.raises(SolverInterrupted) as caught:
        machine.fit(rows, target)
    solution = LinearSolution.of(caught.value.solutions)
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)
    np.testing.assert_array_equal(np.atleast_2d(machine.coef_), solution.weights)
    assert certificates_of(machine) == solution.certificates
    assert not any(c.converged for c in solution.certificates)
    assert np.isfinite(
        machine.predict(rows) if isinstance(machine, LinearSVR) else machine.decision_function(rows)
    ).all()
    monkeypatch.undo()
    assert all(c.converged for c in certificates_of(clone(machine).fit(rows, target)))


def interrupting(report):
    def interrupt(*numbers):
        report(*numbers)
        raise KeyboardInterrupt

    return interrupt


def test_other_exceptions_of_a_callback_are_its_own():
    class Faulty(Watcher):
        def on_fit_task_end(self, estimator, context, **told):
            raise ZeroDivisionError

    machine = LinearSVC().set_callbacks(Faulty())
    with pytest.raises(ZeroDivisionError):
        machine.fit(X, y)
    assert not hasattr(machine, "coef_")


PARAMETERS = [dict(loss="hinge"), dict(dual=True), dict(dual=False)]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c_is_answered_within_a_second(parameters):
    """And leaves a machine, certified, whatever the outputs have come to: some may not have begun."""
    rng = np.random.default_rng(0)
    large, noise = rng.normal(size=(60_000, 300)), rng.integers(0, 20, 60_000)
    machine = LinearSVC(**parameters, C=100.0, tol=1e-12, max_iter=10**6)
    assert interrupted(lambda: machine.fit(large, noise), after=0.7) < 1
    assert machine.coef_.shape == (20, 300)
    assert len(machine.certificate_) == 20
    for c in machine.certificate_:
        assert c.primal < np.inf
        assert c.dual <= c.primal or (c.converged and c.dual - c.primal < 1e-13 * c.primal)  # solved, up to rounding
    assert not all(c.converged for c in machine.certificate_)
    assert machine.predict(large[:10]).shape == (10,)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c_of_a_regression(loss):
    rng = np.random.default_rng(0)
    large, noise = rng.normal(size=(20_000, 300)), rng.normal(size=20_000)
    machine = LinearSVR(loss=loss, dual=True, C=1e6, tol=1e-12, max_iter=10**6)
    assert interrupted(lambda: machine.fit(large, noise), after=0.5) < 1
    c = machine.certificate_
    assert c.dual <= c.primal
    assert c.primal < np.inf
    assert not c.converged
    assert machine.n_iter_ == c.iterations


@pytest.mark.stress("sends Ctrl-C into a call that waits for seconds")
def test_ctrl_c_while_liblinear_works(monkeypatch):
    """It cannot be stopped, here for five seconds without the interpreter, but nobody waits for it."""
    monkeypatch.setattr(sklearn.svm.LinearSVC, "fit", lambda *_: ctypes.CDLL(None).usleep(5_000_000))
    machine = LinearSVC(multi_class="crammer_singer")
    begun = time.monotonic()
    interrupted(lambda: machine.fit(X, y), after=0.2)
    assert time.monotonic() - begun < 4
    assert not hasattr(machine, "coef_")
