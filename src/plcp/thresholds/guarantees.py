"""Sentences that state which coverage a fitted PLCP or conditional calibration has."""

from typing import Any

from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import conformal_rank

EXACT = "in finite samples"  # what every rule says of a guarantee that needs no large n


def plcp_guarantee(rule: Any, follow: bool, n: int, weighted: bool) -> str:
    """Sentence that says what holds for a rule calibrated on n rows, and when."""
    target, each = f"{1 - rule.alpha:g}", _each(rule.n_groups_)
    if rule.calibration == "joint":
        return (
            "No finite-sample guarantee: thresholds were read off the training rows of "
            f"the partition, and tend to cover less than {target} until n is large (Theorem 3.11)."
        )
    if rule.assignment == "mean" and not isinstance(rule.partition_, OrderedPartition):
        return (
            f"No finite-sample guarantee: each threshold covers {target} of its own group, but "
            "their mean is used; by Jensen its pinball loss is no larger."
        )
    if rule.calibration == "split" and weighted:
        return (
            f"Approximate: P(covered | group) is about {target} for {each} if the weights are "
            "likelihood ratios relative to a typical test point."
        )
    if rule.calibration == "split":
        return (
            f"P(covered | group) >= {target} for {each}, in finite samples, if calibration and "
            "test points are exchangeable."
        )
    if not follow:
        return (
            f"Asymptotic: coverage tends to {target} in {each} as fold models and their average "
            "converge to the same partition."
        )
    return (
        f"Asymptotic: coverage tends to {target}, overall and in {each.removeprefix('each of ')}, "
        "as fold models and their average converge to the same regressor."
        f"{'' if weighted else _in_the_sample(rule.alpha, n)}"
    )


def drawn_guarantee(rule: Any, exact: str, together: float) -> str:
    """Sentence for a split by what stands in the rows, exact but for copies in other parts.

    ``together`` is the share of rows that such copies were drawn with.
    """
    if together == 0:
        return f"{exact.removesuffix('.')}, and no two parts hold the same row and score."
    return (
        f"Approximate: P(covered | group) is about {1 - rule.alpha:g} for {_each(rule.n_groups_)}. "
        f"About {100 * together:.2g} % of the rows have copies in other parts, drawn together: "
        "leave copies out, or put all copies of a row into one part, to be exact."
    )


def _each(m: int) -> str:
    return "the one learned group" if m == 1 else f"each of the {m} learned groups"


def _in_the_sample(alpha: float, n: int) -> str:
    """What is exact, here or with a share of the rows held out; with weights nothing is."""
    return (
        f" In the sample: at least {conformal_rank(n, alpha)} of the {n} calibration scores lie at "
        "or below their own out-of-fold threshold. "
        'For an exact guarantee choose calibration="split".'
    )


def conditional_guarantee(rule: Any, exact: bool) -> str:
    """Sentence for conditional calibration, exact unless its rows chose the class."""
    target, k = f"{1 - rule.alpha:g}", rule.n_columns_
    d = "a constant" if k == 1 else f"{k} columns"
    if not exact:
        return (
            f"Approximate: coverage is about {target} under every shift in the span of {d}, "
            "as rows were weighted, or settled the kernel that compares them."
        )
    relation = "=" if rule.randomized else ">="
    which = "every shift" if rule.randomized else "every nonnegative shift"
    untied = " and no scores tie" if rule.randomized else ""
    groups = f", and so in each of the {len(rule.groups_)} groups" if rule.groups_ else ""
    smooth = (
        ""
        if rule.l2_ is None
        else f" Under a smooth shift f it is off by 2 l2 <g, f> / E[f], with l2 = {rule.l2_:.3g} "
        "and g the smooth part of the thresholds."
    )
    return (
        f"P(covered) {relation} {target} on average over all inputs and under {which} in the span "
        f"of {d}{groups}, in finite samples, if calibration and test points are "
        f"exchangeable{untied}.{smooth}"
    )
