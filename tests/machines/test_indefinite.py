"""Kernels that are not positive semi-definite: every machine says so once, with a direction that shows it, and why."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    SVC,
    SVR,
    KernelLMS,
    KernelLogistic,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelSVD,
    NuSVC,
    OneClassSVM,
)
from mercer.kernels import (
    L1,
    L2,
    Custom,
    Exponential,
    Gaussian,
    IndefiniteKernelWarning,
    Linear,
    LocalAlignment,
    NegativeDistance,
    Precomputed,
    Sigmoid,
    repair,
)

from .test_company import CLASSIFIERS, EVERY, KINDS, MADE, OTHERS, REGRESSORS, fitted

rng = np.random.default_rng(4)
N = 40
X = rng.standard_normal((N, 3))
CLASS = np.repeat([0, 1, 2], [14, 13, 13])
TARGET = X[:, 0] + 0.1 * rng.standard_normal(N)
GRID = np.array([[a, b] for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)])
symmetric = rng.standard_normal((N, N))
WORDS = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(N)]
INDEFINITE = {
    "minus": (-1 * Linear(), X),
    "single precision": (-1 * Gaussian(1.0), X.astype(np.float32)),
    "difference": (Gaussian(1.0) - Linear(), X),
    "sigmoid": (Sigmoid(1.0, -1.0), X),
    "matrix": (Precomputed(), symmetric + symmetric.T),
    "function": (Custom(lambda A, B: -(A @ B.T)), X),
    "strings": (-1 * LocalAlignment(), WORDS),
}
MACHINES = [*CLASSIFIERS, *REGRESSORS, *OTHERS]


def made(machine, kernel, **more):
    found = MADE[machine](kernel) if machine in MADE else machine(kernel=kernel)
    return found.set_params(**more)


def fit(machine, data):
    """The machine, or the error that refuses; and what was said of the kernel."""
    target = TARGET if type(machine) in REGRESSORS else CLASS
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)  # divisions by zero and the like
        for category in (IndefiniteKernelWarning, LinAlgWarning):
            warnings.simplefilter("always", category)
        try:
            outcome = machine.fit(data) if type(machine) in OTHERS else machine.fit(data, target)
        except ValueError as error:
            outcome = error
    assert {w.category for w in seen} <= {IndefiniteKernelWarning, ConvergenceWarning, LinAlgWarning}
    return outcome, [w for w in seen if w.category is IndefiniteKernelWarning]


def certificates(machine):
    found = getattr(machine, "certificate_", ())
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", INDEFINITE)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.slow("every machine on every kind of data")
def test_every_machine_says_so_once_or_refuses(machine, name):
    kernel, data = INDEFINITE[name]
    outcome, said = fit(made(machine, kernel), data)
    if isinstance(outcome, ValueError):
        assert "repair" in str(outcome)
        return
    assert len(said) == 1
    assert said[0].filename == __file__
    assert "not positive semi-definite on these samples" in (text := str(said[0].message))
    assert "mercer.kernels.repair" in text
    proofs = certificates(outcome)
    if machine is KernelPerceptron or "Neighbors" in machine.__name__:
        return  # which have no certificate
    assert any(proof.convex is False for proof in proofs)
    assert any(str(proof.witness) in text for proof in proofs if proof.witness)
    assert all("not convex" in str(proof) for proof in proofs if proof.convex is False)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_was_repaired_is_not_warned_of(machine):
    outcome, said = fit(made(machine, repair(Sigmoid(1.0, -1.0), "clip")), X)
    assert not isinstance(outcome, ValueError)
    assert not said
    assert all(proof.convex is True for proof in certificates(outcome))


@pytest.mark.parametrize(("machine", "kernel", "kind"), EVERY)
@pytest.mark.slow("every machine on every kind of data")
def test_kernels_that_are_so_by_construction_are_convex(machine, kernel, kind):
    """The data, and the kernels, are those of ``test_company``."""
    assert kernel.validity == "psd"
    for proof in certificates(fitted(machine, kernel, KINDS[kind][0])):
        assert proof.convex is True
        assert proof.witness is None


#: Positive semi-definite, which nobody knows.
UNKNOWN = {
    "function": lambda A: (Custom(lambda B, C: B @ C.T), A),
    "matrix": lambda A: (Precomputed(), (A.astype(np.float64) @ A.T.astype(np.float64)).astype(A.dtype)),
    "difference": lambda A: (3 * Linear() - 2 * Linear(), A),
    "wide": lambda A: (2 * Gaussian(1e3 * np.abs(A).max()) - Gaussian(1e3 * np.abs(A).max()), A),
}
SCALES = {
    "of one scale": X,
    "far from the origin": X + 1000,
    "of three scales": X * [1e-3, 1.0, 1e3],
    "twice the same": np.repeat(X[: N // 2], 2, axis=0),
    "of one column": X[:, :1],
    "huge": 1e6 * X,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.slow("every machine on every kind of data")
def test_rounding_is_no_witness(machine, name, scale):
    dtype = (np.float32, np.float64)[(MACHINES.index(machine) + list(SCALES).index(scale)) % 2]
    kernel, data = UNKNOWN[name](SCALES[scale].astype(dtype))
    steps = {KernelPerceptron: 20, KernelLogistic: 5, KernelLMS: 20}
    few = {"max_iter": steps.get(machine, 1000)} if hasattr(machine(), "max_iter") else {}
    outcome, said = fit(made(machine, kernel, **few), data)
    assert not said
    if not isinstance(outcome, ValueError):  # such as "all eigenvalues cancel", or of penalties next to nothing
        assert all(proof.convex == "no witness" for proof in certificates(outcome))


@pytest.mark.parametrize("machine", [SVC, SVR, NuSVC, OneClassSVM, KernelRidge, KernelSVD])
def test_no_witness_without_a_negative_direction(machine):
    """On random matrices near the border: whoever says that one is not convex is right, by its eigenvalues."""
    said = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        A = random.standard_normal((N, N))
        shift = random.choice([0.2, 0.7, 1.0, 1.3]) * np.abs(np.linalg.eigvalsh(A + A.T)[0])
        K = A + A.T + shift * np.eye(N)
        outcome, warned = fit(made(machine, Precomputed()), K)
        if warned and not isinstance(outcome, ValueError):
            assert np.linalg.eigvalsh(K)[0] < 0
            said += 1
    assert said > 3


def test_witnesses_can_be_recomputed():
    """A pair of samples, or the coefficients found."""
    K = np.eye(N)
    K[3, 30] = K[30, 3] = 5.0
    target = TARGET.copy()
    target[3], target[30] = 100, -100  # the first that a solver moves
    for size in (N, 4):  # of few samples, a'Ka is negative, too
        some = np.r_[3, 30, 0 : size - 2] if size < N else np.arange(N)
        own = K[np.ix_(some, some)]
        with pytest.warns(IndefiniteKernelWarning):
            machine = SVR(kernel="precomputed", C=0.1).fit(own, target[some])
        witness = machine.certificate_.witness
        a = np.zeros(size)
        a[machine.support_] = machine.dual_coef_[0]
        if size == N:
            i, j = witness.samples
            assert {i, j} == {3, 30}
            assert np.isclose(own[i, i] + own[j, j] - 2 * own[i, j], witness.curvature)
            assert a @ own @ a > 0
        else:
            assert np.isclose(a @ own @ a, witness.curvature)
            assert np.isnan(machine.expansion_.norm())


def test_witnesses_name_the_samples_as_they_were_given():
    """Whatever order the machine puts them in, and whichever weigh nothing."""
    K = np.eye(N)
    K[3, 30] = K[30, 3] = 5.0
    weight = np.ones(N)
    weight[[0, 7, 20]] = 0
    y = CLASS.copy()
    y[3], y[30] = 2, 1
    machine = SVC(kernel="precomputed", C=10)
    with pytest.warns(IndefiniteKernelWarning, match=r"a'Ka|K\[3, 30\]|K\[30, 3\]"):
        machine.fit(K, y, weight)
    for proof in machine.certificate_:
        assert proof.witness is None or not proof.witness.samples or set(proof.witness.samples) == {3, 30}


def test_solutions_of_indefinite_kernels_are_evaluated():
    """Two points that -x'z puts on the wrong sides: all is converged, and all is wrong, and it says so."""
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [2, 2]])
    with pytest.warns(IndefiniteKernelWarning, match=r"right for 0%, the most frequent class alone for 50%"):
        machine = SVC(kernel=-1 * Linear()).fit(corners, [0, 0, 1, 1])
    assert machine.score(corners, [0, 0, 1, 1]) == 0
    with pytest.warns(IndefiniteKernelWarning, match=r"R2 is -\d"):
        SVR(kernel=-1 * Linear()).fit(X, TARGET)


@pytest.mark.parametrize("kernel", [-1 * Linear(), Sigmoid(1.0, -1.0)])
def test_hard_margins_of_indefinite_kernels_blame_the_kernel(kernel):
    machine = SVC(kernel=kernel, C=np.inf)
    with pytest.raises(ValueError, match=r"not positive semi-definite.*repair") as refused:
        machine.fit(X, CLASS > 0)
    assert "does not tell apart" not in str(refused.value)


def test_conditionally_positive_kernels_are_convex_where_the_coefficients_are_balanced():
    k = NegativeDistance(L2())
    assert k.validity == "cpd"
    machine, said = fit(SVC(kernel=k), X)
    assert not said
    assert all(proof.convex is True for proof in machine.certificate_)
    assert not fit(KernelPCA(2, kernel=k), X)[1]
    assert fit(KernelRidge(kernel=k, fit_intercept=True), X)[0].certificate_.convex is True
    assert fit(KernelRidge(kernel=k), X)[0].certificate_.convex is False  # without a bias nothing balances them
    assert len(fit(OneClassSVM(kernel=k), X)[1]) == 0


def test_components_of_a_grid_that_no_kernel_has():
    k = Exponential(L1(), beta=10.0, power=2)
    values = np.linalg.eigvalsh(k(GRID))
    assert values[0] < -0.1
    with pytest.raises(ValueError, match=r"significant negative eigenvalues.*repair"):
        KernelPCA(kernel=k).fit(GRID)


def test_steps_that_lead_nowhere_are_refused():
    with pytest.raises(ValueError, match=r"not positive semi-definite on these samples.*repair"):
        KernelLMS(-1 * Linear()).fit(X, TARGET)


def test_the_general_solver_refuses_what_is_not_convex_in_words_or_says_so():
    for kernel, data in (INDEFINITE["sigmoid"], INDEFINITE["minus"]):
        outcome, said = fit(SVR(kernel=kernel, solver="qp"), data)
        if isinstance(outcome, ValueError):
            assert "smallest eigenvalue" in str(outcome)
            assert "repair" in str(outcome)
        else:
            assert not outcome.certificate_.converged
            assert len(said) == 1
