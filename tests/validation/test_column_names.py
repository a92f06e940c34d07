"""Columns are known by their names, whatever these are, and come back into the order of fit."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp import (
    PLCP,
    BatchGCP,
    ColumnOrderWarning,
    ConformalRegressor,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    QuantilePair,
    Rectified,
    SplitConformal,
    load,
    save,
)
from plcp.explain import explain_groups
from plcp.metrics import ert

NAMES = {
    "integers": [3, 1, 2],
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "dates": pd.date_range("2024-01-01", periods=3),
    "floats": [0.5, 1.5, 2.5],
}
LINE = PLCP(OrderedPartition(LinearQuantile(), 2), 2, random_state=0)
# a model that cannot tell columns apart by name
MODEL = FrozenEstimator(LinearRegression().fit(np.eye(3), [1.0, -2.0, 4.0]))
ESTIMATORS = {
    "PLCP": LINE,
    "Rectified": Rectified(LinearQuantile(), random_state=0),
    "OrderedPartition": OrderedPartition(LinearQuantile(), 2),
    "LinearQuantile": LinearQuantile(),
    "QuantilePair": QuantilePair(LinearRegression(), LinearRegression()),
    "ConformalRegressor": ConformalRegressor(MODEL, threshold=LINE),
    "with features": ConformalRegressor(
        MODEL, threshold=SplitConformal(), features=lambda X: np.asarray(X)[:, :1]
    ),
}


def drawn(rng, names, n=120):
    X = pd.DataFrame(rng.uniform(size=(n, 3)) * [1, 10, 100], columns=names)
    return X, rng.exponential(0.1 + X.iloc[:, 1])


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_columns_without_string_names_come_back_into_order(rng, names, estimator):
    X, y = drawn(rng, names)
    fitted = estimator.fit(X, y)
    expected = fitted.predict(X)  # warnings are errors
    with pytest.warns(ColumnOrderWarning, match="back into that of fit"):
        found = fitted.predict(X.iloc[:, [2, 0, 1]])
    assert_array_equal(found, expected)
    assert_array_equal(fitted.predict(X.to_numpy()), expected)


def test_other_names_are_taken_by_position_but_not_in_silence(rng):
    X, y = drawn(rng, [0, 1, 2])
    rule = SplitConformal().fit(X, y)
    with pytest.warns(ColumnOrderWarning, match=r"are \['7', '8', '9'\], but were .* position"):
        rule.predict(X.set_axis([7, 8, 9], axis=1))


def test_a_fit_to_an_array_forgets_the_columns_of_an_earlier_one(rng):
    X, y = drawn(rng, [0, 1, 2])
    rule = SplitConformal().fit(X, y).fit(X.to_numpy(), y)
    rule.predict(X[[2, 1, 0]])  # warnings are errors


def test_the_order_of_columns_is_kept_in_a_file(rng, tmp_path):
    X, y = drawn(rng, NAMES["levels"])
    rule = LINE.fit(X, y)
    save(rule, tmp_path / "rule.plcp")
    with pytest.warns(ColumnOrderWarning):
        found = load(tmp_path / "rule.plcp").predict(X.iloc[:, ::-1])
    assert_array_equal(found, rule.predict(X))


@pytest.mark.parametrize("kind", [pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_a_table_of_arrow_is_taken_wherever_a_frame_is(rng, kind):
    X, y = drawn(rng, ["a", "b", "c"])
    X = X.assign(c=np.where(X["c"] > 50, "high", "low"))
    table = kind(X)
    rules = (PLCP(random_state=0), Mondrian("c"), BatchGCP("c"), SplitConformal())
    for rule in rules:
        assert_array_equal(rule.fit(table, y).predict(table), rule.fit(X, y).predict(X))
    assert float(ert(table, y < 1)) == float(ert(X, y < 1))
    assert str(explain_groups(LINE.fit(X[["a", "b"]], y), table.select(["a", "b"]))) == str(
        explain_groups(LINE.fit(X[["a", "b"]], y), X[["a", "b"]])
    )
