"""What no rule can read is refused with a sentence, and a failed fit changes nothing."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from dask_models import Bare
from dask_rules import rows
from sklearn.linear_model import LogisticRegression

import dask
from plcp import LinearQuantile, OrderedPartition
from plcp.dask import (
    DaskConformalClassifier,
    DaskConformalRegressor,
    DaskLinearQuantile,
    DaskPLCP,
    DaskSplitConformal,
)
from plcp.dask.plcp import evidence_of
from plcp.exceptions import InfiniteThresholdWarning

X, Y = rows(120)
LAZY = da.from_array(X, chunks=(40, 2)), da.from_array(Y, chunks=40)


def test_sparse_blocks_are_refused(rule_on):
    sparse = LAZY[0].map_blocks(scipy.sparse.csr_matrix, dtype=float)
    with pytest.raises(TypeError, match=r"part \d of 3.*X is made of sparse.*toarray\(\)"):
        rule_on().fit(sparse, LAZY[1])


def test_masked_values_are_refused(rule_on):
    for place in range(2):
        given = list(LAZY)
        given[place] = da.ma.masked_greater(LAZY[place], 1.5)
        with pytest.raises(ValueError, match=r"part \d of 3.*a masked array hides \d+ values"):
            rule_on().fit(*given)
    whole = da.ma.masked_greater(LAZY[1], Y.max())  # a mask that hides nothing
    assert DaskSplitConformal(0.2).fit(LAZY[0], whole).threshold_ == pytest.approx(
        DaskSplitConformal(0.2).fit(*LAZY).threshold_, abs=0
    )


@pytest.mark.parametrize("name", ["X", "y"])
def test_nothing_and_what_tells_nothing_of_itself_are_refused(rule_on, name):
    def given(value):
        return [value if own == name else lazy for own, lazy in zip("Xy", LAZY, strict=True)]

    with pytest.raises(ValueError, match=f"fit requires {name} to be passed, but {name} is None"):
        rule_on().fit(*given(None))
    with pytest.raises(TypeError, match=rf"{name} is a Delayed.*from_delayed"):
        rule_on().fit(*given(dask.delayed(X)))


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("converted", [True, False])
def test_a_label_that_is_missing_is_named_with_its_part(gap, converted):
    frame = pd.DataFrame(X, columns=["g", "x"])
    labels = pd.Series(np.where(X[:, 1] > 0, "yes", "no"), dtype=object)
    model = DaskConformalClassifier(
        LogisticRegression().fit(frame, labels), threshold=DaskSplitConformal(0.2)
    )
    labels[100] = gap
    with dask.config.set({"dataframe.convert-string": converted}):
        lazy = [dd.from_pandas(values, npartitions=3) for values in (frame, labels)]
        with pytest.raises(ValueError, match=r"part 2 of 3.*y has no label at row 20"):
            model.fit(*lazy)


def test_columns_without_string_names_in_another_order_are_refused(rule_on):
    frame = dd.from_pandas(pd.DataFrame(X, columns=[7, 3]), npartitions=3)
    rule = rule_on().fit(frame, dd.from_pandas(pd.Series(Y), npartitions=3))
    with pytest.raises(ValueError, match=r"columns \['3', '7'\], but had \['7', '3'\] in fit"):
        rule.predict(frame[[3, 7]])


def test_an_index_without_an_answer_is_refused():
    models = [LinearQuantile().fit(X, Y) for _ in range(2)]
    models[1].coef_ = models[1].coef_ * np.nan
    for some in (models, models[1:]):
        with pytest.raises(ValueError, match="the regressor must predict finite numbers, got"):
            evidence_of(X, Y, some, 0)


def test_thresholds_without_calibration_rows_are_infinite():
    """Copies of one row in parts of their own are drawn together: none is left to calibrate."""
    ones = da.ones((40, 1), chunks=(1, 1))
    rule = DaskPLCP(OrderedPartition(LinearQuantile()), 1, calibration="split", within="regressor")
    with pytest.warns(InfiniteThresholdWarning):
        rule.fit(ones, ones[:, 0])
    assert np.isposinf(rule.thresholds_).all()
    assert np.isposinf(rule.predict(ones).compute()).all()


@pytest.mark.parametrize(
    "estimator",
    [
        DaskSplitConformal(0.2),
        DaskPLCP(OrderedPartition(DaskLinearQuantile()), 2, 0.2),
        DaskConformalRegressor(Bare(), threshold=DaskSplitConformal(0.2)),
    ],
)
def test_a_failed_fit_leaves_the_earlier_one_whole(estimator):
    fitted = estimator.fit(*LAZY)
    before, learned = fitted.predict(LAZY[0]).compute(), set(vars(fitted))
    wider = da.concatenate([LAZY[0], LAZY[0]], axis=1)
    with pytest.raises(ValueError, match=r"part \d of 3"):
        fitted.fit(wider, da.where(da.arange(120, chunks=40) == 100, np.nan, LAZY[1]))
    assert set(vars(fitted)) == learned
    assert fitted.n_features_in_ == 2
    np.testing.assert_array_equal(fitted.predict(LAZY[0]).compute(), before)
