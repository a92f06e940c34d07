"""Which model, score and rule go together in a conformal estimator, and at which alpha."""

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from plcp._options import check_alpha, check_instance, shown
from plcp.models import MeanScalePair, QuantilePair
from plcp.quantiles import shared_confidence
from plcp.scores import (
    AbsoluteResidual,
    NormalizedResidual,
    QuantileResidual,
    Score,
    SignedResidual,
)
from plcp.thresholds import ThresholdRule
from plcp.thresholds.base import check_alphas, check_confidence, lists_alphas

_SCORES = {
    "regression": "AbsoluteResidual or another residual",
    "classification": "LabelProbability or CumulativeProbability",
}
_CONFORMAL = {"regression": "ConformalRegressor", "classification": "ConformalClassifier"}
SCORE_OF_PAIR = {QuantilePair: QuantileResidual, MeanScalePair: NormalizedResidual}
_RESIDUALS = (AbsoluteResidual, SignedResidual, NormalizedResidual, QuantileResidual)


def check_model(estimator: Any, score: Any, task: str) -> None:
    """Raise for a model or a score that does not fit the task."""
    check_instance("conformity", score)
    check_instance("estimator", estimator)
    if isinstance(estimator, QuantilePair | MeanScalePair):
        for name, member in estimator._given().items():
            check_instance(name, member)
    if not isinstance(score, Score):
        remedy = (
            "a rule is passed as threshold="
            if isinstance(score, ThresholdRule)
            else f"use {_SCORES[task]}; the miscoverage rate is passed as alpha="
        )
        raise TypeError(f"conformity must be a Score, got {score!r}: {remedy}")
    if isinstance(estimator, tuple | list):
        raise TypeError(
            "estimator must be one model, got several: pass QuantilePair(lower, upper) or "
            "MeanScalePair(mean, scale)"
        )
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be a scikit-learn estimator, got {shown(estimator)}: give one such as "
            "Ridge(), and wrap any other object, once trained, in FrozenEstimator"
        )
    if score.task is None:
        return  # a score of the user's own may read any model
    other = "classification" if task == "regression" else "regression"
    if score.task != task:
        raise TypeError(
            f"{score} is a score for {score.task}, but {_CONFORMAL[task]} needs one for {task}: "
            f"use {_SCORES[task]}, or {_CONFORMAL[other]}"
        )
    model = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    own = SCORE_OF_PAIR.get(type(model))
    if own is not None and type(score) in _RESIDUALS and type(score) is not own:
        raise TypeError(
            f"{score} does not read the two columns of {type(model).__name__}: pass "
            f"conformity={own.__name__}()"
        )
    kinds = {"regression": "regressor", "classification": "classifier"}
    tags = tags_of(estimator)
    has_probabilities = task == "classification" and hasattr(estimator, "predict_proba")
    if tags is not None and tags.estimator_type == kinds[other] and not has_probabilities:
        raise TypeError(
            f"{_CONFORMAL[task]} needs a {kinds[task]}, got the {kinds[other]} {estimator}: "
            f"use {_CONFORMAL[other]}"
        )


def tags_of(estimator: Any) -> Any:
    """Return the tags of a model; None if it has none of scikit-learn's."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):
        return None


def check_is_rule(rule: Any) -> None:
    """Raise for what is no threshold rule, and name some."""
    check_instance("threshold", rule)
    if isinstance(rule, ThresholdRule):
        return
    if isinstance(rule, Score):
        remedy = "a score is passed as conformity="
    else:
        remedy = (
            "use PLCP() (learned groups), SplitConformal() (one threshold) or Mondrian('column') "
            "(given groups); the miscoverage rate is passed as alpha="
        )
    raise TypeError(f"threshold must be a ThresholdRule, got {rule!r}: {remedy}")


def check_rule(rule: Any, mondrian: type[Any]) -> None:
    """Raise for a rule that no conformal estimator can fit."""
    if isinstance(rule, mondrian) and rule.groups is None:
        kind = type(rule).__name__
        raise ValueError(
            f"{kind}(groups=None) takes labels by hand, which a conformal estimator cannot pass "
            f"on: name a column of X or give a function of X, as in {kind}(groups=...)"
        )


def check_takes_clusters(rule: ThresholdRule) -> None:
    """Raise for a rule that takes no groups of rows that belong together."""
    if not rule._takes_clusters:
        raise TypeError(
            f"{type(rule).__name__} counts every row as one, and takes no groups of rows: choose "
            "PLCP, SplitConformal, Mondrian or Rectified, or leave groups out"
        )


def rule_at(rule: Any, alpha: Any, *, given: bool) -> Any:
    """Return the rule at the alpha of its conformal estimator, if that has one.

    A rule ``given`` by the user has an alpha, too: the two must be the same, unless that of the
    rule is the default of its class, which the user may not have chosen.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> rule_at(SplitConformal(), 0.2, given=True), rule_at(SplitConformal(0.3), None, given=True)
    (SplitConformal(alpha=0.2), SplitConformal(alpha=0.3))
    """
    check_alphas(rule.alpha if alpha is None else alpha)
    if alpha is None or np.array_equal(alpha, rule.alpha):
        return rule
    default = signature(type(rule)).parameters["alpha"].default if given else rule.alpha
    if not np.array_equal(rule.alpha, default):
        raise ValueError(
            f"alpha is {alpha} for the sets, but {rule.alpha} in threshold={rule}: give it in one "
            f"place, as in threshold={type(rule).__name__}(..., alpha={alpha})"
        )
    return clone(rule).set_params(alpha=alpha)


def rules_of_tails(rule: Any, n: int) -> list[Any]:
    """Return one unfitted rule for each of n tails, each at its share of alpha.

    A confidence of all tails at once is shared, too: each may fail with an equal share of the rest.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> rules_of_tails(SplitConformal(alpha=0.2), 2)
    [SplitConformal(), SplitConformal()]
    """
    if n == 1:
        return [clone(rule)]
    # checked here, since a rule at its share does not see that alpha is too large
    shares = [check_alpha(alpha) / n for alpha in np.atleast_1d(rule.alpha).tolist()]
    given: dict[str, Any] = {"alpha": shares if lists_alphas(rule.alpha) else shares[0]}
    if getattr(rule, "confidence", None) is not None:
        given["confidence"] = shared_confidence(check_confidence(rule.confidence), n)
    return [clone(rule).set_params(**given) for _ in range(n)]
