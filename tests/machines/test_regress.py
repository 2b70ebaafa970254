"""SVR and NuSVR: tubes, hard and soft, given and found."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from mercer import SVR, NuSVR
from mercer.kernels import Gaussian, Linear
from mercer.solvers import NotSeparableError

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:200], scale(y)[:200]


def test_the_hard_tube_holds_every_sample():
    machine = SVR(C=np.inf, epsilon=0.3, kernel=Gaussian(1.0), tol=1e-8).fit(X, y)
    assert np.abs(machine.predict(X) - y).max() <= 0.3 + 1e-6


def test_a_tube_too_narrow_for_the_kernel_is_refused():
    with pytest.raises(NotSeparableError, match="grows without bound"):
        SVR(C=np.inf, epsilon=0.1, kernel=Linear()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    with pytest.raises(NotSeparableError, match="does not tell apart have targets that contradict"):
        SVR(C=np.inf, epsilon=0.1).fit([[1.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="finite C"):
        NuSVR(C=np.inf).fit(X, y)


def test_the_tube_that_nu_finds_is_the_tube_that_gives_it():
    found = NuSVR(nu=0.3, kernel=Gaussian(3.0), tol=1e-8).fit(X, y)
    given = SVR(epsilon=found.epsilon_, kernel=Gaussian(3.0), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(given.predict(X), found.predict(X), atol=1e-5)
    outside = (np.abs(found.predict(X) - y) > found.epsilon_ + 1e-5).mean()
    assert outside <= 0.3 <= len(found.support_) / len(y) + 1e-9


def test_wide_tubes_need_no_support_vectors():
    machine = SVR(epsilon=10.0).fit(X, y)
    assert len(machine.support_) == 0
    assert machine.support_vectors_.shape == (0, X.shape[1])
    np.testing.assert_allclose(machine.predict(X), machine.intercept_[0])
    assert np.abs(machine.predict(X) - y).max() <= 10
    assert machine.intercept_[0] == pytest.approx((y.min() + y.max()) / 2)  # of all that are as good, the middle


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_a_constant_is_learnt(cls):
    np.testing.assert_allclose(cls().fit(X, np.full(len(X), 5.0)).predict(X), 5.0)


def test_targets_may_be_of_any_size():
    small = SVR(C=1e-6, epsilon=1e-7, kernel=Gaussian(3.0), tol=1e-10).fit(X, 1e-6 * y)
    plain = SVR(C=1.0, epsilon=0.1, kernel=Gaussian(3.0), tol=1e-4).fit(X, y)
    np.testing.assert_allclose(1e6 * small.predict(X), plain.predict(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore:The solver stopped")
def test_the_optimum_lies_between_the_objectives_however_much_is_rounded():
    rng = np.random.default_rng(0)
    X = 4 * rng.random((200, 2))
    y = np.floor(X).sum(axis=1) % 2 + 0.1 * np.sin(np.arange(200))
    plain, far = (SVR(kernel="linear", C=1000).fit(Z, y) for Z in (X, np.c_[X, np.full(200, 1e6)]))
    assert plain.certificate_.converged
    assert far.certificate_.dual <= plain.certificate_.primal
    assert plain.certificate_.dual <= far.certificate_.primal
