"""Checks of what users pass, once, at the public boundary: errors name the value and the remedy.

A fit checks X (`check_features`: a table with distinct names and numbers, or what the estimator
takes instead), then y (`check_scores`, `check_response` or `check_labels`), then that both have as
many rows (`check_lengths`), then the weights (`check_weights`); `check_pairs` is all of it. A
prediction compares X with that of fit. An error that comes later, from a model that reads the rows
itself, names the model (`model_errors`) or what in X the model may not accept (`feature_errors`).
"""

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from plcp._options import caller_stacklevel, check_same_rows, shortened
from plcp._rows import (
    count,
    is_dataset,
    is_frame,
    is_missing,
    is_on_dask,
    is_stream,
    is_tensor,
    take,
    to_plain_array,
)
from plcp.exceptions import ColumnOrderWarning
from plcp.quantiles import FloatArray, IntArray

MOST_WHOLE = 2**53  # beyond it, not every whole number is a float
LARGEST = 2.0**1000  # about 1e301: sums of eight million, and differences of two, are finite
LARGEST_FEATURE = 1e150  # sums of a hundred million squares must not overflow
FLOATS = [np.float64, np.float32]
FEW = 1_000_000  # values: above, a check of all of them costs more than what it saves
CONVERT = "convert them, as by .astype(float)"


def as_floats(name: str, given: ArrayLike, remedy: str = CONVERT) -> NDArray[np.float64]:
    """Numbers as floats; text is refused, and whole numbers that floats cannot tell apart.

    ``remedy`` is what the message on text recommends.

    Examples
    --------
    >>> as_floats("y", [1, 2])
    array([1., 2.])
    >>> as_floats("y", ["1", "2"])
    Traceback (most recent call last):
    ValueError: y must be real numbers, got '1' at row 0: convert them, as by .astype(float)
    """
    values = np.asarray(to_plain_array(given))
    if values.dtype.kind in "iu" and values.size:
        most = max(int(values.max()), int(values.min()), key=abs)
        if abs(most) > MOST_WHOLE:
            raise ValueError(
                f"{name} must lie within ±2**53, where floats tell whole numbers apart, got "
                f"{most}: subtract a constant from all of them, or give floats if rounding will do"
            )
    try:
        if values.dtype.kind in "biuf" or (values.dtype.kind == "O" and not _has_text(values)):
            return np.asarray(values.astype(np.float64, copy=False))
    except (TypeError, ValueError, OverflowError):
        pass
    place = _first_that_is_no_number(values)
    row = place // max(1, values.size // max(1, len(np.atleast_1d(values))))
    raise ValueError(
        f"{name} must be real numbers, got {values.ravel().tolist()[place]!r} at row {row}: "
        f"{remedy}"
    )


def _has_text(values: NDArray[Any]) -> bool:
    """Whether any object is text, which numpy would read as a number where it looks like one."""
    return any(isinstance(value, str | bytes) for value in values.ravel().tolist())


def _first_that_is_no_number(values: NDArray[Any]) -> int:
    for place, value in enumerate(values.ravel().tolist()):
        if isinstance(value, str | bytes):
            return place
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return place
    return 0


def machine_epsilon(given: Any) -> float:
    """Gap between 1 and the next number of the type that ``given`` has; double for whole numbers.

    Examples
    --------
    >>> machine_epsilon(np.ones(2, dtype=np.float16)) == 2**-10
    True
    """
    if is_tensor(given) and given.is_floating_point():
        return float(sys.modules["torch"].finfo(given.dtype).eps)
    dtype: Any = np.dtype(float) if is_tensor(given) else np.asarray(given).dtype
    if dtype.name == "bfloat16":  # of ml_dtypes, which numpy.finfo does not know
        return 2.0**-7
    return float(np.finfo(dtype if dtype.kind == "f" else float).eps)


def check_sizes(name: str, values: NDArray[Any]) -> None:
    """Refuse finite numbers so large that their sums and differences are not finite."""
    sizes = np.abs(values)
    beyond = np.argwhere((sizes > LARGEST) & np.isfinite(sizes))
    if len(beyond):
        place = tuple(beyond[0])
        raise ValueError(
            f"{name} must be at most {LARGEST:g} in absolute value, got {values[place]:g} at row "
            f"{place[0]}: drop the row, or divide all of them by a constant"
        )


def first_not_finite(values: FloatArray) -> str | None:
    """Kind and row of the first value that is not finite, if there is one."""
    rows = np.flatnonzero(~np.isfinite(values))
    if not len(rows):
        return None
    return f"{'NaN' if np.isnan(values[rows[0]]) else 'inf (infinity)'} at row {rows[0]}"


def check_at_hand(**given: Any) -> None:
    """Refuse collections of Dask, which would be computed whole without a warning."""
    for name, value in given.items():
        if is_on_dask(value):
            raise TypeError(
                f"{name} is a Dask {type(value).__name__}, whose rows lie elsewhere: use the "
                f"estimators of plcp.dask, or give {name}.compute() if all of it fits into memory"
            )


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool | None = None) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the regressor untouched, so that a pipeline can select columns by name.
    Images and data sets are for estimators whose tags accept them. ``allow_nan`` is by default what
    the tags of the estimator say.
    """
    if not reset and is_sound(estimator, X):
        return X
    allow_nan = takes_nan(estimator) if allow_nan is None else allow_nan
    check_at_hand(X=X)
    X = to_plain_array(X)
    if reset:
        remember_columns(estimator, X)
    if is_dataset(X):
        if reset and hasattr(estimator, "n_features_in_"):
            del estimator.n_features_in_  # of an array fitted before
        return _check_dataset(X, takes_images(estimator))
    check_rows(X)
    if is_frame(X):
        X = X if reset else reorder_columns(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): give at least one")
        return X
    with feature_errors(X):
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
            allow_nd=takes_images(estimator),
        )
    if array.dtype.kind == "f" and array.dtype not in FLOATS:  # which not all regressors take
        array = array.astype(float)
    return array if reset else _named(estimator, array)


def is_sound(estimator: Any, X: Any) -> bool:
    """Whether X is a few finite rows as wide as those of fit, so that no check can fail.

    For one row this takes a tenth of the time of ``validate_data``, for a thousand a fifth, and
    every part of a rule checks its rows.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and 0 < X.size <= FEW
        and X.dtype in FLOATS
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")  # whose absence is an error
        and bool(np.isfinite(X).all())
    )


def check_table(estimator: Any, X: Any, *, reset: bool, allow_nan: bool = False) -> FloatArray:
    """Features as an array of numbers, single or double, whose squares and their sums are finite.

    For estimators that compute with them: a frame becomes an array.
    """
    table: FloatArray = check_features(estimator, X, reset=reset, allow_nan=allow_nan)
    if not (type(table) is np.ndarray and table.dtype in FLOATS):  # else it has been checked
        finite = "allow-nan" if allow_nan else True
        with feature_errors(table):
            table = check_array(table, dtype=FLOATS, ensure_all_finite=finite, input_name="X")
    ends = np.fmax.reduce(table, axis=0), -np.fmin.reduce(table, axis=0)
    largest = np.fmax(*ends).astype(float)
    if (largest > LARGEST_FEATURE).any():  # a column without a value is no number
        column = int(np.nanargmax(largest))
        raise ValueError(
            f"column {column} of X is too large to be squared, {largest[column]:g}: rescale it"
        )
    return table


def _check_dataset(X: Any, readable: bool) -> Any:
    """X if its rows can be counted and requested one by one."""
    if not readable:
        raise ValueError(
            f"only networks read a {type(X).__name__} row by row: use TorchPartition, or give an "
            "array of all rows"
        )
    if is_stream(X) or not hasattr(X, "__len__"):
        raise ValueError(
            f"{type(X).__name__} has no length or gives no single row, but folds need both: "
            "give a map-style Dataset, with __len__ and __getitem__"
        )
    if count(X) == 0:
        raise ValueError(f"Found array with 0 sample(s): the {type(X).__name__} is empty")
    return X


def check_rows(X: Any) -> None:
    """Refuse what no model should read: text, columns of one name, dates that pass as numbers."""
    if type(X) in (str, bytes, dict):  # a sparse array may be a subclass of dict
        raise TypeError(f"X must be rows, got a {type(X).__name__}: give an array or a DataFrame")
    if is_frame(X):
        check_names(X)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(
            f"X is an array of {X.dtype}, not of numbers: give days as numbers, or a DataFrame to "
            "the default regressor, which reads dates"
        )


def check_names(X: Any) -> None:
    """Refuse a frame with two columns of one name."""
    counts = Counter(str(name) for name in X.columns)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")


def remember_columns(estimator: Any, X: Any) -> None:
    """Store column names that are not strings, as text: scikit-learn does not store them."""
    vars(estimator).pop("_column_texts", None)
    if is_frame(X) and not all(isinstance(name, str) for name in X.columns):
        estimator._column_texts = [str(name) for name in X.columns]


def reorder_columns(estimator: Any, X: Any) -> Any:
    """Rows of a frame with the columns in the order of fit, with a warning if that changes it.

    Columns that are missing, or too many, are refused elsewhere.
    """
    named = [*getattr(estimator, "feature_names_in_", ())]
    names = named or getattr(estimator, "_column_texts", [])
    if not names or not is_frame(X):
        return X
    given = [*X.columns] if named else [str(name) for name in X.columns]
    if given == names or len(given) != len(names):
        return X
    if {*given} == {*names}:
        how = (
            f"come in another order than in fit, {shortened(given)}, and are put back into that of "
            f"fit by their names: {shortened(names)}"
        )
        X = X[names] if named else X.iloc[:, [given.index(name) for name in names]]
    elif named or all(isinstance(name, str) for name in X.columns):
        return X  # scikit-learn refuses other names, and warns of names where there were none
    else:
        how = f"are {shortened(given)}, but were {shortened(names)} in fit: position decides"
    warnings.warn(f"the columns of X {how}", ColumnOrderWarning, stacklevel=caller_stacklevel())
    return X


def with_columns_of_fit(estimator: Any, X: Any) -> Any:
    """Return new rows with the columns of fit, in its order, for a model that may read their names.

    Columns of an array are taken by position, with a warning if those of fit had names.
    """
    if is_frame(X) or not hasattr(estimator, "feature_names_in_"):
        return reorder_columns(estimator, X)
    if isinstance(X, list | tuple):
        with feature_errors(X):
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return _named(estimator, X)


def _named(estimator: Any, X: Any) -> Any:
    """Return numbers as a frame with the names of fit, so that no part warns of them again.

    An array of objects, as a frame of several types becomes, may hold numbers alone.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biufO":
        return X
    try:
        from pandas import DataFrame
    except ImportError:
        return X
    frame = DataFrame(X, columns=names).infer_objects()
    # without a frame's types, text and categories are not what they were in fit
    return X if "O" in {dtype.kind for dtype in frame.dtypes} else frame


def takes_nan(estimator: Any) -> bool:
    """Whether an estimator may accept missing values: its tags say so, or it does not check X.

    A pipeline may, since an imputer anywhere in it changes the answer.
    """
    tags = get_tags(estimator)
    return bool(tags.input_tags.allow_nan or tags.no_validation or isinstance(estimator, Pipeline))


def takes_images(estimator: Any) -> bool:
    """Whether rows may be images or items of a data set."""
    tags = get_tags(estimator)
    return bool(tags.input_tags.three_d_array or tags.no_validation)


ENCODE = (
    "X holds text. Encode it (OneHotEncoder in a pipeline), or give a DataFrame to the default "
    "regressor, which reads text and categories."
)
GAPS = (
    "X holds missing values (NaN). If the regressor cannot take them, use the boosted "
    "regressor, which can: OrderedPartition(regressor=HistGradientBoostingRegressor("
    'loss="quantile")), or put an imputer before it in a pipeline.'
)
ENCODE_FOR_MODEL = (
    "X holds text. If the model does not read it, put an encoder before it in a pipeline, such as "
    "OneHotEncoder; else change these rows until the model by itself accepts them."
)
IMPUTE_FOR_MODEL = (
    "X holds missing values (NaN). If the model does not take them, put an imputer before it in a "
    "pipeline, or use one that does, such as HistGradientBoostingRegressor or its classifier."
)


@contextmanager
def feature_errors(X: Any, of_text: str = ENCODE) -> Iterator[None]:
    """Add to an error about X what a model may not accept in it, and the remedy.

    Numbers near the largest float may overflow on the way: what comes out is checked for it.
    ``of_text``: what to say of a table that holds text.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        remedy = _remedy(X, of_text)
        if remedy is None or remedy in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}\n{remedy}") from error


def _remedy(X: Any, of_text: str, of_gaps: str = GAPS) -> str | None:
    """Return what some models do not accept in this table, and the remedy."""
    if X is None or issparse(X) or is_dataset(X):
        return None
    if is_frame(X) and 0 in X.shape:
        return _empty(X.shape)
    try:
        values = np.asarray(X)
    except ValueError:
        return "X must be a table, with rows of one length."
    if values.ndim != 2:
        return None
    if values.size == 0:
        return _empty(values.shape)
    missing = is_missing(values.ravel())
    objects = values.ravel().tolist() if values.dtype.kind == "O" else []
    if values.dtype.kind in "US" or any(isinstance(value, str) for value in objects):
        return of_text
    if missing.any():
        return of_gaps
    if any(not isinstance(value, Real | Decimal) for value in objects):
        return "X must be a table of numbers."
    if values.dtype.kind == "f" and np.isinf(values).any():
        return "X holds infinite values: drop or fix those rows."
    return None


def _empty(shape: tuple[int, ...]) -> str:
    return f"X has no {'rows' if shape[0] == 0 else 'columns'}: give at least one."


@contextmanager
def model_errors(
    model: Any,
    X: Any = None,
    labels: ArrayLike | None = None,
    of_text: str = ENCODE_FOR_MODEL,
) -> Iterator[None]:
    """Name the model in an error that it raises on its rows X, and a remedy.

    ``labels``: those that a classifier is trained on. ``of_text``: what to say of a table that
    holds text.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # its predictions are checked
            yield
    except Exception as error:
        # LightGBM has an exception class of its own for errors about rows
        own = Exception in type(error).__bases__ and type(error).__module__ != "builtins"
        about_rows = own or isinstance(error, ValueError | LookupError)
        if not about_rows or isinstance(error, NotFittedError):
            raise
        model = model.estimator if isinstance(model, FrozenEstimator) else model
        remedy = (
            _about_columns(model, X)
            or _about_labels(labels)
            or _remedy(X, of_text, IMPUTE_FOR_MODEL)
            or "Change these rows until the model by itself accepts them."
        )
        name, kind = type(model).__name__, type(error).__name__
        raise ValueError(f"{name} raised {kind} on these rows: {error}\n{remedy}") from error


def _about_columns(model: Any, X: Any) -> str | None:
    """Return how the columns of X differ from those a model was fitted to, if they do."""
    names = [*getattr(model, "feature_names_in_", ())]
    if names and is_frame(X):
        lacking = [name for name in names if name not in {*X.columns}]
        more = [name for name in X.columns if name not in {*names}]
        if lacking:
            return f"It was fitted to columns that are missing here: add {shortened(lacking)}."
        if more:
            return f"It was not fitted to all of these columns: drop {shortened(more)}."
    if names and X is not None and not is_frame(X):
        return f"It was fitted to a DataFrame: give one, with the columns {shortened(names)}."
    n, (_, *width) = getattr(model, "n_features_in_", None), getattr(X, "shape", (None,))
    if n is None or not width or width[0] == n:
        return None
    return f"It was fitted to {n} columns, and these rows have {width[0]}: give the same columns."


def _about_labels(labels: ArrayLike | None) -> str | None:
    """Return that all labels are one, which many classifiers refuse."""
    distinct = [] if labels is None else np.unique(labels).tolist()
    if len(distinct) != 1:
        return None
    return (
        f"All {count(labels)} rows that train it have the label {distinct[0]!r}: give more rows of "
        "other labels."
    )


def check_predictions(values: Any, n: int) -> FloatArray:
    """One finite number per row, from any regressor."""
    predicted = np.asarray(values, dtype=float)
    if predicted.shape != (n,):
        raise ValueError(
            f"the regressor must predict one number per row, shape ({n},), got {predicted.shape}: "
            "use a regressor with one output"
        )
    fault = first_not_finite(predicted)
    if fault:
        raise ValueError(
            f"the regressor must predict finite numbers, got {fault}: "
            "fix the regressor, or its input there"
        )
    return predicted


def check_pairs(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, allow_nan: bool
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Features, scores and weights of a calibration set, all of the same length."""
    check_same_rows(X, y=y, sample_weight=sample_weight)
    X = check_features(estimator, X, reset=True, allow_nan=allow_nan)
    scores = check_scores(y)
    check_lengths(X, scores)
    weights = check_weights(sample_weight, X)
    estimator._n_calibration = effective_rows(len(scores), weights)
    # rows that weigh one or nothing are rows, and have ranks
    estimator._weighted = weights is not None and not np.isin(weights, (0.0, 1.0)).all()
    return X, scores, weights


def check_scores(scores: ArrayLike) -> FloatArray:
    """Scores as a vector of finite floats, with finite sums and differences."""
    return _vector("scores", scores, "drop the row or fix the model's prediction")


def check_response(y: ArrayLike) -> FloatArray:
    """Numbers to be predicted, one per row: finite, with finite sums and differences."""
    labels = f"use ConformalClassifier if these are labels, else {CONVERT}"
    return _vector("y", y, "drop the row", labels)


def _vector(name: str, values: ArrayLike, remedy: str, of_text: str = CONVERT) -> FloatArray:
    check_at_hand(y=values)
    if values is None:
        raise ValueError(f"requires y to be passed, but the target y is None: give {name}")
    array = check_array(
        to_plain_array(values),
        ensure_2d=False,
        dtype=None,
        ensure_all_finite=False,
        input_name="y",
        ensure_min_samples=0,
    )
    array = column_or_1d(array, warn=True)
    check_some(len(array))
    array = as_floats(name, array, of_text)
    fault = first_not_finite(array)
    if fault:
        raise ValueError(f"{name} must be finite, but y contains {fault}: {remedy}")
    check_sizes(name, array)
    return array


def check_labels(y: ArrayLike) -> NDArray[Any]:
    """Return one label per row, of whatever type."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give labels")
    check_at_hand(y=y)
    y = to_plain_array(y)
    # gaps have a message of our own
    finite = "allow-nan" if np.asarray(y).dtype.kind != "O" else False
    array = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=finite, input_name="y")
    labels: NDArray[Any] = column_or_1d(array, warn=True)
    missing = np.flatnonzero(is_missing(labels))
    if len(missing):
        raise ValueError(f"y has no label at row {missing[0]}: drop the rows without one")
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("y has labels of several types, text and numbers: give them one type")
    return labels


def check_classes(labels: NDArray[Any]) -> None:
    """Refuse numbers with fractions, which are not classes."""
    if type_of_target(labels, input_name="y") == "continuous":
        raise ValueError(
            "Unknown label type: continuous. y holds numbers with fractions, which are no classes: "
            "use ConformalRegressor"
        )
    check_classification_targets(labels)


def check_some(n: int) -> None:
    """Refuse a calibration set without rows."""
    if n == 0:
        raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")


def check_lengths(X: Any, scores: Any) -> None:
    """Refuse X and y of different lengths."""
    sizes = [count(X), count(scores)]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {sizes}; give one value of y for each "
            "row of X"
        )


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """Weights, not negative, with a positive and finite sum; one number holds for all rows.

    None where each row counts once: results are then those without weights, to the last bit.
    """
    if sample_weight is None:
        return None
    check_at_hand(sample_weight=sample_weight)
    weights, n = as_floats("sample_weight", sample_weight), count(X)
    weights = np.full(n, weights) if weights.ndim == 0 else weights
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), one per row, got {weights.shape}")
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        kind = "negative" if weights[wrong[0]] < 0 else "NaN or infinite"
        raise ValueError(
            f"sample_weight must be finite and not negative, got the {kind} value "
            f"{weights[wrong[0]]:g} at row {wrong[0]}: give the row the weight 0 to leave it out"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not 1 / LARGEST <= total <= LARGEST:
        size = "zero, or next to it" if total < 1 else "infinity, or next to it"
        raise ValueError(
            f"sample_weight sums to {size}: give each calibration point the number of rows that "
            "it stands for"
        )
    return None if (weights == 1).all() else weights


def drop_weightless(
    X: Any, scores: FloatArray, weights: FloatArray | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Drop the rows of weight zero."""
    if weights is None or weights.all():
        return X, scores, weights
    rows = np.flatnonzero(weights)
    kept = weights[rows]
    return take(X, rows), scores[rows], None if (kept == 1).all() else kept


def relative_weights(weights: FloatArray | None) -> FloatArray | None:
    """Weights scaled to a mean of one; None if all are equal.

    Examples
    --------
    >>> relative_weights(np.array([2.0, 6.0])), relative_weights(np.array([3.0, 3.0]))
    (array([0.5, 1.5]), None)
    """
    if weights is None or (weights == weights[0]).all():
        return None
    return weights / weights.mean()


def effective_rows(n: int, weights: FloatArray | None) -> float:
    """Effective number of n weighted rows.

    (Σw)² / Σw² rows (Kish): the variance of their weighted mean is that of so many.

    Examples
    --------
    >>> effective_rows(3, None), effective_rows(3, np.array([2.0, 2.0, 4.0]))
    (3.0, 2.6666666666666665)
    """
    if weights is None:
        return float(n)
    return float(effective_sizes(np.zeros(n, dtype=np.intp), weights, 1)[0])


def effective_sizes(
    groups: IntArray, weights: FloatArray, n_groups: int, shares: FloatArray | None = None
) -> FloatArray:
    """Return the effective number of rows of each group, given the group of each row.

    ``shares``: the part of each row that belongs to its group, where it is not all of it.

    Examples
    --------
    >>> effective_sizes(np.array([0, 0, 0, 2, 2]), np.array([2.0, 2.0, 4.0, 7.0, 7.0]), 3)
    array([2.66666667, 0.        , 2.        ])
    """
    largest = np.zeros(n_groups)
    np.maximum.at(largest, groups, weights)
    # in units of the group's largest: squares may overflow, or vanish beside another group's; a
    # power of two, so that sums of whole weights are exact in any order
    sizes = np.ldexp(weights, -np.frexp(largest)[1][groups])
    parts = np.ones(len(groups)) if shares is None else shares
    total, squares = (np.bincount(groups, parts * s, n_groups) for s in (sizes, sizes**2))
    return np.divide(total**2, squares, out=np.zeros(n_groups), where=squares > 0)


def effective_columns(members: FloatArray, weights: FloatArray | None) -> FloatArray | None:
    """Return the same for each column of memberships; None where nothing is weighted."""
    if weights is None:
        return None
    rows, groups = np.nonzero(members)
    return effective_sizes(groups, weights[rows], members.shape[1], members[rows, groups])
