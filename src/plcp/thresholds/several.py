"""Methods of a rule at one level, made to serve several: a fitted rule for each of them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from plcp.quantiles import FloatArray
from plcp.thresholds.base import Assigned
from plcp.thresholds.levels import check_levels, is_several, never_crossing

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
