"""Audits of tables, and tasks that are drawn, with clean arguments and what is bad for them."""

from decimal import Decimal

import hostile_data as data
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hostile_entries import plain
from hostile_essence import difference
from hostile_functions import ALPHA
from hostile_options import each, given
from hostile_value import Bad, as_text, first, objects, put, refused, same

from plcp import datasets
from plcp.evaluation import audit

TABLE = data.pandas(data.X).assign(y=data.Y, low=data.X[:, 0] - 1, high=data.X[:, 0] + 1)
ENDS = {"target": "y", "lower": "low", "upper": "high"}


def told(summary):
    """Rows, hits and bounds of all rows, and of each group that was asked for."""
    named = [cell for groups in summary["named"] for cell in groups["groups"]]
    cells = [summary["overall"], *(group["cells"] for group in named)]
    return np.array([[cell["audited"][key] for key in ("n", "hits", "low")] for cell in cells])


def audited(y=None, low=None, high=None, table=TABLE, by="c", **options):
    """An audit of a table of which some columns are given."""
    columns = {"y": y, "low": low, "high": high}
    if isinstance(table, pd.DataFrame):
        columns = {name: values for name, values in columns.items() if values is not None}
        table = table.assign(**columns) if columns else table
    return told(audit(table, **ENDS, by=by, **options).to_dict())


def judged(covered):
    table = data.pandas(data.X).assign(covered=covered)
    return told(audit(table, covered="covered", by="c").to_dict())


def counted(entry, name, bad, given, answer):
    """All rows and those of each value of c, without such as lack an end or an outcome."""
    if "covered" in given:
        covered = pd.Series(given["covered"])
        kept, hits = covered.notna().to_numpy(), (covered == 1).to_numpy()
    else:
        columns = [given.get(key, TABLE[key]) for key in ("y", "low", "high")]
        y, low, high = (np.array(pd.Series(column), dtype=float) for column in columns)
        kept = ~(np.isnan(y) | np.isnan(low) | np.isnan(high))
        hits = (low <= y) & (y <= high)
    masks = [kept, *(kept & (data.X[:, 2] == value) for value in (-1, 0, 1))]
    right = np.array([(mask.sum(), (hits & mask).sum()) for mask in masks])
    found = answer[:, :2]
    ordered = [found[0], *sorted(map(tuple, found[1:]))]
    return difference(
        [np.array(ordered, dtype=int)], [np.array([right[0], *sorted(map(tuple, right[1:]))])], None
    )


NO_NUMBERS = "must hold numbers, but holds"
AUDITED = {
    "nan": Bad(put(3, np.nan)),
    "None": Bad(put(3, None, object)),
    "inf": Bad(put(3, np.inf)),
    "minus inf": Bad(put(3, -np.inf)),
    "1e308": Bad(put(3, 1e308)),
    "-1e308": Bad(put(3, -1e308)),
    "all gaps": refused(lambda y: np.full(len(y), np.nan), "nothing to audit"),
    "text": refused(as_text, NO_NUMBERS),
    "text at a row": refused(put(3, "high", object), NO_NUMBERS),
    "lists": refused(lambda y: pd.Series([[value] for value in y]), NO_NUMBERS),
    "complex": refused(lambda y: y + 0j, NO_NUMBERS),
    "dates": refused(lambda y: y.astype("datetime64[D]"), NO_NUMBERS),
    "categories": refused(lambda y: pd.Series(y).astype("category"), NO_NUMBERS),
    "objects": same(objects),
    "decimals": same(lambda y: pd.Series([Decimal(value) for value in y])),
    "nullable": same(lambda y: pd.Series(y, dtype="Float64")),
    "float16": same(lambda y: y.astype(np.float16)),
    "boolean": Bad(lambda y: y > 0, like=lambda y: (y > 0) * 1.0),
}
SIZE = "size must be at most 1e.100 in absolute value, got 1e.308 at row 3"
LOWER = AUDITED | {"-1e308": refused(put(3, -1e308), SIZE)}
UPPER = AUDITED | {"1e308": refused(put(3, 1e308), SIZE)}
JUDGED = {
    "nan": Bad(put(3, np.nan, float)),
    "None": Bad(put(3, None, object)),
    "numbers": same(lambda covered: covered * 1.0),
    "whole numbers": same(lambda covered: covered * 1),
    "text": same(as_text),
    "capitals": same(lambda covered: np.char.upper(as_text(covered))),
    "a share": refused(put(3, 0.5, float), "true or false, or 1 or 0, got '0.5' at row 3: name"),
    "another word": refused(put(3, "yes", object), "got 'yes' at row 3: name"),
    "lists": refused(lambda covered: pd.Series([[c] for c in covered]), "holds lists: is it a set"),
    "all": Bad(np.ones_like),
    "none of them": Bad(np.zeros_like),
}
TABLES = {
    "None": refused(given(None), "a table must be .* got NoneType: put"),
    "an array": refused(lambda table: table.to_numpy(), "a table must be .* got ndarray: put"),
    "a string": refused(given("cal.csv"), "a table must be .* got str: put"),
    "a column": refused(lambda table: table["y"], "a table must be"),
    "no rows": refused(first(0), "nothing to audit"),
    "no outcome": refused(lambda table: table.drop(columns="y"), "no column"),
    "no groups": refused(lambda table: table.drop(columns="c"), "no column"),
    "lengths that differ": refused(given({"y": [1, 2], "low": [0], "high": [3, 3]}), "length"),
    "duplicate names": refused(
        lambda table: table.set_axis(["a", "b", "c", "y", "low", "low"], axis=1),
        "several columns named 'low': rename",
    ),
    "a dict": same(lambda table: table.to_dict("list")),
    "polars": same(pl.from_pandas),
    "Arrow": same(pa.Table.from_pandas),
    "shuffled index": same(lambda table: table.set_axis(np.arange(data.N)[::-1])),
    "other columns too": same(lambda table: table.assign(z="text")),
}
BY = {
    **each(("nothing", ["nothing"], "c:0", "c:x", "c:-1", "c:1.5"), "column|bins|whole"),
    **each((3, [3], None, [None]), "by|column"),
    "a list": same(lambda by: [by]),
}


def drawn(make):
    def draw(**given):
        task = make(**given)
        return [task.X, task.y, task.sigma]

    return draw


N, SEED = ("rows", 5), ("random_state", 0)
MADE = {
    "audit": plain(
        audited,
        laws=(counted,),
        y=("audited", TABLE["y"].to_numpy()),
        low=("audited lower", TABLE["low"].to_numpy()),
        high=("audited upper", TABLE["high"].to_numpy()),
    ),
    "audit, options": plain(
        audited,
        laws=(counted,),
        table=("tables", TABLE),
        by=("by", "c"),
        alpha=ALPHA,
        confidence=("share", 0.95),
        seed=("seed", 0),
    ),
    "audit, covered": plain(judged, laws=(counted,), covered=("judged", data.COVERED)),
    "make_toy": plain(drawn(datasets.make_toy), n=N, random_state=SEED),
    "make_nonlinear": plain(drawn(datasets.make_nonlinear), n=N, random_state=SEED),
    "make_synthetic": plain(
        drawn(datasets.make_synthetic),
        n=N,
        random_state=SEED,
        coef_state=SEED,
        variance=("positive", 0.1),
        noise=("noise", "variance"),
    ),
}
