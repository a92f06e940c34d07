"""Several levels: which they are, thresholds that never cross, and what then holds."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator, from_one_fit
from plcp._options import check_rate, check_same_rows, shown
from plcp._validation import check_features, check_lengths, check_scores, check_weights
from plcp.groups.groups import label_text
from plcp.monitoring import Monitor
from plcp.monitoring.martingale import Urn
from plcp.monitoring.monitor import Sighting, Watch
from plcp.quantiles import FloatArray, IntArray, pinball_loss
from plcp.regressors.base import one_seed
from plcp.thresholds.guarantees import EXACT

Alpha = float | Sequence[float]


def is_several(alpha: Any) -> bool:
    """Whether ``alpha`` lists levels, be it one or none, and is not a level itself.

    Examples
    --------
    >>> is_several([0.1, 0.2]), is_several(0.1), is_several("0.1")
    (True, False, False)
    """
    return isinstance(alpha, list | tuple | np.ndarray)


def check_levels(alpha: Any) -> list[float]:
    """Miscoverage rates in (0, 1), no two alike, in the order given; one alone counts too.

    Examples
    --------
    >>> check_levels([0.2, 0.05]), check_levels(0.1)
    ([0.2, 0.05], [0.1])
    """
    if not is_several(alpha):
        return [check_rate(alpha)]
    levels = [check_rate(level) for level in alpha]
    if not levels:
        raise ValueError(
            f"alpha lists no level, got {shown(alpha)}: give one at least, as in [0.1]"
        )
    if len({*levels}) < len(levels):
        raise ValueError(f"alpha lists a level twice, got {shown(alpha)}: give each once")
    return levels


def check_listed(levels: Sequence[float], alpha: Any) -> int:
    """Return the place of ``alpha`` among the levels of a fit, which must be there.

    Examples
    --------
    >>> check_listed([0.2, 0.05], 0.05)
    1
    """
    if is_several(alpha) or alpha not in levels:
        raise ValueError(f"no fit at alpha = {alpha!r}, only at {[*levels]}: choose one of these")
    return levels.index(alpha)


def never_crossing(levels: Sequence[float], thresholds: FloatArray) -> FloatArray:
    """Thresholds, one column a level, of which none lies below that of a larger alpha.

    Each is raised to the largest threshold of its own alpha and all larger ones. So sets only
    grow, and coverage of at least 1 - alpha stays what it was; sorting the thresholds of a row
    would lower some.

    Examples
    --------
    >>> never_crossing([0.05, 0.2, 0.1], np.array([[5.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([[5., 2., 3.],
           [3., 2., 3.]])
    """
    falling = np.argsort(levels)[::-1]
    raised = np.empty_like(thresholds)
    raised[:, falling] = np.maximum.accumulate(thresholds[:, falling], axis=1)
    return raised


def guarantee_at_levels(levels: Sequence[float], sentences: Sequence[str]) -> str:
    """Sentences about one level each, put together.

    Examples
    --------
    >>> print(guarantee_at_levels([0.1, 0.2], ["P(covered) >= 0.9.", "P(covered) >= 0.8."]))
    At alpha = 0.1: P(covered) >= 0.9.
    At alpha = 0.2: P(covered) >= 0.8.
    A threshold below that of a larger alpha is raised to it, so that sets are nested: they only \
grow, and where they do coverage may be above what is said.
    """
    each = [
        f"At alpha = {level:g}: {sentence}"
        for level, sentence in zip(levels, sentences, strict=True)
    ]
    nested = (
        "A threshold below that of a larger alpha is raised to it, so that sets are nested: they "
        "only grow, and where they do coverage may be above what is said."
    )
    return "\n".join([*each, nested])


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
    """Rows of groups that may overlap, from zeros and ones, one column a group.

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


NUMBERS = ("threshold_", "thresholds_", "level_", "levels_", "coef_", "intercept_", "scores_")


class Watchable:
    """A rule that can be watched once it is fitted."""

    _reads_ranks: ClassVar[bool] = False  # whether thresholds are ranks among scores held out
    _n_calibration: float  # calibration rows; of weighted ones, how many equal ones tell as much
    _weighted: bool = False  # whether any of them count as more or less than one
    _group_rows: FloatArray | None = None  # the same as _n_calibration of each group, if weighted
    data_digest_: str | None  # of the rows that taught it, see ``plcp._validation``

    def monitor(self, rate: float = 0.05) -> Monitor:
        """Return a monitor of coverage in each group, for rows whose scores are known later.

        Of several levels each is watched by thresholds of its own, before any is raised to those of
        a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        check_is_fitted(self, "guarantee_")
        return Monitor(self, rate)

    @from_one_fit
    def _watched(self) -> list[Watch]:
        """Return what a monitor watches, one a level."""
        if not hasattr(self, "rules_"):
            return [_watch_of(self)]
        each = ((rule.alpha, rule._watched()) for rule in self.rules_)
        return [w._replace(title=f"alpha {alpha:g}, ") for alpha, watches in each for w in watches]

    @from_one_fit
    def _sight(self, X: Any, y: ArrayLike, rule_groups: ArrayLike | None = None) -> list[Sighting]:
        """Return which rows with scores ``y`` were missed, and the rows of each group."""
        given = () if rule_groups is None else (rule_groups,)
        if given:
            _check_takes_groups(self)
        rules = self.rules_ if hasattr(self, "rules_") else [self]
        check_same_rows(X, y=y)
        scores = check_scores(y)
        return [_sighting_of(rule, X, scores, *given) for rule in rules]

    def _count_blocks(self, n: float) -> None:
        """Note how many rows calibrated in blocks: they were never in one place, to be digested."""
        self._n_calibration, self.data_digest_ = float(n), None
        self._weighted = False
        vars(self).pop("_group_rows", None)  # of an earlier fit, with weights

    def group_names(self) -> list[str]:
        """Return the names of the groups that were learned or given, in their order."""
        return distinct(label_text(group) for group in getattr(self, "groups_", ()))


def _check_takes_groups(rule: Any) -> None:
    if "groups" not in signature(rule.predict).parameters:
        raise ValueError(
            f"rule_groups are for rules whose predict takes groups, which {type(rule).__name__} "
            "does not: leave them out"
        )


def _watch_of(rule: Any) -> Watch:
    alpha, names = float(rule.alpha), rule.group_names()
    sizes = _rows_of_groups(rule) if names else np.empty(0)
    return Watch(
        title="",
        alpha=alpha,
        everybody=Urn.of(_calibration_rows(rule, sizes), alpha, rule._weighted),
        groups={
            name: Urn.of(size, alpha, rule._weighted)
            for name, size in zip(distinct(["all", *names])[1:], sizes, strict=True)
        },
        # equal new rows share their draw, and each row that calibrated has its own
        exact=rule._reads_ranks and EXACT in rule.guarantee_ and not rule.draws,
        digest=_digest(rule, alpha),
    )


def _rows_of_groups(rule: Any) -> FloatArray:
    """Return how many rows calibrated each group; of weighted ones, how many tell as much."""
    return np.asarray(rule.group_sizes_ if rule._group_rows is None else rule._group_rows)


def _calibration_rows(rule: Any, sizes: Any) -> float:
    """Return how many rows calibrated; of groups that were counted in blocks, their sum."""
    if hasattr(rule, "_n_calibration"):
        return float(rule._n_calibration)
    if len(sizes):
        return float(np.sum(sizes))
    raise ValueError(
        f"this {type(rule).__name__} was fitted by an earlier version and does not know by how "
        "many rows: fit it anew to monitor it"
    )


def _sighting_of(rule: Any, X: Any, scores: Any, *given: ArrayLike) -> Sighting:
    groups, thresholds = rule.assign(X, *given)
    check_lengths(thresholds, scores)
    names = rule.group_names()
    if groups is None or not names:
        members = rule.members(X, *given)
    else:
        members = members_of_codes(names, np.where(groups < 0, len(names), groups))
    disjoint = bool(names) and groups is not None
    return Sighting(scores > thresholds, [*members.values()], disjoint)


def _digest(rule: Any, alpha: float) -> str:
    """Digest of the numbers that thresholds are made of."""
    digest = hashlib.sha256(f"{type(rule).__name__} {alpha!r}".encode())
    digest.update(str(getattr(rule, "data_digest_", None)).encode())
    for name in NUMBERS:
        if hasattr(rule, name):
            digest.update(np.asarray(getattr(rule, name), dtype="<f8").tobytes())
    return digest.hexdigest()


class Assigned(NamedTuple):
    """What a rule gives to rows: the number of each one's group, if it has any, and a threshold."""

    groups: IntArray | None
    thresholds: FloatArray


class ThresholdRule(Watchable, RegressorMixin, Estimator, ABC):
    """Turns calibration pairs (x, s) into a threshold function x ↦ q(x).

    A rule is a scikit-learn regressor whose target is the score: ``fit(X, scores)`` learns,
    ``predict(X)`` gives thresholds, and the prediction set of x is {y : S(x, y) ≤ q(x)}. After
    ``fit``, ``guarantee_`` is a sentence that says which coverage holds, and when.

    Where ``alpha`` lists several levels, ``rules_`` holds a fitted rule for each, and thresholds
    have one column a level, in the order given. They never cross: one below that of a larger alpha
    is raised to it, so that sets are nested, and only grow.
    """

    alpha: Any  # a level, or several
    guarantee_: str
    _digests_data = True
    rules_: list[Self]  # at several levels: one a level

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn thresholds from features ``X`` and scores ``y``."""

    @abstractmethod
    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one a row; at several levels one column each."""

    def assign(self, X: Any) -> Assigned:
        """Group and threshold of each row, at the price of one prediction.

        Groups are numbered as in ``thresholds_``, -1 for one never seen; None where no row has
        just one, be it that each of several levels has its own.
        """
        return Assigned(None, self.predict(X))

    def members(self, X: Any) -> Members:
        """Rows of each group that the rule learned or was given, by name; a rule may have none."""
        check_is_fitted(self)
        check_features(self, X, reset=False, allow_nan=True)
        return {}

    @property
    def draws(self) -> bool:
        """Whether thresholds depend on draws, which follow from the content of a row."""
        return False

    def at(self, alpha: float) -> Self:
        """Return the rule of one of the levels that this one was fitted at.

        Its thresholds are its own, which those of a larger alpha do not raise. A rule of one level
        gives itself.

        Examples
        --------
        >>> from plcp import SplitConformal
        >>> rule = SplitConformal(alpha=[0.1, 0.2]).fit([[0.0]] * 9, range(9))
        >>> rule.at(0.2).threshold_
        7.0
        """
        check_is_fitted(self, "guarantee_")
        rules = getattr(self, "rules_", [self])
        return rules[check_listed([rule.alpha for rule in rules], alpha)]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Negative mean pinball loss of the thresholds: larger is better.

        Its excess bounds the mean squared conditional coverage error, so it is the metric to
        validate with; ``GridSearchCV`` uses it when told nothing else. An infinite threshold is
        charged as the largest of ``y``, else a single one would decide about all. Of several
        levels, their mean.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        scores, weights = check_scores(y), check_weights(sample_weight, X)
        thresholds = self.predict(X)
        check_lengths(thresholds, scores)
        bounded = np.clip(thresholds, scores.min(), scores.max())
        finite = np.where(np.isfinite(thresholds), thresholds, bounded)
        columns = zip(check_levels(self.alpha), finite.reshape(len(scores), -1).T, strict=True)
        losses = [pinball_loss(column, scores, level) for level, column in columns]
        return -float(np.mean([np.average(loss, weights=weights) for loss in losses]))

    def _fit_levels(self, levels: list[float], *given: Any, **named: Any) -> list[Self]:
        """Fit one rule a level, all with the same draws."""
        seed: dict[str, Any] = {}
        if "random_state" in self.get_params(deep=False):
            seed["random_state"] = one_seed(self.random_state)
        rules = [clone(self).set_params(alpha=level, **seed) for level in levels]
        return [rule.fit(*given, **named) for rule in rules]

    def _take_levels(self, rules: list[Self]) -> None:
        """Be fitted, with one fitted rule a level."""
        self.rules_ = rules
        levels, sentences = zip(*((rule.alpha, rule.guarantee_) for rule in rules), strict=True)
        self.guarantee_ = guarantee_at_levels(levels, sentences)
        for name in ("n_features_in_", "feature_names_in_", "data_digest_"):
            if hasattr(rules[0], name):
                setattr(self, name, getattr(rules[0], name))

    def _levels_agree(self) -> bool:
        """Whether all levels have the same groups."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A (1 - alpha)-quantile is far from the mean that R² would reward.
        tags.regressor_tags.poor_score = True
        return tags


Method = TypeVar("Method", bound=Callable[..., Any])


def fits_each_level(fit: Method) -> Method:
    """Make ``fit`` of one level fit every level that ``alpha`` lists, as ``rules_``."""

    @wraps(fit)
    def fitted(self: Any, *given: Any, **named: Any) -> Any:
        if not is_several(self.alpha):
            forget_levels(self)
            return fit(self, *given, **named)
        rules = self._fit_levels(check_levels(self.alpha), *given, **named)
        forget_fit(self)
        self._take_levels(rules)
        return self

    return cast(Method, fitted)


def predicts_each_level(predict: Method) -> Method:
    """Make ``predict`` of one level give the thresholds of all, one column each."""

    @wraps(predict)
    def predicted(self: Any, *given: Any, **named: Any) -> Any:
        if not has_levels(self):
            return predict(self, *given, **named)
        return side_by_side(self.rules_, [predict(r, *given, **named) for r in self.rules_])

    return cast(Method, predicted)


def assigns_each_level(assign: Method) -> Method:
    """Make ``assign`` of one level give the thresholds of all beside the groups they share."""

    @wraps(assign)
    def assigned(self: Any, *given: Any, **named: Any) -> Assigned:
        if not has_levels(self):
            return cast(Assigned, assign(self, *given, **named))
        parts = [assign(rule, *given, **named) for rule in self.rules_]
        groups = parts[0].groups if self._levels_agree() else None
        return Assigned(groups, side_by_side(self.rules_, [part.thresholds for part in parts]))

    return cast(Method, assigned)


def asks_any_level(ask: Method) -> Method:
    """Make a question that all levels answer alike ask one of them, and refuse any other."""

    @wraps(ask)
    def asked(self: Any, *given: Any, **named: Any) -> Any:
        if not has_levels(self):
            return ask(self, *given, **named)
        if not self._levels_agree():
            raise ValueError(
                f"each level of this {type(self).__name__} has an answer of its own, "
                f"alpha = {[rule.alpha for rule in self.rules_]}: ask one of them, as "
                f"at({self.rules_[0].alpha:g}).{ask.__name__} does"
            )
        return ask(self.rules_[0], *given, **named)

    return cast(Method, asked)


def side_by_side(rules: list[Any], thresholds: list[FloatArray]) -> FloatArray:
    """Thresholds of one rule a level, one column each, none below that of a larger alpha."""
    return never_crossing([rule.alpha for rule in rules], np.column_stack(thresholds))


def has_levels(rule: Any) -> bool:
    """Whether a rule was fitted at several levels."""
    return hasattr(rule, "rules_")


def forget_levels(rule: Any) -> None:
    """Drop an earlier fit at several levels, before one at a single level."""
    if has_levels(rule):
        forget_fit(rule)


def forget_fit(rule: Any) -> None:
    """Drop what an earlier fit has found: at other levels it would be wrong, not only old."""
    for name in [name for name in vars(rule) if name.endswith("_") and not name.startswith("_")]:
        delattr(rule, name)
