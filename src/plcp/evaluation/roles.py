"""Which columns of a table hold its sets, and by which to group: known before any row is read.

A module of its own, since commands check their arguments before they import pandas.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plcp._files import find_column
from plcp._options import check_count

KINDS = ({"target", "lower", "upper"}, {"target", "sets"}, {"covered"}, {"covered", "size"})


def audited_columns(
    names: Sequence[str], where: str = "the table", **given: str | None
) -> dict[str, str]:
    """Return the column of each role: those of one kind of sets, and not of two.

    Examples
    --------
    >>> audited_columns(["y", "low", "high"], target="y", lower="low", upper="high")
    {'target': 'y', 'lower': 'low', 'upper': 'high'}
    """
    roles = {
        role: find_column(name, names, where) for role, name in given.items() if name is not None
    }
    if {*roles} not in KINDS:
        raise ValueError(
            f"got {', '.join(roles) or 'no columns'}: name target, lower and upper, or target and "
            "set, or covered (with size, if you like)"
        )
    return roles


@dataclass(frozen=True)
class By:
    """A column to group rows by.

    Parameters
    ----------
    column : str
        Its name.
    bins : int, optional
        Into how many bins of about as many rows numbers or dates are cut. None: every value is a
        group, and numbers or dates of more than 12 values are cut into 5 bins.

    Examples
    --------
    >>> from plcp.evaluation import By, parse_by
    >>> parse_by("sex,age:5") == (By("sex"), By("age", bins=5))
    True
    """

    column: str
    bins: int | None = None


def parse_by(text: str) -> tuple[By, ...]:
    """Columns to group by, from a list with commas; ``:5`` after a name requests five bins.

    Examples
    --------
    >>> from plcp.evaluation import parse_by
    >>> parse_by("sex, age:5")
    (By(column='sex', bins=None), By(column='age', bins=5))
    """
    return check_by(_parse(part.strip()) for part in text.split(",") if part.strip())


def check_by(columns: By | str | Iterable[By | str]) -> tuple[By, ...]:
    """Columns to group by, each named once, with two bins at least where bins are requested."""
    given = tuple(columns) if isinstance(columns, Iterable) else (columns,)
    for item in given:
        if not isinstance(item, By | str):
            raise TypeError(f"by must name columns, got {item!r}: write 'sex,age:5', or a list")
    columns_given = tuple(_parse(item) if isinstance(item, str) else item for item in given)
    for item in columns_given:
        if item.bins is not None:
            check_count(f"the number of bins of {item.column!r}", item.bins, least=2)
    twice = [
        name for name, times in Counter(item.column for item in columns_given).items() if times > 1
    ]
    if twice:
        raise ValueError(f"groups by {twice[0]!r} are requested twice: name each column once")
    return columns_given


def _parse(text: str) -> By:
    found = re.fullmatch(r"(.+):(\d+)", text, flags=re.DOTALL)
    return By(found[1], int(found[2])) if found else By(text)
