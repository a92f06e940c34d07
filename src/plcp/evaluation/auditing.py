"""Audits of prediction sets of any origin: where they fail, by columns and by learned groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plcp._files import find_column
from plcp._options import check_alpha, check_count, check_share
from plcp._validation import check_lengths
from plcp._verdict import MOST_ROWS, rows_to_decide
from plcp.evaluation.columns import as_pandas, choose_features, holds_lists
from plcp.evaluation.formatting import exact_percent, rows
from plcp.evaluation.groups import LABELS, Described, GroupList
from plcp.evaluation.outcome import Outcome, judge_covered, judge_intervals, judge_sets
from plcp.evaluation.report import CoverageReport
from plcp.evaluation.roles import By, audited_columns, parse_by
from plcp.evaluation.summary import summarise
from plcp.explain import RuleTree
from plcp.metrics import ert
from plcp.metrics.measure import check_covered
from plcp.quantiles import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


MANY = 0.1  # share of rows, from which copies spoil the figures; a few may agree by chance


def find_copies(frame: pd.DataFrame) -> tuple[str | None, list[str]]:
    """Count the rows that are equal to an earlier one in all columns.

    Returns a warning where there are many, and a list with a note where there are some.

    Examples
    --------
    >>> import pandas as pd
    >>> find_copies(pd.DataFrame({"y": [1.5, 2.5, 1.5, 1.5]}))[0].split(":")[0]
    '2 rows of 4 are copies of others in all columns'
    >>> find_copies(pd.DataFrame({"y": [1.5, 2.5]}))
    (None, [])
    """
    plain = frame[[name for name in frame.columns if not holds_lists(frame[name])]]
    if any(plain[name].is_unique for name in plain.columns):  # cheaper than to compare whole rows
        return None, []
    count = int(plain.duplicated().sum())
    if not count:
        return None, []
    text = (
        f"{rows(count)} of {len(frame):,} are copies of others in all columns: if cases were "
        "recorded more than once, intervals are too narrow, and learned groups were measured on "
        "cases that helped to find them; remove the copies."
    )
    return (text, []) if count >= MANY * len(frame) else (None, [text])


MOST_FOLD_ROWS = 50_000  # on which boosted trees take some seconds
LEAST_ROWS = 100  # of fewer nothing can be learned


def note_on_ert(
    X: pd.DataFrame,
    covered: NDArray[np.bool_],
    alpha: float,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[str]:
    """Say how far coverage given the columns is off at least, as boosted trees predict it.

    Measured by `plcp.metrics.ert` on a sample; nothing is said of fewer than 100 rows.
    """
    if X.shape[1] == 0 or len(covered) < LEAST_ROWS:
        return []
    some = np.random.default_rng(seed).permutation(len(covered))[:MOST_FOLD_ROWS]
    found = ert(X.iloc[some], covered[some], alpha, random_state=seed, confidence=confidence)
    low, high = floor(1e4 * found.low) / 100, ceil(1e4 * found.high) / 100
    interval = f"{exact_percent(confidence)} interval {low:.2f} to {high:.2f}"
    source = f"excess risk of the target coverage, ERT, on {rows(len(some))}"
    if found.low <= 0:
        return [
            "Boosted trees cannot predict from the columns where coverage is off: an estimated "
            f"{100 * found.estimate:.2f} percentage points ({interval}; {source})."
        ]
    return [
        f"Coverage given the columns is off by an estimated {100 * found.estimate:.2f} percentage "
        f"points or more on average ({interval}; {source})."
    ]


MOST_LEAVES = 8
FOLDS = 3
MOST_TRIAL_ROWS = 30_000  # on which the number of groups is settled
NOTHING = "No kind of row was found on which the sets fail more often than on others"


def learn_failures(
    X: pd.DataFrame,
    covered: NDArray[np.bool_],
    *,
    alpha: float = 0.1,
    confidence: float = 0.95,
    seed: int = 0,
) -> GroupList:
    """Find kinds of rows on which sets fail, by a tree of misses.

    Rows are parted into halves at random. A tree grows on one half; how many leaves it has, up to
    eight, is settled there too, by cross-validation. Its leaves are groups of the other half, which
    had no part in finding them, so that bounds measured there are exact. A leaf has so many rows
    that twice as many misses as promised would hardly go unnoticed.

    Parameters
    ----------
    X : DataFrame
        Columns that may describe groups.
    covered : array of bool, shape (n,)
        Whether each set holds its outcome.
    alpha : float, default=0.1
        Miscoverage rate that the sets were made for.
    confidence : float, default=0.95
        Of the bounds that the groups are to be measured with.
    seed : int, default=0
        Of the halves, and of the tree.

    Returns
    -------
    GroupList
        Groups of the second half, from the least covered to the most covered; one group if no kind
        of row stands out.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plcp.evaluation import learn_failures
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(18, 80, size=4000)})
    >>> covered = rng.random(4000) < np.where(X["age"] < 60, 0.95, 0.7)
    >>> [group.name for group in learn_failures(X, covered).groups]
    ['age ≥ 60', 'age ≤ 59']
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    least, covered = rows_to_detect(alpha, confidence), check_covered(covered)
    check_lengths(X, covered)
    order = np.random.default_rng(seed).permutation(len(covered))
    grow, rest = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    if X.shape[1] == 0 or len(grow) < 2 * least:
        return _unparted(len(covered), least, X.shape[1])
    missed = (~covered).astype(float)
    tree = RuleTree(count_leaves(X, missed, order[: len(grow)], least, seed), least, seed)
    tree.fit(X.iloc[grow], missed[grow])
    if len(tree.rules_) == 1:
        about = f"{NOTHING}: {rows(len(grow))} were searched, these are the others."
        return GroupList(
            [Described("rows not searched")], np.zeros(len(rest), np.intp), about, rest
        )
    leaf, names = tree.apply(X.iloc[rest]), [rule.text for rule in tree.rules_]
    about = (
        f"Found by a tree of misses on {rows(len(grow))} and measured on the "
        f"{len(rest):,} others, which had no part in finding them; from the least covered to the "
        "most covered."
    )
    n = np.bincount(leaf, minlength=len(names))
    hits = np.bincount(leaf, covered[rest], minlength=len(names))
    shares = np.where(n > 0, hits / np.maximum(n, 1), np.inf)  # groups without rows come last
    order = np.argsort(shares, kind="stable")
    groups = [Described(names[i], rule=names[i]) for i in order]
    return GroupList(groups, np.argsort(order)[leaf], about, rest)


def rows_to_detect(alpha: float, confidence: float) -> int:
    """Rows among which twice as many misses as promised are likely to be proven.

    Examples
    --------
    >>> rows_to_detect(0.1, 0.95)
    159
    """
    share, tail = max(1 - 2 * alpha, 0.0), (1 - confidence) / MOST_LEAVES / 2
    return int(rows_to_decide(share, 1, 1 - alpha, tail)) or MOST_ROWS  # more than any data


def count_leaves(
    X: pd.DataFrame, missed: FloatArray, order: IntArray, least: int, seed: int
) -> int:
    """Number of leaves that predicts misses best on rows held out, by cross-validation."""
    folds = np.array_split(order[:MOST_TRIAL_ROWS], FOLDS)
    losses = np.zeros(MOST_LEAVES)
    for i, hold in enumerate(folds):
        learn = np.concatenate(folds[:i] + folds[i + 1 :])
        known, target = X.iloc[learn], missed[learn]
        tree = RuleTree(MOST_LEAVES, least * (FOLDS - 1) // FOLDS, seed).fit(known, target)
        for k in range(1, MOST_LEAVES + 1):
            smaller = tree.with_leaves(k, known, target)
            means = np.array([rule.mean for rule in smaller.rules_])
            losses[k - 1] += ((missed[hold] - means[smaller.apply(X.iloc[hold])]) ** 2).sum()
    return int(np.argmin(losses)) + 1


def _unparted(n: int, least: int, n_columns: int) -> GroupList:
    """All rows as one group: the outcomes had no say in that, so none need be set aside."""
    reason = (
        f"two groups that could be distinguished need {rows(4 * least)}, and there are {n:,}"
        if n_columns
        else "there are no columns to describe rows by"
    )
    about = f"No kinds of rows were searched for: {reason}."
    return GroupList([Described("all rows")], np.zeros(n, dtype=np.intp), about)


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
) -> CoverageReport:
    """Audit prediction sets of any origin on rows that they were not made from.

    Give the names of columns: ``target`` with ``lower`` and ``upper``, or ``target`` with ``sets``,
    or ``covered`` alone, if need be with ``size``. Coverage is measured overall, by the columns
    ``by``, and in groups that a tree finds on one half of the rows and that are measured on the
    other (`learn_failures`).

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
        One row per set.
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
        Columns that may describe learned groups; all but those named above unless given.
    exclude : iterable of str, default=()
        Columns that may not describe learned groups.
    alpha : float, default=0.1
        Miscoverage rate that the sets were made for.
    confidence : float, default=0.95
        Of intervals: of each, and of all groups of all columns at once.
    seed : int, default=0
        Of the halves, and of what learns.
    title : str
        Of the page.
    provenance : mapping of str to object, optional
        What to state about the data, versions and options.
    notes : sequence of str
        What else a reader should know.

    Returns
    -------
    CoverageReport
        Prints as text; ``to_html``, ``to_dict``, ``violations``.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.evaluation import audit
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 80, size=4000)
    >>> y = rng.normal(scale=np.where(age < 60, 1, 2))
    >>> table = {"age": age, "y": y, "low": y * 0 - 1.96, "high": y * 0 + 1.96}
    >>> report = audit(table, target="y", lower="low", upper="high", by="age:4")
    >>> report.headline["finding"]
    '3 of 6 groups fail.'
    >>> [group["name"] for group in report.to_dict()["failed"]["groups"]]
    ['age ≥ 60', 'age 65 and over', 'age 50 to 64']
    """
    check_count("seed", seed, 0)
    table = as_pandas(frame)
    roles = audited_columns(
        list(table.columns),
        target=target,
        lower=lower,
        upper=upper,
        sets=sets,
        covered=covered,
        size=size,
    )
    outcome, size_name = _outcome(table, roles)
    kept = table if outcome.kept is None or outcome.kept.all() else table[outcome.kept]
    hidden = [*roles.values(), *(find_column(name, list(table.columns)) for name in exclude)]
    X, unfit = choose_features(kept, features, hidden)
    found = learn_failures(X, outcome.covered, alpha=alpha, confidence=confidence, seed=seed)
    predictable = note_on_ert(X, outcome.covered, alpha, confidence, seed)
    # outcomes and ends seldom agree by chance; whether a row is covered does
    warning, copies = (None, []) if covered else find_copies(kept)
    summary = summarise(
        {METHOD: outcome},
        alpha=alpha,
        confidence=confidence,
        learned=found,
        # numbers of classes are names
        frame=kept.astype({roles["target"]: "category"}) if "sets" in roles else kept,
        by=parse_by(by) if isinstance(by, str) else by,
        kind="audit",
        title=title,
        subtitle=f"{rows(len(outcome))}, {exact_percent(round(1 - alpha, 12))} requested",
        size_name=size_name,
        warning=warning,
        provenance=provenance,
        notes=[*notes, *outcome.notes, *copies, *unfit, *predictable],
    )
    return CoverageReport(summary)


def _outcome(table: pd.DataFrame, roles: Mapping[str, str]) -> tuple[Outcome, str | None]:
    if "lower" in roles:
        return judge_intervals(table, roles["target"], roles["lower"], roles["upper"]), "length"
    if "sets" in roles:
        return judge_sets(table, roles["target"], roles["sets"]), LABELS
    outcome = judge_covered(table, roles["covered"], roles.get("size"))
    return outcome, "size" if "size" in roles else None
