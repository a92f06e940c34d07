"""Split conformal prediction on Dask."""

from typing import Any, Self

from plcp.blocks.passes import Block
from plcp.dask.collections import check_columns, check_parts, pairs_of
from plcp.dask.rule import DaskRule
from plcp.rows import count
from plcp.thresholds.split import SplitConformal
from plcp.validation import check_alpha, check_features


class DaskSplitConformal(DaskRule):
    """``SplitConformal`` of rows on a cluster: the same threshold, to the last bit.

    The score of rank ⌈(1 - alpha)(n + 1)⌉ of all n scores is found by counting, in a few passes
    over blocks that are sorted once; no block leaves its worker.

    Parameters
    ----------
    alpha : float, default=0.1
        Miscoverage rate.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    threshold_, guarantee_ :
        As in ``SplitConformal``.

    Examples
    --------
    >>> import dask.array as da
    >>> X, scores = da.zeros((19, 1), chunks=(5, 1)), da.arange(1, 20, chunks=5)
    >>> rule = DaskSplitConformal(alpha=0.1).fit(X, scores)
    >>> rule.threshold_, rule.predict(X[:2]).compute()
    (18.0, array([18., 18.]))
    """

    def __init__(self, alpha: float = 0.1, *, client: Any = None) -> None:
        self.alpha = alpha
        self.client = client

    def fit(self, X: Any, y: Any) -> Self:
        """Take the conformal quantile of the scores ``y``, in blocks as the rows of ``X`` are."""
        rule = SplitConformal(check_alpha(self.alpha))
        check_columns(rule, X, reset=True)
        blocks = pairs_of(X, y, self.client, check_parts)
        self._learned(rule.fit_blocks(blocks.then(_scores, SplitConformal())))
        return self


def _scores(X: Any, scores: Any, rule: SplitConformal) -> Block:
    if count(X):
        check_features(rule, X, reset=True, allow_nan=True)
    return (scores,)
