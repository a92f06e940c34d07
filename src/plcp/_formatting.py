"""Text for terminals: lines that keep within a width, and tables."""

import re
from collections.abc import Collection, Sequence
from unicodedata import combining, east_asian_width

from plcp._files import printable

WIDTH = 100
HANGING = "  "  # before each line of a text but its first


def clean(text: str) -> str:
    r"""Return text on one line; what could steer a terminal is replaced by a mark.

    Examples
    --------
    >>> clean("a\x1b[31m red\n name")
    'a�[31m red name'
    """
    return printable(" ".join(text.split()))


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

    Lines after the first are indented: no word of a name or value begins a line of its own.

    Examples
    --------
    >>> fold("a long rule in words", 10, indent="  ")
    ['  a long', '    rule', '    in', '    words']
    """
    lines, start = [""], indent
    for word in re.split(r"(?<![≤≥<>=]) ", clean(text)):  # "≥ 23" stays together
        fits = not lines[-1] and room(start + word) <= width
        for piece in [word] if fits else _pieces(word, width - len(indent + HANGING)):
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if room(start + longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
                start = indent + HANGING
    return [indent + (HANGING if i else "") + line for i, line in enumerate(lines)]


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for sign in word:
        if room(pieces[-1] + sign) > width:
            pieces.append("")
        pieces[-1] += sign
    return pieces


def text_table(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    width: int | None = None,
    text: Collection[str] = ("verdict",),
) -> list[str]:
    r"""Return the lines of a table: the first column and those of text to the left, others right.

    With a width the first column folds, so that every line keeps within it.

    Examples
    --------
    >>> print(*text_table(["group", "rows", "verdict"], [["a", "1,000", "above"]]), sep="\n")
    group   rows  verdict
    a      1,000  above
    """
    cells = [[clean(str(cell)) for cell in line] for line in [head, *body]]
    first, *widths = (max(map(room, column)) for column in zip(*cells, strict=True))
    if width is not None:
        first = min(first, width - sum(widths) - 2 * len(widths))
    lines = []
    for name, *others in cells:
        start, *more = fold(name, first)
        padded = [
            _pad(cell, size, left=title in text)
            for title, cell, size in zip(head[1:], others, widths, strict=True)
        ]
        lines += ["  ".join([_pad(start, first, left=True), *padded]).rstrip(), *more]
    return lines


def _pad(cell: str, width: int, *, left: bool) -> str:
    gap = " " * (width - room(cell))
    return cell + gap if left else gap + cell
