"""Checks every estimator makes: one sentence that names the value and the remedy."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from plcp.quantiles import FloatArray, conformal_rank


class InfiniteThresholdWarning(UserWarning):
    """Too few calibration points for a finite threshold at this alpha."""


def check_alpha(alpha: Any) -> float:
    """Miscoverage rate as a float in (0, 1)."""
    if isinstance(alpha, (bool, str)) or not np.isscalar(alpha) or not 0 < float(alpha) < 1:  # type: ignore[arg-type]
        raise ValueError(f"alpha must lie in (0, 1), got {alpha!r}")
    return float(alpha)  # type: ignore[arg-type]


def check_option(name: str, value: Any, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return str(value)


def check_scores(scores: ArrayLike) -> FloatArray:
    """Scores as a finite float vector."""
    array = column_or_1d(
        check_array(
            scores,
            ensure_2d=False,
            dtype="numeric",
            ensure_all_finite=False,
            input_name="y",
            ensure_min_samples=0,
        ),
        warn=True,
    )
    if len(array) == 0:
        raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")
    array = array.astype(float, copy=False)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        kind = "NaN" if np.isnan(array[row]) else "inf (infinity)"
        raise ValueError(
            f"scores must be finite, but y contains {kind} at row {row}: "
            "drop the row or mend the model's prediction"
        )
    return array


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """Non-negative, finite weights with a positive sum, or None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weights.sum() <= 0:
        raise ValueError("sample_weight sums to zero: no calibration point counts")
    return weights


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame whose columns keep their own types."""
    return hasattr(X, "columns") and hasattr(X, "__dataframe__") | hasattr(X, "iloc")


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the index untouched, so that a pipeline can select columns by name.
    """
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): X is empty")
        return X
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
        )
    except ValueError as error:
        if not allow_nan and "NaN" in str(error):
            raise ValueError(f"{error}\n{NAN_REMEDY}") from None
        raise


NAN_REMEDY = (
    "This index cannot take missing values (NaN). Use the boosted index, which can: "
    'OrderedPartition(index=HistGradientBoostingRegressor(loss="quantile")), '
    "or put an imputer before it in a pipeline."
)


def takes_nan(estimator: Any) -> bool:
    """Whether an estimator says that it accepts missing values."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def check_lengths(X: Any, scores: Any) -> None:
    """Refuse features and scores of different lengths."""
    check_consistent_length(X, scores)


def warn_if_infinite(n: int, alpha: float) -> None:
    """Say it when n points cannot give a finite threshold."""
    if conformal_rank(n, alpha) > n:
        needed = int(np.ceil(1 / alpha)) - 1
        warnings.warn(
            f"{n} calibration points are fewer than the {needed} that alpha = {alpha} needs: "
            "the only honest threshold is infinite, and every set holds all labels",
            InfiniteThresholdWarning,
            stacklevel=3,
        )
