"""Every test draws the same numbers on every machine, in any order, with no limit of time."""

import os
import sys
import zlib

# scikit-learn skips its array API checks without it; scipy reads it once, at its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

collect_ignore_glob = ["*/conftest.py"]  # several of one name are no modules with doctests

# how long an example takes depends on what else the machine does, which examples are tried must not
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_runtest_setup(item):
    """Seed what `random_state=None` and new networks draw from by the name of the test."""
    seed = zlib.crc32(item.nodeid.encode())
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.fixture
def rng():
    """Return the generator every random test draws from."""
    return np.random.default_rng(20240707)
