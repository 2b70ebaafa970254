"""What scikit-learn's tests expect of pytest."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: of scikit-learn, for tests that run alone")
    config.addinivalue_line("filterwarnings", "ignore:Passing a non-Collection iterable to parametrize")


@pytest.fixture
def global_random_seed():
    return 42
