"""Labels of groups known in advance: that of each row, and the distinct ones of many blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.rows import count, is_frame, plain
from plcp.shifts.columns import check_present, check_sortable, column, shown
from plcp.shifts.groups import check_indicators

Source = str | int | list[str | int] | Callable[[Any], ArrayLike]


def check_groups(source: Source | None, given: Any) -> None:
    """Refuse groups that are given twice, or nowhere."""
    if given is not None and source is not None:
        raise ValueError(f"groups are given twice: as an array, and as Mondrian(groups={source!r})")
    if given is None and source is None:
        raise ValueError(
            "groups is None: name a column, give a function of X, or hand an array of labels "
            "to fit and predict as groups=..."
        )


def labels_of(source: Source | None, X: Any, given: ArrayLike | None = None) -> NDArray[Any]:
    """One label a row, from the array given or from X.

    Examples
    --------
    >>> labels_of([0, 1], np.array([[1, 2], [3, 4]]))
    array(['1, 2', '3, 4'], dtype='<U4')
    """
    check_groups(source, given)
    if given is not None:
        labels = _one_a_row(given, count(X))
    elif callable(source):
        labels = _one_a_row(source(X), count(X))
    else:
        labels = _column_labels(X, source)
    if labels.shape != (count(X),):
        raise ValueError(
            f"groups must give one label a row, shape ({count(X)},), got {labels.shape}"
        )
    check_present(labels, "")
    check_sortable(labels)
    return labels


class Distinct:
    """Distinct labels, sorted, that can be joined with others.

    Examples
    --------
    >>> (distinct(["b", "a", "b"], None) + distinct(["c", "a"], None)).labels
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(self, labels: NDArray[Any]) -> None:
        self.labels = labels

    def __add__(self, other: "Distinct") -> "Distinct":
        """Return the labels of both."""
        if len(self.labels) == 0 or len(other.labels) == 0:
            return self if len(self.labels) else other
        kinds = {labels.dtype.kind in "biuf" for labels in (self.labels, other.labels)}
        # numpy would turn numbers into text in order to join them with text
        dtype = object if len(kinds) > 1 else None
        labels = np.concatenate([self.labels, other.labels], dtype=dtype)
        check_sortable(labels)
        return Distinct(np.unique(labels))


def distinct(labels: ArrayLike, scores: Any) -> Distinct:
    """Distinct labels of a block of labels and scores."""
    return Distinct(np.unique(labels))


def _one_a_row(values: Any, n: int) -> NDArray[Any]:
    """Labels as they are, or the column that is True in a boolean matrix."""
    if np.ndim(values) != 2:
        return np.asarray(plain(values))
    names = np.asarray(values.columns if is_frame(values) else range(np.shape(values)[1]))
    matrix = check_indicators(values, n, "the matrix of groups")
    memberships = matrix.sum(axis=1)
    if memberships.max() > 1:
        row = int(np.argmax(memberships > 1))
        first, second = names[np.flatnonzero(matrix[row])[:2]].tolist()
        raise ValueError(
            f"groups {first!r} and {second!r} overlap at row {row}, but Mondrian takes disjoint "
            "ones: use BatchGCP or ConditionalCalibration, which take groups that overlap"
        )
    if memberships.min() < 1:
        raise ValueError(
            f"row {np.argmin(memberships)} is in no group: add a group for the rest, or use "
            "BatchGCP, which needs none"
        )
    return names[matrix.argmax(axis=1)]


def _column_labels(X: Any, columns: Any) -> NDArray[Any]:
    """Labels of one column, or "a, b" for each combination of several."""
    if not isinstance(columns, list):
        return column(X, columns)
    if not columns:
        raise ValueError("groups names no column, got []: name one, or give a function")
    parts = []
    for name in columns:
        part = column(X, name)
        check_present(part, f" in column {name!r}")
        parts.append([_escaped(shown(value)) for value in part.tolist()])
    return np.array([", ".join(row) for row in zip(*parts, strict=True)])


def _escaped(label: str) -> str:
    """Label in which a comma cannot be taken for the end of it."""
    return label.replace("\\", "\\\\").replace(",", "\\,")
