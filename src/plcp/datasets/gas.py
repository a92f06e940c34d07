"""Chemical sensors that drift over 36 months: six gases, measured in batches."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plcp.datasets._files import Kind, locate, needed, reading

PARQUET = "gas_drift/gas_drift.parquet"
BATCHES = range(1, 11)
N_FEATURES = 128
GASES = ("Acetaldehyde", "Acetone", "Ammonia", "Ethanol", "Ethylene", "Toluene")
# How UCI's files number them, from one on.
UCI_GASES = ("Ethanol", "Ethylene", "Ammonia", "Acetaldehyde", "Acetone", "Toluene")
UCI_KEYS = [str(number) for number in range(1, N_FEATURES + 1)]

_KIND = Kind(
    "gas sensor array drift (UCI 224)",
    [(PARQUET,), tuple(f"gas_drift/batch{batch}.dat" for batch in BATCHES)],
    "The latter are in the zip file at "
    "https://archive.ics.uci.edu/dataset/224/gas+sensor+array+drift+dataset (CC BY 4.0).",
)


@dataclass(frozen=True)
class GasDrift:
    """Sensor features, the gas that was measured, and the batch it was measured in.

    Attributes
    ----------
    X : array (n, 128)
        Eight features of each of 16 sensors, as they are.
    y : array of int
        Gas: an index into ``names``.
    names : tuple of str
        Gases, in the order of the alphabet.
    batch : array of int
        Number of the batch, in the order of time.
    paths : tuple of Path
        Files that were read.
    files : dict
        Their names in the data directory, and their SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.datasets import GasDrift
    >>> names = ("Acetone", "Ethanol")
    >>> gases = GasDrift(np.zeros((2, 128)), np.array([1, 0]), names, np.array([1, 2]), (), {})
    >>> [gases.names[gas] for gas in gases.y[gases.batch == 1]]
    ['Ethanol']
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    names: tuple[str, ...]
    batch: NDArray[np.int64]
    paths: tuple[Path, ...]
    files: dict[str, str]


def gas_drift_files(data_dir: str | Path | None = None) -> dict[str, str]:
    """Name and SHA-256 of the files that ``fetch_gas_drift`` reads.

    Examples
    --------
    >>> from plcp.datasets import gas_drift_files
    >>> gas_drift_files("data")  # doctest: +SKIP
    """
    return locate(_KIND, data_dir).files


def fetch_gas_drift(data_dir: str | Path | None = None) -> GasDrift:
    """Gas sensor array drift, of the UCI repository: one gas in six, batches as experiments.

    Parameters
    ----------
    data_dir : path or None
        Directory that holds ``gas_drift/gas_drift.parquet``, or UCI's own ``gas_drift/batch1.dat``
        to ``batch10.dat``; None: the variable ``PLCP_DATA``, else the user's cache.

    Examples
    --------
    >>> from plcp.datasets import fetch_gas_drift
    >>> gases = fetch_gas_drift("data")  # doctest: +SKIP
    >>> gases.X[gases.batch == 1].shape  # doctest: +SKIP
    """
    found = locate(_KIND, data_dir)
    if found.names == (PARQUET,):
        X, y, batch = _read_parquet(found.paths[0])
    else:
        parts = [_read_batch(path) for path in found.paths]
        X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        batch = np.repeat(np.array(BATCHES), [len(part[1]) for part in parts])
    return GasDrift(X, y, GASES, batch, found.paths, found.files)


def _read_parquet(
    path: Path,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    pandas = needed("pandas")
    needed("pyarrow")
    with reading(path):
        frame = pandas.read_parquet(path)
        X = _finite(frame[[f"f{key}" for key in UCI_KEYS]].to_numpy(dtype=float))
        y = [GASES.index(gas) for gas in frame["gas"]]
        return X, np.array(y, dtype=np.int64), frame["batch"].to_numpy(dtype=np.int64)


def _read_batch(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Lines ``gas 1:value … 128:value``, where ``gas;concentration`` may stand for the gas."""
    with reading(path):
        text = path.read_text(encoding="utf-8")
        lines = [line.split() for line in text.splitlines() if line.strip()]
        X = _finite(np.array([_values(cells) for _, *cells in lines]))
        codes = [int(head.split(";")[0]) for head, *_ in lines]
        if not lines or not set(codes) <= set(range(1, len(UCI_GASES) + 1)):
            raise ValueError(f"its gases are {sorted(set(codes))}, not 1 to {len(UCI_GASES)}")
    return X, np.array([GASES.index(UCI_GASES[code - 1]) for code in codes], dtype=np.int64)


def _values(cells: list[str]) -> list[float]:
    keys, values = zip(*(cell.split(":") for cell in cells), strict=True)
    if list(keys) != UCI_KEYS:
        raise ValueError(f"a line has features {keys[0]} to {keys[-1]}, not 1 to {N_FEATURES}")
    return [float(value) for value in values]


def _finite(X: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(X).all():
        raise ValueError("a feature is no finite number")
    return X
