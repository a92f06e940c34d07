"""Thresholds along features: every line, band and colour is an order statistic of the rows."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from plcp.plotting import ThresholdDisplay
from plcp.plotting.threshold import MISSING, MOST_CATEGORIES, OTHER_VALUES, cut_feature


def order_statistic(values, level):
    """Smallest value that a share of the rows does not exceed."""
    return sorted(values)[max(math.ceil(level * len(values)), 1) - 1]


def draw(rng, n=500):
    X = pd.DataFrame({"age": rng.normal(50, 9, n), "job": rng.choice(["a", "b", "c"], n)})
    return X, rng.exponential(size=n)


def test_line_and_band_along_a_number(rng):
    X, q = draw(rng)
    display = ThresholdDisplay.from_predictions(X, q, "age")
    edges = display.profile.cells[0].edges
    age = X["age"].to_numpy()
    assert (edges[0], edges[-1]) == (age.min(), age.max())
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = (age <= high) & ((age > low) | (i == 0))
        assert display.profile.n[i] == inside.sum()
        assert display.profile.low[i] == order_statistic(q[inside], 0.1)
        assert display.profile.high[i] == order_statistic(q[inside], 0.9)
        assert display.line_.get_ydata()[i] == order_statistic(q[inside], 0.5)
        assert low <= display.line_.get_xdata()[i] <= high
    band = {tuple(point) for point in display.band_.get_paths()[0].vertices}
    centres = display.line_.get_xdata()
    assert set(zip(centres, display.profile.low, strict=True)) <= band
    assert set(zip(centres, display.profile.high, strict=True)) <= band


def test_bins_of_a_number_hold_as_many_rows(rng):
    X, q = draw(rng)
    n = ThresholdDisplay.from_predictions(X, q, "age").profile.n
    assert_array_equal(n, 25)


def test_points_are_the_rows(rng):
    X, q = draw(rng)
    display = ThresholdDisplay.from_predictions(X, q, 0)
    assert_array_equal(display.points_.get_xdata(), X["age"])
    assert_array_equal(display.points_.get_ydata(), q)


def test_many_rows_are_thinned_as_points_alone(rng):
    X, q = draw(rng, n=4001)
    display = ThresholdDisplay.from_predictions(X, q, "age")
    assert_array_equal(display.points_.get_ydata(), q[::3])
    assert display.points_.get_label() == "one row in 3"
    assert display.profile.n.sum() == 4001


def test_categories_stand_side_by_side(rng):
    X, q = draw(rng)
    display = ThresholdDisplay.from_predictions(X, q, "job")
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["a", "b", "c"]
    wanted = [order_statistic(q[X["job"] == job], 0.5) for job in "abc"]
    assert_array_equal(display.line_.get_ydata(), wanted)
    assert display.line_.get_linestyle() == "None"  # nothing lies between two categories
    codes = X["job"].map({"a": 0, "b": 1, "c": 2})
    assert_array_equal(np.round(display.points_.get_xdata()), codes)


@pytest.mark.parametrize("features", [["age", "job"], ("job", "age"), [1, -2]])
def test_colours_along_two_features(rng, features):
    X, q = draw(rng)
    display = ThresholdDisplay.from_predictions(X, q, features)
    across, along = display.profile.cells
    drawn = display.mesh_.get_array()
    assert drawn.shape == (len(along), len(across))
    for i in range(len(across)):
        for j in range(len(along)):
            inside = (across.codes == i) & (along.codes == j)
            assert drawn[j, i] == order_statistic(q[inside], 0.5)
    assert display.ax_.get_xlabel() == across.title
    assert display.ax_.get_ylabel() == along.title
    assert display.figure_.axes[1] is display.colorbar_.ax


def test_cells_without_rows_stay_empty():
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]] * 100)
    display = ThresholdDisplay.from_predictions(X, np.arange(400.0), ["x0", "x1"])
    assert_array_equal(display.mesh_.get_array().mask, [[False, True], [True, False]])


def test_few_values_are_cells_of_their_own():
    cells = cut_feature("rooms", np.array([1, 2, 2, 4]), most=3)
    assert_array_equal(cells.codes, [0, 1, 1, 2])
    assert_array_equal(cells.centres, [1, 2, 4])
    assert_array_equal(cells.edges, [0.5, 1.5, 3, 5])


def test_ties_stay_in_one_bin(rng):
    values = rng.integers(0, 30, 500) ** 2
    cells = cut_feature("x", values, most=7)
    for value in np.unique(values):
        assert len({*cells.codes[values == value]}) == 1
    assert_array_equal(np.unique(cells.codes), np.arange(len(cells)))
    assert_array_equal(np.sort(values[np.argsort(cells.codes, kind="stable")]), np.sort(values))
    assert (np.diff(cells.codes[np.argsort(values)]) >= 0).all()


def test_rows_without_a_value_are_reported_of():
    ages = np.r_[np.arange(98.0), np.nan, np.inf]
    display = ThresholdDisplay.from_predictions(ages[:, None], np.ones(100), 0)
    assert display.profile.n.sum() == 98
    assert [text.get_text() for text in display.ax_.texts] == ["not shown: 2 rows without a value"]


def test_categories_that_are_missing_or_rare_are_put_last():
    common = np.repeat([f"{i:02}" for i in range(MOST_CATEGORIES + 2)], 2)
    values = np.array([*common, "00", "others", None], dtype=object)
    cells = cut_feature("job", values, most=2)
    kept = tuple(f"{i:02}" for i in range(MOST_CATEGORIES - 1))
    assert cells.labels == (*kept, OTHER_VALUES, MISSING)
    assert_array_equal(np.bincount(cells.codes)[[0, 1, -2, -1]], [3, 2, 7, 1])


def test_a_category_called_missing_is_not_missing():
    cells = cut_feature("job", np.array(["missing", None, "a"], dtype=object), most=2)
    assert cells.labels == ("a", "missing", "missing")
    assert_array_equal(cells.codes, [1, 2, 0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, None, 4], dtype="Int64"),
        pd.Series([1, 2, None, 4], dtype="object"),
        pl.Series([1, 2, None, 4]),
    ],
)
def test_numbers_in_any_column_are_numbers(column):
    X = (
        pl.DataFrame({"n": column})
        if isinstance(column, pl.Series)
        else pd.DataFrame({"n": column})
    )
    display = ThresholdDisplay.from_predictions(X, np.arange(4.0), "n")
    (cells,) = display.profile.cells
    assert cells.labels is None
    assert_array_equal(cells.codes, [0, 0, -1, 0])


def test_truths_are_categories():
    for dtype in (bool, object):  # as objects where some are missing
        truths = np.array([True, False], dtype=dtype)
        assert cut_feature("b", truths, most=2).labels == ("False", "True")


def test_infinite_thresholds_spoil_nothing():
    q = np.r_[np.arange(80.0), np.full(20, np.inf)]
    display = ThresholdDisplay.from_predictions(np.zeros((100, 1)), q, 0)
    assert (display.profile.median, display.profile.high) == (49.0, np.inf)
    assert "20 infinite thresholds" in display.ax_.texts[0].get_text()
    display.figure_.canvas.draw()
    assert np.isfinite(display.ax_.get_ylim()).all()
    ThresholdDisplay.from_predictions(np.zeros((9, 1)), np.full(9, np.inf), 0)


def test_thresholds_are_those_of_the_estimator(models, people):
    X, y = people
    display = ThresholdDisplay.from_estimator(models["PLCP"], X, "age")
    np.testing.assert_allclose(display.thresholds, models["PLCP"].predict_set(X).size / 2)
    model = clone(models["PLCP"]).set_params(features=list(X.columns)).fit(X, y)
    display = ThresholdDisplay.from_estimator(model, X, "age")
    rule = ThresholdDisplay.from_estimator(model.tail_rules_[0], X, "age")
    assert_array_equal(rule.thresholds, display.thresholds)


def test_features_the_rule_does_not_see_can_be_drawn_along(models, people):
    X, y = people
    blind = clone(models["PLCP"]).set_params(features=["age"]).fit(X, y)
    display = ThresholdDisplay.from_estimator(blind, X, "job")
    assert display.profile.cells[0].labels == ("factory", "office", "own")
    np.testing.assert_allclose(display.thresholds, blind.predict_set(X).size / 2)
