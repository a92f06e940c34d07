"""Features as they must be: tables, images, data sets, and what an index made of them."""

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from plcp.quantiles import FloatArray
from plcp.rows import count, is_dataset, is_frame, is_stream, plain
from plcp.validation.saying import ColumnOrderWarning, shortened
from plcp.validation.values import check_at_hand, first_not_finite

NAN_REMEDY = (
    "This index cannot take missing values (NaN). Use the boosted index, which can: "
    'OrderedPartition(index=HistGradientBoostingRegressor(loss="quantile")), '
    "or put an imputer before it in a pipeline."
)

TEXT_REMEDY = (
    "X holds text where numbers are read. Encode it (OneHotEncoder in a pipeline), or give a "
    "DataFrame to the default index, which reads text and categories."
)
FLOATS = [np.float64, np.float32]
FEW = 10_000  # values: to look through more takes longer than all else
LARGEST_FEATURE = 1e150  # sums of a hundred million squares must not overflow
REMEDIES = {
    "could not convert string": TEXT_REMEDY,
    "compatible with arrays of bytes/strings": TEXT_REMEDY,
    "inhomogeneous": "X must be a table, with rows of one length.",
    "X contains infinity": "Drop or mend those rows.",
    "can't multiply sequence": TEXT_REMEDY,
    "float() argument must be": "X must be a table of numbers.",
    "categorical_feature do not match": (  # of LightGBM
        'Columns that were categories in fit must be so again: X[column].astype("category").'
    ),
}


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool | None = None) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the index untouched, so that a pipeline can select columns by name. Images
    and data sets go to those who can take them. ``allow_nan``: None for what the estimator says.
    """
    if not reset and is_sound(estimator, X):
        return X
    allow_nan = takes_nan(estimator) if allow_nan is None else allow_nan
    check_at_hand(X=X)
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
    X = plain(X)
    check_rows(X)
    is_image = len(getattr(X, "shape", ())) > 2
    with naming_the_boosted_index(not is_image):
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
            allow_nd=images,
        )
    # neither half nor extended precision is for everybody
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
        and not hasattr(estimator, "feature_names_in_")  # whose absence is to be told
        and bool(np.isfinite(X).all())
    )


def check_table(estimator: Any, X: Any, *, reset: bool, allow_nan: bool = False) -> FloatArray:
    """Features as an array of numbers, single or double, whose squares and their sums are finite.

    For those who do sums with them: a frame becomes an array, of numbers alone.
    """
    table: FloatArray = check_features(estimator, X, reset=reset, allow_nan=allow_nan)
    if not (type(table) is np.ndarray and table.dtype in FLOATS):  # else it has been looked through
        finite = "allow-nan" if allow_nan else True
        with naming_the_boosted_index():
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
    """X if its rows can be counted and asked for one by one, by somebody who knows how."""
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
            "the default index, which reads dates"
        )


def check_names(X: Any) -> None:
    """Refuse a frame with two columns of one name."""
    counts = Counter(str(name) for name in X.columns)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")


def in_order(estimator: Any, X: Any) -> Any:
    """Rows of a frame with the columns in the order that ``estimator`` was fitted to, and say so.

    Columns that are missing, or too many, are for others to refuse.
    """
    names = [*getattr(estimator, "feature_names_in_", ())]
    given = [*X.columns] if names and is_frame(X) else names
    if given == names or len(given) != len(names) or {*given} != {*names}:
        return X
    warnings.warn(
        f"the columns of X come in another order than in fit, {shortened(given)}, and are put "
        f"back into that of fit by their names: {shortened(names)}",
        ColumnOrderWarning,
        stacklevel=4,
    )
    return X[names]


@contextmanager
def naming_the_boosted_index(is_table: bool = True) -> Iterator[None]:
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


def _remedy(told: str) -> str | None:
    """What to do about a complaint, unless it says so itself."""
    missing = "contains NaN" in told or "got NaN" in told
    if missing and "y contains NaN" not in told:
        return None if NAN_REMEDY in told else NAN_REMEDY
    for complaint, remedy in REMEDIES.items():
        if complaint in told:
            return None if remedy in told else remedy
    return None


def check_index(values: Any, n: int) -> FloatArray:
    """One finite number a row, whatever regressor gave it."""
    index = np.asarray(values, dtype=float)
    if index.shape != (n,):
        raise ValueError(
            f"the index must predict one number a row, shape ({n},), got {index.shape}: "
            "use a regressor with one output"
        )
    fault = first_not_finite(index)
    if fault:
        raise ValueError(
            f"the index must predict finite numbers, got {fault}: "
            "mend the regressor, or what it is given there"
        )
    return index


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
