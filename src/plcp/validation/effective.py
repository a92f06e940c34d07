"""How much calibration rows tell, if some weigh more than others."""

import numpy as np

from plcp.quantiles import FloatArray, IntArray


def telling_rows(n: int, weights: FloatArray | None) -> float:
    """Number of equal rows that tell as much as n weighted ones.

    (Σw)² / Σw² rows (Kish): the variance of their weighted mean is that of so many.

    Examples
    --------
    >>> telling_rows(3, None), telling_rows(3, np.array([2.0, 2.0, 4.0]))
    (3.0, 2.6666666666666665)
    """
    if weights is None:
        return float(n)
    return float(telling_sizes(np.zeros(n, dtype=np.intp), weights, 1)[0])


def telling_sizes(
    groups: IntArray, weights: FloatArray, n_groups: int, shares: FloatArray | None = None
) -> FloatArray:
    """Return the same for each group, of rows with the group of each.

    Of rows that belong to a group in part, ``shares`` are the parts, which count as rows do.

    Examples
    --------
    >>> telling_sizes(np.array([0, 0, 0, 2, 2]), np.array([2.0, 2.0, 4.0, 7.0, 7.0]), 3)
    array([2.66666667, 0.        , 2.        ])
    """
    largest = np.zeros(n_groups)
    np.maximum.at(largest, groups, weights)
    # of the group's largest: squares of weights may overflow, or vanish beside another group's
    sizes = weights / np.where(largest > 0, largest, 1.0)[groups]
    parts = np.ones(len(groups)) if shares is None else shares
    total, squares = (np.bincount(groups, parts * s, n_groups) for s in (sizes, sizes**2))
    return np.divide(total**2, squares, out=np.zeros(n_groups), where=squares > 0)


def telling_columns(members: FloatArray, weights: FloatArray | None) -> FloatArray | None:
    """Return the same for each column of memberships; None where nothing is weighted."""
    if weights is None:
        return None
    rows, groups = np.nonzero(members)
    return telling_sizes(groups, weights[rows], members.shape[1], members[rows, groups])
