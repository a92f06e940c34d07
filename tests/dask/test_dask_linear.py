"""Lines on Dask: the same to the last bit on any engine and in any parts, near the least loss."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.base import is_dask_collection
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_pinball_loss

from plcp.dask.linear import DaskLinearQuantile
from plcp.out_of_core import Held, linear as start
from plcp.out_of_core.linear import fit_line
from plcp.regressors import LinearQuantile

PROMISED = 1e-3  # excess of the loss over the least


def draw(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + np.exp(X[:, 1] / 2) * rng.standard_normal(n)


def numbers(model):
    return [*model.coef_, model.intercept_]


@pytest.mark.parametrize("entries", [1500, 10**6])
def test_engine_parts_and_order_do_not_change_a_bit(any_client, entries, monkeypatch):
    monkeypatch.setattr(start, "ENTRIES", entries)  # of 3,000: a sample, then all rows, or at once
    X, y = draw(1000, 3)
    expected = numbers(fit_line(Held([(X, y)]), 0.9))
    order = np.random.default_rng(1).permutation(1000)
    lazy = da.from_array(X[order], chunks=(300, 2)), da.from_array(y[order], chunks=200)
    model = DaskLinearQuantile(0.9, client=any_client).fit(*lazy)
    assert_array_equal(numbers(model), expected)
    best = mean_pinball_loss(y, LinearQuantile(0.9).fit(X, y).predict(X), alpha=0.9)
    assert mean_pinball_loss(y, model.predict(X), alpha=0.9) <= best * (1 + PROMISED)


def test_predictions_are_lazy_and_those_of_the_local_model(any_client):
    X, y = draw(1000, 3)
    model = DaskLinearQuantile(client=any_client).fit(
        da.from_array(X, chunks=300), da.from_array(y)
    )
    local = model.to_local()
    assert type(local) is LinearQuantile
    assert local.quantile == 0.5
    later = model.predict(da.from_array(X, chunks=77))
    assert is_dask_collection(later)
    assert_array_equal(later.compute(scheduler=any_client or "threads"), local.predict(X))
    assert_array_equal(model.predict(X), local.predict(X))


def test_frames_keep_names_and_index():
    X, y = draw(100, 3)
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(100) * 2)
    lazy = dd.from_pandas(frame.assign(y=y), npartitions=4)
    model = DaskLinearQuantile(0.9).fit(lazy[["a", "b", "c"]], lazy["y"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    predicted = model.predict(lazy[["a", "b", "c"]]).compute(scheduler="sync")
    wanted = pd.Series(model.to_local().predict(frame), index=frame.index, name="quantile")
    pd.testing.assert_series_equal(predicted, wanted)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(lazy[["b", "a", "c"]])


def test_a_gap_is_told_by_part_and_column(any_client):
    X, y = draw(100, 3)
    X[57, 1] = np.nan
    lazy = da.from_array(X, chunks=25), da.from_array(y, chunks=25)
    told = r"part 2 of 4.*column 1 of X contains NaN at row 7: .*use a boosted regressor"
    with pytest.raises(ValueError, match=told):
        DaskLinearQuantile(client=any_client).fit(*lazy)


def test_clones_and_pickles_are_of_the_same_kind():
    X, y = draw(50, 2)
    model = DaskLinearQuantile(0.9, random_state=3)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_another_fit_forgets_the_first():
    X, y = draw(50, 2)
    model = DaskLinearQuantile(0.9).fit(pd.DataFrame(X, columns=list("ab")), y)
    model.fit(X[:, :1], y)
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")
