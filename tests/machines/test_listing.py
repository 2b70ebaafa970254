"""What a machine has fitted can be listed: from the list alone the same machine is made again, and it has no more."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer.machines
from mercer import (
    LMS,
    SVC,
    SVDD,
    SVR,
    BasisRidge,
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
    LinearSVC,
    LinearSVR,
    MahalanobisLearner,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import Gaussian, GaussianBasis, Kernel, Linear, Precomputed, Spectrum, WeisfeilerLehman
from mercer.machines.fit import LISTED, Fit, contents, leaves
from mercer.samples import Samples

from .test_company import EVERY, KINDS, fitted

rng = np.random.default_rng(0)
N = 40
X = rng.standard_normal((N, 3))
FEW = X.astype(np.float32)
SPARSE = sp.csr_array(np.where(X > 0.5, X, 0.0))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
Y, T = np.arange(N) % 3, np.round(X @ [1.0, 2.0, 0.5], 3)
TWO = np.where(T > 0, "yes", "no")
MANY = np.column_stack([T, -(T**2)])
SOME = np.where(np.arange(N) % 5 == 0, 0.0, 1.0 + np.arange(N) % 2)
K = X @ X.T + 1


def similarity(A, B):
    """A user's function of two blocks."""
    return np.exp(-0.3 * np.square(A[:, None] - B[None]).sum(axis=2))


def stream(machine):
    """Fitted in parts."""
    for some in np.array_split(np.arange(N), 3):
        machine.partial_fit(X[some], Y[some], classes=[0, 1, 2])
    return machine


#: A machine fitted in each of the ways that differ in what is kept, and the data it learned from.
FITTED = {
    "SVC": lambda: (SVC().fit(X, Y), X),
    "SVC of two": lambda: (SVC(kernel="linear").fit(FRAME, TWO, SOME), FRAME),
    "SVC against the rest": lambda: (SVC(strategy="ovr", class_weight="balanced").fit(FEW, Y), FEW),
    "SVC with sigmoids": lambda: (SVC(probability=True, votes="distance").fit(X, Y), X),
    "SVC of CSR": lambda: (SVC(kernel="linear").fit(SPARSE, Y), SPARSE),
    "SVC of a matrix": lambda: (SVC(kernel="precomputed").fit(K, Y), K),
    "SVC of a function": lambda: (SVC(kernel=similarity).fit(X, Y), X),
    "SVC without support": lambda: (SVR(epsilon=100.0).fit(X, T), X),
    "NuSVC": lambda: (NuSVC(nu=0.3).fit(X, Y), X),
    "SVR": lambda: (SVR(C=1e4).fit(FEW, T), FEW),
    "NuSVR": lambda: (NuSVR().fit(X, T), X),
    "OneClassSVM": lambda: (OneClassSVM(nu=0.2).fit(X), X),
    "SVDD": lambda: (SVDD(C=0.2).fit(X, np.where(SOME == 0, -1, 1)), X),
    "SVDD of a matrix": lambda: (SVDD(C=0.2, kernel="precomputed").fit(K), K),
    "KernelLogistic": lambda: (KernelLogistic().fit(X, Y), X),
    "KernelLogistic of few": lambda: (KernelLogistic(max_basis=5).fit(X, TWO), X),
    "LinearSVC": lambda: (LinearSVC().fit(FRAME, TWO), FRAME),
    "LinearSVC of classes": lambda: (LinearSVC(fit_intercept=False).fit(SPARSE, Y).sparsify(), SPARSE),
    "LinearSVC by liblinear": lambda: (LinearSVC(penalty="l1", dual=False).fit(X, Y), X),
    "LinearSVC, jointly": lambda: (LinearSVC(multi_class="crammer_singer").fit(X, TWO), X),
    "LinearSVR": lambda: (LinearSVR().fit(X, T), X),
    "KernelRidge": lambda: (KernelRidge(kernel="rbf").fit(X, T), X),
    "KernelRidge of some": lambda: (KernelRidge([0.1, 2.0], kernel="rbf", fit_intercept=True).fit(X, MANY, SOME), X),
    "KernelRidge of a frame": lambda: (KernelRidge(kernel=Gaussian(1.0)).fit(FRAME, T), FRAME),
    "KernelRidge of strings": lambda: (KernelRidge(kernel=Spectrum(1)).fit(["ab", "b", "ca"], [1, 2, 3]), ["ab", "c"]),
    "KernelRidgeCV": lambda: (KernelRidgeCV(kernel="rbf", alpha_per_target=True).fit(X, MANY), X),
    "BasisRidge": lambda: (BasisRidge(GaussianBasis(sigma=1.0), penalize_bias=False).fit(X, MANY, SOME), X),
    "BasisRidge of a function": lambda: (BasisRidge(np.cos).fit(X, T), X),
    "BasisRidge, absolute": lambda: (BasisRidge(penalty="l1").fit(X, T), X),
    "KernelPCA": lambda: (KernelPCA(2, kernel="rbf").fit(FEW), FEW),
    "KernelPCA with an inverse": lambda: (KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X), X),
    "KernelPCA of a matrix": lambda: (KernelPCA(2, kernel="precomputed").fit(K), K),
    "KernelPCA of CSR": lambda: (KernelPCA(2).fit(SPARSE), SPARSE),
    "KernelSVD": lambda: (KernelSVD(2, kernel="rbf").fit(X), X),
    "KernelSVD of two sets": lambda: (KernelSVD(2, kernel=Gaussian(1.0)).fit(X, Z=X[:9]), X),
    "KernelNeighborsClassifier": lambda: (KernelNeighborsClassifier().fit(X, TWO), X),
    "KernelNeighborsRegressor": lambda: (KernelNeighborsRegressor(weights="distance").fit(X, MANY), X),
    "Perceptron": lambda: (Perceptron(max_iter=3).fit(FRAME, TWO), FRAME),
    "Perceptron in parts": lambda: (stream(Perceptron()), X),
    "KernelPerceptron": lambda: (KernelPerceptron(averaged=True, max_iter=3).fit(X, Y), X),
    "KernelPerceptron in parts": lambda: (stream(KernelPerceptron(budget=6)), X),
    "LMS": lambda: (LMS().fit(X, MANY), X),
    "KernelLMS": lambda: (KernelLMS(early_stopping=True).fit(X, T), X),
    "MahalanobisLearner": lambda: (MahalanobisLearner(rank=2).fit(FRAME, Y), FRAME),
    "MahalanobisLearner, not learnt": lambda: (MahalanobisLearner().fit(X[:, :1], Y), X[:, :1]),
    "KernelFeatures": lambda: (KernelFeatures(WeisfeilerLehman(1)).fit([[(0, 1)], [(0, 1), (1, 2)]]), [[(0, 1)]]),
    "KernelFeatures of a frame": lambda: (KernelFeatures(Linear().on("b")).fit(FRAME), FRAME),
}
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform", "kneighbors", "interval")
KNOWN = {"_sklearn_output_config", "_skl_callbacks", "_metadata_request"}


def again(value):
    """A value of a Fit, made anew from what it is made of."""
    if isinstance(value, LISTED):
        return type(value)(**{name: again(inner) for name, inner in contents(value).items()})
    if isinstance(value, dict):
        return {name: again(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(again(inner) for inner in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def rebuilt(machine):
    """A machine with the same parameters, and a Fit made from the listing of this one's."""
    other = type(machine)(**machine.get_params(deep=False))
    other._fit = type(machine._fit)(**{name: again(value) for name, value in machine._fit.contents().items()})
    return other


def bits(value):
    """A value as something that is equal only for the same bits."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, tuple(map(repr, value.flat)) if value.dtype == object else value.tobytes()
    if sp.issparse(value):
        return type(value), *(bits(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, (tuple, list)):
        return tuple(map(bits, value))
    if isinstance(value, Kernel):
        return repr(value)
    if isinstance(value, Samples):
        return value
    if hasattr(value, "__dataclass_fields__"):
        return type(value), tuple(map(bits, contents(value).values()))
    if isinstance(value, pd.DataFrame):
        return bits(value.to_numpy())
    return value if np.isscalar(value) or value is None or isinstance(value, dict) else repr(value)


def attributes(machine):
    """scikit-learn's attributes of a machine, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are deprecated, as in scikit-learn
        names = [name for name in dir(type(machine)) if name.endswith("_") and not name.startswith("_")]
        return {name: bits(getattr(machine, name)) for name in names if hasattr(machine, name)}


def said(machine, data):
    """Everything that a machine says of samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: bits(getattr(machine, name)(data)) for name in METHODS if hasattr(machine, name)}


def check(machine, data):
    assert isinstance(machine._fit, Fit)
    assert list(leaves(machine._fit))  # which refuses what has no place there
    other = rebuilt(machine)
    assert attributes(machine)
    assert attributes(other) == attributes(machine)
    assert said(other, data) == said(machine, data)
    assert vars(machine).keys() - KNOWN == machine.get_params(deep=False).keys() | {"_fit"}


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.filterwarnings("ignore")
def test_a_machine_is_its_parameters_and_the_list_of_what_it_fitted(name):
    machine, data = FITTED[name]()
    check(machine, data)


@pytest.mark.parametrize(("machine", "kernel", "kind"), EVERY)
@pytest.mark.slow("every machine on every kind of data")
def test_so_it_is_of_every_kernel_and_kind_of_data(machine, kernel, kind):
    data, new, _ = KINDS[kind]
    check(fitted(machine, kernel, data), new)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow("two pickles of every machine")
def test_what_can_be_made_again_is_not_listed_and_not_pickled(name):
    machine, data = FITTED[name]()
    names = machine._fit.contents().keys()
    expected = said(machine, data)
    if hasattr(machine, "loo_residuals"):
        machine.loo_residuals()
    assert machine._fit.contents().keys() == names == vars(pickle.loads(pickle.dumps(machine))._fit).keys()
    assert said(pickle.loads(pickle.dumps(machine)), data) == expected


@pytest.mark.filterwarnings("ignore")
def test_every_machine_is_here():
    assert {type(make()[0]).__name__ for make in FITTED.values()} == set(mercer.machines.__all__)


def test_a_fit_refuses_what_is_not_to_be_stored():
    with pytest.raises(TypeError, match=r"a\.1 is set"):
        list(leaves({"a": (1, {2})}))


def test_to_set_what_was_fitted_is_to_make_another_fit():
    machine = OneClassSVM().fit(X)
    before, scores = machine._fit, machine.score_samples(X)
    machine.offset_ = machine.offset_ + 1
    assert machine._fit is not before
    assert before.offset != machine.offset_
    np.testing.assert_allclose(machine.score_samples(X), scores + 1)
    for name in ("dual_coef_", "kernel_", "support_vectors_"):
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(machine, name, 0)
    with pytest.raises(AttributeError, match="not fitted"):
        OneClassSVM().offset_ = 0.0


def test_views_are_of_what_was_fitted():
    """Coefficients are kept once: both names show the same memory."""
    machine = SVC().fit(X, Y)
    assert np.shares_memory(machine.dual_coef_, machine._fit.expansion.coefficients)
    assert np.shares_memory(machine.support_vectors_, machine._fit.expansion.samples.array)
    ridge = KernelRidge().fit(X, T)
    assert np.shares_memory(ridge.dual_coef_, ridge.expansion_.coefficients)


def test_data_of_a_machine_in_the_users_form():
    words = ["ab", "b", "cab", "c"]
    assert SVC(kernel=Spectrum(1)).fit(words, [0, 0, 1, 1]).support_vectors_ == words
    assert KernelRidge(kernel=Spectrum(1)).fit(words, [0.0, 0, 1, 1]).X_fit_ is words
    frame = KernelRidge(kernel=Gaussian(1.0)).fit(FRAME, T)
    assert frame.X_fit_ is FRAME
    assert isinstance(SVC(kernel=Precomputed()).fit(K, Y).support_vectors_, np.ndarray)
