"""A calibration set as it must be: features, scores and weights of the same rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from plcp.floats import LARGEST, as_floats, check_sizes
from plcp.quantiles import FloatArray
from plcp.rows import count, plain, take
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
    estimator._n_calibration = telling_rows(len(scores), weights)
    # rows that weigh one or nothing are rows, and have ranks
    estimator._weighted = weights is not None and not np.isin(weights, (0.0, 1.0)).all()
    if getattr(estimator, "_digests_data", False):
        estimator.data_digest_ = data_digest(X, scores, weights)
    return X, scores, weights


def check_scores(scores: ArrayLike) -> FloatArray:
    """Scores as a finite float vector, of numbers whose sums and differences are finite, too."""
    return _vector("scores", scores, "drop the row or mend the model's prediction")


def check_response(y: ArrayLike) -> FloatArray:
    """Numbers to be predicted, one a row: finite, as sums and differences of them are."""
    return _vector("y", y, "drop the row")


def _vector(name: str, values: ArrayLike, remedy: str) -> FloatArray:
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
    array = as_floats(name, array)
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
        raise ValueError(f"sample_weight must have shape ({n},), one a row, got {weights.shape}")
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
