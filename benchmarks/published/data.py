"""Data of the protocols: two regression sets as numbers, divided as published."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SETS = {
    "bikes": ("regression/bike_hour.parquet", "cnt", ["dteday", "casual", "registered"]),
    "diamonds": ("regression/diamonds.parquet", "price", []),
}
FIRST_SEED = 42


class Part(NamedTuple):
    """Rows of one part, standardised."""

    X: np.ndarray
    y: np.ndarray


class Parts(NamedTuple):
    """60 % of the rows train the predictor, 20 % calibrate, 20 % test."""

    train: Part
    calibration: Part
    test: Part


def load(name: str, data_dir: Path) -> Part:
    """All rows of a set: categories as dummies, the first dropped; X and y standardised together.

    The protocol standardises before it divides, so that test rows count for the scales.
    """
    file, target, drop = SETS[name]
    path = data_dir / file
    if not path.exists():
        raise SystemExit(f"{path} is not there: name the data directory by --data-dir or PLCP_DATA")
    frame = pd.read_parquet(path).drop(columns=drop)
    y = frame.pop(target).to_numpy(dtype=float)
    X = pd.get_dummies(frame, drop_first=True).to_numpy(dtype=float)
    return Part(StandardScaler().fit_transform(X), StandardScaler().fit_transform(y[:, None])[:, 0])


def divided(name: str, seed: int, data_dir: Path) -> Parts:
    """A fifth of all rows off as calibration, then a quarter of the rest as test."""
    X, y = load(name, data_dir)
    random_state = FIRST_SEED + seed
    X, X_cal, y, y_cal = train_test_split(
        X, y, test_size=int(0.2 * len(y)), random_state=random_state
    )
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=random_state
    )
    return Parts(Part(X_train, y_train), Part(X_cal, y_cal), Part(X_test, y_test))
