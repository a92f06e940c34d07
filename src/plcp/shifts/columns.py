"""A column of a frame or an array, by name or position, and what its labels must be."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.rows import is_frame
from plcp.validation import is_missing


def column_title(X: Any, name: Any) -> str:
    """Name of a column; x3 for the fourth of an array."""
    return f"{'' if is_frame(X) else 'x'}{column_key(X, name)}"


def column_key(X: Any, name: Any) -> Any:
    """Key of a column named by itself or by its position."""
    names = list(X.columns) if is_frame(X) else list(range(np.shape(X)[1]))
    if name in names:
        return name
    if isinstance(name, Integral) and -len(names) <= int(name) < len(names):
        return names[int(name)]
    if is_frame(X):
        raise ValueError(f"groups names the column {name!r}, but X has only {names}")
    if isinstance(name, Integral):
        raise ValueError(
            f"groups names the column {name}, but X has only {len(names)}: give one of those it has"
        )
    raise ValueError(f"groups names the column {name!r}, but X is an array without names")


def column(X: Any, name: Any) -> NDArray[Any]:
    """Values of a column of a frame or an array."""
    key = column_key(X, name)
    return np.asarray(X[key]) if is_frame(X) else np.asarray(X)[:, key]


def check_present(labels: NDArray[Any], where: str) -> None:
    """Refuse rows without a label."""
    missing = np.flatnonzero(is_missing(labels))
    if len(missing):
        raise ValueError(
            f"groups has no label at row {missing[0]}{where}: give the rows without one a label of "
            "their own"
        )


def check_sortable(labels: NDArray[Any]) -> None:
    """Refuse labels that cannot be put in an order."""
    kinds = {type(label) for label in labels} if labels.dtype.kind == "O" else set()
    if len(kinds) > 1 and not all(issubclass(kind, Real) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"groups has labels of several types ({names}): give them one type")


def check_kind(was: Any, now: Any, where: str) -> None:
    """Refuse labels that were text and are numbers, or the other way round."""
    kinds = ["text" if isinstance(label, str) else "numbers" for label in (was, now)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"labels{where} were {kinds[0]} in fit and are {kinds[1]} now: give them the type they "
            "had"
        )


def shown(label: Any) -> str:
    """Label as text; a whole number alike, whether it came as a float or not."""
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return str(int(label)) if whole else str(label)
