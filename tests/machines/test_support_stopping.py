"""How fits of all support vector machines stop, go on, tell what happens and are interrupted."""

import re
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import SVC, SVR, KernelLogistic, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from mercer.kernels import Custom
from mercer.machines.training import Training
from mercer.solvers import SMO, Certificate, Solution, SolverInterrupted
from tests.interrupt import interrupted
from tests.machines.support import MACHINES, cancer, digits, small, values, wine
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


@pytest.mark.parametrize("cls", [*MACHINES, LinearSVC, LinearSVR, KernelLogistic])
def test_warnings_are_of_the_line_that_called_fit(cls):
    X, y = cancer
    weight = np.where(np.arange(len(y)) < 5, -1.0, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cls(max_iter=1, tol=1e-9).fit(X, y, sample_weight=weight)  # here
    with Path(__file__).open() as lines:
        here = next(number for number, line in enumerate(lines, 1) if line.endswith("# here\n"))
    assert [warning.category for warning in caught] == [UserWarning, ConvergenceWarning]
    assert {(warning.filename, warning.lineno) for warning in caught} == {(__file__, here)}


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
    first, *_, last = capsys.readouterr().out.splitlines()
    assert re.match(r"SVC problem 0: violation 2, gap \d+, 0 steps, .* all 569 coefficients active; 0 rows of K", first)
    assert re.match(r"SVC 1 problem solved: violation \S+ \(tol 0.001\), gap \S+, \d+ steps", last)
    SVC(verbose=True).fit(*wine)
    assert "SVC 3 of 3 problems solved" in capsys.readouterr().out
    X = np.random.default_rng(0).standard_normal((2100, 2))
    for cache, kept in ((200, "up to 2100"), (10, "none")):
        SVC(verbose=True, cache_size=cache).fit(X, X[:, 0] > 0)
        assert f" of 2100 coefficients active; 0 rows of K computed in float32, {kept} kept" in capsys.readouterr().out


@pytest.mark.slow("needs a problem so large that it is shrunk")
def test_shrinking_solves_active_sets(capsys):
    X = np.random.default_rng(0).standard_normal((33_000, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(len(X)) > 0
    machines = [SVC(shrinking=shrinking, verbose=True).fit(X, y) for shrinking in (True, False)]
    said = capsys.readouterr().out
    assert "4096 of 33000 coefficients active" in said
    assert "1024 of 33000 coefficients active" in said
    three, two = (machine.certificate_ for machine in machines)
    assert three.converged
    assert two.converged
    assert three.dual <= two.primal  # the optimum lies between
    assert two.dual <= three.primal


@pytest.mark.parametrize("cls", MACHINES)
def test_an_interrupt_leaves_a_machine(cls, monkeypatch):
    machine, X, y, function = small(cls)

    def interrupted(self, gram, problems, start=None, order=None):
        raise SolverInterrupted(solve(SMO(max_iter=3), gram, problems, start, order))

    solve = SMO.solve
    monkeypatch.setattr(SMO, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    monkeypatch.undo()
    assert not machine.certificate_.converged
    assert np.isfinite(values(machine, function, X)).all()
    assert machine.set_params(warm_start=True).fit(X, y).certificate_.converged


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_an_interrupt_leaves_the_pairs_it_had(cls):
    X, y = digits
    machine = cls(warm_start=True, n_jobs=1).fit(X[:150], y[:150])
    interrupt = mock.Mock(side_effect=KeyboardInterrupt)
    with mock.patch.object(cls, "_watch", return_value=interrupt), pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert machine.shape_fit_ == X.shape
    assert not all(certificate.converged for certificate in machine.certificate_)
    assert machine.predict(X).shape == y.shape
    assert all(certificate.converged for certificate in machine.fit(X, y).certificate_)


def test_an_interrupt_before_anything_is_known_keeps_the_old_coefficients():
    machine = SVC(strategy="ovr", warm_start=True).fit(*wine)
    expected = machine.predict(wine[0])
    unknown = Certificate(np.inf, -np.inf, np.inf, np.inf, 0, False)

    def interrupted(self, gram, problems, start, order):
        raise SolverInterrupted([Solution(a, np.zeros(()), unknown) for a in start])

    with mock.patch.object(SMO, "solve", interrupted), pytest.raises(KeyboardInterrupt):
        machine.fit(*wine)
    assert not any(certificate.converged for certificate in machine.certificate_)
    assert (machine.predict(wine[0]) == expected).mean() > 0.8


@pytest.mark.parametrize("cls", MACHINES)
def test_an_interrupt_while_samples_are_copied_leaves_the_machine_as_it_was(cls, monkeypatch):
    machine, X, y, function = small(cls)
    machine.fit(X[:100], y[:100])
    before = values(machine, function, X)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "kept", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
        unfitted = small(cls)[0]
        with pytest.raises(KeyboardInterrupt):
            unfitted.fit(X, y)
    assert machine.shape_fit_ == X[:100].shape
    np.testing.assert_array_equal(values(machine, function, X), before)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


rng = np.random.default_rng(0)
NOISE = rng.standard_normal((40_000, 40)), rng.integers(0, 20, 40_000)
#: Fits that take long, most of them minutes, in whatever they spend most of their time on.
ENDLESS = {
    "one block": (SVC(C=1e7, gamma=1e-3, tol=1e-12), 2000, 2),
    "rows of a wide matrix": (SVC(gamma=10.0), 20_000, 2),
    "blocks": (SVC(C=100.0, tol=1e-9), 20_000, 2),
    "active sets": (SVC(C=100.0, tol=1e-9), 40_000, 2),
    "float64": (SVC(C=1e7, tol=1e-9), 8000, 2),
    "pairs": (SVC(C=1e5, tol=1e-9), 20_000, 20),
    "the rest": (SVC(C=1e5, tol=1e-9, strategy="ovr"), 20_000, 20),
    "nu": (NuSVC(gamma=1e-3, tol=1e-12), 20_000, 2),
    "tube": (SVR(C=1e5, tol=1e-9), 20_000, 20),
    "one class": (OneClassSVM(gamma=1e-3, tol=1e-12), 20_000, 2),
    "kernel in Python": (SVC(kernel=Custom(lambda A, B: A @ B.T), C=1e7, tol=1e-12), 8000, 2),
}


@pytest.mark.parametrize("stage", ENDLESS)
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c_within_a_second_leaves_a_machine(stage):
    machine, rows, classes = ENDLESS[stage]
    X, y = NOISE[0][:rows], NOISE[1][:rows] % classes
    watcher = Watcher()
    machine.set_callbacks(watcher)
    assert interrupted(lambda: machine.fit(X, y), 0.1, watcher.begun) < 2  # a second, of two threads
    certificates = machine.certificate_ if isinstance(machine.certificate_, tuple) else (machine.certificate_,)
    assert not all(certificate.converged for certificate in certificates)
    assert machine.predict(X[:5]).shape == (5,)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
def test_ctrl_c_leaves_no_probabilities_of_other_data(monkeypatch):
    machine = SVC(probability=True, random_state=0).fit(*wine)
    assert machine.predict_proba(wine[0]).shape == (len(wine[0]), 3)
    solve = SMO.solve

    def held_out_interrupted(self, gram, problems, start=None, order=None):
        if len(problems) > 3:
            raise SolverInterrupted(solve(SMO(max_iter=3), gram, problems, start, order))
        return solve(self, gram, problems, start, order)

    monkeypatch.setattr(SMO, "solve", held_out_interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(*wine)
    assert machine.score(*wine) > 0.9
    with pytest.raises(NotFittedError, match="or when the fit was interrupted"):
        machine.predict_proba(wine[0])


@pytest.mark.parametrize("cls", MACHINES)
def test_threads_do_not_change_the_result(cls):
    machine, X, y, function = small(cls)
    one, two = (values(clone(machine).set_params(n_jobs=n).fit(X, y), function, X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
