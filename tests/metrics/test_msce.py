"""The mean squared conditional coverage error, where it is known."""

import numpy as np
import pytest

from plcp.metrics import msce


def test_msce_of_exact_coverage_is_zero_and_grows_with_the_square():
    assert msce(np.full(5, 0.9), alpha=0.1) == pytest.approx(0, abs=1e-30)
    assert msce([0.8, 1.0, 0.9], alpha=0.1) == pytest.approx(0.02 / 3)
    assert msce([0.9 - 0.2, 0.9 + 0.1], 0.1) == pytest.approx((0.04 + 0.01) / 2)
