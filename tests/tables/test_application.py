"""New rows get sets; all their columns are kept as they were."""

import datetime as dt
import decimal
import gzip
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tabular_worlds import TASKS, batch_of, make_table, roles_of

from plcp import QuantileResidual
from plcp.tables import Applier, calibrate, choose_roles, examine, load_model, save_model, serve
from plcp.tables.io import CSV, create_table, open_table
from plcp.tables.roles import CsvOptions

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


def test_probabilities_of_nothing_are_no_prediction(models):
    table = make_table("classes", 2, 1)
    for name in ("p_maybe", "p_no", "p_yes"):
        zero = pa.array([0.0, table[name][1].as_py()])
        table = table.set_column(table.column_names.index(name), name, zero)
    out = Applier(models["classes"]).apply(batch_of(table))
    assert out["set"].is_valid().to_pylist() == [False, True]


def test_values_not_in_calibration_are_counted_named_and_taken_for_missing(models):
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


def test_a_group_not_in_calibration_gets_every_outcome_and_is_counted():
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
def test_classes_are_reported_by_name_and_keep_the_labels_type(labels, columns, pattern, kind):
    rows = 40
    spread = dict.fromkeys(columns, [1 / len(columns)] * rows)
    table = pa.table({"label": (labels * rows)[:rows], **spread})
    roles = choose_roles(table.column_names, target="label", probabilities=pattern)
    out = Applier(calibrate(table, roles, method="split")).apply(batch_of(table))
    assert out.schema.field("set").type == pa.list_(kind)
    truth = [label for label in table["label"].to_pylist() if label is not None]
    if kind == table["label"].type:
        assert {*truth} <= {*out["set"].to_pylist()[0]}


def test_probabilities_are_rescaled_or_refused():
    table = pa.table({"label": ["a", "b"] * 30, "p_a": [0.333] * 60, "p_b": [0.666] * 60})
    roles = choose_roles(table.column_names, target="label", probabilities="p_*")
    model = calibrate(table, roles, method="split")
    message = "probabilities of 60 rows whose sum was not 1 were divided by their sum"
    assert model.notes == (message,)
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


ADDED = ["lower", "upper", "threshold"]
# one value of each column of the same row: as people write them
CELLS = {
    "x": ["0.50", "1e3", "-0", "+1", "nan", "NA", ""],  # the feature, parsed as numbers
    "yhat": ["1.0", "2.00", "3", "4", "5e0", "6", "7"],
    "zip": ["00001", "00002", "02139", "10001", "99999", "00000", "1"],
    "id": [f"1000000000000000000000000{i}" for i in range(7)],
    "phone": [f"+44790000000{i}" for i in range(7)],
    "gap": ["NA", "null", "None", "nan", "", "N/A", "<NA>"],
    "zeros": ["0.0", "1.10", "2.500", "0", "-0.0", "1.", ".5"],
    "thousands": ['"1,000"', '"2,000.50"', '"12,345"', "0", "7", "8", "9"],
    "text": ["plain", '"quoted"', '"a ""b"", c"', '"two\nlines"', "Zoë", ' "x"', "'y'"],
    "day": ["2020-01-01", "31/12/2020", "2020-01-01 10:00", "1.2.2020", "", "10:00", "today"],
    "flag": ["true", "FALSE", "True", "0", "1", "yes", ""],
}


@pytest.fixture(scope="module")
def model():
    """Intervals around yhat, by a feature x."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=99), "yhat": rng.normal(size=99), "y": np.zeros(99)})
    roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    return calibrate(table, roles, method="rectified", explain=False)


def apply(model, path, out, csv=None, **options):
    """Serve a table on disk as the command does."""
    table = open_table(path, types=model.column_types, parsed=model.needed, csv=csv)
    serve(Applier(model), table, out, csv=csv, **options)
    return out


def records(ends, sep=","):
    """The header, and the records, each with its line end."""
    lines = [sep.join(CELLS), *(sep.join(row) for row in zip(*CELLS.values(), strict=True))]
    return [(line.encode(), end) for line, end in zip(lines, ends, strict=True)]


ENDS = {
    "unix": [b"\n"] * 8,
    "windows": [b"\r\n"] * 8,
    "old": [b"\r"] * 8,
    "mixed": [b"\r\n", b"\n", b"\r", b"\n\n", b"\r\n\r\n", b"\n", b"\r", b""],
}


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", ENDS)
def test_csv_comes_out_byte_for_byte_with_new_columns_appended(model, tmp_path, ends, mark, ending):
    pack, unpack = (gzip.compress, gzip.decompress) if ending == "csv.gz" else (bytes, bytes)
    given = records(ENDS[ends])
    path = tmp_path / f"new.{ending}"
    path.write_bytes(pack(mark + b"".join(line + end for line, end in given)))
    left = unpack(apply(model, path, tmp_path / f"out.{ending}").read_bytes()).removeprefix(mark)
    lower = []
    for line, end in given:
        assert left.startswith(line + b",")
        new, found, left = left[len(line) + 1 :].partition(end) if end else (left, end, b"")
        lower.append(new.decode().removeprefix(line.decode() + ",").split(","))
        assert found == end
    assert left == b""
    assert lower[0] == ADDED
    expected = Applier(model).apply(
        pa.record_batch(
            {
                "x": pa.array([0.5, 1e3, 0.0, 1.0, None, None, None]),
                "yhat": pa.array([float(cell) for cell in CELLS["yhat"]]),
            }
        )
    )
    for name, column in zip(ADDED, zip(*lower[1:], strict=True), strict=True):
        assert [float(cell) for cell in column] == expected[name].to_pylist()


def test_another_separator_and_decimal_commas_are_kept_and_used(model, tmp_path):
    lines = ["x;yhat;note\n", "0,50;1,0;00001\n", "-2;2,5;1,5\n"]
    path = tmp_path / "new.csv"
    path.write_text("".join(lines))
    options = CsvOptions(sep=";", decimal=",")
    out = apply(model, path, tmp_path / "out.csv", csv=options).read_text().splitlines()
    assert out[0] == "x;yhat;note;lower;upper;threshold"
    batch = pa.record_batch({"x": [0.5, -2.0], "yhat": [1.0, 2.5]})
    for line, new, row in zip(
        lines[1:], out[1:], Applier(model).apply(batch).to_pylist(), strict=True
    ):
        assert new.startswith(line.strip() + ";")
        cells = new.removeprefix(line.strip() + ";").split(";")
        assert [float(cell.replace(",", ".")) for cell in cells] == [row[name] for name in ADDED]


def plain(cell):
    """Text of a cell of CSV."""
    quoted = cell.startswith('"')
    return cell[1:-1].replace('""', '"') if quoted else cell


@pytest.mark.parametrize("ending", ["parquet", "arrow", "tsv"])
def test_text_of_csv_is_kept_in_other_formats(model, tmp_path, ending):
    path = tmp_path / "new.csv"
    path.write_bytes(b"".join(line + b"\n" for line, _ in records(ENDS["unix"])))
    out = apply(model, path, tmp_path / f"out.{ending}")
    found = open_table(out, parsed=[]).as_written(CSV).read().to_pydict()
    for name, cells in CELLS.items():
        assert [value or "" for value in found[name]] == [plain(cell) for cell in cells]


KEPT = {
    "n": (["1", "-20", ""], pa.int64()),
    "long": (["1", "9223372036854775808", "3"], pa.string()),
    "zip": (["1", "02139", "3"], pa.string()),
    "x": (["0.5", "-1.25e-30", ""], pa.float64()),
    "ones": (["1.0", "2.0", "1e-05"], pa.float64()),  # as Python prints them
    "price": (["1.50", "2.25", "3.00"], pa.string()),
    "day": (["2020-01-01", "", "1999-12-31"], pa.date32()),
    "time": (["2020-01-01 10:00:00", "", ""], pa.timestamp("s")),
    "flag": (["true", "false", ""], pa.bool_()),
    "land": (["NA", "DE", ""], pa.string()),
}


def test_columns_of_csv_get_types_that_give_the_same_text_back(model, tmp_path):
    columns = {name: cells for name, (cells, _) in KEPT.items()} | {"yhat": ["1", "2", "3"]}
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    path = tmp_path / "new.csv"
    path.write_text("\n".join([",".join(columns), *rows]))
    table = pa.feather.read_table(apply(model, path, tmp_path / "out.arrow"))
    for name, (cells, kind) in KEPT.items():
        assert table[name].type == kind
        assert table[name].null_count == cells.count("")
    assert table["land"].to_pylist() == ["NA", "DE", None]


ZONE = pa.timestamp("us", tz="America/New_York")
ARROW = {
    "money": pa.array(
        [decimal.Decimal("0.10"), None, decimal.Decimal("9" * 36)], pa.decimal128(38, 2)
    ),
    "kind": pa.array(["b", None, "a"])
    .dictionary_encode()
    .cast(pa.dictionary(pa.int8(), pa.string())),
    "deep": pa.array([{"k": [1, None], "s": {"t": "x"}}, None, {"k": [], "s": None}]),
    "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int32())),
    "when": pa.array([dt.datetime(2020, 1, 1), None, dt.datetime(1900, 1, 1)], ZONE),
    "nano": pa.array([1, None, 2**62 + 1], pa.timestamp("ns")),
    "small": pa.array([1, None, 255], pa.uint8()),
    "bytes": pa.array([b"\xff", None, b""]),
    "wide": pa.array(["00001", "NA", ""], pa.large_string()),
    "real": pa.array([0.1, float("nan"), None], pa.float32()),
}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("as_folder", [False, True])
def test_typed_columns_keep_types_and_values(model, tmp_path, ending, as_folder):
    table = pa.table(ARROW | {"x": pa.array([1, 2, 3], pa.int32()), "yhat": [1.0, 2.0, 3.0]})
    table = table.replace_schema_metadata({b"pandas": b"{}", b"mine": b"kept"})
    paths = [tmp_path / "new" / f"part.{i}.{ending}" for i in range(2)]
    paths[0].parent.mkdir()
    wider = table.set_column(table.column_names.index("x"), "x", table["x"].cast(pa.float64()))
    for path, rows in zip(paths, (table, wider), strict=True):
        if ending == "parquet":
            pq.write_table(rows, path)
        else:
            pa.feather.write_feather(rows, path)
    if as_folder:
        apply(model, tmp_path / "new", tmp_path / "out")
        served = [tmp_path / "out" / path.name for path in paths]
    else:
        served = [apply(model, path, tmp_path / path.name) for path in paths]
    read = pq.read_table if ending == "parquet" else pa.feather.read_table
    for old, new in zip(paths, served, strict=True):
        kept = read(new).select(read(old).column_names)
        assert kept.schema.equals(read(old).schema, check_metadata=True)
        assert str(kept) == str(read(old))  # a NaN is not equal to itself


def test_text_of_polars_stays_as_polars_keeps_it(model, tmp_path):
    frame = pl.DataFrame(
        {"x": [1.0, 2.0], "yhat": [1.0, 2.0], "t": ["00001", None], "l": [["u"], []]}
    )
    frame.write_ipc(tmp_path / "new.arrow")
    out = apply(model, tmp_path / "new.arrow", tmp_path / "out.arrow")
    kinds = [pa.ipc.open_file(tmp_path / name).schema for name in ("new.arrow", "out.arrow")]
    assert [*kinds[1]][: len(kinds[0])] == [*kinds[0]]
    assert pl.read_ipc(out).select(frame.columns).equals(frame)


def test_times_of_spark_keep_their_year(model, tmp_path):
    late = [dt.datetime(9999, 12, 31), None, dt.datetime(2020, 1, 1, 1, 2, 3, 4)]
    nano = pa.array([1, None, 2**62 + 1], pa.timestamp("ns"))
    for name, times in {"late": pa.array(late, pa.timestamp("us")), "nano": nano}.items():
        table = pa.table({"t": times, "x": [1.0, 2.0, 3.0], "yhat": [1.0, 2.0, 3.0]})
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path, use_deprecated_int96_timestamps=True)
        assert pq.ParquetFile(path).schema.column(0).physical_type == "INT96"
        out = pq.ParquetFile(
            apply(model, path, tmp_path / f"{name}-out.parquet"),
            coerce_int96_timestamp_unit=times.type.unit,
        )
        assert out.schema.column(0).physical_type == "INT96"
        assert out.read()["t"].combine_chunks().equals(times)


def test_parts_of_csv_are_copied_each_with_its_own_columns(model, tmp_path):
    parts = {"a=1/p.csv": "x,yhat,zip\n1,2,007\n", "a=2/p.csv": "zip,yhat,x\r\n1,02.0,3\r\n"}
    for name, content in parts.items():
        (tmp_path / "new" / name).parent.mkdir(parents=True)
        (tmp_path / "new" / name).write_bytes(content.encode())
    out = apply(model, tmp_path / "new", tmp_path / "out")
    for name, content in parts.items():
        for old, new in zip(
            content.splitlines(), (out / name).read_text().splitlines(), strict=True
        ):
            assert new.startswith(old + ",")
    one = pq.read_table(apply(model, tmp_path / "new", tmp_path / "one.parquet"))
    assert one["zip"].to_pylist() == ["007", "1"]
    assert one["yhat"].to_pylist() == ["2", "02.0"]
    assert one["a"].to_pylist() == [1, 2]


def test_a_file_that_ends_within_quotes_leaves_nothing(model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text('x,yhat,note\n1,2,"open\n')
    with pytest.raises(ValueError, match="ends within quotes"):
        apply(model, path, tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


CUTS = (0, 7, 7, 30, 40)
ROWS_IN_PARTS = make_table("regression", CUTS[-1], 1)


@pytest.fixture(scope="module")
def split_model():
    table = make_table("regression", 150, 0)
    return calibrate(table, roles_of(table, "regression"), groups=2, explain=False)


@pytest.fixture
def folder(tmp_path):
    """New rows in four parts, the second without rows."""
    folder = tmp_path / "new"
    folder.mkdir()
    for number, (start, end) in enumerate(pairwise(CUTS), 8):
        pq.write_table(ROWS_IN_PARTS.slice(start, end - start), folder / f"part.{number}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def served(split_model, folder, out, **options):
    passed = []
    table = open_table(folder, types=split_model.column_types)
    rows = serve(Applier(split_model), table, out, advance=passed.append, **options)
    assert sum(passed) == rows == len(ROWS_IN_PARTS)
    return out


def whole(split_model):
    return pa.Table.from_batches([Applier(split_model).apply(batch_of(ROWS_IN_PARTS))])


def test_each_part_becomes_a_part_of_the_same_name(split_model, folder, tmp_path):
    out = served(split_model, folder, tmp_path / "out")
    names = [f"part.{number}.parquet" for number in (8, 9, 10, 11)]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    expected = whole(split_model)
    for name, (start, end) in zip(names, pairwise(CUTS), strict=True):
        assert pq.read_table(out / name).equals(expected.slice(start, end - start))


def test_all_parts_become_one_file(split_model, folder, tmp_path):
    out = served(split_model, folder, tmp_path / "out.parquet")
    assert pq.read_table(out).equals(whole(split_model))


def test_a_folder_may_be_replaced_by_its_own_rows_with_sets(split_model, folder):
    served(split_model, folder, folder, force=True)
    assert open_table(folder).read().equals(whole(split_model))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["new"]


def test_a_part_that_fails_leaves_nothing(split_model, folder, tmp_path):
    path = folder / "part.11.parquet"
    table = open_table(folder, types=split_model.column_types)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"part\.11\.parquet cannot be read"):
        serve(Applier(split_model), table, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]


@pytest.mark.parametrize("name", ["sets", "sets.parquet", "within/sets"])
def test_rows_do_not_become_parts_of_their_own_table(split_model, folder, name):
    with pytest.raises(ValueError, match="would be a part of"):
        serve(Applier(split_model), open_table(folder), folder / name)


def test_a_column_in_the_names_of_folders_stays_there(split_model, tmp_path):
    for sex in ("f", "m"):
        rows = ROWS_IN_PARTS.filter(pa.compute.equal(ROWS_IN_PARTS["sex"], sex)).drop_columns(
            ["sex"]
        )
        (tmp_path / "new" / f"sex={sex}").mkdir(parents=True)
        pq.write_table(rows, tmp_path / "new" / f"sex={sex}" / "a.parquet")
    out = served(split_model, tmp_path / "new", tmp_path / "out")
    assert "sex" not in pq.read_schema(out / "sex=f" / "a.parquet").names
    again, one = (
        open_table(out).read(),
        served(split_model, tmp_path / "new", tmp_path / "one.parquet"),
    )
    columns = pq.read_table(one).column_names
    assert again.select(columns).equals(pq.read_table(one))
    assert {*columns} == {*whole(split_model).column_names}
    keys = [("x", "ascending"), ("y", "ascending")]
    ordered = [table.select(columns).sort_by(keys) for table in (again, whole(split_model))]
    assert ordered[0].equals(ordered[1])


@pytest.fixture(scope="module")
def disk_model():
    """A disk_model that knows houses by codes such as 007."""
    return calibrate(housed(150, 0), roles_of(housed(1, 0), "regression"), groups=2, explain=False)


def housed(n, seed):
    rng = np.random.default_rng(seed)
    codes = [f"{code:03d}" for code in rng.integers(0, 5, n)]
    return make_table("regression", n, seed).append_column("house", pa.array(codes))


def written(table, path):
    with create_table(path, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=16):
            writer.write(batch)
    return path


def applied(disk_model, path):
    source, applier = (
        open_table(path, types=disk_model.column_types),
        Applier(disk_model),
    )
    schema = applier.schema(source.schema, path.name)
    return pa.Table.from_batches(map(applier.apply, source.batches(rows=16)), schema=schema)


@pytest.mark.parametrize("name", ["new.parquet", "new.csv", "new.arrow"])
def test_any_format_gets_the_same_sets(disk_model, tmp_path, name):
    table = housed(40, 1)
    whole = Applier(disk_model).apply(table.combine_chunks().to_batches()[0])
    out = applied(disk_model, written(table, tmp_path / name))
    assert out["house"].to_pylist() == table["house"].to_pylist()  # 007 is not 7
    for column in ("lower", "upper", "group", "threshold"):
        assert out[column].to_pylist() == whole[column].to_pylist()


def test_a_model_from_its_file_reads_text_as_text(tmp_path):
    table = housed(60, 0)
    roles = roles_of(table, "regression")
    disk_model = calibrate(table, roles, method="mondrian", by=["sex", "house", "w"])
    save_model(disk_model, tmp_path / "m.plcp")
    assert load_model(tmp_path / "m.plcp").column_types == disk_model.column_types
    assert disk_model.column_types == {"sex": pa.string(), "house": pa.string()}
