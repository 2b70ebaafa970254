"""The interior-point reference and SMO find the same optimum."""

import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.solvers import QP, SMO

from .test_smo import PROBLEMS, X, y

pytest.importorskip("clarabel")


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_agrees_with_smo(problem):
    gram = Gaussian(3.0).gram(X)
    (reference,), (found,) = QP(tol=1e-5).solve(gram, [problem]), SMO(tol=1e-6).solve(gram, [problem])
    assert reference.certificate.converged
    assert found.certificate.dual == pytest.approx(reference.certificate.dual, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow("a general solver of quadratic programmes is slow")
def test_coefficients_that_do_not_add_up_are_no_solution():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 5)) * [1, 10, 100, 1e3, 1e4]
    target = rows @ [1, 0.1, 0.01, 0.001, 1e-4] + rng.standard_normal(200) > 0
    for C in 10.0 ** np.arange(8):
        machine = SVC(kernel="linear", C=C, solver="qp").fit(rows, target)
        a = machine.dual_coef_
        assert abs(a.sum()) <= 1e-9 * np.abs(a).sum() or not machine.certificate_.converged


@pytest.mark.parametrize("machine", [SVC(C=2.0, tol=1e-5), SVR(C=2.0, tol=1e-5)], ids=repr)
def test_a_machine_takes_either(machine):
    target = np.digitize(y, [-0.5, 0.5]) if isinstance(machine, SVC) else y
    by_smo = machine.fit(X, target).decision_function(X) if isinstance(machine, SVC) else machine.fit(X, y).predict(X)
    machine.set_params(solver="qp").fit(X, target)
    by_qp = machine.decision_function(X) if isinstance(machine, SVC) else machine.predict(X)
    np.testing.assert_allclose(by_smo, by_qp, atol=1e-4)
