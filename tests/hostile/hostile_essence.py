"""The arrays that an answer is made of, and whether two answers are the same."""

import numpy as np

from plcp import Intervals, LabelSets
from plcp.evaluation.certificate import Certificate
from plcp.explain import Explanation
from plcp.metrics import GroupCoverage, Grouping, Measure
from plcp.theory import Estimate


def difference(answer, right, precision):
    """What parts an answer from the right one; None if nothing does.

    Where numbers are rounded on the way, half of their digits are to agree.
    """
    one, other = essence(answer), essence(right)
    if [array.shape for array in one] != [array.shape for array in other]:
        return "an answer of another shape"
    if all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)):
        return None
    if precision is not None:
        eps = precision if isinstance(precision, float) else np.finfo(precision).eps
        half = np.sqrt(eps)
        scale = [np.abs(array).max(initial=0.0) for array in other]
        close = zip(one, other, scale, strict=True)
        if all(np.abs(a * 1.0 - b).max(initial=0.0) <= half * size for a, b, size in close):
            return None
    return "another answer than that of the clean value"


def essence(answer):
    """Return the arrays that an answer is made of."""
    if isinstance(answer, Intervals):
        ends = np.where(answer.is_empty[:, None], 0.0, answer.to_numpy())
        return [answer.is_empty, ends]
    if isinstance(answer, Estimate):
        return [np.array(answer.value)]
    if isinstance(answer, Measure):
        return [np.array([answer.estimate, answer.low, answer.high])]
    if isinstance(answer, GroupCoverage):
        return [answer.n, answer.hits, answer.low, answer.high]
    if isinstance(answer, Certificate | Explanation):
        return essence(
            [
                (group.n, group.share)
                if isinstance(answer, Explanation)
                else (group.n, group.hits, group.low)
                for group in answer.groups
            ]
        )
    parts = {LabelSets: "mask", Grouping: "codes"}.get(type(answer))
    if parts is not None:
        return [getattr(answer, parts)]
    if isinstance(answer, dict):
        return essence(list(answer.values()))
    if isinstance(answer, list | tuple):
        return [array for part in answer for array in essence(part)]
    return [] if answer is None or isinstance(answer, str) else [np.asarray(answer)]
