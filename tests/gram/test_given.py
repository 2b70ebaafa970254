"""Matrices that are given in files: mapped into memory, they are read where they lie and solved like any other."""

import numpy as np
import pytest

from mercer import SVC
from mercer.kernels import Gaussian, Precomputed
from mercer.problem import hinge
from mercer.solvers import SMO

rng = np.random.default_rng(0)
X = rng.standard_normal((700, 5))
y = np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mapped_matrix_is_read_where_it_lies(tmp_path, dtype):
    K = Gaussian(2.0)(X).astype(dtype)
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    gram = Precomputed().gram(mapped)
    assert gram.dtype == dtype
    assert np.shares_memory(gram.samples.matrix, mapped)
    (found,) = SMO().solve(gram, [hinge(y, 1.0)])
    (plain,) = SMO().solve(Precomputed().gram(K), [hinge(y, 1.0)])
    np.testing.assert_array_equal(found.coefficients, plain.coefficients)
    assert found.certificate == plain.certificate
    machines = [SVC(kernel="precomputed").fit(matrix, y) for matrix in (mapped, K)]
    values = [machine.decision_function(matrix[:9]) for machine, matrix in zip(machines, (mapped, K), strict=True)]
    np.testing.assert_array_equal(*values)
