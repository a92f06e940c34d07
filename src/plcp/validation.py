"""Checks every estimator makes: one sentence that names the value and the remedy."""

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from plcp.quantiles import FloatArray
from plcp.rows import count, is_dataset, is_frame, is_on_dask, is_stream, plain, take

NAN_REMEDY = (
    "This index cannot take missing values (NaN). Use the boosted index, which can: "
    'OrderedPartition(index=HistGradientBoostingRegressor(loss="quantile")), '
    "or put an imputer before it in a pipeline."
)


class InfiniteThresholdWarning(UserWarning):
    """Too few calibration points for a finite threshold at this alpha."""


class SmallGroupWarning(UserWarning):
    """A given group holds too few calibration points to say anything about it."""


def check_at_hand(**given: Any) -> None:
    """Refuse collections of Dask, which would be computed whole without a word."""
    for name, value in given.items():
        if is_on_dask(value):
            raise TypeError(
                f"{name} is a Dask {type(value).__name__}, whose rows lie elsewhere: use the "
                f"estimators of plcp.dask, or give {name}.compute() if all of it fits into memory"
            )


def check_alpha(alpha: Any) -> float:
    """Miscoverage rate as a float in (0, 1)."""
    if isinstance(alpha, list | tuple | np.ndarray):
        raise ValueError(f"alpha must be one level here, got {alpha!r}: fit one rule a level")
    return check_share("alpha", alpha, ": 0.1 asks for sets that cover 90 %")


def check_count(name: str, value: Any, least: int) -> int:
    """``value`` if it is a whole number and not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return int(value)


def check_share(name: str, value: Any, remedy: str = "") -> float:
    """``value`` if it lies strictly between zero and one."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value!r}{remedy}")
    return number


def check_option(name: str, value: Any, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def check_scores(scores: ArrayLike) -> FloatArray:
    """Scores as a finite float vector."""
    check_at_hand(y=scores)
    array = column_or_1d(
        check_array(
            plain(scores),
            ensure_2d=False,
            dtype="numeric",
            ensure_all_finite=False,
            input_name="y",
            ensure_min_samples=0,
        ),
        warn=True,
    )
    check_some(len(array))
    array = array.astype(float, copy=False)
    fault = first_not_finite(array)
    if fault:
        raise ValueError(
            f"scores must be finite, but y contains {fault}: "
            "drop the row or mend the model's prediction"
        )
    return array


def check_some(n: int) -> None:
    """Refuse a calibration set without rows."""
    if n == 0:
        raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")


def first_not_finite(values: FloatArray) -> str | None:
    """Kind and row of the first value that is no finite number, if there is one."""
    if np.isfinite(values).all():
        return None
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    kind = "NaN" if np.isnan(values[row]) else "inf (infinity)"
    return f"{kind} at row {row}"


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """Non-negative, finite weights with a positive sum, or None."""
    if sample_weight is None:
        return None
    check_at_hand(sample_weight=sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weights.sum() <= 0:
        raise ValueError("sample_weight sums to zero: no calibration point counts")
    return weights


def check_pairs(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, allow_nan: bool
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Features, scores and weights of a calibration set, as one long as the other."""
    X = check_features(estimator, X, reset=True, allow_nan=allow_nan)
    scores = check_scores(y)
    check_lengths(X, scores)
    return X, scores, check_weights(sample_weight, X)


def drop_weightless(
    X: Any, scores: FloatArray, weights: FloatArray | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Only the rows that count: a weight of zero means that the row is not there."""
    if weights is None or weights.all():
        return X, scores, weights
    rows = np.flatnonzero(weights)
    return take(X, rows), scores[rows], weights[rows]


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the index untouched, so that a pipeline can select columns by name. Images
    and data sets go to those who can take them.
    """
    check_at_hand(X=X)
    if is_frame(X):
        check_names(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): X is empty")
        return X
    images = takes_images(estimator)
    if is_dataset(X):
        if reset and hasattr(estimator, "n_features_in_"):
            del estimator.n_features_in_  # of an array fitted before
        return check_dataset(X, images)
    is_image = len(getattr(X, "shape", ())) > 2
    with nullcontext() if is_image else naming_the_boosted_index():
        return validate_data(
            estimator,
            plain(X),
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
            allow_nd=images,
        )


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


def check_names(X: Any) -> None:
    """Refuse a frame with two columns of one name."""
    counts = Counter(str(name) for name in X.columns)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")


@contextmanager
def naming_the_boosted_index() -> Iterator[None]:
    """Add the remedy to an index's complaint about missing values."""
    try:
        yield
    except ValueError as error:
        told = str(error)
        missing = "contains NaN" in told or "got NaN" in told
        if missing and "y contains NaN" not in told and NAN_REMEDY not in told:
            raise ValueError(f"{error}\n{NAN_REMEDY}") from error
        raise


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


def check_lengths(X: Any, scores: Any) -> None:
    """Refuse features and scores of different lengths."""
    check_consistent_length(X, scores)


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


def warn_infinite(what: str, stacklevel: int = 3) -> None:
    """Say who has too few points for a finite threshold."""
    warnings.warn(
        f"{what}: the only honest threshold is infinite, and the set holds every label",
        InfiniteThresholdWarning,
        stacklevel=stacklevel,
    )


def warn_if_small(names: list[str], sizes: FloatArray, alpha: float) -> None:
    """Name the given groups that hold fewer points than a finite conformal threshold needs."""
    needed = least_points(alpha)
    small = [name for name, size in zip(names, sizes, strict=True) if size < needed]
    if small:
        warnings.warn(
            f"groups {shortened(small)} hold fewer than {needed} calibration points: their "
            "coverage of new rows is not to be relied on; join or drop them, or use "
            "ConditionalCalibration, which gives them infinite thresholds",
            SmallGroupWarning,
            stacklevel=3,
        )


def shortened(names: list[Any]) -> str:
    """Some names, and how many more there are.

    Examples
    --------
    >>> shortened(["a", "b"]), shortened(list(range(13)))
    ("['a', 'b']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] and 3 more')
    """
    return f"{names[:10]}" + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def least_points(alpha: float) -> int:
    """Return the number of points from which a conformal threshold is finite."""
    return int(np.ceil(round((1 - alpha) / alpha, 9)))


def too_few(weights: FloatArray | None, n: int, alpha: float) -> str:
    """Complaint that n points, or what they weigh, are too few for this alpha."""
    points = n if weights is None else weights.sum()
    needed = least_points(alpha)
    return f"{points:g} calibration points are fewer than the {needed} that alpha = {alpha:g} needs"
