"""Our kernels where scikit-learn takes a function of two samples, or of two blocks of samples."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import mercer
from mercer.kernels import Categorical, Delta, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum

from ..kernels.cases import CASES, DATA

pytestmark = pytest.mark.slow("every kernel in every tool of the peer")

rng = np.random.default_rng(3)
X, Z = rng.standard_normal((40, 4)), rng.standard_normal((9, 4))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
KERNELS = [
    Gaussian(2),
    0.5 * Linear() + Laplacian(0.3) * Gaussian((1, 2, 3, 4)),
    Polynomial(2).normalized(),
    Gaussian(1).on([0, 2]) * (1 + Linear().on(3)),
    Linear().centered().resolve(X),
]


@pytest.mark.parametrize("case", [case for case in CASES if not case.objects], ids=lambda case: case.name)
def test_two_samples_give_a_number(case):
    A, B = DATA[case.data]
    whole = case.kernel(A[:6], B[:6])
    for i, j in ((0, 0), (3, 5), (5, 1)):
        value = case.kernel(A[i], B[j])
        assert np.ndim(value) == 0
        np.testing.assert_allclose(value, whole[i, j], rtol=1e-9, atol=1e-9 * np.abs(whole).max())


@pytest.mark.parametrize("kernel", [Gaussian(2), Linear(), Categorical(), Gaussian(1).on(0) + Delta()], ids=str)
def test_one_sample_beside_many_is_no_pair(kernel):
    """A forgotten bracket stays an error that says what to write."""
    x = X[0]
    for given in ((x,), (x, None), (x, X), (X, x), (x.tolist(), x.tolist()), (x, x.tolist()), (pd.Series(x), x)):
        with pytest.raises(ValueError, match=r"1-D array of shape \(4,\).*reshape\(1, -1\)"):
            kernel(*given)
    with pytest.raises(ValueError, match=r"1-D array"):
        kernel.diag(x)
    with pytest.raises(ValueError, match=r"1-D array"):
        kernel.gram(x)
    assert kernel(X[:1], Z[:1]).shape == (1, 1)


def test_arrays_of_objects_are_many_samples():
    letters = np.array(["ab", "b"], dtype=object)
    assert Spectrum(1)(letters, letters).shape == (2, 2)
    assert Categorical()(letters, letters).shape == (2, 2)
    with pytest.raises(ValueError, match="square"):
        Precomputed()(X[0], Z[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_pairwise_kernels(kernel, dtype):
    A, B = (3 * X).astype(dtype), (3 * Z).astype(dtype)
    loose = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(pairwise_kernels(A, B, metric=kernel), kernel(A, B), rtol=loose, atol=loose)
    np.testing.assert_allclose(pairwise_kernels(A, metric=kernel), kernel(A), rtol=loose, atol=loose)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_nystroem(kernel):
    theirs = clone(Nystroem(kernel=kernel, n_components=12, random_state=0)).fit(X)
    landmarks = theirs.components_
    np.testing.assert_array_equal(landmarks, X[theirs.component_indices_])
    inner = kernel(Z, landmarks) @ np.linalg.pinv(kernel(landmarks), rcond=1e-11) @ kernel(landmarks, X)
    np.testing.assert_allclose(theirs.transform(Z) @ theirs.transform(X).T, inner, atol=1e-6 * np.abs(inner).max())
    ours = mercer.validity.empirical_map(kernel, landmarks)
    np.testing.assert_allclose(ours(Z) @ ours(X).T, inner, atol=1e-6 * np.abs(inner).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_pca(kernel):
    theirs = clone(KernelPCA(3, kernel=kernel)).fit(X)
    ours = mercer.KernelPCA(3, kernel=kernel).fit(X)
    np.testing.assert_allclose(theirs.eigenvalues_, ours.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(theirs.transform(Z)), np.abs(ours.transform(Z)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_machines(kernel):
    pairs = [
        (KernelRidge(alpha=0.5, kernel=kernel), KernelRidge(alpha=0.5, kernel="precomputed")),
        (SVC(kernel=kernel), SVC(kernel="precomputed")),
        (NuSVC(kernel=kernel, nu=0.4), NuSVC(kernel="precomputed", nu=0.4)),
        (SVR(kernel=kernel), SVR(kernel="precomputed")),
        (OneClassSVM(kernel=kernel), OneClassSVM(kernel="precomputed")),
    ]
    for direct, given in pairs:
        a = clone(direct).fit(X, y).predict(Z)
        b = given.fit(kernel(X), y).predict(kernel(Z, X))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_pipelines_and_searches():
    machine = make_pipeline(
        StandardScaler(), Nystroem(kernel=Gaussian(2), n_components=15, random_state=0), RidgeClassifier()
    )
    search = GridSearchCV(machine, {"nystroem__kernel": [Gaussian(0.5), Gaussian(1)]}, cv=2).fit(X, y)
    assert isinstance(search.best_params_["nystroem__kernel"], Gaussian)
    assert search.best_score_ > 0.5
    assert set(SpectralClustering(2, affinity=Gaussian(1), random_state=0).fit_predict(X)) == {0, 1}


def test_what_does_not_fit_says_so():
    with pytest.raises(ValueError, match=r"depends on data.*k\.resolve\(X\)"):
        Nystroem(kernel=Gaussian("median"), n_components=5).fit(X)


def test_sparse_rows_come_as_a_matrix():
    """Pairs of them are matrices of one entry, which scikit-learn cannot place."""
    K = Gaussian(1)(sp.csr_array(X))
    assert KernelPCA(2, kernel="precomputed").fit(K).transform(K).shape == (40, 2)
