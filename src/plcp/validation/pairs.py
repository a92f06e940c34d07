"""A calibration set as it must be: features, scores and weights of the same rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from plcp.quantiles import FloatArray
from plcp.rows import plain, take
from plcp.validation.digest import data_digest
from plcp.validation.effective import telling_rows
from plcp.validation.features import check_features
from plcp.validation.values import check_at_hand, first_not_finite


def check_pairs(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, allow_nan: bool
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Features, scores and weights of a calibration set, as one long as the other."""
    X = check_features(estimator, X, reset=True, allow_nan=allow_nan)
    scores = check_scores(y)
    check_lengths(X, scores)
    weights = check_weights(sample_weight, X)
    estimator._n_calibration, estimator._rows_a_weight = telling_rows(len(scores), weights)
    if getattr(estimator, "_digests_data", False):
        estimator.data_digest_ = data_digest(X, scores, weights)
    return X, scores, weights


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


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """Non-negative, finite weights with a positive sum, or None."""
    if sample_weight is None:
        return None
    check_at_hand(sample_weight=sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weights.sum() <= 0:
        raise ValueError("sample_weight sums to zero: no calibration point counts")
    return weights


def check_lengths(X: Any, scores: Any) -> None:
    """Refuse features and scores of different lengths."""
    check_consistent_length(X, scores)


def drop_weightless(
    X: Any, scores: FloatArray, weights: FloatArray | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Only the rows that count: a weight of zero means that the row is not there."""
    if weights is None or weights.all():
        return X, scores, weights
    rows = np.flatnonzero(weights)
    return take(X, rows), scores[rows], weights[rows]
