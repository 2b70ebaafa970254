"""A limit of time: the fit ends soon after it, with a machine and an honest certificate, and can go on."""

import time
from itertools import count

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, KernelLogistic
from mercer.callbacks import TimeLimit

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
