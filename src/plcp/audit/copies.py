"""Rows that are copies of others, of which bounds for independent rows say too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plcp.audit.frames import holds_lists
from plcp.audit.words import rows

if TYPE_CHECKING:
    import pandas as pd


def copies_note(frame: pd.DataFrame) -> list[str]:
    """Say how many rows are equal to an earlier one in all columns, if any are.

    Examples
    --------
    >>> import pandas as pd
    >>> copies_note(pd.DataFrame({"y": [1.5, 2.5, 1.5, 1.5]}))[0].split(":")[0]
    '2 rows of 4 are copies of others in all columns'
    >>> copies_note(pd.DataFrame({"y": [1.5, 2.5]}))
    []
    """
    plain = frame[[name for name in frame.columns if not holds_lists(frame[name])]]
    if any(plain[name].is_unique for name in plain.columns):  # the cheaper question
        return []
    copies = int(plain.duplicated().sum())
    if not copies:
        return []
    return [
        f"{rows(copies)} of {len(frame):,} are copies of others in all columns: if cases were "
        "recorded more than once, intervals are too narrow, and learned groups were measured on "
        "cases that helped to find them; remove the copies."
    ]
