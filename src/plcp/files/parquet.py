"""Parquet files."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from plcp.files.table import TableFile
from plcp.files.writer import TableWriter

ROW_GROUP = 131_072
BUFFER = 1 << 18


class ParquetTable(TableFile):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        with pq.ParquetFile(path) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        # Without a small buffer, row groups of any size are held whole; and with pre_buffer,
        # which is meant for slow networks, all of them
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield from file.iter_batches(rows, columns=columns)


class ParquetWriter(TableWriter):
    """Writes row groups of one size, whatever the batches' sizes."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        # Measured: to try dictionaries on real numbers takes three quarters of the time of
        # writing, and zstd makes few distinct ones as small
        few = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd", use_dictionary=few)
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
