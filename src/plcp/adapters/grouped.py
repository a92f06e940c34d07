"""Who can be asked for groups."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from plcp.conformal.base import Conformal
from plcp.thresholds import ThresholdRule


def check_grouped(rule: Any) -> Any:
    """Return a fitted threshold rule, or refuse what is none."""
    if isinstance(rule, Conformal):
        raise TypeError(
            f"groups are those of a threshold rule, got {type(rule).__name__}: give its rule, "
            "thresholds_[0], and rows as that sees them, after features="
        )
    if not isinstance(rule, ThresholdRule):
        raise TypeError(
            f"groups are those of a fitted threshold rule, got {rule!r}: give one, such as "
            "PLCP().fit(X, scores)"
        )
    check_is_fitted(rule)
    return rule
