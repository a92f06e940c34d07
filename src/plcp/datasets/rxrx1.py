"""RxRx1: images of treated cells from experiments that differ, or a network's outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.datasets._files import Found, Kind, locate, needed, reading

OUTPUTS = "rxrx1/rxrx1_outputs.npz"
KAGGLE = "rxrx1/rxrx1_kaggle_metadata.parquet"
FOLDERS = ("rxrx1", "rxrx1_v1.0")
COLUMNS = dict.fromkeys(("cell_type", "dataset", "experiment", "well"), "str") | dict.fromkeys(
    ("plate", "site", "sirna_id"), "int64"
)
SPLITS = {"train", "val", "test"}
BUNDLE = (
    "https://worksheets.codalab.org/rest/bundles/0x6b7a05a3056a434498f0bb1252eb8440/contents/blob/"
)


class CellImages:
    """Images that are read from their files one by one, when they are needed.

    Each is a float32 array (channels, height, width) in [0, 1]. A map-style data set: it has a
    length, and takes one whole number.

    Parameters
    ----------
    paths : sequence of Path
        Files of the images.

    Examples
    --------
    >>> from pathlib import Path
    >>> from plcp.datasets import CellImages
    >>> images = CellImages([Path("Plate1/AA02_s1.png"), Path("Plate1/AA02_s2.png")])
    >>> len(images)
    2
    >>> images[0].shape  # doctest: +SKIP
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, row: int) -> NDArray[np.float32]:
        image = needed("PIL.Image")
        path = self.paths[row]
        with reading(path), image.open(path) as file:
            pixels = np.asarray(file.convert("RGB"))
        scaled = np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32)
        scaled /= 255
        return scaled


@dataclass(frozen=True)
class CellSites:
    """Sites of wells that were photographed: WILDS' edition of RxRx1.

    Attributes
    ----------
    sites : DataFrame
        A row for each image: its ``path``, ``label`` (siRNA, 0 to 1,138), ``experiment``,
        ``cell_type``, ``plate``, ``well``, ``site``, and ``split``.
    images : CellImages
        The images, in the same order.
    paths : tuple of Path
        The table, and the folder of images.
    files : dict
        The table's name in the data directory, and its SHA-256; images are not hashed.

    Examples
    --------
    >>> import pandas as pd
    >>> from plcp.datasets import CellImages, CellSites
    >>> sites = pd.DataFrame({"path": ["a.png"], "label": [7], "split": ["test"]})
    >>> cells = CellSites(sites, CellImages([]), (), {})
    >>> cells.sites["label"].tolist()
    [7]
    """

    sites: Any
    images: CellImages
    paths: tuple[Path, ...]
    files: dict[str, str]


@dataclass(frozen=True)
class CellOutputs:
    """Outputs of a network for images of the held-out experiments.

    Attributes
    ----------
    logits : array (n, k)
        One for each class.
    features : array (n, d)
        Its last layer but one.
    label : array of int
        The true class.
    experiment : array
        Name or number of the experiment that the image comes from.
    paths : tuple of Path
        The file that was read.
    files : dict
        Its name in the data directory, and its SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.datasets import CellOutputs
    >>> label, experiment = np.array([1, 0]), np.array(["HEPG2-08", "HUVEC-17"])
    >>> cells = CellOutputs(np.eye(2), np.zeros((2, 4)), label, experiment, (), {})
    >>> cells.logits.argmax(axis=1) == cells.label
    array([False, False])
    """

    logits: NDArray[np.floating[Any]]
    features: NDArray[np.floating[Any]]
    label: NDArray[np.int64]
    experiment: NDArray[Any]
    paths: tuple[Path, ...]
    files: dict[str, str]


def rxrx1_files(data_dir: str | Path | None = None) -> dict[str, str]:
    """Name and SHA-256 of the table, or of the outputs, that ``fetch_rxrx1`` reads.

    Examples
    --------
    >>> from plcp.datasets import rxrx1_files
    >>> rxrx1_files("data")  # doctest: +SKIP
    """
    return _locate(data_dir).files


def fetch_rxrx1(data_dir: str | Path | None = None) -> CellSites | CellOutputs:
    """RxRx1 in the layout of WILDS, or a file of a network's outputs.

    Every row of WILDS' table counts, controls too: they are the last 31 of its 1,139 classes. Its
    official split is that of the column ``dataset`` (33 experiments to train, 4 to validate, 14 to
    test), with the second site of the training wells set apart as ``"id_test"``.

    Parameters
    ----------
    data_dir : path or None
        Directory that holds ``rxrx1_v1.0/metadata.csv`` and ``rxrx1_v1.0/images``, as WILDS writes
        them (the folder may be called ``rxrx1`` too), or ``rxrx1/rxrx1_outputs.npz`` with arrays
        ``logits``, ``features``, ``experiment`` and ``label``; None: the variable ``PLCP_DATA``,
        else the user's cache.

    Examples
    --------
    >>> from plcp.datasets import fetch_rxrx1
    >>> cells = fetch_rxrx1("data")  # doctest: +SKIP
    >>> cells.sites["experiment"].nunique()  # doctest: +SKIP
    """
    found = _locate(data_dir)
    if found.names == (OUTPUTS,):
        return _read_outputs(found)
    table, folder = found.paths
    sites = _read_sites(table)
    images = CellImages([folder / path for path in sites["path"]])
    return CellSites(sites, images, found.paths, found.files)


def _locate(data_dir: str | Path | None) -> Found:
    layouts = [(f"{folder}/metadata.csv", f"{folder}/images") for folder in FOLDERS]
    source = (
        f"WILDS' archive is at {BUNDLE} (7.4 GB); wilds writes its files by "
        "get_dataset('rxrx1', download=True, root_dir='<data directory>'). The npz file holds "
        "logits (n, k), features (n, d), experiment (n,) and label (n,) of the held-out "
        f"experiments. {Path(KAGGLE).name} alone is not enough: it has neither images nor logits."
    )
    return locate(Kind("RxRx1", [*layouts, (OUTPUTS,)], source), data_dir)


def _read_sites(path: Path) -> Any:
    pandas = needed("pandas")
    with reading(path):
        table = pandas.read_csv(path, usecols=list(COLUMNS), dtype=COLUMNS)
        if table.empty or table.isna().any(axis=None):
            raise ValueError(f"it is empty, or a cell of {', '.join(COLUMNS)} is")
        if not set(table["dataset"]) <= SPLITS:
            raise ValueError(f"its column dataset must hold {', '.join(sorted(SPLITS))} only")
    again = (table["dataset"] == "train") & (table["site"] == 2)
    place = table["experiment"] + "/Plate" + table["plate"].astype(str)
    table["path"] = place + "/" + table["well"] + "_s" + table["site"].astype(str) + ".png"
    table["split"] = table.pop("dataset").mask(again, "id_test")
    return table.rename(columns={"sirna_id": "label"})


def _read_outputs(found: Found) -> CellOutputs:
    path = found.paths[0]
    with reading(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        logits, features = arrays["logits"], arrays["features"]
        label, experiment = arrays["label"], arrays["experiment"]
        rows = {len(array) for array in (logits, features, label, experiment)}
        if logits.ndim != 2 or features.ndim != 2 or label.ndim != 1 or experiment.ndim != 1:
            raise ValueError("logits and features must be tables, label and experiment columns")
        if len(rows) != 1 or not len(label):
            raise ValueError(f"its arrays have {sorted(rows)} rows: each must have as many")
        if not np.isfinite(logits).all() or not np.isfinite(features).all():
            raise ValueError("a logit or a feature is no finite number")
        if not np.isin(label, np.arange(logits.shape[1])).all():
            raise ValueError(f"labels must be 0 to {logits.shape[1] - 1}, one for each logit")
    return CellOutputs(
        logits, features, label.astype(np.int64), experiment, found.paths, found.files
    )
