"""How fits of all support vector machines stop, go on, tell what happens and are interrupted."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC
from mercer.solvers import SMO, SolverInterrupted
from tests.machines.support import MACHINES, cancer, small, values, wine
from tests.machines.watcher import Watcher


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
