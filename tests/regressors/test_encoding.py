"""Data frames as numbers, and means that stand for categories."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp import PLCP, OrderedPartition, Rectified, TreePartition, UnseenCategoryWarning
from plcp._rows import is_missing
from plcp.regressors import ColorfulQuantile, StackedQuantile
from plcp.regressors.encoding import (
    MAX_CATEGORIES,
    CategoryMeans,
    TableEncoder,
    category_means,
    without_rare,
)

COLUMNS = {
    "number": [1.0, None, 3.0],
    "whole": [1, 2, 3],
    "flag": [True, False, True],
    "text": ["b", None, "a"],
    "day": [dt.datetime(1970, 1, 2), None, dt.datetime(1970, 1, 1, 12)],
}
EXPECTED = np.array([[1, 1, 1, 1, 1], [np.nan, 2, 0, np.nan, np.nan], [3, 3, 1, 0, 0.5]])


@pytest.mark.parametrize("library", [pd, pl])
def test_each_kind_of_column(library):
    frame = library.DataFrame(COLUMNS)
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame), EXPECTED)
    np.testing.assert_array_equal(encoder.categorical_, [False, False, False, True, False])


def test_pandas_categories_nullable_numbers_and_objects():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical([3, 1, None], categories=[1, 2, 3]),
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "object": pd.Series(["x", 5, None], dtype=object),
        }
    )
    encoded = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(encoded, [[1, 1, 1], [0, np.nan, 0], [np.nan, 2, np.nan]])


def test_polars_categories_and_enums():
    frame = pl.DataFrame(
        {
            "category": pl.Series(["b", "a", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", "y", "x"], dtype=pl.Enum(["x", "y"])),
        }
    )
    encoded = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(encoded, [[1, 0], [0, 1], [np.nan, 0]])


def test_unseen_and_rare_categories_count_as_missing():
    names = [f"c{i:03d}" for i in range(300)]
    often = pd.DataFrame({"c": names + names[:MAX_CATEGORIES]})
    encoder = TableEncoder().fit(often)
    codes = encoder.transform(pd.DataFrame({"c": ["c000", "c299", "new"]}))[:, 0]
    np.testing.assert_array_equal(codes, [0, np.nan, np.nan])


@pytest.mark.parametrize("library", [pd, pl])
def test_rare_categories_have_codes_where_they_are_wanted(library, rng):
    names = [f"c{i}" for i in rng.permutation(600)]
    names += names[100 : 100 + MAX_CATEGORIES]
    frame, new = (library.DataFrame({"c": column}) for column in (names, ["new", None]))
    encoder = TableEncoder(keep_rare=True).fit(frame)
    codes = encoder.transform(frame)
    assert sorted(set(codes[:, 0])) == list(range(600))
    assert len(set(zip(names, codes[:, 0], strict=True))) == 600
    frequent = TableEncoder().fit(frame)
    np.testing.assert_array_equal(without_rare(codes, np.array([True])), frequent.transform(frame))
    assert np.isnan(encoder.transform(new)).all()
    assert (encoder.n_categories_, frequent.n_categories_) == (600, MAX_CATEGORIES)


def test_codes_follow_the_text_and_not_the_frequency():
    frame = pd.DataFrame({"c": ["b", "b", "a"]})
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(frame)[:, 0], [1, 1, 0])


def test_numbers_have_no_categories():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "town": ["a", "b", None], "gone": None})
    np.testing.assert_array_equal(TableEncoder().fit(frame).n_categories_, [0, 2, 0])


def test_arrays_pass_without_a_copy():
    X = np.ones((3, 2))
    assert TableEncoder().fit(X).transform(X) is X


MOMENTS = [dt.datetime(1970, 1, 2), None, dt.datetime(1970, 1, 1, 12)]
DAYS = [1, np.nan, 0.5]


def zoned(moments, zone="Asia/Tokyo"):
    utc = pd.Series(pd.to_datetime(moments)).dt.tz_localize("UTC")
    return utc.dt.tz_convert(zone)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (zoned(MOMENTS), DAYS),
        (zoned(MOMENTS).astype("timestamp[us, tz=Asia/Tokyo][pyarrow]"), DAYS),
        (zoned(MOMENTS).astype(object), DAYS),
        (pd.Series([dt.date(1970, 1, 3), None, dt.date(1970, 1, 1)], dtype=object), [2, np.nan, 0]),
        (pd.Series([dt.timedelta(2), None, dt.timedelta(1)], dtype=object), [2, np.nan, 1]),
        (pd.to_timedelta(pd.Series(["2D", None, "1D"])), [2, np.nan, 1]),
        (pd.array(["b", None, "a"], dtype="string[python]"), [1, np.nan, 0]),
        (pd.array(["b", None, "a"], dtype="string[pyarrow]"), [1, np.nan, 0]),
        (pd.array([True, None, False], dtype="boolean"), [1, np.nan, 0]),
        (pd.array([True, None, False], dtype="bool[pyarrow]"), [1, np.nan, 0]),
        (pd.array([3, None, 5], dtype="Int64"), [3, np.nan, 5]),
        (pd.array([3, None, 5], dtype="int64[pyarrow]"), [3, np.nan, 5]),
        (pd.array([3.5, None, 5], dtype="Float64"), [3.5, np.nan, 5]),
        (pd.Series([3, None, 5.5], dtype=object), [3, np.nan, 5.5]),
        (pd.PeriodIndex(["2024-02", None, "2024-01"], freq="M"), [1, np.nan, 0]),
        (pd.arrays.IntervalArray.from_tuples([(1, 2), np.nan, (0, 1)]), [1, np.nan, 0]),
        (pd.Series(["x", pd.NA, 5], dtype=object), [1, np.nan, 0]),
        (pd.Series([[2, 3], None, [1]], dtype=object), [1, np.nan, 0]),
        (pd.Series([None, None, None], dtype=object), [0] * 3),
        (pd.array([None, None, None], dtype="string"), [0] * 3),
    ],
    ids=lambda case: str(getattr(case, "dtype", "")),
)
def test_pandas_types(column, expected):
    frame = pd.DataFrame({"c": column})
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(frame)[:, 0], expected)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.Series(MOMENTS).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"), DAYS),
        (pl.Series([dt.date(1970, 1, 3), None]), [2, np.nan]),
        (pl.Series([dt.time(2), None, dt.time(1)]), [1, np.nan, 0]),
        (pl.Series([dt.timedelta(2), None]), [2, np.nan]),
        (pl.Series([True, None]), [1, np.nan]),
        (pl.Series(["1.5", None]).cast(pl.Decimal(10, 2)), [1.5, np.nan]),
        (pl.Series([None, None]), [0, 0]),
        (pl.Series([[2, 3], None, [1]]), [1, np.nan, 0]),
    ],
    ids=lambda case: str(getattr(case, "dtype", "")),
)
def test_polars_types(column, expected):
    frame = pl.DataFrame({"c": column})
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(frame)[:, 0], expected)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"wave": [1j, 2j]}),
        pl.DataFrame({"wave": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))}),
    ],
    ids=["complex", "array"],
)
def test_a_column_of_something_else_is_named(frame):
    with pytest.raises(ValueError, match=r"column 'wave' of type .* is neither .* convert it"):
        TableEncoder().fit(frame)


NUMBERS, TEXTS = pd.DataFrame({"town": [1.0, 2.0]}), pd.DataFrame({"town": ["1.0", "2.0"]})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (TEXTS, NUMBERS, "column 'town' held categories in fit and holds numbers now"),
        (NUMBERS, TEXTS, "column 'town' held numbers in fit and holds categories now"),
        (NUMBERS, pd.DataFrame({"town": zoned(MOMENTS)}), "held numbers in fit and holds dates"),
    ],
)
def test_a_column_that_changed_its_kind_is_named(before, after, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(before).transform(after)


def test_missing_values_fit_any_kind():
    gaps = pd.DataFrame({"town": [np.nan, np.nan]})
    for frame in (NUMBERS, TEXTS):
        assert np.isnan(TableEncoder().fit(frame).transform(gaps)).all()
        assert (TableEncoder().fit(gaps).transform(frame) == 0).all()


def test_trees_learn_from_what_is_there():
    frame = pd.DataFrame({"x": np.arange(60.0), "gone": np.nan, "never": [None] * 60})
    encoder = TableEncoder().fit(frame)
    trees = HistGradientBoostingRegressor(max_iter=2, categorical_features=encoder.categorical_)
    assert trees.fit(encoder.transform(frame), np.arange(60.0)).score(
        encoder.transform(frame), np.arange(60.0)
    )


def test_a_whole_category_keeps_its_name_beside_a_gap():
    with_gap = pd.DataFrame({"c": pd.Categorical([3, 1, None])})
    without = pd.DataFrame({"c": pd.Categorical([3, 1, 3])})
    encoder = TableEncoder().fit(with_gap)
    np.testing.assert_array_equal(encoder.transform(without)[:, 0], [1, 0, 1])


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, np.nan]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[s]"),
        np.array([1, None], dtype=object),
        np.array(["a", np.nan], dtype=object),
        np.array(["a", pd.NA], dtype=object),
        np.array(["a", pd.NaT], dtype=object),
        np.array([np.datetime64("2024-01-01"), np.datetime64("NaT")], dtype=object),
    ],
    ids=repr,
)
def test_what_counts_as_missing(values):
    np.testing.assert_array_equal(is_missing(values), [False, True])


MIXED = pd.DataFrame({"c": pd.Series([1, "a", 2.5, True, None, 1], dtype=object)})


def test_each_row_of_a_mixed_column_is_read_alone_as_among_others():
    encoder = TableEncoder().fit(MIXED)
    whole = encoder.transform(MIXED)
    alone = [encoder.transform(MIXED.iloc[[row]])[0] for row in range(len(MIXED))]
    np.testing.assert_array_equal(np.array(alone), whole)
    # as a record becomes a frame, which has the type of its only value
    records = [encoder.transform(pd.DataFrame([{"c": value}]))[0] for value in MIXED["c"]]
    np.testing.assert_array_equal(np.array(records), whole)


OTHERS = {
    "floats": lambda c: pd.Categorical(c.astype(float)),
    "bytes": lambda c: c.astype(str).str.encode("ascii"),
    "trailing spaces": lambda c: c.astype(str) + " ",
}
RULES = {
    "mixed": PLCP(random_state=0),
    "tree": PLCP(TreePartition(2, min_samples_leaf=20), 2, random_state=0),
    "colorful": PLCP(OrderedPartition(ColorfulQuantile(), 2), 2, random_state=0),
    "rectified": Rectified(random_state=0),
    "levels": PLCP(alpha=[0.1, 0.2], random_state=0),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rules_count_the_categories_that_fit_never_saw(rng, rule):
    codes = pd.Series(rng.integers(3, size=200))
    X = pd.DataFrame({"c": pd.Categorical(codes), "x": rng.normal(size=200)})
    fitted = rule.fit(X, rng.exponential(size=200))
    fitted.predict(X)  # warnings are errors
    for name, turned in OTHERS.items():
        with pytest.warns(UnseenCategoryWarning, match="200 rows hold values of 'c'") as caught:
            fitted.predict(X.assign(c=turned(codes)))
        assert len({str(warning.message) for warning in caught}) == 1, name
        assert {warning.filename for warning in caught} == {__file__}
    some = codes.astype(str).where(codes.index != 7, "new")
    with pytest.warns(UnseenCategoryWarning, match=r"1 row holds a value .*\('new': 1\): they"):
        fitted.predict(X.assign(c=some))


CODES = np.array([0, 1, 1, np.nan, 3, 3, 3, 0, np.nan, 1])


class Recorder(RegressorMixin, BaseEstimator):
    """Keeps what it was shown, and predicts its first column."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.weight_ = X, sample_weight
        return self

    def predict(self, X):
        return X[:, 0]


def shown(codes, scores, weights=None, **parameters):
    X = np.column_stack([codes, np.arange(len(codes))])
    regressor = CategoryMeans(Recorder(), [True, False], random_state=0, **parameters)
    return regressor.fit(X, scores, weights)


def test_means_are_those_of_the_rows_and_one_more(rng):
    places, scores, weights = rng.integers(5, size=40), rng.normal(size=40), rng.uniform(size=40)
    overall = (weights * scores).sum() / weights.sum()
    for place, mean in enumerate(category_means(places, scores, weights)):
        own = [(w, s) for p, w, s in zip(places, weights, scores, strict=True) if p == place]
        total, mass = sum(w * s for w, s in own), sum(w for w, _ in own)
        assert mean == pytest.approx((total + overall) / (mass + 1))


def test_new_rows_get_the_means_of_all_rows(rng):
    scores = rng.uniform(size=10)
    regressor = shown(CODES, scores)
    new = np.array([0, 1, 3, np.nan, 2, 9])

    def mean_of(rows):
        return (scores[rows].sum() + scores.mean()) / (rows.sum() + 1)

    known = [mean_of(c == CODES) for c in (0, 1, 3)]
    expected = [*known, mean_of(np.isnan(CODES)), scores.mean(), scores.mean()]
    wanted = regressor.predict(np.column_stack([new, new]))
    np.testing.assert_allclose(wanted, expected)


def test_no_training_row_sees_its_own_score(rng):
    scores = rng.uniform(size=10)
    wanted = shown(CODES, scores).regressor_.X_
    for row in range(10):
        other = shown(CODES, np.where(np.arange(10) == row, 50.0, scores)).regressor_.X_
        assert other[row, 0] == wanted[row, 0]
        assert (other[:, 0] != wanted[:, 0]).any()


def test_leave_one_out_means_are_those_of_all_other_rows(rng):
    scores, weights = rng.uniform(size=10), rng.uniform(size=10)
    wanted = shown(CODES, scores, weights, cv=10).regressor_.X_[:, 0]
    places = np.where(np.isnan(CODES), 0, CODES + 1).astype(int)
    for row, value in enumerate(wanted):
        others = np.arange(10) != row
        means = category_means(places[others], scores[others], weights[others])
        alike = places[others] == places[row]  # none: the place is empty, or beyond the last
        assert value == (means[places[row]] if alike.any() else means[-1])


def test_other_columns_and_the_rows_given_are_left_alone(rng):
    X = np.column_stack([CODES, rng.normal(size=10)])
    given = X.copy()
    regressor = CategoryMeans(Recorder(), [True, False]).fit(X, rng.uniform(size=10))
    regressor.predict(X)
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(regressor.regressor_.X_[:, 1], X[:, 1])


def test_each_column_has_means_of_its_own(rng):
    scores, codes = rng.uniform(size=10), np.column_stack([np.arange(10.0), CODES, CODES[::-1]])
    regressor = CategoryMeans(Recorder(), [False, True, True], random_state=0).fit(codes, scores)
    for column, means in regressor.means_.items():
        alone = CategoryMeans(Recorder(), np.arange(3) == column, random_state=0)
        alone.fit(codes, scores)
        np.testing.assert_array_equal(means, alone.means_[column])
        np.testing.assert_array_equal(
            regressor.regressor_.X_[:, column], alone.regressor_.X_[:, column]
        )
    assert list(regressor.means_) == [1, 2]


def test_a_weight_counts_rows(rng):
    scores, counts = rng.uniform(size=10), np.array([1, 2, 0, 3, 1, 0, 2, 1, 1, 2])
    weighted = shown(CODES, scores, counts)
    repeated = shown(np.repeat(CODES, counts), np.repeat(scores, counts))
    np.testing.assert_allclose(weighted.means_[0], repeated.means_[0])
    np.testing.assert_array_equal(weighted.regressor_.weight_, counts[counts > 0])


def kinds(regressor):
    return [type(member.regressor).__name__ for member in regressor.members_]


@pytest.mark.parametrize(
    ("n_categories", "expected"),
    [
        (20, ["ScaledQuantile", "SparseScale"]),
        (21, ["ScaledQuantile", "CategoryMeans", "SparseScale"]),
    ],
)
def test_only_many_categories_are_known_by_their_means_too(n_categories, expected, rng):
    frame = pd.DataFrame({"town": [f"t{i % n_categories}" for i in range(200)]})
    regressor = StackedQuantile(quantile=0.9, n_repeats=1, random_state=0)
    assert kinds(regressor.fit(frame, rng.uniform(size=200))) == expected


@pytest.mark.parametrize("signed", [False, True])
def test_rare_categories_are_distinguished_by_their_means(signed, rng):
    towns = np.array([f"t{i}" for i in range(300)])
    level = np.where(np.arange(300) % 2, 1.0, 10.0)
    codes = np.repeat(np.arange(300), 10)
    scores = level[codes] * rng.uniform(0.9, 1.1, len(codes)) - 5.0 * signed
    frames = [library.DataFrame({"town": towns[codes]}) for library in (pd, pl)]
    one, other = (
        StackedQuantile(quantile=0.9, n_repeats=1, random_state=0).fit(frame, scores)
        for frame in frames
    )
    value = one.predict(frames[0])
    np.testing.assert_array_equal(value, other.predict(frames[1]))
    assert value[level[codes] == 10].min() > value[level[codes] == 1].max()
    new = one.predict(pd.DataFrame({"town": ["elsewhere", None]}))
    assert new[0] == new[1]
    assert np.isfinite(new).all()
