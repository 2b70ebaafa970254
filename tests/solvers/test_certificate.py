"""What a certificate may say: numbers that are known, or that nothing is known; never less, and never both."""

import itertools
import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import NuSVR
from mercer.solvers import Certificate
from mercer.solvers.certificate import UNKNOWN, WIDE, Witness

ODD = [1.0, 0.0, -2.0, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize(("primal", "dual"), itertools.product(ODD, ODD))
@pytest.mark.parametrize("violation", [0.0, math.nan, math.inf])
def test_nothing_that_is_not_finite_is_converged(primal, dual, violation):
    proof = Certificate(primal, dual, abs(primal - dual), violation, 3, True)
    numbers = proof.primal, proof.dual, proof.gap, proof.violation
    assert not any(map(math.isnan, numbers))
    finite = all(map(math.isfinite, (primal, dual, violation)))
    assert proof.converged == finite
    if finite:
        assert numbers == (primal, dual, abs(primal - dual), violation)
    else:
        assert proof.gap == math.inf or proof.violation == math.inf
    assert not proof.wide or proof.converged
    str(proof)


def test_what_is_unknown_is_infinite():
    assert (UNKNOWN.primal, UNKNOWN.dual, UNKNOWN.gap, UNKNOWN.violation) == (np.inf, -np.inf, np.inf, np.inf)
    assert not UNKNOWN.converged


def test_a_wide_gap_is_said_and_what_tol_would_close_it():
    narrow, wide = (Certificate(1.0, 1.0 - gap, gap, 1e-4, 5, True) for gap in (0.5 * WIDE, 0.11))
    assert "tol" not in str(narrow)
    assert "the gap is 0.11 of the objective: a tol 0.08 times as large" in str(wide)
    refuted = Certificate(1.0, 0.5, 0.5, 1e-4, 5, True, False, Witness(-1.0, (0, 1)))
    assert "objectives prove nothing" in str(refuted)
    assert "times as large" not in str(refuted)


def test_a_tol_that_is_coarse_for_the_targets_is_said_and_the_remedy_helps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    y = 1e-3 * (X[:, 0] + 0.3 * rng.standard_normal(100))
    with pytest.warns(ConvergenceWarning, match=r"coarse for targets of standard deviation.*About tol=") as said:
        machine = NuSVR().fit(X, y)
    assert machine.certificate_.converged
    assert machine.certificate_.wide
    remedy = float(str(said[0].message).split("About tol=")[1].split()[0])
    better = NuSVR(tol=remedy).fit(X, y).certificate_  # without a word
    assert better.share < 3 * WIDE
    scaled = NuSVR().fit(X, 1e3 * y).certificate_
    assert scaled.converged
    assert not scaled.wide
