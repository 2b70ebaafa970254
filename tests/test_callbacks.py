"""A limit of time: the fit ends soon after it, with a machine and an honest certificate, and can go on."""

import dataclasses
import re
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import SVC, KernelLogistic
from mercer.callbacks import TimeLimit
from mercer.solvers.eigen import EigenProgress

rng = np.random.default_rng(0)
X = rng.standard_normal((250, 3))
y = rng.integers(0, 2, 250)


@pytest.mark.parametrize("machine", [SVC(C=10), KernelLogistic()], ids=lambda m: type(m).__name__)
def test_the_fit_ends_with_what_there_is(machine, monkeypatch):
    monkeypatch.setattr(time, "monotonic", count().__next__)  # a second passes whenever somebody looks
    machine.set_params(warm_start=True).set_callbacks(TimeLimit(0.5))
    with pytest.warns(ConvergenceWarning, match=r"stopped before it converged: .*violated by"):
        machine.fit(X, y)
    monkeypatch.undo()
    assert machine.fit_status_ == 1
    assert machine.certificate_.gap > 0
    assert machine.predict(X).shape == y.shape
    machine.set_callbacks(TimeLimit(600)).fit(X, y)
    assert machine.certificate_.converged


def test_a_limit_is_positive():
    with pytest.raises(ValueError, match="a positive number of seconds, not 0"):
        TimeLimit(0)


class Recorder:
    """Notes the keys of what it is told, by task."""

    def __init__(self):
        self.told = {}

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.told.setdefault(context.task_name, set()).add(tuple(sorted(metadata or ())))

    def teardown(self, estimator, context): ...


def documented():
    """The rows of the table in docs/callbacks.md: machine, task, keys."""
    text = (Path(__file__).parents[1] / "docs" / "callbacks.md").read_text(encoding="utf-8")
    for row in re.findall(r'^\| (`.*`.*?) \| `"(\w+)"` \| (.*?) \|', text, re.MULTILINE):
        machines, task, keys = row
        for machine in re.findall(r"`(\w+)`", machines):
            yield machine, task, sorted(set(re.findall(r"`(\w+)`", keys)) - {"None", "early_stopping"})


DOCUMENTED = list(documented())


def test_the_page_names_every_machine_that_has_callbacks():
    machines = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "set_callbacks")}
    assert {machine for machine, _, _ in DOCUMENTED} == machines
    assert len(DOCUMENTED) == len(machines) + 2  # two of them have two ways


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("machine", "task", "keys"), DOCUMENTED, ids=str)
def test_what_machines_tell_is_what_the_page_says(machine, task, keys):
    if machine in ("KernelPCA", "KernelSVD") and task == "solve":  # of thousands of samples
        assert keys == sorted(field.name for field in dataclasses.fields(EigenProgress))
        return
    recorder = Recorder()
    getattr(mercer, machine)().set_callbacks(recorder).fit(X, y)
    assert recorder.told.keys() == {"fit", task}
    assert recorder.told[task] == {tuple(keys)}
    assert recorder.told["fit"] <= {("sample_weight",), ()}
