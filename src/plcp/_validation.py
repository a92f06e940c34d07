"""Checks of what users pass: each error names the value and the remedy."""

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from plcp._options import check_same_rows, outside, shortened
from plcp._rows import (
    count,
    is_dataset,
    is_frame,
    is_missing,
    is_on_dask,
    is_stream,
    is_tensor,
    plain,
    take,
)
from plcp.exceptions import ColumnOrderWarning
from plcp.quantiles import FloatArray, IntArray

MOST_WHOLE = 2**53  # beyond it, not every whole number is a float
EPSILON = float(np.finfo(float).eps)
LARGEST = 2.0**1000  # about 1e301: sums of eight million, and differences of two, are finite
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
    values = np.asarray(plain(given))
    if values.dtype.kind in "iu" and values.size and _beyond(values):
        most = values.flat[int(np.argmax(np.abs(values.astype(float))))]
        raise ValueError(
            f"{name} must lie within ±2**53, where floats tell whole numbers apart, got {most}: "
            "subtract a constant from all of them, or give floats if rounding will do"
        )
    try:
        if values.dtype.kind in "biufO":
            return np.asarray(values.astype(np.float64, copy=False))
    except (TypeError, ValueError, OverflowError):
        pass
    place = _first_that_is_no_number(values)
    row = place // max(1, values.size // max(1, len(np.atleast_1d(values))))
    raise ValueError(
        f"{name} must be real numbers, got {values.ravel().tolist()[place]!r} at row {row}: "
        f"{remedy}"
    )


def machine_epsilon(given: Any) -> float:
    """Gap between 1 and the next number of the type that ``given`` has; double for whole numbers.

    Examples
    --------
    >>> machine_epsilon(np.ones(2, dtype=np.float16)) == 2**-10
    True
    """
    if is_tensor(given):
        is_float = given.is_floating_point()
        return float(sys.modules["torch"].finfo(given.dtype).eps) if is_float else EPSILON
    dtype = np.asarray(given).dtype
    if dtype.name == "bfloat16":  # of ml_dtypes, which numpy.finfo does not know
        return 2.0**-7
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else EPSILON


def check_sizes(name: str, values: NDArray[Any]) -> None:
    """Refuse finite numbers so large that sums and differences of them are not."""
    sizes = np.abs(values)
    beyond = np.argwhere((sizes > LARGEST) & np.isfinite(sizes))
    if len(beyond):
        place = tuple(beyond[0])
        raise ValueError(
            f"{name} must be at most {LARGEST:g} in absolute value, got {values[place]:g} at row "
            f"{place[0]}: drop the row, or divide all of them by a constant"
        )


def _beyond(values: NDArray[Any]) -> bool:
    return int(values.max()) > MOST_WHOLE or int(values.min()) < -MOST_WHOLE


def _first_that_is_no_number(values: NDArray[Any]) -> int:
    """Place, along the rows, of the first value that is not held by a float or an integer."""
    for place, value in enumerate(values.ravel().tolist()):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return place
    return 0  # such as text of numbers: the first will do


def check_at_hand(**given: Any) -> None:
    """Refuse collections of Dask, which would be computed whole without a word."""
    for name, value in given.items():
        if is_on_dask(value):
            raise TypeError(
                f"{name} is a Dask {type(value).__name__}, whose rows lie elsewhere: use the "
                f"estimators of plcp.dask, or give {name}.compute() if all of it fits into memory"
            )


def first_not_finite(values: FloatArray) -> str | None:
    """Kind and row of the first value that is no finite number, if there is one."""
    if np.isfinite(values).all():
        return None
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    kind = "NaN" if np.isnan(values[row]) else "inf (infinity)"
    return f"{kind} at row {row}"


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
    """Return the same for each group, of rows with the group of each.

    Of rows that belong to a group in part, ``shares`` are the parts, which count as rows do.

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


def check_labels(y: ArrayLike) -> NDArray[Any]:
    """Return one label per row, of whatever type."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give labels")
    check_at_hand(y=y)
    y = plain(y)
    # gaps have a sentence of our own
    finite = "allow-nan" if np.asarray(y).dtype.kind != "O" else False
    array = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=finite, input_name="y")
    labels: NDArray[Any] = column_or_1d(array, warn=True)
    missing = np.flatnonzero(is_missing(labels))
    if len(missing):
        raise ValueError(f"y has no label at row {missing[0]}: drop the rows without one")
    kinds = {"text" if isinstance(y, str) else "numbers" for y in labels.tolist()}
    if labels.dtype.kind == "O" and len(kinds) > 1:
        raise ValueError("y has labels of several types, text and numbers: give them one type")
    return labels


def check_classes(labels: NDArray[Any]) -> None:
    """Refuse labels that are no classes, but numbers with fractions."""
    if type_of_target(labels, input_name="y") == "continuous":
        raise ValueError(
            "Unknown label type: continuous. y holds numbers with fractions, which are no classes: "
            "use ConformalRegressor"
        )
    check_classification_targets(labels)


NAN_REMEDY = (
    "This regressor cannot take missing values (NaN). Use the boosted regressor, which can: "
    'OrderedPartition(regressor=HistGradientBoostingRegressor(loss="quantile")), '
    "or put an imputer before it in a pipeline."
)

TEXT_REMEDY = (
    "X holds text where numbers are read. Encode it (OneHotEncoder in a pipeline), or give a "
    "DataFrame to the default regressor, which reads text and categories."
)
FLOATS = [np.float64, np.float32]
FEW = 10_000  # values: to look through more takes longer than all else
LARGEST_FEATURE = 1e150  # sums of a hundred million squares must not overflow
REMEDIES = {
    "could not convert string": TEXT_REMEDY,
    "compatible with arrays of bytes/strings": TEXT_REMEDY,
    "inhomogeneous": "X must be a table, with rows of one length.",
    "X contains infinity": "Drop or fix those rows.",
    "can't multiply sequence": TEXT_REMEDY,
    "float() argument must be": "X must be a table of numbers.",
}


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool | None = None) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the regressor untouched, so that a pipeline can select columns by name.
    Images
    and data sets go to those who can take them. ``allow_nan``: None for what the estimator says.
    """
    if not reset and is_sound(estimator, X):
        return X
    allow_nan = takes_nan(estimator) if allow_nan is None else allow_nan
    check_at_hand(X=X)
    X = plain(X)
    if reset:
        remember_columns(estimator, X)
    if is_frame(X):
        check_names(X)
        X = X if reset else in_order(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): give at least one")
        return X
    images = takes_images(estimator)
    if is_dataset(X):
        if reset and hasattr(estimator, "n_features_in_"):
            del estimator.n_features_in_  # of an array fitted before
        return check_dataset(X, images)
    check_rows(X)
    is_image = len(getattr(X, "shape", ())) > 2
    with naming_the_boosted_regressor(not is_image):
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
            allow_nd=images,
        )
    # not all regressors take half or extended precision
    return array.astype(float) if array.dtype.kind == "f" and array.dtype not in FLOATS else array


def is_sound(estimator: Any, X: Any) -> bool:
    """Whether X is a few finite rows as wide as those of fit: nothing is left to complain about.

    Of one row, to find that out takes a tenth of the time of scikit-learn's way through all that X
    might be, and every layer of a rule looks at its rows.
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

    For those who do sums with them: a frame becomes an array, of numbers alone.
    """
    table: FloatArray = check_features(estimator, X, reset=reset, allow_nan=allow_nan)
    if not (type(table) is np.ndarray and table.dtype in FLOATS):  # else it has been looked through
        finite = "allow-nan" if allow_nan else True
        with naming_the_boosted_regressor():
            table = check_array(table, dtype=FLOATS, ensure_all_finite=finite, input_name="X")
    ends = np.fmax.reduce(table, axis=0), -np.fmin.reduce(table, axis=0)
    largest = np.nan_to_num(np.fmax(*ends).astype(float))  # of a column without a value, nothing
    column = int(np.argmax(largest))
    if largest[column] > LARGEST_FEATURE:
        raise ValueError(
            f"column {column} of X is too large to be squared, {largest[column]:g}: rescale it"
        )
    return table


def check_dataset(X: Any, readable: bool) -> Any:
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
    """Refuse what no model should see: no rows, columns of one name, dates that pass as numbers."""
    if type(X) in (str, bytes, dict):  # some sparse arrays are dicts, of a complaint of their own
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
    """Note the texts of columns whose names are no strings, which scikit-learn does not note."""
    vars(estimator).pop("_column_texts", None)
    if is_frame(X) and not all(isinstance(name, str) for name in X.columns):
        estimator._column_texts = [str(name) for name in X.columns]


def in_order(estimator: Any, X: Any) -> Any:
    """Rows of a frame with the columns in the order that ``estimator`` was fitted to, and say so.

    Columns that are missing, or too many, are for others to refuse.
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
    warnings.warn(f"the columns of X {how}", ColumnOrderWarning, stacklevel=outside())
    return X


@contextmanager
def naming_the_boosted_regressor(is_table: bool = True) -> Iterator[None]:
    """Add the remedy to a complaint about missing values, text, infinity or rows cut short.

    Numbers near the largest float may overflow on the way: what comes out is looked at, and refused
    if it is not finite.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        remedy = _remedy(str(error)) if is_table else None
        if remedy is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}\n{remedy}") from error


def _remedy(message: str) -> str | None:
    """What to do about a complaint, unless it says so itself."""
    missing = "contains NaN" in message or "got NaN" in message
    if missing and "y contains NaN" not in message:
        return None if NAN_REMEDY in message else NAN_REMEDY
    for complaint, remedy in REMEDIES.items():
        if complaint in message:
            return None if remedy in message else remedy
    return None


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


def takes_nan(estimator: Any) -> bool:
    """Whether an estimator may accept missing values: it says so, or does not look at X.

    A pipeline is left to answer for itself, since an imputer anywhere in it changes its answer.
    """
    tags = get_tags(estimator)
    return bool(tags.input_tags.allow_nan or tags.no_validation or isinstance(estimator, Pipeline))


def takes_images(estimator: Any) -> bool:
    """Whether rows may be images or items of a data set: it says so, or does not look at X."""
    tags = get_tags(estimator)
    return bool(tags.input_tags.three_d_array or tags.no_validation)


@contextmanager
def model_errors(model: Any, X: Any = None) -> Iterator[None]:
    """Name the model in an error that it raises on its rows X."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # its predictions are checked
            yield
    except Exception as error:
        if not _may_be_about_rows(error):
            raise
        model = model.estimator if isinstance(model, FrozenEstimator) else model
        name, kind, columns = type(model).__name__, type(error).__name__, _about_columns(model, X)
        raise ValueError(
            f"{name} raised {kind} on these rows: {error}\n"
            f"{columns or 'Change these rows until its own predict accepts them.'}"
        ) from error


def _may_be_about_rows(error: Exception) -> bool:
    """Whether an error may be about rows; LightGBM has an exception class of its own for it."""
    own = Exception in type(error).__bases__ and type(error).__module__ != "builtins"
    is_complaint = own or isinstance(error, ValueError | LookupError)
    return is_complaint and not isinstance(error, NotFittedError)


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


def check_pairs(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, allow_nan: bool
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Features, scores and weights of a calibration set, as one long as the other."""
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
    """Scores as a finite float vector, of numbers whose sums and differences are finite, too."""
    return _vector("scores", scores, "drop the row or fix the model's prediction")


def check_response(y: ArrayLike) -> FloatArray:
    """Numbers to be predicted, one per row: finite, as sums and differences of them are."""
    labels = f"use ConformalClassifier if these are labels, else {CONVERT}"
    return _vector("y", y, "drop the row", labels)


def _vector(name: str, values: ArrayLike, remedy: str, of_text: str = CONVERT) -> FloatArray:
    check_at_hand(y=values)
    if values is None:
        raise ValueError(f"requires y to be passed, but the target y is None: give {name}")
    array = column_or_1d(
        check_array(
            plain(values),
            ensure_2d=False,
            dtype=None,
            ensure_all_finite=False,
            input_name="y",
            ensure_min_samples=0,
        ),
        warn=True,
    )
    check_some(len(array))
    array = as_floats(name, array, of_text)
    fault = first_not_finite(array)
    if fault:
        raise ValueError(f"{name} must be finite, but y contains {fault}: {remedy}")
    check_sizes(name, array)
    return array


def check_some(n: int) -> None:
    """Refuse a calibration set without rows."""
    if n == 0:
        raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """Weights, not negative and with a sum that is positive and finite; one number is for all.

    Those that are one in every row say nothing, and are None.
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
    return _unless_ones(weights)


def check_lengths(X: Any, scores: Any) -> None:
    """Refuse features and scores of different lengths."""
    sizes = [count(X), count(scores)]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {sizes}; give one score for each row"
        )


def drop_weightless(
    X: Any, scores: FloatArray, weights: FloatArray | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Only the rows that count: a weight of zero means that the row is not there."""
    if weights is None or weights.all():
        return X, scores, weights
    rows = np.flatnonzero(weights)
    return take(X, rows), scores[rows], _unless_ones(weights[rows])


def relative_weights(weights: FloatArray | None) -> FloatArray | None:
    """Weights of which only shares count: one on average, and None where all are alike.

    Examples
    --------
    >>> relative_weights(np.array([2.0, 6.0])), relative_weights(np.array([3.0, 3.0]))
    (array([0.5, 1.5]), None)
    """
    if weights is None or (weights == weights[0]).all():
        return None
    return weights / weights.mean()


def _unless_ones(weights: FloatArray) -> FloatArray | None:
    """Weights, or None where each row counts once: as it does without any, to the last bit."""
    return None if (weights == 1).all() else weights
