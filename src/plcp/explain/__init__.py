"""Learned groups in the words of the data."""

from plcp.explain.rule_tree import RuleTree
from plcp.explain.rules import Condition, Rule

__all__ = ["Condition", "Rule", "RuleTree"]
