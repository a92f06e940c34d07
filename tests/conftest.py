"""One seed for every test that draws."""

import os

# scikit-learn skips its array API checks without it; scipy reads it once, at its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

collect_ignore_glob = ["*/conftest.py"]  # several of one name are no modules with doctests


@pytest.fixture
def rng():
    """Return the generator every random test draws from."""
    return np.random.default_rng(20240707)
