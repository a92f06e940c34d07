"""Mean squared conditional coverage error, known or estimated."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from plcp._options import check_alpha, check_share, is_real
from plcp._rows import to_plain_array
from plcp.metrics.ert import ert
from plcp.metrics.groups import count_quantiles, quantile_bins
from plcp.metrics.measure import LARGEST, Measure, check_counts, check_numbers, mean_measure
from plcp.quantiles import pinball_loss

PERCENT = np.arange(0, 101, 10)


class Law(Protocol):
    """Distributions of the score, one per row: any frozen distribution of scipy with arrays."""

    def cdf(self, x: Any) -> Any:
        """Probability that the score of each row is at most x."""


def msce(
    conditional_coverage: ArrayLike,
    alpha: float = 0.1,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Mean squared conditional coverage error E[(P(covered | x) - (1 - alpha))²], equation (3).

    Needs the conditional coverage itself, which simulated data know and real data do not; see
    `estimated_msce` for those. Squares are skewed, and the interval corrects Student's for that
    (Hall 1992). Where all rows are covered alike it is a point.

    Parameters
    ----------
    conditional_coverage : array-like of shape (n,)
        P(covered | x) of each row.
    alpha : float, default=0.1
        Miscoverage rate the sets were made for.
    confidence : float, default=0.95
        Probability with which the interval holds the error over all x, as rows grow many.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    Measure
        Its table has the conditional coverage that 0, 10, … 100 % of the rows do not exceed.

    References
    ----------
    Kiyani, Pappas, Hassani (2024). Conformal prediction with learned features. ICML.
    Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical
    Society B.

    Examples
    --------
    >>> from plcp.metrics import msce
    >>> round(float(msce([0.8, 1.0], alpha=0.1)), 12)
    0.01
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    if np.asarray(to_plain_array(conditional_coverage)).dtype == bool:
        raise ValueError(
            "conditional_coverage is True or False, but must be the probability of it: from what "
            "was seen estimate it by estimated_msce(X, covered, alpha)"
        )
    inside = check_numbers("conditional_coverage", conditional_coverage, least=0.0, most=1.0)
    counts = check_counts(sample_weight, len(inside))
    return mean_measure(
        "MSCE",
        (inside - (1 - alpha)) ** 2,
        counts,
        meaning="The interval holds the error over all x; the estimate has no bias.",
        confidence=confidence,
        limits=(0.0, max(alpha, 1 - alpha) ** 2),
        table={
            "percent": PERCENT,
            "conditional_coverage": count_quantiles(inside, PERCENT, 100, counts),
        },
    )


def msce_of_law(
    thresholds: ArrayLike,
    law: Law,
    alpha: float = 0.1,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Mean squared conditional coverage error of thresholds where the law of S given x is known.

    Parameters
    ----------
    thresholds : array-like of shape (n,)
        The threshold q(x) of each row; infinite ones cover all or nothing.
    law : distribution with ``cdf``
        The score's law given each x, such as ``scipy.stats.norm(mean, sigma)`` with arrays.
    alpha, confidence, sample_weight
        As in `msce`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import expon
    >>> from plcp.metrics import msce_of_law
    >>> scale = np.array([1.0, 2.0])
    >>> float(msce_of_law(expon(scale=scale).ppf(0.9), expon(scale=scale), alpha=0.1)) < 1e-30
    True
    """
    q = check_numbers("thresholds", thresholds, finite=False)
    laws = np.shape(law.cdf(0.0))
    if laws not in ((), q.shape):
        raise ValueError(
            f"law has shape {laws}, but thresholds {q.shape}: give one law per row, or one for all"
        )
    return msce(law.cdf(q), alpha, confidence=confidence, sample_weight=sample_weight)


def estimated_msce(
    X: Any,
    covered: ArrayLike,
    alpha: float = 0.1,
    *,
    classifier: Any = None,
    cv: int = 5,
    random_state: int | None = 0,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Mean squared conditional coverage error, estimated from below: `ert` in L2.

    The error's one-step estimator, mean[(p - t)² + 2 (p - t)(c - p)] with t = 1 - alpha, a
    classifier p of coverage c and its correction to first order, is mean[(c - t)² - (c - p)²]
    term by term. Its bias is -E[(p(x) - P(covered | x))²], never upward: an interval above zero
    shows that coverage depends on x, one below shows nothing.

    Parameters
    ----------
    X, covered, alpha, classifier, cv, random_state, confidence, sample_weight
        As in `ert`.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.metrics import estimated_msce
    >>> x = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> covered = (np.arange(1000) % 5 > 0) | (x[:, 0] == 1)  # 0.8 left, 1.0 right: 0.01
    >>> print(estimated_msce(x, covered, alpha=0.1))
    MSCE, estimated: 0.007622, 95 % interval [0.002263, 0.01324]
    """
    measure = ert(
        X,
        covered,
        alpha,
        norm="L2",
        classifier=classifier,
        cv=cv,
        random_state=random_state,
        confidence=confidence,
        sample_weight=sample_weight,
    )
    return replace(measure, name="MSCE, estimated")


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

    ℓ is the pinball loss, q*(x) the true conditional quantile at 1 - alpha, and L the
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
    >>> import numpy as np
    >>> from scipy.stats import expon
    >>> from plcp.metrics import msce_of_law, pinball_excess_bound
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
    if not (is_real(lipschitz) and 0 < lipschitz <= LARGEST):
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
