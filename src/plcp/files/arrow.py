"""Arrow files, also called Feather."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from plcp.files.table import TableFile, evenly
from plcp.files.writer import TableWriter


class ArrowTable(TableFile):
    """An Arrow file, mapped into memory: a batch of any size is read in parts."""

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            file = ipc.open_file(source)
            super().__init__(path, _without_views(file.schema), sum(map(len, _batches(file))))

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as source:
            parts = (
                _checked(part)
                for batch in _batches(ipc.open_file(source))
                for part in _parts(batch.select(columns), rows)
            )
            yield from evenly((part.cast(_without_views(part.schema)) for part in parts), rows)


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
