"""scikit-learn's own tests of its successive halving, run on ours; its own warnings are no errors here."""

import pytest

from .swapped import in_place, peer_tests

EXCLUDED: dict[str, str] = {}

module, tests = peer_tests("test_successive_halving", EXCLUDED)
globals().update(tests)
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow("hundreds of searches")]


@pytest.fixture(autouse=True)
def _module_in_place():
    with in_place(module):
        yield
