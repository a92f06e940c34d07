"""DataFrames with categories, strings, dates and gaps as numbers to learn from."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils import get_tags

from plcp._base import Estimator
from plcp._folds import copy_ids, shuffled_folds
from plcp._options import warn_unseen
from plcp._rows import (
    NUMBERS,
    OBJECTS,
    TEXT,
    column_kind,
    is_frame,
    is_gap,
    is_missing,
    one_row_each,
    same_text,
    take,
)
from plcp._validation import check_features, drop_weightless
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import ScoreRegressor, fit_weighted

MAX_CATEGORIES = 254  # the histogram trees tell apart 255 codes, one of them "missing"
_UNSEEN: ContextVar[dict[Any, Counter[str]] | None] = ContextVar("unseen", default=None)


class Read(NamedTuple):
    """Kind of a column (None: all missing), and its values: one per row, or one at each place.

    ``places`` are those of all rows, the one after the last value where a row has none.
    """

    kind: str | None
    values: NDArray[Any]
    places: IntArray | None = None

    def rows_each(self) -> IntArray:
        """Return how many rows hold each of the values."""
        if self.places is None:
            return np.ones(len(self.values), dtype=np.intp)
        return np.bincount(self.places, minlength=len(self.values))[: len(self.values)]

    def spread(self, numbers: FloatArray) -> FloatArray:
        """Return one number per row, given one for each of the values."""
        return numbers if self.places is None else np.append(numbers, np.nan)[self.places]


class TableEncoder(TransformerMixin, Estimator):
    """Numbers stay, dates become days, anything else becomes the code of its category.

    A category is known by its text. One that was rare (beyond the 254 most frequent) or unseen
    counts as missing, and missing values are nan. Dates of a time zone are taken to UTC. A column
    with no value at all in fit is 0 throughout: there is nothing to learn from it, and histogram
    trees cannot cut a column of nan. Arrays pass through without a copy.

    Parameters
    ----------
    keep_rare : bool, default=False
        Whether rare categories have codes too, all above those of the 254 most frequent.

    Attributes
    ----------
    categorical_ : ndarray of bool, shape (n_features,)
        Which columns hold codes.
    n_categories_ : ndarray of int, shape (n_features,)
        How many codes each column has; none, if it holds numbers.
    mixed_ : list of bool
        Which columns hold text beside numbers or dates: those of new rows may hold either alone.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, None], "sex": ["f", "m"]})
    >>> TableEncoder().fit(frame).transform(frame)
    array([[31.,  0.],
           [nan,  1.]])
    """

    def __init__(self, keep_rare: bool = False) -> None:
        self.keep_rare = keep_rare

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kind of each column, and its categories where it has any."""
        if not is_frame(X):
            self.kinds_: list[str | None] = [NUMBERS] * X.shape[1]
            self.categories_: list[NDArray[Any] | None] = [None] * X.shape[1]
            self.mixed_ = [False] * X.shape[1]
        else:
            columns = [read_column(X, name) for name in X.columns]
            self.kinds_ = [column.kind for column in columns]
            self.categories_ = [
                _categories(column, self.keep_rare) if column.kind == TEXT else None
                for column in columns
            ]
            self.mixed_ = [_is_mixed(column) for column in columns]
        sizes = [0 if known is None else len(known) for known in self.categories_]
        self.n_categories_ = np.array(sizes, dtype=int)
        self.categorical_ = self.n_categories_ > 0
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return X as a float array with codes for categories."""
        if not is_frame(X):
            return np.asarray(X) if np.asarray(X).dtype.kind == "f" else np.asarray(X, dtype=float)
        encoded = np.full(X.shape, np.nan, order="F")
        mixes = getattr(self, "mixed_", [False] * X.shape[1])  # which older files do not hold
        learned = zip(X.columns, self.kinds_, self.categories_, mixes, strict=True)
        for i, (name, expected, known, mixed) in enumerate(learned):
            column = read_column(X, name)
            if expected is None:
                encoded[:, i] = 0.0
                continue
            if column.kind is None:
                continue
            codes = None if known is None else _codes(column.values, known)
            if column.kind != expected and not mixed:
                raise ValueError(
                    f"column {name!r} held {expected} in fit and holds {column.kind} now: "
                    "give it the type it had in fit"
                )
            if codes is not None:
                _count_unseen(name, column, codes)
            encoded[:, i] = column.spread(_numbers(column.values) if codes is None else codes)
        return encoded


@contextmanager
def warning_of_unseen() -> Iterator[None]:
    """Warn once of categories that no encoder within has seen, counted by column.

    A fit predicts held-out rows too, of which it need not warn: only new rows are predicted within.
    """
    if _UNSEEN.get() is not None:  # the outermost warns
        yield
        return
    found: dict[Any, Counter[str]] = {}
    token = _UNSEEN.set(found)
    try:
        yield
    finally:
        _UNSEEN.reset(token)
    warn_unseen({name: counts for name, counts in found.items() if counts}, "count as missing")


@contextmanager
def unseen_in_other_rows() -> Iterator[None]:
    """Add up what encoders within have not seen, in rows that no other encoder is given."""
    found = _UNSEEN.get()
    if found is None:
        yield
        return
    token = _UNSEEN.set({})
    try:
        yield
    finally:
        own = _UNSEEN.get() or {}
        _UNSEEN.reset(token)
        for name, counts in own.items():
            found[name] = found.get(name, Counter()) + counts


def _count_unseen(name: Any, column: Read, codes: FloatArray) -> None:
    """Count the values without a code, if somewhere they are counted; the least over encoders."""
    found = _UNSEEN.get()
    if found is None:
        return
    labels, present = _labels(column.values)
    unseen = np.flatnonzero(present & np.isnan(codes))
    rows = column.rows_each() if len(unseen) else np.ones(0, dtype=int)
    counts: Counter[str] = Counter()
    for place in unseen:
        counts[str(labels[place])] += int(rows[place])
    if name not in found or counts.total() < found[name].total():
        found[name] = counts


def without_rare(codes: FloatArray, columns: NDArray[np.bool_]) -> FloatArray:
    """Codes that histogram trees can tell apart: rare categories of these columns are missing.

    Examples
    --------
    >>> without_rare(np.array([[254.0, 254.0]]), np.array([True, False]))
    array([[ nan, 254.]])
    """
    return np.where(columns & (codes >= MAX_CATEGORIES), np.nan, codes)


def read_column(X: Any, name: Any) -> Read:
    """Read a column of a frame, each of its texts once."""
    column = X[name]
    numbers = same_text(column)
    if numbers is None:
        return Read(*_values(name, column))
    rows, places = one_row_each(numbers)
    return Read(*_values(name, take(column, rows)), places)


def _values(name: Any, column: Any) -> tuple[str | None, NDArray[Any]]:
    """Kind of a column (None: all missing), TEXT where types differ, and its values."""
    if getattr(column.dtype, "tz", None) is not None:  # pandas would give one object per row
        column = column.dt.tz_convert(None)
    try:
        values = np.asarray(column)
    except (TypeError, ValueError) as error:
        raise ValueError(_unreadable(name, column)) from error
    if values.ndim != 1 or values.dtype.kind not in "biufmMOSUT":
        raise ValueError(_unreadable(name, column))
    kind = column_kind(column)
    if kind is not None and str(column.dtype).lower().startswith(("categor", "enum")):
        # numpy would turn whole numbers into floats where one is missing, and 3 be called "3.0"
        objects = column.astype(object) if hasattr(column, "astype") else column
        return TEXT, np.asarray(objects, dtype=object)
    return kind, values


def _unreadable(name: Any, column: Any) -> str:
    return (
        f"column {name!r} of type {column.dtype} is neither numbers, dates nor categories: "
        "convert it, or leave it out"
    )


def _is_mixed(column: Read) -> bool:
    """Whether some categories are not text: a single row may then be of another kind."""
    if column.kind != TEXT or column.places is not None:
        return False
    return any(isinstance(value, (*OBJECTS[NUMBERS], date, timedelta)) for value in column.values)


def _labels(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values as strings, and which of them are there at all."""
    return np.array([str(value) for value in values.tolist()], dtype=str), ~is_missing(values)


def _categories(column: Read, keep_rare: bool) -> NDArray[Any]:
    """Categories of a column, sorted: the most frequent 254, then, if wanted, the rare ones."""
    labels, present = _labels(column.values)
    known, which = np.unique(labels[present], return_inverse=True)
    counts = np.bincount(which, column.rows_each()[present])
    order = np.argsort(-counts, kind="stable")
    often, rare = np.sort(order[:MAX_CATEGORIES]), np.sort(order[MAX_CATEGORIES:])
    return known[np.concatenate([often, rare])] if keep_rare else known[often]


def _codes(values: NDArray[Any], known: NDArray[Any]) -> FloatArray:
    labels, present = _labels(values)
    order = np.argsort(known)
    codes = order[np.minimum(np.searchsorted(known, labels, sorter=order), len(known) - 1)]
    return np.where(present & (known[codes] == labels), codes, np.nan)


def _numbers(values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind in "mM":
        days = values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86400.0)
    if values.dtype.kind == "O":
        return np.array([np.nan if is_gap(value) else _number(value) for value in values])
    return values.astype(float)


def _number(value: Any) -> float:
    """Return an object as a number: days, for dates and durations."""
    if isinstance(value, timedelta):
        return value.total_seconds() // 1 / 86400.0
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp() // 1 / 86400.0
    return float(value)


class CategoryMeans(ScoreRegressor):
    """A regressor of columns in which the mean score of its category stands for each code.

    Trees that sort hundreds of categories at every split learn noise; one number, sorted once,
    leaves them less to choose from. The rows that the regressor learns from are given means of
    other rows, or each would hold its own score. One more row of the mean of all scores counts in
    each category: a rare one is drawn towards it, an unseen one has just that. Missing is a
    category too. scikit-learn's ``TargetEncoder(smooth=1.0)`` computes the same means, but takes no
    weights, and its folds separate copies of a row.

    Parameters
    ----------
    regressor : regressor
        Fitted with the means in place of the codes.
    columns : array of bool, shape (n_features,)
        Which columns hold codes 0, 1, … or nan.
    cv : int, default=5
        Folds, so that no training row has a part in the means it is given.
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    means_ : dict of int to ndarray
        For each column of codes the means of missing, of code 0, 1, …, and of an unseen one.
    regressor_ : regressor
        The fitted regressor.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, scores = np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([3.0, 1.0], 100)
    >>> regressor = CategoryMeans(LinearRegression(), [True], random_state=0).fit(X, scores)
    >>> regressor.predict([[0.0], [1.0], [np.nan]]).round(2)
    array([3., 1., 2.])
    """

    def __init__(
        self, regressor: Any, columns: ArrayLike, *, cv: int = 5, random_state: Any = None
    ) -> None:
        self.regressor = regressor
        self.columns = columns
        self.cv = cv
        self.random_state = random_state

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return check_features(self, X, reset=reset, allow_nan=True)

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Take the means of the scores by category, then fit the regressor to them."""
        X, scores, weights = drop_weightless(X, scores, weights)
        counts = np.ones(len(scores)) if weights is None else weights
        places = {int(i): _places(X[:, i]) for i in np.flatnonzero(self.columns)}
        self.means_ = {i: category_means(p, scores, counts) for i, p in places.items()}
        Z = np.array(X, dtype=float)
        folds = shuffled_folds(copy_ids(X, scores), self.cv, self.random_state)
        for learn, hold in folds:
            for i, place in places.items():
                means = category_means(place[learn], scores[learn], counts[learn])
                Z[hold, i] = _look_up(means, place[hold])
        self.regressor_ = fit_weighted(clone(self.regressor), Z, scores, weights)
        return self

    def _predict(self, X: Any) -> FloatArray:
        Z = np.array(X, dtype=float)
        for i, means in self.means_.items():
            Z[:, i] = mean_of(Z[:, i], means)
        return np.asarray(self.regressor_.predict(Z), dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.positive_only = get_tags(self.regressor).target_tags.positive_only
        tags.regressor_tags.poor_score = True
        return tags


def category_means(places: IntArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean score at each place, one more row of the overall mean counted in; one empty place ends.

    Examples
    --------
    >>> category_means(np.array([0, 2, 2]), np.array([3.0, 0.0, 0.0]), np.ones(3))
    array([2.        , 1.        , 0.33333333, 1.        ])
    """
    overall = np.average(scores, weights=weights)
    n_places = int(places.max()) + 2
    sums = np.bincount(places, weights * scores, n_places)
    return np.asarray((sums + overall) / (np.bincount(places, weights, n_places) + 1.0))


def mean_of(codes: FloatArray, means: FloatArray) -> FloatArray:
    """Look each code up in the means of missing, of code 0, 1, …, and of an unseen one."""
    return _look_up(means, _places(codes))


def _places(codes: FloatArray) -> IntArray:
    return np.where(np.isnan(codes), 0.0, codes + 1.0).astype(np.intp)


def _look_up(means: FloatArray, places: IntArray) -> FloatArray:
    return means[np.minimum(places, len(means) - 1)]
