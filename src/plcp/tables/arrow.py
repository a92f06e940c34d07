"""Arrow files, also called Feather."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from plcp.tables.io import Format, TableFile, TableWriter, evenly


class ArrowTable(TableFile):
    """An Arrow file, mapped into memory: a batch of any size is read in parts.

    Parameters
    ----------
    path : Path
        The file.
    views : bool
        Whether views of text and bytes stay views.
    """

    def __init__(self, path: Path, views: bool = False) -> None:
        self._views = views
        with pa.memory_map(str(path)) as source:
            file = ipc.open_file(source)
            super().__init__(path, self._read_as(file.schema), sum(map(len, _batches(file))))

    def as_written(self, to: Format) -> TableFile:
        """Return the rows with their types as they are, where the format has them."""
        kept = ArrowTable(self.path, views=True)
        return kept if to is Format.ARROW and not kept.schema.equals(self.schema) else self

    def _read_as(self, schema: pa.Schema) -> pa.Schema:
        return schema if self._views else _without_views(schema)

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as source:
            parts = (
                _checked(part)
                for batch in _batches(ipc.open_file(source))
                for part in _parts(batch.select(columns), rows)
            )
            yield from evenly((part.cast(self._read_as(part.schema)) for part in parts), rows)


def _batches(file: ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    return (file.get_batch(number) for number in range(file.num_record_batches))


def _parts(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    return (batch.slice(at, rows) for at in range(0, len(batch), rows))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Refuse damage: Arrow maps a file as it is, and wrong offsets would end the program."""
    batch.validate(full=True)
    return batch


def _without_views(schema: pa.Schema) -> pa.Schema:
    """Text as polars writes it, which most of pyarrow's own functions do not take yet, as text."""
    fields = [field.with_type(_without_view(field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def _without_view(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_view(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_without_view(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_without_view(kind.value_type))
    return kind


class ArrowWriter(TableWriter):
    """Writes an Arrow file; categories may differ between batches."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = pa.OSFile(str(path), "wb")
        options = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        self._writer = ipc.new_file(self._file, schema, options=options)
        self._known: dict[str, pa.Array] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        columns = [
            self._with_known(field.name, column) if pa.types.is_dictionary(field.type) else column
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=batch.schema))

    def close(self) -> None:
        """Write the end of the file."""
        with self._file:
            self._writer.close()

    def _with_known(self, name: str, column: pa.Array) -> pa.Array:
        """Number the categories as before, new ones after them: the format asks for it."""
        none = pa.array([], column.type.index_type)
        before = pa.DictionaryArray.from_arrays(none, self._known.get(name, column.dictionary))
        numbered = pa.chunked_array([before, column]).unify_dictionaries().chunk(1)
        self._known[name] = numbered.dictionary
        return numbered


ROW_GROUP = 131_072
BUFFER = 1 << 18


class ParquetTable(TableFile):
    """A Parquet file.

    Attributes
    ----------
    int96 : bool
        Whether its times have the old type INT96, all of them, as Spark and Impala write it.
    """

    def __init__(self, path: Path) -> None:
        with pq.ParquetFile(path) as file:
            leaves = [file.schema.column(i) for i in range(len(file.schema))]
            old = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
            self._unit = _int96_unit(path, old) if old else None
            self.int96 = bool(old) and all(
                leaf.path in old or leaf.logical_type.type != "TIMESTAMP" for leaf in leaves
            )
        with pq.ParquetFile(path, coerce_int96_timestamp_unit=self._unit) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        # Without a small buffer, row groups of any size are held whole; and with pre_buffer,
        # which is meant for slow networks, all of them
        with pq.ParquetFile(
            self.path,
            pre_buffer=False,
            buffer_size=BUFFER,
            coerce_int96_timestamp_unit=self._unit,
        ) as file:
            yield from file.iter_batches(rows, columns=columns)


def _int96_unit(path: Path, names: list[str]) -> str | None:
    """Return "us" where a time of the type INT96 lies beyond what nanoseconds hold.

    They are the default, and years after 2262 would be read as others, without an error.
    """
    with pq.ParquetFile(path) as fine, pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as us:
        for ones, others in zip(
            fine.iter_batches(columns=names), us.iter_batches(columns=names), strict=True
        ):
            for one, other in zip(ones.columns, others.columns, strict=True):
                if not one.cast(other.type, safe=False).equals(other):
                    return "us"
    return None


class ParquetWriter(TableWriter):
    """Writes row groups of one size, whatever the batches' sizes; times as INT96 on request."""

    def __init__(self, path: Path, schema: pa.Schema, int96: bool = False) -> None:
        # Measured: to try dictionaries on real numbers takes three quarters of the time of
        # writing, and zstd makes few distinct ones as small
        few = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            use_dictionary=few,
            use_deprecated_int96_timestamps=int96,
        )
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            table = pa.Table.from_batches(self._waiting, self._schema)
            whole = len(table) - len(table) % ROW_GROUP
            self._writer.write_table(table.slice(0, whole), row_group_size=ROW_GROUP)
            self._waiting = table.slice(whole).to_batches()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        with self._file:
            try:
                if self._waiting:
                    self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
                self._writer.close()
            finally:
                self._writer.is_open = False  # else its destructor tries to write once more
