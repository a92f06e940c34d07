"""Products of matrices take one thread wherever rows are taught: more may add in another order."""

import dask.array as da
import numpy as np
import pytest
from dask.config import set as configured
from sklearn.base import BaseEstimator, RegressorMixin
from threadpoolctl import threadpool_info, threadpool_limits

from plcp import LinearQuantile, OrderedPartition
from plcp.dask import DaskPLCP


def threads_of_matrices():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


class Witness(RegressorMixin, BaseEstimator):
    """A regressor that remembers how many threads it might have used."""

    def fit(self, X, y):
        self.threads_ = threads_of_matrices()
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_an_index_is_taught_with_one_thread_for_matrices(rng, calibration):
    X, scores = rng.normal(size=(200, 2)), np.abs(rng.normal(size=200))
    rule = DaskPLCP(OrderedPartition(Witness()), n_groups=2, calibration=calibration)
    # in this thread: one that has set a limit is the only one that may
    with threadpool_limits(2, user_api="blas"), configured(scheduler="sync"):
        before = threads_of_matrices()
        assert 2 in before  # not every library that is loaded lets others set it
        rule.fit(da.from_array(X, chunks=(50, -1)), da.from_array(scores, chunks=50))
        assert threads_of_matrices() == before
    regressor = rule.partition_.regressor_
    models = getattr(regressor, "models_", [regressor])
    assert [model.threads_ for model in models] == [{1}] * len(models)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 33, 250])
def test_a_line_is_the_same_to_the_last_bit_however_many_rows_are_asked_for(rng, rows):
    """Which the guide excepts from what it says of regressors that multiply matrices."""
    X, scores = rng.normal(size=(500, 20)), rng.exponential(size=500)
    line = LinearQuantile(0.9).fit(X, scores)
    parts = [line.predict(X[start : start + rows]) for start in range(0, 500, rows)]
    assert (np.concatenate(parts) == line.predict(X)).all()
