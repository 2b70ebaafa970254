"""OneClassSVM: inliers, outliers and the share of them."""

import numpy as np
import pytest

from mercer import OneClassSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 2))


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
def test_nu_bounds_the_outliers_from_above_and_the_support_vectors_from_below(nu):
    machine = OneClassSVM(nu=nu, kernel=Gaussian(1.0), tol=1e-8).fit(X)
    assert (machine.decision_function(X) < -1e-6).mean() <= nu
    assert len(machine.support_) / len(X) >= nu
    assert machine.dual_coef_.sum() == pytest.approx(nu * len(X))


def test_scores_are_decisions_plus_the_offset():
    machine = OneClassSVM().fit(X)
    np.testing.assert_allclose(machine.score_samples(X), machine.decision_function(X) + machine.offset_)
    assert (machine.offset_ == -machine.intercept_).all()
    machine.offset_ = machine.offset_ + 1  # an attribute like any other
    np.testing.assert_allclose(machine.score_samples(X), machine.decision_function(X) + machine.offset_)
    assert machine.predict([[0.0, 0.0], [30.0, 0.0]]).tolist() == [1, -1]
    assert OneClassSVM().fit_predict(X).dtype == np.intp


@pytest.mark.parametrize("n", [300, 900, 2600])
@pytest.mark.parametrize("seed", [3, 5])
def test_rounding_that_is_not_independent_does_not_carry_the_dual_beyond_the_optimum(n, seed):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    rough, fine = (OneClassSVM(nu=0.2, tol=tol).fit(X).certificate_ for tol in (1e-3, 1e-9))
    assert rough.dual <= fine.primal + 1e-10 * abs(fine.primal)
    assert fine.dual <= rough.primal + 1e-10 * abs(fine.dual)
