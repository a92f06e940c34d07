"""What rules on Dask have in common: a local rule that was learned from all blocks."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plcp._options import check_rate
from plcp._rows import count
from plcp._validation import check_features
from plcp.dask.cluster import Connected
from plcp.dask.collections import blockwise, check_columns, check_parts, is_lazy, pairs_of, promised
from plcp.groups.groups import column_key
from plcp.out_of_core.passes import Block
from plcp.thresholds.mondrian import Mondrian, Source, check_groups, labels_of
from plcp.thresholds.split import SplitConformal


class DaskRule(Connected):
    """A rule that learns from collections of Dask, and is then as small as any other.

    What is learned depends on the rows alone: not on their order, nor on how they are cut into
    parts, nor on the workers.
    """

    def predict(self, X: Any) -> Any:
        """Thresholds q(x), one a row, computed block by block when they are asked for.

        An array for an array of Dask, a series called ``threshold`` for a frame of Dask; computed
        at once for what is not of Dask.
        """
        return self._predicted(X)

    def to_local(self) -> Any:
        """Return the ordinary rule, fitted: small, and without Dask."""
        check_is_fitted(self, "rule_")
        return deepcopy(self.rule_)

    def _predicted(self, X: Any, beside: Any = None) -> Any:
        check_is_fitted(self, "rule_")
        if not is_lazy(X):
            return self.rule_.predict(X, *([] if beside is None else [beside]))
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.predict, X, beside=beside)

    def _learned(self, rule: Any) -> None:
        """Take over what a rule has learned, and forget what was learned before."""
        for name in _fitted(self):
            delattr(self, name)
        self.rule_ = rule
        for name in _fitted(rule):
            setattr(self, name, getattr(rule, name))


def _fitted(estimator: Any) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


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
        rule = SplitConformal(check_rate(self.alpha))
        check_columns(rule, X, reset=True)
        blocks = pairs_of(X, y, self.client, check_parts)
        self._learned(rule.fit_blocks(blocks.then(_scores, SplitConformal())))
        return self


def _scores(X: Any, scores: Any, rule: SplitConformal) -> Block:
    if count(X):
        check_features(rule, X, reset=True, allow_nan=True)
    return (scores,)


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
        rule = Mondrian(self.groups, check_rate(self.alpha))
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
