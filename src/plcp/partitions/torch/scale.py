"""Scores on a scale that networks learn well on: units of their own spread, or ranks."""

from dataclasses import dataclass

import numpy as np

from plcp.quantiles import FloatArray, weighted_quantiles


@dataclass(frozen=True)
class Scale:
    """A rising map of scores, linear between knots, and its inverse."""

    scores: FloatArray
    values: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return scores on the scale of learning."""
        return _interpolate(scores, self.scores, self.values)

    def invert(self, values: FloatArray) -> FloatArray:
        """Return values on the scale of the scores."""
        return _interpolate(values, self.values, self.scores)


def rank_scale(scores: FloatArray, weights: FloatArray) -> Scale:
    """Map to mid-ranks in (0, 1): equal scores share one, and no pile of scores is too narrow.

    Examples
    --------
    >>> rank_scale(np.array([1.0, 5.0, 5.0, 1000.0]), np.ones(4))(np.array([1.0, 5.0, 1000.0]))
    array([0.125, 0.5  , 0.875])
    """
    distinct, place = np.unique(scores, return_inverse=True)
    mass = np.bincount(place, weights)
    ranks = (np.cumsum(mass) - mass / 2) / mass.sum()
    if len(distinct) == 1:  # any slope will do
        step = np.maximum(1.0, abs(distinct))
        return Scale(np.append(distinct, distinct + step), np.append(ranks, ranks + 1.0))
    return Scale(distinct, ranks)


def unit_scale(scores: FloatArray, weights: FloatArray, level: float) -> Scale:
    """Map the quantile at ``level`` to zero, and the median distance from it to one.

    The median, for a single score may be a million times as large as all others.

    Examples
    --------
    >>> unit_scale(np.array([0.0, 1.0, 3.0]), np.ones(3), level=0.5)(np.array([1.0, 3.0]))
    array([0., 2.])
    """
    centre = weighted_quantiles(scores, weights[:, None], level)[0]
    distances = abs(scores - centre)
    spread = weighted_quantiles(distances, weights[:, None], 0.5)[0]
    if centre + spread == centre:  # most scores are one
        spread = np.average(distances, weights=weights)
    if centre + spread == centre:  # all are, up to rounding
        spread = 1e-9 * (abs(centre) or 1.0)
    return Scale(np.array([centre, centre + spread]), np.array([0.0, 1.0]))


def _interpolate(x: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Piecewise linear, and on beyond the ends with the slope between the outermost knots."""
    inside = np.interp(x, knots, values)
    slope = (values[-1] - values[0]) / (knots[-1] - knots[0])
    return inside + slope * (np.minimum(x - knots[0], 0.0) + np.maximum(x - knots[-1], 0.0))
