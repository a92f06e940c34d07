"""Whether coverage falls below what is tolerated, for use in continuous integration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plcp.audit.headline import all_groups
from plcp.audit.words import asked, between, percent, rows
from plcp.validation import check_share


def violations(summary: Mapping[str, Any], fail_under: float) -> list[str]:
    """Sentences about all rows, or groups, whose coverage is below a share beyond chance.

    A group counts if its upper bound for all groups of its list at once lies below ``fail_under``:
    a low share of few rows is no proof. So where coverage is ``fail_under`` or more everywhere, all
    rows are accused with probability at most (1 - confidence) / 2, and so is any group of a list:
    of the learned groups, and of those of each named column. With k named columns the chance of any
    false alarm is at most (k + 2) (1 - confidence) / 2.

    Parameters
    ----------
    summary : mapping
        From `summarise` or `audit`; its last method is judged.
    fail_under : float
        Coverage that is tolerated, between 0 and 1: the target, or somewhat less.

    Examples
    --------
    >>> from plcp.audit import Outcome, summarise
    >>> covered = [index % 5 > 0 for index in range(500)]
    >>> summary = summarise({"ours": Outcome(covered)}, alpha=0.1)
    >>> violations(summary, 0.9)
    ['all rows: covers 80.0 % of 500 rows (76.2 to 83.5 %), below 90 %.']
    >>> violations(summary, 0.8)
    []
    """
    least, subject = check_share("fail_under", fail_under), summary["methods"][-1]
    found = [("all rows", summary["overall"][subject])]
    found += [(group["name"], group["cells"][subject]) for group in all_groups(summary)]
    return [
        f"{name}: covers {percent(cell['coverage'])} of {rows(cell['n'])} "
        f"({between(cell['low_all'], cell['high_all'], least)}), below {asked(least)}."
        for name, cell in found
        if cell["high_all"] < least
    ]
