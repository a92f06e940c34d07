"""Sets of labels as people store them: lists, text with bars, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from plcp.audit.words import label

if TYPE_CHECKING:
    import pandas as pd

Labels = frozenset[str]


def parse_sets(name: str, column: pd.Series) -> list[Labels | None]:
    """Labels in each row's set; None where there is no set.

    Examples
    --------
    >>> import pandas as pd
    >>> found = parse_sets("set", pd.Series(["a|b", "[1, 2]", "", None]))
    >>> [None if labels is None else sorted(labels) for labels in found]
    [['a', 'b'], ['1', '2'], [], None]
    >>> [sorted(labels) for labels in parse_sets("set", pd.Series([["a", "b"], []]))]
    [['a', 'b'], []]
    """
    parsed: dict[str, Labels] = {}
    found: list[Labels | None] = []
    for row, value in enumerate(column.to_numpy(dtype=object)):
        if isinstance(value, str):
            if value not in parsed:
                parsed[value] = _from_text(value)
            found.append(parsed[value])
        elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
            found.append(_labels(value))
        elif value is None or value != value:
            found.append(None)
        else:
            raise ValueError(
                f"column {name!r} must hold sets, as lists, as text like 'a|b' or as JSON lists, "
                f"got {value!r} at row {row}: name another column, or convert it"
            )
    return found


def _from_text(text: str) -> Labels:
    if text.lstrip().startswith("["):
        try:
            return _labels(json.loads(text))
        except json.JSONDecodeError:
            pass  # a label may begin with a bracket
    return _labels(part.strip() for part in text.split("|") if part.strip())


def _labels(values: Iterable[Any]) -> Labels:
    return frozenset(label(value).strip() for value in values)
