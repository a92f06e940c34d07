"""A monitor of a rule: what it counts, reports, keeps and refuses."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import plcp
from plcp import (
    PLCP,
    AbsoluteResidual,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    InfiniteThresholdWarning,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    Rectified,
    SignedResidual,
    SplitConformal,
)
from plcp.monitoring import Monitor
from plcp.monitoring.bounds import anytime_bounds
from plcp.monitoring.watches import watches_of

OVERLAPPING = {"large": lambda X: X[:, 0] > 0.3, "small": lambda X: X[:, 0] < 0.6}
RULES = [
    SplitConformal(),
    Mondrian(lambda X: X[:, 0] > 0.5),
    PLCP(OrderedPartition(LinearQuantile()), n_groups=3, calibration="split", random_state=0),
    PLCP(OrderedPartition(LinearQuantile()), n_groups=3, random_state=0),
    BatchGCP(OVERLAPPING),
    BatchMVP(OVERLAPPING),
    ConditionalCalibration(groups=OVERLAPPING),
    ConditionalCalibration(),
    Rectified(LinearQuantile(), random_state=0),
    LocalCP(random_state=0),
    SplitConformal(alpha=[0.1, 0.3]),
]


def pairs(rng, n):
    X = rng.uniform(size=(n, 2))
    return X, rng.exponential(1 + X[:, 0])


@pytest.fixture
def split(rng):
    return SplitConformal().fit(*pairs(rng, 200))


def named(value):
    """Return a name that is the same in every process."""
    return str(value) if isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_it_counts_what_the_rule_itself_says_of_the_rows(rule, rng):
    rule.fit(*pairs(rng, 400))
    X, scores = pairs(rng, 300)
    found = rule.monitor().update(X, scores).report().groups
    rules = getattr(rule, "rules_", [rule])
    expected = []
    for each in rules:
        covered = scores <= each.predict(X)
        members = {"all": np.arange(300), **each.members(X)}
        expected += [(len(rows), int(covered[rows].sum())) for rows in members.values()]
    assert [(group.n, group.hits) for group in found] == expected
    assert {group.target for group in found} == {1 - each.alpha for each in rules}


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_batches_make_no_difference_and_its_state_goes_on_to_the_bit(rule, rng):
    rule.fit(*pairs(rng, 400))
    X, scores = pairs(rng, 400)
    scores[200:] *= 1.7
    times = [f"day {row // 50}" for row in range(400)]
    whole = rule.monitor().update(X, scores, at=times).to_json()
    monitor = rule.monitor()
    for start, end in [(0, 1), (1, 2), (2, 199), (199, 260), (260, 400)]:
        monitor.update(X[start:end], scores[start:end], at=times[start:end])
        monitor = Monitor.from_json(rule, monitor.to_json())
    assert monitor.to_json() == whole


def test_blocks_make_no_difference_either(rng, split, monkeypatch):
    X, scores = pairs(rng, 500)
    scores[250:] *= 3
    whole = split.monitor().update(X, scores)
    monkeypatch.setattr("plcp.monitoring.martingale.BLOCK", 7)
    assert split.monitor().update(X, scores).to_json() == whole.to_json()
    assert whole.report().drifting


def test_what_it_remembers_does_not_grow(rng, split):
    monitor, sizes = split.monitor(), []
    for _ in range(5):
        X, scores = pairs(rng, 50_000)
        sizes.append(len(monitor.update(X, scores, at="2026-05-01").to_json()))
    digits = 20 * 24  # all numbers there are, with all their digits
    assert max(sizes) <= min(sizes) + digits
    assert max(sizes) < 2000


def test_a_drift_is_reported_with_times_and_coverage_since(rng, split):
    X, scores = pairs(rng, 3000)
    scores[2000:] *= 2
    days = np.datetime64("2026-01-01") + np.arange(3000) // 100
    report = split.monitor().update(X, scores, at=days).report()
    (all_rows,) = report.groups
    drift = all_rows.drift
    assert all_rows.verdict == "drifting"
    assert report.drifting == ["all"]
    assert drift.since_row <= drift.row
    assert drift.at == str(days[drift.row])
    assert drift.since_at == str(days[drift.since_row])
    since = (scores <= split.threshold_)[drift.since_row :]
    assert drift.n == len(since)
    assert drift.coverage == since.mean()
    assert drift.low < drift.coverage < drift.high
    assert all_rows.p_value <= 0.05
    assert f"drifting since row {drift.since_row:,}" in str(report)
    assert str(report).startswith("3,000 rows seen: 1 of 1 groups drifts: all\n")
    many = replace(report, groups=report.groups * 7)
    message = "3,000 rows seen: 7 of 7 groups drift: all, all, all, all, all and 2 more\n"
    assert str(many).startswith(message)


def test_an_alarm_stays_when_the_drift_has_passed(rng, split):
    X, scores = pairs(rng, 1000)
    monitor = split.monitor().update(X, 3 * scores)
    drift = monitor.report().groups[0].drift
    later = monitor.update(*pairs(rng, 20_000)).report().groups[0].drift
    assert (later.row, later.since_row) == (drift.row, drift.since_row)
    assert later.coverage > drift.coverage


def test_bounds_are_shared_out_among_groups(rng):
    rule = Mondrian(lambda X: X[:, 0] > 0.5).fit(*pairs(rng, 200))
    for group in rule.monitor(0.06).update(*pairs(rng, 300)).report().groups:
        assert (group.low, group.high) == anytime_bounds(group.hits, group.n, 0.01)


def test_verdicts_follow_bounds_where_nothing_drifts(rng):
    X, scores = pairs(rng, 400)
    too_small = SplitConformal().fit(X[:9], np.sort(scores)[:9])
    few = too_small.monitor().report().groups[0]
    assert (few.verdict, few.n, few.coverage, few.low, few.high) == ("undecided", 0, None, 0, 1)
    generous = SplitConformal().fit(X, 10 * scores).monitor().update(*pairs(rng, 5000))
    assert generous.report().groups[0].verdict == "above"
    fair = SplitConformal().fit(X, scores).monitor().update(*pairs(rng, 3000))
    assert fair.report().groups[0].verdict == "on target"
    assert str(fair.report()).startswith("3,000 rows seen: no drift in any of 1 groups\n")


def test_an_unlucky_calibration_falls_short_without_a_drift(rng):
    """Nine scores may lie so low that their largest covers four in five: that is chance."""
    X, scores = pairs(rng, 9)
    rule = SplitConformal().fit(X, scores)
    rule.threshold_ = 2.0
    (group,) = rule.monitor().update(*pairs(rng, 4000)).report().groups
    assert group.high < 0.9
    assert (group.verdict, group.drift) == ("below", None)


def test_rows_of_a_group_never_seen_count_among_all_and_are_no_evidence(rng):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    rule = Mondrian(0).fit(X, rng.exponential(size=100))
    monitor = rule.monitor()
    with pytest.warns(InfiniteThresholdWarning):
        monitor.update(np.full((500, 1), 2.0), np.full(500, 1e9))
    overall, *groups = monitor.report().groups
    assert (overall.n, overall.coverage, overall.p_value) == (500, 1.0, 1.0)
    assert [group.n for group in groups] == [0, 0]


def test_a_group_called_all_keeps_its_rows_apart(rng):
    X = pd.DataFrame({"who": rng.choice(["all", "some"], 300)})
    rule = Mondrian("who").fit(X, rng.exponential(size=300))
    monitor = rule.monitor().update(X, rng.exponential(size=300))
    assert [group.group for group in monitor.report().groups] == ["all", "all (2)", "some"]
    assert monitor.report().groups[0].n == 300


def test_groups_given_by_hand_are_given_again(rng):
    X, scores = pairs(rng, 300)
    labels = rng.choice(["a", "b"], 300)
    rule = Mondrian().fit(X, scores, groups=labels)
    report = rule.monitor().update(X, scores, rule_groups=labels).report()
    assert [group.n for group in report.groups] == [
        300,
        (labels == "a").sum(),
        (labels == "b").sum(),
    ]


def test_weighted_rows_count_for_less_and_the_guarantee_says_so(rng):
    X, scores = pairs(rng, 500)
    plain = Mondrian(lambda X: X[:, 0] > 0.5).fit(X, scores)
    (even,) = watches_of(plain)
    assert "at most 0.05" in plain.monitor().guarantee_
    weighted = plain.fit(X, scores, sample_weight=rng.exponential(size=500) ** 2)
    (uneven,) = watches_of(weighted)
    assert "Approximate" in weighted.monitor().guarantee_
    for group, urn in uneven.groups.items():
        assert sum(urn) < sum(even.groups[group])


EXACT = [True, True, True, False, False, False, False, False, True, False]


@pytest.mark.parametrize(("rule", "exact"), [*zip(RULES[:-1], EXACT, strict=True)], ids=named)
def test_it_says_whether_alarms_are_exact(rule, exact, rng):
    sentence = rule.fit(*pairs(rng, 400)).monitor().guarantee_
    assert ("at most 0.05" in sentence) is exact
    assert ("Approximate" in sentence) is not exact


def model(rng, score, rule):
    X, noise = pairs(rng, 900)
    y = X[:, 1] + noise * rng.choice([-1, 1], 900)
    fitted = FrozenEstimator(LinearRegression().fit(X[:300], y[:300]))
    return ConformalRegressor(fitted, score, rule).fit(X[300:600], y[300:600]), X[600:], y[600:]


def test_a_regressor_is_watched_by_its_labels(rng):
    fitted, X, y = model(rng, AbsoluteResidual(), Mondrian(lambda X: X[:, 0] > 0.5))
    overall, *groups = fitted.monitor().update(X, y).report().groups
    covered = fitted.predict_set(X).contains(y)
    assert overall.hits == covered.sum()
    assert [group.hits for group in groups] == [
        covered[rows].sum() for rows in fitted.members(X).values()
    ]


def test_each_tail_is_watched_at_its_share_of_alpha(rng):
    fitted, X, y = model(rng, SignedResidual(), SplitConformal())
    groups = fitted.monitor().update(X, y).report().groups
    assert [group.group for group in groups] == ["tail 1, all", "tail 2, all"]
    assert [group.target for group in groups] == [0.95, 0.95]
    missed = 2 * len(y) - sum(group.hits for group in groups)
    assert missed == len(y) - fitted.predict_set(X).contains(y).sum()  # no row misses both


def test_alphas_of_a_regressor_are_watched_one_by_one(rng):
    fitted, X, y = model(rng, AbsoluteResidual(), SplitConformal(alpha=[0.1, 0.4]))
    groups = fitted.monitor().update(X, y).report().groups
    assert [group.group for group in groups] == ["alpha 0.1, all", "alpha 0.4, all"]
    assert groups[0].hits > groups[1].hits


def classified(rng, score=None):
    X = rng.normal(size=(900, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=900), [-0.5, 0.5])]
    fitted = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    sets = ConformalClassifier(fitted, score, SplitConformal()).fit(X[300:600], y[300:600])
    return sets, X[600:], y[600:]


def test_a_classifier_is_watched_by_its_labels(rng):
    sets, X, y = classified(rng)
    monitor = sets.monitor().update(X, y)
    assert monitor.report().groups[0].hits == sets.predict_set(X).contains(y).sum()
    assert "at most 0.05" in monitor.guarantee_


def test_a_score_that_learned_from_the_same_rows_makes_alarms_approximate(rng):
    sets, _, _ = classified(rng, CumulativeProbability(temperature="fit"))
    assert "Approximate" in sets.monitor().guarantee_


def test_reports_are_tables_and_dicts(rng, split):
    X, scores = pairs(rng, 500)
    report = split.monitor().update(X, 3 * scores).report()
    frame = report.to_pandas()
    assert frame.loc[0, "group"] == "all"
    assert frame.loc[0, "drift_since_row"] == report.groups[0].drift.since_row
    assert json.loads(json.dumps(report.to_dict()))["groups"][0]["n"] == 500
    quiet = split.monitor().report().to_pandas()
    assert list(quiet.columns) == list(frame.columns)
    assert quiet.loc[0, "drift_row"] is None


def test_no_rows_change_nothing(rng, split):
    monitor = split.monitor().update(*pairs(rng, 50))
    before = monitor.to_json()
    assert monitor.update(np.empty((0, 2)), []).to_json() == before


BAD = {
    "NaN at row 2": ([1.0, 2.0, np.nan], {}),
    "X has 3 rows and y has 2": ([1.0, 2.0], {}),
    "at has 2 times and X has 3 rows": ([1.0, 2.0, 3.0], {"at": ["a", "b"]}),
    "SplitConformal does not: leave them out": ([1.0, 2.0, 3.0], {"rule_groups": [1, 2, 3]}),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_rows_are_refused_and_leave_it_as_it_was(sentence, rng, split):
    monitor = split.monitor().update(*pairs(rng, 50))
    before = monitor.to_json()
    scores, options = BAD[sentence]
    with pytest.raises(ValueError, match=sentence):
        monitor.update(np.zeros((3, 2)), scores, **options)
    assert monitor.to_json() == before


@pytest.mark.parametrize(("X", "y"), [(None, [1.0]), (np.zeros((1, 2)), None), (0.0, 1.0)])
def test_rows_or_labels_that_are_none_are_refused(X, y, split):
    with pytest.raises(ValueError, match="X and y must hold rows and one label per row"):
        split.monitor().update(X, y)


@pytest.mark.parametrize("rate", [0, 1, -0.1, "0.05", None])
def test_a_rate_is_a_share(rate, split):
    with pytest.raises(ValueError, match="rate must lie in"):
        split.monitor(rate)


@pytest.mark.parametrize("rule", [SplitConformal(), ConformalRegressor(LinearRegression())])
def test_what_is_not_fitted_cannot_be_watched(rule):
    with pytest.raises(NotFittedError):
        rule.monitor()


def test_a_rule_is_another_by_its_number_of_rows_its_alpha_or_its_thresholds(rng):
    """Each of them alone: the rest is the same in both rules."""
    X, scores = np.zeros((50, 1)), np.arange(50.0)
    split = SplitConformal().fit(X, scores)
    more_rows = SplitConformal().fit(np.zeros((51, 1)), np.append(scores, -1.0))
    for other in (more_rows, SplitConformal(0.101).fit(X, scores)):
        assert other.threshold_ == split.threshold_
        with pytest.raises(ValueError, match="other thresholds"):
            Monitor.from_json(other, split.monitor().to_json())
    X, scores = rng.uniform(size=(60, 1)), rng.exponential(size=60)
    one, two = (Rectified(LinearQuantile(), random_state=seed).fit(X, scores) for seed in (0, 1))
    with pytest.raises(ValueError, match="other thresholds"):
        Monitor.from_json(one, two.monitor().to_json())


def test_a_refit_of_the_rule_is_noticed(rng, split):
    monitor = split.monitor().update(*pairs(rng, 50))
    split.fit(*pairs(rng, 200))
    with pytest.raises(ValueError, match="fitted again: begin again"):
        monitor.update(*pairs(rng, 50))
    assert monitor.n_rows_ == 50


def changed(state, **values):
    return json.dumps({**json.loads(state), **values})


def changed_group(state, **values):
    whole = json.loads(state)
    whole["groups"]["all"].update(values)
    return json.dumps(whole)


def changed_origins(state, **values):
    return changed_group(state, origins=json.loads(state)["groups"]["all"]["origins"] | values)


def alarm_after(n, misses):
    return {"n": n, "misses": misses, "row": n, "since_row": n, "stamp": None, "since_stamp": None}


SPOILED = [
    lambda state: "no json",
    lambda state: "[]",
    lambda state: None,
    lambda state: state.replace("plcp monitor 1", "plcp monitor 2"),
    lambda state: changed(state, more=1),
    lambda state: changed_group(state, n=60.5),
    lambda state: changed_group(state, n=True, misses=0),
    lambda state: changed(state, groups={}),
    lambda state: changed(state, groups={"all": 3}),
    lambda state: changed_group(state, misses=51),
    lambda state: changed_group(state, growth=[0.0]),
    lambda state: changed_group(state, growth=None),
    lambda state: changed_group(state, starts=["a"] * 6),
    lambda state: changed_group(state, height=float("nan")),
    lambda state: changed_group(state, height=1),
    lambda state: changed_group(state, origins={}),
    lambda state: changed_group(state, alarm={"row": 1}),
    lambda state: "[" * 100_000,
    lambda state: changed_group(state, n="n").replace('"n": "n"', '"n": ' + "9" * 5000),
    lambda state: changed_group(state, n=10**30),
    lambda state: changed_group(state, alarm=alarm_after(50, 0)),  # raised by no row
    lambda state: changed_group(state, alarm=alarm_after(51, 0)),
    lambda state: changed_group(state, alarm=alarm_after(0, 51)),
    lambda state: changed_group(state, alarm=alarm_after(-1, 0)),
    lambda state: changed_group(state, misses=-1),
    # JSON has no infinity, but Python reads 1e999 as one
    lambda state: changed_group(state, height="inf").replace('"inf"', "1e999"),
    lambda state: changed_group(state, growth=["inf"] * 6).replace('"inf"', "-1e999"),
    lambda state: changed_group(state, starts=["inf"] * 6).replace('"inf"', "1e999"),
    lambda state: changed_origins(state, n=[51] * 6),
    lambda state: changed_origins(state, misses=[1] * 6, n=[0] * 6),
    lambda state: changed_origins(state, row=[10**30] * 6),
]


@pytest.mark.parametrize("spoil", SPOILED, ids=range(len(SPOILED)))
def test_a_spoiled_state_is_refused(spoil, rng, split):
    state = split.monitor().update(*pairs(rng, 50)).to_json()
    with pytest.raises(ValueError, match="give what to_json wrote"):
        Monitor.from_json(split, spoil(state))


def test_a_rule_without_a_count_of_rows_is_refused(split):
    del split._n_calibration
    with pytest.raises(ValueError, match="fit it again"):
        split.monitor()


def test_a_rule_that_was_kept_and_read_back_goes_on_with_the_state(rng, split, tmp_path):
    state = split.monitor().update(*pairs(rng, 50)).to_json()
    plcp.save(split, tmp_path / "rule.plcp")
    assert Monitor.from_json(plcp.load(tmp_path / "rule.plcp"), state).to_json() == state
