"""Split conformal prediction: one threshold for all rows."""

from typing import Any, Self

import numpy as np

from plcp._options import check_alpha, check_rate, too_few, warn_infinite
from plcp._rows import count
from plcp._validation import check_some, drop_weightless
from plcp.out_of_core import Passes, Ranks
from plcp.out_of_core.passes import Block
from plcp.quantiles import FloatArray, conformal_quantile, conformal_rank
from plcp.thresholds.base import Alpha, ThresholdRule, fitted_at_several
from plcp.thresholds.guarantees import Guarantee, weighted_or_exact


class SplitConformal(ThresholdRule):
    """One threshold for all x: the conformal quantile of the calibration scores.

    q = the score of rank ⌈(1 - alpha)(n + 1)⌉. If calibration and test points are exchangeable,
    1 - alpha ≤ P(covered) ≤ 1 - alpha + 1/(n + 1), the upper bound without ties: on average over
    x, and for no x in particular.

    Parameters
    ----------
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.

    Attributes
    ----------
    threshold_ : float
        The threshold; infinite if fewer than 1/alpha - 1 points were given.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Papadopoulos, Proedrou, Vovk, Gammerman (2002). Inductive confidence machines for regression.

    Examples
    --------
    >>> import numpy as np
    >>> rule = SplitConformal(alpha=0.1).fit(np.zeros((19, 1)), np.arange(1, 20))
    >>> rule.predict([[0.0], [5.0]])
    array([18., 18.])

    Several alphas at once, one column each:

    >>> several = SplitConformal(alpha=[0.1, 0.5]).fit(np.zeros((19, 1)), np.arange(1, 20))
    >>> several.predict([[0.0], [5.0]])
    array([[18., 10.],
           [18., 10.]])
    """

    _reads_ranks = True

    def __init__(self, alpha: Alpha = 0.1) -> None:
        self.alpha = alpha

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None, *groups: Any) -> None:
        _, scores, weights = drop_weightless(X, scores, weights)
        threshold = conformal_quantile(scores, check_rate(self.alpha), weights)
        self._settle(threshold, len(scores), weights)

    def fit_blocks(self, scores: Passes) -> Self:
        """Take the conformal quantile of finite scores that lie in blocks, one column each."""
        alpha = check_alpha(self.alpha)
        if fitted_at_several(self):  # of an earlier fit
            del self.rules_
        ranks = Ranks(scores.then(_in_one_group), 1)
        n = int(ranks.sizes[0])
        check_some(n)
        self._count_blocks(n)
        self._settle(float(ranks.at([conformal_rank(n, alpha) - 1])[0]), n, None)
        return self

    def _settle(self, threshold: float, n: int, weights: FloatArray | None) -> None:
        alpha = check_rate(self.alpha)
        self.threshold_ = threshold
        if np.isinf(threshold):
            warn_infinite(too_few(weights, n, alpha))
        self.guarantee_ = Guarantee(
            scope="marginal",
            alpha=alpha,
            n=n,
            note="Nothing holds for a kind of input.",
            **weighted_or_exact(weights is not None),
        )

    def _predict(self, X: Any, *groups: Any) -> FloatArray:
        return np.full(count(X), self.threshold_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags


def _in_one_group(scores: FloatArray) -> Block:
    return scores, np.zeros(len(scores), dtype=np.intp)
