"""Columns of few values, for boosted trees that are told weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUES = 255  # as many bins as scikit-learn's boosting has for a column


def coarse(X: Any) -> Any:
    """Each number of a wide column as the nearest of 255 of its values: its quantiles.

    Of columns with more values scikit-learn takes 254 weighted percentiles, and sorts the column
    for each of them: most of the time of a fit. Of these it takes the middles between values, which
    are the very bounds between numbers that are brought together here: a tree that was fitted on
    coarse rows parts the rows themselves as it parted these.

    Data frames stay as they are.

    Examples
    --------
    >>> len(np.unique(coarse(np.arange(1000.0)[:, None])))
    255
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not np.issubdtype(X.dtype, np.floating):
        return X
    return np.column_stack([_coarse_column(column) for column in X.T])


def _coarse_column(column: NDArray[Any]) -> NDArray[Any]:
    present = column[np.isfinite(column)]
    if len(np.unique(present)) <= MOST_VALUES:
        return column
    shares = np.linspace(0, 1, MOST_VALUES)
    values = np.unique(np.quantile(present, shares, method="inverted_cdf"))
    bounds = (values[:-1] + values[1:]) / 2
    nearest = values[np.searchsorted(bounds, column)]  # a number on a bound goes to the left
    return np.where(np.isnan(column), column, nearest)
