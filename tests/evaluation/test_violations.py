"""What fails a build: shortfalls beyond chance, no more often by mistake than is promised."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from bands import FALSE_ALARM
from plcp.evaluation import Described, GroupList, Outcome, summarise
from plcp.evaluation.report import violations

RUNS = 400


def told(covered, confidence=0.95, **options):
    return summarise({"ours": Outcome(covered)}, alpha=0.1, confidence=confidence, **options)


@pytest.mark.parametrize("hits", range(60, 101, 4))
def test_all_rows_fail_where_the_exact_upper_bound_is_below(hits):
    covered = np.arange(100) < hits
    high = binomtest(hits, 100).proportion_ci(0.95, "exact").high
    for least in (0.5, 0.75, 0.9):
        assert bool(violations(told(covered), least)) == (high < least)


@pytest.mark.parametrize("hits", range(76, 90))
def test_a_group_fails_by_the_bound_for_all_groups_at_once(hits):
    codes = np.repeat(np.arange(5), 100)
    covered = np.concatenate([np.arange(100) < hits, np.ones(400, dtype=bool)])
    learned = GroupList([Described(f"g{i}") for i in range(5)], codes, "")
    high = binomtest(hits, 100).proportion_ci(1 - 0.05 / 5, "exact").high
    found = violations(told(covered, learned=learned), 0.9)
    assert [line.split(":")[0] for line in found] == ["g0"] * (high < 0.9)


def test_named_and_learned_groups_fail_by_name():
    covered = np.r_[np.ones(300, dtype=bool), np.zeros(30, dtype=bool)]
    codes = np.repeat([0, 1, 2], [300, 29, 1])
    learned = GroupList([Described("good"), Described("bad"), Described("one")], codes, "")
    summary = told(covered, learned=learned, frame={"kind": np.where(codes, "b", "g")}, by=["kind"])
    found = violations(summary, 0.8)
    assert [line.split(":")[0] for line in found] == ["bad", "kind is b"]
    assert found[0].startswith("bad: covers 0 % of 29 rows (0.0 to ")
    assert found[0].endswith("below 80 %.")


def test_the_last_method_is_judged():
    good, bad = Outcome(np.ones(50, dtype=bool)), Outcome(np.zeros(50, dtype=bool))
    assert violations(summarise({"a": bad, "b": good}, alpha=0.1), 0.9) == []
    assert len(violations(summarise({"a": good, "b": bad}, alpha=0.1), 0.9)) == 1


def test_false_alarms_are_as_rare_as_promised(rng):
    confidence, alarms = 0.5, 0
    for _ in range(RUNS):
        codes = rng.integers(0, 5, size=200)
        frame = {"kind": codes.astype(str), "half": rng.choice(["a", "b"], size=200)}
        summary = told(rng.random(200) < 0.9, confidence, frame=frame, by=["kind", "half"])
        alarms += bool(violations(summary, 0.9))
    # all rows, no learned groups, and two named columns: three lists that can err
    assert alarms <= binom.isf(FALSE_ALARM, RUNS, 3 * (1 - confidence) / 2)


@pytest.mark.parametrize("least", [0, 1, 90])
def test_what_is_no_share_is_refused(least):
    with pytest.raises(ValueError, match="fail_under must lie in"):
        violations(told(np.ones(3, dtype=bool)), least)
