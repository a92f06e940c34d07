"""Audits: groups that are learned from misses, and the columns that may describe them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bands import FALSE_ALARM
from plcp.evaluation import Outcome, audit, auditing as failures, choose_features, learn_failures
from plcp.evaluation.auditing import note_on_ert

RUNS = 150
ALPHA, CONFIDENCE = 0.3, 0.5  # few rows then suffice for a verdict, and false alarms are frequent


def features(rng, n):
    return pd.DataFrame(
        {"age": rng.integers(18, 80, size=n), "sex": rng.choice(["f", "m"], size=n)}
    )


def verdicts(groups, covered, alpha=0.1, confidence=0.95):
    measured = groups.measure({"ours": Outcome(covered)}, 1 - alpha, confidence)
    return {group["name"]: group["cells"]["ours"]["verdict"] for group in measured}


def test_sets_that_fail_at_random_are_seldom_accused(rng, monkeypatch):
    # the law must hold whatever number of leaves is chosen; the most makes the most accusations
    monkeypatch.setattr(failures, "count_leaves", lambda *_: failures.MOST_LEAVES)
    alarms, parted = 0, 0
    for seed in range(RUNS):
        X, covered = features(rng, 800), rng.random(800) < 1 - ALPHA
        groups = learn_failures(X, covered, alpha=ALPHA, confidence=CONFIDENCE, seed=seed)
        parted += len(groups.groups) > 1
        alarms += "below" in verdicts(groups, covered, ALPHA, CONFIDENCE).values()
    assert parted == RUNS
    # upper bounds err on one side only: half of 1 - confidence
    assert alarms <= binom.isf(FALSE_ALARM, RUNS, (1 - CONFIDENCE) / 2)


def test_a_hidden_failing_region_is_found_and_named(rng):
    X = features(rng, 8000)
    hidden = (X["age"] >= 60) & (X["sex"] == "m")
    covered = rng.random(8000) < np.where(hidden, 0.6, 0.93)
    groups = learn_failures(X, covered)
    assert verdicts(groups, covered)["age ≥ 60 and sex is m"] == "below"
    assert groups.groups[0].name == groups.groups[0].rule == "age ≥ 60 and sex is m"
    found = groups.rows[groups.codes == 0]
    np.testing.assert_array_equal(found, groups.rows[hidden[groups.rows]])


def test_halves_are_disjoint_and_make_up_all_rows(rng, monkeypatch):
    seen = {}
    grow = failures.RuleTree.fit

    def spy(self, X, y):
        seen.setdefault("rows", set()).update(X.index)
        return grow(self, X, y)

    monkeypatch.setattr(failures.RuleTree, "fit", spy)
    X = features(rng, 3001)
    groups = learn_failures(X, rng.random(3001) < np.where(X["age"] < 50, 0.95, 0.6))
    assert seen["rows"].isdisjoint(groups.rows)
    assert seen["rows"] | {*groups.rows} == {*range(3001)}
    assert len(groups.rows) == 1501


def test_groups_come_from_the_least_covered_to_the_most(rng):
    X = features(rng, 20_000)
    covered = rng.random(20_000) < 1 - X["age"].to_numpy() / 160
    groups = learn_failures(X, covered)
    shares = [covered[groups.rows][groups.codes == i].mean() for i in range(len(groups.groups))]
    assert len(shares) > 3
    assert shares == sorted(shares)


def test_where_nothing_stands_out_it_is_said(rng):
    X = features(rng, 4000)
    groups = learn_failures(X, np.ones(4000, dtype=bool))
    assert [group.name for group in groups.groups] == ["rows not searched"]
    assert groups.about.startswith("No kind of row was found on which the sets fail more often")
    assert len(groups.rows) == len(groups.codes) == 2000


@pytest.mark.parametrize("columns", [["age", "sex"], []])
def test_few_rows_or_no_columns_are_not_searched_and_all_rows_measured(rng, columns):
    X = features(rng, 300)[columns]
    groups = learn_failures(X, rng.random(300) < 0.5)
    assert [group.name for group in groups.groups] == ["all rows"]
    assert groups.rows is None
    assert len(groups.codes) == 300
    reason = "need 636 rows, and there are 300" if columns else "no columns"
    assert reason in groups.about


def test_the_same_seed_gives_the_same_groups_and_another_other_halves(rng):
    X = features(rng, 4000)
    covered = rng.random(4000) < np.where(X["sex"] == "f", 0.95, 0.7)
    one, same, other = (learn_failures(X, covered, seed=seed) for seed in (1, 1, 2))
    assert one.groups == same.groups
    np.testing.assert_array_equal(one.rows, same.rows)
    assert (one.rows != other.rows).any()


def test_rates_beyond_all_data_are_no_error(rng):
    groups = learn_failures(features(rng, 50), np.ones(50, dtype=bool), alpha=1e-12)
    assert [group.name for group in groups.groups] == ["all rows"]


def test_whether_misses_can_be_predicted_is_said(rng):
    X = features(rng, 2000)
    depends = rng.random(2000) < np.where(X["age"] < 50, 1.0, 0.6)
    assert "is off by" in note_on_ert(X, depends, 0.1)[0]
    assert "cannot predict" in note_on_ert(X, rng.random(2000) < 0.9, 0.1)[0]
    assert note_on_ert(X.head(99), depends[:99], 0.1) == []
    assert note_on_ert(X[[]], depends, 0.1) == []


def test_an_audit_searches_only_columns_that_can_describe_kinds_of_rows(rng):
    X = features(rng, 4000)
    missed = (X["age"] > 60).to_numpy() & (rng.random(4000) < 0.9)
    frame = X.assign(
        covered=~missed,
        name=[f"person {i}" for i in range(4000)],
        empty=None,
        tags=[["a"]] * 4000,
    )
    summary = audit(frame, covered="covered").to_dict()
    notes = " ".join(summary["notes"])
    for name in ("name", "empty", "tags"):
        assert f"Column '{name}' was not searched" in notes
    assert summary["learned"]["groups"][0]["name"] == "age ≥ 61"
    for other in (
        audit(frame, covered="covered", exclude=["age"]).to_dict(),
        audit(frame, covered="covered", features=["sex"]).to_dict(),
    ):
        assert not any("age" in group["name"] for group in other["learned"]["groups"])


@pytest.mark.parametrize("copies", [0, 1, 22, 23, 400])
def test_copied_rows_are_reported_and_warned_of_where_they_are_many(rng, copies):
    X = features(rng, 200).assign(y=rng.normal(size=200), low=-1.7, high=1.7, tags=[["a"]] * 200)
    frame = pd.concat([X, *[X] * (copies // 200), X.head(copies % 200)])
    summary = audit(frame, target="y", lower="low", upper="high").to_dict()
    warning, notes = summary["headline"]["warning"] or "", " ".join(summary["notes"])
    result = f"{copies} row{'' if copies == 1 else 's'} of {200 + copies} are copies"
    assert (result in warning, result in notes) == (copies >= 23, 0 < copies < 23)  # a tenth of all
    judged = frame.assign(covered=True).drop(columns=["y", "low", "high"])
    assert "copies" not in str(audit(judged, covered="covered").to_dict())


TABLE = pd.DataFrame({"age": [1, 2], "sex": ["f", "m"], "y": [0.5, 1.5]})


def test_all_but_what_is_left_out():
    chosen, _ = choose_features(TABLE, None, ["y"])
    assert list(chosen.columns) == ["age", "sex"]


def test_those_that_are_named():
    chosen, _ = choose_features(TABLE, ["sex"], ["y"])
    assert list(chosen.columns) == ["sex"]


def test_one_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="height"):
        choose_features(TABLE, ["height"], [])


def test_what_names_rows_or_never_changes_is_not_searched_unless_named():
    n = 150
    table = pd.DataFrame(
        {
            "id": range(n),
            "key": [27_000_000_000_000_000 + i for i in range(n)],
            "gap": [None, *range(1, n)],
            "same": 1.5,
            "word": ["x"] * n,
            "amount": [i + 0.5 for i in range(n)],
            "day": pd.date_range("2020-01-01", periods=n),
            "maybe": [None, *["x"] * (n - 1)],
        }
    )
    chosen, notes = choose_features(table, None, [])
    assert list(chosen.columns) == ["amount", "day", "maybe"]
    unsearched = ("id", "key", "gap", "same", "word")
    assert [note.split("'")[1] for note in notes[:-1]] == [*unsearched]
    assert "name all features" in notes[-1]
    assert list(choose_features(table, ["id", "same"], [])[0].columns) == ["id", "same"]


@pytest.mark.parametrize("prefix", ["", "plcp_"])
@pytest.mark.parametrize(
    "made",
    [
        ["lower", "upper", "group", "threshold"],
        ["set", "threshold"],
        ["group", "threshold"],
        ["lower", "upper", "threshold", "lower_0.05", "upper_0.05", "threshold_0.05"],
    ],
)
def test_columns_that_apply_made_are_not_searched(prefix, made):
    table = TABLE.assign(**{prefix + name: [0.5, 1.5] for name in made})
    chosen, notes = choose_features(table, None, ["y"])
    assert list(chosen.columns) == ["age", "sex"]
    assert len(notes) == len(made) + 1


def test_a_group_alone_is_the_users_own():
    table = TABLE.assign(group=["a", "b"])
    assert "group" in choose_features(table, None, [])[0].columns
