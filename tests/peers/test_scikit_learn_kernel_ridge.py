"""scikit-learn's own tests of KernelRidge, run on ours."""

import sklearn.tests.test_kernel_ridge as own

from mercer import KernelRidge

own.KernelRidge = KernelRidge

from sklearn.tests.test_kernel_ridge import *  # noqa: E402, F403
