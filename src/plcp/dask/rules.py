"""Rules on Dask, and the two with given groups: split conformal and Mondrian."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
from dask.base import is_dask_collection
from sklearn.utils.validation import check_is_fitted

from plcp._options import check_rate
from plcp._rows import count
from plcp._validation import check_features
from plcp.dask.cluster import Connected
from plcp.dask.collections import blockwise, check_columns, check_part_scores, meta_of, pairs_of
from plcp.groups.groups import column_key
from plcp.out_of_core.passes import Block
from plcp.thresholds.base import check_ranks
from plcp.thresholds.mondrian import Mondrian, Source, check_groups, labels_of
from plcp.thresholds.split import SplitConformal


class DaskRule(Connected):
    """A rule that is fitted to Dask collections, and holds the ordinary rule once it is fitted.

    The result depends on the rows alone: not on their order, the chunks or the workers.
    """

    def predict(self, X: Any) -> Any:
        """Thresholds q(x), one per row; lazy.

        An array for a Dask array, a series called ``threshold`` for a Dask frame; other input is
        computed at once.
        """
        return self._predicted(X)

    def to_local(self) -> Any:
        """Return the ordinary rule, fitted: small, and without Dask."""
        check_is_fitted(self, "rule_")
        return deepcopy(self.rule_)

    def _predicted(self, X: Any, groups: Any = None) -> Any:
        check_is_fitted(self, "rule_")
        if not is_dask_collection(X):
            return self.rule_.predict(X, *([] if groups is None else [groups]))
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.predict, X, other=groups)

    def _store(self, rule: Any) -> None:
        """Store the fitted attributes of a rule in place of earlier ones."""
        for name in _fitted(self):
            delattr(self, name)
        self.rule_ = rule
        for name in _fitted(rule):
            setattr(self, name, getattr(rule, name))


def _fitted(estimator: Any) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


class DaskSplitConformal(DaskRule):
    """``SplitConformal`` for rows on a cluster: the same threshold, to the last bit.

    The score of rank ⌈(1 - alpha)(n + 1)⌉ of all n scores is found by counting, in a few passes
    over blocks that are sorted once; no block leaves its worker.

    Parameters
    ----------
    alpha : float, default=0.1
        Miscoverage rate.
    confidence : float or None, default=None
        As in ``SplitConformal``.
    client : distributed.Client or None, default=None
        The client that computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    threshold_, guarantee_ :
        As in ``SplitConformal``.

    Examples
    --------
    >>> import dask.array as da
    >>> from plcp.dask import DaskSplitConformal
    >>> X, scores = da.zeros((19, 1), chunks=(5, 1)), da.arange(1, 20, chunks=5)
    >>> rule = DaskSplitConformal(alpha=0.1).fit(X, scores)
    >>> rule.threshold_, rule.predict(X[:2]).compute()
    (18.0, array([18., 18.]))
    """

    def __init__(
        self, alpha: float = 0.1, *, confidence: float | None = None, client: Any = None
    ) -> None:
        self.alpha = alpha
        self.confidence = confidence
        self.client = client

    def fit(self, X: Any, y: Any) -> Self:
        """Take the conformal quantile of the scores ``y``, in the parts of ``X``."""
        rule = SplitConformal(check_rate(self.alpha), confidence=self.confidence)
        check_ranks(rule)
        check_columns(rule, X, reset=True)
        blocks = pairs_of(X, y, self.client, check_part_scores)
        self._store(rule.fit_blocks(blocks.then(_scores, SplitConformal())))
        return self


def _scores(X: Any, scores: Any, rule: SplitConformal) -> Block:
    if count(X):
        check_features(rule, X, reset=True, allow_nan=True)
    return (scores,)


class DaskMondrian(DaskRule):
    """``Mondrian`` for rows on a cluster: the same thresholds, to the last bit.

    The distinct labels of all blocks are united on the workers; the rank ⌈(1 - alpha)(n + 1)⌉ of
    each group's n scores is then found by counting.

    Parameters
    ----------
    groups : column name or position, list of them, callable, or None
        As in ``Mondrian``; a function is given one block at a time. None: labels are given to
        ``fit`` and ``predict``, as a Dask array or series.
    alpha : float, default=0.1
        Miscoverage rate.
    confidence : float or None, default=None
        As in ``Mondrian``.
    client : distributed.Client or None, default=None
        The client that computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    groups_, thresholds_, group_sizes_, guarantee_ :
        As in ``Mondrian``.

    Examples
    --------
    >>> import dask.array as da
    >>> from plcp.dask import DaskMondrian
    >>> X = da.repeat(da.from_array([[0.0], [1.0]]), 9, axis=0).rechunk((4, 1))
    >>> rule = DaskMondrian(groups=0).fit(X, da.concatenate([da.arange(1, 10), da.arange(11, 20)]))
    >>> rule.predict(da.from_array([[1.0], [0.0]])).compute()
    array([19.,  9.])
    """

    def __init__(
        self,
        groups: Source | None = None,
        alpha: float = 0.1,
        *,
        confidence: float | None = None,
        client: Any = None,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.confidence = confidence
        self.client = client

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Take the conformal quantile of the scores ``y`` in each group."""
        rule = Mondrian(self.groups, check_rate(self.alpha), confidence=self.confidence)
        check_ranks(rule)
        check_columns(rule, X, reset=True)
        check_groups(self.groups, groups)
        if self.groups is not None and not callable(self.groups):
            for name in self.groups if isinstance(self.groups, list) else [self.groups]:
                column_key(meta_of(X), name)  # raises before any row is computed
        given = {} if groups is None else {"groups": groups}
        blocks = pairs_of(X, y, self.client, check_part_scores, **given)
        self._store(rule.fit_blocks(blocks.then(_labelled, Mondrian(self.groups))))
        return self

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Threshold of each row's group, infinite for an unknown group; lazy.

        Workers write the warning about unknown groups to their logs.
        """
        check_groups(self.groups, groups)
        return self._predicted(X, groups)


def _labelled(X: Any, scores: Any, *rest: Any) -> Block:
    """Label and score of each row of a block."""
    *given, rule = rest
    if count(X) == 0:
        return np.empty(0), scores
    check_features(rule, X, reset=True, allow_nan=True)
    return labels_of(rule.groups, X, *given), scores
