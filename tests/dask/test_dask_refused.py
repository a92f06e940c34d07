"""Ordinary estimators refuse collections of Dask instead of computing them without a word."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask.dataframe import from_pandas
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    LocalCP,
    Mondrian,
    Rectified,
    SplitConformal,
)

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
Y = X[:, 0] > 0
SCORES = np.abs(X[:, 1])
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(groups=lambda X: X[:, 0] > 0),
    "plcp": PLCP(n_groups=2, random_state=0),
    "gcp": BatchGCP(groups=lambda X: X[:, :1] > 0),
    "rectified": Rectified(random_state=0),
    "local": LocalCP(),
    "rlcp": RLCP(random_state=0),
}
MODELS = {
    "regressor": ConformalRegressor(
        FrozenEstimator(LinearRegression().fit(X, Y)), threshold=SplitConformal()
    ),
    "classifier": ConformalClassifier(
        FrozenEstimator(LogisticRegression().fit(X, Y)), threshold=SplitConformal()
    ),
}
EVERY = {**RULES, **MODELS}


def never(block):
    raise AssertionError("somebody computed the rows")


def elsewhere(values):
    """The same values on Dask; whoever computes them fails."""
    return da.from_array(values, chunks=20).map_blocks(never, dtype=values.dtype)


@pytest.mark.parametrize("name", EVERY)
def test_fit_refuses_rows_on_dask(name):
    y = SCORES if name in RULES else Y
    with pytest.raises(TypeError, match=r"X is a Dask Array.*plcp\.dask.*X\.compute\(\)"):
        EVERY[name].fit(elsewhere(X), y)
    with pytest.raises(TypeError, match=r"y is a Dask Array.*plcp\.dask"):
        EVERY[name].fit(X, elsewhere(y))
    with pytest.raises(TypeError, match=r"X is a Dask DataFrame.*plcp\.dask"):
        EVERY[name].fit(from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2), y)


@pytest.mark.parametrize("name", ["split", "mondrian", "plcp", "regressor"])
def test_fit_refuses_weights_on_dask(name):
    with pytest.raises(TypeError, match=r"sample_weight is a Dask Array.*plcp\.dask"):
        EVERY[name].fit(X, SCORES, sample_weight=elsewhere(np.ones(N)))


@pytest.mark.parametrize("name", EVERY)
def test_predict_refuses_rows_on_dask(name):
    fitted = EVERY[name].fit(X, SCORES if name in RULES else Y)
    asked = [name for name in ("predict", "predict_set", "predict_proba") if hasattr(fitted, name)]
    for method in asked:
        with pytest.raises(TypeError, match=r"X is a Dask Array.*plcp\.dask"):
            getattr(fitted, method)(elsewhere(X))
