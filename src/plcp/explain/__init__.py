"""Learned groups in the words of the data."""

from plcp.explain.explaining import explain_groups
from plcp.explain.explanation import Explanation, GroupExplanation
from plcp.explain.importance import Importance, partition_importance
from plcp.explain.profile import Difference
from plcp.explain.rule_tree import RuleTree
from plcp.explain.rules import Condition, Rule
from plcp.explain.sensitive import Sensitive
from plcp.explain.surrogate import Kind

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
