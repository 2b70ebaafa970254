"""scikit-learn's own tests of its support vector machines on sparse data, run on ours."""

import pytest

from .swapped import peer_tests

globals().update(peer_tests("test_sparse", {}))
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow("every kind of sparse matrix with every kernel, each against a dense one"),
]
