"""repair: clip, flip and shift make a Gram matrix PSD, by the book, and the same for new rows as for known ones."""

import numpy as np
import pytest

from mercer.kernels import L1, Custom, Exponential, Gaussian, Linear, Precomputed, Sigmoid, repair
from mercer.validity import check_kernel, is_psd

rng = np.random.default_rng(5)
X = rng.normal(size=(40, 3))
Z = rng.normal(size=(6, 3))
CUBE = np.vstack([np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T, np.full((1, 4), 0.5)])
WORDS = ["kernel", "kern", "colonel", "corn", "acorn", "kern"]
SIMILARITIES = rng.normal(size=(8, 8))
SIMILARITIES = SIMILARITIES + SIMILARITIES.T

CASES = {
    "sigmoid": (Sigmoid(1.0, -1.0), X),
    "unresolved": (Sigmoid("auto", -1.0), X),
    "difference": (Gaussian(0.5) - Gaussian(1.0), X),
    "l1": (Exponential(L1(), beta=10.0, power=2), CUBE),
    "negative": (-1 * Linear(), X),
    "already psd": (Gaussian(1.0), X),
    "duplicates": (Sigmoid(1.0, -1.0), np.vstack([X[:10], X[:10]])),
    "objects": (Custom(lambda a, b: abs(len(a) - len(b)), pairwise=True), WORDS),
    "matrix": (Precomputed(), SIMILARITIES),
}
HOW = ["clip", "flip", "shift"]
NEW = {"clip": lambda v: np.maximum(v, 0), "flip": np.abs, "shift": lambda v: v + max(0.0, -v.min())}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", CASES)
def test_what_is_known_of_it_does_not_change_when_it_is_resolved(name, how):
    k, data = CASES[name]
    assert repair(k, how).validity == repair(k, how).resolve(data).validity


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", CASES)
def test_the_repaired_matrix_is_psd_and_new_rows_are_like_known_ones(name, how):
    k, data = CASES[name]
    repaired = repair(k, how).resolve(data)
    K = repaired(data)
    assert is_psd(K, tol=1e-12)
    assert check_kernel(repaired, data, tol=1e-12).psd
    for i in range(len(data)):
        np.testing.assert_allclose(repaired(data[i : i + 1], data)[0], K[i], atol=1e-11 * np.abs(K).max())
    np.testing.assert_allclose(repaired.diag(data), np.diag(K), atol=1e-11 * np.abs(K).max())


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("duplicates", "objects")])
def test_only_the_spectrum_changes(name, how):
    k, data = CASES[name]
    values, U = np.linalg.eigh(k.resolve(data)(data))
    expected = (U * NEW[how](values)) @ U.T
    np.testing.assert_allclose(
        repair(k, how).resolve(data)(data), expected, atol=1e-10 * max(1.0, np.abs(values).max())
    )


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_new_samples_enter_through_their_similarities(how):
    k = Sigmoid(1.0, -1.0)
    values, U = np.linalg.eigh(k(X))
    kept = values > 0 if how == "clip" else values != 0
    transform = (U[:, kept] * (np.sign(values[kept]) if how == "flip" else 1.0)) @ U[:, kept].T
    np.testing.assert_allclose(repair(k, how).resolve(X)(Z, X), k(Z, X) @ transform, atol=1e-7)


def test_a_shift_leaves_different_samples_alone():
    k = Sigmoid(1.0, -1.0)
    np.testing.assert_array_equal(repair(k, "shift").resolve(X)(Z, X), k(Z, X))


@pytest.mark.parametrize("how", HOW)
def test_float32_rows_are_consistent(how):
    data = X.astype(np.float32)
    repaired = repair(Sigmoid(1.0, -1.0), how).resolve(data)
    K = repaired(data)
    assert is_psd(K, tol=1e-5)
    np.testing.assert_allclose(repaired(data[3:4], data)[0], K[3], atol=1e-4)


@pytest.mark.parametrize("how", HOW)
def test_resolving_again_changes_nothing(how):
    repaired = repair(Sigmoid(1.0, -1.0), how).resolve(X)
    np.testing.assert_array_equal(repaired.resolve(Z)(Z, X), repaired(Z, X))
