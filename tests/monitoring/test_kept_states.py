"""States that are refused: of another rule, or such as no monitor can have written."""

import json

import numpy as np
import pytest

from plcp import LinearQuantile, Rectified, SplitConformal
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


def test_a_rule_is_another_by_its_number_of_rows_its_alpha_or_its_thresholds(rng, split):
    """Each of them alone: the rest is the same in both rules."""
    X, scores = np.zeros((50, 1)), np.arange(50.0)
    more_rows = SplitConformal().fit(np.zeros((51, 1)), np.append(scores, -1.0))
    for other in (more_rows, SplitConformal(0.101).fit(X, scores)):
        assert other.threshold_ == split.threshold_
        with pytest.raises(ValueError, match="other thresholds"):
            Monitor.from_json(other, split.monitor().to_json())
    X, scores = rng.uniform(size=(60, 1)), rng.exponential(size=60)
    one, two = (Rectified(LinearQuantile(), random_state=seed).fit(X, scores) for seed in (0, 1))
    with pytest.raises(ValueError, match="other thresholds"):
        Monitor.from_json(one, two.monitor().to_json())
