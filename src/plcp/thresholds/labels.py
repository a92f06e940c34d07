"""Coverage given the label: one rule per label, fitted to the calibration rows that have it."""

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plcp._options import caller_stacklevel, shortened, warn_infinite
from plcp._rows import count, take
from plcp._validation import check_features, check_lengths
from plcp.exceptions import InfiniteThresholdWarning
from plcp.groups.clusters import cluster_weights, independent_sizes
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles, shared_confidence
from plcp.thresholds.base import (
    Assigned,
    GivenGroupsRule,
    Members,
    ThresholdRule,
    fit_rule,
    lists_alphas,
    members_of_codes,
)
from plcp.thresholds.guarantees import labels_guarantee
from plcp.thresholds.mondrian import Mondrian
from plcp.thresholds.plcp import PLCP


class LabelConditional(GivenGroupsRule):
    """One rule per label, which gives the thresholds of this label as a candidate.

    A clone of ``rule`` is fitted to the calibration rows of each label c, and the prediction set of
    x is {c : S(x, c) ≤ q_c(x)}. What the rule promises on average then holds given the label: with
    ``SplitConformal`` P(covered | label) ≥ 1 - alpha for every label, in finite samples. The shares
    of the labels may change. A label with too few calibration rows for a finite threshold, or with
    none, is in every set.

    ``ConformalClassifier(label_conditional=True)`` makes one. By itself it is a rule whose groups,
    in ``fit`` and ``predict``, are the codes 0, ..., k - 1 of the rows' labels.

    Parameters
    ----------
    rule : ThresholdRule
        The rule of each label.
    labels : sequence of str
        What the labels are called.

    Attributes
    ----------
    label_rules_ : list of ThresholdRule or None
        The fitted rule of each label; None where it has too few rows at every alpha.
    groups_, thresholds_, group_sizes_ : ndarray of shape (m,)
        Name, threshold and calibration rows of each group: of each label, or of each group within
        it that a ``PLCP`` or ``Mondrian`` has. The threshold is nan where it differs within.
    guarantee_ : Guarantee
        What holds given each label, and when.

    References
    ----------
    Vovk (2013). Conditional validity of inductive conformal predictors. Machine Learning 92.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> X, codes = np.zeros((18, 1)), np.repeat([0, 1], 9)
    >>> rule = LabelConditional(SplitConformal(), labels=["no", "yes"])
    >>> rule.fit(X, np.r_[1:10, 11:20], groups=codes).predict_each([[0.0]])
    array([[ 9., 19.]])
    >>> rule.predict([[0.0]], groups=[1])
    array([19.])
    """

    def __init__(self, rule: ThresholdRule, labels: Sequence[str]) -> None:
        self.rule = rule
        self.labels = labels

    @property
    def alpha(self) -> Any:
        """Miscoverage rate of the rule, or several."""
        return self.rule.alpha

    @property
    def _takes_clusters(self) -> bool:
        return self.rule._takes_clusters

    def _fit(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        *groups: Any,
        clusters: IntArray | None = None,
    ) -> None:
        codes = self._fit_labels(X, scores, weights, *groups, clusters=clusters)
        self._settle(codes, weights, clusters)

    def _fit_rules(self, alphas: list[float], *pairs: Any, **given: Any) -> list[Self]:
        codes, weights = self._fit_labels(*pairs, **given), pairs[2]
        rules = [self._rule_at(alpha) for alpha in alphas]
        for rule in rules:
            rule._settle(codes, weights, **given)
        return rules

    def _rule_at(self, alpha: float) -> Self:
        one = copy(self)
        one.rule, one._alphas = clone(self.rule).set_params(alpha=alpha), [alpha]
        one.label_rules_ = [None if rule is None else rule.at(alpha) for rule in self.label_rules_]
        return one

    def _fit_labels(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        groups: Any = None,
        *,
        clusters: IntArray | None = None,
    ) -> IntArray:
        """Fit the rule of each label to its rows, and return the codes of the rows."""
        codes, k = self._codes(groups, len(scores)), len(self.labels)
        if clusters is not None:  # given the label, a row is any one of its group with this label
            weights = cluster_weights(clusters * k + codes)
        infinite, rule = np.empty((len(self._alphas), k), dtype=bool), clone(self.rule)
        confidence = shared_confidence(getattr(rule, "confidence", None), k)
        if confidence is not None:  # which all labels share
            rule.set_params(confidence=confidence)
        for i, alpha in enumerate(self._alphas):
            quantiles = group_conformal_quantiles(
                scores, codes, k, alpha, weights, confidence=confidence
            )
            infinite[i] = np.isinf(quantiles)
            if infinite[i].any():
                short = np.array(self.labels)[infinite[i]].tolist()
                warn_infinite(
                    f"labels {shortened(short)} have too few calibration points for alpha = "
                    f"{alpha:g}",
                    "each set holds them",
                )
        self.label_rules_: list[Any] = [None] * k
        for code in np.flatnonzero(~infinite.all(axis=0)).tolist():
            rows = np.flatnonzero(codes == code)
            own = None if weights is None else weights[rows]
            together = None if clusters is None else clusters[rows]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if infinite[:, code].any():  # of which there was a warning
                    warnings.simplefilter("ignore", InfiniteThresholdWarning)
                self.label_rules_[code] = fit_rule(
                    clone(rule), take(X, rows), scores[rows], own, together
                )
            for one in caught:
                text = f"label {self.labels[code]!r}: {one.message}"
                warnings.warn(text, one.category, stacklevel=caller_stacklevel())
        return codes

    def _settle(
        self, codes: IntArray, weights: FloatArray | None, clusters: IntArray | None = None
    ) -> None:
        """Name the groups, those within labels if there are any, and state what holds."""
        k, fitted = len(self.labels), [rule for rule in self.label_rules_ if rule is not None]
        own_sizes = np.bincount(codes, weights, k)
        counted = independent_sizes(codes, k, weights, clusters)
        own_rows = own_sizes if counted is None else counted
        cells: list[tuple[Any, ...]] = []  # name, threshold, rows, and their effective number
        self._first_group: list[int] = []
        for code, (label, rule) in enumerate(zip(self.labels, self.label_rules_, strict=True)):
            self._first_group.append(len(cells))
            if has_groups(rule):
                rows = rule.group_sizes_ if rule._group_rows is None else rule._group_rows
                within = (f"{label}, {name}" for name in rule.group_names())
                cells += zip(within, rule.thresholds_, rule.group_sizes_, rows, strict=True)
            else:
                threshold = np.inf if rule is None else getattr(rule, "threshold_", np.nan)
                cells.append((label, threshold, own_sizes[code], own_rows[code]))
        columns = [np.array(column) for column in zip(*cells, strict=True)]
        self.groups_, self.thresholds_, self.group_sizes_, effective = columns
        self._group_rows = None if weights is None and clusters is None else effective
        self._reads_ranks = all(rule._reads_ranks for rule in fitted)
        promises = [rule.guarantee_ for rule in fitted]
        self.guarantee_ = labels_guarantee(promises, float(self.alpha), len(codes), k)

    def predict_each(self, X: Any) -> FloatArray:
        """Thresholds of every label as a candidate, shape (n, k); several alphas come last."""
        check_is_fitted(self, "guarantee_")
        X = check_features(self, X, reset=False, allow_nan=True)
        several = (len(self._alphas),) if lists_alphas(self.alpha) else ()
        infinite = np.full((count(X), *several), np.inf)
        columns = [infinite if rule is None else rule.predict(X) for rule in self.label_rules_]
        return np.stack(columns, axis=1)

    def assign(self, X: Any, groups: ArrayLike | None = None) -> Assigned:
        """Group of each row given its label, as in ``groups_``, and the threshold of its label."""
        return self._assign_alphas(X, groups)

    def _assign(self, X: Any, *groups: Any) -> Assigned:
        codes = self._codes(groups[0], count(X))
        numbers, thresholds = np.array(self._first_group)[codes], np.full(len(codes), np.inf)
        for code in np.unique(codes):
            rule = self.label_rules_[code]
            if rule is not None:
                rows = np.flatnonzero(codes == code)
                within, thresholds[rows] = rule.assign(take(X, rows))
                if has_groups(rule):
                    numbers[rows] = np.where(within < 0, -1, numbers[rows] + within)
        return Assigned(numbers, thresholds)

    def _members(self, X: Any, *groups: Any) -> Members:
        numbers, names = np.asarray(self._assign(X, *groups).groups), self.group_names()
        return members_of_codes(names, np.where(numbers < 0, len(names), numbers))

    def _shares_groups(self) -> bool:
        return all(rule is None or rule._shares_groups() for rule in self.label_rules_)

    @property
    def draws(self) -> bool:
        """Whether the rule of any label draws."""
        return any(rule is not None and rule.draws for rule in self.label_rules_)

    def _codes(self, given: Any, n: int) -> IntArray:
        if given is None:
            raise ValueError(
                "thresholds and groups depend on the label: give those of the rows too, as y to a "
                "conformal estimator or, as codes, as groups= to the rule itself, whose "
                "predict_each has the thresholds of all labels"
            )
        codes, k = np.asarray(given), len(self.labels)
        check_lengths(range(n), codes)
        if not np.isin(codes, np.arange(k)).all():
            raise ValueError(f"groups must be codes of labels, 0 to {k - 1}, got {given!r}")
        return codes.astype(np.intp)


def has_groups(rule: Any) -> bool:
    """Whether each row is in one group of a rule, with a threshold for each group."""
    return isinstance(rule, PLCP | Mondrian)
