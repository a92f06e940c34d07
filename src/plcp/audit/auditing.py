"""Audit the sets of any library: where do they fail, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plcp.audit.by import By, parse_by
from plcp.audit.copies import Copies, find_copies
from plcp.audit.failures import learn_failures
from plcp.audit.features import choose_features
from plcp.audit.foretelling import what_is_foretold
from plcp.audit.frames import as_pandas
from plcp.audit.grouped import LABELS
from plcp.audit.judging import Judged, judge_covered, judge_intervals, judge_sets
from plcp.audit.summary import summarise
from plcp.audit.words import asked, rows
from plcp.files import find_column
from plcp.validation import check_count

if TYPE_CHECKING:
    import pandas as pd

METHOD = "audited"


def audit(
    frame: Any,
    *,
    target: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    sets: str | None = None,
    covered: str | None = None,
    size: str | None = None,
    by: str | Iterable[By | str] = (),
    features: Sequence[str] | None = None,
    exclude: Iterable[str] = (),
    alpha: float = 0.1,
    confidence: float = 0.95,
    seed: int = 0,
    title: str = "Audit of coverage",
    provenance: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Audit prediction sets of any origin on rows that they were not made from.

    Give the names of columns: ``target`` with ``lower`` and ``upper``, or ``target`` with ``sets``,
    or ``covered`` alone, if need be with ``size``. Coverage is measured overall, by the columns
    ``by``, and in groups that a tree finds on one half of the rows and that are measured on the
    other (`learn_failures`).

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
        One row a set.
    target : str, optional
        Column of outcomes. Rows without one are left out, and counted.
    lower, upper : str, optional
        Ends of intervals, which belong to them. Rows without both are left out, and counted: write
        inf or -inf for an open end. An interval whose lower end is above the upper one is empty.
    sets : str, optional
        Sets of labels: lists, text like ``a|b``, or JSON lists. Empty text is an empty set.
    covered : str, optional
        Whether each set holds its outcome: true or false, 1 or 0.
    size : str, optional
        Size of each set, beside ``covered``.
    by : str or iterable of By or str, default=()
        Columns to group by: ``"sex,race,age:5"``.
    features : sequence of str, optional
        Columns that learned groups may be told by; all but those named above unless given.
    exclude : iterable of str, default=()
        Columns that learned groups may not be told by.
    alpha : float, default=0.1
        Miscoverage rate that the sets were made for.
    confidence : float, default=0.95
        Of intervals: of each, and of all groups of a list at once.
    seed : int, default=0
        Of the halves, and of what learns.
    title : str
        Of the page.
    provenance : mapping of str to object, optional
        What to tell of the data, versions and options.
    notes : sequence of str
        What else a reader should know.

    Returns
    -------
    dict
        The summary (`summarise`), for `plcp.report.write_page`, `to_text` and `violations`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 80, size=4000)
    >>> y = rng.normal(scale=np.where(age < 60, 1, 2))
    >>> table = {"age": age, "y": y, "low": y * 0 - 1.96, "high": y * 0 + 1.96}
    >>> summary = audit(table, target="y", lower="low", upper="high", by="age:4")
    >>> print(summary["headline"]["worst"])
    Worst place: age ≥ 60: 63.0 % of 656 rows (57.8 to 67.9 %, all 6 groups at once).
    """
    check_count("seed", seed, 0)
    table = as_pandas(frame)
    roles = _roles(
        table, target=target, lower=lower, upper=upper, sets=sets, covered=covered, size=size
    )
    judged, size_name = _judge(table, roles)
    kept = table if judged.kept.all() else table[judged.kept]
    hidden = [*roles.values(), *(find_column(name, list(table.columns)) for name in exclude)]
    X, unfit = choose_features(kept, features, hidden)
    outcome = judged.outcome
    found = learn_failures(X, outcome.covered, alpha=alpha, confidence=confidence, seed=seed)
    told = what_is_foretold(X, outcome.covered, alpha, confidence, seed)
    # outcomes and ends seldom agree by chance; whether a row is covered does
    copies = Copies() if covered else find_copies(kept)
    return summarise(
        {METHOD: outcome},
        alpha=alpha,
        confidence=confidence,
        learned=found,
        frame=kept,
        by=parse_by(by) if isinstance(by, str) else by,
        kind="audit",
        title=title,
        subtitle=f"{rows(len(outcome))}, {asked(round(1 - alpha, 12))} asked for",
        size_name=size_name,
        warning=copies.warning,
        provenance=provenance,
        notes=[*notes, *judged.notes, *copies.notes, *unfit, *told],
    )


def _roles(table: pd.DataFrame, **given: str | None) -> dict[str, str]:
    """Columns that were named, of one kind of sets and not of two."""
    roles = {
        role: find_column(name, list(table.columns))
        for role, name in given.items()
        if name is not None
    }
    wanted = [{"target", "lower", "upper"}, {"target", "sets"}, {"covered"}, {"covered", "size"}]
    if {*roles} not in wanted:
        raise ValueError(
            f"got {', '.join(roles) or 'no columns'}: name target, lower and upper, or target and "
            "set, or covered (with size, if you like)"
        )
    return roles


def _judge(table: pd.DataFrame, roles: Mapping[str, str]) -> tuple[Judged, str | None]:
    if "lower" in roles:
        return judge_intervals(table, roles["target"], roles["lower"], roles["upper"]), "length"
    if "sets" in roles:
        return judge_sets(table, roles["target"], roles["sets"]), LABELS
    judged = judge_covered(table, roles["covered"], roles.get("size"))
    return judged, "size" if "size" in roles else None
