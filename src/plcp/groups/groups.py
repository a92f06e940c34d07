"""Groups that the user gives: columns, functions or indicators, which may overlap."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._options import check_same_rows, warn_unseen
from plcp._rows import count, is_frame, is_missing, to_plain_array
from plcp._validation import check_features, check_lengths, drop_weightless
from plcp.quantiles import FloatArray


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


def label_text(label: Any) -> str:
    """Label as text; a whole number alike, whether it came as a float or not."""
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return str(int(label)) if whole else str(label)


MAX_LABELS = 1000  # a column with more is a number by mistake, and the matrix would fill memory
Source = str | int | Callable[[Any], Any]


class Groups(TransformerMixin, Estimator):
    """Indicators 1{x ∈ g} of groups that may overlap, one column per group.

    Each value of each named column is a group, so that a row is in one group of every column;
    ``Mondrian`` takes combinations instead, and a row is in one group alone. A column of booleans
    is one group. A value that was not there in ``fit`` belongs to none of its column's groups.

    Parameters
    ----------
    by : column name or position, callable, list or dict of them, or None
        Where groups stand: columns of X, or functions that take X and give one boolean per row (or
        a row of booleans, for several groups at once). The keys of a dict are names. None: a
        boolean matrix is handed to ``fit`` and ``transform`` as ``given``.

    Attributes
    ----------
    names_ : list of str
        Name of each group, such as "sex=2".

    Examples
    --------
    >>> import pandas as pd
    >>> from plcp import Groups
    >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30, 70, 80]})
    >>> groups = Groups({"sex": "sex", "old": lambda X: X["age"] > 65})
    >>> groups.fit_transform(people)
    array([[1., 0., 0.],
           [0., 1., 1.],
           [1., 0., 1.]])
    >>> groups.names_
    ['sex=f', 'sex=m', 'old']
    """

    def __init__(self, by: Source | list[Source] | dict[str, Source] | None = None) -> None:
        self.by = by

    def fit(self, X: Any, y: Any = None, given: ArrayLike | None = None) -> Self:
        """Learn the labels and names of the groups; each must hold a row."""
        self.fit_transform(X, given=given)
        return self

    def fit_transform(self, X: Any, y: Any = None, given: ArrayLike | None = None) -> FloatArray:
        """Fit, and return the indicators of the same rows."""
        check_same_rows(X, groups=given)
        X = check_features(self, X, reset=True, allow_nan=True)
        blocks = [_learned(X, *source, given) for source in _sources(self.by, given)]
        matrix = np.hstack([_indicators(block, X, given) for block in blocks])
        found = [name for block in blocks for name in block.names]
        names = [name or f"group {i}" for i, name in enumerate(found)]
        empty = [names[i] for i in np.flatnonzero(matrix.sum(axis=0) == 0)]
        if empty:
            raise ValueError(
                f"the groups {empty} hold no calibration point: nothing can be learned about them, "
                "drop them"
            )
        self._blocks, self.names_ = blocks, names
        return matrix

    def transform(self, X: Any, given: ArrayLike | None = None) -> FloatArray:
        """Return the indicators, 0 or 1, of shape (n, number of groups)."""
        check_is_fitted(self, "names_")
        check_same_rows(X, groups=given)
        X = check_features(self, X, reset=False, allow_nan=True)
        _sources(self.by, given)
        return np.hstack([_indicators(block, X, given) for block in self._blocks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(frozen=True)
class _Block:
    """Groups of one source, some without a name; ``known`` is None where it gives booleans.

    ``titled``: the names are those of a frame's columns, which may come in another order.
    """

    source: Source | None
    names: list[str]
    known: dict[Any, int] | None
    titled: bool = False


def fit_groups(
    by: Any, X: Any, scores: FloatArray, weights: FloatArray | None, given: ArrayLike | None
) -> tuple[Groups, FloatArray, FloatArray, FloatArray | None]:
    """Fitted groups, and the indicators, scores and weights of the rows that count."""
    if given is not None:
        check_lengths(X, given)
        given = drop_weightless(given, scores, weights)[0]
    X, scores, weights = drop_weightless(X, scores, weights)
    groups = Groups(by)
    return groups, groups.fit_transform(X, given=given), scores, weights


def _sources(by: Any, given: ArrayLike | None) -> list[tuple[Source | None, str | None]]:
    """Each source of groups, with its name if the user gave one."""
    if (by is None) == (given is None):
        fault = "groups is None" if by is None else "groups are given twice"
        raise ValueError(
            f"{fault}: name columns, give functions of X, or hand a boolean matrix of shape "
            "(rows, groups) to every call instead"
        )
    if isinstance(by, list | dict) and not by:
        raise ValueError(f"groups names no group, got {by!r}: name a column, or give a function")
    if isinstance(by, dict):
        return [(source, str(name)) for name, source in by.items()]
    return [(source, None) for source in (by if isinstance(by, list) else [by])]


def _learned(X: Any, source: Source | None, name: str | None, given: ArrayLike | None) -> _Block:
    values = _values(X, source, given)
    if _is_column(source) and not _is_boolean(values):
        title = name or column_title(X, source)
        check_present(values, f" in column {source!r}")
        check_sortable(values)
        labels = list(np.unique(values))
        if len(labels) > MAX_LABELS:
            raise ValueError(
                f"column {source!r} holds {len(labels)} different values, more than {MAX_LABELS} "
                "groups: cut it into bins, or give functions of X"
            )
        known = {label: i for i, label in enumerate(labels)}
        return _Block(source, [f"{title}={label_text(label)}" for label in labels], known)
    k = check_indicators(values, count(X), _place(source)).shape[1]
    if is_frame(values):
        titles = [str(title) for title in values.columns]
        return _Block(source, titles, None, titled=len({*titles}) == k)
    title = name or ""
    if not name and _is_column(source):
        title = column_title(X, source)
    elif not name and source is not None:
        title = getattr(source, "__name__", type(source).__name__)
        title = "" if title == "<lambda>" else title
    several = k > 1 and title
    return _Block(source, [f"{title} {i}" if several else title for i in range(k)], None)


def _indicators(block: _Block, X: Any, given: ArrayLike | None) -> FloatArray:
    values = _values(X, block.source, given)
    if block.known is None:
        if block.titled and is_frame(values):  # columns in the order that they had in fit
            keys = {str(key): key for key in values.columns}
            if len(keys) != len(block.names) or not keys.keys() >= set(block.names):
                raise ValueError(
                    f"{_place(block.source)} has the columns {list(keys)}, but the groups in fit "
                    f"were {block.names}: give one column for each of them"
                )
            values = values[[keys[name] for name in block.names]]
        matrix = check_indicators(values, count(X), _place(block.source))
        if matrix.shape[1] != len(block.names):
            raise ValueError(
                f"{_place(block.source)} has {matrix.shape[1]} columns, but there were "
                f"{len(block.names)} groups in fit: give one column each, in the same order"
            )
        return matrix
    return _one_hot(values, block.known, block.source)


def _one_hot(values: NDArray[Any], known: dict[Any, int], name: Any) -> FloatArray:
    where = f" in column {name!r}"
    check_present(values, where)
    check_sortable(values)
    check_kind(next(iter(known)), values[0], where)
    labels, codes = np.unique(values, return_inverse=True)
    places = np.array([known.get(label, -1) for label in labels])
    if (places < 0).any():
        rows = np.bincount(codes)
        unseen = Counter({label_text(labels[i]): int(rows[i]) for i in np.flatnonzero(places < 0)})
        warn_unseen({name: unseen}, "belong to no group of that column")
    group = places[codes]
    return (group[:, None] == np.arange(len(known))).astype(float)


def check_indicators(values: Any, n: int, what: str) -> FloatArray:
    """Booleans, or zeros and ones, as a float matrix of n rows."""
    array = values.toarray() if issparse(values) else np.asarray(to_plain_array(values))
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] == 0:
        raise ValueError(
            f"{what} must give a boolean for each of {n} rows and at least one group, got shape "
            f"{np.shape(values)}"
        )
    if array.dtype.kind in "biuf":
        valid = (array == 0) | (array == 1)
    else:
        bits = [isinstance(v, Real | np.bool_) and v in (0, 1) for v in array.ravel()]
        valid = np.array(bits).reshape(array.shape)
    if not valid.all():
        row, column = np.argwhere(~valid)[0]
        raise ValueError(
            f"{what} must be True or False, got {array[row, column]!r} at row {row}, group "
            f"{column}: compare, for example X > 0; for labels, name their column"
        )
    return array.astype(float)


def _values(X: Any, source: Source | None, given: ArrayLike | None) -> Any:
    if source is None:
        return given
    return source(X) if callable(source) else column(X, source)


def _is_column(source: Any) -> bool:
    return source is not None and not callable(source)


def _is_boolean(values: NDArray[Any]) -> bool:
    objects = values.dtype.kind == "O" and len(values) > 0
    return values.dtype.kind == "b" or (objects and {*map(type, values)} <= {bool, np.bool_})


def _place(source: Any) -> str:
    if source is None:
        return "the matrix of groups"
    return f"column {source!r}" if _is_column(source) else f"the function {source!r}"
