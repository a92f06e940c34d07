"""Where the sets of any library fail: coverage by learned and named groups, as a plain dict."""

from plcp.audit.auditing import audit
from plcp.audit.by import By, parse_by
from plcp.audit.choice import choice_of
from plcp.audit.failures import learn_failures
from plcp.audit.features import choose_features
from plcp.audit.grouped import Described, GroupList
from plcp.audit.model_groups import model_groups
from plcp.audit.outcome import Outcome
from plcp.audit.summary import summarise
from plcp.audit.text import to_text
from plcp.audit.violations import violations

__all__ = [
    "By",
    "Described",
    "GroupList",
    "Outcome",
    "audit",
    "choice_of",
    "choose_features",
    "learn_failures",
    "model_groups",
    "parse_by",
    "summarise",
    "to_text",
    "violations",
]
