"""Which coverage a fitted PLCP has, in a sentence."""

from typing import Any

from plcp.quantiles import conformal_rank


def plcp_guarantee(rule: Any, n: int) -> str:
    """Sentence that says what holds for a fitted rule calibrated on n points, and when."""
    target = f"{1 - rule.alpha:g}"
    if rule.calibration == "joint":
        return (
            "No finite-sample guarantee: thresholds were read off the rows that taught the "
            f"partition, and tend to cover less than {target} until n is large (Theorem 3.11)."
        )
    if rule.assignment == "mean" and not rule._follows_index():
        return (
            f"No finite-sample guarantee: each threshold covers {target} of its own group, but "
            "their mean is used; by Jensen its pinball loss is no larger."
        )
    if rule.calibration == "split":
        return (
            f"P(covered | group) >= {target} for each of the {rule.n_groups_} learned groups, in "
            "finite samples, if calibration and test points are exchangeable."
        )
    if not rule._follows_index():
        return (
            f"Asymptotic: coverage tends to {target} in each of the {rule.n_groups_} learned "
            "groups as fold models and their average converge to the same partition."
        )
    return (
        f"Asymptotic: coverage tends to {target}, overall and in the {rule.n_groups_} learned "
        "groups, as fold models and their average converge to the same index. In the sample: "
        f"{conformal_rank(n, rule.alpha)} of the {n} calibration scores lie at or below their own "
        'out-of-fold threshold. For an exact guarantee choose calibration="split".'
    )
