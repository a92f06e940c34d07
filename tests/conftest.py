"""One seed for every test that draws."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Return the generator every random test draws from."""
    return np.random.default_rng(20240707)
