"""Whether a model, a score and a threshold rule can serve one task together."""

from typing import Any, NamedTuple

from sklearn.utils import get_tags

from plcp.scores import Score
from plcp.thresholds import Mondrian, ThresholdRule
from plcp.thresholds.levels import check_levels


class _Task(NamedTuple):
    """What a task is called, and what it asks of a model."""

    conformal: str
    kind: str
    method: str | None
    scores: str


TASKS = {
    "regression": _Task(
        "ConformalRegressor", "regressor", None, "AbsoluteResidual or another residual"
    ),
    "classification": _Task(
        "ConformalClassifier",
        "classifier",
        "predict_proba",
        "LabelProbability or CumulativeProbability",
    ),
}


def check_parts(estimator: Any, score: Score, rule: ThresholdRule, task: str) -> None:
    """Refuse a model, score or rule that cannot serve the task, before anything is fitted."""
    if not isinstance(rule, ThresholdRule):
        raise TypeError(
            f"threshold must be a ThresholdRule, got {rule}: a score is passed as conformity="
        )
    check_levels(rule.alpha)
    check_rule(rule, Mondrian)
    check_model(estimator, score, task)


def check_rule(rule: Any, mondrian: type[Any]) -> None:
    """Refuse a rule that no conformal estimator can fit."""
    if isinstance(rule, mondrian) and rule.groups is None:
        kind = type(rule).__name__
        raise ValueError(
            f"{kind}(groups=None) takes labels by hand, which a conformal estimator cannot pass "
            f"on: name a column of X or give a function of X, as in {kind}(groups=...)"
        )


def check_model(estimator: Any, score: Score, task: str) -> None:
    """Refuse a model or a score that cannot serve the task."""
    if not isinstance(score, Score):
        raise TypeError(f"conformity must be a Score, got {score}: a rule is passed as threshold=")
    if isinstance(estimator, tuple | list):
        raise TypeError(
            "estimator must be one model, got several: pass QuantilePair(lower, upper) or "
            "MeanScalePair(mean, scale)"
        )
    if score.task is None:
        return  # a score of the user's own knows what to ask of which model
    wants, other = TASKS[task], TASKS["classification" if task == "regression" else "regression"]
    if score.task != task:
        raise TypeError(
            f"{score} is a score for {score.task}, but {wants.conformal} needs one for {task}: "
            f"use {wants.scores}, or {other.conformal}"
        )
    serves = wants.method is not None and hasattr(estimator, wants.method)
    if _kind(estimator) == other.kind and not serves:
        raise TypeError(
            f"{wants.conformal} needs a {wants.kind}, got the {other.kind} {estimator}: "
            f"use {other.conformal}"
        )


def _kind(estimator: Any) -> str | None:
    """Classifier or regressor; None for a model that does not say."""
    tags = tags_of(estimator)
    return None if tags is None else tags.estimator_type


def tags_of(estimator: Any) -> Any:
    """What a model says of itself, in the way of scikit-learn; None if it does not."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):
        return None
