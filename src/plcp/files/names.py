"""Columns and files by their names: found, or the nearest ones told."""

import difflib
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any


def check_path(path: Any) -> None:
    """Refuse what is no name of a file.

    Examples
    --------
    >>> check_path(3)
    Traceback (most recent call last):
    TypeError: path must be a str or a Path, got 3: name a file
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path, got {path!r}: name a file")
    if "\0" in str(path):
        raise ValueError(f"path must hold no zero byte, got {str(path)!r}: name a file")


def find_column(name: str, names: Sequence[str], where: str = "the table") -> str:
    """Return the name if there is such a column; else an error that tells the nearest one.

    Examples
    --------
    >>> find_column("incme", ["age", "income"], "cal.csv")
    Traceback (most recent call last):
    ValueError: no column 'incme' in cal.csv: did you mean 'income'? Its columns are age, income
    """
    if name in names:
        return name
    raise ValueError(f"no column {name!r} in {where}: {_suggestion(name, names)}")


def match_columns(text: str, names: Sequence[str], where: str = "the table") -> list[str]:
    """Return the columns that a list of names and wildcards names, each once.

    Parameters
    ----------
    text : str
        Names between commas; ``*``, ``?`` and ``[…]`` as in a shell. A column whose own name has
        such signs is found by its name first.
    names : sequence of str
        The columns there are.
    where : str
        What the table is called in messages.

    Examples
    --------
    >>> match_columns("p_*, age", ["age", "p_cat", "p_dog"])
    ['p_cat', 'p_dog', 'age']
    """
    if text in names:  # a name may have a comma in it
        return [text]
    wanted = [part for part in map(str.strip, text.split(",")) if part]
    if not wanted:
        raise ValueError(f"no column is named by {text!r}: write names between commas, as in a,b")
    found = [name for part in wanted for name in _matches(part, names, where)]
    return list(dict.fromkeys(found))


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The most similar of some names, if one is similar: small and capital letters are alike."""
    by_folded = {other.strip().casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.strip().casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else None


def _matches(part: str, names: Sequence[str], where: str) -> list[str]:
    if part in names or not set(part) & set("*?["):
        return [find_column(part, names, where)]
    found = [name for name in names if fnmatchcase(name, part)]
    if not found:
        raise ValueError(f"no column of {where} is like {part!r}: {_listing(names)}")
    return found


def _suggestion(name: str, names: Sequence[str]) -> str:
    close = nearest(name, names)
    return (f"did you mean {close!r}? " if close else "") + _listing(names)


def _listing(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"Its columns are {', '.join(names[:most])}{more}"
