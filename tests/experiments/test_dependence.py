"""Gains over Split: what is rid of, in per cent, where Split has anything to be rid of."""

import numpy as np
import pytest

from plcp.experiments.methods import SPLIT
from plcp.experiments.report import dependence, gain, gain_cell, outcome, summarise
from plcp.metrics import hsic, improvement, size_correlation


def summary(*trials):
    """Summary of trials, each a mapping of methods to (covered, size)."""
    everybody = {"all": np.ones(len(trials[0][SPLIT][0]), dtype=bool)}
    return summarise(
        [
            {
                "settings": {"alpha": 0.1},
                "results": {
                    "groups": {"all": 1},
                    "methods": {
                        name: outcome(covered, size, everybody, **dependence(covered, size))
                        for name, (covered, size) in trial.items()
                    },
                },
            }
            for trial in trials
        ]
    )


def draw(rng, n=200):
    covered = rng.uniform(size=n) < 0.9
    return covered, rng.integers(0, 4, n) + covered


@pytest.mark.parametrize(
    ("covered", "size"), [([True] * 4, [1, 2, 3, 4]), ([True, False] * 2, [2] * 4)]
)
def test_a_constant_depends_on_nothing(covered, size):
    assert dependence(np.array(covered), np.array(size)) == {"hsic": 0.0, "pearson": 0.0}


def test_gains_are_those_of_the_metrics_themselves():
    rng = np.random.default_rng(0)
    trials = [{SPLIT: draw(rng), "other": draw(rng)} for _ in range(3)]
    found = summary(*trials)
    for key, metric in (("hsic", hsic), ("pearson", size_correlation)):
        expected = [
            float(improvement(metric(*trial["other"]), metric(*trial[SPLIT]))) for trial in trials
        ]
        np.testing.assert_allclose(gain(found, "other", key), expected, rtol=1e-12)
        assert np.array_equal(gain(found, SPLIT, key), np.zeros(3))


def test_trials_in_which_split_has_no_dependence_tell_nothing():
    rng = np.random.default_rng(0)
    covered, size = draw(rng)
    constant = np.ones_like(size)
    mixed = summary(
        {SPLIT: (covered, constant), "other": (covered, size)},
        {SPLIT: (covered, size), "other": (covered, constant)},
    )
    assert np.array_equal(gain(mixed, "other", "pearson"), [100.0])
    assert gain_cell(mixed, "other", "pearson") == "100"
    nothing = summary({SPLIT: (covered, constant), "other": (covered, size)})
    assert gain_cell(nothing, "other", "hsic") == "–"
