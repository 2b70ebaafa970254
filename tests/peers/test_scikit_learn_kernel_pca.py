"""scikit-learn's own tests of KernelPCA, run on ours."""

import pytest
import sklearn.decomposition.tests.test_kernel_pca as own

from mercer import KernelPCA

own.KernelPCA = KernelPCA

from sklearn.decomposition.tests.test_kernel_pca import *  # noqa: E402, F403

#: They stop its perceptron early, and one of their matrices is no kernel.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Maximum number of iteration reached"),
    pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning"),
]
