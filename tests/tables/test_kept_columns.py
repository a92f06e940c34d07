"""What is passed through comes out as it went in; what it is parsed as for the model is private."""

import datetime as dt
import decimal
import gzip

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from plcp.tables import Applier, calibrate, choose_roles, serve
from plcp.tables.files import Format
from plcp.tables.io import open_table
from plcp.tables.options import CsvOptions

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
    found = open_table(out, parsed=[]).as_written(Format.CSV).read().to_pydict()
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
