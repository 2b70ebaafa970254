"""What logistic machines say in a search is what each of them says after a fit of its own, found in fewer steps."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.metaestimators import _safe_split

from mercer import SVC, KernelLogistic
from mercer.kernels import Gaussian, Linear, Precomputed, Spectrum
from mercer.selection.logistic import LogisticFamily

RNG = np.random.default_rng(0)
X, y = load_iris(return_X_y=True)
X, y = X[::2], y[::2]
N = len(y)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
TWO = np.where(y + 0.6 * RNG.standard_normal(N) > 0.7, "yes", "no")
WEIGHT = RNG.uniform(0.1, 2.0, N)
WEIGHT[::10] = 0.0
WORDS = ["".join(RNG.choice(list("abc"), RNG.integers(4, 12))) for _ in range(N)]
M = Gaussian(1.0).gram(X).to_dense()
SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
COSTS = [0.1, 10.0, 1.0]
FAMILY = LogisticFamily()
CASES = {
    "scale": (KernelLogistic(), X),
    "auto": (KernelLogistic(gamma="auto"), X),
    "linear": (KernelLogistic(kernel="linear"), X),
    "polynomial": (KernelLogistic(kernel="poly", degree=2, gamma=0.1), X),
    "of the training rows": (KernelLogistic(kernel=Gaussian("median")), X),
    "centred": (KernelLogistic(kernel=Linear().centered()), X),
    "given": (KernelLogistic(kernel="precomputed"), M),
    "given and centred": (KernelLogistic(kernel=Precomputed().centered()), M),
    "words": (KernelLogistic(kernel=Spectrum(2)), WORDS),
    "sparse": (KernelLogistic(), sp.csr_array(X)),
}


def fitted(machine, data, labels, split, weight=None):
    """A machine fitted to the training rows, its decisions at the test rows and at the training rows."""
    train, test = split
    rows, targets = _safe_split(machine, data, labels, train)
    held, _ = _safe_split(machine, data, labels, test, train)
    machine = clone(machine).fit(rows, targets, None if weight is None else weight[train])
    return machine, machine.decision_function(held), machine.decision_function(rows)


def compare(machines, data, labels, weight, kernel, splits, budget=2**28, tol=1e-5):
    gram = kernel.gram(kernel.samples(data), budget=budget)
    found = FAMILY.held_out_of_splits(machines, labels, weight, gram, splits, train_values=True)
    for split, row in zip(splits, found, strict=True):
        for cell, values in zip(machines, row, strict=True):
            machine, test, train = fitted(cell, data, labels, split, weight)
            np.testing.assert_allclose(values.test, test, atol=tol)
            np.testing.assert_allclose(values.train, train, atol=tol)
            np.testing.assert_array_equal(values.classes, machine.classes_)
            assert values.certificate.converged
            assert values.certificate.violation <= cell.tol
            assert values.certificate.primal == pytest.approx(machine.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("labels", [NAMES, TWO], ids=["three", "two"])
@pytest.mark.parametrize("name", CASES)
def test_decisions_are_those_of_fits(name, labels, weight):
    machine, data = CASES[name]
    machines = [clone(machine).set_params(C=C, tol=1e-7) for C in COSTS]
    by_kernel = {}
    for split in SPLITS:
        kernel = FAMILY.kernel(machine, data, split[0], weight)
        assert kernel == fitted(machines[0], data, labels, split, weight)[0].expansion_.kernel or "given" in name
        by_kernel.setdefault(kernel, []).append(split)
    own = name in ("scale", "of the training rows", "centred", "given and centred", "sparse")
    assert len(by_kernel) == (len(SPLITS) if own else 1)
    for kernel, splits in by_kernel.items():
        compare(machines, data, labels, weight, kernel, splits)


def test_splits_may_overlap_and_leave_out():
    splits = list(ShuffleSplit(3, train_size=0.5, test_size=0.4, random_state=0).split(X))
    compare([KernelLogistic(C=C, kernel=Gaussian(1.0), tol=1e-7) for C in COSTS], X, NAMES, None, Gaussian(1.0), splits)


def test_class_weights_are_those_of_the_training_rows():
    splits = list(KFold(3, shuffle=True, random_state=1).split(X))
    weights = [None, "balanced", {"no": 5.0, "yes": 0.1}]
    machines = [
        KernelLogistic(C=C, kernel=Gaussian(1.0), class_weight=given, tol=1e-7) for given in weights for C in (0.5, 5.0)
    ]
    compare(machines, X, TWO, WEIGHT, Gaussian(1.0), splits)


def test_a_matrix_beyond_the_budget_is_not_held():
    compare(
        [KernelLogistic(C=C, kernel=Gaussian(1.0), tol=1e-7) for C in COSTS],
        X,
        TWO,
        None,
        Gaussian(1.0),
        SPLITS,
        budget=0,
    )


def test_samples_in_float32():
    single = X.astype(np.float32)
    machines = [KernelLogistic(C=C, kernel=Gaussian(1.0), tol=1e-6) for C in COSTS]
    compare(machines, single, TWO, None, Gaussian(1.0), SPLITS, tol=1e-3)


def test_scikit_learn_finds_the_same():
    train, test = SPLITS[0]
    machines = [KernelLogistic(C=C, kernel="linear", tol=1e-9) for C in COSTS]
    ((*found,),) = FAMILY.held_out_of_splits(machines, TWO, None, Linear().gram(X), [(train, test)])
    for C, values in zip(COSTS, found, strict=True):
        peer = LogisticRegression(C=C, tol=1e-10, max_iter=10**4).fit(X[train], TWO[train])
        np.testing.assert_allclose(values.test, peer.decision_function(X[test]), atol=1e-5)


def test_neighbours_save_steps():
    costs = np.geomspace(0.01, 100, 12)
    machines = [KernelLogistic(C=C) for C in costs]
    train, _ = SPLITS[0]
    gram = Gaussian(1.0).gram(X)
    (row,) = FAMILY.held_out_of_splits(machines, NAMES, None, gram, SPLITS[:1])
    steps = sum(values.certificate.iterations for values in row)
    alone = [KernelLogistic(C=C, kernel=Gaussian(1.0)).fit(X[train], NAMES[train]).certificate_ for C in costs]
    assert steps < 0.8 * sum(certificate.iterations for certificate in alone)


def test_the_order_of_cells_does_not_matter():
    machines = [KernelLogistic(C=C) for C in (0.1, 1.0, 10.0)]
    gram = Gaussian(1.0).gram(X)
    (row,) = FAMILY.held_out_of_splits(machines, NAMES, None, gram, SPLITS[:1])
    (back,) = FAMILY.held_out_of_splits(machines[::-1], NAMES, None, gram, SPLITS[:1])
    for one, other in zip(row, back[::-1], strict=True):
        np.testing.assert_array_equal(one.test, other.test)


def test_a_chain_of_one_split():
    machines = [KernelLogistic(C=C, tol=1e-7) for C in COSTS]
    train, test = SPLITS[0]
    work = SimpleNamespace(
        machines=machines,
        X=X,
        y=TWO,
        fit_params={"sample_weight": WEIGHT},
        train=train,
        test=test,
        gram=lambda kernel: kernel.gram(X),
    )
    for machine, values in zip(machines, FAMILY.held_out(work), strict=True):
        np.testing.assert_allclose(values.test, fitted(machine, X, TWO, SPLITS[0], WEIGHT)[1], atol=1e-5)


def test_it_takes_logistic_machines_of_all_samples_alone():
    class Mine(KernelLogistic):
        pass

    assert FAMILY.takes(KernelLogistic())
    refused = (SVC(), Mine(), KernelLogistic(max_basis=5), KernelLogistic(kernel=lambda a, b: a @ b.T))
    assert not any(FAMILY.takes(other) for other in refused)


def test_too_few_steps_are_told():
    machines = [KernelLogistic(C=100.0, max_iter=1)]
    with pytest.warns(ConvergenceWarning, match=r"terminated early \(max_iter=1\)"):
        ((values,),) = FAMILY.held_out_of_splits(machines, TWO, None, Gaussian(1.0).gram(X), SPLITS[:1])
    assert not values.certificate.converged


@pytest.mark.parametrize("parameters", [{"C": -1.0}, {"class_weight": {"yes": 0.0}}])
def test_what_a_fit_refuses_is_refused(parameters):
    machine = KernelLogistic(**parameters)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its text is compared below
        clone(machine).fit(X, TWO)
    with pytest.raises(type(refused.value)) as also:
        FAMILY.held_out_of_splits([machine], TWO, None, Gaussian(1.0).gram(X), SPLITS)
    assert str(also.value) == str(refused.value)


def test_a_split_with_one_class_is_refused():
    one = np.flatnonzero(TWO == "no")
    with pytest.raises(ValueError, match="got 1 class"):
        FAMILY.held_out_of_splits([KernelLogistic()], TWO, None, Gaussian(1.0).gram(X), [(one, one)])


def test_a_start_from_a_distant_neighbour_is_given_up():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 20))
    labels = rows[:, 0] + rng.standard_normal(60) > 0
    rows[:, 1:4] *= 6
    machines = [KernelLogistic(C=C, kernel=Linear()) for C in (0.1, 10.0, 1000.0)]
    splits = list(StratifiedKFold(3).split(rows, labels))
    found = list(FAMILY.held_out_of_splits(machines, labels, None, Linear().gram(rows), splits))
    for (train, test), of_split in zip(splits, found, strict=True):
        for machine, values in zip(machines, of_split, strict=True):
            alone = clone(machine).fit(rows[train], labels[train])
            assert values.certificate.converged
            np.testing.assert_allclose(values.test, alone.decision_function(rows[test]), rtol=1e-3, atol=1e-3)
