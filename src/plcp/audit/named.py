"""Groups by the values of a column, named in the data's own words."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from plcp.audit.by import By
from plcp.audit.frames import holds_lists
from plcp.audit.grouped import Described, GroupList
from plcp.audit.scales import Scale, scale_of
from plcp.audit.words import label
from plcp.files import find_column
from plcp.quantiles import IntArray

if TYPE_CHECKING:
    import pandas as pd

MOST_VALUES = 12  # of a number, each of which is a group of its own
BINS = 5
MOST_CATEGORIES = 30


def group_by(frame: pd.DataFrame, by: By) -> GroupList:
    """Group rows by a column: by its values, or by bins of its numbers or dates.

    Numbers and dates of more than 12 values are cut into 5 bins unless another number is asked
    for. Beyond the 30 most frequent categories, the others are one group. Rows without a value are
    a group of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [17, 25, 38, 44, 51, 80], "sex": list("fmf") + [None] * 3})
    >>> [group.name for group in group_by(people, By("age", 3)).groups]
    ['age up to 29', 'age 30 to 49', 'age 50 and over']
    >>> [group.name for group in group_by(people, By("sex")).groups]
    ['sex is f', 'sex is m', 'sex is missing']
    """
    name = find_column(by.column, list(frame.columns))
    if holds_lists(frame[name]):
        raise ValueError(
            f"groups by {name!r} cannot be made, as it holds lists: name another column"
        )
    scale = scale_of(frame[name])
    if scale is not None:
        return _by_scale(name, scale, by.bins)
    if by.bins is not None and frame[name].notna().any():
        raise ValueError(
            f"{name}:{by.bins} asks for bins, but {name!r} holds categories: leave out :{by.bins}"
        )
    return _by_category(name, frame[name])


def _by_scale(name: str, scale: Scale, bins: int | None) -> GroupList:
    missing = np.isnan(scale.values)
    values = np.unique(scale.values[~missing])
    if len(values) <= (bins or MOST_VALUES):
        names = [f"{name} is {scale.text(value)}" for value in values]
        codes = np.searchsorted(values, scale.values)
        return _listed(name, names, codes, missing, "Each value is a group.")
    cuts = scale.cuts(bins or BINS)
    ends = [None, *cuts, None]
    names = [f"{name} {scale.words(*ends[i : i + 2])}" for i in range(len(cuts) + 1)]
    about = f"{len(names)} bins of as many rows each as repeated values and round ends allow"
    about += f", as there are {len(values):,} values." if bins is None else "."
    return _listed(name, names, np.searchsorted(cuts, scale.values, "right"), missing, about)


def _by_category(name: str, column: pd.Series) -> GroupList:
    import pandas as pd

    codes, found = pd.factorize(column)
    texts = [_text(value) for value in found]
    places = {text: i for i, text in enumerate(_ordered(texts, found))}
    codes = np.array([places[text] for text in texts] + [0], dtype=np.intp)[codes]
    missing = np.asarray(column.isna())
    names, about = [f"{name} is {text}" for text in places], "Each value is a group."
    if len(names) > MOST_CATEGORIES:
        counts = np.bincount(codes[~missing], minlength=len(names))
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
        place = np.full(len(names), MOST_CATEGORIES)
        place[kept] = np.arange(MOST_CATEGORIES)
        about = (
            f"The {MOST_CATEGORIES} most frequent of {len(names):,} values, the others together."
        )
        names, codes = [*(names[i] for i in kept), f"{name}: others"], place[codes]
    return _listed(name, names, codes, missing, about)


def _ordered(texts: list[str], found: Any) -> list[str]:
    """Distinct texts in the order of their categories, of their numbers, or of the alphabet."""
    if getattr(found, "ordered", False):
        keys: Sequence[Any] = found.codes
    elif all(isinstance(value, Real | np.bool_) for value in found):
        keys = list(found)
    else:
        keys = texts
    order = sorted(range(len(texts)), key=lambda i: keys[i])
    return list(dict.fromkeys(texts[i] for i in order))


def _text(value: Any) -> str:
    """Return a category as text; one that would be taken for a gap is quoted."""
    text = label(value)
    return f'"{text}"' if text.strip() in ("", "missing") else text


def _listed(name: str, names: list[str], codes: IntArray, missing: Any, about: str) -> GroupList:
    if missing.any():
        codes = np.where(missing, len(names), codes)
        names = [*names, f"{name} is missing"]
    return GroupList([Described(text) for text in names], codes.astype(np.intp), about)
