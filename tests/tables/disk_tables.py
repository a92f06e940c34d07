"""Tables that tests of files read and write."""

import pyarrow as pa

from plcp.tables.io import create_table


def write(path, table, rows=None, force=False):
    """Write a table in batches of so many rows; its path."""
    with create_table(path, table.schema, force=force) as writer:
        for batch in table.to_batches(max_chunksize=rows):
            writer.write(batch)
    return path


def text(path, content):
    """Write text, or bytes, as they are; the path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def numbers(n):
    """A table of so many rows that name their place."""
    return pa.table(
        {
            "row": pa.array(range(n), pa.int64()),
            "half": pa.array([i / 2 for i in range(n)], pa.float64()),
        }
    )
