"""DataFrames with categories, strings, dates and gaps as numbers a default index can learn from."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from plcp.quantiles import FloatArray
from plcp.validation import is_frame

MAX_CATEGORIES = 254  # the histogram trees tell apart 255 codes, one of them "missing"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers stay, dates become days, anything else becomes the code of its category.

    A category that was rare (beyond the 254 most frequent) or unseen counts as missing, and
    missing values are nan. Arrays pass through without a copy.

    Attributes
    ----------
    categorical_ : ndarray of bool, shape (n_features,)
        Which columns hold codes.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, None], "sex": ["f", "m"]})
    >>> TableEncoder().fit(frame).transform(frame)
    array([[31.,  0.],
           [nan,  1.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of each column that is not a number."""
        if not is_frame(X):
            self.categories_: list[NDArray[Any] | None] = [None] * X.shape[1]
        else:
            self.categories_ = [_categories(X[name]) for name in X.columns]
        self.categorical_ = np.array([known is not None for known in self.categories_])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return X as a float array with codes for categories."""
        if not is_frame(X):
            return np.asarray(X) if np.asarray(X).dtype.kind == "f" else np.asarray(X, dtype=float)
        encoded = np.empty(X.shape, order="F")
        for i, (name, known) in enumerate(zip(X.columns, self.categories_, strict=True)):
            encoded[:, i] = _numbers(X[name]) if known is None else _codes(X[name], known)
        return encoded


def _is_category(column: Any) -> bool:
    kind = str(column.dtype).lower()
    if kind.startswith(("categor", "enum", "str", "object", "bool")):
        return not kind.startswith("bool")
    return False


def _labels(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values as strings, and which of them are there at all."""
    values = np.asarray(column, dtype=object)
    present = np.array([value is not None and value == value for value in values], dtype=bool)
    return values.astype(str), present


def _categories(column: Any) -> NDArray[Any] | None:
    """Sorted categories of a column, the most frequent 254; None for numbers and dates."""
    if not _is_category(column):
        return None
    labels, present = _labels(column)
    known, counts = np.unique(labels[present], return_counts=True)
    return np.sort(known[np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]])


def _codes(column: Any, known: NDArray[Any]) -> FloatArray:
    labels, present = _labels(column)
    if len(known) == 0:
        return np.full(len(labels), np.nan)
    codes = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    return np.where(present & (known[codes] == labels), codes, np.nan)


def _numbers(column: Any) -> FloatArray:
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        days = values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86400.0)
    if values.dtype.kind == "O":  # nullable numbers carry a missing value of their own
        _, present = _labels(column)
        return np.array([float(v) if ok else np.nan for v, ok in zip(values, present, strict=True)])
    return values.astype(float)
