"""scikit-learn's own tests of its successive halving, run on ours with every estimator put through ``Trials``."""

import pytest

from .swapped import in_place, nothing_left, peer_tests

EXCLUDED = {
    "test_base_estimator_inputs": "counts calls of set_params, which ``Trials`` makes once more for every cell",
}

module, tests = peer_tests("test_successive_halving", EXCLUDED)
globals().update(tests)
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow("hundreds of searches")]


@pytest.fixture(autouse=True)
def _nothing_left():
    with in_place(module), nothing_left():
        yield
