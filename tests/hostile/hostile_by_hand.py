"""Metrics counted by hand from their definitions: laws, as in ``hostile_laws``, of a function.

A function's own estimate is what is counted; its bounds must enclose it.
"""

import hostile_data as data
import numpy as np
from hostile_essence import difference
from hostile_laws import SILENT, labels_of
from scipy.stats import expon


def counted(count):
    """A law of a Measure: the estimate is the count, and lies between its bounds."""

    def law(entry, name, bad, given, answer):
        plain = {key: np.asarray(value) for key, value in given.items()}
        right = count(**plain)
        if right is SILENT:
            return SILENT
        if not answer.low <= answer.estimate <= answer.high:
            return "an estimate beyond its bounds"
        return difference([np.array(answer.estimate)], [np.array(float(right))], float)

    law.__qualname__ = count.__name__
    return law


def shares(covered, groups):
    return np.array([np.mean(covered[groups == group] * 1.0) for group in np.unique(groups)])


@counted
def coverage(covered, sample_weight):
    return (covered * sample_weight).sum() / sample_weight.sum()


@counted
def mean_size(size, sample_weight):
    return (size * sample_weight).sum() / sample_weight.sum()


@counted
def coverage_gap(covered, groups, alpha):
    return np.abs(shares(covered, groups) - (1 - alpha)).mean()


@counted
def feature_stratified_coverage(covered, groups):
    return shares(covered, groups).min()


@counted
def size_order(covered, size):
    """Only the order of sizes matters: an infinite one is as the largest of all."""
    ranks = np.unique(size, return_inverse=True)[1]
    edges = np.unique([np.sort(ranks)[-(-len(ranks) * k // 5) - 1] for k in range(1, 5)])
    return shares(covered, np.searchsorted(edges, ranks)).min()


@counted
def hsic(covered, size):
    return 0.0 if len(np.unique(covered)) == 1 else SILENT


@counted
def interval_score(intervals, y, alpha):
    low, high = intervals.T
    misses = np.maximum(0, low - y) + np.maximum(0, y - high)
    return np.mean(high - low + 2 / alpha * misses)


@counted
def msce(conditional_coverage, alpha):
    return np.mean((conditional_coverage - (1 - alpha)) ** 2)


@counted
def msce_of_law(thresholds, alpha):
    return np.mean((expon.cdf(thresholds) - (1 - alpha)) ** 2)


@counted
def no_excess(scores, thresholds, best_thresholds, alpha):
    """Twice the mean excess of the pinball loss, at a density of one at most."""

    def loss(q):
        return np.where(scores > q, (1 - alpha) * (scores - q), alpha * (q - scores))

    return 2 * np.mean(loss(thresholds) - loss(best_thresholds))


def coverage_by_group(entry, name, bad, given, answer):
    covered, groups = np.asarray(given["covered"]), np.asarray(given["groups"])
    masks = [groups == group for group in np.unique(groups)]
    rows = [mask.sum() for mask in masks]
    hits = [covered[mask].sum() for mask in masks]
    if (
        not (answer.low * answer.n <= answer.hits).all()
        or not (answer.hits <= answer.high * answer.n).all()
    ):
        return "bounds that do not hold the share seen"
    return difference([answer.n, answer.hits], [np.array(rows), np.array(hits)], None)


def column_groups(entry, name, bad, given, answer):
    """Rows share a code where they share a label."""
    labels = labels_of(given["X"])
    if (
        isinstance(given["X"], np.ndarray) and given["X"].dtype.kind == "b"
    ):  # a mask: its rows are the group
        return None if len(answer.codes) == (labels == "True").sum() else "not the rows of the mask"
    pairs = set(zip(answer.codes.tolist(), labels.tolist(), strict=True))
    sound = len(pairs) == len(set(labels.tolist())) == len(set(answer.codes.tolist()))
    return None if sound else "codes that are not those of the labels"


def certify(entry, name, bad, given, answer):
    """Rows and hits of each group, by the rule's own thresholds."""
    from hostile_entries import fitted

    groups, thresholds = fitted("PLCP, line", data.as_array).assign(given["X"])
    hits = np.asarray(given["y"], dtype=float) <= thresholds
    masks = [groups >= 0, *(groups == group for group in np.unique(groups))]
    expected = [(mask.sum(), hits[mask].sum()) for mask in masks]
    found = [(group.n, group.hits) for group in answer.groups if group.n]
    return difference([np.array(found)], [np.array(expected)], None)


def explained(entry, name, bad, given, answer):
    """Rows of each group, by the rule itself."""
    from hostile_entries import fitted

    groups = fitted("PLCP, line", data.as_array).groups(given["X"])
    found = np.array([group.n for group in answer.groups])
    return difference([found], [np.bincount(groups, minlength=len(found))], None)


def failures(entry, name, bad, given, answer):
    """Where all rows fare alike none stand out: one group, of the half that is measured."""
    if len(np.unique(given["covered"])) > 1:
        return SILENT
    return None if set(answer.tolist()) <= {-1, 0} else "kinds of rows where none stand out"


def no_spread(entry, name, bad, given, answer):
    """Quantiles of scores that are all alike do not vary."""
    if len(np.unique(given["scores"])) > 1:
        return SILENT
    return None if float(answer) == 0 else "a variance where nothing varies"


def no_slope(entry, name, bad, given, answer):
    """Where all scores tie no L exists."""
    if len(np.unique(given["scores"])) > 1:
        return SILENT
    return None if np.isposinf(float(answer)) else "a slope where all scores tie"
