"""The contract of a threshold rule: a regressor of scores."""

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.estimator import Estimator
from plcp.quantiles import FloatArray, IntArray, pinball_loss
from plcp.thresholds.levels import check_levels, check_listed, guarantee_at_levels
from plcp.thresholds.members import Members
from plcp.thresholds.watching import Watchable
from plcp.validation import check_features, check_lengths, check_scores, check_weights


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


def one_seed(random_state: Any) -> int:
    """Return a seed that several rules can share; one that is a number already stays the same."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
