"""Linear quantile regression on Dask."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from plcp.dask.collections import blockwise, check_columns, check_parts, is_lazy, pairs_of
from plcp.dask.rules import DaskRule
from plcp.out_of_core.linear import fit_line
from plcp.regressors.linear import LinearQuantile


class DaskLinearQuantile(DaskRule):
    """``LinearQuantile`` of rows on a cluster: within 0.1 % of the least pinball loss.

    A sample of the rows, taken by what stands in them, is fitted first; then all rows are gone
    through a few times, in sums that are exact, until it is proved that no line is better by 0.1 %.
    So what is learned depends on the rows alone: not on their order, nor on how they are cut into
    parts, nor on the number of workers. Up to about two million numbers in X it is what
    ``LinearQuantile`` learns.

    Parameters
    ----------
    quantile : float or None, default=None
        The level, in (0, 1). None: 0.5.
    random_state : int, default=0
        Seed of the sample.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    coef_, intercept_ :
        As in ``LinearQuantile``.
    n_iter_ : int
        Passes over all rows, once a sample was taken; Newton steps, where it was all rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.arange(100, chunks=30, dtype=float)[:, None]
    >>> model = DaskLinearQuantile(quantile=0.9).fit(X, 3 * X[:, 0] + 1)
    >>> model.predict(X[:2]).compute().round(6), model.to_local()
    (array([1., 4.]), LinearQuantile(quantile=0.9))
    """

    def __init__(
        self, quantile: float | None = None, *, random_state: int = 0, client: Any = None
    ) -> None:
        self.quantile = quantile
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to features ``X`` and targets ``y``, collections of Dask."""
        check_columns(LinearQuantile(), X, reset=True)
        level = 0.5 if self.quantile is None else self.quantile
        blocks = pairs_of(X, y, self.client, check_parts)
        self._learned(fit_line(blocks, level, self.random_state))
        return self

    def predict(self, X: Any) -> Any:
        """Return the fitted quantile of each row, computed block by block when it is asked for.

        An array for an array of Dask, a series called ``quantile`` for a frame of Dask; computed at
        once for what is not of Dask.
        """
        check_is_fitted(self, "rule_")
        if not is_lazy(X):
            return self.rule_.predict(X)
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.predict, X, name="quantile")
