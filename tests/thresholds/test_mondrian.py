"""Mondrian: Split in each group, wherever the labels come from."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from plcp import Mondrian, SplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.quantiles import conformal_rank
from strategies import alphas, few, scores_with_groups

quietly = pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")


def fit(scores, groups, alpha, **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return Mondrian(0, alpha).fit(groups[:, None], scores, **weights)


@few
@given(scores_with_groups(), alphas)
def test_leaving_each_out_covers_exactly_the_rank_in_every_group(drawn, alpha):
    scores, groups = drawn
    covered = np.zeros(4)
    for i, (score, group) in enumerate(zip(scores, groups, strict=True)):
        rest = np.arange(len(scores)) != i
        rule = fit(scores[rest], groups[rest], alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteThresholdWarning)
            covered[group] += score <= rule.predict([[group]])[0]
    sizes = np.bincount(groups, minlength=4)
    expected = [conformal_rank(n - 1, alpha) if n else 0 for n in sizes]
    assert_array_equal(covered, expected)


@few
@given(scores_with_groups(), alphas)
def test_weights_are_repeated_rows_and_zero_is_none(drawn, alpha):
    scores, groups = drawn
    weights = np.arange(len(scores)) % 3
    weights[0] = 1
    weighted = fit(scores, groups, alpha, sample_weight=weights)
    repeated = fit(np.repeat(scores, weights), np.repeat(groups, weights), alpha)
    for name in ("groups_", "thresholds_", "group_sizes_"):
        assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_one_group_is_split(rng):
    scores = rng.normal(size=50)
    X = np.zeros((50, 1))
    assert_array_equal(
        Mondrian(0).fit(X, scores).predict(X), SplitConformal().fit(X, scores).predict(X)
    )


def sign(X):
    return np.where(np.asarray(X)[:, 0] > 0, "plus", "minus")


def test_every_source_of_labels_gives_the_same(rng):
    numbers = np.repeat([-1.0, 1.0], 30)
    labels = np.where(numbers > 0, "plus", "minus")
    scores = rng.normal(size=60)
    X = np.column_stack([numbers, rng.normal(size=60)])
    frame = pd.DataFrame({"x": X[:, 1], "sign": labels})
    expected = Mondrian(sign).fit(X, scores).predict(X)
    given = Mondrian().fit(X, scores, groups=labels)
    assert_array_equal(given.predict(X, groups=labels), expected)
    assert given.groups_.tolist() == ["minus", "plus"]
    for groups, table in [
        (0, X),
        ("sign", frame),
        (1, frame),
        ("sign", frame.astype({"sign": "category"})),
        ("sign", pl.from_pandas(frame)),
        (["sign"], frame),
    ]:
        assert_array_equal(Mondrian(groups).fit(table, scores).predict(table), expected)


def test_a_boolean_matrix_with_one_true_a_row_is_labels(rng):
    labels, scores = rng.integers(3, size=90), rng.normal(size=90)
    X, matrix = np.zeros((90, 1)), labels[:, None] == np.arange(3)
    expected = Mondrian().fit(X, scores, groups=labels).predict(X, groups=labels)
    for groups in (matrix, matrix.astype(int), pd.DataFrame(matrix, columns=[*"abc"])):
        rule = Mondrian().fit(X, scores, groups=groups)
        assert_array_equal(rule.predict(X, groups=groups), expected)
    assert rule.groups_.tolist() == ["a", "b", "c"]


def test_the_overlapping_groups_and_their_row_are_named():
    given = pd.DataFrame({"a": [True] * 20, "b": [False] * 20, "c": [False] * 7 + [True] * 13})
    with pytest.raises(ValueError, match=r"'a' and 'c' overlap at row 7, .* ConditionalC"):
        Mondrian().fit(np.zeros((20, 1)), np.arange(20), groups=given)


def test_several_columns_are_their_combinations():
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 20, axis=0)
    scores = np.arange(80.0)
    rule = Mondrian([0, 1]).fit(X, scores)
    assert rule.groups_.tolist() == ["0, 0", "0, 1", "1, 0", "1, 1"]
    assert_array_equal(rule.predict(X[::20]), [18, 38, 58, 78])


def test_a_group_never_seen_has_an_infinite_threshold():
    rule = Mondrian(0).fit(np.zeros((20, 1)), np.arange(20))
    with pytest.warns(InfiniteThresholdWarning, match=r"groups \[1.0, 2.0\] were not seen"):
        assert_array_equal(rule.predict([[1.0], [2.0], [0.0]]), [np.inf, np.inf, 18])


def test_groups_are_numbered_as_their_thresholds():
    X = np.repeat([["a"], ["b"]], 20, axis=0)
    rule = Mondrian(0).fit(pd.DataFrame(X), np.arange(40))
    with pytest.warns(InfiniteThresholdWarning, match="were not seen"):
        assigned = rule.assign(pd.DataFrame(["b", "z", "a"]))
    assert_array_equal(assigned.groups, [1, -1, 0])
    assert_array_equal(assigned.thresholds, [38, np.inf, 18])


def test_a_small_group_is_named():
    X = np.r_[np.zeros(20), np.ones(5)][:, None]
    with pytest.warns(InfiniteThresholdWarning, match=r"groups \[1.0\] hold too few"):
        rule = Mondrian(0).fit(X, np.arange(25))
    assert_array_equal(np.isinf(rule.thresholds_), [False, True])


def test_a_column_that_was_not_binned_is_named(rng):
    X = rng.normal(size=(60, 2))
    for source, said in (
        (0, "column 0 has 60 values in 60 rows, and .*: bin it, or use PLCP"),
        ([0, 1], r"columns \[0, 1\] have 60 combinations .*: join some, or name fewer columns"),
        (lambda X: X[:, 0], "groups has 60 labels in 60 rows"),
    ):
        with pytest.warns(InfiniteThresholdWarning, match=said) as caught:
            Mondrian(source).fit(X, np.arange(60))
        assert len(str(caught[0].message)) < 500


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "groups is None: name a column"),
        ("town", "'town', but X is an array without names"),
        (lambda X: [1, 2], r"one label per row, shape \(20,\), got \(2,\)"),
        (lambda X: np.ones((20, 2)), r"groups 0 and 1 overlap at row 0, .* BatchGCP or Cond"),
        (lambda X: np.eye(20)[:, 1:] > 0, "row 0 is in no group: add a group for the rest"),
        (lambda X: np.full((20, 2), 0.5), r"True or False, got .*0\.5.* at row 0, group 0"),
        (lambda X: np.ones((20, 2, 2)), r"shape \(20,\), got \(20, 2, 2\)"),
        (lambda X: np.r_[np.nan, np.ones(19)], "no label at row 0"),
        (lambda X: np.array([*"a" * 19, None], dtype=object), "no label at row 19"),
        (lambda X: np.array([1, *"a" * 19], dtype=object), r"several types \(int, str\): give"),
        (lambda X: pd.array([*[1] * 19, None], dtype="Int64"), "no label at row 19"),
    ],
)
def test_labels_that_are_none(groups, message):
    with pytest.raises(ValueError, match=message):
        Mondrian(groups).fit(np.zeros((20, 1)), np.arange(20))


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match=r"'town', but X has only \['a'\]"):
        Mondrian("town").fit(pd.DataFrame({"a": np.zeros(20)}), np.arange(20))


def test_a_weighted_guarantee_is_approximate():
    X, scores = np.zeros((20, 1)), np.arange(20.0)
    assert Mondrian(0).fit(X, scores).guarantee_.kind == "exact"
    weighted = Mondrian(0).fit(X, scores, sample_weight=np.full(20, 2.0)).guarantee_
    assert weighted.kind == "approximate"
    assert "one above 1" in str(weighted)


def test_commas_within_labels_do_not_merge_groups():
    frame = pd.DataFrame({"a": ["x, y"] * 20 + ["x"] * 20, "b": ["z"] * 20 + ["y, z"] * 20})
    rule = Mondrian(["a", "b"]).fit(frame, np.arange(40.0))
    assert len(rule.groups_) == 2
    assert_array_equal(rule.predict(frame.iloc[::20]), [18, 38])


def test_backslashes_within_labels_do_not_merge_groups():
    frame = pd.DataFrame({"a": ["x\\"] * 20 + ["x\\, y"] * 20, "b": ["y, z"] * 20 + ["z"] * 20})
    assert len(Mondrian(["a", "b"]).fit(frame, np.arange(40.0)).groups_) == 2


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_gap_in_one_of_several_columns_is_named(gap):
    frame = pd.DataFrame({"a": ["x"] * 20, "b": pd.Series([*"y" * 19, gap], dtype=object)})
    with pytest.raises(ValueError, match="no label at row 19 in column 'b'"):
        Mondrian(["a", "b"]).fit(frame, np.arange(20.0))


def test_whole_numbers_are_the_same_labels_as_floats():
    table = pd.DataFrame({"site": ["a", "b"] * 20, "year": [1, 2] * 20})
    rule = Mondrian(["site", "year"]).fit(table, np.arange(40.0))
    now = rule.predict(table.astype({"year": float}))
    assert_array_equal(now, rule.predict(table))


def test_labels_of_another_kind_are_refused():
    X, scores = np.zeros((20, 1)), np.arange(20.0)
    rule = Mondrian().fit(X, scores, groups=[0, 1] * 10)
    with pytest.raises(ValueError, match="were numbers in fit and are text now"):
        rule.predict(X, groups=["0", "1"] * 10)


def test_groups_given_twice_are_refused():
    with pytest.raises(ValueError, match=r"given twice: as an array, and as Mondrian\(groups=0\)"):
        Mondrian(0).fit(np.zeros((20, 1)), np.arange(20.0), groups=[0] * 20)
