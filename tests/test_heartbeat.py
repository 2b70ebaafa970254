"""A verbose fit is never silent for long, and says where it is; a quiet one says nothing."""

import time

import numpy as np
import pytest

from mercer import KernelLMS, KernelRidge, heartbeat
from mercer.heartbeat import Heartbeat, said
from mercer.kernels import Custom

pytestmark = pytest.mark.slow("silence is waited for")

X = np.arange(6.0)[:, None]


def test_silence_is_broken(capsys):
    with Heartbeat("Machine", longest=0.05):
        time.sleep(0.5)
        said("pass 3")
        time.sleep(0.5)
    lines = capsys.readouterr().out.splitlines()
    assert "Machine has worked for 0 s" in lines
    assert any(line.endswith("; last: pass 3") for line in lines)
    time.sleep(0.2)
    assert not capsys.readouterr().out


def test_whoever_speaks_is_not_spoken_for(capsys):
    with Heartbeat("Machine", longest=60.0):
        said("pass 3")
    said("of nobody")
    assert not capsys.readouterr().out


def slow(A, B):
    time.sleep(0.3)
    return A @ B.T


@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("machine", [KernelRidge(), KernelLMS(max_iter=2)], ids=lambda machine: type(machine).__name__)
def test_machines_in_a_slow_kernel(machine, verbose, capsys, monkeypatch):
    monkeypatch.setattr(heartbeat, "LONGEST", 0.05)
    machine.set_params(kernel=Custom(slow), verbose=verbose).fit(X, X[:, 0])
    assert (f"{type(machine).__name__} has worked for" in capsys.readouterr().out) == verbose
