"""A table such as users have: numbers, text, dates and gaps, predictions and outcomes."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet


def people(n, seed=0, target=True):
    """Incomes that scatter more among graduates over 50; the model treats all alike."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    school = rng.choice(["none", "college", "doctorate"], n, p=[0.5, 0.4, 0.1])
    spread = 1.0 + 4.0 * ((school == "doctorate") & (age > 50))
    predicted = 20 + age / 10
    columns = {
        "id": [f"row {i}" for i in range(n)],
        "age": age,
        "school": school,
        "sex": rng.choice(["f", "m"], n),
        "hours": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 5, n)),
        "joined": np.datetime64("2015-01-01") + rng.integers(0, 3000, n).astype("m8[D]"),
        "predicted": predicted,
        "income": predicted + spread * rng.normal(size=n),
    }
    table = pa.table(columns)
    gaps = pa.array(np.where(np.isnan(columns["hours"]), None, columns["hours"]), pa.float64())
    table = table.set_column(table.column_names.index("hours"), "hours", gaps)
    return table if target else table.drop_columns(["income"])


def write(table, path):
    """Write by the end of the name."""
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        pa.feather.write_feather(table, path, compression="uncompressed")
    else:
        pa.parquet.write_table(table, path)
    return path


def read(path):
    """Read by the end of the name."""
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    return pa.feather.read_table(path) if path.suffix == ".arrow" else pa.parquet.read_table(path)
