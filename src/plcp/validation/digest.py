"""A digest of calibration rows: the same for the same rows, kept in the same way."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray
from plcp.rows import is_dataset, is_frame

BLOCK = 2**22  # bytes at a time of an array that does not lie in order
PLAIN = "biufcmM"  # numpy's letters of numbers and times


def data_digest(X: Any, scores: FloatArray, weights: FloatArray | None) -> str | None:
    """SHA-256 of features, scores and weights, as 64 hexadecimal digits; None of a data set.

    Arrays count by their type, shape and bytes, rows in order; frames column by column with their
    names, anything but numbers and times as text. So a frame and an array of the same numbers have
    different digests, and so have single and double precision: it is read once, at the speed of
    memory. `plcp.certificate` has a fingerprint that does not depend on what keeps the rows.

    Examples
    --------
    >>> X, scores = np.zeros((3, 2)), np.ones(3)
    >>> data_digest(X, scores, None) == data_digest(X.copy(order="F"), scores, None)
    True
    >>> data_digest(X, scores, None) == data_digest(X, scores, scores)
    False
    """
    if is_dataset(X):
        return None
    digest = hashlib.sha256()
    if is_frame(X):
        for name in X.columns:
            digest.update(f"column {name}\n".encode())
            _update(digest, np.asarray(X[name]))
    else:
        _update(digest, np.asarray(X))
    for numbers in (scores, weights):
        digest.update(b"\n")
        if numbers is not None:
            _update(digest, numbers)
    return digest.hexdigest()


def _update(digest: Any, array: NDArray[Any]) -> None:
    """Add an array after a mark of its type and shape."""
    digest.update(
        f"{array.dtype.str if array.dtype.kind in PLAIN else 'text'} {array.shape}\n".encode()
    )
    if array.dtype.kind not in PLAIN:
        texts = [str(value).encode() for value in array.ravel().tolist()]
        digest.update(np.array([len(text) for text in texts], dtype="<i8"))
        digest.update(b"".join(texts))
    elif array.flags.c_contiguous:
        digest.update(array.view(np.uint8) if array.dtype.kind in "mM" else array)
    else:
        step = max(1, BLOCK * len(array) // max(1, array.nbytes))
        for start in range(0, len(array), step):
            block = np.ascontiguousarray(array[start : start + step])
            digest.update(block.view(np.uint8))
