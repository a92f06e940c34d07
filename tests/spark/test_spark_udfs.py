"""Fitted rules as Spark columns: the same bits as in memory, in any batches and partitions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pyspark import cloudpickle
from pyspark.errors import PythonException
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.spark import interval_udf, set_udf, threshold_udf

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)
NUMBERS, ALL = ["x1", "x2"], ["x1", "x2", "kind"]
# trees predict the same bits in batches of any size; a matrix product need not
TREE, KINDS = DecisionTreeRegressor(max_depth=3), DecisionTreeClassifier(max_depth=3)
N = 400


@pytest.fixture(scope="module")
def table():
    """Numbers, a group and a number of each row, a score that depends on them, and labels."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=NUMBERS)
    frame["kind"] = rng.choice(["new", "worn", "o'clock"], N)
    frame["row"] = np.arange(N)
    frame["score"] = rng.exponential(1 + frame["x1"] ** 2 + 3 * (frame["kind"] == "worn"))
    frame["label"] = np.where(frame["x1"] + rng.normal(size=N) > 0, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def frames(spark, table):
    """The table in three parts of unequal size, and one without rows."""
    whole = spark.createDataFrame(table)
    part = np.searchsorted([10, 100, 100], np.arange(N), side="right").tolist()
    by_part = whole.rdd.map(lambda row: (part[row["row"]], row)).partitionBy(4, lambda key: key)
    return spark.createDataFrame(by_part.values(), whole.schema).cache()


def column(frame, computed):
    """Values of a column, by row."""
    found = frame.select("row", computed.alias("computed")).toArrow().sort_by("row")
    assert found["row"].to_pylist() == list(range(N))
    return found["computed"]


LINE = PLCP(OrderedPartition(LinearQuantile()), random_state=0)
RULES = {
    "split": (SplitConformal(), ALL),
    "mondrian": (Mondrian("kind"), ALL),
    "function": (Mondrian(lambda X: np.sign(X["x1"])), NUMBERS),
    "linear": (LINE, NUMBERS),
    "drawing": (
        PLCP(SoftmaxPartition(2, n_starts=1, max_rounds=2), 2, assignment="sample", random_state=0),
        NUMBERS,
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_thresholds_are_those_of_the_rule_in_memory(frames, table, name):
    rule, names = RULES[name]
    fitted = rule.fit(table[names], table["score"])
    found = column(frames, threshold_udf(fitted)(*names))
    assert_array_equal(found, fitted.predict(table[names]))
    assert name == "split" or len(set(found.to_pylist())) > 1


def test_a_rule_fitted_on_an_array_is_given_one(frames, table):
    X = table[NUMBERS].to_numpy()
    fitted = clone(LINE).fit(X, table["score"])
    expected = fitted.predict(X)
    for computed in (threshold_udf(fitted)(*NUMBERS), threshold_udf(fitted, NUMBERS)("x2", "x1")):
        assert_array_equal(column(frames, computed), expected)
    with pytest.raises(ValueError, match="name the columns"):
        threshold_udf(fitted)()


def test_columns_are_found_by_name(frames, table):
    fitted = clone(LINE).fit(table[NUMBERS], table["score"])
    expected = fitted.predict(table[NUMBERS])
    udf = threshold_udf(fitted)
    for computed in (udf("kind", "x2", "x1"), udf()):
        assert_array_equal(column(frames, computed), expected)
    odd = frames.withColumnsRenamed({"x1": "first.one", "x2": "second"})
    aliases = odd["`first.one`"].alias("x1"), odd["second"].alias("x2")
    renamed = threshold_udf(fitted, ["first.one", "second"])
    for computed in (udf(*aliases), renamed()):
        assert_array_equal(column(odd, computed), expected)


def test_nulls_are_missing_values(spark, table):
    gaps = table[ALL].assign(count=np.arange(N) % 7).astype({"kind": object, "count": float})
    rng = np.random.default_rng(1)
    gaps = gaps.mask(rng.random(gaps.shape) < 0.2)
    fitted = PLCP(random_state=0).fit(gaps, table["score"])
    kinds = "x1 double, x2 double, kind string, count int, row long"
    rows = [
        (*(None if pd.isna(value) else value for value in row[:3]), *row[3:])
        for row in zip(
            *(gaps[name] for name in ALL),
            (None if pd.isna(value) else int(value) for value in gaps["count"]),
            range(N),
            strict=True,
        )
    ]
    frame = spark.createDataFrame(rows, kinds)
    array = gaps[NUMBERS].to_numpy()
    unnamed = PLCP(random_state=0).fit(array, table["score"])
    assert_array_equal(column(frame, frame["x1"].isNull()), gaps["x1"].isna())
    assert_array_equal(column(frame, threshold_udf(fitted)()), fitted.predict(gaps))
    assert_array_equal(column(frame, threshold_udf(unnamed)(*NUMBERS)), unnamed.predict(array))


def test_infinite_thresholds_stay(frames, table):
    few = table[table["kind"] != "worn"]
    fitted = Mondrian("kind").fit(few[ALL], few["score"])
    found = np.array(column(frames, threshold_udf(fitted)()))
    assert_array_equal(np.isinf(found), table["kind"] == "worn")


def test_sql_takes_a_struct(spark, frames, table):
    fitted = clone(LINE).fit(table[NUMBERS], table["score"])
    spark.udf.register("threshold", threshold_udf(fitted))
    frames.createOrReplaceTempView("rows")
    found = spark.sql("SELECT row, threshold(struct(x2, x1)) AS t FROM rows").toArrow()
    assert_array_equal(found.sort_by("row")["t"], fitted.predict(table[NUMBERS]))


def test_intervals(frames, table):
    tree = TREE.fit(table[NUMBERS], table["score"])
    model = ConformalRegressor(FrozenEstimator(tree), threshold=clone(LINE), features=["x1"])
    model.fit(table[NUMBERS], table["score"])
    found = pd.DataFrame(column(frames, interval_udf(model)(*NUMBERS)).to_pylist())
    assert list(found.columns) == ["lower", "upper"]
    assert_array_equal(found, model.predict_interval(table[NUMBERS]))


def test_names_are_those_of_calibration_if_the_model_has_none(frames, table):
    class ByName:  # trained elsewhere; reads its column by name
        def predict(self, rows):
            return 2 * rows["x2"].to_numpy()

    model = ConformalRegressor(FrozenEstimator(ByName()), threshold=SplitConformal())
    model.fit(table[NUMBERS], table["score"])
    upper = column(frames, interval_udf(model)("x2", "x1")["upper"])
    assert_array_equal(upper, model.predict_interval(table[NUMBERS])[:, 1])


@pytest.mark.parametrize("labels", ["text", "numbers", "truth"])
def test_label_sets(frames, table, labels):
    yes = table["label"] == "yes"
    y = {"text": table["label"], "numbers": np.where(yes, 7, 3), "truth": yes}[labels]
    known = KINDS.fit(table[NUMBERS], y)
    model = ConformalClassifier(FrozenEstimator(known), threshold=SplitConformal())
    model.fit(table[NUMBERS], y)
    found = column(frames, set_udf(model)(*NUMBERS))
    assert found.to_pylist() == model.predict_set(table[NUMBERS]).to_lists()


def test_the_rule_is_sent_once_not_with_every_batch(frames, table, tmp_path):
    log = tmp_path / "unpickled"

    class Heavy(SplitConformal):  # defined only here: it must be pickled by value
        def __setstate__(self, state):
            super().__setstate__(state)
            with log.open("a") as file:
                file.write("x")

    fitted = Heavy().fit(table[NUMBERS], table["score"])
    fitted.ballast_ = np.zeros(1_000_000)
    udf = threshold_udf(fitted)
    assert len(cloudpickle.dumps(udf.func)) < 100_000
    assert_array_equal(column(frames, udf(*NUMBERS)), fitted.predict(table[NUMBERS]))
    assert 1 <= len(log.read_text()) <= 2  # two workers


def test_what_is_not_fitted_or_not_a_rule_is_refused(spark, table):
    line = FrozenEstimator(LinearRegression().fit(table[NUMBERS], table["score"]))
    with pytest.raises(NotFittedError, match="PLCP instance is not fitted"):
        threshold_udf(PLCP())
    with pytest.raises(NotFittedError, match="ConformalRegressor instance is not fitted"):
        interval_udf(ConformalRegressor(line))
    with pytest.raises(NotFittedError, match="ConformalClassifier instance is not fitted"):
        set_udf(ConformalClassifier(line))
    with pytest.raises(TypeError, match="ConformalRegressor: use interval_udf or set_udf"):
        threshold_udf(ConformalRegressor(line))
    with pytest.raises(TypeError, match="must be a fitted ConformalRegressor, got PLCP"):
        interval_udf(PLCP())


def test_a_missing_session_or_column_is_refused(spark, table, monkeypatch):
    fitted = SplitConformal().fit(table[NUMBERS], table["score"])
    with pytest.raises(ValueError, match=r"one column for each of \['x1', 'x2'\], got \['x1'\]"):
        threshold_udf(fitted, ["x1"])
    with pytest.raises(ValueError, match="got 'x1'"):
        threshold_udf(fitted, "x1")
    monkeypatch.setattr(type(spark), "getActiveSession", classmethod(lambda cls: None))
    with pytest.raises(RuntimeError, match="no Spark session is active"):
        threshold_udf(fitted)


def test_a_feature_that_is_not_there_is_named(spark, frames, table):
    """Last, since a worker that fails is replaced by a new one, which takes its time."""
    fitted = SplitConformal().fit(table[NUMBERS], table["score"])
    with pytest.raises(PythonException, match=r"features \['x2'\] are not among .*'kind'"):
        column(frames, threshold_udf(fitted)("x1", "kind"))
    spark.udf.register("threshold", threshold_udf(fitted))
    frames.createOrReplaceTempView("rows")
    with pytest.raises(PythonException, match="give the columns as struct"):
        spark.sql("SELECT threshold(x1, x2) FROM rows LIMIT 1").collect()
