"""Real regression sets of the data directory: features with their own types, and the target."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

REAL_SETS = {
    "census": ("census/acs_2018_workers_5states.parquet", "PINCP", []),
    "bio_casp": ("regression/bio_casp.parquet", "RMSD", []),
    "diamonds": ("regression/diamonds.parquet", "price", []),
    "bike_train": ("regression/bike_train.parquet", "count", ["casual", "registered"]),
    "california_housing": ("regression/california_housing.parquet", "median_house_value", []),
}
MORE_SETS = {  # smaller, or with less to learn about the scores
    "power_ccpp": ("regression/power_ccpp.parquet", "PE", []),
    "bike_hour": ("regression/bike_hour.parquet", "cnt", ["dteday", "casual", "registered"]),
    "parkinsons": ("regression/uci_parkinsons_centred.parquet", "y", []),
    "keggdirected": ("regression/uci_keggdirected_centred.parquet", "y", []),
    "communities": ("regression/communities.parquet", "ViolentCrimesPerPop", ["communityname"]),
    "concrete": ("regression/concrete.parquet", "", []),
}


def load_real(name: str, data_dir: Path) -> tuple[Any, np.ndarray]:
    """Features and target of a set; strings become categories, dates become days and hours."""
    file, target, drop = {**REAL_SETS, **MORE_SETS}[name]
    path = data_dir / file
    if not path.exists():
        raise SystemExit(f"{path} is not there: name the data directory by --data-dir or PLCP_DATA")
    frame = pd.read_parquet(path)
    y = frame.pop(target or frame.columns[-1]).to_numpy(dtype=float)
    return _with_types(frame.drop(columns=drop)), y


def _with_types(frame: Any) -> Any:
    for column in list(frame.columns):
        values = frame[column]
        if column == "datetime":
            when = pd.to_datetime(values)
            frame["hour"], frame["month"] = when.dt.hour, when.dt.month
            frame["year"], frame["weekday"] = when.dt.year, when.dt.weekday
            frame = frame.drop(columns=column)
        elif not pd.api.types.is_numeric_dtype(values):
            frame[column] = values.astype("category")
        else:
            frame[column] = values.astype(float)
    return frame
