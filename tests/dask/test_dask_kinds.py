"""Columns of a part are of the kinds that the collection promises, whatever their types."""

import re

import numpy as np
import pandas as pd
import pytest
from dask_parts import of_parts
from lightgbm import DaskLGBMRegressor, LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor

from dask import config
from plcp import OrderedPartition
from plcp.dask import DaskPLCP
from plcp.dask.collections import pairs_of

QUANTILE = {"objective": "quantile", "n_estimators": 10, "verbose": -1, "n_jobs": 1}
NUMBERS = pd.Series([1.5, 2.5, 3.5])
TEXT = pd.Series(["a", "b", "c"])
DAYS = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]))
OTHER_KINDS = {
    "text": (NUMBERS, NUMBERS.astype("str")),
    "text among numbers": (NUMBERS, pd.Series([1.5, "b", 2.5], dtype=object)),
    "categories": (NUMBERS, NUMBERS.astype("category")),
    "numbers": (TEXT, NUMBERS),
    "dates": (NUMBERS, DAYS),
    "durations": (DAYS, DAYS - DAYS[0]),
}
SAME_KINDS = {
    "width": (NUMBERS, NUMBERS.astype("float32")),
    "whole numbers": (NUMBERS, pd.Series([1, 2, 3])),
    "booleans with a gap": (pd.Series([True, False, True]), pd.Series([True, None, False])),
    "objects": (NUMBERS, NUMBERS.astype(object)),
    "units": (DAYS, DAYS.astype("datetime64[s]")),
    "zones": (DAYS, DAYS.dt.tz_localize("UTC")),
    "layout of text": (TEXT, TEXT.astype("category")),
    "all missing": (NUMBERS, pd.Series([None, None, None], dtype=object)),
    "all NaN": (TEXT, NUMBERS * np.nan),
    "no rows": (NUMBERS, TEXT[:0]),
}


@pytest.fixture(autouse=True)
def _types_as_they_are():
    with config.set({"dataframe.convert-string": False}):
        yield


def blocks(*parts):
    """X of all blocks, of one column; its parts are promised to be like the first."""
    X = of_parts(*(part.to_frame("x") for part in parts))
    return pairs_of(X, of_parts(*(NUMBERS[: len(part)] for part in parts))).each(itself)


def itself(X, y):
    return X


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_a_column_of_another_kind_in_one_part_is_named(name):
    one, other = OTHER_KINDS[name]
    here, elsewhere = re.escape(f"({other.dtype}) here"), re.escape(f"({one.dtype}) elsewhere")
    told = rf"part 2 of 3.*column 'x' of X holds \w+ {here} and \w+ {elsewhere}: write it in one"
    with pytest.raises(ValueError, match=told):
        blocks(one, one, other)


@pytest.mark.parametrize("name", SAME_KINDS)
def test_columns_of_one_kind_may_be_of_several_types(name):
    one, other = SAME_KINDS[name]
    found = blocks(one, other)
    pd.testing.assert_series_equal(found[1]["x"], other, check_names=False)


def of_categories(*known):
    """Rows of one column of categories, with scores: parts that know these categories each."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 300)
    labels, scores = (
        np.array(["hi", "lo"])[kinds],
        rng.exponential(size=300) * np.array([9, 1])[kinds],
    )
    cut = zip(np.split(labels, 3), known, strict=True)
    X = of_parts(*(pd.DataFrame({"c": pd.Categorical(own, of)}) for own, of in cut))
    return X, of_parts(*map(pd.Series, np.split(scores, 3))), labels


@pytest.mark.parametrize(
    "regressor",
    [HistGradientBoostingRegressor(loss="quantile", max_iter=10), LGBMRegressor(**QUANTILE)],
)
def test_categories_of_parts_are_the_same_to_an_index_that_reads_their_type(regressor):
    X, y, labels = of_categories(["hi", "lo"], ["lo", "hi"], ["lo", "mid", "hi"])
    rule = DaskPLCP(OrderedPartition(regressor), 2, within="constant").fit(X, y)
    found = pd.Series(rule.predict(X).compute().to_numpy()).groupby(labels).unique()
    assert [len(thresholds) for thresholds in found] == [1, 1]
    assert found["hi"][0] > 3 * found["lo"][0]


@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored")
def test_trees_that_grow_where_rows_lie_need_the_same_categories_in_all_parts(client_of_threads):
    X, y, _ = of_categories(["hi", "lo"], ["lo", "hi"], ["hi", "lo"])
    regressor = DaskLGBMRegressor(client=client_of_threads, **QUANTILE)
    rule = DaskPLCP(OrderedPartition(regressor), 2)
    with pytest.raises(
        ValueError, match=r"part 1 of 3.*column 'c'.*categories of its own.*as_known"
    ):
        rule.fit(X, y)
    rule.fit(*of_categories(*[["hi", "lo"]] * 3)[:2])
