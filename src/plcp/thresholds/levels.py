"""Several levels: which they are, thresholds that never cross, and what then holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plcp.quantiles import FloatArray
from plcp.validation import check_alpha

Alpha = float | Sequence[float]


def is_several(alpha: Any) -> bool:
    """Whether ``alpha`` lists levels, be it one or none, and is not a level itself.

    Examples
    --------
    >>> is_several([0.1, 0.2]), is_several(0.1), is_several("0.1")
    (True, False, False)
    """
    return isinstance(alpha, list | tuple | np.ndarray)


def check_levels(alpha: Any) -> list[float]:
    """Miscoverage rates in (0, 1), no two alike, in the order given; one alone counts too.

    Examples
    --------
    >>> check_levels([0.2, 0.05]), check_levels(0.1)
    ([0.2, 0.05], [0.1])
    """
    if not is_several(alpha):
        return [check_alpha(alpha)]
    levels = [check_alpha(level) for level in alpha]
    if not levels:
        raise ValueError(f"alpha lists no level, got {alpha!r}: give one at least, as in [0.1]")
    if len({*levels}) < len(levels):
        raise ValueError(f"alpha lists a level twice, got {alpha!r}: give each once")
    return levels


def check_listed(levels: Sequence[float], alpha: Any) -> int:
    """Return the place of ``alpha`` among the levels of a fit, which must be there.

    Examples
    --------
    >>> check_listed([0.2, 0.05], 0.05)
    1
    """
    if is_several(alpha) or alpha not in levels:
        raise ValueError(f"no fit at alpha = {alpha!r}, only at {[*levels]}: choose one of these")
    return levels.index(alpha)


def never_crossing(levels: Sequence[float], thresholds: FloatArray) -> FloatArray:
    """Thresholds, one column a level, of which none lies below that of a larger alpha.

    Each is raised to the largest threshold of its own alpha and all larger ones. So sets only
    grow, and coverage of at least 1 - alpha stays what it was; sorting the thresholds of a row
    would lower some.

    Examples
    --------
    >>> never_crossing([0.05, 0.2, 0.1], np.array([[5.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([[5., 2., 3.],
           [3., 2., 3.]])
    """
    falling = np.argsort(levels)[::-1]
    raised = np.empty_like(thresholds)
    raised[:, falling] = np.maximum.accumulate(thresholds[:, falling], axis=1)
    return raised


def guarantee_at_levels(levels: Sequence[float], sentences: Sequence[str]) -> str:
    """Sentences about one level each, put together.

    Examples
    --------
    >>> print(guarantee_at_levels([0.1, 0.2], ["P(covered) >= 0.9.", "P(covered) >= 0.8."]))
    At alpha = 0.1: P(covered) >= 0.9.
    At alpha = 0.2: P(covered) >= 0.8.
    A threshold below that of a larger alpha is raised to it, so that sets are nested: they only \
grow, and where they do coverage may be above what is said.
    """
    each = [
        f"At alpha = {level:g}: {sentence}"
        for level, sentence in zip(levels, sentences, strict=True)
    ]
    nested = (
        "A threshold below that of a larger alpha is raised to it, so that sets are nested: they "
        "only grow, and where they do coverage may be above what is said."
    )
    return "\n".join([*each, nested])
