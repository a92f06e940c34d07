"""Pinball loss, conformal quantiles, and weighted quantiles of many groups from one sort."""

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "conformal_quantile",
    "conformal_rank",
    "group_conformal_quantiles",
    "least_points",
    "pac_rank",
    "pinball_loss",
    "smoothed_quantiles",
    "weighted_quantiles",
]

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def pinball_loss(threshold: ArrayLike, scores: ArrayLike, alpha: float) -> FloatArray:
    """Pinball loss ℓ_α(q, s), elementwise (equation 4 of the paper).

    ``alpha * (q - s)`` where ``q >= s``, ``(1 - alpha) * (s - q)`` otherwise. Its expectation is
    smallest where q is the (1 - alpha)-quantile of s, and its excess bounds the mean squared
    conditional coverage error (Proposition 3.5). scikit-learn's ``mean_pinball_loss`` calls
    ``1 - alpha`` alpha.

    Examples
    --------
    >>> from plcp.quantiles import pinball_loss
    >>> pinball_loss(2.0, [1.0, 3.0], alpha=0.1)
    array([0.1, 0.9])
    """
    excess = np.asarray(threshold, dtype=float) - np.asarray(scores, dtype=float)
    return np.maximum(alpha * excess, (alpha - 1) * excess)


def conformal_rank(n: int, alpha: float, confidence: float | None = None) -> int:
    """Rank of the conformal quantile among n scores, from the smallest; n + 1 is infinity.

    ⌈(1 - alpha)(n + 1)⌉, which covers 1 - alpha on average over calibration sets; with a confidence
    the rank of `pac_rank`. Section 2 of the paper prints the ⌈(1 - alpha) n⌉-th largest score,
    which covers about alpha.

    Examples
    --------
    >>> from plcp.quantiles import conformal_rank
    >>> conformal_rank(9, 0.1), conformal_rank(99, 0.1), conformal_rank(99, 0.1, confidence=0.95)
    (9, 90, 95)
    >>> conformal_rank(8, 0.1)  # beyond the largest of 8 scores: an infinite threshold
    9
    """
    if confidence is not None:
        return pac_rank(n, alpha, confidence)
    return rank_reaching(n, 1 - alpha, 1.0) + 1


def pac_rank(n: int, alpha: float, confidence: float) -> int:
    """Smallest rank k whose score covers 1 - alpha for a share ``confidence`` of calibration sets.

    Given n independent scores of one law, the k-th smallest covers a share Beta(k, n + 1 - k) of
    new ones, or more if scores tie. So P(Beta(k, n + 1 - k) ≥ 1 - alpha) ≥ confidence is required,
    which is P(Bin(n, 1 - alpha) ≤ k - 1) ≥ confidence; n + 1 where no rank has it.

    References
    ----------
    Vovk (2012). Conditional validity of inductive conformal predictors. ACML, proposition 2a.

    Examples
    --------
    >>> from plcp.quantiles import pac_rank
    >>> pac_rank(29, 0.1, 0.95), pac_rank(28, 0.1, 0.95)  # of 28 scores none is large enough
    (29, 29)
    """
    from scipy.special import betainc  # a command that meets a mistake does not wait for scipy

    # a probability that is met exactly must not be missed by the rounding errors of its series
    target = confidence - 32 * float(np.finfo(float).eps)
    return 1 + bisect_left(range(n), target, key=lambda j: betainc(n - j, j + 1, alpha))


def group_ranks(sizes: IntArray, alpha: float, confidence: float | None = None) -> IntArray:
    """Conformal rank in each of some groups; all of them at once keep a ``confidence``.

    Examples
    --------
    >>> group_ranks(np.array([99, 99]), 0.1), group_ranks(np.array([99, 99]), 0.1, confidence=0.95)
    (array([90, 90]), array([96, 96]))
    """
    share = shared_confidence(confidence, len(sizes))
    return np.array([conformal_rank(int(n), alpha, share) for n in sizes], dtype=np.int64)


def least_points(alpha: float, confidence: float | None = None) -> int:
    """Return the number of points from which a conformal threshold is finite.

    Examples
    --------
    >>> from plcp.quantiles import least_points
    >>> least_points(0.1), least_points(0.1, confidence=0.95)
    (9, 29)
    """
    if confidence is None:
        return math.ceil(round((1 - alpha) / alpha, 9))
    return math.ceil(round(math.log1p(-confidence) / math.log1p(-alpha), 9))


def shared_confidence(confidence: float | None, n: int) -> float | None:
    """Confidence of each of n promises that hold at once with ``confidence``.

    Each may fail with an equal share of the probability that is missing (Bonferroni).

    Examples
    --------
    >>> shared_confidence(0.9, 4), shared_confidence(None, 4)
    (0.975, None)
    """
    return None if confidence is None else 1 - (1 - confidence) / n


def rank_reaching(n: int, quantile: float, extra: float = 0.0) -> int:
    """Position, from 0, of the first of n sorted values with ⌈quantile · (n + extra)⌉ up to it.

    Examples
    --------
    >>> rank_reaching(10, 0.7), rank_reaching(10, 0.71)  # 10 · 0.7 is 7.000000000000001
    (6, 7)
    """
    product = quantile * (n + extra)
    nearest = round(product)
    # the product has one rounding error: 10 · 0.7 counts as 7, and (1 - 0.9) · 10 as 1
    is_whole = abs(product - nearest) <= 2 * np.finfo(float).eps * (n + extra)
    return max((nearest if is_whole else math.ceil(product)) - 1, 0)


def interpolated_place(n: int, quantile: float) -> tuple[int, int, float]:
    """Positions of the two sorted values around rank quantile · (n + 1), and the share between.

    Those of ``np.quantile(values, quantile, method="weibull")``; ``interpolated`` gives its value.

    Examples
    --------
    >>> interpolated_place(9, 0.75)
    (6, 7, 0.5)
    """
    place = n * quantile + quantile - 1
    if place >= n - 1:
        return n - 1, n - 1, 0.0
    if place < 0:
        return 0, 0, 0.0
    low = math.floor(place)
    return low, low + 1, place - low


def interpolated(low: ArrayLike, high: ArrayLike, share: ArrayLike) -> FloatArray:
    """Return the value at a share of the distance from ``low`` to ``high``, rounded as by numpy."""
    low, high, share = (np.asarray(part, dtype=float) for part in (low, high, share))
    distance = high - low
    return np.where(share >= 0.5, high - distance * (1 - share), low + distance * share)


def excess_over(base: ArrayLike, scores: ArrayLike) -> FloatArray:
    """Excess v = s - b, rounded such that b + v ≥ s.

    A threshold b + q is at or above every score whose excess is at most q: in floating point too,
    where 0.2 + (0.9 - 0.2) is below 0.9.

    Examples
    --------
    >>> 0.2 + (0.9 - 0.2) >= 0.9, bool(0.2 + excess_over(0.2, 0.9) >= 0.9)
    (False, True)
    """
    base, scores = np.asarray(base, dtype=float), np.asarray(scores, dtype=float)
    excess = scores - base
    return np.where(base + excess < scores, np.nextafter(excess, np.inf), excess)


def smoothed_quantiles(scores: ArrayLike, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Thresholds that cover with probability 1 - alpha exactly, as steps of a uniform draw U.

    A score s is covered if its smoothed p-value (#{s_i > s} + U (#{s_i = s} + 1)) / (n + 1) exceeds
    alpha. For a given U these are all s up to one of the scores, with or without that score; or
    all s, or none. Returned are the ends of steps within (0, 1), at most three, and the threshold
    of U up to the first end, up to the next, and beyond the last. Without a score the threshold is
    the floating-point number below it. The conformal quantile is the largest threshold.

    References
    ----------
    Vovk, Gammerman, Shafer (2005). Algorithmic Learning in a Random World, section 2.2.

    Examples
    --------
    >>> from plcp.quantiles import smoothed_quantiles
    >>> ends, thresholds = smoothed_quantiles([1.0] * 9, alpha=0.1)  # where all scores tie
    >>> ends, thresholds < 1.0  # they are covered nine times in ten
    (array([0.1]), array([ True, False]))
    """
    values, counts = np.unique(np.asarray(scores, dtype=float), return_counts=True)
    n = counts.sum()
    # a value is covered if U > at, a score between it and the next if U > beyond, whose first is
    # that of scores below all: in this order they rise wherever they lie within (0, 1)
    beyond = alpha * (n + 1) - np.append(n, n - counts.cumsum())
    at = beyond[1:] / (counts + 1)
    ends = np.append(beyond[0], np.column_stack([at, beyond[1:]]))
    steps = np.column_stack([np.nextafter(values, -np.inf), values])
    thresholds = np.concatenate([[-np.inf], steps.ravel(), [np.inf]])
    first, last = np.sum(ends <= 0), np.sum(ends < 1)
    return ends[first:last], thresholds[first : last + 1]


def conformal_quantile(
    scores: ArrayLike,
    alpha: float,
    sample_weight: ArrayLike | None = None,
    test_weight: float = 1.0,
    confidence: float | None = None,
) -> float:
    """Return the threshold that covers a new score with probability at least 1 - alpha.

    The smallest q with Σ_{s_i ≤ q} w_i ≥ (1 - alpha)(Σ w_i + test_weight): the score of rank
    ⌈(1 - alpha)(n + 1)⌉ when all weights are one, +inf where no score is large enough. With a
    confidence, which no weights may have, the score of `pac_rank`. Where each score stands there
    ``test_weight`` times, thresholds are those of the distinct ones.

    With weights proportional to the likelihood ratio dP_test/dP_cal, the test point's included,
    coverage holds under covariate shift (Tibshirani et al. 2019).

    Examples
    --------
    >>> from plcp.quantiles import conformal_quantile
    >>> conformal_quantile(range(1, 20), alpha=0.1)
    18.0
    >>> conformal_quantile([1.0, 2.0, 3.0], alpha=0.1)
    inf
    """
    scores = np.asarray(scores, dtype=float)
    groups = np.zeros(scores.shape[0], dtype=np.intp)
    found = group_conformal_quantiles(
        scores, groups, 1, alpha, sample_weight, test_weight, confidence
    )
    return float(found[0])


def group_conformal_quantiles(
    scores: ArrayLike,
    groups: IntArray,
    n_groups: int,
    alpha: float,
    sample_weight: ArrayLike | None = None,
    test_weight: float = 1.0,
    confidence: float | None = None,
) -> FloatArray:
    """Conformal quantile of each group 0 … n_groups - 1, from one sort of all scores.

    An empty group has the threshold +inf. All groups at once keep a ``confidence``.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.quantiles import group_conformal_quantiles
    >>> group_conformal_quantiles([3.0, 1.0, 2.0, 9.0], np.array([0, 0, 0, 1]), 2, alpha=0.5)
    array([2., 9.])
    """
    scores = np.asarray(scores, dtype=float)
    order = np.lexsort((scores, groups))
    ends = np.searchsorted(groups[order], np.arange(n_groups), side="right")
    starts = np.concatenate([[0], ends[:-1]])
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[order]
    quantiles = np.full(n_groups, np.inf)
    share = shared_confidence(confidence, n_groups)
    for group, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if weights is not None:
            rank = _first_reaching(np.cumsum(weights[start:end]), 1 - alpha, test_weight)
        elif share is not None:
            distinct = int((end - start) / test_weight)
            rank = math.ceil(test_weight * pac_rank(distinct, alpha, share)) - 1
        else:
            rank = rank_reaching(end - start, 1 - alpha, test_weight)
        if start + rank < end:
            quantiles[group] = scores[order[start + rank]]
    return quantiles


def weighted_quantiles(scores: ArrayLike, weights: ArrayLike, quantile: float) -> FloatArray:
    """Quantile of ``scores`` under each column of ``weights`` (n, m), from one sort.

    Column i gives the smallest q with Σ_{s_j ≤ q} w_ji ≥ quantile · Σ_j w_ji: a minimiser of the
    weighted pinball loss at alpha = 1 - quantile, and so the exact q-step of Algorithm 1 with the
    memberships as weights. A column without weight gives nan.

    Examples
    --------
    >>> from plcp.quantiles import weighted_quantiles
    >>> weighted_quantiles([1.0, 2.0, 3.0], [[1, 0], [1, 0.5], [1, 0.5]], quantile=0.5)
    array([2., 2.])
    """
    scores, weights = np.asarray(scores, dtype=float), np.asarray(weights, dtype=float)
    order = np.argsort(scores)
    ordered = scores[order]
    quantiles = np.full(weights.shape[1], np.nan)
    for i in range(weights.shape[1]):  # one column at a time: no second (n, m) array
        cumulative = np.cumsum(weights[order, i])
        if cumulative[-1] > 0:
            quantiles[i] = ordered[_first_reaching(cumulative, quantile, 0.0)]
    return quantiles


def _first_reaching(cumulative: FloatArray, quantile: float, extra: float) -> int:
    """First position whose cumulative weight is quantile · (total + extra); the length if none."""
    n = len(cumulative)
    total = (cumulative[-1] if n else 0.0) + extra
    # rounding in the running sum must not push a target that is met exactly to the next score
    target = quantile * total - 4 * float(np.finfo(float).eps) * n * total
    return int(np.searchsorted(cumulative, target, side="left"))
