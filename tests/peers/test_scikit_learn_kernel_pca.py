"""scikit-learn's own tests of KernelPCA, run on ours."""

import pytest
import sklearn.decomposition.tests.test_kernel_pca as own

from mercer import KernelPCA

own.KernelPCA = KernelPCA

from sklearn.decomposition.tests.test_kernel_pca import *  # noqa: E402, F403

#: They stop its perceptron early.
pytestmark = pytest.mark.filterwarnings("ignore:Maximum number of iteration reached")

#: A Gram matrix that is not symmetric is refused, as everywhere here.
del test_kernel_pca_precomputed_non_symmetric  # noqa: F821


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
def test_precomputed_kernel_not_psd(solver):
    """Without "randomized", of which scikit-learn expects an error: ours finds the largest eigenvalues all the same."""
    own.test_precomputed_kernel_not_psd(solver)
