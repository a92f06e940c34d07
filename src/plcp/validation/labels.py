"""Labels as they must be: one a row, of one type, none missing."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from plcp.rows import plain
from plcp.validation.missing import is_missing
from plcp.validation.values import check_at_hand


def check_labels(y: ArrayLike) -> NDArray[Any]:
    """Return one label a row, of whatever type."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give one label a row")
    check_at_hand(y=y)
    y = plain(y)
    # gaps have a sentence of our own
    finite = "allow-nan" if np.asarray(y).dtype.kind != "O" else False
    array = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=finite, input_name="y")
    labels: NDArray[Any] = column_or_1d(array, warn=True)
    missing = np.flatnonzero(is_missing(labels))
    if len(missing):
        raise ValueError(f"y has no label at row {missing[0]}: drop the rows without one")
    kinds = {"text" if isinstance(y, str) else "numbers" for y in labels.tolist()}
    if labels.dtype.kind == "O" and len(kinds) > 1:
        raise ValueError("y has labels of several types, text and numbers: give them one type")
    return labels
