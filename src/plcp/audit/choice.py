"""How the number of groups was chosen, as far as a fitted rule remembers."""

from __future__ import annotations

from typing import Any

ASKED = "Groups asked for: {}."
SEARCHED = (
    "Loss (pinball) on a fifth of the calibration rows, held out, for each number of groups that "
    "was tried: doubling, then bisection."
)
FOLLOWING = (
    "One group for 200 calibration rows, at most 20: thresholds follow a learned index within "
    "groups, so that nothing is won by a search."
)


def choice_of(rule: Any) -> dict[str, Any] | None:
    """Return the curve that the number of groups was read off, if there was one.

    None for a rule that learned no groups.

    Examples
    --------
    >>> from plcp import PLCP, SoftmaxPartition, SplitConformal
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(1000, random_state=0)
    >>> rule = PLCP(SoftmaxPartition(), n_groups=2, calibration="joint")
    >>> choice_of(rule.fit(task.X, task.scores))["about"]
    'Groups asked for: 2.'
    >>> choice_of(SplitConformal().fit(task.X, task.scores)) is None
    True
    """
    if not hasattr(rule, "n_groups_") or not hasattr(rule, "history_"):
        return None
    tried = [step for step in rule.history_ if {"n_groups", "held_out"} <= step.keys()]
    points = [
        {"n_groups": int(step["n_groups"]), "loss": float(step["held_out"])}
        for step in sorted(tried, key=lambda step: step["n_groups"])
    ]
    about = SEARCHED if points else FOLLOWING
    if rule.n_groups != "auto":
        about = ASKED.format(rule.n_groups)
    return {"about": about, "points": points, "chosen": int(rule.n_groups_)}
