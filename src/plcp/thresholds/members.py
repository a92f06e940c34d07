"""The rows of each group of a rule, by the group's name."""

from collections.abc import Iterable

import numpy as np

from plcp.quantiles import FloatArray, IntArray

Members = dict[str, IntArray]


def members_of_codes(names: Iterable[str], codes: IntArray) -> Members:
    """Rows of disjoint groups, from the number of each row's group.

    A number beyond the names is that of no group.

    Examples
    --------
    >>> members_of_codes(["a", "b"], np.array([1, 0, 1, 2]))
    {'a': array([1]), 'b': array([0, 2])}
    """
    return _split(distinct(names), np.argsort(codes, kind="stable"), codes)


def members_of_matrix(names: Iterable[str], matrix: FloatArray) -> Members:
    """Rows of groups that may overlap, from zeros and ones, one column a group.

    Examples
    --------
    >>> members_of_matrix(["a", "b"], np.array([[1.0, 0.0], [1.0, 1.0]]))
    {'a': array([0, 1]), 'b': array([1])}
    """
    codes, rows = np.nonzero(matrix.T)
    return _split(distinct(names), rows, codes)


def distinct(names: Iterable[str]) -> list[str]:
    """Names of which no two are alike: the second "a" is "a (2)".

    Examples
    --------
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    given = [*names]
    taken = {*given}
    found: list[str] = []
    for name in given:
        own, times = name, 1
        while own in found or (times > 1 and own in taken):
            times += 1
            own = f"{name} ({times})"
        found.append(own)
    return found


def _split(names: list[str], rows: IntArray, codes: IntArray) -> Members:
    """Rows that are ordered by group, cut where one group ends."""
    ends = np.cumsum(np.bincount(codes, minlength=len(names))[: len(names)])
    return dict(zip(names, np.split(rows[: ends[-1]], ends[:-1]), strict=True))
