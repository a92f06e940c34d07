"""Options, gaps and tiny samples: what each estimator says (arrays are in test_hostile_input)."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import (
    PLCP,
    ClassifierPartition,
    ConformalRegressor,
    Intervals,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.regressors import CrossFitted

N = 120


@pytest.mark.parametrize(
    "text",
    [lambda t: t.astype(object), pd.Series, lambda t: pd.Series(t, dtype="string"), pl.Series],
)
def test_text_does_not_pass_as_numbers(text):
    """Nor where numpy would read it as such: in objects, and in columns of a frame."""
    X, y = np.arange(20.0)[:, None], text(np.arange(20.0).astype(str))
    with pytest.raises(ValueError, match=r"y must be real numbers, got '0.0' at row 0: use Conf"):
        ConformalRegressor(LinearRegression(), threshold=SplitConformal()).fit(X, y)
    with pytest.raises(ValueError, match=r"scores must be real numbers, got '0.0' at row 0"):
        SplitConformal().fit(X, y)
    with pytest.raises(ValueError, match=r"y must be real numbers, got '0.0' at row 0"):
        Intervals(np.zeros(20), np.ones(20)).contains(y)


def test_a_query_of_polars_has_no_rows():
    X, y = pl.DataFrame({"a": np.arange(60.0)}), np.arange(60.0)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal()).fit(X, y)
    for read in (model.predict_set, lambda X: model.fit(X, y), lambda X: PLCP().fit(X, y)):
        with pytest.raises(TypeError, match=r"LazyFrame is a query.*give its .collect\(\)"):
            read(X.lazy())


def first_is_positive(X):
    return np.asarray(X)[:, 0] > 0


LINEAR = OrderedPartition(LinearQuantile(), n_groups=2)
SOFTMAX = SoftmaxPartition(n_groups=2, n_starts=1, max_rounds=2)
LOGISTIC = ClassifierPartition(LogisticRegression(), n_groups=2, n_rounds=1)
PARTITIONS = {"ordered": LINEAR, "softmax": SOFTMAX, "classifier": LOGISTIC}
PLCPS = {
    f"plcp-{name}": PLCP(partition, 2, calibration="cross")
    for name, partition in PARTITIONS.items()
}
RULES = {"split": SplitConformal(), "mondrian": Mondrian(first_is_positive), **PLCPS}
RULES["plcp"] = PLCP()
LEARNERS = {**PARTITIONS, **PLCPS}
EVERY = {**RULES, **PARTITIONS}


def over(estimators):
    return pytest.mark.parametrize("name", estimators)


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(N, 2))
    return X, (2 + X[:, 0]) * rng.exponential(size=N)


def make(name, **params):
    estimator = clone(EVERY[name])
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    return estimator.set_params(**params)


@over(RULES)
def test_an_alpha_that_misses_most_labels_is_warned_of_once(name, data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(name, alpha=0.9).fit(*data)
    [about_alpha] = [warning for warning in caught if "alpha" in str(warning.message)]
    assert "only 10 %: for sets that cover 90 % give alpha = 0.1" in str(about_alpha.message)
    assert about_alpha.filename == __file__


def test_a_warning_is_raised_in_code_that_has_no_module():
    with pytest.warns(InfiniteThresholdWarning):
        exec("fit([[0.0]] * 3, [1.0, 2.0, 3.0])", {"fit": SplitConformal().fit})


NO_GAPS = [name for name in EVERY if name not in ("split", "mondrian", "plcp")]
FRAMES = {"array": np.asarray, "pandas": pd.DataFrame, "polars": pl.DataFrame}


def table(X, kind):
    return X if kind == "array" else FRAMES[kind]({"a": X[:, 0], "b": X[:, 1]})


@pytest.mark.parametrize("kind", FRAMES)
@over(NO_GAPS)
def test_missing_values_name_a_regressor_that_takes_them(name, kind, data):
    X, scores = data
    gaps = X.copy()
    gaps[5, 1] = np.nan
    with pytest.raises(ValueError, match=r"HistGradientBoostingRegressor\(loss=.quantile.\)"):
        make(name).fit(table(gaps, kind), scores)
    fitted = make(name).fit(table(X, kind), scores)
    with pytest.raises(ValueError, match=r"HistGradientBoostingRegressor\(loss=.quantile.\)"):
        fitted.predict(table(gaps, kind))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    "regressor",
    [
        None,
        HistGradientBoostingRegressor(loss="quantile", max_iter=5),
        make_pipeline(SimpleImputer(), LinearQuantile()),
    ],
    ids=["default", "boosted", "imputer"],
)
def test_missing_values_work_where_the_regressor_takes_them(regressor, kind, data):
    X, scores = data
    X[::7, 1] = np.nan
    rule = PLCP(OrderedPartition(regressor), 2, random_state=0).fit(table(X, kind), scores)
    assert np.isfinite(rule.predict(table(X, kind))).all()


def test_a_pipeline_without_imputer_names_a_regressor_that_takes_gaps(data):
    X, scores = data
    line = make_pipeline(StandardScaler(), LinearQuantile())
    rule = PLCP(OrderedPartition(line), 2, calibration="cross")
    rule.fit(X, scores)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="HistGradientBoostingRegressor"):
        rule.predict(X)
    with pytest.raises(ValueError, match="HistGradientBoostingRegressor"):
        rule.fit(X, scores)


def test_an_imputer_by_column_names_works(data):
    X, scores = data
    frame = table(X, "pandas")
    frame.loc[3, "b"] = np.nan
    chosen = make_column_transformer((SimpleImputer(), ["b"]))
    rule = PLCP(OrderedPartition(make_pipeline(chosen, LinearQuantile())), 2).fit(frame, scores)
    assert np.isfinite(rule.predict(frame)).all()


@over(PARTITIONS)
def test_auto_is_for_rules(name, data):
    with pytest.raises(ValueError, match="whole number, at least 1, got 'auto'"):
        make(name, n_groups="auto").fit(*data)


@pytest.mark.parametrize("option", ["calibration", "assignment", "within"])
@pytest.mark.parametrize("value", ["crosswise", None, 1, ["split"]])
def test_unknown_options_of_plcp(option, value, data):
    with pytest.raises(ValueError, match=f"{option} must be one of '.*', got "):
        PLCP(LINEAR, 2, **{option: value}).fit(*data)


@over(EVERY)
def test_unfitted_use(name, data):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        make(name).predict(data[0])
    for method in ("groups", "memberships", "predict_proba", "predict_quantile"):
        if hasattr(EVERY[name], method) and name != "mondrian":
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(make(name), method)(data[0])


def test_a_regressor_without_weights(data):
    rule = PLCP(OrderedPartition(KNeighborsRegressor()), 2, calibration="cross")
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        rule.fit(*data, sample_weight=np.linspace(1, 2, N))


@over(["split", "mondrian"])
def test_one_row_has_an_infinite_threshold(name):
    with pytest.warns(InfiniteThresholdWarning, match="the only valid threshold is infinite"):
        rule = make(name).fit([[1.0, 2.0]], [3.0])
    assert_array_equal(rule.predict([[1.0, 2.0]]), [np.inf])


@over(PLCPS)
def test_one_row_is_too_few_for_a_partition(name):
    with pytest.raises(ValueError, match="n_samples=1: one row is too few for a partition"):
        make(name, n_groups=1, alpha=0.5).fit([[1.0, 2.0]], [3.0])


@over(["split", "plcp", *PLCPS])
def test_too_few_rows_have_an_infinite_threshold(name, data):
    X, scores = data
    with pytest.warns(InfiniteThresholdWarning, match="8 calibration points are fewer than the 9"):
        rule = make(name).fit(X[:8], scores[:8])
    assert_array_equal(rule.predict(X), np.inf)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PLCP(cv=1), r"cv must be a whole number, at least 2, got 1"),
        (PLCP(cv="a"), r"cv must be a whole number of folds, a splitter .* got 'a'"),
        (PLCP(calibration_size="a"), r"calibration_size must lie in \(0, 1\), got 'a'"),
        (PLCP(calibration="split", calibration_size=1), r"calibration_size must lie in \(0, 1\)"),
        (
            PLCP(calibration="split", calibration_size=-0.5),
            r"calibration_size must lie in \(0, 1\)",
        ),
        (OrderedPartition(cuts="best"), r"cuts must be one of 'mass', 'optimal', got 'best'"),
        (PLCP(partition="softmax"), r"partition must be a Partition or None, got 'softmax'"),
        (PLCP(partition=LinearQuantile()), r"wrap a regressor in OrderedPartition"),
        (SoftmaxPartition(max_rounds=0), r"max_rounds must be a whole number, at least 1, got 0"),
        (SoftmaxPartition(n_starts=0), r"n_starts must be a whole number, at least 1, got 0"),
        (SoftmaxPartition(l2=-1), r"l2 must not be negative, got -1"),
        (ClassifierPartition(n_rounds=0), r"n_rounds must be a whole number, at least 1, got 0"),
        (CrossFitted(LinearQuantile(), n_repeats=0), r"n_repeats must be .* at least 1, got 0"),
    ],
    ids=repr,
)
def test_options_out_of_range_are_named(rng, estimator, message):
    X, scores = rng.normal(size=(40, 2)), np.abs(rng.normal(size=40))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, scores)
