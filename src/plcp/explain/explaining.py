"""Put the groups that a rule learned into the words of a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.conformal.base import Conformal, check_one_level
from plcp.explain.explanation import Explanation, GroupExplanation
from plcp.explain.importance import Importance, partition_importance
from plcp.explain.naming import find_rule
from plcp.explain.profile import profile
from plcp.explain.reading import read_columns
from plcp.explain.sensitive import compare_sensitive
from plcp.explain.surrogate import fit_surrogate
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count, is_frame, take
from plcp.thresholds import PLCP

MOST_ROWS = 20_000  # half of them teach the rules, half judge them
LEAST_ROWS = 4  # two to learn from, two to judge by


def explain_groups(
    rule: Any,
    X: Any,
    *,
    groups: ArrayLike | None = None,
    sensitive: Any = (),
    random_state: Any = 0,
) -> Explanation:
    """Say who is in each learned group, in the columns and codes of ``X``.

    Rules are learned from one half of the rows and judged by the other. At most 20,000 rows are
    looked at. The same rows and the same seed give the same names.

    Parameters
    ----------
    rule : PLCP, conformal estimator or None
        Fitted; None if ``groups`` are given.
    X : DataFrame or array
        Features, best of rows that the rule did not learn from; columns of an array are x0, x1, …
    groups : array of int or None
        Group of each row, if known already: numbers in the order of thresholds if there is no rule.
    sensitive : list of column names or DataFrame
        Columns to compare the groups with: by name, of X; or as a table of as many rows.
    random_state : int, RandomState or None
        Seed of the rows looked at, their halves, and shuffles.

    Examples
    --------
    >>> from plcp import PLCP
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = PLCP(n_groups=2, random_state=0).fit(task.X, task.scores)
    >>> explanation = explain_groups(rule, task.X)
    >>> [len(group.rule) > 0 for group in explanation.groups]
    [True, True]
    """
    _check_rule(rule, groups)
    n, rng = count(X), check_random_state(random_state)
    if n < LEAST_ROWS:
        raise ValueError(f"X has {n} rows, but rules need at least {LEAST_ROWS}: give more")
    named = _named_columns(X, sensitive)
    rows = rng.permutation(n)[:MOST_ROWS]
    X = take(X, rows)
    numbers = rule.groups(X) if groups is None else _check_groups(groups, n)[rows]
    labels = np.unique(numbers) if rule is None else np.argsort(_thresholds(rule), kind="stable")
    places = _places(labels, numbers)
    halves = np.array_split(np.arange(len(rows)), 2)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    return Explanation(
        groups=_each_group(X, places, labels, halves, seed),
        importance=() if rule is None else _importance(rule, take(X, halves[1]), labels, seed),
        sensitive=() if named is None else compare_sensitive(take(named, rows), places, labels),
        **fit_surrogate(X, places, labels, *halves, seed=seed)._asdict(),
    )


def _each_group(
    X: Any, places: IntArray, labels: IntArray, halves: Sequence[IntArray], seed: int
) -> tuple[GroupExplanation, ...]:
    columns = read_columns(X, places.astype(float), min_rows=LEAST_ROWS)
    values = [column.read(X) for column in columns]
    m, explained = len(labels), []
    for place, label in enumerate(labels.tolist()):
        inside = places == place
        found = find_rule(X, inside, *halves, seed=seed, tries=m)
        explained.append(
            GroupExplanation(
                group=label,
                name=f"group {label}: {found.text}" if found.text else f"group {label}",
                rule=found.text,
                precision=found.precision,
                recall=found.recall,
                n=int(inside.sum()),
                share=float(inside.mean()),
                profile=profile(columns, values, inside, tries=m),
            )
        )
    return tuple(explained)


def _importance(rule: Any, X: Any, labels: IntArray, seed: int) -> tuple[Importance, ...]:
    return partition_importance(lambda rows: _places(labels, rule.groups(rows)), X, seed)


def _places(labels: IntArray, numbers: IntArray) -> IntArray:
    """Place of each row's group among the labels."""
    order = np.argsort(labels)
    return np.asarray(order[np.searchsorted(labels, numbers, sorter=order)])


def _thresholds(rule: Any) -> FloatArray:
    learned = rule.thresholds_[0] if isinstance(rule, Conformal) else rule
    return np.asarray(learned.thresholds_)


def _check_rule(rule: Any, groups: ArrayLike | None) -> None:
    if rule is None and groups is None:
        raise ValueError("there is neither a rule nor groups: give one of them")
    if rule is not None and not isinstance(rule, PLCP | Conformal):
        raise ValueError(
            f"rule must be a PLCP, a conformal estimator or None, got {type(rule).__name__}, which "
            "learns no groups: give its groups as groups=, and None for the rule"
        )
    if rule is not None:
        check_is_fitted(rule)
        check_one_level(rule)


def _check_groups(groups: ArrayLike, n: int) -> IntArray:
    numbers = np.asarray(groups)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be {n} whole numbers, one for each row of X, got {numbers.dtype} of "
            f"shape {numbers.shape}"
        )
    return numbers.astype(np.intp)


def _named_columns(X: Any, sensitive: Any) -> Any:
    """Table of the columns that were named, or None."""
    if is_frame(sensitive):
        if count(sensitive) != count(X):
            raise ValueError(
                f"sensitive has {count(sensitive)} rows and X has {count(X)}: give the same rows"
            )
        return sensitive
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    known = list(X.columns) if is_frame(X) else []
    for name in names:
        if name not in known:
            raise ValueError(
                f"no column {name!r} in X: name one of its columns, or give a DataFrame with it"
            )
    return X[names] if names else None
