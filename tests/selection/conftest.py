"""What scikit-learn's tests expect of pytest."""

from tests.peers.conftest import global_random_seed, pytest_configure

__all__ = ["global_random_seed", "pytest_configure"]
