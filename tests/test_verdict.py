"""What bounds say of the target, at their very ends."""

import pytest

from plcp._verdict import verdict_of
from plcp.metrics import Verdict


@pytest.mark.parametrize(
    ("low", "high", "target", "verdict"),
    [
        (0.9, 1.0, 0.9, "above"),  # coverage of the target is what was asked for
        (0.8, 0.9, 0.9, "on target"),  # which the upper end still allows
        (0.5, 0.89, 0.9, "below"),
        (0.75, 0.95, 0.875, "on target"),  # twice the misses are just excluded
        (0.74, 0.95, 0.875, "undecided"),
        (0.0, 1.0, 0.5, "undecided"),  # nothing is excluded, be it twice the misses
    ],
)
def test_verdicts_at_the_ends_of_what_they_say(low, high, target, verdict):
    assert verdict_of(low, high, target) == Verdict(verdict)
