"""Several levels where one is wanted: a sentence, and never a number of the wrong level."""

import dask.array as da
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from plcp import (
    PLCP,
    ConformalRegressor,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    certify,
)
from plcp.dask import DaskConformalRegressor, DaskMondrian, DaskPLCP, DaskSplitConformal
from plcp.explain import explain_groups
from plcp.out_of_core.passes import Held
from plcp.plotting import (
    ComparisonDisplay,
    CoverageDisplay,
    HistoryDisplay,
    SelectionDisplay,
    SizeDisplay,
    ThresholdDisplay,
)
from plcp.spark import interval_udf, threshold_udf

LEVELS = [0.1, 0.3]
LINEAR = OrderedPartition(LinearQuantile())
LOOKED_AT = r"was fitted at 2 alphas, \[0.1, 0.3\], and only one .* by .at\(0.1\)"


@pytest.fixture
def rows(rng):
    X = rng.uniform(-1, 1, size=(200, 2))
    return X, X[:, 0] + (2 + X[:, 1]) * rng.normal(size=200)


def conformal(rows, conformity=None):
    rule = PLCP(LINEAR, 2, LEVELS, share_partition=True, random_state=0)
    return ConformalRegressor(LinearRegression(), conformity, rule, random_state=0).fit(*rows)


LOOKS = {
    "certificate": lambda model, X, y: certify(model, X, y),
    "coverage": lambda model, X, y: CoverageDisplay.from_estimator(model, X, y),
    "size": lambda model, X, y: SizeDisplay.from_estimator(model, X, y),
    "comparison": lambda model, X, y: ComparisonDisplay.from_estimator(model, X, y, before=model),
    "thresholds": lambda model, X, y: ThresholdDisplay.from_estimator(model, X, features=0),
    "history": lambda model, X, y: HistoryDisplay.from_estimator(model),
    "selection": lambda model, X, y: SelectionDisplay.from_estimator(model),
    "explanation": lambda model, X, y: explain_groups(model, X),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_who_looks_at_one_level_says_so(rows, look):
    X, y = rows
    for model in (conformal(rows), conformal(rows).thresholds_[0]):
        with pytest.raises(ValueError, match=LOOKED_AT):
            look(model, X, np.abs(y))


@pytest.mark.parametrize("look", sorted({*LOOKS} - {"history", "selection"}))
def test_a_model_at_one_of_its_levels_can_be_looked_at(rows, look):
    X, y = rows
    model = conformal(rows)
    for one in (model.at(0.1), model.thresholds_[0].at(0.1)):
        LOOKS[look](one, X, np.abs(y))


@pytest.mark.parametrize("look", ["certificate", "coverage", "size"])
def test_two_tails_of_several_levels_are_refused_alike(rows, look):
    with pytest.raises(ValueError, match=LOOKED_AT):
        LOOKS[look](conformal(rows, SignedResidual()), *rows)


def test_each_rule_of_a_level_can_be_looked_at(rows):
    X, y = rows
    rule = conformal(rows).thresholds_[0]
    for level in LEVELS:
        each = rule.at(level)
        assert certify(each, X, np.abs(y)).alpha == level
        assert len(explain_groups(each, X).groups) == 2


def test_columns_of_spark_have_one_level(rows):
    with pytest.raises(ValueError, match=LOOKED_AT):
        threshold_udf(conformal(rows).thresholds_[0])
    with pytest.raises(ValueError, match=LOOKED_AT):
        interval_udf(conformal(rows))


@pytest.mark.parametrize(
    "rule", [DaskPLCP(alpha=LEVELS), DaskSplitConformal(LEVELS), DaskMondrian(0, LEVELS)]
)
def test_rules_on_dask_have_one_level(rows, rule):
    X, y = (da.from_array(part, chunks=(100, *part.shape[1:])) for part in rows)
    said = "must be one rate here, got .*: fit one rule per alpha"
    with pytest.raises(ValueError, match=said):
        rule.fit(X, y)
    with pytest.raises(ValueError, match=said):
        DaskConformalRegressor(LinearRegression().fit(*rows), threshold=rule).fit(X, y)


def test_a_model_of_several_levels_does_not_serve_dask(rows):
    with pytest.raises(ValueError, match=LOOKED_AT):
        DaskConformalRegressor.from_local(conformal(rows))


@pytest.mark.parametrize("partition", [LINEAR, SoftmaxPartition()])
def test_a_partition_has_one_level(rows, partition):
    partition = type(partition)(alpha=LEVELS)
    with pytest.raises(ValueError, match="must be one rate here"):
        partition.fit(*rows)


@pytest.mark.parametrize("rule", [SplitConformal(LEVELS), Mondrian(0, LEVELS)])
def test_rows_in_blocks_are_read_at_one_level(rows, rule):
    X, y = rows
    kinds = np.sign(X[:, 0])
    blocks = Held([(y,) if isinstance(rule, SplitConformal) else (kinds, y)])
    with pytest.raises(ValueError, match="must be one rate here"):
        rule.fit_blocks(blocks)
    rule.fit(kinds[:, None], y).set_params(alpha=0.1).fit_blocks(blocks)
    assert rule.predict(kinds[:, None]).shape == (len(y),)
