"""A fingerprint of rows: the same for the same values, whatever keeps them."""

import hashlib
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from plcp.rows import count, is_dataset, is_frame, plain
from plcp.shifts.columns import shown
from plcp.validation import is_missing


def fingerprint(X: Any, y: Any) -> str:
    """SHA-256 of all values of X and y in the order of the rows, as 64 hexadecimal digits.

    Numbers count as doubles and all else as text, so that an array, a pandas and a polars frame of
    the same values have one fingerprint on every machine, and so have images in an array and in a
    data set. Names of columns have no part in it. It
    tells whether two data sets are the same, and nothing else of them, unless rows are so few and
    simple that somebody can try all that they may be.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, 70], "weight": [60.5, 70.0]})
    >>> fingerprint(X, [1, 2]) == fingerprint(X.to_numpy(), [1.0, 2.0])
    True
    """
    digest = hashlib.sha256()
    for part in (X, y):
        digest.update(f"rows {count(part)}\n".encode())
        for values in _columns(part):
            digest.update(_encoded(values))
    return digest.hexdigest()


def _columns(X: Any) -> Iterator[NDArray[Any]]:
    """One vector at a time: the columns of a table, or the rows of images and of a data set."""
    if is_dataset(X):
        items = (X[row] for row in range(count(X)))
        parts = (item[0] if isinstance(item, tuple | list) else item for item in items)
        yield from (np.ravel(plain(part)) for part in parts)
    elif is_frame(X):
        yield from (np.asarray(X[name]) for name in X.columns)
    elif issparse(X):
        yield from (X[:, [j]].toarray()[:, 0] for j in range(X.shape[1]))
    else:
        array = np.asarray(plain(X))
        yield from map(np.ravel, array) if array.ndim > 2 else array.reshape(len(array), -1).T


def _encoded(values: NDArray[Any]) -> bytes:
    """Bytes from which the values can be told, after a mark of their kind and number."""
    mark = f" {len(values)}\n".encode()
    if values.dtype.kind in "mM":
        return b"times" + mark + values.astype("M8[ns]").astype("<i8").tobytes()
    missing = is_missing(values)
    if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values[~missing]):
        values = np.where(missing, np.nan, values).astype(float)
    if values.dtype.kind in "biuf":
        numbers = values.astype("<f8") + 0.0  # minus zero is zero,
        numbers[missing] = np.nan  # and every NaN the same one
        return b"numbers" + mark + numbers.tobytes()
    texts = [
        b"" if gap else shown(value).encode() for gap, value in zip(missing, values, strict=True)
    ]
    lengths = np.where(missing, -1, [len(text) for text in texts])
    return b"texts" + mark + lengths.astype("<i8").tobytes() + b"".join(texts)
