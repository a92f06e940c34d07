"""Gas sensors: both layouts give the same rows."""

import hashlib
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plcp.datasets import fetch_gas_drift, gas_drift_files

# As the UCI repository numbers them, from one on.
UCI = ("Ethanol", "Ethylene", "Ammonia", "Acetaldehyde", "Acetone", "Toluene")
PARQUET = "gas_drift/gas_drift.parquet"


@pytest.fixture
def frame(rng):
    """Return three measurements of each of ten batches, in the layout of the shared file."""
    features = pd.DataFrame(rng.normal(size=(30, 128)), columns=[f"f{k}" for k in range(1, 129)])
    gas = pd.Categorical(rng.choice(UCI, 30), categories=sorted(UCI))
    batch = np.repeat(np.arange(1, 11, dtype=np.int8), 3)
    described = pd.DataFrame({"batch": batch, "gas": gas, "concentration": 10.0})
    return pd.concat([described, features], axis=1)


def write_parquet(root, frame):
    (root / "gas_drift").mkdir(exist_ok=True)
    frame.to_parquet(root / PARQUET)


def write_batches(root, frame, concentration):
    (root / "gas_drift").mkdir()
    for batch, rows in frame.groupby("batch"):
        heads = [str(UCI.index(gas) + 1) for gas in rows["gas"]]
        if concentration:
            heads = [
                f"{head};{value:f}"
                for head, value in zip(heads, rows["concentration"], strict=True)
            ]
        values = rows.filter(regex=r"^f\d+$").to_numpy()
        cells = [" ".join(f"{k}:{v!r}" for k, v in enumerate(map(float, x), 1)) for x in values]
        lines = [f"{head} {line} \n" for head, line in zip(heads, cells, strict=True)]
        (root / f"gas_drift/batch{batch}.dat").write_text("".join(lines))


def check(data, frame):
    assert_array_equal(data.X, frame.filter(regex=r"^f\d+$").to_numpy())
    assert [data.names[code] for code in data.y] == list(frame["gas"])
    assert data.names == tuple(sorted(UCI))
    assert_array_equal(data.batch, frame["batch"])
    assert (data.X.dtype, data.y.dtype, data.batch.dtype) == (np.float64, np.int64, np.int64)


def test_the_parquet_file(tmp_path, frame):
    write_parquet(tmp_path, frame)
    data = fetch_gas_drift(tmp_path)
    check(data, frame)
    expected = {PARQUET: hashlib.sha256((tmp_path / PARQUET).read_bytes()).hexdigest()}
    assert data.files == gas_drift_files(tmp_path) == expected
    assert data.paths == (tmp_path / PARQUET,)


@pytest.mark.parametrize("concentration", [False, True])
def test_the_files_of_uci(tmp_path, frame, concentration):
    write_batches(tmp_path, frame, concentration)
    data = fetch_gas_drift(tmp_path)
    check(data, frame)
    assert list(data.files) == [f"gas_drift/batch{b}.dat" for b in range(1, 11)]


LINE = " ".join(["1", *(f"{k}:0.5" for k in range(1, 129))])
BATCH_DAMAGE = {
    "empty": "",
    "no features": "1",
    "no numbers": "1 1:a",
    "one too few": LINE.rsplit(" ", 1)[0],
    "one too many": f"{LINE} 129:0.5",
    "not in order": LINE.replace(" 2:", " 3:", 1),
    "seventh gas": LINE.replace("1 ", "7 ", 1),
    "gas zero": LINE.replace("1 ", "0 ", 1),
    "infinite": LINE.replace("128:0.5", "128:inf"),
    "no text": "\udcff",
}


@pytest.mark.parametrize("content", BATCH_DAMAGE.values(), ids=BATCH_DAMAGE)
def test_a_damaged_batch_is_named(tmp_path, frame, content):
    write_batches(tmp_path, frame, concentration=False)
    path = tmp_path / "gas_drift/batch4.dat"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(ValueError, match=f"{path} cannot be read"):
        fetch_gas_drift(tmp_path)


FRAME_DAMAGE = {
    "no gas": lambda frame: frame.drop(columns="gas"),
    "no batch": lambda frame: frame.drop(columns="batch"),
    "a feature less": lambda frame: frame.drop(columns="f128"),
    "another gas": lambda frame: frame.assign(gas="Neon"),
    "a gap": lambda frame: frame.assign(f5=np.nan),
}


@pytest.mark.parametrize("damage", FRAME_DAMAGE.values(), ids=FRAME_DAMAGE)
def test_a_damaged_table_is_named(tmp_path, frame, damage):
    write_parquet(tmp_path, damage(frame))
    with pytest.raises(ValueError, match=f"{tmp_path / PARQUET} cannot be read"):
        fetch_gas_drift(tmp_path)


@pytest.mark.parametrize("module", ["pandas", "pyarrow"])
def test_the_extra_is_named_where_it_is_not_installed(tmp_path, frame, monkeypatch, module):
    write_parquet(tmp_path, frame)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"with {module}: pip install 'plcp\[experiments\]'"):
        fetch_gas_drift(tmp_path)
