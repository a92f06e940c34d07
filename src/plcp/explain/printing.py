"""An explanation as lines of text, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from plcp.explain.words import percent, runs

if TYPE_CHECKING:
    from plcp.explain.explanation import Explanation, GroupExplanation
    from plcp.explain.surrogate import Kind

WIDTH = 100
MOST_COLUMNS = 10  # of importance that are told; the rest move next to nothing


def to_text(explanation: Explanation) -> str:
    """Lines of at most 100 columns."""
    parts = [
        ["Kinds of rows, from small thresholds to large ones", *_kinds(explanation)],
        ["Groups", *_groups(explanation)],
    ]
    if explanation.importance:
        parts.append(["Columns that move rows between groups", *_importance(explanation)])
    if explanation.sensitive:
        parts.append(["Named columns", *_sensitive(explanation)])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def to_markdown(explanation: Explanation) -> str:
    """Tables, in which nothing that came from data is taken for markup."""
    kinds = [[_span(kind), percent(kind.share), kind.rule] for kind in explanation.kinds]
    groups = [
        [
            str(one.group),
            percent(one.share),
            one.rule or "no short rule",
            percent(one.precision),
            percent(one.recall),
            "; ".join(told.text for told in one.profile),
        ]
        for one in explanation.groups
    ]
    parts = [
        _table(["groups", "share of rows", "kind of rows"], kinds),
        _marked(how_well(explanation)),
        _table(["group", "share", "rule", "precision", "recall", "special"], groups),
    ]
    if explanation.importance:
        moved = [
            [one.feature, f"{one.value:.3f}", f"{one.error:.3f}"] for one in explanation.importance
        ]
        parts.append(_table(["column", "importance", "standard error"], moved))
    if explanation.sensitive:
        named = [[one.column, f"{one.dependence:.2f}", one.text] for one in explanation.sensitive]
        parts.append(_table(["named column", "dependence (Cramér's V)", "most unlike"], named))
    return "\n\n".join(parts) + "\n"


def how_well(explanation: Explanation) -> str:
    """Say how much of the groups the kinds tell."""
    if len(explanation.groups) == 1:
        return "There is one group, so nothing tells it from others."
    return (
        f"On rows held out, the kinds tell the group of {percent(explanation.fidelity)} of rows "
        f"(the largest group holds {percent(explanation.chance)}), and their order with a rank "
        f"correlation of {explanation.order:.2f}."
    )


def _kinds(explanation: Explanation) -> Iterator[str]:
    for kind in explanation.kinds:
        head = f"  {_span(kind):>14}  {percent(kind.share):>6}  "
        yield from _hanging(head, kind.rule)
    yield from wrap(how_well(explanation), WIDTH)


def _groups(explanation: Explanation) -> Iterator[str]:
    for one in explanation.groups:
        yield from _hanging(f"  group {one.group}, {percent(one.share)} of rows: ", _quality(one))
        for told in one.profile:
            yield from _hanging("    - ", told.text)


def _quality(one: GroupExplanation) -> str:
    if not one.rule:
        return "no short rule finds it"
    return (
        f"{one.rule} ({percent(one.precision)} of such rows are in the group, "
        f"{percent(one.recall)} of the group are such rows)"
    )


def _importance(explanation: Explanation) -> Iterator[str]:
    width = max(len(one.feature) for one in explanation.importance)
    for one in explanation.importance[:MOST_COLUMNS]:
        yield from _hanging(
            f"  {one.value:6.3f} ± {one.error:.3f}  ", one.feature.ljust(min(width, 40)).rstrip()
        )
    left = len(explanation.importance) - MOST_COLUMNS
    if left > 0:
        yield f"  and {left} more that move rows less"
    yield "0: rows stay in their group; 1: they move as if all columns were shuffled."


def _sensitive(explanation: Explanation) -> Iterator[str]:
    for one in explanation.sensitive:
        yield from _hanging(f"  {one.dependence:.2f}  ", one.text)
    yield "0: groups tell nothing of the column; 1: they tell it all (Cramér's V)."


def _span(kind: Kind) -> str:
    return f"group{'s' * (len(kind.groups) > 1)} {runs(kind.groups)}"


def _hanging(head: str, text: str) -> list[str]:
    """Text after a head, folded below itself."""
    indent = " " * min(len(head), 30)
    return wrap(text, WIDTH, initial_indent=head, subsequent_indent=indent) or [head.rstrip()]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([_marked(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(_marked("a|b `c` <i>"))
    a\|b \`c\` &lt;i&gt;
    """
    one_line = " ".join(escape(text, quote=False).split())
    return re.sub(r"([\\`*_{}\[\]|$~#])", r"\\\1", one_line)
