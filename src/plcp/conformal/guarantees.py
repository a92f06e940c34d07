"""Which coverage a prediction set has, given what the rule of each tail says of itself."""

from collections.abc import Sequence

from plcp.thresholds.guarantees import EXACT

ALL_LABELS = "Every set holds all labels"


def set_guarantee(tails: Sequence[str], alpha: float, learned: str | None) -> str:
    """Sentence about the sets at level 1 - alpha, from the sentences of one rule a tail.

    A set misses where any of its tails does, so the union bound adds their rates. Their groups
    differ, so only the average over all inputs adds up.

    Examples
    --------
    >>> set_guarantee(["P(covered) >= 0.9, in finite samples."], 0.1, None)
    'P(covered) >= 0.9, in finite samples.'
    """
    sentence = tails[0] if len(set(tails)) == 1 and _speaks_for_all(tails) else _union(tails, alpha)
    if learned is None:
        return sentence
    return (
        f"{sentence} Approximate all the same: the score fitted its {learned} on these very rows; "
        f"fit it elsewhere and pass the number to be exact."
    )


def _speaks_for_all(tails: Sequence[str]) -> bool:
    return len(tails) == 1 or tails[0].startswith(ALL_LABELS)


def _union(tails: Sequence[str], alpha: float) -> str:
    k, target, each = len(tails), f"{1 - alpha:g}", f"{1 - alpha / len(tails):g}"
    where = (
        "Each tail has thresholds and groups of its own: thresholds_[i].guarantee_ says what holds "
        "there."
    )
    if all(EXACT in tail or tail.startswith(ALL_LABELS) for tail in tails):
        return (
            f"P(covered) >= {target} on average over all inputs, {EXACT}, if calibration and test "
            f"points are exchangeable: the union bound over {k} tails, each valid at {each}. "
            f"{where}"
        )
    return (
        f"No finite-sample guarantee: by the union bound the set covers {target} as far as each of "
        f"its {k} tails covers {each}, which is not exact. {where}"
    )
