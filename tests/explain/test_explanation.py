"""Explanations of learned groups: rules, names, kinds and text."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed_table
from printed_rules import holds
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp import PLCP, ConformalRegressor, SplitConformal, TreePartition
from plcp.explain import Explanation, explain_groups
from plcp.explain.rules import find_rule, fit_surrogate


def quick(m):
    """Return a rule that learns and answers at once."""
    return PLCP(TreePartition(), m, calibration="split", random_state=0)


@pytest.fixture(scope="module")
def table():
    return mixed_table(np.random.default_rng(1), 3000)


@pytest.fixture(scope="module")
def groups(table):
    """Three groups that two columns decide."""
    return np.where(table["age"] < 40, 0, np.where(table["member"], 2, 1))


@pytest.fixture(scope="module")
def explanation(table, groups):
    return explain_groups(None, table, groups=groups, sensitive=["member", "state", "income"])


@pytest.fixture(scope="module")
def learned(table):
    """Return a rule for scores whose spread age decides, and its features."""
    X = table[["age", "income", "state"]]
    scores = np.abs(np.random.default_rng(2).normal(size=len(X))) * (1 + (X["age"] > 50) * 3)
    return quick(2).fit(X, scores), X


def test_rules_that_decide_the_groups_are_found(table, groups, explanation):
    for one in explanation.groups:
        inside = groups == one.group
        result = holds(one.rule, table, {})
        np.testing.assert_array_equal(result, inside, err_msg=one.rule)
        assert one.precision == one.recall == 1
        assert one.name == f"group {one.group}: {one.rule}"
        assert one.n == inside.sum()
        assert one.share == pytest.approx(inside.mean())
    assert explanation.fidelity == explanation.order == pytest.approx(1)
    assert len(explanation.kinds) == 3
    assert sum(kind.share for kind in explanation.kinds) == pytest.approx(1)
    assert [kind.groups for kind in explanation.kinds] == [(0,), (1,), (2,)]


def test_groups_that_nothing_decides_have_no_rule_and_no_profile(table, rng):
    found = explain_groups(None, table, groups=rng.integers(0, 5, len(table)))
    assert [one.rule for one in found.groups] == [""] * 5
    assert [one.name for one in found.groups] == [f"group {i}" for i in range(5)]
    assert [one.profile for one in found.groups] == [()] * 5
    assert "no short rule" in found.to_text()


def test_quality_is_judged_by_rows_the_rule_did_not_learn_from(rng):
    # a tree always finds something in noise: only rows it has not seen can tell
    X, groups = rng.normal(size=(4000, 5)), rng.integers(0, 2, 4000)
    found = explain_groups(None, X, groups=groups)
    assert [one.precision for one in found.groups] == [None, None]
    assert abs(found.fidelity - 0.5) < 5 * 0.5 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("inside", "rule"),
    [
        (lambda age, u: (age >= 60) & (u < 0.3), "age ≥ 60"),  # of such rows few are in the group
        (lambda age, u: (age == 43) | (u < 0.2), "age = 43"),  # of the group few are such rows
    ],
)
def test_a_rule_that_does_not_describe_its_group_is_not_its_name(rng, inside, rule):
    X = pd.DataFrame({"age": rng.integers(18, 80, 6000), "income": rng.normal(size=6000)})
    groups = inside(X["age"], rng.random(6000)).to_numpy().astype(int)
    found = explain_groups(None, X, groups=groups)
    one = found.groups[1]
    assert (one.rule, one.precision, one.recall) == ("", None, None)
    typical = f" ({one.profile[0].text})" if one.profile else ""
    assert one.name == f"group 1{typical}"
    assert rule not in found.to_text().partition("\nGroups\n")[2]


def test_what_is_typical_stands_in_for_a_rule(rng):
    X = pd.DataFrame({"age": rng.integers(18, 80, 4000), "state": rng.choice(["CA", "NY"], 4000)})
    groups = (X["age"] + rng.normal(scale=25, size=4000) > 55).to_numpy().astype(int)
    older = explain_groups(None, X, groups=groups).groups[1]
    medians = [X["age"][groups == g].median() for g in (1, 0)]
    assert older.name == "group 1 (median age {:g}, others {:g})".format(*medians)


@pytest.mark.parametrize(("d", "most"), [(3, 3), (200, 3)])
def test_columns_do_not_cost_a_prediction_each(rng, monkeypatch, d, most):
    X = rng.normal(size=(400, d))
    rule = quick(2).fit(X, np.abs(rng.normal(size=400)) * (1 + 9 * (X[:, 2] > 0)))
    tables, groups = [], rule.groups
    monkeypatch.setattr(rule, "groups", lambda table: tables.append(len(table)) or groups(table))
    found = explain_groups(rule, X)
    assert found.importance[0].feature == "x2"
    assert len(tables) <= most  # the rows, those to be shuffled, and all shuffles together


def test_of_many_columns_those_that_depend_on_the_groups_are_considered(rng):
    X = rng.normal(size=(2000, 300))
    groups = (X[:, 250] > 0).astype(int) + (X[:, 199] > 1)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(300)])
    found, same = (explain_groups(None, table, groups=groups) for table in (X, frame))
    assert found == same
    assert (found.n_columns, found.n_considered) == (300, 32)
    assert found.fidelity > 0.99
    assert {difference.feature for difference in found.groups[0].profile} == {"x199", "x250"}
    for text in (found.to_text(), found._repr_markdown_()):
        assert "300 columns the 32" in " ".join(text.split())


def test_the_same_seed_has_the_same_names(learned):
    rule, X = learned
    once, again = (explain_groups(rule, X, random_state=3) for _ in range(2))
    assert once == again


def test_a_learned_rule_is_explained_by_what_it_depends_on(learned):
    rule, X = learned
    found = explain_groups(rule, X)
    assert [one.group for one in found.groups] == [0, 1]
    assert found.importance[0].feature == "age"
    assert "age" in found.groups[1].rule
    assert found.groups[1].profile[0].feature == "age"
    assert found.fidelity > found.chance
    assert sum(one.n for one in found.groups) == len(X)


def test_columns_that_the_rule_does_not_use_have_no_part_in_names(rng):
    X = pd.DataFrame({"age": rng.integers(18, 80, 3000)})
    rule = quick(2).fit(X.assign(copy=0.0), np.abs(rng.normal(size=3000)) * (1 + 3 * (X.age > 50)))
    found = explain_groups(rule, X.assign(copy=0.5 - X["age"])[["age", "copy"]])
    assert [one.feature for one in found.importance] == ["age", "copy"]
    assert found.importance[1].value == 0
    named = [one.rule for one in (*found.groups, *found.kinds)]
    assert not any("copy" in text for text in named)
    assert {one.feature for group in found.groups for one in group.profile} == {"age"}


def test_places_follow_thresholds_where_group_numbers_do_not(learned):
    X, split = learned[1], quick(4)
    split.fit(X, np.abs(np.random.default_rng(5).normal(size=len(X))) * (1 + X["age"] / 20))
    split.thresholds_ = split.thresholds_[::-1]  # as if groups had been learned in another order
    found = explain_groups(split, X)
    order = [one.group for one in found.groups]
    assert order == np.argsort(split.thresholds_).tolist()
    numbers = split.groups(X)
    assert [one.n for one in found.groups] == [(numbers == g).sum() for g in order]


def test_tables_of_polars_have_the_same_explanation(table, groups, explanation):
    sensitive = ["member", "state", "income"]
    polar = explain_groups(None, pl.from_pandas(table), groups=groups, sensitive=sensitive)
    assert polar == explanation


def test_a_rule_learned_from_polars_is_explained(learned):
    X = pl.from_pandas(learned[1])
    scores = np.abs(np.random.default_rng(2).normal(size=len(X))) * (
        1 + (X["age"].to_numpy() > 50) * 3
    )
    found = explain_groups(quick(2).fit(X, scores), X)
    assert found.importance[0].feature == "age"


def test_conformal_estimators_are_explained(rng):
    X = rng.normal(size=(1000, 2))
    y = X[:, 0] + rng.normal(size=1000) * (1 + 3 * (X[:, 1] > 0))
    model = ConformalRegressor(
        FrozenEstimator(LinearRegression().fit(X, y)), threshold=PLCP(n_groups=2, random_state=0)
    ).fit(X, y)
    assert explain_groups(model, X).importance[0].feature == "x1"


def test_columns_that_are_no_features_can_be_named(learned, table):
    rule, X = learned
    found = explain_groups(rule, X, sensitive=table[["member", "joined"]])
    assert [one.column for one in found.sensitive] == ["member", "joined"]


def test_plain_lists_and_back(explanation):
    assert Explanation.from_dict(json.loads(json.dumps(explanation.to_dict()))) == explanation


def test_text_is_narrow_and_has_every_rule(explanation):
    text = explanation.to_text()
    assert str(explanation) == text
    assert max(map(len, text.splitlines())) <= 100
    folded = " ".join(text.split())
    for one in explanation.groups:
        assert one.rule in folded
        for result in one.profile:
            assert result.text in folded
    for named in explanation.sensitive:
        assert named.text in folded


def test_names_from_data_are_no_markup(rng):
    name = "<script>|`x`*_$"
    X = pd.DataFrame({name: rng.normal(size=400)})
    page = explain_groups(None, X, groups=(X[name] > 0).to_numpy().astype(int))._repr_markdown_()
    assert "<script>" not in page
    assert r"&lt;script&gt;\|\`x\`\*\_\$" in page
    for line in page.splitlines():
        if line.startswith("|"):
            assert line.replace(r"\|", "").count("|") in (4, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: explain_groups(None, X), "neither a rule nor groups"),
        (lambda X: explain_groups(SplitConformal(), X), "SplitConformal, which learns no groups"),
        (lambda X: explain_groups(None, X, groups=[1, 2]), "groups must be 9 whole numbers"),
        (lambda X: explain_groups(None, X, groups=["a"] * 9), "groups must be 9 whole numbers"),
        (lambda X: explain_groups(None, X, groups=[1] * 9, sensitive=["b"]), "no column 'b' in X"),
        (lambda X: explain_groups(None, X, groups=[1] * 9, sensitive="b"), "no column 'b' in X"),
        (lambda X: explain_groups(None, X, groups=[1] * 9, sensitive=X[:3]), "3 rows and X has 9"),
        (lambda X: explain_groups(None, X[:3], groups=[1] * 3), "3 rows, but rules need"),
    ],
)
def test_mistakes_in_what_is_explained_are_reported(call, message):
    with pytest.raises(ValueError, match=message):
        call(pd.DataFrame({"a": np.arange(9.0)}))


@pytest.mark.parametrize("n", [4, 9])
def test_few_rows_and_one_group_are_no_mistake(n):
    found = explain_groups(None, np.arange(float(n))[:, None], groups=np.zeros(n, dtype=int))
    assert [one.rule for one in found.groups] == [""]
    assert found.fidelity == found.chance == 1
    assert found.to_text()


def test_a_kind_lists_its_groups_where_numbers_do_not_follow_thresholds(rng):
    X = pd.DataFrame({"x": rng.uniform(0, 4, size=4000)})
    places = (X["x"] * 2 + rng.uniform(0, 3, size=4000)).to_numpy().astype(int)
    labels = rng.permutation(places.max() + 1)  # the group at each place in the order of thresholds
    learn, judge = np.arange(4000).reshape(2, -1)
    found = fit_surrogate(X, places, labels, learn, judge, seed=0)
    assert any(len(kind.groups) > 1 for kind in found.kinds)
    for kind in found.kinds:
        inside = holds(kind.rule, X, {})[learn]
        shares = np.bincount(labels[places[learn][inside]], minlength=len(labels)) / inside.sum()
        assert shares[[*kind.groups]].sum() >= 0.8
        # without its first or its last there would be more than a tenth missing at that end
        assert shares[[*kind.groups[1:]]].sum() <= 0.9


LEARN, JUDGE = np.arange(200), np.arange(200, 400)
X = np.tile(np.arange(200.0), 2)[:, None]


def judged(inside):
    """Return the rule learned for x0 ≥ 100, judged by rows of which other ones are inside."""
    truth = X[:, 0] >= 100
    truth[200:] = inside(X[200:, 0])
    return find_rule(X, truth, LEARN, JUDGE, seed=0, tries=1)


def test_precision_and_recall_are_counts_of_the_rows_that_judge():
    found = judged(lambda x: (x >= 110) | (x < 5))
    assert found.text == "x0 ≥ 100"
    assert found.precision == pytest.approx(90 / 100)
    assert found.recall == pytest.approx(90 / 95)


@pytest.mark.parametrize(
    ("inside", "is_shown"),
    [
        (lambda x: x >= 120, True),  # 80 of the rule's 100 rows
        (lambda x: x >= 121, False),
        (lambda x: (x >= 100) | (x < 25), True),  # 100 of the group's 125 rows
        (lambda x: (x >= 100) | (x < 26), False),
    ],
)
def test_a_rule_is_shown_from_eight_in_ten_on_of_its_rows_and_of_the_group(inside, is_shown):
    found = judged(inside)
    assert bool(found.text) == is_shown
    assert (found.precision is None) == (found.recall is None) == (not is_shown)


def test_kinds_are_judged_by_rows_that_contradict_them():
    places = (X[:, 0] >= 100).astype(int)
    places[200:] = 1 - places[200:]
    found = fit_surrogate(X, places, np.array([0, 1]), LEARN, JUDGE, seed=0)
    assert [kind.rule for kind in found.kinds] == ["x0 ≤ 99", "x0 ≥ 100"]
    assert found.fidelity == 0
    assert found.chance == 0.5
    assert found.order == pytest.approx(-1)
