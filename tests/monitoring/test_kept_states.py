"""States that no monitor can have written: counts below nothing, numbers without end."""

import json

import numpy as np
import pytest

from plcp import SplitConformal
from plcp.monitoring import Monitor


@pytest.fixture
def split():
    return SplitConformal().fit(np.zeros((50, 1)), np.arange(50.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("misses", "-1"),
        ("height", "1e999"),
        ("growth", "[0.0, 0.0, 0.0, 0.0, 0.0, -1e999]"),
        ("starts", "[1e999, 0.0, 0.0, 0.0, 0.0, 0.0]"),
    ],
)
def test_values_that_nothing_counts_to_are_refused(name, value, split):
    """JSON knows no infinity, but Python reads 1e999 as one."""
    state = split.monitor().update(np.zeros((9, 1)), np.zeros(9)).to_json()
    kept = json.loads(state)["groups"]["all"][name]
    spoiled = state.replace(f'"{name}": {json.dumps(kept)}', f'"{name}": {value}', 1)
    assert spoiled != state
    with pytest.raises(ValueError, match="give what to_json wrote"):
        Monitor.from_json(split, spoiled)
