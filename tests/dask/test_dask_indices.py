"""Rows and their scores belong together: where both have an index, it must be the same."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_parts import of_parts
from numpy.testing import assert_array_equal

from plcp.dask import DaskConformalRegressor, DaskMondrian, DaskSplitConformal

TABLE = pd.DataFrame({"g": np.arange(80) % 2, "x": np.arange(80.0)}, index=np.arange(80) * 3)
SCORES = pd.Series(np.arange(80.0) ** 1.5, TABLE.index)
LAZY = dd.from_pandas(TABLE, npartitions=4)


@pytest.mark.parametrize("other", [SCORES[::-1], SCORES.reset_index(drop=True)])
def test_scores_of_another_index_are_refused_with_their_part(rule_on, other):
    y = dd.from_pandas(other, npartitions=4, sort=False)
    with pytest.raises(ValueError, match=r"part \d of 4.*y has another index than X.*reset_index"):
        rule_on().fit(LAZY, y)


def test_what_the_error_proposes_helps():
    expected = DaskMondrian("g").fit(LAZY, dd.from_pandas(SCORES, npartitions=4)).thresholds_
    other = dd.from_pandas(SCORES.reset_index(drop=True), npartitions=4)
    found = DaskMondrian("g").fit(LAZY, other.to_dask_array())
    assert_array_equal(found.thresholds_, expected)
    found = DaskMondrian("g").fit(LAZY.reset_index(drop=True), other.reset_index(drop=True))
    assert_array_equal(found.thresholds_, expected)


def test_what_is_made_of_the_same_frame_fits():
    joined = LAZY.assign(y=LAZY["x"] ** 1.5)
    some = joined[joined["g"] == 0]
    assert_array_equal(DaskMondrian("g").fit(some[["g", "x"]], some["y"]).group_sizes_, [40])
    repeated = of_parts(*[TABLE[:20].reset_index(drop=True)] * 4)  # each part counts from 0
    assert_array_equal(DaskMondrian("g").fit(repeated, repeated["x"]).group_sizes_, [40, 40])


@pytest.mark.filterwarnings("ignore::plcp.RowOrderWarning")  # of the parts, before it is refused
def test_labels_and_outcomes_of_another_index_are_refused():
    turned = dd.from_pandas(SCORES[::-1], npartitions=4, sort=False)
    with pytest.raises(ValueError, match="groups has another index than X"):
        DaskMondrian().fit(LAZY, dd.from_pandas(SCORES, npartitions=4), groups=turned > 50)
    rule = DaskMondrian().fit(LAZY, dd.from_pandas(SCORES, npartitions=4), groups=LAZY["g"])
    with pytest.raises(ValueError, match="has another index than X"):
        rule.predict(LAZY, turned).compute()
    by_place = rule.predict(LAZY, LAZY["g"].to_dask_array(lengths=True))
    assert_array_equal(by_place, rule.predict(LAZY, LAZY["g"]))
    model = DaskConformalRegressor(First(), threshold=DaskSplitConformal())
    with pytest.raises(ValueError, match="y has another index than X"):
        model.fit(LAZY, turned)


class First:
    """A model that predicts the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0]
