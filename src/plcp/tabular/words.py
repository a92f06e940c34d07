"""Sentences about rows that are unlike those of calibration."""

from collections import Counter

from plcp.tabular.features import Feature
from plcp.tabular.kinds import LABELS

NAMED = 3  # values told by name


def unseen_note(
    feature: Feature, unseen: Counter[str] | None, by: str = "calibration"
) -> str | None:
    """Say which values of a column calibration never saw, and what becomes of their rows.

    Examples
    --------
    >>> unseen_note(Feature("state", "categories", "string"), Counter(NY=2))
    "2 rows hold values of 'state' that calibration never saw ('NY': 2): they count as missing"
    """
    if not unseen:
        return None
    rows = unseen.total()
    often = ", ".join(f"{value!r}: {count:,}" for value, count in unseen.most_common(NAMED))
    others = len(unseen) - NAMED
    more = f", and {others:,} other value{'' if others == 1 else 's'}" if others > 0 else ""
    fate = "belong to no group of that column" if feature.kind == LABELS else "count as missing"
    return (
        f"{_rows(rows)} {'holds a value' if rows == 1 else 'hold values'} of {feature.column!r} "
        f"that {by} never saw ({often}{more}): they {fate}"
    )


def infinite_note(count: int, of: int) -> str | None:
    """Say how many sets hold everything."""
    if not count:
        return None
    sets = "1 set holds" if count == 1 else f"{count:,} sets hold"
    return (
        f"{sets} every label, of {of:,} rows: calibration has too few rows of their kind for a "
        "finite threshold"
    )


def empty_note(count: int, of: int) -> str | None:
    """Say how many sets hold nothing."""
    if not count:
        return None
    return (
        f"{count:,} of {of:,} sets {'is' if count == 1 else 'are'} empty: no label is near enough"
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
