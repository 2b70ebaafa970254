"""scikit-learn's own tests of its searches, run on ours with every estimator of theirs put through ``Trials``."""

import pytest

from .swapped import in_place, nothing_left, peer_tests

EXCLUDED = {
    "test_search_callbacks_propagation": "counts tasks within every fit; cells that share are not fitted one by one",
    "test_custom_run_search": "wants no attribute beside those of its own subclass of the private BaseSearchCV",
}

module, tests = peer_tests("test_search", EXCLUDED)
globals().update(tests)
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow("hundreds of searches")]


@pytest.fixture(autouse=True)
def _nothing_left():
    with in_place(module), nothing_left():
        yield
