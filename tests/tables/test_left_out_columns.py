"""Columns that name rows, or never change, teach nothing; the user may overrule that."""

import decimal

import numpy as np
import pyarrow as pa
import pytest
from tabular_worlds import make_table, roles_of

from plcp.tables import calibrate, choose_roles
from plcp.tables.columns import learn_features

N = 150
ROWS = np.random.default_rng(0).permutation(N)
NAMING = {
    "numbers of rows": pa.array(ROWS),
    "keys": pa.array(27_000_000_000_000_000 + 7 * ROWS),
    "with a gap": pa.array([None, *ROWS[1:].tolist()], pa.int64()),
    "gaps made floats": pa.array([np.nan, *ROWS[1:].astype(float)]),
    "decimals": pa.array([decimal.Decimal(int(row)) for row in ROWS], pa.decimal128(38, 0)),
    "text": pa.array([f"row {row}" for row in ROWS]),
}
CONSTANT = {
    "number": pa.array(np.full(N, 7)),
    "too long for a float": pa.array([1e25] * N),
    "text": pa.array(["x"] * N),
    "truth": pa.array([True] * N),
    "date": pa.array([0] * N, pa.timestamp("us")),
    "category": pa.array(["x"] * N).dictionary_encode(),
}
ORDINARY = {
    "reals": pa.array(np.random.default_rng(0).normal(size=N)),
    "amounts": pa.array([*ROWS[:-1], ROWS[0]]),  # one comes twice
    "dates": pa.array(ROWS, pa.timestamp("s")),
    "one value or none": pa.array([None, *[1.0] * (N - 1)]),
    "present or not": pa.array([None, *["x"] * (N - 1)]),
}


def learned(column, **options):
    table = pa.table({"column": column})
    return learn_features(table, ["column"], named=False, **options)


@pytest.mark.parametrize("kind", NAMING)
def test_what_names_rows_is_left_out(kind):
    features, (left,) = learned(NAMING[kind])
    assert features == ()
    assert "differ" in left.reason or "different" in left.reason


@pytest.mark.parametrize("kind", CONSTANT)
def test_what_never_changes_is_left_out(kind):
    features, (left,) = learned(CONSTANT[kind])
    assert features == ()
    assert left.reason.endswith("the same in every row")


@pytest.mark.parametrize("kind", ORDINARY)
def test_what_may_teach_stays(kind):
    assert [feature.column for feature in learned(ORDINARY[kind])[0]] == ["column"]


def test_few_rows_prove_no_identifier_and_a_prediction_is_none():
    assert learned(pa.array(ROWS[:50]))[0]
    assert learned(pa.array(ROWS), predictions=["column"])[0]
    assert learned(pa.array(ROWS), codes=["column"])[0]


@pytest.mark.parametrize("column", [*NAMING.values(), *CONSTANT.values()])
def test_columns_that_the_user_names_are_used(column):
    features, left = learn_features(pa.table({"column": column}), ["column"], named=True)
    assert (len(features), left) == (1, ())


def test_calibration_names_what_it_left_out_and_how_to_use_it():
    table = make_table("regression", N).append_column("id", pa.array(ROWS))
    table = table.append_column("same", pa.array(["x"] * N))
    table = table.append_column("none", pa.nulls(N))
    model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
    assert {left.column for left in model.left_out} == {"id", "same", "none"}
    assert not {"id", "same", "none"} & {feature.column for feature in model.features}
    (note,) = model.notes
    assert "'id'" in note
    assert "'same'" in note
    assert "'none'" not in note  # nothing can be learned from it
    assert "--features" in note
    chosen = roles_of(table, "regression", features="x,id")
    asked = calibrate(table, chosen, groups=2, explain=False)
    assert [feature.column for feature in asked.features] == ["x", "id"]
    assert asked.notes == ()


def test_a_table_of_nothing_but_constants_is_refused_with_the_reasons():
    table = pa.table({"y": np.arange(20.0), "yhat": np.zeros(20)})
    roles = choose_roles(table.column_names, target="y", prediction="yhat")
    with pytest.raises(ValueError, match=r"no column to learn groups from.*'yhat': it is the same"):
        calibrate(table, roles)


def test_columns_that_apply_made_are_not_learned_from():
    names = ["lower", "upper", "group", "threshold", "lower_0.05", "upper_0.05", "threshold_0.05"]
    table = make_table("regression", N)
    for name in names:
        table = table.append_column(f"my_{name}", table["y"])
    model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
    assert {left.column for left in model.left_out} == {f"my_{name}" for name in names}


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(("task", "role"), [("regression", "y"), ("scores", "s")])
def test_an_infinite_outcome_is_refused_and_not_dropped(task, role, value):
    table = make_table(task, 60)
    values = [value, *table[role].to_pylist()[1:]]
    table = table.set_column(table.column_names.index(role), role, pa.array(values))
    with pytest.raises(ValueError, match=rf"'{role}' is infinite in 1 row: write the largest"):
        calibrate(table, roles_of(table, task), method="split")


def test_an_infinite_weight_is_refused():
    table = make_table("regression", 60)
    weights = pa.array([np.inf, *[1.0] * 59])
    table = table.set_column(table.column_names.index("w"), "w", weights)
    with pytest.raises(ValueError, match="weight 'w' is infinite in 1 row"):
        calibrate(table, roles_of(table, "regression", weight="w"), method="split")


def test_swapped_quantiles_are_refused():
    table = make_table("quantiles", 60)
    roles = choose_roles(table.column_names, target="y", lower="hi", upper="lo")
    with pytest.raises(ValueError, match=r"'hi' lies above upper 'lo' in 60 of 60 rows: .*swapped"):
        calibrate(table, roles, method="split")
