"""New rows keep all they had, and get what the model says."""

import numpy as np
import pyarrow as pa
import pytest
from tabular_worlds import TASKS, batch_of, make_table, roles_of

from plcp import LabelSets, QuantileResidual
from plcp.tables import Applier, calibrate, choose_roles, examine

NEW = {
    "regression": ["lower", "upper", "group", "threshold"],
    "quantiles": ["lower", "upper", "group", "threshold"],
    "classes": ["set", "group", "threshold"],
    "scores": ["group", "threshold"],
}


@pytest.fixture(scope="module")
def models():
    """One model a task."""
    tables = {task: make_table(task, 200) for task in TASKS}
    return {
        task: calibrate(table, roles_of(table, task), groups=2, explain=False)
        for task, table in tables.items()
    }


@pytest.mark.parametrize("task", TASKS)
def test_columns_and_order_are_kept_and_new_ones_come_last(models, task):
    batch = batch_of(make_table(task, 40, 1))
    applier = Applier(models[task])
    out = applier.apply(batch)
    assert out.schema == applier.schema(batch.schema)
    assert out.schema.names == [*batch.schema.names, *NEW[task]]
    assert out.select(batch.schema.names).equals(batch)
    assert sum(column.null_count for column in out.columns[batch.num_columns :]) == 0


@pytest.mark.parametrize("task", TASKS)
def test_a_row_gets_the_same_in_whichever_batch_it_comes(models, task):
    whole = batch_of(make_table(task, 40, 1))
    out = Applier(models[task]).apply(whole)
    applier = Applier(models[task])
    parts = [applier.apply(whole.slice(start, 7)) for start in range(0, 40, 7)]
    assert (
        pa.Table.from_batches(parts)
        .combine_chunks()
        .equals(pa.Table.from_batches([out]).combine_chunks())
    )


def test_other_order_other_widths_and_more_columns_change_nothing(models):
    table = make_table("regression", 40, 1)
    out = Applier(models["regression"]).apply(batch_of(table))
    as_ints = table["member"].cast(pa.int8())
    coded = table["sex"].combine_chunks().dictionary_encode()
    other = pa.table(
        {"extra": [[1]] * 40} | {name: table[name] for name in reversed(table.column_names)}
    )
    other = other.set_column(other.column_names.index("member"), "member", as_ints)
    other = other.set_column(other.column_names.index("sex"), "sex", coded)
    again = Applier(models["regression"]).apply(batch_of(other.drop_columns(["y"])))
    for name in NEW["regression"]:
        assert again[name].equals(out[name])


def test_rows_without_a_prediction_have_no_set_and_are_counted(models):
    table = make_table("regression", 5, 1)
    yhat = pa.array([None, 1.0, float("nan"), float("inf"), 2.0])
    table = table.set_column(table.column_names.index("yhat"), "yhat", yhat)
    applier = Applier(models["regression"])
    out = applier.apply(batch_of(table))
    for name in NEW["regression"]:
        assert out[name].is_valid().to_pylist() == [False, True, False, False, True]
    assert applier.notes() == ["3 of 5 rows have no finite prediction and are left without a set"]


def test_labels_without_probabilities_have_no_set(models):
    table = make_table("classes", 3, 1)
    at = table.column_names.index("p_no")
    values = [None, *table["p_no"].to_pylist()[1:]]
    applier = Applier(models["classes"])
    out = applier.apply(batch_of(table.set_column(at, "p_no", pa.array(values))))
    assert out["set"].is_valid().to_pylist() == [False, True, True]
    assert "1 of 3 rows has no finite prediction and is left without a set" in applier.notes()


def test_probabilities_of_nothing_are_no_prediction(models):
    table = make_table("classes", 2, 1)
    for name in ("p_maybe", "p_no", "p_yes"):
        zero = pa.array([0.0, table[name][1].as_py()])
        table = table.set_column(table.column_names.index(name), name, zero)
    out = Applier(models["classes"]).apply(batch_of(table))
    assert out["set"].is_valid().to_pylist() == [False, True]


def test_values_never_seen_are_counted_named_and_taken_for_missing(models):
    table = make_table("regression", 9, 1)
    at = table.column_names.index("sex")
    strange = table.set_column(at, "sex", pa.array(["x"] * 3 + ["y", "z", "q", "f", None, "x"]))
    gone = table.set_column(at, "sex", pa.array([None] * 6 + ["f", None, None]))
    applier = Applier(models["regression"])
    out = applier.apply(batch_of(strange))
    assert out["upper"].equals(Applier(models["regression"]).apply(batch_of(gone))["upper"])
    assert applier.notes() == [
        "7 rows hold values of 'sex' that calibration rows lack ('x': 4, 'y': 1, 'z': 1, and 1 "
        "other value): they count as missing"
    ]
    applier.apply(batch_of(strange))
    assert applier.notes()[0].startswith("14 rows hold values of 'sex'")


def test_a_group_never_seen_gets_every_outcome_and_is_counted():
    table = make_table("regression", 60)
    model = calibrate(table, roles_of(table, "regression"), method="mondrian", by=["sex"])
    applier = Applier(model)
    out = applier.apply(pa.record_batch({"yhat": [0.0, 0.0], "sex": ["f", None]}))
    assert out["group"].to_pylist() == [0, None]
    assert out["upper"].to_pylist()[1] == np.inf
    assert applier.notes() == [
        "1 row holds a value of 'sex' that calibration rows lack ('missing': 1): they belong to no "
        "group of that column",
        "1 set holds every outcome, of 2 rows: calibration has too few rows of their kind for a "
        "finite threshold",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop_columns(["day"]).append_column("days", t["day"]), "mean 'days'"),
        (lambda t: t.drop_columns(["yhat"]), "no column 'yhat' in new.csv"),
        (lambda t: t.append_column("upper", t["x"]), "'upper' already.*--prefix"),
        (
            lambda t: t.set_column(0, "x", t["x"].cast(pa.string())),
            r"'x' held numbers \(double\) in calibration and holds categories \(string\) now",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_the_work(models, change, words):
    given = change(make_table("regression", 5)).schema
    with pytest.raises(ValueError, match=words):
        Applier(models["regression"]).schema(given, "new.csv")


def test_a_prefix_makes_room(models):
    table = make_table("regression", 5)
    given = table.append_column("upper", table["x"]).schema
    names = Applier(models["regression"], prefix="my_").schema(given).names
    assert names[-4:] == ["my_lower", "my_upper", "my_group", "my_threshold"]


def test_no_rows_give_no_rows(models):
    batch = batch_of(make_table("classes", 4)).slice(0, 0)
    applier = Applier(models["classes"])
    assert applier.apply(batch).schema == applier.schema(batch.schema)
    assert applier.notes() == []


def test_an_empty_interval_is_written_so_that_no_number_lies_in_it():
    n = 99
    table = pa.table({"y": np.zeros(n), "lo": np.full(n, -5.0), "hi": np.full(n, 5.0)})
    model = calibrate(table, roles_of(table, "quantiles"), method="split")
    applier = Applier(model)
    out = applier.apply(pa.record_batch({"lo": [0.0, -6.0], "hi": [1.0, 6.0]}))
    assert out["threshold"].to_pylist() == [-5.0, -5.0]
    assert out["lower"].to_pylist()[0] == np.inf
    assert out["upper"].to_pylist()[0] == -np.inf
    assert applier.notes() == ["1 of 2 sets is empty: no outcome is near enough"]
    kept = QuantileResidual().invert([[-6.0, 6.0]], -5.0)
    assert (out["lower"][1].as_py(), out["upper"][1].as_py()) == (kept.lower[0], kept.upper[0])


@pytest.mark.parametrize(
    ("labels", "columns", "pattern", "kind"),
    [
        ([0, 1], ["p_0", "p_1"], "p_*", pa.int64()),
        ([0.0, 1.0, None], ["p_0", "p_1"], "p_*", pa.float64()),
        ([True, False], ["p_False", "p_True"], "p_*", pa.bool_()),
        ([True, False], ["p0", "p1"], "p*", pa.bool_()),
        (["a", "b"], ["a", "b"], "a,b", pa.string()),
        (["p_a", "p_b"], ["p_a", "p_b"], "p_*", pa.string()),
        ([1, 2], ["p_1", "p_2", "p_other"], "p_*", pa.string()),
    ],
)
def test_classes_are_told_by_name_and_keep_the_labels_type(labels, columns, pattern, kind):
    rows = 40
    spread = dict.fromkeys(columns, [1 / len(columns)] * rows)
    table = pa.table({"label": (labels * rows)[:rows], **spread})
    roles = choose_roles(table.column_names, target="label", probabilities=pattern)
    out = Applier(calibrate(table, roles, method="split")).apply(batch_of(table))
    assert out.schema.field("set").type == pa.list_(kind)
    truth = [label for label in table["label"].to_pylist() if label is not None]
    if kind == table["label"].type:
        assert {*truth} <= {*out["set"].to_pylist()[0]}


def test_a_label_without_a_column_is_refused_naming_both():
    table = pa.table({"label": ["a", "c"], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]})
    roles = choose_roles(table.column_names, target="label", probabilities="p_*")
    with pytest.raises(ValueError, match=r"'label' holds the label 'c', .* those of 'a', 'b'"):
        calibrate(table, roles, method="split")


def test_probabilities_are_put_right_or_refused():
    table = pa.table({"label": ["a", "b"] * 30, "p_a": [0.333] * 60, "p_b": [0.666] * 60})
    roles = choose_roles(table.column_names, target="label", probabilities="p_*")
    model = calibrate(table, roles, method="split")
    said = "probabilities of 60 rows whose sum was not 1 were divided by their sum"
    assert model.notes == (said,)
    assert model.rule.threshold_ == 1 - 0.333 / (0.333 + 0.666)
    negative = table.set_column(1, "p_a", pa.array([-0.333] * 60))
    with pytest.raises(ValueError, match=r"'p_a' holds -0.333, but probabilities are not neg"):
        calibrate(negative, roles, method="split")


@pytest.mark.parametrize("task", TASKS)
def test_examined_rows_are_covered_where_their_sets_hold_them(models, task):
    table = make_table(task, 60, 2)
    out, found = Applier(models[task]).apply(batch_of(table)), examine(models[task], table)
    if task == "classes":
        pairs = zip(out["set"].to_pylist(), out["label"].to_pylist(), strict=True)
        covered = [label in labels for labels, label in pairs]
        sizes = [len(labels) for labels in out["set"].to_pylist()]
    elif task == "scores":
        covered, sizes = out["s"].to_numpy() <= out["threshold"].to_numpy(), None
    else:
        low, high, y = (out[name].to_numpy() for name in ("lower", "upper", "y"))
        covered, sizes = (low <= y) & (y <= high), high - low
    np.testing.assert_array_equal(found.covered, covered)
    np.testing.assert_array_equal(found.thresholds, out["threshold"])
    np.testing.assert_array_equal(found.groups, out["group"])
    if sizes is None:
        assert found.size is found.split_size is None
    else:
        np.testing.assert_array_equal(found.size, sizes)
    assert list(found.frame.columns) == table.column_names


def test_examined_beside_split():
    table, test = make_table("regression", 99), make_table("regression", 50, 3)
    roles = roles_of(table, "regression")
    ours = examine(calibrate(table, roles, method="mondrian", by=["sex"]), test)
    split = examine(calibrate(table, roles, method="split"), test)
    np.testing.assert_array_equal(ours.split_covered, split.covered)
    np.testing.assert_array_equal(ours.split_size, split.size)
    assert split.groups is None


@pytest.mark.parametrize("method", ["split", "mondrian"])
def test_of_the_calibration_rows_split_covers_as_many_as_its_rank(method):
    table = make_table("regression", 99)
    by = ["sex"] if method == "mondrian" else None
    model = calibrate(table, roles_of(table, "regression"), method=method, by=by)
    assert examine(model, table).split_covered.sum() == 90  # ⌈0.9 · 100⌉, itself among them


def test_examined_rows_without_an_outcome_are_left_out(models):
    table = make_table("classes", 20, 1)
    at = table.column_names.index("label")
    labels = [None, None, *table["label"].to_pylist()[2:]]
    found = examine(models["classes"], table.set_column(at, "label", pa.array(labels)))
    assert len(found.covered) == len(found.frame) == 18
    assert found.notes == ("2 of 20 rows have no target and are left out",)
    whole = examine(models["classes"], table)
    np.testing.assert_array_equal(found.covered, whole.covered[2:])


def test_examine_needs_the_target(models):
    table = make_table("regression", 20).drop_columns(["y"])
    with pytest.raises(ValueError, match=r"no column 'y' in test\.csv"):
        examine(models["regression"], table, "test.csv")


def test_sets_of_labels_equal_those_of_the_library(models):
    table = make_table("classes", 30, 1)
    out = Applier(models["classes"]).apply(batch_of(table))
    probabilities = np.column_stack([table[f"p_{name}"] for name in ("maybe", "no", "yes")])
    mask = 1 - probabilities <= out["threshold"].to_numpy()[:, None]
    assert out["set"].to_pylist() == LabelSets(mask, ["maybe", "no", "yes"]).to_lists()
