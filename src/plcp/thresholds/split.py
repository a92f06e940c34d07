"""Split conformal prediction: one threshold for all rows."""

from typing import Any, Self

import numpy as np

from plcp._options import check_alpha, check_rate, too_few, warn_infinite
from plcp._rows import count
from plcp._validation import check_some, drop_weightless
from plcp.out_of_core import Passes, Ranks
from plcp.out_of_core.passes import Block
from plcp.quantiles import FloatArray, IntArray, conformal_quantile, conformal_rank
from plcp.thresholds.base import (
    Alpha,
    ClusteredRule,
    DrawnRanks,
    check_blocks,
    fitted_at_several,
)
from plcp.thresholds.guarantees import (
    EQUATION,
    MARGINAL_ALONE,
    Guarantee,
    weighted_or_exact,
)


class SplitConformal(ClusteredRule):
    """One threshold for all x: the conformal quantile of the calibration scores.

    q = the score of rank ⌈(1 - alpha)(n + 1)⌉. If calibration and test points are exchangeable,
    1 - alpha ≤ P(covered) ≤ 1 - alpha + 1/(n + 1), the upper bound without ties: on average over
    x, and for no x in particular.

    Parameters
    ----------
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    confidence : float or None, default=None
        Share of calibration sets whose threshold covers 1 - alpha at least, such as 0.95, if points
        are independent (a PAC guarantee): q is the score of ``plcp.quantiles.pac_rank``. At several
        alphas it holds for each alone. None: 1 - alpha is covered on average over calibration sets,
        and by about half of them.
    randomize : bool, default=False
        Whether a draw per row decides between neighbouring ranks: coverage is then 1 - alpha
        exactly, however many scores tie, as those of accurate classifiers and of whole numbers do,
        instead of more. Of fewer than 1/alpha - 1 points some thresholds are infinite, without a
        warning.
    random_state : int, RandomState or None
        Seed of these draws. A fitted rule draws by a hash of a row's values: a row gets the same
        draw alone and in a batch, and rows with equal values share it. Coverage is exact on average
        over seeds, and close to it for one seed if X takes many values.

    Attributes
    ----------
    threshold_ : float
        The threshold; infinite if fewer than 1/alpha - 1 points were given. Of those drawn by
        ``randomize`` it is the largest.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Papadopoulos, Proedrou, Vovk, Gammerman (2002). Inductive confidence machines for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import SplitConformal
    >>> rule = SplitConformal(alpha=0.1).fit(np.zeros((19, 1)), np.arange(1, 20))
    >>> rule.predict([[0.0], [5.0]])
    array([18., 18.])

    Several alphas at once, one column each:

    >>> several = SplitConformal(alpha=[0.1, 0.5]).fit(np.zeros((19, 1)), np.arange(1, 20))
    >>> several.predict([[0.0], [5.0]])
    array([[18., 10.],
           [18., 10.]])

    A threshold that covers 90 % for 95 % of calibration sets, and one that covers scores which all
    tie nine times in ten:

    >>> X, scores = np.arange(100.0)[:, None], np.arange(100.0)
    >>> SplitConformal(confidence=0.95).fit(X, scores).threshold_
    95.0
    >>> drawn = SplitConformal(randomize=True, random_state=0).fit(X, np.ones(100)).predict(X)
    >>> bool(0 < np.mean(drawn < 1.0) < 0.3)
    True
    """

    _reads_ranks = True

    def __init__(
        self,
        alpha: Alpha = 0.1,
        *,
        confidence: float | None = None,
        randomize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.confidence = confidence
        self.randomize = randomize
        self.random_state = random_state

    def _fit(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        *groups: Any,
        clusters: IntArray | None = None,
    ) -> None:
        _, scores, weights = drop_weightless(X, scores, weights)
        alpha, one_group = check_rate(self.alpha), np.zeros(len(scores), dtype=np.intp)
        threshold = conformal_quantile(scores, alpha, weights, confidence=self.confidence)
        self._drawn_ranks = None
        if self.randomize:
            self._drawn_ranks = DrawnRanks.of(scores, one_group, 1, alpha, self.random_state)
        self._settle(threshold, len(scores), weights, clusters)

    def fit_blocks(self, scores: Passes) -> Self:
        """Take the conformal quantile of finite scores that lie in blocks, one column each."""
        alpha = check_alpha(self.alpha)
        check_blocks(self)
        if fitted_at_several(self):  # of an earlier fit
            del self.rules_
        ranks = Ranks(scores.then(_in_one_group), 1)
        n = int(ranks.sizes[0])
        check_some(n)
        self._count_blocks(n)
        rank = conformal_rank(n, alpha, self.confidence)
        self._settle(float(ranks.at([rank - 1])[0]), n, None)
        return self

    def _settle(
        self,
        threshold: float,
        n: int,
        weights: FloatArray | None,
        clusters: IntArray | None = None,
    ) -> None:
        alpha = check_rate(self.alpha)
        self.threshold_ = threshold
        if np.isinf(threshold) and not self.randomize:
            warn_infinite(too_few(weights, n, alpha, self.confidence, clusters))
        note = MARGINAL_ALONE
        self.guarantee_ = Guarantee(
            scope="marginal",
            alpha=alpha,
            n=n,
            note=f"{EQUATION} {note}" if self.randomize else note,
            **weighted_or_exact(weights is not None, confidence=self.confidence, clusters=clusters),
        )

    def _predict(self, X: Any, *groups: Any) -> FloatArray:
        if self._drawn_ranks is not None:
            return self._drawn_ranks.of_rows(X, np.zeros(count(X), dtype=np.intp))
        return np.full(count(X), self.threshold_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags


def _in_one_group(scores: FloatArray) -> Block:
    return scores, np.zeros(len(scores), dtype=np.intp)
