"""Memory that calibration needs does not grow with the table."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS, FEATURES, TIMES = 100_000, 10, 5
MORE_BYTES = 8 * ROWS * (FEATURES + 1) * (TIMES - 1)

# what is freed goes back at once, so that the peak tells what is held
FRUGAL = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
CALIBRATE = """
import functools, sys
from pathlib import Path
from plcp.tables.io import open_table
from plcp.tables import calibrate_file, choose_roles
file = open_table(sys.argv[1])
file.batches = functools.partial(file.batches, rows=16_384)  # many, so that one does not matter
roles = choose_roles(file.schema.names, score="s")
model = calibrate_file(file, roles, most=1000, explain=False)
assert model.about["rows"] == file.n_rows
# its own peak: that of getrusage begins with the memory of the process which started it
print(1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of one part, and one of five."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=ROWS) for i in range(FEATURES)}
    table = pa.table({**columns, "s": np.abs(rng.normal(size=ROWS))})
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "five")]
    for folder, parts in zip(folders, (1, TIMES), strict=True):
        for part in range(parts):
            pq.write_table(table, folder / f"{part}.parquet", use_dictionary=False)
    return folders


def test_five_times_the_rows_do_not_need_five_times_the_memory(folders):
    one, five = (
        int(
            subprocess.run(
                [sys.executable, "-c", CALIBRATE, folder],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, **FRUGAL},
            ).stdout
        )
        for folder in folders
    )
    assert five - one < MORE_BYTES
