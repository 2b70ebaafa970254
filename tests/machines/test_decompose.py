"""KernelPCA and KernelSVD as estimators: scikit-learn's checks, its peer, LAPACK, and what they add."""

import io
import pickle
import warnings
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as Peer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA, KernelSVD, costs
from mercer.kernels import Chi2, Custom, Gaussian, Intersection, Linear, Precomputed, ZeroKernelWarning
from mercer.solvers import eigen
from mercer.solvers.eigen import Centred
from tests.interrupt import interrupted
from tests.machines.watcher import Watcher

X = load_digits().data / 16
rng = np.random.default_rng(0)


#: Some of its matrices are random.
@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore::mercer.kernels.ZeroKernelWarning")  # some samples of the checks are zero
@parametrize_with_checks([KernelPCA(), KernelPCA(2, kernel="rbf"), KernelSVD(), KernelSVD(kernel="precomputed")])
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def iterative(monkeypatch):
    """The solver for many samples, on few."""
    monkeypatch.setattr(costs, "EIGEN_DENSE_SAMPLES", 50)


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_many_equal_eigenvalues(offset):
    """LAPACK's routine for a few eigenvalues finds none of these."""
    machine = KernelPCA(3, kernel="precomputed").fit(np.eye(500) + offset)
    np.testing.assert_allclose(machine.eigenvalues_, 1)
    V = machine.eigenvectors_
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(V.sum(axis=0), 0, atol=1e-10)  # orthogonal to the mean, whose eigenvalue is 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Intersection() + Chi2(), 0.5 * Linear()], ids=repr)
def test_agrees_with_lapack(iterative, kernel, dtype):
    x = X[:700].astype(dtype)
    machine = KernelPCA(8, kernel=kernel).fit(x)
    K = kernel(x.astype(float))
    H = np.eye(700) - 1 / 700
    values, vectors = np.linalg.eigh(H @ K @ H)
    np.testing.assert_allclose(machine.eigenvalues_, values[::-1][:8], rtol=1e-6)
    overlap = np.abs(np.sum(machine.eigenvectors_ * vectors[:, ::-1][:, :8], axis=0))
    np.testing.assert_allclose(overlap, 1, atol=1e-5)
    assert (machine.residuals_ <= 1e-6 * values[-1]).all()
    assert machine.n_iter_ > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn_out_of_sample(iterative, dtype):
    x, new = X[:600].astype(dtype), X[600:650].astype(dtype)
    ours = KernelPCA(5, kernel="rbf", gamma=0.1).fit(x)
    peer = Peer(5, kernel="rbf", gamma=0.1, eigen_solver="dense").fit(x.astype(float))
    assert ours.transform(new).dtype == dtype
    np.testing.assert_allclose(ours.transform(new), peer.transform(new.astype(float)), atol=1e-5)
    np.testing.assert_allclose(ours.transform(x), ours.fit_transform(x), atol=1e-5)


@pytest.mark.alone("measures memory")
def test_never_holds_a_matrix_that_does_not_fit():
    import tracemalloc

    many = rng.standard_normal((6000, 3))
    tracemalloc.start()
    machine = KernelPCA(3, kernel=Gaussian(3.0), cache_size=100).fit(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the matrix would be 144e6 in float32
    assert machine.residuals_.max() <= 1e-6 * machine.eigenvalues_[0]


def test_any_kind_of_samples(iterative):
    words = ["".join(rng.choice(list("abcdef"), 6)) for _ in range(120)]
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
    machine = KernelPCA(4, kernel=shared).fit(words)
    bits = np.array([[letter in word for letter in "abcdef"] for word in words], dtype=float)
    peer = Peer(4).fit(bits)
    np.testing.assert_allclose(machine.eigenvalues_, peer.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(abs(machine.transform(words[:9])), abs(peer.transform(bits[:9])), atol=1e-4)
    assert KernelSVD(2, kernel=shared).fit(words, Z=words[:7]).right_.shape == (7, 2)


def test_precomputed(iterative):
    K = Gaussian(2.0)(X[:300])
    stored = KernelPCA(3, kernel=Precomputed()).fit(K)
    direct = KernelPCA(3, kernel=Gaussian(2.0)).fit(X[:300])
    np.testing.assert_allclose(stored.eigenvalues_, direct.eigenvalues_, rtol=1e-6)
    new = Gaussian(2.0)(X[300:310], X[:300])
    np.testing.assert_allclose(abs(stored.transform(new)), abs(direct.transform(X[300:310])), atol=1e-5)


@pytest.mark.parametrize("solver", ["dense", "auto"])
def test_a_matrix_that_is_not_symmetric_is_seen_through_its_symmetric_part(iterative, solver):
    K = Gaussian(2.0)(X[:300])
    skew = np.random.default_rng(0).standard_normal(K.shape)
    machine = KernelPCA(3, kernel="precomputed", eigen_solver=solver).fit(K + skew - skew.T)
    known = KernelPCA(3, kernel="precomputed", eigen_solver=solver).fit(K)
    np.testing.assert_allclose(machine.eigenvalues_, known.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(machine.eigenvectors_, known.eigenvectors_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
def test_randomized_refuses_what_would_take_a_negative_eigenvalue(iterative):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    U -= U.mean(axis=0)
    K = (U * np.concatenate([[9.0, 7.0, 5.0, 4.0], np.zeros(295), [-6.0]])) @ U.T
    for solver in ("auto", "arpack"):
        np.testing.assert_array_less(3.5, KernelPCA(4, kernel="precomputed", eigen_solver=solver).fit(K).eigenvalues_)
    machine = KernelPCA(2, kernel="precomputed", eigen_solver="randomized").fit(K)  # 9, 7, and then -6
    assert machine.eigenvalues_[-1] > 6.5
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        machine.set_params(n_components=3).fit(K)


def test_pre_images_by_a_fixed_point():
    """Points on a circle with noise are drawn back to the circle (Mika et al. 1999)."""
    rng = np.random.default_rng(0)  # its own: what other tests have drawn does not matter
    angle = rng.uniform(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    noisy = circle + 0.2 * rng.standard_normal(circle.shape)
    machine = KernelPCA(4, kernel=Gaussian(1.0)).fit(circle)
    back = machine.inverse_transform(machine.transform(noisy))
    error = np.abs(np.linalg.norm(back, axis=1) - 1)
    assert error.mean() < 0.5 * np.abs(np.linalg.norm(noisy, axis=1) - 1).mean()
    scaled = KernelPCA(4, kernel=3 * Gaussian(1.0)).fit(circle)  # a longer phi(z) has the same pre-image
    np.testing.assert_allclose(scaled.inverse_transform(scaled.transform(noisy)), back, atol=1e-5)
    for kernel in (0 * Gaussian(1.0), 2 * Linear()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroKernelWarning)
            machine = KernelPCA(2, kernel=kernel).fit(circle)
        with pytest.raises(NotFittedError, match="Gaussian kernels"):
            machine.inverse_transform(np.zeros((1, 2)))
    full = KernelPCA(kernel=Gaussian(0.3)).fit(circle[:40])  # all components: the samples themselves come back
    np.testing.assert_allclose(full.inverse_transform(full.transform(circle[:40])), circle[:40], atol=1e-5)


def test_pre_images_by_ridge():
    parameters = dict(n_components=10, kernel="rbf", gamma=0.1, fit_inverse_transform=True, alpha=1e-2)
    ours, peer = KernelPCA(**parameters).fit(X[:200]), Peer(**parameters).fit(X[:200])
    T = peer.transform(X[200:210])
    np.testing.assert_allclose(ours.dual_coef_.shape, peer.dual_coef_.shape)
    signs = np.sign(np.sum(ours.transform(X[200:210]) * T, axis=0))
    np.testing.assert_allclose(ours.inverse_transform(T * signs), peer.inverse_transform(T), atol=1e-5)


def test_unconverged_is_said(iterative):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        KernelPCA(5, kernel=Gaussian(0.2), max_iter=1).fit(X[:600])


def test_progress_and_pickle(iterative):
    out = io.StringIO()
    with redirect_stdout(out):
        machine = KernelPCA(3, kernel=Gaussian(2.0), verbose=True).fit(X[:600])
    assert "KernelPCA float32: 1 products, residual" in out.getvalue()
    assert "KernelPCA float64: 1 products, residual" in out.getvalue()
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.transform(X[:5]), machine.transform(X[:5]))


@pytest.mark.parametrize("cls", [KernelPCA, KernelSVD])
def test_callbacks_are_told_and_may_stop(iterative, cls):
    watcher = Watcher()
    machine = cls(5, kernel=Gaussian(0.5)).set_callbacks(watcher).fit(X[:600])
    assert len(watcher.seen) == machine.n_iter_
    assert [told["bits"] for told in watcher.seen] == [32] * (machine.n_iter_ - 1) + [64]
    assert watcher.seen[-1]["residual"] <= 1e-6
    np.testing.assert_array_equal(watcher.ended[0].transform(X[:9]), machine.transform(X[:9]))
    with pytest.warns(ConvergenceWarning, match="stopped after 2 products"):
        stopped = cls(5, kernel=Gaussian(0.5)).set_callbacks(Watcher(stop=True)).fit(X[:600])
    assert stopped.residuals_.max() > 100 * machine.residuals_.max()  # known in float64, however early it ends
    assert machine.certificate_.converged
    assert not stopped.certificate_.converged


@pytest.mark.parametrize("rows", [None, 400])
@pytest.mark.parametrize("tol", [1e-1, 1e-6])
def test_the_certificate_holds_the_optimum(iterative, rows, tol):
    """The sum of the largest eigenvalues, or singular values, is between the two objectives."""
    if rows is None:
        machine = KernelPCA(5, kernel=Gaussian(0.5), tol=tol).fit(X[:400])
        best = np.linalg.eigvalsh(Centred(Gaussian(0.5).gram(X[:400])).to_dense())[::-1][:5].sum()
    else:
        machine = KernelSVD(5, kernel=Gaussian(0.5), tol=tol).fit(X[:400], Z=X[500:900])
        best = np.linalg.svd(Gaussian(0.5)(X[:400], X[500:900]), compute_uv=False)[:5].sum()
    judged = machine.certificate_
    assert judged.dual <= -best <= judged.primal + 1e-9 * best
    assert judged.gap == pytest.approx(machine.residuals_.sum())
    assert judged.violation == machine.residuals_.max()
    assert (judged.iterations, judged.converged) == (machine.n_iter_, True)


@pytest.mark.parametrize("count", [1, 7, 60])
def test_dense_computes_no_more_eigenvectors_than_are_wanted(count, monkeypatch):
    x = X[:300]
    whole = np.linalg.eigh(Centred(Gaussian(2.0).gram(x)).to_dense())
    machine = KernelPCA(count, kernel=Gaussian(2.0), eigen_solver="dense")
    monkeypatch.setattr(eigen, "eigh", None)
    machine.fit(x)
    np.testing.assert_allclose(machine.eigenvalues_, whole[0][::-1][:count], atol=1e-11)
    V, known = machine.eigenvectors_, whole[1][:, ::-1][:, :count]
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-11)
    np.testing.assert_allclose(np.abs(np.sum(V * known, axis=0)), 1.0, atol=1e-6)
    assert machine.residuals_.max() < 1e-11


@pytest.mark.parametrize(("solver", "count"), [("auto", 8), ("dense", 8), ("dense", None)])
@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_interrupt_is_heard(solver, count):
    """In the products of the native core, and in LAPACK; either would take long."""
    many = np.random.default_rng(0).standard_normal((4000 if solver == "dense" else 30_000, 40))
    machine = KernelPCA(count, kernel=Gaussian(5.0), eigen_solver=solver, tol=1e-12)
    assert interrupted(lambda: machine.fit(many)) < 2


def test_interrupt_of_a_users_function(iterative):
    def stop(a, b):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KernelPCA(2, kernel=Custom(stop)).fit(X[:100])


def test_a_matrix_that_fits_is_computed_once(iterative):
    entries = 0

    def inner(a, b):
        nonlocal entries
        entries += len(a) * len(b)
        return a @ b.T + (a @ b.T) ** 2

    kept = KernelPCA(3, kernel=Custom(inner)).fit(X[:400])
    assert entries < 1.6 * 400**2  # the start is from a quarter of the samples
    entries = 0
    again = KernelPCA(3, kernel=Custom(inner), cache_size=0).fit(X[:400])
    assert entries > 2 * 400**2
    np.testing.assert_allclose(kept.eigenvalues_, again.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("cache_size", [0, 200])
def test_threads_do_not_matter(cache_size):
    few = [KernelPCA(4, kernel=Gaussian(2.0), n_jobs=jobs, cache_size=cache_size).fit(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(few[0].eigenvalues_, few[1].eigenvalues_)
    np.testing.assert_array_equal(few[0].eigenvectors_, few[1].eigenvectors_)


def test_few_distinct_directions(iterative):
    """A matrix of lower rank than the components that are asked for, and one that is zero."""
    flat = X[:600, 2:5]
    machine = KernelPCA(6).fit(flat)
    np.testing.assert_allclose(machine.eigenvalues_[:3], Peer(3).fit(flat).eigenvalues_, rtol=1e-6)
    assert (machine.eigenvalues_[3:] <= 1e-9 * machine.eigenvalues_[0]).all()
    assert (KernelPCA(2).fit(np.ones((600, 4))).eigenvalues_ == 0).all()


@pytest.mark.parametrize("rows", [80, 400])
def test_svd_of_a_rectangle(iterative, rows):
    kernel, Z = Gaussian(2.0), X[500:900]
    machine = KernelSVD(6, kernel=kernel).fit(X[:rows], Z=Z)
    K = kernel(X[:rows], Z)
    U, s, _ = np.linalg.svd(K)
    np.testing.assert_allclose(machine.singular_values_, s[:6], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(machine.left_ * U[:, :6], axis=0)), 1, atol=1e-5)
    assert machine.residuals_.max() < 1e-5 * s[0]
    L, R = machine.transform(X[:rows]), machine.right_ * np.sqrt(machine.singular_values_)
    assert np.linalg.norm(K - L @ R.T, 2) == pytest.approx(s[6], rel=1e-4)  # Eckart and Young


def test_svd_of_a_square_is_uncentred_pca(iterative):
    machine = KernelSVD(4, kernel=Gaussian(2.0)).fit(X[:600])
    values = np.linalg.eigvalsh(Gaussian(2.0)(X[:600]))[::-1][:4]
    np.testing.assert_allclose(machine.singular_values_, values, rtol=1e-6)
    T = machine.transform(X[:600])
    np.testing.assert_allclose(T.T @ T, np.diag(machine.singular_values_), atol=1e-4)
