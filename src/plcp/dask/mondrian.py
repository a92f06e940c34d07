"""Mondrian conformal prediction on Dask."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plcp.blocks.passes import Block
from plcp.dask.collections import check_columns, check_parts, is_lazy, pairs_of, promised
from plcp.dask.rule import DaskRule
from plcp.rows import count
from plcp.shifts.columns import column_key
from plcp.thresholds.labels import Source, check_groups, labels_of
from plcp.thresholds.mondrian import Mondrian
from plcp.validation import check_alpha, check_features


class DaskMondrian(DaskRule):
    """``Mondrian`` of rows on a cluster: the same thresholds, to the last bit.

    The distinct labels of all blocks are joined on the workers; the rank ⌈(1 - alpha)(n + 1)⌉ of
    each group's n scores is then found by counting.

    Parameters
    ----------
    groups : column name or position, list of them, callable, or None
        As in ``Mondrian``; a function is given one block at a time. None: labels are handed to
        ``fit`` and ``predict``, as an array or series of Dask.
    alpha : float, default=0.1
        Miscoverage rate.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    groups_, thresholds_, group_sizes_, guarantee_ :
        As in ``Mondrian``.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.repeat(da.from_array([[0.0], [1.0]]), 9, axis=0).rechunk((4, 1))
    >>> rule = DaskMondrian(groups=0).fit(X, da.concatenate([da.arange(1, 10), da.arange(11, 20)]))
    >>> rule.predict(da.from_array([[1.0], [0.0]])).compute()
    array([19.,  9.])
    """

    def __init__(
        self, groups: Source | None = None, alpha: float = 0.1, *, client: Any = None
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.client = client

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Take the conformal quantile of the scores ``y`` in each group."""
        rule = Mondrian(self.groups, check_alpha(self.alpha))
        check_columns(rule, X, reset=True)
        self._check_groups(X, groups)
        given = {} if groups is None else {"groups": groups}
        blocks = pairs_of(X, y, self.client, check_parts, **given)
        self._learned(rule.fit_blocks(blocks.then(_labelled, Mondrian(self.groups))))
        return self

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Threshold of each row's group, infinite for a group never seen.

        Lazy, as in all rules on Dask; workers keep the warning about groups never seen in their
        logs.
        """
        check_is_fitted(self, "rule_")
        if is_lazy(X):
            check_columns(self.rule_, X, reset=False)
            self._check_groups(X, groups)
        return self._predicted(X, groups)

    def _check_groups(self, X: Any, given: Any) -> None:
        """Refuse at once what could not be asked of any part."""
        check_groups(self.groups, given)
        if self.groups is not None and not callable(self.groups):
            for name in self.groups if isinstance(self.groups, list) else [self.groups]:
                column_key(promised(X), name)


def _labelled(X: Any, scores: Any, *rest: Any) -> Block:
    """Label and score of each row of a block."""
    *given, rule = rest
    if count(X) == 0:
        return np.empty(0), scores
    check_features(rule, X, reset=True, allow_nan=True)
    return labels_of(rule.groups, X, *given), scores
