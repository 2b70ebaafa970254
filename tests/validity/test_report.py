"""check_kernel against naive computations: spectrum, witness, rank, dominance, alignment, irrelevant columns."""

from math import comb

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    L1,
    Cosine,
    Custom,
    Exponential,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    NegativeDistance,
    Polynomial,
    Precomputed,
    Sigmoid,
    exp,
    repair,
)
from mercer.validity import check_kernel, report

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 4))
y = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, "yes", "no")

PSD = [
    Linear(),
    Polynomial(2),
    Gaussian(1.0),
    Gaussian("median"),
    Laplacian(0.5),
    Linear().centered(),
    Polynomial(3).normalized(),
    exp(0.1 * Linear()),
    2 * Gaussian(2.0) + Linear() ** 2,
    repair(Sigmoid(1.0, -1.0)),
]
# 0/1 corners of a cube and its middle: exp(-D^2) of the L1 distance is indefinite there
CUBE = np.vstack([np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T, np.full((1, 4), 0.5)])
INDEFINITE = [
    (Sigmoid(1.0, -1.0), X),
    (Sigmoid("auto", -1.0), X),
    (Gaussian(1.0) - Gaussian(0.5) - 0.5 * Gaussian(2.0), X),
    (Gaussian(0.5) - Gaussian(1.0), X),
    (Exponential(L1(), beta=10.0, power=2), CUBE),
    (NegativeDistance(L1(), power=1), X),
    (-1 * Linear(), X),
    (Polynomial(2, c=-1.0), X),
]


@pytest.mark.parametrize("k", PSD, ids=repr)
def test_kernels_that_are_psd_are_reported_so(k):
    found = check_kernel(k, X)
    K = k.resolve(X)(X)
    values = np.linalg.eigvalsh(K)
    assert found.symmetric
    assert found.psd
    assert found.witness is None
    assert found.smallest_eigenvalue == pytest.approx(values[0], abs=1e-12 * values[-1])
    assert found.largest_eigenvalue == pytest.approx(values[-1], rel=1e-12)
    assert found.rank == np.linalg.matrix_rank(K, tol=found.tolerance * values[-1], hermitian=True)
    assert found.kernel == k.resolve(X)


@pytest.mark.parametrize(("k", "data"), INDEFINITE, ids=repr)
def test_a_witness_proves_that_a_kernel_is_not_psd(k, data):
    found = check_kernel(k, data)
    K = k.resolve(data)(data)
    assert not found.psd
    assert found.witness is not None
    assert found.witness.shape == (len(data),)
    value = found.witness @ K @ found.witness
    assert value < 0
    assert value == pytest.approx(np.linalg.eigvalsh(K)[0], rel=1e-9)
    assert np.linalg.norm(found.witness) == pytest.approx(1.0)
    assert "NO" in str(found)


def test_l1_with_power_two_is_psd_on_a_line_and_not_in_space():
    k = Exponential(L1(), beta=10.0, power=2)
    assert check_kernel(k, CUBE[:, :1] + np.arange(len(CUBE))[:, None]).psd
    assert not check_kernel(k, CUBE).psd


def test_a_function_that_is_not_symmetric_is_caught():
    lopsided = Custom(lambda A, B: A @ B.T + A[:, :1])
    found = check_kernel(lopsided, X)
    K = X @ X.T + X[:, :1]
    assert not found.symmetric
    assert not found.psd
    assert found.asymmetry == pytest.approx(np.abs(K - K.T).max() / np.abs(K).max())
    assert found.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh((K + K.T) / 2)[0])
    assert "differ" in str(found)
    assert check_kernel(Custom(lambda A, B: A @ B.T), X).symmetric


def test_a_function_of_two_objects():
    words = ["kernel", "kern", "colonel", "corn", "acorn"]
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
    found = check_kernel(shared, words, y=[1, 1, 0, 0, 0])
    assert found.psd
    assert found.irrelevant is None
    assert "no proof" in str(found)


def test_a_matrix_given_as_such():
    K = Gaussian(1.0)(X)
    assert check_kernel(Precomputed(), K).psd
    assert check_kernel(Precomputed(), K, y=y).columns is None
    K[0, 1] += 1
    assert not check_kernel(Precomputed(), K).symmetric
    low_rank = (X @ X.T).astype(np.float32)  # its rounding is no counter-example
    found = check_kernel(Precomputed(), low_rank)
    assert found.psd
    assert found.rank == 4


@pytest.mark.parametrize(
    ("k", "dimension"),
    [
        (Linear(), 4),
        (Polynomial(3), comb(4 + 3, 3)),
        (Polynomial(3, c=0), comb(4 + 2, 3)),
        (Linear() + Polynomial(2), 4 + 15),
        (Gaussian(1.0), None),
        (Sigmoid(1.0), None),
        (Cosine(), 4),
    ],
    ids=repr,
)
def test_the_dimension_of_phi_bounds_the_rank(k, dimension):
    found = check_kernel(k, X)
    assert found.dimension == dimension
    assert found.rank == min(dimension or len(X), 15 if k == Linear() + Polynomial(2) else len(X))


def test_a_map_that_needs_other_data_has_no_known_dimension():
    assert check_kernel(Intersection(), np.abs(X)).dimension is None
    assert check_kernel(Intersection(levels=3), rng.integers(0, 4, size=(10, 2))).dimension == 6


def test_samples_that_resemble_nothing_else_make_no_noise():
    """The nearest similarity is about 1e-310: 1 divided by it is beyond all numbers."""
    found = check_kernel(Gaussian(0.01), [[0.0], [0.378], [0.756]])
    assert 0 < Gaussian(0.01)([[0.0]], [[0.378]]) < 1e-308
    assert found.dominance == np.inf


@pytest.mark.parametrize(("sigma", "dominated"), [(1e-3, True), (0.05, True), (1.0, False), (100.0, False)])
def test_a_narrow_kernel_makes_classification_easy_and_useless(sigma, dominated):
    found = check_kernel(Gaussian(sigma), X)
    K = Gaussian(sigma)(X)
    nearest = np.array([max(abs(K[i, j]) for j in range(60) if j != i) for i in range(60)])
    with np.errstate(divide="ignore"):
        assert found.dominance == pytest.approx(np.median(np.diag(K) / nearest))
    assert ("easy and useless" in str(found)) is dominated


def naive_alignment(K, ideal):
    return sum(K[i, j] * ideal[i, j] for i in range(len(K)) for j in range(len(K))) / np.sqrt(
        (K**2).sum() * (ideal**2).sum()
    )


THREE = rng.integers(0, 3, size=60)
NUMBERS = X[:, 0] ** 2 + rng.normal(size=60)
TARGETS = {
    "strings": (y, np.equal.outer(y, y) * 2.0 - 1.0, "2 classes"),
    "signs": (np.where(y == "yes", 1, -1), np.equal.outer(y, y) * 2.0 - 1.0, "2 classes"),
    "zero one": (np.where(y == "yes", 1.0, 0.0), np.equal.outer(y, y) * 2.0 - 1.0, "2 classes"),
    "booleans": (y == "yes", np.equal.outer(y, y) * 2.0 - 1.0, "2 classes"),
    "three": (THREE, np.equal.outer(THREE, THREE).astype(float), "3 classes"),
    "numbers": (NUMBERS, np.outer(NUMBERS, NUMBERS), "regression"),
    "outputs": (X[:, :2], X[:, :2] @ X[:, :2].T, "regression"),
    "a column": (NUMBERS[:, None], np.outer(NUMBERS, NUMBERS), "regression"),
    "whole numbers": (np.arange(60), np.outer(np.arange(60.0), np.arange(60.0)), "regression"),
}


@pytest.mark.parametrize("k", [Gaussian(1.0), Linear(), Sigmoid(1.0, -1.0)], ids=repr)
@pytest.mark.parametrize("name", TARGETS)
def test_alignment_with_the_ideal_kernel(name, k):
    target, ideal, kind = TARGETS[name]
    found = check_kernel(k, X, target)
    K = k(X)
    H = np.eye(60) - 1 / 60
    assert found.target == kind
    assert found.alignment == pytest.approx(naive_alignment(K, ideal))
    assert found.centred_alignment == pytest.approx(naive_alignment(H @ K @ H, H @ ideal @ H))


def test_the_ideal_kernel_is_perfectly_aligned_and_a_constant_one_not_at_all():
    signs = np.where(y == "yes", 1.0, -1.0)[:, None]
    perfect = check_kernel(Linear(), signs, y)
    assert perfect.alignment == pytest.approx(1.0)
    assert perfect.centred_alignment == pytest.approx(1.0)
    assert check_kernel(0 * Linear() + 1, X, y).centred_alignment == 0.0


def many_columns(n, task, seed):
    """Two columns of forty matter: one in line, one by its square."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n, 40))
    score = 2 * data[:, 0] + 2 * (data[:, 1] ** 2 - 1)
    return data, score if task == "regression" else np.digitize(score, [-1.0, 1.0])


@pytest.mark.parametrize("task", ["regression", "classes"])
@pytest.mark.parametrize("seed", range(3))
def test_irrelevant_columns_are_counted(task, seed):
    data, target = many_columns(400, task, seed)
    found = check_kernel(Gaussian(3.0), data, target)
    assert found.columns == 40
    assert 35 <= found.irrelevant <= 38
    assert "most columns" in str(found)
    relevant = check_kernel(Gaussian(3.0), data[:, :2], target)
    assert relevant.irrelevant == 0
    assert "most columns" not in str(relevant)


def test_sparse_and_constant_columns():
    data = np.zeros((100, 3))
    data[:40, 0] = 1.0
    data[::2, 2] = 1.0
    target = np.repeat([1, 0], [40, 60])
    for samples in (data, sp.csr_array(data), data.astype(np.float32)):
        found = check_kernel(Linear(), samples, target)
        assert (found.irrelevant, found.columns) == (2, 3)


def test_irrelevant_columns_are_no_business_without_a_target():
    found = check_kernel(Gaussian(1.0), X)
    assert found.irrelevant is None
    assert found.alignment is None
    assert "alignment" not in str(found)


@pytest.mark.parametrize(
    ("k", "data", "target"),
    [
        (Gaussian(1e-3), rng.normal(size=(30, 20)), rng.integers(0, 2, 30)),
        (Custom(lambda A, B: A @ B.T - 9 * (A[:, :1] - B.T[:1]) ** 3), rng.normal(size=(30, 20)), np.arange(30) % 2),
        (NegativeDistance(L1()), X, y),
    ],
    ids=["narrow", "all wrong", "cpd"],
)
def test_the_report_prints_in_at_most_twelve_lines(k, data, target):
    text = str(check_kernel(k, data, target))
    assert len(text.splitlines()) <= 12
    assert max(map(len, text.splitlines())) <= 120
    for word in ("symmetric", "eigenvalues", "positive semi-definite", "rank", "dominance", "alignment", "columns"):
        assert word in text


@pytest.mark.parametrize("k", [Sigmoid(1.0, -1.0), Gaussian(0.5) - Gaussian(1.0), Laplacian(1.0), Linear()], ids=repr)
def test_many_samples_take_the_path_of_products(k, monkeypatch):
    """With small limits, so that the whole truth can be computed too."""
    monkeypatch.setattr(report, "DENSE_SAMPLES", 100)
    monkeypatch.setattr(report, "LANCZOS_SAMPLES", 250)
    data = np.random.default_rng(3).normal(size=(400, 2))
    found = check_kernel(k, data, data[:, 0])
    assert (found.samples, found.dense_samples, found.spectrum_samples) == (400, 100, 250)
    K = k(data)
    values = np.linalg.eigvalsh(K)
    psd = k.validity == "psd"
    assert found.psd is psd
    assert values[0] - 1e-9 * values[-1] <= found.smallest_eigenvalue
    assert found.largest_eigenvalue <= values[-1] * (1 + 1e-9)
    assert found.largest_eigenvalue > 0.4 * values[-1]
    if not psd:
        assert found.witness.shape == (400,)
        assert found.witness @ K @ found.witness == pytest.approx(found.smallest_eigenvalue)
        assert np.count_nonzero(found.witness) <= 250
    assert "100 of 400 samples" in str(found)
    assert "Lanczos" in str(found)


def test_lanczos_finds_what_the_stored_part_misses(monkeypatch):
    """A single bad pair, outside the samples that are looked at in full."""
    monkeypatch.setattr(report, "DENSE_SAMPLES", 50)
    monkeypatch.setattr(report, "LANCZOS_SAMPLES", 300)
    order = np.random.default_rng(0).permutation(200)
    a, b = order[150], order[160]
    K = np.eye(200)
    K[a, b] = K[b, a] = 3.0
    found = check_kernel(Precomputed(), K)
    assert found.smallest_eigenvalue == pytest.approx(-2.0)
    assert found.witness @ K @ found.witness == pytest.approx(-2.0)
    assert found.spectrum_samples == 200


def test_fifty_thousand_samples_are_affordable(monkeypatch):
    monkeypatch.setattr(report, "DENSE_SAMPLES", 400)
    monkeypatch.setattr(report, "LANCZOS_SAMPLES", 1000)
    data = np.random.default_rng(0).normal(size=(50_000, 3))
    found = check_kernel(Sigmoid(1.0, -1.0), data, data[:, 0] > 0)
    assert (found.samples, found.dense_samples, found.spectrum_samples) == (50_000, 400, 1000)
    where = np.flatnonzero(found.witness)
    z = found.witness[where]
    assert z @ Sigmoid(1.0, -1.0)(data[where]) @ z == pytest.approx(found.smallest_eigenvalue, rel=1e-6)
    assert found.smallest_eigenvalue < 0
    assert len(str(found).splitlines()) <= 12


def test_one_sample():
    found = check_kernel(Linear(), [[2.0]])
    assert found.psd
    assert found.smallest_eigenvalue == found.largest_eigenvalue == 4.0


@pytest.mark.parametrize(
    ("k", "data", "target", "error", "message"),
    [
        (lambda a, b: 1.0, X, None, TypeError, r"got a function.*Custom\(f\)"),
        ("rbf", X, None, TypeError, "got a str"),
        (Gaussian, X, None, TypeError, "got a function|expected a kernel"),
        (Linear(), X, y[:5], ValueError, r"one entry per sample, 60 of them, but its shape is \(5,\)"),
        (Linear(), X, np.full(60, np.nan), ValueError, "NaN"),
        (Linear(), X, np.ones(60), ValueError, "for every sample"),
        (Linear(), X, np.ones((60, 2)), ValueError, "for every sample"),
        (Linear(), [[1e200], [1e200]], None, ValueError, "gives inf for samples 0 and 0"),
        (Precomputed(), np.ones((3, 2)), None, ValueError, "shape"),
    ],
)
def test_mistakes_are_refused_by_name(k, data, target, error, message):
    with pytest.raises(error, match=message):
        check_kernel(k, data, target)
