"""A fit assigns one value, when it is done: who uses a machine meanwhile gets the old one, failures change nothing.

What this value holds is tested in ``test_listing``.
"""

import ast
import importlib
import inspect
import pkgutil
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer.machines
from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    BasisRidge,
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    LinearSVC,
    LinearSVR,
    MahalanobisLearner,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import Gaussian, IndefiniteKernelWarning, Linear, PolynomialBasis, Spectrum
from mercer.machines.fit import Fitted

rng = np.random.default_rng(0)
#: Two data sets, of other sizes, widths and classes.
FIRST = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
SECOND = rng.standard_normal((30, 2)), np.repeat([2, 3, 4], 10)
KERNEL = Gaussian(1.0)
MACHINES = [
    SVC(),
    SVC(strategy="ovr"),
    NuSVC(nu=0.3),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
    LinearSVC(),
    LinearSVR(),
    KernelRidge(kernel=KERNEL),
    KernelRidgeCV(kernel=KERNEL),
    KernelLogistic(kernel=KERNEL),
    KernelLMS(KERNEL),
    LMS(),
    Perceptron(max_iter=3),
    KernelPerceptron(KERNEL, max_iter=3),
    KernelPCA(2, kernel=KERNEL),
    KernelSVD(2, kernel=KERNEL),
    KernelNeighborsClassifier(kernel=KERNEL),
    KernelNeighborsRegressor(kernel=KERNEL),
    BasisRidge(PolynomialBasis(2)),
    MahalanobisLearner(),
]
READS = ("predict", "decision_function", "transform", "predict_proba", "kneighbors", "interval")


@pytest.fixture(autouse=True)
def switching():
    """Threads take turns as often as the interpreter allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def machine_classes():
    """Every class of ``mercer.machines`` that is a machine, or is meant to be a part of one."""
    for module in pkgutil.iter_modules(mercer.machines.__path__, "mercer.machines."):
        for found in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(found) and issubclass(found, Fitted) and found.__module__ == module.name:
                yield found


@pytest.mark.parametrize("cls", sorted(machine_classes(), key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__)
def test_nothing_is_assigned_to_a_machine_but_its_parameters_and_its_fit(cls):
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    for function in (node for node in ast.walk(body) if isinstance(node, ast.FunctionDef)):
        if function.name in ("__init__", "set_params"):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                assert isinstance(node.ctx, ast.Load) or node.attr == "_fit", f"{function.name} sets {node.attr}"
                assert node.attr != "__dict__", function.name


def first(values):
    return np.asarray(values[0] if isinstance(values, tuple) else values)


def said(machine, rows):
    """What a machine says, as bytes; None if the rows have not as many columns as it knows."""
    found = []
    for name in READS:
        if not hasattr(machine, name):
            continue
        try:
            values = getattr(machine, name)(rows)
        except ValueError as error:
            assert "features" in str(error)  # noqa: PT017
            return None
        found += [np.asarray(v).tobytes() for v in (values if isinstance(values, tuple) else (values,))]
    return found


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y is -1 for known outliers")
@pytest.mark.alone("threads read while another fits twenty times")
def test_readers_get_the_old_machine_or_the_new_one(machine):
    one, two = (clone(machine).fit(*data) for data in (FIRST, SECOND))
    methods = [name for name in READS if hasattr(one, name)]
    rows = FIRST[0][:3], SECOND[0][:3]
    expected = {
        (name, which): first(getattr(made, name)(rows[which]))
        for name in methods
        for which, made in enumerate((one, two))
    }
    machine = clone(machine).fit(*FIRST)
    wrong, seen, done = [], set(), threading.Event()

    def read(which):
        while not done.is_set():
            for name in methods:
                try:
                    values = first(getattr(machine, name)(rows[which]))
                except BaseException as error:
                    if not (isinstance(error, ValueError) and "features" in str(error)):  # the other has other columns
                        wrong.append(repr(error))
                    continue
                seen.add(which)
                if not np.array_equal(values, expected[name, which]):
                    wrong.append(f"{name} of {which}: {values} instead of {expected[name, which]}")

    threads = [threading.Thread(target=read, args=(which,)) for which in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for _ in range(10):
            machine.fit(*SECOND)
            machine.fit(*FIRST)
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong, (len(wrong), wrong[:3])
    assert 0 in seen


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y is -1 for known outliers")
def test_data_that_are_refused_leave_a_machine_as_it_was(machine):
    machine = clone(machine).fit(*FIRST)
    values = said(machine, FIRST[0])
    before = dict(vars(machine))
    X, y = SECOND
    for refused in (np.where(X > 1, np.nan, X), X[:0], [["a"], ["b"]]):
        with pytest.raises((ValueError, TypeError)):
            machine.fit(refused, y)
        assert vars(machine).keys() == before.keys()
        assert all(vars(machine)[name] is value for name, value in before.items())
    assert said(machine, FIRST[0]) == values


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y is -1 for known outliers")
@pytest.mark.slow("five fits of every machine")
def test_a_fit_leaves_nothing_of_the_one_before(machine):
    """Fitted again, a machine has the attributes of one that never was fitted to anything else."""
    fresh = clone(machine).fit(*SECOND)
    again = clone(machine).fit(*FIRST).fit(*SECOND)
    assert vars(again).keys() == vars(fresh).keys()
    assert said(again, SECOND[0]) == said(fresh, SECOND[0])
    assert again is again.fit(*SECOND)


@pytest.mark.parametrize(
    "machine", [SVC(), SVR(), KernelRidge(), KernelPCA(2), KernelPerceptron(), KernelLMS()], ids=str
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y is -1 for known outliers")
def test_a_warning_that_is_an_error_leaves_a_machine_as_it_was(machine):
    rows, y = FIRST
    machine = clone(machine).fit(rows, y)
    before = dict(vars(machine))
    machine.set_params(kernel=-1 * Linear())
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernelWarning)
        with pytest.raises((IndefiniteKernelWarning, ValueError)):
            machine.fit(rows, y)
    assert vars(machine).keys() == before.keys()
    assert machine._fit is before["_fit"]


def test_what_is_set_fits_in_with_the_rest():
    machine = SVC().fit(*FIRST)
    before, n = machine._fit, len(machine.support_)
    for wrong in (machine.support_[:-1], machine.support_[:, None], list(range(n + 1)), 3):
        with pytest.raises(ValueError, match=rf"^support_ of SVC has the shape \({n},\).* set to an array of shape"):
            machine.support_ = wrong
    for wrong in (np.full(n, 0.5), ["a"] * n):
        with pytest.raises(TypeError, match=r"^support_ of SVC holds int32, .* values of"):
            machine.support_ = wrong
    with pytest.raises(TypeError, match=r"^certificate_ of SVC is list, which a Fit does not hold"):
        machine.certificate_ = []
    with pytest.raises(AttributeError, match="cannot be set: it follows from other values"):
        machine.intercept_ = [0.0]
    assert machine._fit is before
    machine.support_ = list(range(n))
    assert machine.support_.tolist() == list(range(n))


def test_parts_make_a_new_fit_of_the_old_one():
    for machine in (Perceptron(), KernelPerceptron(KERNEL), KernelPerceptron(KERNEL, averaged=True)):
        rows, y = FIRST
        machine.partial_fit(rows, y, classes=[0, 1])
        old, values = machine._fit, machine.decision_function(rows)
        machine.partial_fit(rows, 1 - y)
        new, machine._fit = machine._fit, old
        assert new is not old
        assert len(old.mistakes) == 1
        np.testing.assert_array_equal(machine.decision_function(rows), values)


@pytest.mark.parametrize(
    "machine", [SVC, NuSVC, SVR, OneClassSVM, KernelRidge, KernelLogistic, KernelPCA, KernelPerceptron]
)
@pytest.mark.parametrize(
    ("before", "after"), [("rbf", Spectrum(2)), (Gaussian(1.0), "linear"), ("linear", "precomputed")]
)
def test_parameters_set_after_a_fit_change_nothing_of_it(machine, before, after):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((40, 3)), rng.standard_normal((5, 3))
    fitted = machine(kernel=before).fit(X, (X[:, 0] > 0).astype(int))
    read = fitted.transform if hasattr(fitted, "transform") else fitted.predict
    expected = read(new)
    fitted.set_params(kernel=after)
    np.testing.assert_array_equal((fitted.transform if hasattr(fitted, "transform") else fitted.predict)(new), expected)
    words = KernelRidge(kernel=Spectrum(2)).fit(["GATTACA", "TTACA"], [0.0, 1.0])
    said = words.predict(["GATTA"])
    np.testing.assert_array_equal(words.set_params(kernel=before).predict(["GATTA"]), said)
