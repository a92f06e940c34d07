"""Learned groups in the words of the data."""

from plcp.explain.explanation import Explanation, GroupExplanation, explain_groups
from plcp.explain.importance import Importance, partition_importance
from plcp.explain.profile import Difference, Sensitive
from plcp.explain.rules import Condition, Kind, Rule, RuleTree

__all__ = [
    "Condition",
    "Difference",
    "Explanation",
    "GroupExplanation",
    "Importance",
    "Kind",
    "Rule",
    "RuleTree",
    "Sensitive",
    "explain_groups",
    "partition_importance",
]
