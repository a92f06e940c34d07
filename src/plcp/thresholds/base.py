"""What threshold rules share: one alpha or several, groups by name, checks at the boundary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._options import (
    check_alpha,
    check_rate,
    check_same_rows,
    check_share,
    place_of_alpha,
    shown,
)
from plcp._validation import (
    check_features,
    check_lengths,
    check_pairs,
    check_scores,
    check_weights,
    is_sound,
    takes_nan,
)
from plcp.groups.clusters import cluster_numbers, cluster_weights
from plcp.groups.groups import label_text
from plcp.out_of_core import RowDraws
from plcp.quantiles import FloatArray, IntArray, pinball_loss, smoothed_quantiles
from plcp.regressors.base import one_seed
from plcp.thresholds.guarantees import Guarantees

if TYPE_CHECKING:
    from plcp.monitoring import Monitor

Alpha = float | Sequence[float]


def lists_alphas(alpha: Any) -> bool:
    """Whether ``alpha`` lists rates, be it one or none, and is not a rate itself.

    Examples
    --------
    >>> lists_alphas([0.1, 0.2]), lists_alphas(0.1), lists_alphas("0.1")
    (True, False, False)
    """
    return isinstance(alpha, list | tuple | np.ndarray)


def check_alphas(alpha: Any) -> list[float]:
    """Miscoverage rates in (0, 1), all different, in the order given; a single one becomes a list.

    Examples
    --------
    >>> check_alphas([0.2, 0.05]), check_alphas(0.1)
    ([0.2, 0.05], [0.1])
    """
    if not lists_alphas(alpha):
        return [check_rate(alpha)]
    alphas = [check_rate(each) for each in alpha]
    if not alphas:
        raise ValueError(f"alpha lists no rate, got {shown(alpha)}: give one at least, as in [0.1]")
    if any(place_of_alpha(alphas[:i], each) is not None for i, each in enumerate(alphas)):
        raise ValueError(f"alpha lists a rate twice, got {shown(alpha)}: give each once")
    return alphas


def check_listed(alphas: Sequence[float], alpha: Any) -> int:
    """Return the place of ``alpha`` among those of a fit, which must have it.

    Examples
    --------
    >>> check_listed([0.2, 0.05], 0.05)
    1
    """
    place = place_of_alpha(alphas, alpha)
    if place is None:
        raise ValueError(f"no fit at alpha = {alpha!r}, only at {[*alphas]}: choose one of these")
    return place


def never_crossing(alphas: Sequence[float], thresholds: FloatArray) -> FloatArray:
    """Thresholds, one last column per alpha, of which none lies below that of a larger alpha.

    Each is raised to the largest threshold of its own alpha and all larger ones. So sets only
    grow, and coverage of at least 1 - alpha stays what it was; sorting the thresholds of a row
    would lower some.

    Examples
    --------
    >>> never_crossing([0.05, 0.2, 0.1], np.array([[5.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([[5., 2., 3.],
           [3., 2., 3.]])
    """
    falling = np.argsort(alphas)[::-1]
    raised = np.empty_like(thresholds)
    raised[..., falling] = np.maximum.accumulate(thresholds[..., falling], axis=-1)
    return raised


Members = dict[str, IntArray]


def members_of_codes(names: Iterable[str], codes: IntArray) -> Members:
    """Rows of disjoint groups, from the number of each row's group.

    A number beyond the names is that of no group.

    Examples
    --------
    >>> members_of_codes(["a", "b"], np.array([1, 0, 1, 2]))
    {'a': array([1]), 'b': array([0, 2])}
    """
    return _split(distinct(names), np.argsort(codes, kind="stable"), codes)


def members_of_matrix(names: Iterable[str], matrix: FloatArray) -> Members:
    """Rows of groups that may overlap, from zeros and ones, one column per group.

    Examples
    --------
    >>> members_of_matrix(["a", "b"], np.array([[1.0, 0.0], [1.0, 1.0]]))
    {'a': array([0, 1]), 'b': array([1])}
    """
    codes, rows = np.nonzero(matrix.T)
    return _split(distinct(names), rows, codes)


def distinct(names: Iterable[str]) -> list[str]:
    """Names of which no two are alike: the second "a" is "a (2)".

    Examples
    --------
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    given = [*names]
    taken = {*given}
    found: list[str] = []
    for name in given:
        own, times = name, 1
        while own in found or (times > 1 and own in taken):
            times += 1
            own = f"{name} ({times})"
        found.append(own)
    return found


def _split(names: list[str], rows: IntArray, codes: IntArray) -> Members:
    """Rows that are ordered by group, cut where one group ends."""
    ends = np.cumsum(np.bincount(codes, minlength=len(names))[: len(names)])
    return dict(zip(names, np.split(rows[: ends[-1]], ends[:-1]), strict=True))


def check_confidence(confidence: Any) -> float:
    """Share of calibration sets in (0, 1) that are to keep a promise."""
    return check_share("confidence", confidence, ": 0.95 asks for 95 % of calibration sets")


def check_ranks(rule: Any, sample_weight: Any = None, clusters: Any = None) -> None:
    """Refuse a confidence or randomised ranks that mean nothing, together or with weights."""
    confidence, randomize = getattr(rule, "confidence", None), getattr(rule, "randomize", False)
    if not isinstance(randomize, bool):
        raise ValueError(f"randomize must be True or False, got {shown(randomize)}")
    if confidence is not None:
        check_confidence(confidence)
        if randomize:
            raise ValueError(
                "confidence is kept by ranks that randomize=True would draw: leave one of them out"
            )
    given = {"sample_weight": sample_weight, "groups=": clusters}
    unequal = next((name for name, value in given.items() if value is not None), None)
    if unequal and (randomize or confidence is not None):
        name = "randomize" if randomize else "confidence"
        raise ValueError(
            f"{unequal} is not supported with {name}, whose ranks count every row once: leave "
            "one of them out"
        )


def check_blocks(rule: Any) -> None:
    """Refuse options of ranks that mean nothing, and those that rows in blocks cannot have."""
    check_ranks(rule)
    if rule.randomize:
        raise ValueError("randomize=True needs all rows in memory, not in blocks: leave it out")


@dataclass(frozen=True)
class DrawnRanks:
    """Smoothed quantiles of groups, of which a draw by the content of a row chooses.

    Parameters
    ----------
    ends : ndarray of shape (m, 3)
        Ends of the steps of each group, one where there are fewer.
    thresholds : ndarray of shape (m, 4)
        Threshold of each step.
    seed : int
        Seed of the draws.
    """

    ends: FloatArray
    thresholds: FloatArray
    seed: int

    @classmethod
    def of(
        cls, scores: FloatArray, groups: IntArray, n_groups: int, alpha: float, random_state: Any
    ) -> Self:
        """Return those of calibration scores."""
        ends, thresholds = np.ones((n_groups, 3)), np.full((n_groups, 4), np.inf)
        last = np.bincount(groups, minlength=n_groups).cumsum()[:-1]
        parts = np.split(scores[np.argsort(groups, kind="stable")], last)
        for group, part in enumerate(parts):
            own, steps = smoothed_quantiles(part, alpha)
            ends[group, : len(own)], thresholds[group, : len(steps)] = own, steps
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        return cls(ends, thresholds, int(seed))

    def of_rows(self, X: Any, groups: IntArray) -> FloatArray:
        """Threshold of each row, given the number of its group."""
        steps = self.ends[groups] < RowDraws(X, self.seed, "rank").random()[:, None]
        return self.thresholds[groups, steps.sum(axis=1)]


def result_of_each(fitted: Any, alphas: list[float], method: str) -> ValueError:
    """Return the error that a method has a result of its own at each alpha."""
    return ValueError(
        f"each alpha of this {type(fitted).__name__} has a result of its own, alpha = {alphas}: "
        f"choose one of them, as at({alphas[0]:g}).{method} does"
    )


class Assigned(NamedTuple):
    """Group number of each row, where rows have just one, and the threshold of each."""

    groups: IntArray | None
    thresholds: FloatArray


class ThresholdRule(RegressorMixin, Estimator):
    """Turns calibration pairs (x, s) into a threshold function x ↦ q(x).

    A rule is a scikit-learn regressor whose target is the score: ``fit(X, scores)`` learns,
    ``predict(X)`` gives thresholds, and the prediction set of x is {y : S(x, y) ≤ q(x)}. After
    ``fit``, ``guarantee_`` says which coverage holds, and when: a ``Guarantee``.

    Where ``alpha`` lists several rates, ``rules_`` holds a fitted rule for each, and thresholds
    have one column per alpha, in the order given. They never cross: one below that of a larger
    alpha is raised to it, so that sets are nested, and only grow.

    A subclass writes ``_fit`` and ``_predict``, for a single alpha and rows that have been checked,
    and ``_members`` if it has groups; or ``fit`` and ``predict``, and does all of it by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.thresholds import ThresholdRule
    >>> class Largest(ThresholdRule):
    ...     def __init__(self, alpha=0.1):
    ...         self.alpha = alpha
    ...     def fit(self, X, y):
    ...         self.threshold_ = max(y)
    ...         return self
    ...     def predict(self, X):
    ...         return np.full(len(X), self.threshold_)
    ...
    >>> Largest().fit([[0.0], [1.0]], [3.0, 5.0]).predict([[7.0]])
    array([5.])
    """

    alpha: Any  # a rate, or several
    guarantee_: Any  # a Guarantee; for several alphas Guarantees
    rules_: list[Self]  # for several alphas: one rule each
    _reads_ranks: bool = False  # whether thresholds are ranks among held-out scores
    _alphas: list[float]  # of the fit
    _n_calibration: float  # calibration rows, of weighted ones the effective number (Kish)
    _weighted: bool = False  # whether any of them count as more or less than one
    _drawn_ranks: DrawnRanks | None = None  # of the fit, if ranks are drawn
    _group_rows: FloatArray | None = None  # the effective number in each group, if weighted
    _clustered: bool = False  # whether it was

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn thresholds from features ``X`` and scores ``y``.

        ``sample_weight`` counts rows: weight 2 stands for two rows, weight 0 for none, and a test
        point has weight one. For covariate shift, give likelihood ratios of test to calibration
        points, on a scale where hardly any test point has one above 1: those that have are covered
        too seldom.
        """
        return self._fit_alphas(X, y, sample_weight)

    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one per row; for several alphas one column each."""
        return self._assign_alphas(X).thresholds

    def assign(self, X: Any) -> Assigned:
        """Group and threshold of each row, at the price of one prediction.

        Groups are numbered as in ``thresholds_``, -1 for one that calibration did not have; None
        where rows do not have just one, or each of several alphas has its own.
        """
        return Assigned(None, self.predict(X))

    def members(self, X: Any) -> Members:
        """Rows of each group that the rule learned or was given, by name; a rule may have none."""
        return self._members_of(X)

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None, *groups: Any) -> None:
        """Learn thresholds at a single alpha from checked rows.

        A rule with ``_takes_clusters`` takes ``clusters``, too: the number of each row's group, of
        those that belong together. Rows then weigh 1 / (rows of their group).
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method _fit, or fit")

    def _predict(self, X: Any, *groups: Any) -> FloatArray:
        """Thresholds of checked rows at a single alpha."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _predict, or predict")

    def _assign(self, X: Any, *groups: Any) -> Assigned:
        """Group and threshold of checked rows at a single alpha."""
        return Assigned(None, self._predict(X, *groups))

    def _members(self, X: Any, *groups: Any) -> Members:
        """Rows of each group among checked rows."""
        return {}

    def _check_options(self) -> None:
        """Refuse options that mean nothing, before rows are read."""

    def _allows_nan(self, *groups: Any) -> bool:
        """Whether X may have missing values, or another part of the rule refuses them."""
        return takes_nan(self)

    def _fit_alphas(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Any,
        *groups: Any,
        clusters: IntArray | None = None,
    ) -> Self:
        """Check options and rows once, then fit the single alpha, or one rule for each."""
        alphas = [check_alpha(alpha) for alpha in check_alphas(self.alpha)]
        check_ranks(self, sample_weight, clusters)
        self._check_options()
        check_random_state(getattr(self, "random_state", None))
        if lists_alphas(self.alpha) or fitted_at_several(self):
            self._forget()
        nan = self._allows_nan(*groups)
        X, scores, weights = check_pairs(self, X, y, sample_weight, allow_nan=nan)
        self._alphas, self._clustered = alphas, clusters is not None
        given: dict[str, Any] = {}
        if clusters is not None:
            self._n_calibration, self._weighted = float(len(np.unique(clusters))), True
            weights, given = cluster_weights(clusters), {"clusters": clusters}
        if not lists_alphas(self.alpha):
            self._fit(X, scores, weights, *groups, **given)
            return self
        self.rules_ = self._fit_rules(alphas, X, scores, weights, *groups, **given)
        self.guarantee_ = Guarantees(tuple(rule.guarantee_ for rule in self.rules_))
        return self

    def _fit_rules(self, alphas: list[float], *pairs: Any, **given: Any) -> list[Self]:
        """Fit one rule per alpha to checked rows, all with the same draws."""
        rules = [self._rule_at(alpha) for alpha in alphas]
        if "random_state" in self.get_params(deep=False):
            seed = one_seed(self.random_state)
            rules = [rule.set_params(random_state=seed) for rule in rules]
        for rule in rules:
            rule._fit(*pairs, **given)
        return rules

    def _rule_at(self, alpha: float) -> Self:
        """Return a rule at one of several alphas, to be fitted to rows that were checked here."""
        rule, options = clone(self).set_params(alpha=alpha), self.get_params(deep=False)
        vars(rule).update({k: v for k, v in vars(self).items() if k not in {*options, "_alphas"}})
        return rule

    def _forget(self) -> None:
        """Drop what an earlier fit has found: at other alphas it would be wrong, not only old."""
        for name in [*vars(self)]:
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def _assign_alphas(self, X: Any, *groups: Any) -> Assigned:
        if not (hasattr(self, "guarantee_") and is_sound(self, X)):  # tags take long to read
            check_is_fitted(self, "guarantee_")
            X = check_features(self, X, reset=False, allow_nan=self._allows_nan(*groups))
        if not fitted_at_several(self):
            return self._assign(X, *groups)
        parts = self._assign_rules(X, *groups)
        shared = parts[0].groups if self._shares_groups() else None
        return Assigned(shared, side_by_side(self.rules_, [part.thresholds for part in parts]))

    def _assign_rules(self, X: Any, *groups: Any) -> list[Assigned]:
        """Return what the rule of each alpha gives to checked rows."""
        return [rule._assign(X, *groups) for rule in self.rules_]

    def _members_of(self, X: Any, *groups: Any) -> Members:
        rule = self._any_alpha("members")
        nan = rule._allows_nan(*groups)
        return rule._members(check_features(rule, X, reset=False, allow_nan=nan), *groups)

    def _any_alpha(self, method: str) -> Self:
        """Return the rule of any alpha, for a method whose result must be the same for all."""
        check_is_fitted(self, "guarantee_")
        if not fitted_at_several(self):
            return self
        if not self._shares_groups():
            raise result_of_each(self, [rule.alpha for rule in self.rules_], method)
        return self.rules_[0]

    def _shares_groups(self) -> bool:
        """Whether several alphas have the same groups."""
        return True

    def group_names(self) -> list[str]:
        """Return the names of the groups that were learned or given, in their order."""
        return distinct(label_text(group) for group in getattr(self, "groups_", ()))

    def monitor(self, rate: float = 0.05) -> "Monitor":
        """Return a monitor of coverage in each group, for rows whose scores are known later.

        Of several alphas each is monitored with its own thresholds, before any is raised to that of
        a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        from plcp.monitoring import Monitor

        return Monitor(self, rate)

    def _count_blocks(self, n: float) -> None:
        """Note how many rows calibrated in blocks, of weight one each."""
        self._n_calibration, self._weighted, self._clustered = float(n), False, False
        self._alphas, self._drawn_ranks = check_alphas(self.alpha), None
        self.__dict__.pop("_group_rows", None)  # of an earlier fit, with weights

    @property
    def _takes_clusters(self) -> bool:
        """Whether it can be given which rows belong together."""
        return False

    @property
    def _takes_teachers(self) -> bool:
        """Whether ``fit`` takes ``teachers``, other rows that the rule learns from."""
        return False

    @property
    def _reads_prediction(self) -> bool:
        """Whether a conformal estimator gives it the model's prediction, as one more column."""
        return False

    @property
    def draws(self) -> bool:
        """Whether thresholds depend on draws, which follow from the content of a row."""
        return bool(getattr(self, "randomize", False))

    def at(self, alpha: float) -> Self:
        """Return the rule of one of the alphas that this one was fitted at.

        Its thresholds are its own, which those of a larger alpha do not raise. A rule of a single
        alpha gives itself.

        Examples
        --------
        >>> from plcp import SplitConformal
        >>> rule = SplitConformal(alpha=[0.1, 0.2]).fit([[0.0]] * 9, range(9))
        >>> rule.at(0.2).threshold_
        7.0
        """
        check_is_fitted(self, "guarantee_")
        return getattr(self, "rules_", [self])[check_listed(self._fitted_alphas(), alpha)]

    def _fitted_alphas(self) -> list[float]:
        """Return the alphas of the fit, which ``set_params`` does not change."""
        return getattr(self, "_alphas", None) or check_alphas(self.alpha)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Negative mean pinball loss of the thresholds: larger is better.

        Its excess bounds the mean squared conditional coverage error, so it is the metric to
        validate with, and the default of ``GridSearchCV``. An infinite threshold counts as the
        largest of ``y``, so that one row does not dominate. Of several alphas, their mean.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        scores, weights = check_scores(y), check_weights(sample_weight, X)
        thresholds = self.predict(X)
        check_lengths(thresholds, scores)
        bounded = np.clip(thresholds, scores.min(), scores.max())
        finite = np.where(np.isfinite(thresholds), thresholds, bounded)
        columns = zip(self._fitted_alphas(), finite.reshape(len(scores), -1).T, strict=True)
        losses = [pinball_loss(column, scores, alpha) for alpha, column in columns]
        return -float(np.mean([np.average(loss, weights=weights) for loss in losses]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A (1 - alpha)-quantile is far from the mean that R² would reward.
        tags.regressor_tags.poor_score = True
        return tags


class ClusteredRule(ThresholdRule):
    """A rule that can be given which rows belong together."""

    @property
    def _takes_clusters(self) -> bool:
        return True

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn thresholds from features ``X`` and scores ``y``.

        ``sample_weight`` counts rows: weight 2 stands for two rows, weight 0 for none, and a test
        point has weight one. For covariate shift, give likelihood ratios of test to calibration
        points, on a scale where hardly any test point has one above 1: those that have are covered
        too seldom.

        ``groups`` tells which rows belong together, such as the patient of each: they stay on one
        side of every division, each group counts as one, and coverage holds for a row drawn at
        random from a new group; not for a chosen one, such as the first visit of a patient. For
        groups that are to be covered one by one, see ``Mondrian``.
        """
        clusters = cluster_numbers(groups, X, sample_weight)
        return self._fit_alphas(X, y, sample_weight, clusters=clusters)


class GivenGroupsRule(ThresholdRule):
    """A rule for groups that the user gives: in ``groups=`` of the rule, or of every call."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn thresholds from features ``X``, scores ``y`` and groups.

        ``sample_weight`` counts rows, as in ``SplitConformal``. ``groups`` holds the groups of the
        rows where the rule itself names none.
        """
        return self._fit_alphas(X, y, sample_weight, groups)

    def predict(self, X: Any, groups: ArrayLike | None = None) -> FloatArray:
        """Thresholds q(x), one per row; for several alphas one column each."""
        return self._assign_alphas(X, groups).thresholds

    def assign(self, X: Any, groups: ArrayLike | None = None) -> Assigned:
        """Group of each row, if rows have just one (-1: new to the rule), and its threshold."""
        return Assigned(None, self.predict(X, groups))

    def members(self, X: Any, groups: ArrayLike | None = None) -> Members:
        """Rows of each group, by name; those of a group new to the rule are in none."""
        return self._members_of(X, groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags


def fit_rule(
    rule: Any,
    X: Any,
    scores: FloatArray,
    weights: FloatArray | None,
    clusters: IntArray | None,
    **given: Any,
) -> Any:
    """Fit a rule to rows that weigh something, or belong together, or neither."""
    if clusters is None:
        return rule.fit(X, scores, *(() if weights is None else (weights,)), **given)
    return rule._fit_alphas(X, scores, None, *given.values(), clusters=clusters)


def side_by_side(rules: list[Any], thresholds: list[FloatArray]) -> FloatArray:
    """Thresholds of one rule per alpha, one column each, none below that of a larger alpha."""
    return never_crossing([rule.alpha for rule in rules], np.column_stack(thresholds))


def fitted_at_several(rule: Any) -> bool:
    """Whether a rule was fitted at several alphas."""
    return hasattr(rule, "rules_")
