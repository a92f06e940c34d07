"""Pinball loss, conformal quantiles, and weighted quantiles of many groups from one sort."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    >>> pinball_loss(2.0, [1.0, 3.0], alpha=0.1)
    array([0.1, 0.9])
    """
    excess = np.asarray(threshold, dtype=float) - np.asarray(scores, dtype=float)
    return np.maximum(alpha * excess, (alpha - 1) * excess)


def conformal_rank(n: int, alpha: float) -> int:
    """Rank ⌈(1 - alpha)(n + 1)⌉ of the conformal quantile among n scores.

    Examples
    --------
    >>> conformal_rank(9, 0.1)
    9
    >>> conformal_rank(8, 0.1)  # beyond the largest of 8 scores: an infinite threshold
    9
    """
    product = (1 - alpha) * (n + 1)
    nearest = round(product)
    # (1 - 0.9) * 10 is 0.9999999999999998 in floating point, and must count as 1.
    if abs(product - nearest) <= 2 * np.finfo(float).eps * (n + 1):
        return max(1, nearest)
    return math.ceil(product)


def rank_reaching(n: int, level: float, extra: float = 0.0) -> int:
    """Place, from 0, of the first of n sorted values that has level · (n + extra) up to it.

    Examples
    --------
    >>> rank_reaching(10, 0.7), rank_reaching(10, 0.71)  # 10 · 0.7 is 7.000000000000001
    (6, 7)
    """
    product = level * (n + extra)
    nearest = round(product)
    # one rounding, not those of a running sum: 10 · 0.7 must count as 7
    met = abs(product - nearest) <= 2 * np.finfo(float).eps * (n + extra)
    return max((nearest if met else math.ceil(product)) - 1, 0)


def interpolated_place(n: int, level: float) -> tuple[int, int, float]:
    """Places, from 0, of the two sorted values around rank level · (n + 1), and the share between.

    Those of ``np.quantile(values, level, method="weibull")``, which ``interpolated`` then gives.

    Examples
    --------
    >>> interpolated_place(9, 0.75)
    (6, 7, 0.5)
    """
    place = n * level + level - 1
    if place >= n - 1:
        return n - 1, n - 1, 0.0
    if place < 0:
        return 0, 0, 0.0
    low = math.floor(place)
    return low, low + 1, place - low


def interpolated(low: ArrayLike, high: ArrayLike, share: ArrayLike) -> FloatArray:
    """Return the value at a share of the way from one number to the other, as numpy rounds it."""
    low, high, share = (np.asarray(part, dtype=float) for part in (low, high, share))
    way = high - low
    return np.where(share >= 0.5, high - way * (1 - share), low + way * share)


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


def conformal_quantile(
    scores: ArrayLike,
    alpha: float,
    sample_weight: ArrayLike | None = None,
    test_weight: float = 1.0,
) -> float:
    """Return the smallest score that is large enough to cover a new one with 1 - alpha.

    The smallest q with Σ_{s_i ≤ q} w_i ≥ (1 - alpha)(Σ w_i + test_weight): the score of rank
    ⌈(1 - alpha)(n + 1)⌉ when all weights are one, +inf where no score reaches so far.

    With weights proportional to the likelihood ratio dP_test/dP_cal, the test point's included,
    coverage holds under covariate shift (Tibshirani et al. 2019).

    Examples
    --------
    >>> conformal_quantile(range(1, 20), alpha=0.1)
    18.0
    >>> conformal_quantile([1.0, 2.0, 3.0], alpha=0.1)
    inf
    """
    scores = np.asarray(scores, dtype=float)
    groups = np.zeros(scores.shape[0], dtype=np.intp)
    return float(group_conformal_quantiles(scores, groups, 1, alpha, sample_weight, test_weight)[0])


def group_conformal_quantiles(
    scores: ArrayLike,
    groups: IntArray,
    n_groups: int,
    alpha: float,
    sample_weight: ArrayLike | None = None,
    test_weight: float = 1.0,
) -> FloatArray:
    """Conformal quantile of each group 0 … n_groups - 1, from one sort of all scores.

    An empty group has the threshold +inf: nothing is known about it.

    Examples
    --------
    >>> group_conformal_quantiles([3.0, 1.0, 2.0, 9.0], np.array([0, 0, 0, 1]), 2, alpha=0.5)
    array([2., 9.])
    """
    scores = np.asarray(scores, dtype=float)
    order = np.lexsort((scores, groups))
    ends = np.searchsorted(groups[order], np.arange(n_groups), side="right")
    starts = np.concatenate([[0], ends[:-1]])
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[order]
    quantiles = np.full(n_groups, np.inf)
    for group, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if weights is not None:
            rank = _first_reaching(np.cumsum(weights[start:end]), 1 - alpha, test_weight)
        elif test_weight == 1.0:
            rank = conformal_rank(end - start, alpha) - 1
        else:
            rank = rank_reaching(end - start, 1 - alpha, test_weight)
        if start + rank < end:
            quantiles[group] = scores[order[start + rank]]
    return quantiles


def weighted_quantiles(scores: ArrayLike, weights: ArrayLike, level: float) -> FloatArray:
    """Quantile of ``scores`` under each column of ``weights`` (n, m), from one sort.

    Column i gives the smallest q with Σ_{s_j ≤ q} w_ji ≥ level · Σ_j w_ji: a minimiser of the
    weighted pinball loss at alpha = 1 - level, and so the exact q-step of Algorithm 1 with the
    memberships as weights. A column without weight gives nan.

    Examples
    --------
    >>> weighted_quantiles([1.0, 2.0, 3.0], [[1, 0], [1, 0.5], [1, 0.5]], level=0.5)
    array([2., 2.])
    """
    scores, weights = np.asarray(scores, dtype=float), np.asarray(weights, dtype=float)
    order = np.argsort(scores)
    ordered = scores[order]
    quantiles = np.full(weights.shape[1], np.nan)
    for i in range(weights.shape[1]):  # one column at a time: no second (n, m) array
        cumulative = np.cumsum(weights[order, i])
        if cumulative[-1] > 0:
            quantiles[i] = ordered[_first_reaching(cumulative, level, 0.0)]
    return quantiles


def _first_reaching(cumulative: FloatArray, level: float, extra: float) -> int:
    """First position whose cumulative weight is level · (total + extra); the length if none."""
    if len(cumulative) == 0:
        return 0
    target = _target(len(cumulative), cumulative[-1], level, extra)
    return int(np.searchsorted(cumulative, target, side="left"))


def _target(n: int, weight: float, level: float, extra: float) -> float:
    """Cumulative weight to be reached among n values."""
    total = weight + extra
    # Rounding in the running sum must not push a target that is met exactly to the next score.
    return level * total - 4 * float(np.finfo(float).eps) * n * total
