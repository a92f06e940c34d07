"""Mondrian conformal prediction: one threshold for each of some given, disjoint groups."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp._options import (
    EVERY_OUTCOME,
    check_alpha,
    check_rate,
    check_same_rows,
    shortened,
    too_few_in,
    warn_infinite,
)
from plcp._rows import count, is_frame, to_plain_array
from plcp._validation import (
    check_some,
    drop_weightless,
)
from plcp.groups.clusters import independent_sizes
from plcp.groups.groups import (
    check_indicators,
    check_kind,
    check_present,
    check_sortable,
    column,
    label_text,
)
from plcp.out_of_core import Passes, Ranks
from plcp.out_of_core.passes import Block
from plcp.quantiles import (
    FloatArray,
    IntArray,
    group_conformal_quantiles,
    group_ranks,
    least_points,
)
from plcp.thresholds.base import (
    Alpha,
    Assigned,
    DrawnRanks,
    GivenGroupsRule,
    Members,
    check_blocks,
    fitted_at_several,
    members_of_codes,
)
from plcp.thresholds.guarantees import EQUATION, Guarantee, weighted_or_exact

Source = str | int | list[str | int] | Callable[[Any], ArrayLike]


def check_groups(source: Source | None, given: Any) -> None:
    """Refuse groups that are given twice, or nowhere."""
    if given is not None and source is not None:
        raise ValueError(f"groups are given twice: as an array, and as Mondrian(groups={source!r})")
    if given is None and source is None:
        raise ValueError(
            "groups is None: name a column, give a function of X, or hand an array of labels "
            "to fit and predict as groups=..."
        )


def labels_of(source: Source | None, X: Any, given: ArrayLike | None = None) -> NDArray[Any]:
    """One label per row, from the array given or from X.

    Examples
    --------
    >>> labels_of([0, 1], np.array([[1, 2], [3, 4]]))
    array(['1, 2', '3, 4'], dtype='<U4')
    """
    check_groups(source, given)
    check_same_rows(X, groups=given)
    if given is not None:
        labels = _one_per_row(given, count(X))
    elif callable(source):
        labels = _one_per_row(source(X), count(X))
    else:
        labels = _column_labels(X, source)
    if labels.shape != (count(X),):
        raise ValueError(
            f"groups must give one label per row, shape ({count(X)},), got {labels.shape}"
        )
    check_present(labels, "")
    check_sortable(labels)
    return labels


class Distinct:
    """Distinct labels, sorted, that can be joined with others.

    Examples
    --------
    >>> (distinct(["b", "a", "b"], None) + distinct(["c", "a"], None)).labels
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(self, labels: NDArray[Any]) -> None:
        self.labels = labels

    def __add__(self, other: "Distinct") -> "Distinct":
        """Return the labels of both."""
        if len(self.labels) == 0 or len(other.labels) == 0:
            return self if len(self.labels) else other
        kinds = {labels.dtype.kind in "biuf" for labels in (self.labels, other.labels)}
        # numpy would turn numbers into text in order to join them with text
        dtype = object if len(kinds) > 1 else None
        labels = np.concatenate([self.labels, other.labels], dtype=dtype)
        check_sortable(labels)
        return Distinct(np.unique(labels))


def distinct(labels: ArrayLike, scores: Any) -> Distinct:
    """Distinct labels of a block of labels and scores."""
    return Distinct(np.unique(labels))


def _one_per_row(values: Any, n: int) -> NDArray[Any]:
    """Labels as they are, or the column that is True in a boolean matrix."""
    if np.ndim(values) != 2:
        return np.asarray(to_plain_array(values))
    names = np.asarray(values.columns if is_frame(values) else range(np.shape(values)[1]))
    matrix = check_indicators(values, n, "the matrix of groups")
    memberships = matrix.sum(axis=1)
    if memberships.max() > 1:
        row = int(np.argmax(memberships > 1))
        first, second = names[np.flatnonzero(matrix[row])[:2]].tolist()
        raise ValueError(
            f"groups {first!r} and {second!r} overlap at row {row}, but Mondrian takes disjoint "
            "ones: use BatchGCP or ConditionalCalibration, which take groups that overlap"
        )
    if memberships.min() < 1:
        raise ValueError(
            f"row {np.argmin(memberships)} is in no group: add a group for the rest, or use "
            "BatchGCP, which needs none"
        )
    return names[matrix.argmax(axis=1)]


def _column_labels(X: Any, columns: Any) -> NDArray[Any]:
    """Labels of one column, or "a, b" for each combination of several."""
    if not isinstance(columns, list):
        return column(X, columns)
    if not columns:
        raise ValueError("groups names no column, got []: name one, or give a function")
    parts = []
    for name in columns:
        part = column(X, name)
        check_present(part, f" in column {name!r}")
        parts.append([_escaped(label_text(value)) for value in part.tolist()])
    return np.array([", ".join(row) for row in zip(*parts, strict=True)])


def _escaped(label: str) -> str:
    """Label in which a comma cannot be taken for the end of it."""
    return label.replace("\\", "\\\\").replace(",", "\\,")


class Mondrian(GivenGroupsRule):
    """One conformal quantile for each group of a known, disjoint grouping.

    If calibration and test points are exchangeable, P(covered | group) ≥ 1 - alpha for every
    group, in finite samples.

    Parameters
    ----------
    groups : column name or position, list of them, callable, or None
        Where a row's group stands: a column of X (several columns: each combination is a group,
        commas within a label marked by a backslash), or a function that takes X and gives one
        label per row. None: labels are handed to ``fit`` and ``predict`` as an array, which is then
        no word on rows that belong together: for those, give ``groups`` here and put the rule into
        a conformal estimator, whose ``fit`` takes them. Labels may be
        a boolean matrix with one True per row; groups that overlap are for ``BatchGCP``.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    confidence : float or None, default=None
        Share of calibration sets that cover 1 - alpha at least in all groups at once, as in
        ``SplitConformal``: each of m groups may fail with probability (1 - confidence) / m.
    randomize, random_state :
        As in ``SplitConformal``: coverage of each group is 1 - alpha exactly, whatever the ties.

    Attributes
    ----------
    groups_ : ndarray of shape (m,)
        Labels of the groups seen in calibration, sorted. A new row of another group has an infinite
        threshold, with a warning; the guide "Small data" lists the causes and remedies of these.
    thresholds_, group_sizes_ : ndarray of shape (m,)
        Threshold of each, and its number of calibration points, or what they weigh.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Vovk, Gammerman, Shafer (2005). Algorithmic Learning in a Random World, section 4.5.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> X = np.repeat([[0.0], [1.0]], 9, axis=0)
    >>> scores = np.r_[1:10, 11:20]
    >>> Mondrian(groups=0).fit(X, scores).predict([[1.0], [0.0]])
    array([19.,  9.])
    """

    _reads_ranks = True

    def __init__(
        self,
        groups: Source | None = None,
        alpha: Alpha = 0.1,
        *,
        confidence: float | None = None,
        randomize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.confidence = confidence
        self.randomize = randomize
        self.random_state = random_state

    def _fit(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        groups: Any = None,
        clusters: IntArray | None = None,
    ) -> None:
        labels, scores, weights = drop_weightless(
            labels_of(self.groups, X, groups), scores, weights
        )
        self.groups_, codes = np.unique(labels, return_inverse=True)
        m, alpha = len(self.groups_), check_rate(self.alpha)
        thresholds = group_conformal_quantiles(
            scores, codes, m, alpha, weights, confidence=self.confidence
        )
        self._drawn_ranks = None
        if self.randomize:
            self._drawn_ranks = DrawnRanks.of(scores, codes, m, alpha, self.random_state)
        sizes = np.bincount(codes, weights, minlength=m)
        self._group_rows = independent_sizes(codes, m, weights, clusters)
        weighted = weights is not None
        self._settle(thresholds, sizes, len(scores), weighted=weighted, clusters=clusters)

    def fit_blocks(self, blocks: Passes) -> Self:
        """Take the conformal quantile of each group, of blocks of labels and finite scores."""
        alpha = check_alpha(self.alpha)
        check_blocks(self)
        if fitted_at_several(self):  # of an earlier fit
            del self.rules_
        self.groups_ = blocks.total(distinct).labels
        check_some(len(self.groups_))
        ranks = Ranks(blocks.then(_in_groups, self.groups_), len(self.groups_))
        self._count_blocks(ranks.sizes.sum())
        thresholds = ranks.at(group_ranks(ranks.sizes, alpha, self.confidence) - 1)
        self._settle(thresholds, ranks.sizes, int(ranks.sizes.sum()), weighted=False)
        return self

    def _settle(
        self,
        thresholds: FloatArray,
        sizes: NDArray[Any],
        n: int,
        *,
        weighted: bool,
        clusters: IntArray | None = None,
    ) -> None:
        alpha, m = check_rate(self.alpha), len(self.groups_)
        self.thresholds_, self.group_sizes_ = thresholds, sizes
        small = self.groups_[np.isinf(thresholds)].tolist()
        if small and not self.randomize:
            few = too_few_in(f"groups {shortened(small)}", m, alpha, self.confidence)
            if m * least_points(alpha) > n:  # as a column of numbers has, that was not binned
                found, remedy = _too_many(self.groups, m)
                warn_infinite(f"{found} in {n} rows, and {few}", f"{EVERY_OUTCOME}: {remedy}")
            else:
                warn_infinite(few)
        self.guarantee_ = Guarantee(
            scope="given groups",
            alpha=alpha,
            n=n,
            n_groups=m,
            note=EQUATION if self.randomize else "",
            **weighted_or_exact(weighted, confidence=self.confidence, clusters=clusters),
        )

    @property
    def _takes_clusters(self) -> bool:
        return True

    def assign(self, X: Any, groups: ArrayLike | None = None) -> Assigned:
        """Group of each row, as in ``groups_``, and its threshold; -1 and infinite if not there."""
        return self._assign_alphas(X, groups)

    def _assign(self, X: Any, groups: Any = None) -> Assigned:
        labels, codes = self._coded(X, groups)
        unseen = codes == len(self.groups_)
        if unseen.any():
            new = np.unique(labels[unseen]).tolist()
            warn_infinite(f"groups {shortened(new)} were not seen in calibration")
        thresholds = np.append(self.thresholds_, np.inf)[codes]
        if self._drawn_ranks is not None:
            known = np.minimum(codes, len(self.groups_) - 1)
            thresholds = np.where(unseen, np.inf, self._drawn_ranks.of_rows(X, known))
        return Assigned(np.where(unseen, -1, codes), thresholds)

    def _members(self, X: Any, groups: Any = None) -> Members:
        return members_of_codes(map(label_text, self.groups_), self._coded(X, groups)[1])

    def _coded(self, X: Any, given: ArrayLike | None) -> tuple[NDArray[Any], IntArray]:
        """Label of each row and its number, one beyond the last for a group not in ``groups_``."""
        labels = labels_of(self.groups, X, given)
        check_kind(self.groups_[0], labels[0], " of groups")
        codes = np.minimum(np.searchsorted(self.groups_, labels), len(self.groups_) - 1)
        return labels, np.where(self.groups_[codes] == labels, codes, len(self.groups_))


def _too_many(source: Source | None, m: int) -> tuple[str, str]:
    """Return what has too many groups, and the remedy."""
    if isinstance(source, str | int):
        return f"column {source!r} has {m} values", "bin it, or use PLCP, which learns groups"
    if isinstance(source, list):
        return f"columns {source} have {m} combinations", "join some, or name fewer columns"
    return f"groups has {m} labels", "join some, or use PLCP, which learns groups"


def _in_groups(labels: NDArray[Any], scores: FloatArray, groups: NDArray[Any]) -> Block:
    """Scores of a block, and the number of each one's group."""
    return scores, np.searchsorted(groups, labels)
