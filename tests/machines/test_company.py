"""What a machine says of a sample does not depend on the samples beside it, and is what its expansion says plainly."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    SVDD,
    SVR,
    KernelFeatures,
    KernelLMS,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVD,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.kernels import (
    Categorical,
    Chi2,
    Delta,
    Gaussian,
    Intersection,
    Linear,
    Polynomial,
    SetKernel,
    Spectrum,
    Subsequence,
    SubsetTree,
    WeisfeilerLehman,
)

from ..kernels.cases import DATA

N, NEW = 30, 12
_rng = np.random.default_rng(11)
CLASS = np.repeat([0, 1, 2], [13, 8, 9])[_rng.permutation(N)]
TARGET = _rng.standard_normal(N)
LABELS = [["Bonn", "Kiel", "Ulm", "Jena"][i] for i in _rng.integers(0, 3, N)]
STRANGE = [["Bonn", "Kiel", "Ulm", "Jena"][i] for i in _rng.integers(0, 4, NEW)]  # with a label that was not learned


def frame(library, labels, rng):
    return library.DataFrame({"city": labels, "age": rng.standard_normal(len(labels))})


def _frames(library):
    return frame(library, LABELS, np.random.default_rng(1)), frame(library, STRANGE, np.random.default_rng(2))


def _parts(kind, form=lambda rows: rows):
    X, Z = DATA[kind]
    return form(X[:N]), form(Z[:NEW])


def with_gaps(table, library):
    """The same with a column that has missing values and is read as labels, and one that no kernel reads."""
    n = len(table)
    job = [(None, "nurse", "cook")[i] for i in np.random.default_rng(n).integers(0, 3, n)]
    return library.DataFrame(
        {
            **{name: list(table[name]) for name in ("city", "age")},
            "job": job,
            "pay": [None if i % 3 else float(i) for i in range(n)],
        }
    )


def _gaps(library):
    return tuple(with_gaps(table, library) for table in _frames(library))


def _columns_with_gaps(rows):
    rows = rows.copy()
    rows[1::2, 2], rows[::3, 5] = np.nan, np.inf
    return rows


MIXED = Gaussian(1.0).on("age") + 2 * Categorical().on("city") * Linear().on("age") + Delta().on(["city"]) ** 2
#: name: samples to learn from, new ones, and kernels
KINDS = {
    "vectors": (*_parts("vectors"), [Gaussian("median") + 0.1 * Linear(), (Polynomial(2) * Gaussian(3)).normalized()]),
    "vectors in single precision": (*_parts("vectors", np.float32), [Gaussian("median").centered()]),
    "sparse": (*_parts("histograms", sp.csr_array), [Gaussian("median"), Chi2() * Linear() + Gaussian("median")]),
    "histograms": (*_parts("histograms"), [Intersection(), Chi2().normalized()]),
    "codes": (*_parts("codes"), [Categorical(), Delta() + Linear()]),
    "labels": (*_parts("labels"), [Categorical(), 2 * Categorical() ** 2, Delta() + Categorical().on(0)]),
    "pandas": (*_frames(pd), [MIXED, Categorical().on("city").normalized() + Gaussian(1.0).on("age")]),
    "polars": (*_frames(pl), [MIXED]),
    "pandas with gaps": (*_gaps(pd), [MIXED * (1 + Categorical(missing="level").on("job"))]),
    "polars with gaps": (*_gaps(pl), [MIXED + Categorical(missing="level").on(["job", "city"])]),
    "columns with gaps": (*_parts("vectors", _columns_with_gaps), [Gaussian("median").on([0, 3, 1]) + Linear().on(4)]),
    "strings": (*_parts("strings"), [Spectrum(2), Subsequence(2, 0.5).normalized()]),
    "graphs": (*_parts("graphs"), [WeisfeilerLehman(2).normalized()]),
    "trees": (*_parts("trees"), [SubsetTree(0.5).normalized()]),
    "sets": (*_parts("sets"), [SetKernel(Gaussian("median"))]),
}
CLASSIFIERS = [SVC, NuSVC, KernelLogistic, KernelPerceptron, KernelNeighborsClassifier]
REGRESSORS = [SVR, NuSVR, KernelRidge, KernelRidgeCV, KernelLMS, KernelNeighborsRegressor]
OTHERS = [OneClassSVM, SVDD, KernelPCA, KernelSVD]
MADE = {
    SVC: lambda k: SVC(kernel=k, C=10),
    NuSVC: lambda k: NuSVC(kernel=k, nu=0.75),
    KernelPCA: lambda k: KernelPCA(3, kernel=k),
    KernelSVD: lambda k: KernelSVD(3, kernel=k),
    KernelRidge: lambda k: KernelRidge(0.1, kernel=k, fit_intercept=True),
    KernelLMS: lambda k: KernelLMS(k, alpha=0.1),
    OneClassSVM: lambda k: OneClassSVM(kernel=k, nu=0.3),
    SVDD: lambda k: SVDD(C=0.2, kernel=k),
}
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform", "kneighbors")


def taken(rows, index):
    if isinstance(rows, list):
        return [rows[i] for i in index]
    return rows.iloc[index] if isinstance(rows, pd.DataFrame) else rows[index]


def fitted(machine, kernel, X):
    y = TARGET if machine in REGRESSORS else CLASS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have little to say of so few samples
        made = MADE[machine](kernel) if machine in MADE else machine(kernel=kernel)
        return made.fit(X) if machine in OTHERS else made.fit(X, y)


def said(machine, X):
    """Everything that a machine says of samples, as arrays with a row for each."""
    found = {}
    for name in METHODS:
        if callable(method := getattr(machine, name, None)):
            values = method(X)
            found |= {f"{name} {i}": v for i, v in enumerate(values if isinstance(values, tuple) else (values,))}
    return found


ORDERS = {
    "in another order": np.random.default_rng(3).permutation(NEW),
    "some": np.array([1, 4, 9]),
    "repeatedly": np.array([6, 2, 6, 6]),
    **{f"number {i} alone": np.array([i]) for i in (0, 5, NEW - 1)},
}
EVERY = [
    pytest.param(machine, kernel, kind, id=f"{machine.__name__}-{kind}-{kernel}")
    for machine in (*CLASSIFIERS, *REGRESSORS, *OTHERS)
    for kind, (_, _, kernels) in KINDS.items()
    for kernel in kernels
]


@pytest.mark.parametrize(("machine", "kernel", "kind"), EVERY)
@pytest.mark.slow("every machine on every kind of data")
def test_predictions_do_not_depend_on_the_company(machine, kernel, kind):
    X, Z, _ = KINDS[kind]
    made = fitted(machine, kernel, X)
    together = said(made, Z)
    assert together
    loose = 1e-4 if "single" in kind or kind == "histograms" else 1e-9
    for again in (made, pickle.loads(pickle.dumps(made))):
        for which, index in ORDERS.items():
            for name, values in said(again, taken(Z, index)).items():
                expected = together[name][index]
                if values.dtype.kind == "f":
                    np.testing.assert_allclose(values, expected, rtol=loose, atol=loose, err_msg=f"{name}, {which}")
                else:
                    np.testing.assert_array_equal(values, expected, err_msg=f"{name}, {which}")


@pytest.mark.parametrize(
    ("machine", "kernel", "kind"), [one for one in EVERY if "Neighbors" not in one.values[0].__name__]
)
@pytest.mark.slow("every machine on every kind of data")
def test_functions_are_their_sums_pair_by_pair(machine, kernel, kind):
    X, Z, _ = KINDS[kind]
    f = fitted(machine, kernel, X).expansion_
    support = [f.samples.take(np.array([i])) for i in range(len(f))]
    values = np.atleast_2d(np.asarray(f(Z)).T).T
    coefficients = f.coefficients.reshape(len(f), -1)
    for i in range(3):
        row = taken(Z, np.array([i]))
        k = np.array([f.kernel(row, one)[0, 0] for one in support], dtype=float)
        plain = k @ coefficients + f.bias
        size = np.abs(k) @ np.abs(coefficients) + 1
        assert (np.abs(values[i] - plain) <= (1e-5 if kind == "histograms" or "single" in kind else 1e-11) * size).all()


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [("labels", Categorical()), ("strings", Spectrum(2)), ("graphs", WeisfeilerLehman(1)), ("pandas", MIXED)],
)
def test_machines_learn_the_same_from_samples_in_another_order(kind, kernel):
    """Whatever numbers the labels, words and neighbourhoods get."""
    X, Z, _ = KINDS[kind]
    order = np.random.default_rng(6).permutation(N)
    one = KernelRidge(0.1, kernel=kernel).fit(X, TARGET).predict(Z)
    other = KernelRidge(0.1, kernel=kernel).fit(taken(X, order), TARGET[order]).predict(Z)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_features_do_not_depend_on_the_company():
    X, Z = DATA["strings"]
    features = KernelFeatures(Spectrum(2)).fit(X[:N])
    together = features.transform(Z[:NEW]).toarray()
    for i in range(NEW):
        np.testing.assert_array_equal(features.transform([Z[i]]).toarray()[0], together[i])


def test_labels_are_learned():
    """Each city has a value of its own, whichever of them are support vectors."""
    cities = pd.DataFrame({"city": ["Bonn", "Kiel", "Ulm"] * 10})
    kiel = cities.city == "Kiel"
    for kernel in (Categorical().on("city"), 2 * Categorical().on("city"), Delta() ** 2):
        assert SVC(kernel=kernel, C=10).fit(cities, kiel).score(cities, kiel) == 1
        assert NuSVC(kernel=kernel).fit(cities, kiel).score(cities, kiel) == 1
        values = KernelRidge(kernel=kernel).fit(cities, kiel * 1.0).predict(cities[:3])
        assert values[1] > 0.9
        assert abs(values[[0, 2]]).max() < 1e-12


def test_labels_of_other_types_are_the_same_where_they_are_equal():
    """Numbers may come as numbers or as objects, beside text or not."""
    numbers = np.array([[1.0], [2.0], [3.0]])
    objects = np.array([[1], ["two"], [3]], dtype=object)
    k = Categorical()
    expected = [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    np.testing.assert_array_equal(k(objects, numbers), expected)
    np.testing.assert_array_equal(k(numbers, objects), np.transpose(expected))
    np.testing.assert_array_equal(k(objects, numbers.astype(np.float32)), expected)
    np.testing.assert_array_equal(k(objects, sp.csr_array(numbers)), expected)


def test_labels_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeError, match=r"sample 1 has a list.*give text, numbers or tuples"):
        Delta()([("a", 1), ["b"], "c"])
    with pytest.raises(ValueError, match=r"beyond 2\*\*53 .* as text"):
        Categorical()(np.array([[2**60], [2**60 + 1]]))
