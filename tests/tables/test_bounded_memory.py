"""Memory does not grow with the file, whatever its inner parts."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

ROWS, COLUMNS = 1_000_000, 6
BYTES = 8 * ROWS * COLUMNS

COPY = """
import sys
import pyarrow as pa
from plcp.tables.io import create_table, open_table
file = open_table(sys.argv[1])
with create_table(sys.argv[2], file.schema) as writer:
    for batch in file.batches():
        writer.write(batch)
print(pa.default_memory_pool().max_memory())
"""
SAMPLE = """
import sys
import pyarrow as pa
from plcp.tables.io import open_table
open_table(sys.argv[1]).read(most=1000)
print(pa.default_memory_pool().max_memory())
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """One table in large pieces: a single row group, two batches."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    table = pa.table({f"x{i}": rng.random(ROWS) for i in range(COLUMNS)})
    pq.write_table(table, folder / "a.parquet", row_group_size=ROWS, use_dictionary=False)
    with ipc.new_file(folder / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("program", [COPY, SAMPLE], ids=["copy", "sample"])
def test_a_table_in_large_pieces_is_never_held_whole(sources, tmp_path, ending, program):
    command = [sys.executable, "-c", program, sources / f"a.{ending}", tmp_path / f"b.{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert int(done.stdout) < BYTES / 2
    if program is COPY:
        assert (tmp_path / f"b.{ending}").stat().st_size > BYTES / 2  # the work was done
