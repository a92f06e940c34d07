"""Rows that are copies of others, of which bounds for independent rows say too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from plcp.audit.frames import holds_lists
from plcp.audit.words import rows

if TYPE_CHECKING:
    import pandas as pd

MANY = 0.1  # share of rows, from which copies spoil the figures; a few may agree by chance


class Copies(NamedTuple):
    """What to say of copies: first of all if they are many, else among the notes."""

    warning: str | None = None
    notes: tuple[str, ...] = ()


def find_copies(frame: pd.DataFrame) -> Copies:
    """Count the rows that are equal to an earlier one in all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> find_copies(pd.DataFrame({"y": [1.5, 2.5, 1.5, 1.5]})).warning.split(":")[0]
    '2 rows of 4 are copies of others in all columns'
    >>> find_copies(pd.DataFrame({"y": [1.5, 2.5]}))
    Copies(warning=None, notes=())
    """
    plain = frame[[name for name in frame.columns if not holds_lists(frame[name])]]
    if any(plain[name].is_unique for name in plain.columns):  # the cheaper question
        return Copies()
    count = int(plain.duplicated().sum())
    if not count:
        return Copies()
    told = (
        f"{rows(count)} of {len(frame):,} are copies of others in all columns: if cases were "
        "recorded more than once, intervals are too narrow, and learned groups were measured on "
        "cases that helped to find them; remove the copies."
    )
    return Copies(told) if count >= MANY * len(frame) else Copies(None, (told,))
