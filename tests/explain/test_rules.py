"""Trees whose leaves are rules."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed_table
from numpy.testing import assert_array_equal
from printed_rules import holds
from sklearn.tree import DecisionTreeRegressor

from plcp.explain import RuleTree


def targets(table):
    """Yield functions of the table that ask for cuts of every kind of column."""
    state, income = table["state"], table["income"]
    yield "age", (table["age"] > 45) + 2.0 * (table["age"] > 70)
    yield "income", income.fillna(0) > 30_000
    yield "gap", income.isna() + 0.2 * (table["age"] < 30)
    yield "state", state.isin(["CA", "TX"]) + 2.0 * state.isna()
    yield "joined", (table["joined"] >= "2017-06-01") + 0.0 + (table["joined"] >= "2020-02-11")
    yield "member", table["member"] * (table["wait"] / pd.Timedelta(days=1) < 8)


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("library", [pd, pl])
def test_what_is_printed_is_what_is_applied(rng, which, library):
    table = mixed_table(rng)
    name, clean = list(targets(table))[which]
    y = np.asarray(clean, dtype=float) + rng.normal(0, 0.3, len(table))
    give = (lambda frame: frame) if library is pd else pl.from_pandas
    tree = RuleTree(max_leaves=9, min_rows=20).fit(give(table), y)
    new = mixed_table(rng)  # values between those the tree was grown on
    rare = {"state": {"FL"}}
    for rows in (table, new):
        leaf = tree.apply(give(rows))
        for number, rule in enumerate(tree.rules_):
            assert_array_equal(rule.holds(give(rows)), leaf == number, err_msg=rule.text)
            assert_array_equal(holds(rule.text, rows, rare), leaf == number, err_msg=rule.text)
    assert any(name in rule.text for rule in tree.rules_) or name == "gap"


def test_pandas_and_polars_and_arrays_have_the_same_rules(rng):
    table = mixed_table(rng)
    y = np.asarray(table["age"] * table["member"], dtype=float)
    texts = [
        [rule.text for rule in RuleTree().fit(frame, y).rules_]
        for frame in (table, pl.from_pandas(table))
    ]
    assert texts[0] == texts[1]
    numbers = table[["age", "income"]]
    named = [rule.text for rule in RuleTree().fit(numbers, y).rules_]
    placed = [rule.text for rule in RuleTree().fit(numbers.to_numpy(), y).rules_]
    assert placed == [text.replace("age", "x0").replace("income", "x1") for text in named]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_leaves_are_those_of_scikit_learn(rng, weighted):
    X = rng.integers(0, 50, (500, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + 20 * np.isnan(X[:, 1]) + rng.normal(size=500)
    weights = rng.integers(1, 5, 500) if weighted else None
    tree = RuleTree(max_leaves=6, min_rows=25, random_state=3).fit(X, y, weights)
    oracle = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=25, random_state=3)
    nodes = oracle.fit(X, y, weights).apply(X)
    pairs = set(zip(tree.apply(X).tolist(), nodes.tolist(), strict=True))
    assert len(pairs) == len(tree.rules_) == oracle.get_n_leaves()


def test_every_row_meets_exactly_one_rule_even_one_of_a_kind_never_seen(rng):
    table = mixed_table(rng)
    y = table["age"] + 50.0 * table["state"].isin(["CA", "NY"])
    tree = RuleTree(max_leaves=12).fit(table, y)
    strange = mixed_table(rng, 50)
    strange["state"] = "somewhere else"
    strange["age"] = np.where(np.arange(50) < 25, np.nan, 45.5)
    met = sum(rule.holds(strange).astype(int) for rule in tree.rules_)
    assert_array_equal(met, 1)
    held = np.column_stack([rule.holds(strange) for rule in tree.rules_])
    assert_array_equal(held.argmax(axis=1), tree.apply(strange))


def test_numbers_means_and_sizes_are_those_of_the_rows(rng):
    X = rng.normal(size=(400, 2))
    y = X[:, 0] ** 2
    tree = RuleTree(max_leaves=5).fit(X, y)
    leaf = tree.apply(X)
    means = [rule.mean for rule in tree.rules_]
    assert means == sorted(means)
    assert [rule.n for rule in tree.rules_] == np.bincount(leaf).tolist()
    assert means == pytest.approx([y[leaf == i].mean() for i in range(len(means))])
    assert min(rule.n for rule in tree.rules_) >= 30


def test_a_row_of_no_weight_teaches_nothing(rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    more, noise = np.vstack([X, X]), np.concatenate([y, rng.normal(size=300)])
    weights = np.repeat([1.0, 0.0], 300)
    alone = RuleTree(min_rows=20).fit(X, y)
    beside = RuleTree(min_rows=20).fit(more, noise, weights)
    assert [rule.text for rule in alone.rules_] == [rule.text for rule in beside.rules_]
    assert [rule.mean for rule in alone.rules_] == pytest.approx([r.mean for r in beside.rules_])


def test_the_order_of_rows_does_not_matter(rng):
    table = mixed_table(rng)
    y = np.asarray(table["age"] + 30 * table["state"].isin(["CA", "TX"]), dtype=float)
    order = rng.permutation(len(y))
    straight = RuleTree().fit(table, y).rules_
    shuffled = RuleTree().fit(table.iloc[order], y[order]).rules_
    assert [rule.text for rule in straight] == [rule.text for rule in shuffled]


@pytest.mark.parametrize("leaves", [1, 2])
def test_nothing_to_part(leaves):
    tree = RuleTree(max_leaves=leaves).fit(np.arange(100.0)[:, None], np.ones(100))
    assert [rule.text for rule in tree.rules_] == ["all rows"]
    assert_array_equal(tree.apply([[1.0], [2.0]]), [0, 0])


def test_columns_that_say_nothing_do_no_harm():
    table = pd.DataFrame({"gone": [np.nan] * 100, "one": "same", "x": np.arange(100.0)})
    for frame in (table, pl.from_pandas(table), table[["gone", "x"]].to_numpy()):
        tree = RuleTree(max_leaves=2, min_rows=5).fit(frame, np.arange(100) >= 50)
        assert tree.rules_[0].text.endswith("≤ 49")


def test_infinities_and_huge_numbers_are_values():
    X = np.repeat([[-np.inf], [-1e300], [3.0], [1e300], [np.inf]], 30, axis=0)
    table = pd.DataFrame(X, columns=["x"])
    tree = RuleTree(max_leaves=5, min_rows=5).fit(table, np.repeat(np.arange(5), 30))
    assert_array_equal(tree.apply(table), np.repeat(np.arange(5), 30))


def test_values_that_single_precision_confuses_are_distinguished():
    X = np.repeat([[2.0**30], [2.0**30 + 1]], 40, axis=0)
    tree = RuleTree().fit(X, np.repeat([0, 1], 40))
    assert tree.rules_[1].text == "x0 ≥ 1073741825"
    assert_array_equal(tree.apply(X), np.repeat([0, 1], 40))


def test_names_are_text_whatever_they_are():
    name = "<script> | `x` {0} and %s"
    tree = RuleTree(max_leaves=2).fit(pd.DataFrame({name: np.arange(80)}), np.arange(80) >= 40)
    assert tree.rules_[1].text == f"{name} ≥ 40"
    number = RuleTree(max_leaves=2).fit(pd.DataFrame({7: np.arange(80)}), np.arange(80) >= 40)
    assert number.rules_[1].text == "7 ≥ 40"


def test_what_a_sample_did_not_show_is_reported_too(rng, monkeypatch):
    monkeypatch.setattr("plcp.explain.rules.MOST_ROWS", 200)
    table = mixed_table(rng, 4000)
    table["age"] = table["age"].astype(float)
    y = np.asarray(table["age"], dtype=float) + 40.0 * (table["state"] == "CA")
    table.loc[rng.choice(4000, 8, replace=False), "age"] = np.nan
    table.loc[rng.choice(4000, 8, replace=False), "age"] += 0.5
    tree = RuleTree(max_leaves=6, min_rows=20).fit(table, y)
    assert "age" in tree.rules_[-1].text
    leaf = tree.apply(table)
    for number, rule in enumerate(tree.rules_):
        result = holds(rule.text, table, {"state": {"FL"}})
        assert_array_equal(result, leaf == number, err_msg=rule.text)


def test_many_categories_make_short_lists(rng):
    code = rng.integers(0, 300, 20_000)
    table = pd.DataFrame({"code": code.astype(str)})
    tree = RuleTree(max_leaves=4, min_rows=10).fit(table, code % 2)
    assert max(rule.text.count(",") for rule in tree.rules_) < 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RuleTree(max_leaves=0).fit([[1.0]], [1.0]), "max_leaves must be a whole number"),
        (lambda: RuleTree(min_rows=0).fit([[1.0]], [1.0]), "min_rows must be a whole number"),
        (lambda: RuleTree().fit([["a"]], [1.0]), "give a DataFrame"),
        (lambda: RuleTree().fit(np.zeros((2, 2)), [1.0]), "inconsistent numbers"),
        (
            lambda: RuleTree().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]), [1.0]),
            "several columns named a: rename",
        ),
        (
            lambda: _fitted().apply(pd.DataFrame({"y": [1.0]})),
            "no column 'x' in X, which the rule uses",
        ),
        (lambda: _fitted().apply(np.zeros((2, 1))), "with a column 'x'"),
        (
            lambda: _fitted_to_array().apply(np.zeros((2, 1))),
            r"no column x1 in X of shape \(2, 1\)",
        ),
        (lambda: _fitted().apply(pd.DataFrame({"x": ["a"]})), "'x' held numbers in fit"),
    ],
)
def test_mistakes_are_reported(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _fitted_to_array():
    X = np.column_stack([np.zeros(80), np.arange(80)])
    return RuleTree(max_leaves=2).fit(X, np.arange(80) >= 40)


def _fitted():
    return RuleTree(max_leaves=2).fit(pd.DataFrame({"x": np.arange(80)}), np.arange(80) >= 40)


def test_a_common_value_among_many_rare_ones_is_parted_from_them(rng):
    gain = np.where(rng.random(5000) < 0.9, 0.0, rng.lognormal(8, 1, 5000))
    X = np.column_stack([gain, rng.normal(size=5000)])
    tree = RuleTree(max_leaves=2).fit(X, gain > 0)
    assert_array_equal(tree.apply(X), gain > 0)


@pytest.mark.parametrize("n_leaves", range(1, 9))
def test_a_smaller_tree_is_a_stage_of_a_larger_one(rng, n_leaves):
    table = mixed_table(rng, 900)
    y = table["age"] + 20 * (table["state"] == "CA") + rng.normal(scale=20, size=900)
    stage = RuleTree(8).fit(table, y).with_leaves(n_leaves, table, y)
    small = RuleTree(n_leaves).fit(table, y)
    assert [rule.text for rule in stage.rules_] == [rule.text for rule in small.rules_]
    np.testing.assert_array_equal(stage.apply(table), small.apply(table))
    assert stage.get_params() == small.get_params()
