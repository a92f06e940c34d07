"""The inside of a tree: splits of one column each, with leaves at their ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plcp.explain.columns import Column
from plcp.explain.rules import Condition
from plcp.quantiles import FloatArray, IntArray

Path = dict[int, Condition]  # what has been asked of which column on the way to a leaf


@dataclass(frozen=True)
class Split:
    """Two sides of one column: each row is on one of them.

    Parameters
    ----------
    place : int
        Place of the column in the table.
    sides : pair of Condition
        What is asked of the rows of each side.
    ends : pair of Split or None
        What follows on each side; None is a leaf.
    """

    place: int
    sides: tuple[Condition, Condition]
    ends: tuple[Split | None, Split | None]


def read_splits(
    tree: Any, columns: Sequence[Column], values: Sequence[FloatArray], cuts: Sequence[FloatArray]
) -> Split | None:
    """Splits of a scikit-learn tree that was grown on ranks, with the roundest cuts that will do.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        Grown on the number of cuts that each value has reached.
    columns : list of Column
        The columns it was grown on.
    values : list of array
        The values of each column in the rows it was grown on.
    cuts : list of array
        Where each column may be cut, rising.
    """

    def read(node: int, rows: IntArray) -> Split | None:
        if tree.children_left[node] < 0:
            return None
        place = int(tree.feature[node])
        here = values[place][rows]
        rank = tree.threshold[node]  # infinite where only missing values go to the right
        cut = float(cuts[place][int(rank)]) if np.isfinite(rank) else np.inf
        to_left = bool(tree.missing_go_to_left[node])
        sides = _sides(columns[place], here, cut, to_left)
        children = int(tree.children_left[node]), int(tree.children_right[node])
        left, right = (
            read(child, rows[side.admits(here)])
            for child, side in zip(children, sides, strict=True)
        )
        return Split(place, sides, (left, right))

    return read(0, np.arange(len(values[0]) if values else 0))


def _sides(
    column: Column, values: FloatArray, cut: float, missing_to_left: bool
) -> tuple[Condition, Condition]:
    """Both sides of a cut, as round as these values allow, or of "missing" against the rest."""
    below, above = values[values < cut], values[values >= cut]
    if not len(below) or not len(above):
        there = Condition(column, missing=False)
        gap = Condition(column, present=False)
        return (there, gap) if len(below) else (gap, there)
    roundest = column.cut(below.max(), above.min())
    return (
        Condition(column, high=roundest, missing=missing_to_left),
        Condition(column, low=roundest, missing=not missing_to_left),
    )


def places_asked(split: Split | None) -> set[int]:
    """Places of the columns that any split asks about."""
    if split is None:
        return set()
    return {split.place}.union(*map(places_asked, split.ends))


def paths(split: Split | None, so_far: Path | None = None) -> Iterator[Path]:
    """Conditions on the way to each leaf, from left to right, one for each column."""
    so_far = so_far or {}
    if split is None:
        yield so_far
        return
    for side, end in zip(split.sides, split.ends, strict=True):
        known = so_far.get(split.place)
        yield from paths(end, so_far | {split.place: known.narrowed(side) if known else side})


def leaves(split: Split | None, values: Mapping[int, FloatArray], rows: IntArray) -> list[IntArray]:
    """Rows of each leaf, from left to right."""
    if split is None:
        return [rows]
    to_left = split.sides[0].admits(values[split.place][rows])
    return [
        *leaves(split.ends[0], values, rows[to_left]),
        *leaves(split.ends[1], values, rows[~to_left]),
    ]
