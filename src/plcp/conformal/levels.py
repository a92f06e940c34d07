"""A conformal estimator that was fitted at several levels, at one of them."""

from copy import copy
from typing import Any

from sklearn.base import clone

from plcp.thresholds.levels import check_levels, check_listed
from plcp.thresholds.several import has_levels


def levels_of(model: Any) -> list[float]:
    """Return the levels that a conformal estimator was fitted at: the sums of its tails' shares."""
    shares = zip(*(check_levels(tail.alpha) for tail in model.thresholds_), strict=True)
    return [sum(of_tails) for of_tails in shares]


def model_at(model: Any, alpha: float) -> Any:
    """Return a fitted conformal estimator at one of its levels, with each tail at its share."""
    place = check_listed(levels_of(model), alpha)
    if not has_levels(model.thresholds_[0]):
        return model
    one = copy(model)
    one.threshold = clone(model.threshold).set_params(alpha=alpha)
    one._take_over([tail.rules_[place] for tail in model.thresholds_], alpha)
    return one
