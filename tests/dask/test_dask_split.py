"""Split conformal on Dask: the local rule, to the last bit, however the rows are cut."""

import pickle
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from plcp import SplitConformal
from plcp.dask import DaskSplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.out_of_core import Held
from strategies import alphas, few, finite


@st.composite
def cut_scores(draw, max_size=40):
    """Scores, often tied, and the lengths of the parts they are cut into."""
    n = draw(st.integers(1, max_size))
    elements = draw(st.sampled_from([finite, st.integers(-2, 2).map(float), st.just(0.5)]))
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return draw(hnp.arrays(float, n, elements=elements)), tuple(np.diff([0, *ends, n]).tolist())


def fit(rule, X, y):
    """Fit the rule, and return it with what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.fit(X, y)
    return rule, [(w.category, str(w.message)) for w in caught]


@few
@given(cut_scores(), alphas)
def test_threshold_warning_and_guarantee_are_the_local_ones(drawn, alpha):
    scores, lengths = drawn
    X = np.zeros((len(scores), 2))
    lazy = da.from_array(X, chunks=(lengths, 1)), da.from_array(scores, chunks=(lengths,))
    local, told = fit(SplitConformal(alpha), X, scores)
    rule, told_on_dask = fit(DaskSplitConformal(alpha), *lazy)
    assert told_on_dask == told
    for name in ("threshold_", "guarantee_", "n_features_in_"):
        assert getattr(rule, name) == getattr(local, name)
    assert_array_equal(rule.predict(lazy[0]), local.predict(X))


@few
@given(cut_scores(), alphas, st.randoms(use_true_random=False))
def test_blocks_in_any_order_of_rows_give_the_same(drawn, alpha, random):
    scores, lengths = drawn
    order = random.sample(range(len(scores)), len(scores))
    blocks = Held([(part,) for part in np.split(scores[order], np.cumsum(lengths)[:-1])])
    local, _ = fit(SplitConformal(alpha), np.zeros((len(scores), 1)), scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        assert SplitConformal(alpha).fit_blocks(blocks).threshold_ == local.threshold_


def frame(n=60, n_parts=4):
    table = pd.DataFrame({"a": np.arange(n) % 3, "b": np.arange(n) / 7, "s": np.arange(n) ** 0.5})
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_a_frame_gives_a_named_series_and_a_rule_that_knows_the_names(any_client):
    table, lazy = frame()
    rule = DaskSplitConformal(client=any_client).fit(lazy[["a", "b"]], lazy["s"])
    assert_array_equal(rule.feature_names_in_, ["a", "b"])
    local = SplitConformal().fit(table[["a", "b"]], table["s"])
    thresholds = rule.predict(lazy[["a", "b"]]).compute(scheduler=any_client or "threads")
    expected = pd.Series(local.predict(table[["a", "b"]]), table.index, name="threshold")
    pd.testing.assert_series_equal(thresholds, expected)
    with pytest.raises(ValueError, match="feature names should match"):
        rule.predict(lazy[["b", "a"]])


def test_the_local_rule_is_the_ordinary_one():
    table, lazy = frame()
    local = SplitConformal().fit(table[["a", "b"]], table["s"])
    rule = DaskSplitConformal().fit(lazy[["a", "b"]], lazy["s"])
    found = rule.to_local()
    assert type(found) is SplitConformal
    assert vars(found).keys() == vars(local).keys()
    assert len(pickle.dumps(found)) < 1000
    found.threshold_ = 0.0
    assert rule.to_local().threshold_ == local.threshold_


def test_predict_of_rows_in_memory_is_the_local_one():
    table, lazy = frame()
    rule = DaskSplitConformal().fit(lazy[["a"]], lazy["s"])
    assert isinstance(rule.predict(table[["a"]]), np.ndarray)
    with pytest.raises(ValueError, match=r"0 sample\(s\).*give at least one"):
        rule.predict(table[["a"]][:0])


def test_fit_again_forgets_names():
    _, lazy = frame()
    rule = DaskSplitConformal().fit(lazy[["a", "b"]], lazy["s"])
    rule.fit(da.zeros((30, 5), chunks=(10, 5)), da.arange(30, chunks=10))
    assert (rule.n_features_in_, hasattr(rule, "feature_names_in_")) == (5, False)
    assert rule.predict(da.zeros((4, 5))).compute().tolist() == [rule.threshold_] * 4


def test_alpha_is_checked_before_anything_is_computed():
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 1\), got 2"):
        DaskSplitConformal(2).fit(None, None)


def test_an_estimator_among_others(client):
    rule = DaskSplitConformal(0.2, client=client)
    assert rule.get_params() == {"alpha": 0.2, "client": client}
    assert clone(rule).client is client
    assert repr(DaskSplitConformal(0.2)) == "DaskSplitConformal(alpha=0.2)"
    rule.fit(da.zeros((30, 1), chunks=(10, 1)), da.arange(30, chunks=10))
    again = pickle.loads(pickle.dumps(rule))
    assert (again.threshold_, again.client) == (rule.threshold_, None)
    assert not hasattr(clone(rule), "threshold_")


def where(X, y):
    from distributed import get_worker

    return get_worker().address


def test_the_current_client_computes_where_none_is_named(client):
    from plcp.dask.collections import pairs_of

    X, y = da.zeros((4, 1), chunks=(2, 1)), da.arange(4, chunks=2)
    with client.as_current():
        assert set(pairs_of(X, y).each(where)) <= set(client.scheduler_info()["workers"])
