"""The bound of the MSCE by the excess pinball loss."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics.bins import quantile_bins
from plcp.metrics.mean import mean_measure
from plcp.metrics.measure import Measure
from plcp.metrics.outcomes import LARGEST, check_counts, check_numbers
from plcp.quantiles import pinball_loss
from plcp.validation import check_alpha, check_share

MEANING = (
    "The interval holds the bound; the estimate has no bias if best_thresholds are the true "
    "conditional quantiles, and is too low if they are estimates."
)


def pinball_excess_bound(
    scores: ArrayLike,
    thresholds: ArrayLike,
    best_thresholds: ArrayLike,
    alpha: float,
    lipschitz: float,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Upper bound 2 L E[ℓ(q(x), s) - ℓ(q*(x), s)] of the MSCE, by Proposition 3.5.

    ℓ is the pinball loss, q*(x) the true conditional quantile of level 1 - alpha, and L the
    largest density of the score given x. With an estimate in the place of q*, the excess is
    smaller, by the excess of the estimate, and the bound may fail.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of rows that the thresholds were not learned from.
    thresholds : array-like of shape (n,)
        The threshold q(x) of each row, finite: an infinite one has an infinite loss.
    best_thresholds : array-like of shape (n,)
        The true conditional quantile q*(x) of each row.
    alpha : float
        Miscoverage rate.
    lipschitz : float
        L, such that P(a < S ≤ b | x) ≤ L (b - a) for all a < b and x.
    confidence, sample_weight
        As in `msce`.

    Examples
    --------
    >>> from scipy.stats import expon
    >>> from plcp.metrics import msce_of_law
    >>> scores = expon.ppf(np.linspace(0.005, 0.995, 100))
    >>> bound = pinball_excess_bound(
    ...     scores, np.full(100, 3.0), np.full(100, expon.ppf(0.9)), alpha=0.1, lipschitz=1.0
    ... )
    >>> bool(bound.estimate > msce_of_law(np.full(100, 3.0), expon(), alpha=0.1).estimate)
    True
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    s = check_numbers("scores", scores)
    n = len(s)
    q = check_numbers("thresholds", thresholds, n, source="rule.predict(X)")
    best = check_numbers("best_thresholds", best_thresholds, n, source="the true quantiles")
    if not (isinstance(lipschitz, Real) and 0 < lipschitz <= LARGEST):
        raise ValueError(
            f"lipschitz must be positive and finite, got {lipschitz!r}: "
            "give the largest density of the score given x"
        )
    counts = check_counts(sample_weight, n)
    terms = 2 * lipschitz * (pinball_loss(q, s, alpha) - pinball_loss(best, s, alpha))
    bins = quantile_bins(q, sample_weight=counts)
    rows = bins.sums(np.ones(n), counts)
    return mean_measure(
        "pinball-excess bound of the MSCE",
        terms,
        counts,
        meaning=MEANING,
        confidence=confidence,
        table={"threshold": bins.names, "n": rows, "bound": bins.sums(terms, counts) / rows},
    )
