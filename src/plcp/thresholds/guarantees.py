"""Which coverage a fitted PLCP has, in a sentence."""

from typing import Any

from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import conformal_rank
from plcp.thresholds.evidence import Evidence


def plcp_guarantee(rule: Any, follow: bool, evidence: Evidence) -> str:
    """Sentence that says what holds for a rule calibrated on some evidence, and when."""
    target = f"{1 - rule.alpha:g}"
    if rule.calibration == "joint":
        return (
            "No finite-sample guarantee: thresholds were read off the rows that taught the "
            f"partition, and tend to cover less than {target} until n is large (Theorem 3.11)."
        )
    if rule.assignment == "mean" and not isinstance(rule.partition_, OrderedPartition):
        return (
            f"No finite-sample guarantee: each threshold covers {target} of its own group, but "
            "their mean is used; by Jensen its pinball loss is no larger."
        )
    if rule.calibration == "split" and evidence.weights is not None:
        return (
            f"Approximate: P(covered | group) is about {target} for each of the {rule.n_groups_} "
            "learned groups if the weights are likelihood ratios relative to a typical test point."
        )
    if rule.calibration == "split":
        return (
            f"P(covered | group) >= {target} for each of the {rule.n_groups_} learned groups, in "
            "finite samples, if calibration and test points are exchangeable."
        )
    if not follow:
        return (
            f"Asymptotic: coverage tends to {target} in each of the {rule.n_groups_} learned "
            "groups as fold models and their average converge to the same partition."
        )
    return (
        f"Asymptotic: coverage tends to {target}, overall and in the {rule.n_groups_} learned "
        "groups, as fold models and their average converge to the same index. "
        f"{_in_sample(rule.alpha, evidence)}"
        'For an exact guarantee choose calibration="split".'
    )


def _in_sample(alpha: float, evidence: Evidence) -> str:
    if evidence.weights is not None:
        return ""
    n = len(evidence.scores)
    return (
        f"In the sample: at least {conformal_rank(n, alpha)} of the {n} calibration scores lie at "
        "or below their own out-of-fold threshold. "
    )
