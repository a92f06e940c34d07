"""Lines and columns of plain text, by the room that signs take on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

WIDTH = 100


def clean(text: str) -> str:
    r"""Return text on one line; what could steer a terminal is replaced by a mark.

    Examples
    --------
    >>> clean("a\x1b[31m red\n name")
    'a�[31m red name'
    """
    words = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "�" for sign in words)


def room(text: str) -> int:
    """Return how many columns a text takes: ideographs and most emoji take two.

    Examples
    --------
    >>> room("age"), room("年齢")
    (3, 4)
    """
    return sum(0 if combining(s) else 1 + (east_asian_width(s) in "WF") for s in text)


def fold(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return lines of at most ``width`` columns, broken between words where possible.

    Examples
    --------
    >>> fold("a long rule in words", 10, indent="  ")
    ['  a long', '  rule in', '  words']
    """
    lines = [""]
    for word in re.split(r"(?<![≤≥<>=]) ", clean(text)):  # "≥ 23" stays together
        for piece in _pieces(word, width - len(indent)):
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if room(indent + longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return [indent + line for line in lines]


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for sign in word:
        if room(pieces[-1] + sign) > width:
            pieces.append("")
        pieces[-1] += sign
    return pieces


def columns(head: Sequence[str], body: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Return a table whose first column folds so that all lines keep within the width."""
    cells = [[*map(clean, line)] for line in [head, *body]]
    widths = [max(room(line[i]) for line in cells) for i in range(1, len(head))]
    left = width - sum(widths) - 2 * len(widths)
    left = min(left, max(room(line[0]) for line in cells))
    lines = []
    for name, *others in cells:
        first, *more = fold(name, left)
        padded = [" " * (w - room(cell)) + cell for cell, w in zip(others, widths, strict=True)]
        lines.append("  ".join([first + " " * (left - room(first)), *padded]).rstrip())
        lines += more
    return lines
