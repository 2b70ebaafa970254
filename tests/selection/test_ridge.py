"""What ridge machines say in a search is what each of them says after a fit of its own."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.metaestimators import _safe_split

from mercer import SVR, KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Spectrum
from mercer.selection.ridge import RidgeFamily

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 3))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
WEIGHT = RNG.uniform(0.0, 2.0, N)
WEIGHT[:3] = 0.0
WORDS = ["".join(RNG.choice(list("abc"), RNG.integers(4, 12))) for _ in range(N)]
SPLITS = list(KFold(4, shuffle=True, random_state=0).split(X))
FAMILY = RidgeFamily()
M = Gaussian(2.0).gram(X).to_dense()


def distance(a, b):
    return float(np.exp(-np.sum((np.asarray(a) - np.asarray(b)) ** 2)))


CASES = {
    "by name": (KernelRidge(kernel="rbf"), X),
    "with gamma": (KernelRidge(kernel="rbf", gamma=0.3), X),
    "polynomial": (KernelRidge(kernel="poly", degree=2, gamma=0.2), X),
    "linear": (KernelRidge(), X),
    "a kernel": (KernelRidge(kernel=Gaussian(1.0) + 0.5 * Linear()), X),
    "of the training rows": (KernelRidge(kernel=Gaussian("median")), X),
    "centred": (KernelRidge(kernel=Polynomial(2, c=1.0).centered()), X),
    "given": (KernelRidge(kernel="precomputed"), M),
    "given and centred": (KernelRidge(kernel=Precomputed().centered()), M),
    "a function": (KernelRidge(kernel=distance), X),
    "words": (KernelRidge(kernel=Spectrum(2)), WORDS),
    "a frame": (KernelRidge(kernel="rbf"), pd.DataFrame(X, columns=list("abc"))),
    "sparse": (KernelRidge(kernel="rbf"), sp.csr_array(np.where(X > 0, X, 0.0))),
}


def machines_of(machine):
    cells = [(0.05, False), ([1.0, 0.1], True), (10.0, True), (0.7, False)]
    return [clone(machine).set_params(alpha=alpha, fit_intercept=bias) for alpha, bias in cells]


def fitted(machine, data, y, split, weight=None):
    """A machine fitted to the training rows, its predictions at the test rows and at the training rows."""
    train, test = split
    rows, targets = _safe_split(machine, data, y, train)
    held, _ = _safe_split(machine, data, y, test, train)
    machine = clone(machine).fit(rows, targets, None if weight is None else weight[train])
    return machine, machine.predict(held), machine.predict(rows)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_fits(name, weight):
    machine, data = CASES[name]
    machines = machines_of(machine)
    by_kernel = {}
    for split in SPLITS:
        kernel = FAMILY.kernel(machine, data, split[0], weight)
        assert kernel == fitted(machines[0], data, Y, split, weight)[0].expansion_.kernel or "given" in name
        by_kernel.setdefault(kernel, []).append(split)
    assert len(by_kernel) == (len(SPLITS) if name in ("of the training rows", "centred", "given and centred") else 1)
    for kernel, splits in by_kernel.items():
        gram = kernel.gram(kernel.samples(data))
        found = FAMILY.held_out_of_splits(machines, Y, weight, gram, splits, train_values=True)
        for split, row in zip(splits, found, strict=True):
            for cell, values in zip(machines, row, strict=True):
                _, test, train = fitted(cell, data, Y, split, weight)
                np.testing.assert_allclose(values.test, test, atol=1e-8)
                np.testing.assert_allclose(values.train, train, atol=1e-8)


def test_a_chain_of_one_split():
    machines = machines_of(KernelRidge(kernel=Gaussian("median")))
    made = []

    def gram(kernel):
        made.append(kernel)
        return kernel.gram(X)

    train, test = SPLITS[0]
    work = SimpleNamespace(
        machines=machines, X=X, y=Y, fit_params={"sample_weight": WEIGHT}, train=train, test=test, gram=gram
    )
    for machine, values in zip(machines, FAMILY.held_out(work), strict=True):
        np.testing.assert_allclose(values.test, fitted(machine, X, Y, SPLITS[0], WEIGHT)[1], atol=1e-8)
    assert len(made) == 1


def test_it_takes_ridge_machines_alone():
    class Mine(KernelRidge):
        pass

    assert FAMILY.takes(KernelRidge())
    assert not any(FAMILY.takes(other) for other in (KernelRidgeCV(), SVR(), Mine()))


@pytest.mark.parametrize("alpha", [-1.0, [1.0, 2.0, 3.0], np.inf])
def test_what_a_fit_refuses_is_refused(alpha):
    machine = KernelRidge(alpha)
    with pytest.raises(ValueError, match="alpha") as refused:
        clone(machine).fit(X, Y)
    with pytest.raises(type(refused.value)) as also:
        FAMILY.held_out_of_splits([machine], Y, None, Linear().gram(X), SPLITS)
    assert str(also.value) == str(refused.value)
