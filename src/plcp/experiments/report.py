"""What an experiment says: tables, figures, claims held or not, and a sentence or two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A caption, a header and rows of texts."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_markdown(self) -> str:
        """Return the table as Markdown.

        Examples
        --------
        >>> print(Table("Sizes", ["method", "size"], [["Split", "1.9"]]).to_markdown())
        **Sizes**
        <BLANKLINE>
        | method | size |
        | --- | --- |
        | Split | 1.9 |
        """
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join([f"**{self.caption}**", "", *("| " + " | ".join(r) + " |" for r in lines)])


@dataclass(frozen=True)
class Line:
    """A quantity of the paper beside ours: one value a trial as published, and by default."""

    quantity: str
    paper: str
    published: Numbers
    default: Numbers
    digits: int = 3


@dataclass(frozen=True)
class Claim:
    """Something to reach, what was measured, and whether that reaches it."""

    text: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Report:
    """All that is shown of an experiment.

    Attributes
    ----------
    title : str
    reading : sequence of str
        Sentences made from the numbers.
    tables : sequence of Table
    figures : dict
        Functions that draw and return a matplotlib ``Figure``, by name; the first is the main one.
    lines : sequence of Line
        The paper's figures beside ours.
    claims : sequence of Claim
    notes : sequence of str
        Where this run differs from the paper, or what the paper leaves unsaid.
    question : str
        What the data are, what is asked of the methods, and who is told what: a page is read alone.
    captions : dict
        What is to be seen in a figure, by its name.
    quick : bool
        Whether it is of small settings; the page then says so.
    """

    title: str
    reading: Sequence[str]
    tables: Sequence[Table]
    figures: dict[str, Callable[[], Any]]
    lines: Sequence[Line] = field(default=())
    claims: Sequence[Claim] = field(default=())
    notes: Sequence[str] = field(default=())
    question: str = ""
    captions: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False


def spread(values: Numbers, digits: int = 3) -> str:
    """Mean over trials, and from where to where the trials lie, if there are several.

    Examples
    --------
    >>> spread([0.88, 0.92])
    '0.900 (0.880 to 0.920)'
    >>> spread([0.9])
    '0.900'
    """
    all_trials = np.asarray(values, dtype=float)
    mean, low, high = all_trials.mean(), all_trials.min(), all_trials.max()
    ends = f" ({low:.{digits}f} to {high:.{digits}f})" if len(all_trials) > 1 else ""
    return f"{mean:.{digits}f}{ends}"
